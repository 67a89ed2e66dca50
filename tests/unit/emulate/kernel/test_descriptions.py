# SPDX-License-Identifier: Apache-2.0
"""Descriptions of qdiscs and congestion controls in compiled modules, read without compiling."""

from __future__ import annotations

from pathlib import Path

import pytest

from ccbench.base.errors import InputError
from ccbench.base.structures import Field
from ccbench.emulate.kernel.source.descriptions import described, lines
from ccbench.emulate.kernel.source.kernel_build import KernelBuild
from ccbench.experiment.qdiscs import EXCLUDED, NO_LIMIT, Drops, QueuedLink

EARLY = [
    "ccbench_option=early share attribute=3 scale=65536 low=0 high=1 default=0.5: a share",
    "ccbench_option=early least attribute=2 unit=packets required: a number",
    "ccbench_option=early mode attribute=4 choices=slow|fast default=slow: a word",
    "ccbench_option=early on attribute=5 flag high=1 default=0: a switch",
    "ccbench_qdisc=early limit=1 drops=oldest marks: marks early: as a test",
]


def build(*qdiscs: str) -> KernelBuild:
    """Return a kernel that registers these qdiscs."""
    return KernelBuild(
        path=Path(),
        release="6.12",
        hz=1000,
        ccas=(),
        qdiscs=qdiscs,
        modules={},
        version="0" * 16,
        identity="0" * 16,
        descriptions=described(EARLY),
    )


class TestLines:
    def test_binary(self, tmp_path: Path) -> None:
        """Description lines are extracted from a module's binary, and nothing else."""
        wanted = [line.encode() for line in EARLY]
        other = b"\0parm=ccbench_option:no\0license=GPL\0not ccbench_qdisc=x: y\0"
        (tmp_path / "early.ko").write_bytes(
            b"\x7fELF\0" + other + b"\xc3" + b"\0".join(wanted) + b"\0\xff"
        )
        assert lines(tmp_path / "early.ko") == tuple(sorted(EARLY))


class TestQdiscs:
    def test_properties(self) -> None:
        """A qdisc has the properties of its line, and its options in the order of attributes."""
        early = described(EARLY).qdiscs["early"]
        assert (early.drops, early.marks, early.limit_attribute) == (Drops.OLDEST, True, 1)
        assert early.summary == "marks early: as a test"
        assert list(early.options) == ["least", "share", "mode", "on"]
        assert early.options["share"].default == 0.5
        assert early.options["mode"].allowed == "slow, fast"

    def test_no_limit(self) -> None:
        """The attribute 0 is a queue without a limit, which is neither sent nor changed."""
        early = described(["ccbench_qdisc=early limit=0: x"]).qdiscs["early"]
        assert early.limit == NO_LIMIT
        assert b"" == early.encode(QueuedLink(99, 10), {})
        with pytest.raises(InputError, match="the queue of early has no limit: remove it"):
            early.check_change(QueuedLink(9, 10), {})

    def test_encoding(self) -> None:
        """Options are encoded as attributes in kernel units."""
        early = described(EARLY).qdiscs["early"]
        encoded = early.encode(
            QueuedLink(99, 10), {"least": 7, "mode": "fast", "on": True, "share": 0.5}
        )
        words = (
            8 | 1 << 16,
            99,
            8 | 2 << 16,
            7,
            8 | 4 << 16,
            1,
            8 | 5 << 16,
            1,
            8 | 3 << 16,
            2**15,
        )
        assert encoded == b"".join(word.to_bytes(4, "little") for word in words)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, r"\.least is missing"),
            ({"least": 1.5}, r"\.least is 1\.5; it must be a whole number"),
            ({"least": 1, "share": 2}, r"\.share is 2; it must be .* at most 1"),
            ({"least": 1, "mode": "quick"}, r"\.mode is 'quick'; .*'slow' or 'fast'"),
            ({"least": 1, "on": 2}, r"\.on is 2; .*at most 1"),
            ({"lest": 1}, r"\.lest: early takes least, share, mode, on: did you mean 'least'?"),
        ],
    )
    def test_options(self, options: dict[str, float | str], message: str) -> None:
        """Options that contradict the description are refused by name."""
        with pytest.raises(InputError, match=f"^qdisc_options{message}"):
            described(EARLY).qdiscs["early"].check(options)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("ccbench_qdisc=early limit=1", "a colon and a summary"),
            ("ccbench_qdisc=Early limit=1: x", "lower-case"),
            ("ccbench_qdisc=early limit=TCA_LIMIT: x", "not an enumerator"),
            ("ccbench_qdisc=early marks: x", "its limit is missing: give the attribute"),
            ("ccbench_qdisc=early limit=1 drops=some: x", "value of drops"),
            ("ccbench_qdisc=early limit=1 quick: x", "quick must be one of limit, drops, marks"),
            ("ccbench_option=late one attribute=2: x", r"add CCBENCH_QDISC\(late"),
            ("ccbench_option=early one attribute=2 low=10 high=1: x", "range is 10 to 1"),
            ("ccbench_option=early one attribute=2 low=1 default=0: x", "default is 0, outside"),
            ("ccbench_option=early one attribute=2 default=FIVE: x", "neither a number nor a"),
        ],
    )
    def test_damaged(self, line: str, message: str) -> None:
        """An unreadable line is an error with its reason."""
        with pytest.raises(InputError, match=message):
            described([line])


class TestBuild:
    def test_queues(self) -> None:
        """A build's queues are the described qdiscs that it registers, including droptail."""
        kernel = build("pfifo", "early", "netem")
        assert list(kernel.queues) == ["droptail", "early", "pfifo"]

    @pytest.mark.parametrize("name", ["ealry", "codel", "mine"])
    def test_others(self, name: str) -> None:
        """Other qdiscs are refused with the list of qdiscs and the way to add one."""
        message = rf"^qdisc = '{name}': allowed are droptail, early, pfifo: .*CCBENCH_MODULES"
        with pytest.raises(InputError, match=message):
            build("pfifo", "early", "netem", "mine").queue(name)

    @pytest.mark.parametrize("name", EXCLUDED)
    def test_excluded(self, name: str) -> None:
        """Qdiscs of Linux that cannot be a queue here are refused with the reason."""
        kernel = build("pfifo", name)
        assert name not in kernel.queues
        message = rf"^qdisc = '{name}': cannot be the queue of a link, as it {EXCLUDED[name]} \("
        with pytest.raises(InputError, match=message):
            kernel.queue(name)

    def test_newer(self) -> None:
        """A qdisc of newer releases is refused with the first of them, and the next step."""
        step = "run `ccbench kernel build 7.3` and use --kernel 7.3"
        message = rf"^qdisc = 'dualpi2': .*Linux 6\.17 and newer.*{step}"
        with pytest.raises(InputError, match=message):
            build("pfifo").queue("dualpi2")
        assert build("pfifo", "dualpi2").queue("dualpi2").l4s_option == "ecn_mask"

    def test_typing_error(self) -> None:
        """The message suggests the intended name."""
        with pytest.raises(InputError, match=r"did you mean 'early'\?"):
            build("pfifo", "early").queue("ealry")


class TestCcas:
    def test_properties(self) -> None:
        """A congestion control has the properties of its line."""
        ccas = described(["ccbench_cca=mine receiver qdisc=early.mode.fast: mine"]).ccas
        assert ccas["mine"].needs_receiver
        assert ccas["mine"].qdisc_option == ("early", "mode", "fast")

    def test_state(self) -> None:
        """The state that a congestion control reports has names, types and scales."""
        line = "ccbench_cca=mine info=mode:u8|gain:s16:0.5|window_packets: mine"
        assert described([line]).ccas["mine"].info == (
            Field("mode", "u1"),
            Field("gain", "i2", 0.5),
            Field("window_packets", "u4"),
        )

    @pytest.mark.parametrize(
        "info",
        [
            "",
            "mode:float",
            "mode:u8:slow",
            "mode:u8:a/a",
            "mode|mode",
            "a|b|c|d|e|f",
            "|".join("abcdefgh"),
        ],
    )
    def test_damaged_state(self, info: str) -> None:
        """Fields that cannot be read, have the same name, or do not fit are an error."""
        with pytest.raises(InputError, match=r"value of info cannot be read: write at most 7"):
            described([f"ccbench_cca=mine info={info}: mine"])
