# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from ccbench import studies
from ccbench.base.errors import InputError
from ccbench.base.share import Share
from ccbench.studies.bbr3 import bbr_draft_wire
from ccbench.studies.bbr3.bbr_draft import CASES, _plan, _Use, _uses, study_of, verdict
from ccbench.studies.bbr3.case import GRID, Fact
from ccbench.studies.bbr3.state import BBR3, Entry, Sender
from tests.unit.conftest import run_with_rates

_BBR = Sender("bbr", ("rate_low", "rate_high", "min_us", "pacing_gain", "cwnd_gain"))


class TestVerdict:
    def test_fails(self) -> None:
        """A case fails if a condition does not hold, whatever the others."""
        steps = [Fact("a", holds=True), Fact("b", holds=False), Fact("c", holds=True)]
        assert verdict(iter(steps)) == ("fails", "a; b (not so); c")

    def test_premise(self) -> None:
        """Without its premise a case does not come about, and later conditions say nothing."""
        steps = [Fact("a", holds=False, is_premise=True), Fact("b", holds=False)]
        assert verdict(iter(steps)) == ("does not come about", "a (not so)")


class TestCases:
    def test_draft(self) -> None:
        """There are the 22 cases of the draft, and three variants beside them."""
        assert len({case.title for case in CASES}) == 22
        assert sorted(case.name for case in CASES if case.variant) == [
            "down-time-30",
            "drain-time-70",
            "startup-app",
        ]

    def test_paths(self) -> None:
        """Each case has a path that can show it."""
        assert [] == [case.name for case in CASES if all(map(case.unsuitable, GRID))]


class TestNames:
    @pytest.mark.parametrize("entry_s", [None, 3.25])
    def test_inverse(self, entry_s: float | None) -> None:
        """A scenario's name says which cases it shows on which path, and from when."""
        sender = replace(BBR3, entry_s=entry_s)
        uses = [_Use(case, GRID[i % len(GRID)], sender) for i, case in enumerate(CASES)]
        planned = _plan(uses)
        assert len(planned) <= len(uses)
        assert {*uses} == {use for scenario in planned for use in _uses(scenario, BBR3)}

    def test_judged_twice(self) -> None:
        """The names of bbr-draft-wire say which study measures a run; equal scenarios run once."""
        groups = bbr_draft_wire.STUDY.groups(quick=True)
        expected = {
            (judged, scenario.name)
            for judged, sender in (("by state", BBR3), ("by TCP's own state", Sender("bbr3", ())))
            for (scenario,) in study_of(sender).groups(quick=True)
        }
        runs = [run_with_rates(replace(each, queue_log=False), 1.0) for (each,) in groups]
        found = [bbr_draft_wire._of_study(run) for run in runs]
        assert expected == {(judged, run.scenario.name) for judged, run in found}
        assert len({*groups}) < len(groups)


class TestShare:
    def test_cases(self) -> None:
        """The share of paths on which a case holds is of those on which it came about."""
        verdicts = ["holds", "fails", "does not come about", "fails", "fails"]
        rtts_ms = (1, 10, 100, 1000, 1)
        rates_mbps = (100, 100, 100, 100, 10)
        columns = {"case": "startup-plateau", "mbps": rates_mbps, "rtt_ms": rtts_ms}
        table = pd.DataFrame({**columns, "verdict": verdicts, "found": ""})
        findings = study_of(BBR3).conclude(table)
        share = next(x for x in findings.comparisons if "STARTUP on Bandwidth" in x.quantity)
        assert share.measured == Share(1, 4, is_sample=False)


class TestSender:
    def test_version_1(self) -> None:
        """BBR version 1 has phases by its gains, but neither REFILL nor bounds."""
        assert {"phase", "up", "probe_rtt", "max_bw_mbps"} <= _BBR.reported
        assert not {"refill", "inflight_longterm", "idle_restart"} & _BBR.reported
        when = _BBR.at(Entry("up", 2))["when"]
        assert (when.equals, when.occurrence) == (320, 2)

    def test_unknown(self) -> None:
        """Other reported values say nothing about BBR's state."""
        assert Sender("vegas", ("enabled", "base_us")).reported == frozenset()


def test_names() -> None:
    """The study of another congestion control has its name, and leaves the files of bbr3 alone."""
    study = study_of(Sender("my__bbr", ()))
    assert (study.name, study.title) == (
        "bbr-draft-my-bbr",
        "Test cases of the BBR draft, for my__bbr",
    )


def test_other_study() -> None:
    """A study that is not about one congestion control refuses another one."""
    with pytest.raises(InputError, match=r"^cca is 'bbr'; it must be left out for ware-3\.2"):
        studies.run_study("ware-3.2", cca="bbr")
