# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest

from ccbench.emulate.kernel.source import names
from tests.unit.emulate.kernel.conftest import CCA, QDISC


class TestNames:
    def test_ccas(self) -> None:
        """Only registered algorithms count, wherever they are defined."""
        assert names.ccas([CCA]) == ("swift",)
        definition, _, registration = CCA.partition("static int")
        assert names.ccas([f"static int{registration}", definition]) == ("swift",)

    @pytest.mark.parametrize(
        "definition",
        [
            'static struct tcp_congestion_ops mine = { .name = "mine", };',
            'static struct tcp_congestion_ops mine =\n{\n\t.name="mine",\n};',
            'struct tcp_congestion_ops __read_mostly mine = {\n  .name = "mine"\n  } ;',
            'static const struct  tcp_congestion_ops mine __ro_after_init={.name = "mine"};',
        ],
    )
    def test_other_styles(self, definition: str) -> None:
        """Modules in any coding style are recognised."""
        registration = "int start(void) { return tcp_register_congestion_control( &mine ); }"
        assert names.ccas([definition, registration]) == ("mine",)

    def test_array(self) -> None:
        """Operations in the elements of an array have the names of the elements."""
        text = """
static struct variant variants[] __read_mostly = {
	{ .name = "mine", .gain = 1 },
	{ .ops = { .name = "mine_fast" }, .gain = 2 },
};
static int start(int i) { return tcp_register_congestion_control(&variants[i].ops); }
"""
        assert names.ccas([text]) == ("mine", "mine_fast")

    def test_no_definition(self) -> None:
        """A pointer to the struct, or a function that takes one, is not a definition."""
        text = """
struct tcp_congestion_ops *mine = &other;
static int use(struct tcp_congestion_ops *mine)
{
	static const char text[] = { '.', 'n' };
	return tcp_register_congestion_control(&mine);
}
static struct unrelated thing = { .name = "thing" };
"""
        assert names.ccas([text]) == ()

    def test_qdiscs(self) -> None:
        """Qdiscs that never queue a packet do not count."""
        assert names.qdiscs([QDISC, QDISC.replace("slow", "noqueue")]) == ("slow",)
