# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.experiment.receiver import Receiver
from ccbench.experiment.scenario import Flow
from ccbench.experiment.subflow import Subflow
from tests.unit.experiment.conftest import VIDEO


class TestFlow:
    def test_cca_default(self) -> None:
        """A TCP flow runs CUBIC by default, a UDP flow has no CCA."""
        assert Flow().cca == "cubic"
        assert Flow(kind="poisson", rate_mbps=1).cca == ""

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"kind": "ftp"}, "kind is 'ftp'; it must be one of bulk, bytes"),
            ({"cca": "BBR v3"}, "cca is 'BBR v3'; it must be a Linux name"),
            ({"kind": "cbr", "rate_mbps": 1, "cca": "bbr"}, "cca is 'bbr'; it must be left out"),
            ({"count": 0}, "count is 0; it must be a whole number at least 1"),
            ({"count": 1.5}, "count is 1.5"),
            ({"count": True}, "count is True"),
            ({"start_s": -1}, "start_s is -1"),
            ({"start_s": float("nan")}, "start_s is nan"),
            ({"start_s": 5, "stop_s": 5}, "stop_s is 5.0; it must be above start_s = 5"),
            ({"kind": "bytes"}, "size_bytes is missing"),
            ({"kind": "onoff", "on_s": 1}, "off_s is missing"),
            ({"kind": "rate"}, "rate_mbps is missing"),
            ({"kind": "video", **VIDEO, "bitrates_mbps": ()}, "bitrates_mbps is missing"),
            ({"kind": "video", **VIDEO, "bitrates_mbps": (2, 1)}, "bitrates_mbps is (2, 1)"),
            ({"kind": "video", **VIDEO, "bitrates_mbps": (1, 0)}, "bitrates_mbps[1] is 0"),
            ({"kind": "video", **VIDEO, "buffer_s": 2}, "buffer_s is 2.0; it must be at least"),
            ({"kind": "video", "bitrates_mbps": (1,), "segment_s": 1}, "buffer_s is missing"),
            (VIDEO, "bitrates_mbps is (1, 2); it must be left out for kind 'bulk'"),
            (
                {"size_bytes": 1},
                (
                    "size_bytes is 1; it must be left out for kind 'bulk': "
                    'add kind = "bytes", or remove size_bytes'
                ),
            ),
            (
                {"rate_mbps": 1},
                (
                    "rate_mbps is 1; it must be left out for kind 'bulk': "
                    'add kind = "cbr" or kind = "poisson" or kind = "rate", or remove rate_mbps'
                ),
            ),
            ({"kind": "cbr", "rate_mbps": 0}, "rate_mbps is 0; it must be a number at least 0.001"),
            ({"kind": "cbr", "rate_mbps": 1, "packet_bytes": 9217}, "packet_bytes is 9217"),
            ({"packet_bytes": 500}, "packet_bytes is 500; it must be left out"),
            ({"kind": "frames", "frames_per_s": 30}, "frame_bytes is missing: add it, as kind"),
            (
                {"kind": "frames", "frames_per_s": 30, "frame_bytes": (9, 0)},
                "frame_bytes[1] is 0; it must be a whole number at least 1",
            ),
            ({"kind": "cbr", "rate_mbps": 1, "initcwnd": 3}, "initcwnd is 3; it must be left out"),
            ({"initcwnd": 0}, "initcwnd is 0; it must be a whole number at least 1 and at most 10"),
            (
                {"initcwnd": 3, "subflows": ({},)},
                "initcwnd is 3; it must be left out with subflows",
            ),
            ({"ecn": "ect1"}, "ecn is 'ect1'; it must be left out for kind 'bulk'"),
            (
                {"kind": "cbr", "rate_mbps": 1, "ecn": "ect(1)"},
                "ecn is 'ect(1)'; it must be '' or 'ect1' or 'ect0' or 'ce'",
            ),
            (
                {"connections": 2},
                "connections is 2; it must be a whole number at least 1 and at most",
            ),
            (
                {"kind": "bytes", "arrivals": ((1.0, 2),), "connections": 2},
                "connections is 2; it must be a whole number at least 1 and at most 1",
            ),
            (
                {"kind": "bytes", "size_bytes": 2, "connections": 1},
                "connections is 1; it must be left out without arrivals",
            ),
            ({"acks": "all"}, "acks is 'all'; it must be 'default' or 'delayed' or 'every'"),
            ({"acks": True}, "acks is True; it must be 'default' or 'delayed' or 'every'"),
            (
                {"kind": "cbr", "rate_mbps": 1, "acks": "every"},
                "acks is 'every'; it must be left out",
            ),
            (
                {"kind": "cbr", "rate_mbps": 1, "receiver": Receiver(window_bytes=9000)},
                "receiver is Receiver(window_bytes=9000); ",
            ),
            ({"receiver": {"window_bytes": 9000}}, "receiver is {'window_bytes': 9000}; it must"),
            (
                {"acks": "delayed", "receiver": Receiver(packets_per_ack=2)},
                "acks is 'delayed'; it must be left out with receiver.packets_per_ack",
            ),
            (
                {"kind": "video", **VIDEO, "receiver": Receiver(read_mbps=2)},
                "receiver.read_mbps is 2.0; it must be left out for kind 'video'",
            ),
            (
                {"kind": "bytes", "size_bytes": 9, "receiver": Receiver(optimistic_mbps=2)},
                "receiver.optimistic_mbps is 2.0; it must be left out for kind 'bytes'",
            ),
            ({"segmentation_offload": 0}, "segmentation_offload is 0; it must be true or false"),
            ({"subflows": []}, "subflows is []; it must be a list of 1 to 8 subflows"),
            ({"ip_version": 5}, "ip_version is 5; it must be 4 or 6"),
            ({"ip_version": 6.5}, "ip_version is 6.5; it must be 4 or 6"),
            ({"ip_version": "6"}, "ip_version is '6'; it must be 4 or 6"),
            ({"host": "a b"}, "host is 'a b'; it must be a name: 1 to 64 letters"),
            ({"kind": "cbr", "rate_mbps": 1, "host": "a"}, "host is 'a'; it must be left out"),
            (
                {"kind": "cbr", "rate_mbps": 1, "segmentation_offload": False},
                "segmentation_offload is False; it must be left out",
            ),
            ({"extra_rtt_ms": "20"}, "extra_rtt_ms is '20'"),
            ({"first_bottleneck": 8}, "first_bottleneck is 8; it must be a whole number at least"),
            (
                {"first_bottleneck": 2, "last_bottleneck": 1},
                "last_bottleneck is 1; it must be a whole number at least 2",
            ),
            ({"label": "two\nlines"}, "label is"),
            ({"arrivals": ((1, 10),)}, "arrivals is ((1.0, 10),); it must be left out"),
            ({"kind": "bytes", "arrivals": ((2, 9), (1, 9))}, "arrivals[1].start_s is 1.0"),
            ({"kind": "bytes", "arrivals": ((1, 0),)}, "arrivals[0].size_bytes is 0"),
            ({"kind": "bytes", "arrivals": (1, 2)}, "arrivals[0] is 1; it must be a pair"),
            ({"kind": "bytes", "arrivals": "1"}, "arrivals is '1'; it must be a list of pairs"),
            ({"kind": "bytes", "arrivals": ((1, 9),), "count": 2}, "count is 2"),
            ({"kind": "bytes", "arrivals": ((1, 9),), "size_bytes": 2}, "size_bytes is 2"),
        ],
    )
    def test_bad(self, settings: dict[str, Any], message: str) -> None:
        """A setting that is out of range, missing or meaningless is named with its value."""
        with pytest.raises(InputError) as caught:
            Flow(**settings)
        assert str(caught.value).startswith(message)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"subflows": 2}, "subflows is 2; it must be a list of 1 to 8 subflows"),
            ({"subflows": ({},) * 9}, "subflows is ({}, {}, {}"),
            ({"subflows": (1,)}, "subflows[0] is 1; it must be a Subflow, or a table"),
            ({"subflows": ({"cca": "B"},)}, "subflows[0].cca is 'B'; it must be a Linux name"),
            ({"subflows": ({"rtt_ms": 1},)}, "subflows[0].rtt_ms is not a setting"),
            (
                {"subflows": ({}, {"first_bottleneck": 2, "last_bottleneck": 1})},
                "subflows[1].last_bottleneck is 1; it must be at least first_bottleneck = 2",
            ),
            ({"subflows": ({},), "acks": "every"}, "acks is 'every'; it must be left out with"),
            ({"subflows": ({},), "ip_version": 6}, "ip_version is 6; it must be left out with"),
            ({"subflows": ({},), "host": "a"}, "host is 'a'; it must be left out with subflows"),
            ({"subflows": ({},), "extra_rtt_ms": 1}, "extra_rtt_ms is 1.0; it must be left out"),
            ({"subflows": ({},), "kind": "cbr", "rate_mbps": 1}, "subflows is (Subflow("),
            ({"subflows": ({},), "kind": "video", **VIDEO}, "subflows is (Subflow("),
        ],
    )
    def test_bad_subflows(self, settings: dict[str, Any], message: str) -> None:
        """Subflows are checked like other settings, and exclude the flow's own path."""
        with pytest.raises(InputError) as caught:
            Flow(**settings)
        assert str(caught.value).startswith(message)

    def test_subflows(self) -> None:
        """Each subflow is a path with its congestion control; TCP flows do not mention them."""
        subflows = (Subflow(cca="reno"), Subflow(extra_rtt_ms=5))
        flow = Flow(cca="bbr", count=3, subflows=subflows)
        assert flow.flow_count == 6
        assert [path.cca for path in flow.split] == ["reno", "bbr"]
        assert [path.extra_rtt_ms for path in flow.split] == [0, 5]
        assert flow.to_dict()["subflows"] == [{"cca": "reno"}, {"extra_rtt_ms": 5}]
        assert flow == Flow.from_dict(flow.to_dict())
        assert "subflows" not in Flow().to_dict()
        assert Flow().split == (Flow(),)

    def test_offload_default(self) -> None:
        """A document states only that a flow has no segmentation offload, as this is rare."""
        assert "segmentation_offload" not in Flow().to_dict()
        without = Flow(segmentation_offload=False)
        assert without == Flow.from_dict(without.to_dict())

    def test_ecn(self) -> None:
        """The ECN field of a UDP flow is part of its document; other flows do not mention it."""
        flow = Flow(kind="poisson", rate_mbps=1, ecn="ect1")
        assert flow == Flow.from_dict(flow.to_dict())
        assert "ecn" not in Flow(kind="poisson", rate_mbps=1).to_dict()

    def test_numpy_numbers(self) -> None:
        """NumPy numbers are accepted like Python numbers."""
        flow = Flow(count=np.int64(2), start_s=np.float64(1.5))  # type: ignore[arg-type]
        assert flow == Flow(count=2, start_s=1.5)
        assert json.dumps(flow.to_dict())
