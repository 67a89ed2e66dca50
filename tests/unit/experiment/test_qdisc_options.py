# SPDX-License-Identifier: Apache-2.0
"""Options of qdiscs, as the guest is told them. No virtual kernel takes part."""

from __future__ import annotations

import struct

import pytest

from ccbench.base.errors import InputError
from ccbench.emulate.kernel.boot.rtnetlink import set_qdisc
from ccbench.experiment.qdiscs import QDISCS, check_qdisc_options

#: Every option that is a number, and has no range of its own but what the kernel has room for.
NUMBERS = [
    (qdisc, name)
    for qdisc, kind in QDISCS.items()
    for name, option in kind.options.items()
    if option.allowed is None and not option.choices
]


def options_with(qdisc: str, name: str, value: float) -> dict[str, float | str | bool]:
    """Return options with that one, and with the one that the qdisc cannot do without."""
    needs = QDISCS[qdisc].needs
    return {**({needs: 5} if needs else {}), name: value}


class TestNumbers:
    @pytest.mark.parametrize(("qdisc", "name"), NUMBERS)
    def test_limits(self, qdisc: str, name: str) -> None:
        """What is allowed can be encoded, up to the largest; what is not is refused by name."""
        option = QDISCS[qdisc].options[name]
        most = option.largest / option.scale
        options = options_with(qdisc, name, most)
        check_qdisc_options(qdisc, options)
        if name != "min_packets":  # which has to be below another option
            assert set_qdisc(2, qdisc, 1_000_000, options, 100)
        for value in (-1, most * 1.001, 1e300, 10**400):
            with pytest.raises(InputError, match=rf"^qdisc_options\.{name} is .*from 0 to "):
                check_qdisc_options(qdisc, options_with(qdisc, name, value))

    @pytest.mark.parametrize(("qdisc", "name"), NUMBERS)
    def test_fractions(self, qdisc: str, name: str) -> None:
        """What is counted is never rounded: half a packet is refused, half a millisecond is not."""
        option = QDISCS[qdisc].options[name]
        options = options_with(qdisc, name, 0.5)
        if option.scale == 1:
            with pytest.raises(InputError, match=rf"^qdisc_options\.{name} is 0\.5; .*a whole num"):
                check_qdisc_options(qdisc, options)
        else:
            check_qdisc_options(qdisc, options)

    def test_whole(self) -> None:
        """A whole number may be written with a point."""
        as_whole, as_float = (set_qdisc(2, "fq", 9, {"quantum": n}, 10) for n in (3000, 3000.0))
        assert as_whole == as_float

    def test_certain_drop(self) -> None:
        """RED's probability may be 1, the most that the kernel can express."""
        message = set_qdisc(2, "red", 100, {"probability": 1}, 10)
        assert message.endswith(struct.pack("=I", 2**32 - 1))

    @pytest.mark.parametrize("value", ["many", "5"])
    def test_text(self, value: str) -> None:
        """Text is no number."""
        with pytest.raises(InputError, match=r"^qdisc_options\.quantum is '"):
            check_qdisc_options("fq", {"quantum": value})


class TestMessages:
    def test_length(self) -> None:
        """A message begins with its length, which is a multiple of what the kernel aligns to."""
        for qdisc, kind in QDISCS.items():
            message = set_qdisc(3, qdisc, 64, {kind.needs: 5} if kind.needs else {}, 10)
            assert struct.unpack_from("=I", message) == (len(message),)
            assert len(message) % 4 == 0
