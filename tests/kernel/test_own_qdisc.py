# SPDX-License-Identifier: Apache-2.0
"""A user's own qdisc, as in docs/your-own-qdisc.md."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ccbench import emulate
from ccbench.base.errors import InputError
from ccbench.emulate.kernel.source.lookup import installed
from ccbench.experiment.scenario import Scenario
from ccbench.run.packets import delivered

pytestmark = pytest.mark.kernel

_ROOT = Path(__file__).parents[2]
_EXAMPLE = Path("examples") / "own-qdisc"
_PAGE = (_ROOT / "docs" / "your-own-qdisc.md").read_text(encoding="utf-8")
_SCENARIO = Scenario.load(_ROOT / _EXAMPLE / "ramp.toml")


@pytest.fixture
def module(other_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of a copy of the module, and a cache with a kernel but without builds."""
    assert other_cache.is_dir()
    shutil.copytree(_ROOT / _EXAMPLE, tmp_path / _EXAMPLE)
    folder = tmp_path / _EXAMPLE / "sch_ramp"
    monkeypatch.setenv("CCBENCH_MODULES", str(folder))
    return folder


def edit(module: Path, before: str, after: str) -> None:
    """Replace a text in the module's source."""
    file = module / "sch_ramp.c"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def with_options(**options: float) -> Scenario:
    """Return the example's scenario with other options of the qdisc."""
    (link,) = _SCENARIO.path.bottlenecks
    return replace(
        _SCENARIO,
        path=replace(
            _SCENARIO.path, bottlenecks=(replace(link, qdisc_options=tuple(options.items())),)
        ),
        duration_s=5,
    )


def test_page(module: Path) -> None:
    """The commands of the page run, and print the outputs on the page."""
    commands = "".join(re.findall(r"```sh\n(.*?)```", _PAGE, re.DOTALL))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", commands],
        cwd=module.parents[2],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = re.search(r"```\n(name .*?)```", _PAGE, re.DOTALL)
    assert shown is not None
    for line in filter(None, map(str.strip, shown[1].splitlines())):
        assert line in done.stdout


def test_page_quotes_the_example() -> None:
    """The scenario and the description on the page are those of the example."""
    toml = re.search(r"```toml\n(.*?)```", _PAGE, re.DOTALL)
    assert toml is not None
    assert toml[1] in (_ROOT / _EXAMPLE / "ramp.toml").read_text()
    source = (_ROOT / _EXAMPLE / "sch_ramp" / "sch_ramp.c").read_text()
    code = re.search(r"```c\n(.*?)```", _PAGE, re.DOTALL)
    assert code is not None
    for statement in re.findall(r"CCBENCH_\w+\(.*?\);", code[1], re.DOTALL):
        assert statement.replace("65536", "RAMP_ONE") in source


class TestScenario:
    @pytest.fixture(autouse=True)
    def example(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Set the variable to the example's folder."""
        monkeypatch.setenv("CCBENCH_MODULES", str(_ROOT / _EXAMPLE / "sch_ramp"))

    def test_options_have_effect(self) -> None:
        """Marks at a shorter queue keep the queue shorter."""
        short, long = (
            emulate.run(with_options(min_packets=low, max_packets=high, probability=0.5))
            for low, high in ((5, 40), (100, 300))
        )
        for run in (short, long):
            assert (run.queue["event"] == "mark").sum() > 10
        assert short.occupancy().mean() < 0.5 * long.occupancy().mean()

    def test_packets(self) -> None:
        """Packets are tracked if the description names the dropped packet."""
        run = emulate.run(with_options(min_packets=5, max_packets=40))
        assert run.provenance["drops"] == {"ramp": "arrival"}
        assert len(delivered(run)) == (run.queue["event"] == "dequeue").sum()
        of_any = replace(run, provenance={**run.provenance, "drops": {"ramp": "any"}})
        with pytest.raises(InputError, match=r"qdisc = 'ramp' drops packets from the middle"):
            delivered(of_any)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"probability": 5},
                r"qdisc_options\.probability is 5; it must be a number at least 0",
            ),
            ({"min_packets": 0.5}, r"qdisc_options\.min_packets is 0\.5; it must be a whole"),
            ({"minimum": 1}, r"qdisc_options\.minimum: ramp takes min_packets, max_packets, prob"),
        ],
    )
    def test_bad_options(self, options: dict[str, float], message: str) -> None:
        """Options that contradict the description are refused before the run."""
        with pytest.raises(InputError, match=rf"^bottlenecks\[0\]\.{message}"):
            emulate.run(with_options(**options))


class TestDescription:
    def test_enumerator(self, module: Path) -> None:
        """A number unknown to the preprocessor is a build error with its reason."""
        edit(module, "#define TCA_RAMP_MIN\t\t2", "enum { TCA_RAMP_MIN = 2 };")
        with pytest.raises(InputError, match=r"attribute cannot be read: write a literal or a mac"):
            installed()
