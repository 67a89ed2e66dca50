# SPDX-License-Identifier: Apache-2.0
"""Prague meets the requirements of RFC 9331, section 4, and the theory of scalable control.

docs/prague.md lists the test of each requirement.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Bottleneck, Flow, Run, Scenario
from ccbench.base.errors import CcbenchError, InputError
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.metrics import jain_index
from tests.kernel.conftest import dumbbell, run_with
from tests.scenarios import changed

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

pytestmark = pytest.mark.kernel

#: RTT whose rate a flow with a shorter RTT has, in ms.
REFERENCE_MS = 25

#: Marks per round of the window that is reduced in each round (W = 2/p), and if a reduction waits
#: for a random mark: x = 2 (1 + 1/x), and with a reduction that covers up to two rounds.
DRAFT_MARKS, MARKS = 1 + math.sqrt(3), 2.08


def run(scenario: Scenario) -> Run:
    """Run a scenario on a kernel with Prague."""
    return run_with("prague", scenario)


def path(
    *flows: Flow,
    mbps: float = 100,
    rtt_ms: float = 20,
    duration_s: float = 40,
    qdisc: str = "dualpi2",
    options: Any = None,
    queue_packets: int = 5000,
    loss: float = 0,
    **settings: Any,
) -> Scenario:
    """Return a scenario with one bottleneck.

    DualPI2's threshold is at least two packets, as in RFC 9332, appendix A.2, for known rates.
    """
    given = dict(options or {})
    if qdisc == "dualpi2":
        given.setdefault("step_ms", max(1, 2 * 1500 * 8 / (mbps * 1e3)))
    link = Bottleneck(
        bandwidth_mbps=mbps,
        queue_packets=queue_packets,
        qdisc=qdisc,
        qdisc_options=tuple(given.items()),
        loss=loss,
    )
    common = {"rtt_ms": rtt_ms, "duration_s": duration_s, "ecn": True, "sample_interval_ms": 10}
    return changed(dumbbell(*flows), bottlenecks=(link,), **common | settings)


def prague(count: int = 1, **settings: Any) -> Flow:
    """Return flows with Prague."""
    return Flow(cca="prague", count=count, **settings)


def with_parameters(scenario: Scenario, **values: int) -> Scenario:
    """Return a scenario with parameters of the module."""
    parameters = tuple((f"tcp_prague.{name}", str(value)) for name, value in values.items())
    return replace(scenario, path=replace(scenario.path, module_parameters=parameters))


def mbps(result: Run, start_s: float | None = None) -> np.ndarray:
    """Return the flows' throughputs, by default in the second half."""
    start_s = result.scenario.duration_s / 2 if start_s is None else start_s
    return result.throughput(0.5).loc[start_s:].mean().to_numpy()


def state(result: Run, flow: int = 0, start_s: float | None = None) -> pd.DataFrame:
    """Return the state of a flow, by default in the second half."""
    start_s = result.scenario.duration_s / 2 if start_s is None else start_s
    return result.cca_info(flow).loc[start_s:]


def marks_per_round(result: Run) -> float:
    """Return the mean of the window times alpha, per virtual RTT."""
    now = state(result)
    rtt_ms = result.scenario.path.rtt_ms + 0.5
    return float((now["alpha"] * now["window"]).mean()) * max(1, REFERENCE_MS / rtt_ms)


def marks(result: Run, flow: int = 0) -> int:
    """Return the number of a flow's marks at the bottleneck."""
    events = result.queue
    return int(((events["event"] == "mark") & (events["flow"] == flow)).sum())


class TestMarking:
    """RFC 9331, sections 4.1 and 4.2: ECT(1), and accurate feedback."""

    def test_ect1(self) -> None:
        """Data packets carry ECT(1): all are in the L4S queue."""
        result = run(path(prague(), duration_s=10))
        arrivals = result.queue[result.queue["event"] == "enqueue"]
        assert set(arrivals.loc[arrivals["bytes"] == 1500, "queue"]) == {"l4s"}

    def test_ect1_everywhere(self) -> None:
        """Retransmissions carry ECT(1), too."""
        result = run(path(prague(), duration_s=10, loss=0.005))
        arrivals = result.queue[result.queue["event"] == "enqueue"]
        assert result.flows["retransmits"].max() > 20
        assert set(arrivals.loc[arrivals["bytes"] == 1500, "queue"]) == {"l4s"}

    @pytest.mark.parametrize("cca", ["cubic", "bbr", "dctcp"])
    def test_other_ccas(self, cca: str) -> None:
        """A classic CCA in Prague's place does not carry ECT(1), even with accurate ECN."""
        result = run(path(Flow(cca=cca), prague(), duration_s=5, ecn="accecn"))
        arrivals = result.queue[result.queue["event"] == "enqueue"]
        by_flow = arrivals.groupby("flow", observed=True)["queue"].agg(set)
        assert "l4s" not in by_flow[0]

    @pytest.mark.parametrize("ecn", [False, True, "accecn"])
    def test_negotiation(self, *, ecn: bool | str) -> None:
        """Both ends negotiate accurate ECN, whatever the hosts' default is."""
        result = run(path(prague(), duration_s=5, ecn=ecn))
        assert (result.ecn["sender"].iloc[0], result.ecn["receiver"].iloc[0]) == ("accecn",) * 2
        assert state(result)["accecn"].eq(1).all()

    def test_feedback(self) -> None:
        """The sender learns the number of marks, except those of the last round trip."""
        result = run(path(prague(), Flow(cca="cubic")))
        known = result.cca_info(0)["ce_packets"].iloc[-1]
        assert marks(result) > 1000
        assert 0.98 * marks(result) <= known <= marks(result)

    def test_path_clears_ecn(self) -> None:
        """If a path clears the ECN field, there are no marks, and losses have Reno's response."""
        rates = []
        for cca in ("prague", "reno"):
            scenario = path(Flow(cca=cca), mbps=20, qdisc="droptail", queue_packets=30, ecn=False)
            cleared = replace(scenario.path.bottlenecks[0], clears_ecn=True)
            rates.append(
                mbps(run(replace(scenario, path=replace(scenario.path, bottlenecks=(cleared,)))))[0]
            )
        assert rates[0] == pytest.approx(rates[1], rel=0.1)


class TestScalability:
    """RFC 9331, section 4.3: the time between marks does not grow with the rate."""

    @pytest.mark.parametrize("rate", [12, 40, 100, 200])
    def test_marks_per_round(self, rate: float) -> None:
        """The window follows W = 2/p: two marks per round at any rate."""
        result = run(path(prague(), Flow(cca="cubic"), mbps=rate, duration_s=80))
        assert marks_per_round(result) == pytest.approx(MARKS, rel=0.2)

    @pytest.mark.parametrize("rate", [12, 40, 100, 200])
    def test_draft(self, rate: float) -> None:
        """With the draft's reduction, which waits for a mark, there are 1 + sqrt(3) per round."""
        scenario = path(prague(), Flow(cca="cubic"), mbps=rate, duration_s=80)
        result = run(with_parameters(scenario, reduction_rounds=1))
        assert marks_per_round(result) == pytest.approx(DRAFT_MARKS, rel=0.2)

    def test_time_between_marks(self) -> None:
        """At 16 times the rate, the time between a flow's marks is the same."""
        periods = []
        for rate in (12, 192):
            result = run(path(prague(), Flow(cca="cubic"), mbps=rate, duration_s=80))
            count = state(result)["ce_packets"]
            periods.append(40 / (count.iloc[-1] - count.iloc[0]))
        assert periods[1] < 1.25 * periods[0]

    def test_alpha(self) -> None:
        """Alpha is the mean fraction of marked packets."""
        result = run(path(prague(), Flow(cca="cubic")))
        start_ns = 20e9
        events = result.queue[(result.queue["flow"] == 0) & (result.queue["time_ns"] > start_ns)]
        left, marked = ((events["event"] == event).sum() for event in ("dequeue", "mark"))
        assert state(result)["alpha"].mean() == pytest.approx(marked / left, rel=0.1)


class TestDelay:
    """The L4S queue stays short, and the link is used."""

    @pytest.mark.parametrize("rtt_ms", [5, 20, 50])
    def test_alone(self, rtt_ms: float) -> None:
        """At 100 Mbit/s, 99 % of the packets wait less than 2 ms for a threshold of 1 ms."""
        result = run(path(prague(), rtt_ms=rtt_ms, duration_s=60))
        assert result.queueing_delay_percentiles_ms([99], queue="l4s").iloc[0] < 2
        assert mbps(result)[0] > 95

    def test_beside_cubic(self) -> None:
        """CUBIC in the classic queue does not delay the packets of the L4S queue."""
        result = run(path(prague(), Flow(cca="cubic")))
        assert result.queueing_delay_percentiles_ms([99], queue="l4s").iloc[0] < 2
        assert result.queueing_delay_percentiles_ms([50], queue="classic").iloc[0] > 5
        assert mbps(result).sum() > 97

    def test_dctcp(self) -> None:
        """DCTCP in the L4S queue, as a reference: the queue is as short."""
        options = {"ecn_mask": "any"}
        result = run(path(Flow(cca="dctcp"), options=options, ecn=False))
        assert result.queueing_delay_percentiles_ms([99], queue="l4s").iloc[0] < 2

    def test_fq_codel(self) -> None:
        """The threshold of a queue per flow has the same effect; it marks all kinds of ECN."""
        options = {"ce_threshold_ms": 1}
        flows = (prague(), Flow(cca="cubic"))
        result = run(path(*flows, qdisc="fq_codel", options=options, ecn=False))
        assert mbps(result) == pytest.approx([50, 50], rel=0.05)


class TestBesideCubic:
    """DualPI2 with k = 2 gives Prague and CUBIC roughly the same rate at equal base RTTs."""

    @pytest.mark.parametrize(
        ("rate", "rtt_ms"),
        [(4, 10), (4, 100), (12, 5), (12, 20), (40, 5), (40, 10), (100, 10), (200, 5), (200, 10)],
    )
    def test_equal_rates(self, rate: float, rtt_ms: float) -> None:
        """Single flows have equal rates within a factor of 1.5 (means of three starts)."""
        assert 1 / 1.5 < self.ratio(1, rate, rtt_ms) < 1.5

    @pytest.mark.parametrize(
        ("rate", "rtt_ms"), [(40, 20), (40, 50), (100, 20), (100, 50), (200, 20)]
    )
    def test_oscillation(self, rate: float, rtt_ms: float) -> None:
        """A single CUBIC flow makes the probability oscillate and is marked when it is high.

        The mean of its square, which marks CUBIC, therefore exceeds the square of its mean, which
        marks Prague, and the ratio is up to 2. It differs by up to half from start to start, so
        that the bound is compared with the lower end of the interval of the mean. With five flows
        of each, the ratio is below 1.5.
        """
        ratios = self.log_ratios(1, rate, rtt_ms, starts=9)
        assert 0 < ratios.mean() < math.log(2) + 2 * ratios.std(ddof=1) / math.sqrt(len(ratios))
        assert 1 / 1.5 < self.ratio(5, rate, rtt_ms) < 1.5

    def ratio(self, count: int, rate: float, rtt_ms: float) -> float:
        """Return the geometric mean ratio of the rates of Prague and CUBIC of three starts."""
        return math.exp(self.log_ratios(count, rate, rtt_ms, starts=3).mean())

    def log_ratios(
        self, count: int, rate: float, rtt_ms: float, *, starts: int
    ) -> npt.NDArray[np.float64]:
        """Return the logarithms of the ratio of the rates of Prague and CUBIC, start by start."""
        ratios = []
        for start_s in 0.1 * np.arange(1, starts + 1):
            cubic = Flow(cca="cubic", count=count, start_s=round(float(start_s), 1))
            scenario = path(
                prague(count),
                cubic,
                mbps=rate,
                rtt_ms=rtt_ms,
                duration_s=100,
                queue_log=False,
                sample_interval_ms=100,
            )
            rates = mbps(run(scenario))
            ratios.append(rates[:count].sum() / rates[count:].sum())
        return np.log(ratios)


class TestRttIndependence:
    """RFC 9331, section 4.3: no bias by RTT between the shortest and typical RTTs."""

    def ratio(self, cca: str, **parameters: int) -> float:
        """Return the ratio of the rates of flows with RTTs of 5 and 25 ms."""
        flows = (Flow(cca=cca), Flow(cca=cca, extra_rtt_ms=20))
        options = {"ecn_mask": "any"}
        scenario = path(*flows, rtt_ms=5, duration_s=60, options=options, ecn=cca == "prague")
        rates = mbps(run(with_parameters(scenario, **parameters)))
        return float(rates[0] / rates[1])

    def test_short_rtts(self) -> None:
        """Flows with RTTs of 5 and 25 ms have equal rates; those of DCTCP differ at least by 5."""
        assert self.ratio("prague") == pytest.approx(1, abs=0.25)
        assert self.ratio("dctcp") > 5

    def test_parameter(self) -> None:
        """Without the reference RTT, the rates differ by the ratio of the RTTs or more."""
        assert self.ratio("prague", reference_rtt_us=0) > 4

    def test_mixed(self) -> None:
        """Only RTTs above 25 ms matter: of 5 to 100 ms, the first three have equal rates."""
        flows = (prague(extra_rtt_ms=extra) for extra in (0, 5, 15, 45, 95))
        result = run(path(*flows, rtt_ms=5, duration_s=60))
        rates = mbps(result)
        assert rates[:3].max() < 1.5 * rates[:3].min()
        assert rates[2] > rates[3] > rates[4]
        assert result.queueing_delay_percentiles_ms([99], queue="l4s").iloc[0] < 2


class TestSmallWindows:
    """RFC 9331, section 4.3: response to congestion below two packets per round trip."""

    @pytest.mark.parametrize("rtt_ms", [2, 5])
    def test_many_flows(self, rtt_ms: float) -> None:
        """Fifty flows share 100 Mbit/s equally, without drops, with windows below two packets."""
        result = run(path(prague(50), rtt_ms=rtt_ms, duration_s=20))
        windows = [state(result, flow)["window"].mean() for flow in range(50)]
        assert max(windows) < 2
        assert mbps(result).sum() > 90
        assert jain_index(mbps(result)) > 0.95
        assert not (result.queue["event"] == "drop").any()
        assert result.occupancy(0.01, queue="l4s").loc[10:].mean() * 0.12 < 2

    def test_fraction_of_a_packet(self) -> None:
        """Beside an overload, a flow sends less than one packet per round trip, and goes on."""
        scenario = path(
            prague(), Flow(kind="cbr", rate_mbps=9.6, ecn="ect1"), mbps=10, rtt_ms=2, duration_s=20
        )
        result = run(scenario)
        assert 0.125 <= state(result)["window"].mean() < 1
        assert mbps(result)[0] > 0.05


class TestBursts:
    """RFC 9331, section 4.3: bursts are limited."""

    @pytest.mark.parametrize("rtt_ms", [2, 20])
    def test_pacing(self, rtt_ms: float) -> None:
        """In 1/4 ms, at most the packets of 1/4 ms at the link's rate and one more arrive."""
        result = run(path(prague(), rtt_ms=rtt_ms, duration_s=10))
        events = result.queue
        times_ns = events.loc[events["event"] == "enqueue", "time_ns"].to_numpy()
        times_ns = times_ns[times_ns > 5e9]
        of_quarter_ms = np.searchsorted(times_ns, times_ns + 250_000) - np.arange(len(times_ns))
        assert np.quantile(of_quarter_ms, 0.999) <= 250 / 120 + 2

    def test_start(self) -> None:
        """The stack's burst of ten packets does not end slow start, a queue later does."""
        result = run(path(prague(), duration_s=2))
        windows = result.cca_info(0)["window"]
        assert windows.loc[:0.12].max() >= 40
        assert marks(result) > 0

    def test_first_mark(self) -> None:
        """The first mark after the initial window halves the window."""
        result = run(path(prague(), rtt_ms=50, duration_s=2, sample_interval_ms=1))
        now = result.cca_info(0)
        first = int((now["reductions"] > 0).to_numpy().argmax())
        before, after = now["window"].iloc[first - 1], now["window"].iloc[first]
        assert after / before == pytest.approx(0.5, abs=0.03)


class TestLoss:
    """RFC 9331, section 4.3: losses have a response that coexists with Reno, here its own."""

    def test_halves(self) -> None:
        """A loss halves the window."""
        result = run(
            path(
                prague(),
                mbps=20,
                rtt_ms=40,
                qdisc="droptail",
                queue_packets=60,
                sample_interval_ms=1,
            )
        )
        windows = state(result)["window"].to_numpy()
        drops = windows[1:] / windows[:-1]
        assert (drops < 0.9).sum() >= 3
        assert drops[drops < 0.9] == pytest.approx(0.5, abs=0.02)

    @pytest.mark.parametrize("rtt_ms", [10, 40])
    @pytest.mark.parametrize("loss", [0.0005, 0.005])
    def test_random(self, rtt_ms: float, loss: float) -> None:
        """With random losses, the rate is Reno's, also at short RTTs (means of three seeds)."""
        rates = {
            cca: np.mean(
                [
                    mbps(
                        run(
                            path(
                                Flow(cca=cca),
                                mbps=1000,
                                rtt_ms=rtt_ms,
                                qdisc="droptail",
                                loss=loss,
                                seed=seed,
                                queue_log=False,
                                ecn=False,
                            )
                        ),
                        5,
                    )[0]
                    for seed in (1, 2, 3)
                ]
            )
            for cca in ("prague", "reno")
        }
        assert rates["prague"] == pytest.approx(rates["reno"], rel=0.2)

    @pytest.mark.parametrize("rtt_ms", [10, 20, 50])
    def test_tail_drop(self, rtt_ms: float) -> None:
        """In a drop-tail queue, CUBIC has the rate that it has beside Reno, within 1.5."""
        rates = {}
        for cca in ("prague", "reno"):
            packets = round(50e6 * rtt_ms / 1e3 / 12_000)
            rest = [
                mbps(
                    run(
                        path(
                            Flow(cca=cca),
                            Flow(cca="cubic", start_s=start_s),
                            mbps=50,
                            rtt_ms=rtt_ms,
                            duration_s=80,
                            qdisc="droptail",
                            queue_packets=packets,
                            ecn=False,
                        )
                    )
                )[1]
                for start_s in (0.1, 0.2, 0.3)
            ]
            rates[cca] = np.mean(rest)
        assert 1 / 1.5 < rates["prague"] / rates["reno"] < 1.5


class TestClassicAqm:
    """RFC 9331, section 4.3: detection of a classic AQM, and Reno's response to its marks."""

    @pytest.mark.parametrize("qdisc", ["codel", "pie"])
    @pytest.mark.parametrize(("rate", "rtt_ms"), [(4, 20), (10, 20), (50, 10), (50, 50), (200, 20)])
    def test_classic(self, qdisc: str, rate: float, rtt_ms: float) -> None:
        """It is detected, and CUBIC has the rate that it has beside Reno, within 1.5."""
        others = {}
        for cca in ("prague", "reno"):
            flows = (Flow(cca=cca), Flow(cca="cubic"))
            scenario = path(
                *flows,
                mbps=rate,
                rtt_ms=rtt_ms,
                duration_s=80,
                qdisc=qdisc,
                options={"ecn": True},
                queue_log=False,
            )
            result = run(scenario)
            others[cca] = mbps(result)[1]
            if cca == "prague":
                assert state(result)["classic"].mean() > 0.9
        assert 1 / 1.5 < others["prague"] / others["reno"] < 1.5

    @pytest.mark.parametrize("qdisc", ["codel", "pie"])
    def test_without_response(self, qdisc: str) -> None:
        """Without the response, as DCTCP, it would leave CUBIC less than a quarter."""
        scenario = path(
            prague(), Flow(cca="cubic"), mbps=50, qdisc=qdisc, options={"ecn": True}, duration_s=60
        )
        rates = mbps(run(with_parameters(scenario, classic_fallback=0)))
        assert rates[1] < 50 / 4

    @pytest.mark.parametrize("others", [0, 1, 10])
    @pytest.mark.parametrize(("rate", "rtt_ms"), [(4, 5), (4, 100), (12, 20), (100, 20)])
    def test_l4s(self, rate: float, rtt_ms: float, others: int) -> None:
        """DualPI2 is not taken for a classic AQM, at low rates, too."""
        flows = (prague(), *([Flow(cca="cubic", count=others)] if others else []))
        result = run(path(*flows, mbps=rate, rtt_ms=rtt_ms, duration_s=60, queue_log=False))
        assert state(result)["classic"].max() == 0


class TestUnresponsive:
    """Unresponsive traffic in the L4S queue, and overload."""

    def test_leaves_the_rest(self) -> None:
        """Beside UDP with ECT(1) at half the link's rate, Prague uses the other half."""
        udp = Flow(kind="cbr", rate_mbps=50, ecn="ect1")
        result = run(path(prague(), udp))
        assert mbps(result)[0] == pytest.approx(50, rel=0.05)
        assert result.queueing_delay_percentiles_ms([99], queue="l4s").iloc[0] < 3

    def test_overload(self) -> None:
        """Beside UDP with ECT(1) above the link's rate, it goes on with its smallest window."""
        udp = Flow(kind="cbr", rate_mbps=110, ecn="ect1")
        result = run(path(prague(), Flow(cca="cubic"), udp))
        rtt_us = result.flows.loc[result.flows["flow"] == 0, "srtt_us"].iloc[-1]
        least_mbps = 1500 * 8 / 8 / rtt_us
        assert mbps(result).sum() > 95
        assert 0.5 * least_mbps < mbps(result)[0] < 1


def test_example() -> None:
    """In the example, the L4S queue stays below 1 ms while CUBIC and BBR fill the other."""
    result = run(Scenario.load(Path(__file__).parents[2] / "examples" / "l4s.toml"))
    assert result.queueing_delay_percentiles_ms([99], queue="l4s").iloc[0] < 1
    assert result.queueing_delay_percentiles_ms([50], queue="classic").iloc[0] > 10
    assert not result.ecn_fallbacks()


def test_refusal() -> None:
    """A kernel without accurate ECN refuses Prague in a line with the reason and the next step."""
    try:
        old = KernelEngine(kernel="6.12")
    except CcbenchError as error:
        pytest.skip(str(error))
    with pytest.raises(InputError, match=r"^flows\[0\]\.cca is 'prague'.*accurate ECN.*7\.3"):
        old.check(path(prague(), qdisc="droptail"))
    assert "prague" not in old.kernel.ccas
