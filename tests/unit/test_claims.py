# SPDX-License-Identifier: Apache-2.0
"""Numbers of README, overview and landing page are those of the page or result that measured them.

A number may differ from the result by its rounding, by the result's interval, and by a little more
where a study is repeated now and then: a claim that no longer holds fails, its last digit does not.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pandas as pd
import pytest

from ccbench.base.estimate import Estimate
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.web.manners import Manners
from ccbench.experiment.path import MAX_BOTTLENECKS
from tests.documentation import CHECKOUT, DOCS

#: Percentage points by which a claim may differ from a study that is repeated.
POINTS = 2

_NUMBER = r"([-−+]?\d+(?:\.\d+)?)"


@cache
def page(name: str) -> str:
    """Return the text of a page with single spaces, so that claims may span lines."""
    folder = CHECKOUT if name == "README.md" else DOCS
    return " ".join((folder / name).read_text(encoding="utf-8").split())


def numbers(name: str, claim: str) -> list[float]:
    """Return the numbers of a claim, each marked `#`, which a page makes exactly once."""
    pattern = re.escape(claim).replace(r"\#", _NUMBER).replace(r"\ ", " ")
    found = re.findall(pattern, page(name))
    assert len(found) == 1, f"{name} states {claim!r} {len(found)} times"
    one = found[0] if isinstance(found[0], tuple) else found
    return [float(number.replace("−", "-")) for number in one]


@cache
def comparisons(study: str) -> dict[str, dict[str, Any]]:
    """Return the comparisons of a stored result by quantity."""
    path = DOCS / "studies" / "results" / f"{study}.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    return {comparison["quantity"]: comparison for comparison in result["comparisons"]}


def measured(study: str, quantity: str) -> float:
    """Return a stored result."""
    return float(comparisons(study)[quantity]["measured"])


class TestSearch:
    @pytest.mark.parametrize(
        ("name", "whose"),
        [
            ("README.md", "one flow of BBR version 1"),
            ("index.md", "one BBR flow (Linux's `bbr`, version 1)"),
        ],
    )
    def test_worst_network(self, name: str, whose: str) -> None:
        """The share that CUBIC loses in the worst network is that of the rates in the figure."""
        _, link, left = numbers(name, "holds # of # Mbit/s, five CUBIC flows together #]")
        claim = f"{whose} costs five CUBIC flows # % of their throughput"
        assert numbers(name, claim) == [pytest.approx(100 * (1 - left / link), abs=1)]

    def test_bbr3(self) -> None:
        """So is the share that CUBIC loses beside BBRv3, by the rates on the page of the search."""
        assert "One flow of ccbench's BBRv3, [written from the IETF draft]" in page("README.md")
        claim = "costs three CUBIC flows # % of their throughput in the worst network of [another"
        (lost,) = numbers("README.md", claim)
        left, link = numbers("raygen.md", "leaves three CUBIC flows # of # Mbit/s")
        assert lost == pytest.approx(100 * (1 - left / link), abs=1)

    def test_speed(self) -> None:
        """The time of a search and its speed are those of its page."""
        hours, minutes = numbers("raygen.md", "# hours of virtual time, in # minutes on two cores")
        claim = "The search ran # hours of Linux TCP in # minutes on a 2-core machine"
        assert numbers("README.md", claim) == [hours, minutes]
        claim = "of 120 networks, whose links have # Mbit/s on average, runs about # times as fast"
        mbps, factor = numbers("overview.md", claim)
        assert [mbps] == numbers("raygen.md", "on links of # Mbit/s on average")
        assert factor == pytest.approx(60 * hours / minutes, abs=5)

    def test_cases_of_the_draft(self) -> None:
        """The BBR draft has as many test cases as README says."""
        (count,) = numbers("README.md", "run through the draft's [# test cases]")
        assert [count] == numbers("studies/bbr-draft.md", "lists # example test cases")


class TestStrategies:
    """The page on searches, against the row of each search of ``benchmarks/searches.py``."""

    @pytest.fixture
    def differences(self) -> pd.DataFrame:
        """Give the differences of `halving` from `genetic` in each pair of searches."""
        rows = pd.read_csv(DOCS / "strategies-searches.csv")
        cases = rows.set_index(["equal", "budget", "pair", "seed"])
        ours, theirs = (
            cases.loc[cases["strategy"] == name, ["best", "lowest"]]
            for name in ("halving", "genetic")
        )
        return (ours - theirs).reset_index()

    def test_more_harmful(self, differences: pd.DataFrame) -> None:
        """The numbers of searches in which `halving` finds more are those of the rows."""
        claims = {
            (
                "time",
                48,
            ): "genetic search in # of # searches, and the lowest of the five claims in #",
            ("networks", 120): "genetic search in # of # searches, and the lowest in #",
        }
        for (equal, budget), claim in claims.items():
            is_in = (differences["equal"] == equal) & (differences["budget"] == budget)
            own = differences[is_in]
            more = [int((own[of] > 0).sum()) for of in ("best", "lowest")]
            assert numbers("raygen.md", claim) == [more[0], len(own), more[1]]

    @pytest.mark.parametrize(
        ("few", "many", "claim"),
        [
            (48, 120, "`halving` still finds more: by # ± # for the best claim and # ± # for the"),
            (120, 300, "(a difference of # ± #), and its lowest is more harmful (by # ± #; "),
        ],
    )
    def test_fraction_of_the_work(self, few: int, many: int, claim: str) -> None:
        """The page compares `halving` with `genetic` of more networks by the rows."""
        rows = pd.read_csv(DOCS / "strategies-searches.csv").query("equal == 'networks'")
        cases = rows.set_index(["pair", "seed"])
        ours = cases[(cases["strategy"] == "halving") & (cases["budget"] == few)]
        theirs = cases[(cases["strategy"] == "genetic") & (cases["budget"] == many)]
        both = ours.index.intersection(theirs.index)
        ours, theirs = ours.loc[both], theirs.loc[both]
        work = numbers("raygen.md", f"and # of the work of the genetic search with {many}")
        assert work == pytest.approx(
            [ours["work_mbit"].sum() / theirs["work_mbit"].sum()], abs=5e-3
        )
        expected: list[float] = []
        for of in ("best", "lowest"):
            difference = Estimate(ours[of] - theirs[of])
            expected += [difference.mean, difference.half_width]
        assert numbers("raygen.md", claim) == pytest.approx(expected, abs=0.00051)

    def test_by_pair(self, differences: pd.DataFrame) -> None:
        """The mean differences in the best claims by pair are those of the rows."""
        means = differences.groupby(["pair", "equal", "budget"])["best"].mean()
        names = {"bbr": "BBR", "bbr3": "BBRv3", "cubic": "CUBIC", "reno": "Reno"}
        names |= {"vegas": "Vegas", "westwood": "Westwood"}
        for pair in {*differences["pair"]}:
            alpha, beta = (names[cca] for cca in pair.split("/"))
            stated = numbers("raygen.md", f"| {alpha} → {beta} | # | # | # |")
            expected = [means[pair, equal, 48] for equal in ("networks", "time")]
            expected.append(means[pair, "networks", 120])
            assert stated == pytest.approx(expected, abs=0.0051)


class TestNoise:
    def test_sign(self) -> None:
        """Noise changes the sign of a pair's harm as in the table of the study of noise."""
        (without,) = numbers("README.md", "(relative harm −#). With the noise of a testbed, ")
        claim = "it takes more than its fair share: +# (# to #)"
        of_noise = numbers("README.md", claim)
        text = (DOCS / "studies" / "noise.md").read_text(encoding="utf-8")
        (row,) = re.findall(r"^\| HighSpeed against CUBIC .*$", text, re.MULTILINE)
        signed = [float(n.replace("−", "-")) for n in re.findall(r"[−+]\d\.\d+", row)]
        first, _, *median = signed  # the second column has the fixed order
        assert [-without, *of_noise] == pytest.approx([first, *median], abs=0.006)

    def test_phase_effect(self) -> None:
        """The share of the flow with the longer RTT is that of the study of noise."""
        (share,) = numbers("README.md", "that flow takes # %")
        in_step = "two Reno flows in step: largest share of one of them, over round trips"
        assert share == pytest.approx(measured("noise", in_step), abs=POINTS)


class TestClassification:
    def test_right_answers(self) -> None:
        """Right answers are as many as in the study of noisy paths, and none is wrong."""
        least, others, loss = numbers(
            "README.md",
            "always on clean paths, in at least # % of the cases with # % of cross traffic or "
            "# % of random loss",
        )
        right = {
            quantity.partition(":")[0]: measured("noisy-paths", quantity)
            for quantity in comparisons("noisy-paths")
            if quantity.endswith("votes that are right")
        }
        assert right["clean"] == 100
        assert min(right[f"others {others:.0f}%"], right[f"loss {loss:.2f}%"]) >= least
        lossy, most = numbers("README.md", "and in # % with # % of loss. The other answers are")
        assert lossy == pytest.approx(right[f"loss {most:.2f}%"], abs=POINTS)
        assert "none is wrong" in page("README.md")
        wrong = [q for q in comparisons("noisy-paths") if q.endswith("votes that are wrong")]
        assert {measured("noisy-paths", quantity) for quantity in wrong} == {0}

    def test_unknown_ccas(self) -> None:
        """README states, as the page does, how often a CCA outside the training set has a label."""
        claim = "# % of them get a wrong label on clean paths, and up to # % with cross traffic"
        clean, most = numbers("README.md", claim)
        claim = "# % of its servers get a label on clean paths, up to # % with cross traffic"
        assert [clean, most] == numbers("classify-method.md", claim)
        assert numbers("classify-method.md", "with cross traffic, and up to # % with loss") <= [
            most
        ]
        row = "| left-out CCAs with a label | # % | # % | # % | # % | # % | # % | # % |"
        on_paths = numbers("studies/which-cca.md", row)
        assert [clean, most] == [on_paths[0], max(on_paths)]

    def test_training_set(self) -> None:
        """README's number of CCAs is that of the set without BBRv3; the page has its size."""
        ccas = {*TrainingSet.load(PACKAGED).ccas} - {"bbr3"}
        assert numbers("README.md", "which of # known CCAs") == [len(ccas)]
        (megabytes,) = numbers("classify-method.md", "the training set takes # MB")
        assert megabytes == pytest.approx(PACKAGED.stat().st_size / 1e6, abs=0.1)

    def test_manners(self) -> None:
        """The page states what a server has to expect, as `--dry-run` prints it."""
        manners = Manners()
        expected = [manners.max_megabytes]
        assert numbers("classify.md", "at most # MB (`--max-megabytes`)") == expected
        claim = "up to # for each download (`--max-connections`), # in all"
        each = manners.max_connections
        assert numbers("classify.md", claim) == [each, each * len(SETTINGS)]
        claim = "pauses for at least # s between two downloads (`--pause`)"
        assert numbers("classify.md", claim) == [manners.pause_s]


class TestEngines:
    WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight")

    def test_mahimahi(self) -> None:
        """The page about accuracy states how many quantities of the two engines differ."""
        verdicts = [
            row["verdict"]
            for quantity, row in comparisons("engines-agree").items()
            if quantity.startswith("cases ")
        ]
        differ, rows = self.WORDS[verdicts.count("differs")], self.WORDS[len(verdicts)]
        stated = f"in {differ} of the {rows} quantities that the study compares"
        assert stated in page("virtual-time.md")
        claim = (
            "Shares of flows and relative harm differ by # in the median case and by # in the worst"
        )
        median, most = numbers("virtual-time.md", claim)
        for quantity in ("the first flow's share", "relative harm"):
            of_page = numbers("studies/engines.md", f"| {quantity} | # | #")
            assert [median, most] == pytest.approx(of_page, abs=0.0051)
        assert numbers(
            "virtual-time.md", "throughput of all flows together differs by at most # %"
        ) == numbers("studies/engines.md", "0.13 Mbit/s (# %)")


class TestFigures:
    def test_published_numbers(self) -> None:
        """README says which share of the published numbers agrees: about half."""
        (row,) = re.findall(
            r"\| all publications \| \d+ \| (\d+) of (\d+) \|", page("studies/index.md")
        )
        agree, all_numbers = map(int, row)
        assert "about half of the stated numbers agree" in page("README.md")
        assert agree / all_numbers == pytest.approx(0.5, abs=0.1)


def test_limits() -> None:
    """The overview's limits are those of the code."""
    assert MAX_BOTTLENECKS == 8
    assert "up to eight in a row in each direction" in page("overview.md")
