# SPDX-License-Identifier: Apache-2.0
"""Examples of the documentation that need the virtual kernel."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Bottleneck, Flow, Run, Scenario, emulate, plots, raygen, sweeps
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.simulation import simulate
from ccbench.datacenter.topology import star
from ccbench.datacenter.workload import flow_table
from ccbench.experiment.path import typical_path
from ccbench.harm import long_flows
from tests.kernel.conftest import run_with

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("session_store")]

CHECKOUT = Path(__file__).parents[2]
GETTING_STARTED = (CHECKOUT / "docs" / "getting-started.md").read_text(encoding="utf-8")


_SWEPT = {
    "flows": [{"cca": "cubic"}, {"cca": "reno"}],
    "bottlenecks": [{"bandwidth_mbps": 10, "queue_bdp": 1}],
    "rtt_ms": 20,
    "duration_s": 2,
}


def examples() -> Iterator[doctest.DocTest]:
    """Yield the examples in docstrings that ``pytest ccbench`` skips."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    # An editable installation has the checkout itself among the import locations.
    for module in pkgutil.walk_packages([str(CHECKOUT / "ccbench")], "ccbench."):
        for test in finder.find(importlib.import_module(module.name)):
            if any(doctest.SKIP in example.options for example in test.examples):
                yield test


class Lenient(doctest.OutputChecker):
    """Compares only results that are shown; tables are not compared."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Return whether an example's result is as shown."""
        return not want or super().check_output(want, got, optionflags)


@pytest.fixture(scope="module")
def names(session_cache: Path) -> dict[str, Any]:
    """Give the names that the examples presuppose."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CCBENCH_CACHE", str(session_cache))
        return _names()


def _names() -> dict[str, Any]:
    scenario = Scenario.load(CHECKOUT / "examples" / "bbr-vs-cubic.toml")
    config = raygen.SearchConfig(
        alpha="bbr", beta="cubic", budget=4, population=4, duration_s=2, confirm=1
    )
    experiment = long_flows(
        alpha="bbr",
        beta="cubic",
        path=typical_path(bandwidth_mbps=50, rtt_ms=40, queue_bdp=1),
        duration_s=60,
    )
    sweep = sweeps.Sweep.of(_SWEPT, vary={"rtt_ms": [10, 20]}, repeat=2)
    flows = flow_table([(0.0, 0, 1, 1000, "background")])
    return {
        "Bottleneck": Bottleneck,
        "competing": emulate.run(experiment.competing),
        "Flow": Flow,
        "Path": Path,
        "Run": Run,
        "Scenario": Scenario,
        "config": config,
        "emulate": emulate,
        "engine": emulate.get_engine("kernel"),
        "experiment": experiment,
        "result": raygen.search(config),
        "run": emulate.run(scenario),
        "run_many": emulate.run_many,
        "scenario": scenario,
        "solo": emulate.run(experiment.solo),
        "scenarios": [scenario],
        "simulated": simulate(star(servers=2), flows, scheme("bfc"), duration_s=1e-5),
        "sweep": sweep,
        "table": sweep.run(),
        "summarised": emulate.run(replace(scenario, queue_log="summary")),
    }


class TestDocumentation:
    @pytest.mark.parametrize("test", list(examples()), ids=lambda test: test.name)
    def test_docstring(
        self,
        test: doctest.DocTest,
        names: dict[str, Any],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """An example in a docstring runs, and its result is as shown."""
        if "l4s" in "".join(part.source for part in test.examples):
            scenario = Scenario.load(CHECKOUT / "examples" / "l4s.toml")
            names = {**names, "l4s": run_with("prague", scenario)}
        monkeypatch.chdir(tmp_path)
        (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
        module = importlib.import_module(test.globs["__name__"])
        test.globs = {**names, **vars(module)}
        for example in test.examples:
            example.options.pop(doctest.SKIP, None)
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        runner = doctest.DocTestRunner(Lenient(), optionflags=flags)
        output: list[str] = []
        runner.run(test, out=output.append)
        assert runner.summarize(verbose=False).failed == 0, "".join(output)

    def test_notebook(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The Python code of the page for beginners runs."""
        (code,) = re.findall(r"```python\n(.*?)```", GETTING_STARTED, re.DOTALL)
        monkeypatch.chdir(tmp_path)
        names: dict[str, Any] = {}
        exec(code, names)  # noqa: S102 - it is our own
        assert names["run"].summary()["throughput_mbps"].sum() > 90
        assert plots.throughput_and_queue(names["run"]).axes

    def test_scenario(self) -> None:
        """The scenario on the page for beginners is valid."""
        (toml,) = re.findall(r"```toml\n(.*?)```", GETTING_STARTED, re.DOTALL)
        assert Scenario.from_toml(toml).flow_count == 3
