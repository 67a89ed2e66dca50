# SPDX-License-Identifier: Apache-2.0
"""Options of qdiscs in the guest's encoding, without the virtual kernel."""

from __future__ import annotations

import re
import struct

import pytest

from ccbench.base.errors import InputError
from ccbench.emulate.kernel.boot.rtnetlink import set_qdisc
from ccbench.experiment.qdiscs import QDISCS, QueuedLink, Value

#: Every numeric option.
NUMBERS = [
    (qdisc, name)
    for qdisc, kind in QDISCS.items()
    for name, option in kind.options.items()
    if not option.choices
]
#: Required options of qdiscs.
REQUIRED = {
    qdisc: {name: 5.0 for name, option in kind.options.items() if option.is_required}
    for qdisc, kind in QDISCS.items()
}


class TestNumbers:
    @pytest.mark.parametrize(("qdisc", "name"), NUMBERS)
    def test_limits(self, qdisc: str, name: str) -> None:
        """Values within the range are encoded, others are refused by name."""
        kind = QDISCS[qdisc]
        most = kind.options[name].range.high
        options = {**REQUIRED[qdisc], name: most}
        kind.check(options)
        if name != "min_packets":  # which has to be below another option
            assert set_qdisc(2, kind, QueuedLink(1_000_000, 100), options)
        least = f"at least {kind.options[name].low:.15g} and at"
        for value in (-1, most * 1.001, 1e300, 10**400):
            with pytest.raises(
                InputError, match=rf"^qdisc_options\.{name} is .*{re.escape(least)}"
            ):
                kind.check({**REQUIRED[qdisc], name: value})

    @pytest.mark.parametrize(("qdisc", "name"), NUMBERS)
    def test_fractions(self, qdisc: str, name: str) -> None:
        """Counts are never rounded: half a packet is refused, half a millisecond is not."""
        kind = QDISCS[qdisc]
        options = {**REQUIRED[qdisc], name: 0.5}
        if kind.options[name].is_whole:
            with pytest.raises(InputError, match=rf"^qdisc_options\.{name} is 0\.5; .*a whole num"):
                kind.check(options)
        else:
            kind.check(options)

    def test_number_of_queues(self) -> None:
        """A number beyond Linux's bound is refused with the option, the bound and an example."""
        with pytest.raises(InputError, match=r"^qdisc_options\.flows is 99999999; .* 65536: write"):
            QDISCS["fq_codel"].check({"flows": 99_999_999})

    def test_whole(self) -> None:
        """A whole number may be a float."""
        fq = QDISCS["fq"]
        as_whole, as_float = (
            set_qdisc(2, fq, QueuedLink(9, 10), {"quantum": n}) for n in (3000, 3000.0)
        )
        assert as_whole == as_float

    def test_certain_drop(self) -> None:
        """RED's probability may be 1, the largest that the kernel can express."""
        message = set_qdisc(2, QDISCS["red"], QueuedLink(100, 10), {"probability": 1})
        assert message.endswith(struct.pack("=I", 2**32 - 1))

    @pytest.mark.parametrize("value", ["many", "5", True])
    def test_text(self, value: Value) -> None:
        """Text and booleans are not numbers."""
        with pytest.raises(InputError, match=r"^qdisc_options\.quantum is "):
            QDISCS["fq"].check({"quantum": value})

    def test_flag(self) -> None:
        """A flag may be a boolean, 0 or 1, and no other number."""
        codel = QDISCS["codel"]
        link = QueuedLink(9, 1)
        assert set_qdisc(2, codel, link, {"ecn": True}) == set_qdisc(2, codel, link, {"ecn": 1})
        with pytest.raises(InputError, match=r"^qdisc_options\.ecn is 2; .* at most 1"):
            codel.check({"ecn": 2})


class TestSizes:
    def test_one_byte(self) -> None:
        """Options of one byte are attributes of five bytes, padded; others have eight bytes."""
        dualpi2 = QDISCS["dualpi2"]
        one, four = ({"coupling": 3}, {"min_qlen_step": 3})
        assert dualpi2.encode(QueuedLink(9, 10), one)[8:] == struct.pack("=HHB3x", 5, 10, 3)
        assert dualpi2.encode(QueuedLink(9, 10), four)[8:] == struct.pack("=HHI", 8, 9, 3)

    @pytest.mark.parametrize("value", [0, 256])
    def test_out_of_range(self, value: int) -> None:
        """A number that does not fit into a byte, or is below the smallest, is refused."""
        with pytest.raises(InputError, match=r"coupling is .*at least 1 and at most 255"):
            QDISCS["dualpi2"].check({"coupling": value})


class TestPacketSizes:
    @pytest.mark.parametrize("qdisc", ["bfifo", "red", "tbf", "cake"])
    def test_limit(self, qdisc: str) -> None:
        """Limits in bytes grow with the size of full packets, and too large ones are refused."""
        encode = QDISCS[qdisc].encode
        options = REQUIRED[qdisc]
        sizes = [encode(QueuedLink(100, 10, mtu), options) for mtu in (1500, 9000)]
        assert sizes[0] == encode(QueuedLink(100, 10), options) != sizes[1]
        if qdisc == "cake":  # its limit is only that of memory
            assert encode(QueuedLink(1_000_000, 10, 9000), options)
            return
        with pytest.raises(
            InputError, match=r"it must be at most \d+ with mtu_bytes = 9000: lower"
        ):
            encode(QueuedLink(1_000_000, 10, 9000), options)


class TestWords:
    @pytest.mark.parametrize(("word", "mask"), [("ect1", 1), ("ect0", 2), ("any", 3)])
    def test_numbers(self, word: str, mask: int) -> None:
        """The words of ECN fields are the masks of their bits, and CE (3) matches each of them."""
        dualpi2 = QDISCS["dualpi2"]
        encoded = dualpi2.encode(QueuedLink(9, 10), {"ecn_mask": word})[8:]
        assert encoded == struct.pack("=HHB3x", 5, 14, mask)
        assert dualpi2.l4s_mask({"ecn_mask": word}) == mask
        assert mask & 3

    def test_default(self) -> None:
        """By default, ECT(1) and CE belong to the L4S queue (RFC 9331, section 5.1)."""
        mask = QDISCS["dualpi2"].l4s_mask({})
        assert [bool(mask & field) for field in range(4)] == [False, True, False, True]

    def test_no_such_queue(self) -> None:
        """Qdiscs without an L4S queue have no mask."""
        assert {kind.name for kind in QDISCS.values() if kind.l4s_mask({})} == {"dualpi2"}


class TestExclusion:
    def test_both(self) -> None:
        """A threshold in packets and one in milliseconds exclude each other."""
        with pytest.raises(InputError, match="step_packets and step_ms exclude each other: remove"):
            QDISCS["dualpi2"].check({"step_ms": 2, "step_packets": 5})
        QDISCS["dualpi2"].check({"step_packets": 5})


class TestDescriptors:
    @pytest.mark.parametrize("qdisc", QDISCS)
    def test_words(self, qdisc: str) -> None:
        """Qdiscs and options have a one-line summary, and valid defaults."""
        kind = QDISCS[qdisc]
        assert kind.limit in {"packets", "bytes", "memory"}
        for summary in (kind.summary, *(option.summary for option in kind.options.values())):
            assert summary
            assert "\n" not in summary
        defaults = {n: o.default for n, o in kind.options.items() if o.default is not None}
        excluded = {option.excludes for name, option in kind.options.items() if name in defaults}
        kind.check({**REQUIRED[qdisc], **{n: v for n, v in defaults.items() if n not in excluded}})

    @pytest.mark.parametrize("qdisc", QDISCS)
    def test_attributes(self, qdisc: str) -> None:
        """No two options have the same attribute."""
        numbers = [o.attribute for o in QDISCS[qdisc].options.values() if o.attribute]
        assert len(numbers) == len(set(numbers))

    def test_required(self) -> None:
        """A token bucket without a rate is refused."""
        with pytest.raises(InputError, match=r"^qdisc_options\.rate_mbps is missing"):
            QDISCS["tbf"].check({})


class TestMessages:
    def test_length(self) -> None:
        """A message begins with its length, which is a multiple of the kernel's alignment."""
        for qdisc, kind in QDISCS.items():
            message = set_qdisc(3, kind, QueuedLink(64, 10), REQUIRED[qdisc])
            assert struct.unpack_from("=I", message) == (len(message),)
            assert len(message) % 4 == 0
