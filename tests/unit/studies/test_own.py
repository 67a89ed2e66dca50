# SPDX-License-Identifier: Apache-2.0
"""A user's own study in a file."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from click.testing import CliRunner

from ccbench import studies
from ccbench.base.errors import InputError
from ccbench.cli.main import program
from ccbench.emulate.registry import ENGINES
from ccbench.studies import StudyInfo
from tests.unit.conftest import stand_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.conftest import ArithmeticEngine


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Write the example of the documentation to a file, for the CCAs of the arithmetic engine."""
    block = str(studies.__doc__).partition(".. code-block:: python\n")[2].partition("\nExamples")[0]
    path = tmp_path / "my_figure.py"
    path.write_text(textwrap.dedent(block).replace("cubic", "even"))
    return path


class TestStudyIn:
    def test_example(self, example: Path, engine: ArithmeticEngine, tmp_path: Path) -> None:
        """The example in the documentation runs unchanged, and saves its files."""
        result = studies.run_study(str(example), engine=engine, store=None)
        expected = pd.DataFrame({"extra_ms": [0.0, 60.0], "ratio": [1.0, 1.0]})
        pd.testing.assert_frame_equal(expected, result.findings.table)
        *_, description = result.save(tmp_path / "kept")
        document = json.loads(description.read_text())
        assert "rtt-unfairness.json" == description.name
        assert "my thesis" == document["publication"]

    def test_beside(self, example: Path) -> None:
        """A study imports modules beside it, as a program does."""
        (example.parent / "beside_a_study.py").write_text('NAME = "mine"\n')
        text = example.read_text().replace('"rtt-unfairness"', "beside_a_study.NAME")
        example.write_text(f"import beside_a_study\n{text}")
        assert "mine" == studies.study_in(example).name

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("STUDY = 3", r"^STUDY of \S+my_figure\.py is 3; it must be a Study, "),
            ("", r"^STUDY of \S+my_figure\.py is None; "),
            ("1 / 0", r"^\S+my_figure\.py cannot be executed \(ZeroDivisionError: "),
            ("def", r"^\S+my_figure\.py cannot be executed \(SyntaxError: "),
            ("import ccbench; ccbench.Flow(cca='A B')", r"^\S+my_figure\.py: cca is 'A B'; "),
        ],
    )
    def test_bad(self, example: Path, text: str, message: str) -> None:
        """An invalid study is reported in one line."""
        example.write_text(text)
        with pytest.raises(InputError, match=message) as caught:
            studies.study_in(example)
        assert "\n" not in str(caught.value)

    def test_failing(
        self, example: Path, engine: ArithmeticEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An error in the user's functions names function, line and file."""
        monkeypatch.setitem(ENGINES, "kernel", stand_in(engine))
        example.write_text(example.read_text().replace('table["ratio"]', 'table["rato"]'))
        shown = CliRunner().invoke(program, ["study", "run", str(example)])
        assert shown.exit_code == 1
        assert "KeyError: 'rato' (in conclude, line" in shown.stderr
        assert f" of {example}; " in shown.stderr

    def test_missing(self) -> None:
        """A missing file is reported."""
        with pytest.raises(
            InputError, match=r"^study is 'nowhere\.py'; .* an existing Python file"
        ):
            studies.get("nowhere.py")


class TestStudyInfo:
    @pytest.mark.parametrize("name", ["", "../x", "a b", "-x", "x.", "ü"])
    def test_bad_name(self, name: str) -> None:
        """Files are named after a study, so its name is restricted."""
        with pytest.raises(InputError, match=r"^name is '"):
            StudyInfo(name=name, title="", publication="")
