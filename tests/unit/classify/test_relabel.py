# SPDX-License-Identifier: Apache-2.0
"""Relabelling of unknown servers."""

from __future__ import annotations

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.classify.relabel import (
    ObservedTrace,
    Server,
    group_clusters,
    relabelled,
    unknown_servers,
)
from ccbench.classify.setting import SETTINGS, Setting

CUTS = dict.fromkeys(SETTINGS, 2.0)


def trace(
    level: float, label: str | None, setting: Setting = SETTINGS[0], distance: float = 1.0
) -> ObservedTrace:
    """Return a trace of a constant queue: the distance of two is that of their levels."""
    points = np.full(20, level, dtype=np.float32)
    return ObservedTrace(setting=setting, points=points, label=label, distance=distance)


def server(name: str, *traces: ObservedTrace, label: str | None, group: str = "cdn") -> Server:
    """Return a server."""
    return Server(target=name, group=group, label=label, traces=traces)


def simple(level: float, label: str | None, group: str = "cdn", distance: float = 1.0) -> Server:
    """Return a server with one trace."""
    own = trace(level, label, distance=distance)
    return server(f"{label}{level}", own, label=label, group=group)


def labels(servers: list[Server], min_share: float = 0.05) -> list[str | None]:
    """Return the labels of servers after relabelling."""
    clustered = list(group_clusters(servers, CUTS, min_share=min_share))
    return [item.label for item in relabelled(servers, clustered)]


class TestRelabelled:
    def test_unknown(self) -> None:
        """Unknown traces get the label of similar known traces only."""
        servers = [simple(30, "cubic"), simple(31, "unknown"), simple(5, "unknown")]
        assert ["cubic", "cubic", "unknown"] == labels(servers)

    @pytest.mark.parametrize(("unknown", "expected"), [(19, "cubic"), (20, "unknown")])
    def test_share(self, unknown: int, expected: str) -> None:
        """One labelled trace of 20 reaches the required 5 %, one of 21 does not."""
        servers = [simple(30, "cubic"), *(simple(30, "unknown") for _ in range(unknown))]
        assert ["cubic", *[expected] * unknown] == labels(servers)

    def test_most(self) -> None:
        """Of several sufficient labels the most frequent is assigned; known traces keep theirs."""
        labelled = [simple(30, item) for item in ("bic", "cubic", "cubic")]
        assert ["bic", "cubic", "cubic", "cubic"] == labels([*labelled, simple(30, "unknown")])

    def test_tie(self) -> None:
        """Of equally frequent labels the one nearest to the training set is assigned."""
        labelled = [simple(30, "cubic", distance=0.5), simple(30, "bic", distance=0.4)]
        assert "bic" == labels([*labelled, simple(30, "unknown")])[-1]

    def test_groups(self) -> None:
        """Labels do not cross groups of servers."""
        assert ["cubic", "unknown"] == labels(
            [simple(30, "cubic", "one"), simple(30, "unknown", "other")]
        )

    def test_settings(self) -> None:
        """Traces of different settings are not compared, however similar."""
        other = server("b", trace(30, "unknown", SETTINGS[1]), label="unknown")
        assert ["cubic", "unknown"] == labels([simple(30, "cubic"), other])

    def test_vote(self) -> None:
        """New labels vote with the old ones, and a tie with unknown goes to the CCA."""
        cubic = [
            server("a", *(trace(30, "cubic", setting) for setting in SETTINGS[:2]), label="cubic"),
        ]
        levels = (30, 30, 3, 3)
        pairs = zip(levels, SETTINGS, strict=True)
        four = server("b", *(trace(x, "unknown", one) for x, one in pairs), label="unknown")
        assert ["cubic", "cubic"] == labels([*cubic, four])
        three = server("c", *four.traces[1:], label="unknown")
        assert ["cubic", "unknown"] == labels([*cubic, three])

    def test_invalid(self) -> None:
        """An invalid trace that gets a label votes; without a label it does not."""
        mixed = server(
            "b", trace(30, None), trace(3, None, SETTINGS[1]), trace(3, "unknown", SETTINGS[2]),
            label="unknown",
        )  # fmt: skip
        servers = [simple(30, "cubic"), mixed]
        after = relabelled(servers, list(group_clusters(servers, CUTS)))[1]
        assert "cubic" == after.label  # one vote for each, and the tie
        assert ["cubic", None, "unknown"] == [item.label for item in after.traces]

    def test_all_invalid(self) -> None:
        """A server with only invalid traces stays without a label, and does not count in shares."""
        invalid = [simple(30, None) for _ in range(40)]
        after = labels([simple(30, "cubic"), simple(30, "unknown"), *invalid])
        assert ["cubic", "cubic", *[None] * 40] == after

    def test_not_needed(self) -> None:
        """An unchanged server keeps its verdict, and so does one without traces."""
        servers = [simple(30, "cubic"), server("down", label=None)]
        clustered = list(group_clusters(servers, CUTS))
        assert all(a is b for a, b in zip(servers, relabelled(servers, clustered), strict=True))

    def test_decided(self) -> None:
        """A server that has a label keeps it, whatever its traces join."""
        labelled = server("b", trace(30, "unknown"), label="veno")
        assert ["cubic", "veno"] == labels([simple(30, "cubic"), labelled])

    @pytest.mark.parametrize("share", [0.0, 1.5])
    def test_bad_share(self, share: float) -> None:
        """A share outside (0, 1] is an input error."""
        with pytest.raises(InputError, match="min_share is"):
            labels([simple(30, "cubic")], share)

    def test_no_cut(self) -> None:
        """A setting without a cut is an input error that names it."""
        with pytest.raises(InputError, match="given for 5bw-85rtt-64q too"):
            list(group_clusters([simple(30, "cubic")], {}))


class TestUnknownServers:
    def test_numbers(self) -> None:
        """Unknown servers of all groups are numbered by cluster, the largest first."""
        servers = [
            simple(3, "unknown"),
            simple(30, "unknown", "one"),
            simple(31, "cubic"),
            simple(31, "unknown", "other"),
        ]
        actual = unknown_servers(servers, CUTS)
        assert actual is not None
        assert {0: "unknown #2", 1: "unknown #1", 3: "unknown #1"} == actual.labels

    @pytest.mark.parametrize(("second", "expected"), [(32.0, 1), (33.0, 2)])
    def test_mean(self, second: float, expected: int) -> None:
        """The distance is the mean over settings, each in multiples of its cut, at most 1."""
        cuts = {SETTINGS[0]: 2.0, SETTINGS[1]: 4.0}
        two = [
            server(str(levels), *map(trace, levels, ["unknown"] * 2, cuts), label="unknown")
            for levels in ((30.0, 30.0), (33.0, second))  # 1.5 cuts apart, and a half or more
        ]
        actual = unknown_servers(two, cuts)
        assert actual is not None
        assert expected == len(actual.clustering.clusters)

    def test_nothing_in_common(self) -> None:
        """Servers observed in different settings are never in one cluster."""
        other = server("b", trace(30, "unknown", SETTINGS[1]), label="unknown")
        actual = unknown_servers([simple(30, "unknown"), other], CUTS)
        assert actual is not None
        assert [1, 1] == [group.size for group in actual.clustering.clusters]

    def test_none(self) -> None:
        """Without unknown servers there are no clusters."""
        assert unknown_servers([simple(30, "cubic")], CUTS) is None
