# SPDX-License-Identifier: Apache-2.0
"""BFC's models: appendix C's cycle, section 3.2.3's active flows, appendix D's graph."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ccbench.base.errors import InputError
from ccbench.cli.main import program
from ccbench.models.bfc import (
    Edge,
    active_flows_exceed,
    backpressure_graph,
    clos,
    closes_valley,
    empty_fraction,
    find_cycle,
    mean_active_flows,
    without,
    worst_empty_fraction,
    worst_rate_ratio,
)


def simulated_empty_fraction(x: float, theta: float) -> float:
    """Step a fluid queue through pauses that take effect one HRTT late; HRTT and rate are 1."""
    step, steps, lag = 1e-3, 400_000, 1000
    queue, empty, sends = 0.0, 0, True
    heard = [True] * lag
    for i in range(steps):
        arriving = x if heard[i % lag] else 0.0
        queue = max(0.0, queue + (arriving - 1) * step)
        if queue > theta:
            sends = False
        elif queue == 0:
            sends = True
        heard[i % lag] = sends
        empty += queue == 0 and i > steps // 2
    return empty / (steps // 2)


class TestPauseThreshold:
    def test_the_thesis_numbers(self) -> None:
        """At most 20 % of the time, at x = 2; 7.6 % if a flow arrives 10 % too fast."""
        assert worst_empty_fraction() == pytest.approx(0.2)
        assert worst_rate_ratio() == 2
        assert empty_fraction(2) == pytest.approx(0.2)
        assert empty_fraction(1.1) == pytest.approx(0.076, abs=5e-4)

    @pytest.mark.parametrize(("x", "theta"), [(2, 1), (1.3, 1), (4, 1), (2, 3), (3, 0.5)])
    def test_a_simulated_queue_is_empty_as_long(self, x: float, theta: float) -> None:
        """Equation (C.4) holds for a simulated queue with late pauses and resumes."""
        assert simulated_empty_fraction(x, theta) == pytest.approx(
            empty_fraction(x, theta), abs=0.01
        )

    @given(st.floats(0.01, 100), st.floats(1.0001, 1000))
    def test_no_rate_is_worse_than_the_worst(self, theta: float, x: float) -> None:
        """(C.5) bounds (C.4) and is reached at sqrt(theta) + 1."""
        worst = worst_empty_fraction(theta)
        assert empty_fraction(x, theta) <= worst * (1 + 1e-9)
        assert empty_fraction(worst_rate_ratio(theta), theta) == pytest.approx(worst)

    def test_a_larger_threshold_is_better(self) -> None:
        """Figure C-1 falls, with diminishing returns."""
        falls = -np.diff(worst_empty_fraction(np.linspace(0.25, 4, 16)))
        assert (falls > 0).all()
        assert (np.diff(falls) < 0).all()

    def test_out_of_range(self) -> None:
        """A flow that arrives no faster than it leaves is not bottlenecked there."""
        with pytest.raises(InputError, match="rate_ratio"):
            empty_fraction(1)


class TestActiveFlows:
    def test_nine_at_ninety_percent(self) -> None:
        """Even at load 0.9 the expected number of active flows is only 9 (3.2.3)."""
        assert mean_active_flows(0.9) == pytest.approx(9)

    def test_a_simulated_processor_sharing_queue(self) -> None:
        """The mean and the tail hold for flows of very unequal sizes."""
        chance, load = random.Random(5), 0.6
        flows: list[float] = []
        until, seen, exceeding, total = 0.0, 0.0, 0.0, 0.0
        for _ in range(60_000):
            until = chance.expovariate(load)
            while until > 0:  # all flows share the link until the next one arrives
                first = min(flows, default=np.inf)
                span = min(until, first * len(flows)) if flows else until
                total += span
                seen += span * len(flows)
                exceeding += span * (len(flows) > 3)
                flows = [left - span / len(flows) for left in flows]
                flows = [left for left in flows if left > 1e-12]
                until -= span
            # nine tenths are small and one tenth is large: mean 1
            flows.append(0.2 if chance.random() < 0.9 else 8.2)
        assert seen / total == pytest.approx(mean_active_flows(load), rel=0.08)
        assert exceeding / total == pytest.approx(active_flows_exceed(3, load), rel=0.12)

    @given(st.floats(0, 0.99))
    def test_the_tail_sums_to_the_mean(self, load: float) -> None:
        """The mean of a count is the sum over n of the probability that it exceeds n."""
        tail = active_flows_exceed(np.arange(20_000), load)
        assert tail.sum() == pytest.approx(mean_active_flows(load), rel=1e-6, abs=1e-9)


def valleys(graph: frozenset[Edge], layers: dict[str, int]) -> frozenset[Edge]:
    """Return the edges to remove."""
    return frozenset(edge for edge in graph if closes_valley(edge, layers))


class TestDeadlock:
    def test_a_clos_network_needs_only_down_and_up_removed(self) -> None:
        """Removed edges come from a spine and go to a spine; then there is no cycle (D)."""
        links, layers = clos(tors=8, spines=8, hosts_per_tor=2)
        graph = backpressure_graph(links, [name for name, layer in layers.items() if layer == 0])
        removed = valleys(graph, layers)
        assert find_cycle(graph) is not None
        assert find_cycle(graph - removed) is None
        for pauser, paused in removed:
            assert layers[paused.switch] == layers[pauser.neighbour] == 2
        assert len(removed) == 8 * 8 * 7  # at each ToR, from each spine to each other one

    def test_regular_routes_of_a_clos_network_have_no_cycle(self) -> None:
        """If packets go up and then down, nothing has to be removed."""
        links, layers = clos(tors=4, spines=3, hosts_per_tor=2)
        hosts = [name for name, layer in layers.items() if layer == 0]

        def up_then_down(come_from: str, middle: str, to: str) -> bool:
            return not layers[come_from] > layers[middle] < layers[to]

        graph = backpressure_graph(links, hosts, goes=up_then_down)
        assert find_cycle(graph) is None
        assert not valleys(graph, layers)

    def test_a_cycle_is_one(self) -> None:
        """Each port of a detected cycle can pause the next."""
        links, layers = clos(tors=3, spines=3)
        graph = backpressure_graph(links, [name for name in layers if name.startswith("host")])
        cycle = find_cycle(graph)
        assert cycle is not None
        assert all(Edge(a, b) in graph for a, b in pairwise((*cycle, cycle[0])))

    @given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25), st.data())
    def test_no_network_has_a_cycle_without_its_valleys(
        self, pairs: set[tuple[int, int]], data: st.DataObject
    ) -> None:
        """Removing down-up edges breaks every cycle, for any layers."""
        links = [(f"s{a}", f"s{b}") for a, b in pairs if a != b]
        layers = {f"s{i}": data.draw(st.integers(0, 2)) for i in range(10)}
        graph = backpressure_graph(links, hosts=())
        assert find_cycle(graph - valleys(graph, layers)) is None

    def test_a_tree_has_no_cycle(self) -> None:
        """With one path between any two nodes backpressure ends at the leaves."""
        links = [(f"s{(i - 1) // 2}", f"s{i}") for i in range(1, 15)]
        assert find_cycle(backpressure_graph(links, hosts=())) is None

    def test_each_switch_gets_its_pairs(self) -> None:
        """The removed edges are those of the switches' tables, none missing and none twice."""
        links, layers = clos(tors=4, spines=3)
        graph = backpressure_graph(links, [name for name in layers if name.startswith("host")])
        removed = valleys(graph, layers)
        assert sum(len(without(removed, switch)) for switch in layers) == len(removed)

    def test_bad_networks(self) -> None:
        """A link to itself and a node without a layer are named."""
        with pytest.raises(InputError, match="'a' is linked to itself"):
            backpressure_graph([("a", "a")], hosts=())
        (edge,) = backpressure_graph([("a", "b"), ("b", "h")], hosts=["h"])
        with pytest.raises(InputError, match="layers has no"):
            closes_valley(edge, {"a": 1})


class TestCommand:
    def test_json(self) -> None:
        """``ccbench model bfc --json`` yields the thesis's numbers for its network."""
        result = CliRunner().invoke(program, ["model", "bfc", "--json"])
        prediction = json.loads(result.output)["prediction"]
        assert prediction["threshold_bytes"] == 25_000
        assert prediction["worst_empty_fraction"] == pytest.approx(0.2)
        assert prediction["mean_active_flows"] == pytest.approx(1.5)
        assert prediction["has_cycle"]
        assert not prediction["has_cycle_without_them"]

    def test_text(self) -> None:
        """Text output has four lines."""
        result = CliRunner().invoke(program, ["model", "bfc", "--load", "0.9"])
        assert result.exit_code == 0
        assert "at most 20.0% of the time" in result.output
        assert "9 on average at 90% load" in result.output
