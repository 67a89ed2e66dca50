# SPDX-License-Identifier: Apache-2.0
"""docs/file-formats.md lists the columns of all files."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from ccbench import Bottleneck, Change, Flow, NetworkPath, Scenario, When, emulate, raygen
from ccbench.classify.training_set import PACKAGED
from ccbench.experiment.subflow import Subflow
from ccbench.experiment.wifi import Wifi
from ccbench.run.tables import ECN_COLUMNS, STATISTICS_COLUMNS
from tests.documentation import DOCS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("own_store")]

_PAGE = (DOCS / "file-formats.md").read_text(encoding="utf-8")
_NETWORKS = "[[networks]]\nbandwidth_mbps = 5\nrtt_ms = 20\nqueue_bdp = 1\n"
_WORKLOADS = '[[workloads]]\nname = "download"\nmetrics = ["throughput"]\n'
_TWO = """
rtt_ms = 20
duration_s = 3
flows = [{ cca = "cubic" }, { cca = "bbr" }]
bottlenecks = [{ bandwidth_mbps = 5, queue_bdp = 1 }]
"""


def documented() -> dict[str, list[str]]:
    """Return the page's table of each file that has one."""
    sections = re.findall(r"^### `(.*?)`\n(.*?)(?=^##|\Z)", _PAGE, re.DOTALL | re.MULTILINE)
    tables = {name: re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) for name, text in sections}
    return {name: table for name, table in tables.items() if table}


def columns(path: Path) -> list[str]:
    """Return the columns of a table, preceded by a named index."""
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    index = [] if table.index.name is None else [str(table.index.name)]
    numbered = re.compile("cca_info_[1-6]|statistic_[1-9][0-9]?")
    return index + [name for name in table.columns if not numbered.fullmatch(name)]


@pytest.fixture
def written(tmp_path: Path, program: Callable[..., str]) -> dict[str, list[str]]:
    """Write every kind of file, and return its columns or keys."""
    wifi = Bottleneck(wifi=Wifi(bitrates_mbps=(13,)), queue_packets=50)
    short = Flow(kind="bytes", arrivals=((0.1, 1000),), connections=1)
    video = Flow(kind="video", bitrates_mbps=(1,), segment_s=2, buffer_s=4)
    event = Change(when=When(flow=0, packet=5), loss=0)
    scenario = Scenario(
        flows=(Flow(), short, video),
        path=NetworkPath(bottlenecks=(wifi,), rtt_ms=20, changes=(event,)),
        duration_s=1,
    )
    whole = emulate.run(scenario)
    # As of dualpi2, which the default Linux does not have.
    sample = {"time_ns": 0, "bottleneck": 0, **dict.fromkeys(STATISTICS_COLUMNS, 0.0)}
    replace(whole, qdiscs=pd.DataFrame([sample])).save(tmp_path / "run")
    ends = pd.DataFrame({name: [0] * 3 for name in ECN_COLUMNS}).assign(
        sender="off", receiver="off"
    )
    program_ends = {"flow": 0, "side": "sender", "end": "exit", "status": 0, "end_ns": 0}
    replace(whole, ecn=ends, programs=pd.DataFrame([program_ends])).save(tmp_path / "ecn")
    multipath = replace(
        scenario, flows=(Flow(subflows=(Subflow(),)),), path=replace(scenario.path, changes=())
    )
    emulate.run(multipath).save(tmp_path / "multipath")
    (tmp_path / "run.toml").write_text(scenario.to_toml())
    shown = json.loads(program("run", tmp_path / "run.toml", "--json"))
    emulate.run(replace(scenario, queue_log="summary")).save(tmp_path / "summary")
    raygen.search(
        alpha="bbr",
        beta="cubic",
        budget=4,
        population=4,
        duration_s=2,
        output_dir=tmp_path / "search",
    )
    (tmp_path / "networks.toml").write_text(_NETWORKS)
    (tmp_path / "workloads.toml").write_text(_WORKLOADS)
    judge = ["deployable", "--alpha", "bbr", "--beta", "cubic", "--repeat", 2]
    files = ["--networks", tmp_path / "networks.toml", "--workloads", tmp_path / "workloads.toml"]
    program(*judge, *files, "--duration", 2, "-o", tmp_path / "verdict")
    small = ["--clos", "2x2x1", "--duration", 0.02, "--scheme", "bfc"]
    program("bfc", "simulate", *small, "-o", tmp_path / "bfc")
    mix = ["--sizes", 1000, "--load", 1, "--duration", 1, "-o", tmp_path / "flows.csv"]
    program("traffic", *mix)
    (tmp_path / "two.toml").write_text(_TWO)
    chosen = ("share", "fct_p95", "harm", "sojourn_time_p99")
    metrics = [word for name in chosen for word in ("--metric", name)]
    sweep = ["sweep", tmp_path / "two.toml", "--vary", "rtt_ms=10,20", *metrics]
    program(*sweep, "-o", tmp_path / "sweep")
    long = ["--bandwidth", 10, "--rtt", 20, "--queue", "1bdp", "--duration", 2, "--repeat", 1]
    program("harm", "--alpha", "bbr", "--beta", "cubic", *long, "-o", tmp_path / "harm")
    paths = [path for path in tmp_path.rglob("*") if path.suffix in {".parquet", ".csv"}]
    actual = {path.name: columns(path) for path in paths if "bfc" not in path.parts}
    inside = {
        f"bfc/{path.name}": columns(path)
        for path in (tmp_path / "bfc" / "bfc").iterdir()
        if path.suffix == ".parquet"
    }
    actual["run.json"] = list(json.loads((tmp_path / "run" / "run.json").read_text()))
    actual["Run.summary()"] = list(whole.summary().reset_index().columns)
    actual["Run.completion_times()"] = list(whole.completion_times().reset_index().columns)
    for name, table in whole.outcomes().items():
        actual[name] = list(table.reset_index().columns)
        assert actual[name] == list(shown[name][0])
    actual["queues"] = list(whole.l4s_summary().reset_index().columns)
    actual["bottlenecks"] = list(shown["bottlenecks"][0])
    assert actual["Run.summary()"] == list(shown["flows"][0])
    actual["training.parquet"] = columns(PACKAGED)
    assert actual["claims.csv"][6:] == actual["results.csv"]
    actual["claims.csv"] = actual["claims.csv"][:6]
    assert inside.pop("bfc/buffers.parquet")[0] == "time_s"
    return {**actual, **inside}


def test_columns(written: dict[str, list[str]]) -> None:
    """The page's tables have the columns of the files in order, and no file is missing."""
    assert documented() == written


def test_units() -> None:
    """If a name ends with a unit, the table has that unit."""
    units = {
        "s": "s",
        "ms": "ms",
        "us": "\N{MICRO SIGN}s",
        "ns": "ns",
        "mbps": "Mbit/s",
        "bps": "bit/s",
    }
    units |= {"bytes": "bytes", "packets": "packets"}
    for name, output in re.findall(r"^\| `\w+_([a-z]+)` \| ([^|]*) \|", _PAGE, re.MULTILINE):
        if name in units:
            assert units[name] == output.strip(), name
