# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest

from ccbench.emulate.kernel.source import names
from tests.unit.emulate.kernel.conftest import CCA, QDISC


class TestNames:
    def test_ccas(self) -> None:
        """Only algorithms that are registered count, wherever their definition is."""
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
        """Somebody's own module is found however it is written."""
        registration = "int start(void) { return tcp_register_congestion_control( &mine ); }"
        assert names.ccas([definition, registration]) == ("mine",)

    def test_no_definition(self) -> None:
        """A pointer to a struct, and a function that takes one, define none."""
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
        """Qdiscs in which no packet waits do not count."""
        assert names.qdiscs([QDISC, QDISC.replace("slow", "noqueue")]) == ("slow",)
