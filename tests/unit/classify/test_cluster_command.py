# SPDX-License-Identifier: Apache-2.0
"""`ccbench classify-cluster` on output of `ccbench classify HOST -o`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from ccbench import Bottleneck
from ccbench.base.safe_json import plain
from ccbench.base.sealed import sealed
from ccbench.classify.reclustering import recluster
from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.verdict import judge
from ccbench.cli.main import program
from ccbench.emulate.recording import CommandRecording
from ccbench.run import tables

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write_trace(folder: Path, setting: Setting, points: npt.ArrayLike) -> None:
    """Write the output of `ccbench shell -o` for this occupancy every 20 ms."""
    folder.mkdir(parents=True)
    packets = np.asarray(points)
    queue = pd.DataFrame(
        {
            "time_ns": np.arange(len(packets)) * 20_000_000,
            "bottleneck": 0,
            "event": "enqueue",
            "flow": 0,
            "bytes": 1500,
            "backlog_packets": packets,
            "backlog_bytes": 0,
        }
    )
    link = Bottleneck(bandwidth_mbps=setting.bandwidth_mbps, queue_packets=setting.queue_packets)
    CommandRecording(
        status=0,
        duration_s=len(packets) * 0.02,
        queue=queue.astype(tables.dtypes(tables.QUEUE_COLUMNS)),
        provenance={"bottleneck": link.to_dict(), "rtt_ms": setting.rtt_ms},
    ).save(folder)


def write_server(folder: Path, label: str | None, traces: list[dict[str, Any]], **more: Any) -> str:
    """Write the results of a server, including the points of its traces."""
    for trace in traces:
        points, setting = trace.pop("points"), Setting.named(trace["setting"])
        if points is not None:
            write_trace(folder / setting.name, setting, points)
    folder.mkdir(exist_ok=True)
    limits = {trace["setting"]: trace.pop("limit") for trace in traces}
    metadata = {"label": label, "error": None, "group": None, "limits": limits}
    document = {"target": folder.name, **metadata, **more}
    text = json.dumps(sealed(plain({**document, "traces": traces})))
    (folder / "result.json").write_text(text, encoding="utf-8")
    return folder.name


def level(packets: float, label: str | None, **more: Any) -> dict[str, Any]:
    """Describe a trace of constant occupancy."""
    return {
        "setting": SETTINGS[0].name,
        "label": label,
        "distance": 1.0,
        "limit": 2.0,
        "points": np.full(1001, packets),
        **more,
    }


def cluster(*words: object) -> Result:
    """Run the command."""
    return CliRunner().invoke(program, ["classify-cluster", *map(str, words)])


def document(*words: object) -> dict[str, Any]:
    """Run the command and return its JSON document."""
    done = cluster(*words, "--json")
    assert 0 == done.exit_code, done.output
    actual: dict[str, Any] = json.loads(done.stdout)
    return actual


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give the results of a CDN: two known servers, a similar one and a different one."""
    results = tmp_path / "results"
    results.mkdir()
    write_server(results / "a", "cubic", [level(30, "cubic")], group="cdn")
    write_server(results / "b", "cubic", [level(31, "cubic")], group="cdn")
    write_server(results / "c", "unknown", [level(32, "unknown")], group="cdn")
    write_server(results / "d", "unknown", [level(5, "unknown")], group="cdn")
    return results


def test_library(folder: Path) -> None:
    """The function returns the command's results, and reports the progress of each step."""
    steps = []

    def track(items: Iterable[Any], total: int, step: str) -> Iterable[Any]:
        steps.append((step, total))
        return items

    result = recluster([folder], track=track)
    assert {"cubic": (2, 3), "unknown": (2, 1)} == result.counts("cdn")
    assert document(folder) == plain(result.to_dict())
    assert [("reading servers", 4), ("clustering traces", 1)] == steps


class TestCommand:
    def test_relabelled(self, folder: Path) -> None:
        """An unknown server gets the label of similar servers; counts are before and after.

        They have the form of Table 2.4.
        """
        actual = document(folder)
        assert {
            "cdn": {"cubic": {"before": 2, "after": 3}, "unknown": {"before": 2, "after": 1}}
        } == actual["groups"]
        after = {server["target"]: server["after"] for server in actual["servers"]}
        assert {"a": "cubic", "b": "cubic", "c": "cubic", "d": "unknown"} == after
        assert [("unknown #1", ["d"])] == [(x["label"], x["targets"]) for x in actual["unknown"]]
        assert [3, 1] == [group["size"] for group in actual["clusters"]]
        assert "b" == actual["clusters"][0]["medoid"]

    def test_text(self, folder: Path) -> None:
        """Text output has tables of the same results."""
        done = cluster(folder)
        assert 0 == done.exit_code, done.output
        for words in ("group cdn", "cubic 2, unknown 1", "unknown #1", "a single trace: 1"):
            assert words in done.stdout

    def test_results_stay(self, folder: Path, tmp_path: Path) -> None:
        """Figures and results are written to `-o`; the input is not changed."""
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        actual = document(folder, "-o", tmp_path / "out")
        assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert actual == json.loads((tmp_path / "out" / "relabelled.json").read_text("utf-8"))
        pictures = {path.name for path in (tmp_path / "out").glob("*.png")}
        of_group = {f"cdn-{SETTINGS[0].name}-{one}.png" for one in ("dendrogram", "medoids")}
        assert {*of_group, "unknown-dendrogram.png", "unknown-medoids.png"} == pictures

    def test_group_file(self, folder: Path, tmp_path: Path) -> None:
        """Groups of a file take precedence over those of the results."""
        groups = tmp_path / "groups.csv"
        groups.write_text("target,group\nc,other\n", encoding="utf-8")
        actual = document(folder, "--group", groups)
        assert {"other": {"unknown": {"before": 1, "after": 1}}} == {
            name: counts for name, counts in actual["groups"].items() if name != "cdn"
        }

    def test_no_groups(self, folder: Path, tmp_path: Path) -> None:
        """Without groups all servers form one."""
        for name, points, label in (("a", 30, "cubic"), ("b", 30, "unknown")):
            write_server(tmp_path / "plain" / name, label, [level(points, label)])
        actual = document(tmp_path / "plain")
        expected = {"cubic": {"before": 1, "after": 2}, "unknown": {"before": 1, "after": 0}}
        assert {"all": expected} == actual["groups"]
        assert {"cdn", "none"} == set(document(folder, tmp_path / "plain")["groups"])

    def test_cut(self, folder: Path) -> None:
        """A larger cut yields larger clusters, a smaller one smaller; a large share no label."""
        assert 4 == document(folder, "--cut", "50")["groups"]["cdn"]["cubic"]["after"]
        assert 2 == document(folder, "--cut", "0.5")["groups"]["cdn"]["cubic"]["after"]
        assert 2 == document(folder, "--min-share", "0.7")["groups"]["cdn"]["cubic"]["after"]

    def test_no_verdict(self, folder: Path) -> None:
        """Servers without an answer, or with too short traces, are only counted."""
        write_server(folder / "e", None, [], error="refused", group="cdn")
        short = level(30, None, points=np.full(10, 30), distance=None)
        write_server(folder / "f", None, [short], error="too little", group="cdn")
        gone = level(30, None, points=None, distance=None)
        write_server(folder / "g", None, [gone], error="too far", group="cdn")
        actual = document(folder)
        assert {"before": 3, "after": 3} == actual["groups"]["cdn"]["no verdict"]
        assert 4 == sum(group["size"] for group in actual["clusters"])

    def test_one_server(self, folder: Path) -> None:
        """The folder of a single server is accepted, too."""
        actual = document(folder / "d")
        assert ["d"] == [server["target"] for server in actual["servers"]]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"limit": 3.0}, "is 3.0; it must be 2 as in other results: results of"),
            ({"points": None}, "5bw-85rtt-64q'; it must be an existing folder"),
            ({"points": np.full(10, 30)}, "5bw-85rtt-64q: trace is '0.18 s'"),
        ],
    )
    def test_bad_trace(self, folder: Path, change: dict[str, Any], message: str) -> None:
        """An invalid trace with a label is one line of error and status 2."""
        write_server(folder / "z", "cubic", [{**level(30, "cubic"), **change}])
        done = cluster(folder)
        assert 2 == done.exit_code
        assert message in done.stderr
        assert 1 == len(done.stderr.splitlines())

    def test_kinds(self, folder: Path) -> None:
        """A slow trace is clustered; a trace of several connections is not."""
        for name, kind in (("slow", "slow"), ("many", "connections")):
            traces = [level(30, "unknown"), level(30, None, setting=SETTINGS[1].name, kind=kind)]
            write_server(folder / name, "unknown", traces)
        actual = {server["target"]: len(server["traces"]) for server in document(folder)["servers"]}
        assert (actual["slow"], actual["many"]) == (2, 1)

    @pytest.mark.parametrize(
        "text",
        [
            *("", "[]", '{"target": "x"}', '{"traces": [1]}', "[" * 100_000),
            '{"target": "x", "limits": {}, "traces": [], "label": 5}',
            *(json.dumps(sealed(item)) for item in ({"target": "x"}, {"traces": [1]})),
            json.dumps(sealed({"target": "x", "limits": {}, "traces": [], "label": 5})),
        ],
        ids=range(9),
    )
    def test_damaged(self, folder: Path, text: str) -> None:
        """Damaged results are an error."""
        (folder / "a" / "result.json").write_text(text, encoding="utf-8")
        done = cluster(folder)
        assert 2 == done.exit_code
        assert "it must be a result of `ccbench classify`" in done.stderr

    def test_changed(self, folder: Path) -> None:
        """Results with a manually changed label are an error."""
        path = folder / "a" / "result.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**document, "label": "vegas"}), encoding="utf-8")
        done = cluster(folder)
        assert 2 == done.exit_code
        assert "it was changed" in done.stderr

    def test_damaged_distance(self, folder: Path) -> None:
        """Results with a distance that is not a number are an error."""
        path = folder / "a" / "result.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        document["traces"][0]["distance"] = "far"
        del document["sha256"]
        path.write_text(json.dumps(sealed(document)), encoding="utf-8")
        done = cluster(folder)
        assert 2 == done.exit_code
        assert "could not convert string to float: 'far'" in done.stderr

    def test_empty(self, tmp_path: Path) -> None:
        """A folder without results is an error."""
        done = cluster(tmp_path)
        assert 2 == done.exit_code
        assert "it must be a folder with results of servers" in done.stderr

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("host,cdn\n", "a CSV file with the columns"),
            ("target,group\na,x\na,y\n", "listed once"),
        ],
    )
    def test_bad_groups(self, folder: Path, tmp_path: Path, text: str, message: str) -> None:
        """An invalid group file is an error."""
        (tmp_path / "groups.csv").write_text(text, encoding="utf-8")
        done = cluster(folder, "--group", tmp_path / "groups.csv")
        assert 2 == done.exit_code
        assert message in done.stderr


def samples_of(training_set: TrainingSet, cca: str, names: tuple[str, ...]) -> list[list[Any]]:
    """Return samples of a CCA, grouped by server."""
    return [
        [
            next(
                sample
                for sample in training_set.samples
                if (sample.setting, sample.cca, sample.variation.name, sample.seed)
                == (setting, cca, name, 1)
            )
            for setting in SETTINGS
        ]
        for name in names
    ]


def clusters(relabelled: dict[str, Any]) -> list[set[str]]:
    """Return the CCAs in each cluster of unknown servers."""
    return sorted(
        (
            {name.partition("-")[0] for name in server["targets"]}
            for server in relabelled["unknown"]
        ),
        key=str,
    )


def test_unknown_ccas(tmp_path: Path) -> None:
    """Each cluster of unknown servers has one CCA; with a larger cut, a CCA is one cluster.

    The traces are the virtual kernel's; BBR and Scalable are removed from the training set.
    """
    training_set = TrainingSet.load(PACKAGED)
    novel = ("bbr", "scalable")
    reduced = training_set.without(*novel)
    for cca in (*novel, "reno"):
        for server in samples_of(training_set, cca, ("plain", "longer", "shorter")):
            verdict = judge(server, reduced).to_dict()
            for one, trace in zip(server, verdict["traces"], strict=True):
                trace |= {"points": one.points, "limit": reduced.thresholds[one.setting].distance}
            name = f"{cca}-{server[0].variation.name}"
            write_server(tmp_path / name, verdict["label"], verdict["traces"])
    actual = document(tmp_path)
    assert {"reno": {"before": 3, "after": 3}, "unknown": {"before": 6, "after": 6}} == (
        actual["groups"]["all"]
    )
    assert all(len(ccas) == 1 for ccas in clusters(actual))
    assert [{"bbr"}, {"scalable"}] == clusters(document(tmp_path, "--cut", "3"))


def test_noisy_cubic(tmp_path: Path) -> None:
    """Untypical CUBIC traces get their label from similar CUBIC traces.

    A small training set, of one ordinary run for each CCA, lacks paths with jitter and other RTTs,
    but their traces are near to those of the other servers. CCAs other than CUBIC stay unknown.
    """
    training_set = TrainingSet.load(PACKAGED)
    plain_only = tuple(
        x for x in training_set.samples if (x.variation.name, x.seed) == ("plain", 1)
    )
    small = replace(training_set, samples=plain_only, noisy=(), limits=None)
    before = {}
    for cca, names in (
        ("cubic", ("plain", "shorter", "jitter 3 ms")),
        ("vegas", ("late",)),
    ):
        for server in samples_of(training_set, cca, names):
            verdict = judge(server, small).to_dict()
            for one, trace in zip(server, verdict["traces"], strict=True):
                trace |= {"points": one.points, "limit": small.thresholds[one.setting].distance}
            name = f"{cca}-{server[0].variation.name}"
            before[name] = verdict["label"]
            write_server(tmp_path / name, verdict["label"], verdict["traces"])
    actual = document(tmp_path, "--cut", "3")
    after = {item["target"]: item["after"] for item in actual["servers"]}
    noisy = "cubic-jitter 3 ms"
    known_ones = dict.fromkeys(("cubic-plain", "cubic-shorter"), "cubic")
    assert {**known_ones, noisy: "unknown", "vegas-late": "unknown"} == before
    assert {**known_ones, noisy: "cubic", "vegas-late": "unknown"} == after
