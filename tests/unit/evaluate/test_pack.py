# SPDX-License-Identifier: Apache-2.0
"""Packs of criteria."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import InputError
from ccbench.evaluate import Design, load_pack, pack_names
from ccbench.evaluate.answers import load_answers

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", pack_names())
class TestIncluded:
    def test_scenarios(self, name: str) -> None:
        """Every network of every criterion is a valid scenario, with noise and a unique key."""
        design = Design(candidate="vegas", pack=load_pack(name))
        assert len({case.key for case in design.cases}) == len(design.cases)
        for case in design.cases:
            scenario = design.scenario(case, "vegas")
            assert "vegas" in {flow.cca for flow in scenario.flows}
            assert scenario.draws_at_random

    def test_quick(self, name: str) -> None:
        """A quick evaluation runs one network of each criterion that has any."""
        pack = load_pack(name)
        quick = Design(candidate="vegas", pack=pack, extent="quick")
        measured = [one.key for one in pack.criteria if one.measures]
        assert measured == [case.criterion.key for case in quick.cases]

    def test_words(self, name: str) -> None:
        """Every criterion has sentences about it, and its own title in its section."""
        pack = load_pack(name)
        assert pack.source
        assert len({(one.section, one.title) for one in pack.criteria}) == len(pack.criteria)
        for criterion in pack.criteria:
            assert criterion.about.endswith((".", "?"))


class TestOwn:
    def test_order(self, folder: Path) -> None:
        """Criteria are in the order of their sections: 1.2 before 1.10."""
        assert ["1.2", "1.10"] == [one.section for one in load_pack(folder).criteria]

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ('metric = "throughput"', 'metric = "thruput"', "measures[0].metric is 'thruput'"),
            ('of = "other"', 'of = "nobody"', "one of candidate, other"),
            ('failure = "starvation"\n', "", "failure is ''; it must be given together"),
            ('label = "candidate"', 'label = "me"', "candidates is ['candidate']"),
            ("queue_bdp = 1\n", "queue_bdp = 0\n", "queue_bdp"),
            ('"bottlenecks.0.queue_bdp" = 0.5', '"bottlenecks.0.queue" = 0.5', "network '1/2 BDP'"),
            ("section = ", 'colour = "red"\nsection = ', "colour"),
        ],
    )
    def test_mistakes(self, folder: Path, old: str, new: str, words: str) -> None:
        """An error names the file and what is wrong."""
        file = folder / "share.toml"
        file.write_text(file.read_text().replace(old, new, 1))
        with pytest.raises(InputError) as error:
            load_pack(folder)
        assert str(file) in str(error.value)
        assert words in str(error.value)

    def test_no_table(self, folder: Path) -> None:
        """A scenario without a criterion in a pack is an error."""
        (folder / "plain.toml").write_text("rtt_ms = 40\n")
        with pytest.raises(InputError, match=r"plain\.toml: there is no table \[criterion\]"):
            load_pack(folder)

    def test_other_folder(self, tmp_path: Path) -> None:
        """A folder that is no pack is an error that names the packs of ccbench."""
        with pytest.raises(InputError, match="rfc9743"):
            load_pack(tmp_path)


class TestAnswers:
    def test_unknown(self, folder: Path, tmp_path: Path) -> None:
        """An answer to an unknown question is an error; so is one to a criterion with measures."""
        file = tmp_path / "answers.toml"
        for name in ("nothing", "share"):
            file.write_text(f'[answers]\n{name} = "yes"\n')
            with pytest.raises(InputError, match=name):
                load_answers(file, load_pack(folder))

    def test_answers(self, folder: Path, tmp_path: Path) -> None:
        """Answers and reasons why a criterion does not apply are found by its name."""
        file = tmp_path / "answers.toml"
        file.write_text('[answers]\nquestion = "None."\n[not_applicable]\nshare = "It is alone."\n')
        answers = load_answers(file, load_pack(folder))
        assert "None." == answers.of("question")
        assert "Not applicable: It is alone." == answers.of("share")
        assert "" == answers.of("other")
