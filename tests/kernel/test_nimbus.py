# SPDX-License-Identifier: Apache-2.0
"""NimbusCC behaves as its paper states (Goyal et al., SIGCOMM 2022)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Change, Flow, NetworkPath, Run, Scenario
from ccbench.base.errors import EngineError, InputError
from ccbench.elasticity.detector import Detector, spectrum
from ccbench.elasticity.observed import observe
from ccbench.elasticity.pulse import pulse_mbps
from ccbench.experiment.impairments import Policer
from ccbench.experiment.noise import Noise
from tests.kernel.conftest import run

pytestmark = pytest.mark.kernel

#: The paper's network, with half the rate.
MBPS, RTT_MS = 48.0, 50.0
#: The target queueing delay of BasicDelay, d_t.
TARGET_MS = 12.5
EIGHT = (Flow(cca="nimbus_vegas", count=8),)
COMPETITIVE, DELAY = "competitive", "delay"
WATCHER, PULSER, SILENT = "watcher", "pulser", "paused"

POISSON = Flow(kind="poisson", rate_mbps=MBPS / 2)
CBR = Flow(kind="cbr", rate_mbps=MBPS / 2)
#: Claims that single runs decide by chance are tested on the mean over seeds.
SEEDS = range(1, 9)


def nimbus(
    *cross: Flow,
    senders: tuple[Flow, ...] = (Flow(cca="nimbus"),),
    duration_s: float = 30,
    jitter_ms: float = 0,
    seed: int = 1,
    is_link_given: bool = True,
    **settings: int,
) -> Run:
    """Run NimbusCC beside cross traffic, with these of its settings."""
    if is_link_given:
        settings["link_kbps"] = round(MBPS * 1000)
    return run(
        Scenario(
            flows=(*senders, *cross),
            path=NetworkPath(
                bottlenecks=(Bottleneck(bandwidth_mbps=MBPS, queue_bdp=2),),
                rtt_ms=RTT_MS,
                noise=Noise(reverse_jitter_ms=jitter_ms),
                sysctls=tuple((f"net.ipv4.tcp_nimbus_{k}", str(v)) for k, v in settings.items()),
            ),
            seed=seed,
            duration_s=duration_s,
            sample_interval_ms=10,
        )
    )


def state(result: Run, flow: int = 0) -> pd.DataFrame:
    """Return the state of a flow's NimbusCC reported by the kernel, without missing values."""
    return result.cca_info(flow).dropna()


def queueing_ms(result: Run, start_s: float, stop_s: float | None = None) -> float:
    """Return the mean queueing delay in a part of a run."""
    packets = result.occupancy(0.01).loc[start_s:stop_s].mean()
    mbps = result.scenario.path.bottlenecks[0].bandwidth_mbps
    assert mbps is not None
    return float(packets * 1500 * 8 / (mbps * 1e3))


def mbps(result: Run, start_s: float, stop_s: float | None = None) -> np.ndarray:
    """Return the flows' mean throughputs in a part of a run."""
    return result.throughput(0.5).loc[start_s:stop_s].mean().to_numpy()


def sent_mbps(result: Run, start_s: float, step_s: float = 0.01) -> np.ndarray:
    """Return the rate at which the first flow's packets arrive at the queue."""
    events = result.queue
    own = events[(events["event"] == "enqueue") & (events["flow"] == 0)]
    edges = np.arange(start_s, result.scenario.duration_s, step_s)
    sent, _ = np.histogram(own["time_ns"] / 1e9, edges, weights=own["bytes"].astype(float))
    return np.asarray(sent * 8e-6 / step_s)


class TestPulses:
    def test_shape(self) -> None:
        """Over a period, the rate varies as in figure 6."""
        sent = sent_mbps(nimbus(CBR), 10)
        folded = sent[: len(sent) // 20 * 20].reshape(-1, 20).mean(axis=0)
        shapes = [
            pulse_mbps((np.arange(20) + 0.5) / 100 - shift, MBPS)
            for shift in np.arange(0, 0.2, 0.002)
        ]
        shape = max(shapes, key=lambda s: float(np.dot(s, folded)))
        height = np.dot(shape, folded) / np.dot(shape, shape)
        assert height == pytest.approx(1, abs=0.2)
        assert np.corrcoef(shape, folded)[0, 1] > 0.95

    @pytest.mark.parametrize("pulses", [25, 20])
    def test_frequency(self, pulses: int) -> None:
        """The rate varies most at f_p, which is a setting."""
        sent = sent_mbps(nimbus(POISSON, pulses=pulses), 15)
        frequencies, amplitudes = spectrum(sent[:1000])
        assert pulses / 5 == pytest.approx(frequencies[amplitudes.argmax()], abs=0.11)

    def test_height(self) -> None:
        """Pulses of an eighth of the link are half as high as those of a quarter."""
        at_5_hz = [
            spectrum(sent_mbps(nimbus(CBR, pulse_permille=permille), 15)[:1000])[1][50]
            for permille in (125, 250)
        ]
        assert at_5_hz[0] == pytest.approx(at_5_hz[1] / 2, rel=0.2)

    def test_pairs(self) -> None:
        """Packets leave in pairs at low rates, too, like those of ACK-clocked flows.

        Single packets would pass a full drop-tail queue where pairs do not.
        """
        events = nimbus(Flow(kind="cbr", rate_mbps=MBPS * 3 / 4)).queue
        own = events[(events["event"] == "enqueue") & (events["flow"] == 0)]
        gaps_ns = np.diff(own["time_ns"][own["time_ns"] > 10e9])
        assert (gaps_ns < 1500 * 8e3 / MBPS / 2).mean() > 0.45


class TestEstimate:
    @pytest.mark.parametrize("cross", [POISSON, Flow(cca="cubic")], ids=["poisson", "cubic"])
    def test_as_the_library(self, cross: Flow) -> None:
        """The kernel's z is the library's at the queue, one ACK delay later."""
        result = nimbus(cross)
        seen = observe(result).rates["estimate_mbps"].loc[10:]
        reported = state(result)["z_mbps"]
        errors = [
            np.median(np.abs(np.interp(seen.index + late, reported.index, reported) / seen - 1))
            for late in np.arange(0, 0.2, 0.01)
        ]
        assert min(errors) < 0.05

    @pytest.mark.parametrize("cross", [POISSON, Flow(cca="cubic")], ids=["poisson", "cubic"])
    def test_eta(self, cross: Flow) -> None:
        """The kernel's eta is the library's of the same z, except for sampling times."""
        reported = state(nimbus(cross)).loc[10:]
        wanted = Detector().elasticity_over_time(reported["z_mbps"], every=1)
        actual = reported["eta"].to_numpy()[len(reported) - len(wanted) :]
        assert np.median(actual) == pytest.approx(np.median(wanted), rel=0.15)
        assert np.mean((actual >= 2) == (wanted >= 2)) > 0.95

    def test_link(self) -> None:
        """Without a given rate, a flow estimates the link's rate from its receive rate."""
        reported = state(nimbus(is_link_given=False, duration_s=10))
        assert reported["mu_mbps"].iloc[-1] == pytest.approx(MBPS, rel=0.02)

    def test_link_after_pauses(self) -> None:
        """The few packets after a pause do not affect the estimate of the rate."""
        sender = Flow(cca="nimbus", kind="onoff", on_s=5, off_s=2)
        result = nimbus(senders=(sender,), is_link_given=False, jitter_ms=1)
        assert state(result)["mu_mbps"].max() < 1.05 * MBPS


class TestModes:
    def test_starts_competitive(self) -> None:
        """For the first FFT duration, before any estimate, a flow is competitive."""
        reported = state(nimbus(POISSON))
        assert (reported["mode"].loc[:5] == COMPETITIVE).all()

    def test_slow_start(self) -> None:
        """The window doubles each RTT as Reno's does, an RTT later because of pacing.

        A window must not shrink where a burst's ACKs come faster than paced packets leave.
        """
        results = (nimbus(duration_s=1), nimbus(duration_s=1, senders=(Flow(cca="reno"),)))
        own, reno = (result.flows.set_index("time_ns")["cwnd_packets"] for result in results)
        for time_ns in range(150_000_000, 301_000_000, 50_000_000):
            assert own[time_ns + 50_000_000] >= reno[time_ns]

    @pytest.mark.parametrize("cross", [POISSON, CBR], ids=["poisson", "cbr"])
    def test_inelastic(self, cross: Flow) -> None:
        """Beside UDP the delay is BasicDelay's target, and the link is used (eight seeds)."""
        results = [nimbus(cross, seed=seed) for seed in SEEDS]
        modes = [(state(result)["mode"].loc[10:] == DELAY).mean() for result in results]
        assert np.mean(modes) > 0.85
        delays_ms = [queueing_ms(result, 12) for result in results]
        assert np.mean(delays_ms) == pytest.approx(TARGET_MS, abs=2)
        assert min(mbps(result, 12).sum() for result in results) > 0.98 * MBPS

    def test_target(self) -> None:
        """The target delay is a setting."""
        assert queueing_ms(nimbus(CBR, target_us=25_000), 12) == pytest.approx(25, abs=2)

    @pytest.mark.parametrize("sender", ["nimbus", "nimbus_reno"])
    def test_elastic(self, sender: str) -> None:
        """Beside a flow of its own competitive kind it is competitive, and takes part.

        A full drop-tail queue drops according to the burstiness of senders: equal shares are those
        of equal senders.
        """
        other = "reno" if sender == "nimbus_reno" else "cubic"
        flows = (Flow(cca=sender),)
        result = nimbus(Flow(cca=other), senders=flows, duration_s=60, jitter_ms=1)
        assert (state(result)["mode"].loc[10:] == COMPETITIVE).mean() > 0.95
        assert mbps(result, 20)[0] == pytest.approx(MBPS / 2, rel=0.5)

    def test_least_rtt(self) -> None:
        """The path's RTT is known after more than TCP's own 300 s beside CUBIC."""
        cubic = Flow(cca="cubic", start_s=5, stop_s=330)
        late = Flow(kind="cbr", rate_mbps=MBPS / 2, start_s=330)
        assert queueing_ms(nimbus(cubic, late, duration_s=355), 345) < TARGET_MS + 4

    def test_switches(self) -> None:
        """The mode follows the cross traffic within the FFT's length, plus a reaction time.

        After a moment of yielding too early, the competitive mode lasts for its 5 s again; hence
        means of eight seeds.
        """
        cross = (
            Flow(kind="poisson", rate_mbps=MBPS / 2, stop_s=20),
            Flow(cca="cubic", start_s=20, stop_s=45),
            Flow(kind="poisson", rate_mbps=MBPS / 2, start_s=45),
        )
        results = [nimbus(*cross, duration_s=60, seed=seed) for seed in SEEDS]
        modes = [state(result)["mode"] for result in results]
        assert np.mean([(mode.loc[10:20] == DELAY).mean() for mode in modes]) > 0.8
        assert np.mean([(mode.loc[26:45] == COMPETITIVE).mean() for mode in modes]) > 0.9
        assert np.mean([(mode.loc[56:] == DELAY).mean() for mode in modes]) > 0.6
        # It resumes at its rate before the cross traffic.
        assert np.mean([mbps(result, 30, 45)[0] for result in results]) > 0.3 * MBPS
        assert np.median([queueing_ms(result, 56) for result in results]) < 20

    def test_small_share(self) -> None:
        """Below mu/12 a flow does not pulse, and is competitive."""
        reported = state(nimbus(Flow(kind="cbr", rate_mbps=MBPS - 2), duration_s=40)).loc[15:]
        assert reported["receive_mbps"].mean() < MBPS / 12
        assert (reported["mode"] == COMPETITIVE).all()
        assert (reported["role"] == SILENT).all()


class TestSeveral:
    """Flows that elect a pulser, with jitter: without any noise two of them synchronise.

    Then there is no pulser for 6.6 % of the time.
    """

    def test_one_pulser(self) -> None:
        """Of two flows, one becomes the pulser and the other follows its mode."""
        senders = (Flow(cca="nimbus_vegas"), Flow(cca="nimbus_vegas", start_s=20))
        result = nimbus(senders=senders, duration_s=60, jitter_ms=0.5, elect=1)
        roles = pd.concat([state(result, flow)["role"] for flow in (0, 1)], axis=1).loc[40:]
        assert ((roles != WATCHER).sum(axis=1) == 1).mean() > 0.95
        modes = [state(result, flow)["mode"].loc[40:] for flow in (0, 1)]
        assert all((mode == DELAY).mean() > 0.8 for mode in modes)
        assert mbps(result, 40).sum() > 0.98 * MBPS

    def test_watchers_do_not_pulse(self) -> None:
        """A watcher's rate varies less at the pulser's frequency than the pulser's own."""
        senders = (Flow(cca="nimbus_vegas"), Flow(cca="nimbus_vegas", start_s=20))
        result = nimbus(senders=senders, duration_s=60, jitter_ms=0.5, elect=1)
        sends = [state(result, flow)["send_mbps"].loc[50:].to_numpy()[:500] for flow in (0, 1)]
        roles = [state(result, flow)["role"].iloc[-1] for flow in (0, 1)]
        at_6_hz = [spectrum(send)[1][30] for send in sends]
        assert at_6_hz[roles.index(WATCHER)] < 0.5 * at_6_hz[roles.index(PULSER)]

    def test_eight_at_once(self) -> None:
        """Of eight flows that start together one becomes the pulser, and all control delay.

        This holds most of the time: of 24 seeds, the means are 0.05 of the time with several
        pulsers, 0.87 with one, and 0.69 (standard deviation 0.27) in delay mode.
        """
        several, one_alone, in_delay = [], [], []
        for seed in range(1, 17):
            result = nimbus(senders=EIGHT, jitter_ms=0.3, elect=1, seed=seed)
            reported = [state(result, flow) for flow in range(8)]
            pulsers = pd.concat([one["role"] != WATCHER for one in reported], axis=1).sum(axis=1)
            several.append((pulsers > 1).mean())
            one_alone.append((pulsers.loc[20:] == 1).mean())
            in_delay += [(item["mode"].loc[10:] == DELAY).mean() for item in reported]
        assert np.mean(several) < 0.25
        assert np.mean(one_alone) > 0.6
        assert np.mean(in_delay) > 0.5

    def test_steady_queue(self) -> None:
        """The queue varies by pulses, 7 ms, and Vegas, but not by the number of watchers."""
        packets = nimbus(senders=EIGHT, jitter_ms=0.3, elect=1).occupancy(0.01).loc[20:]
        delay_ms = packets * 1500 * 8 / (MBPS * 1e3)
        assert delay_ms.quantile(0.99) - delay_ms.quantile(0.01) < 30
        assert delay_ms.min() > 0

    def test_all_follow(self) -> None:
        """Watchers compete while a CUBIC flow is present, as the pulser does, and no longer.

        There are exceptions: of sixteen seeds, in one a watcher took it for inelastic for half of
        the time, and in two they competed for 15 s more.
        """
        senders = (Flow(cca="nimbus_vegas", count=2),)
        cubic = Flow(cca="cubic", start_s=20, stop_s=45)
        results = [
            nimbus(cubic, senders=senders, duration_s=70, jitter_ms=0.125, seed=seed, elect=1)
            for seed in range(1, 7)
        ]
        delays = np.array(
            [[state(result, flow)["mode"] == DELAY for flow in (0, 1)] for result in results]
        )
        before, beside, after = (delays[:, :, i : i + 1000].mean() for i in (1000, 3000, 6000))
        assert before > 0.7
        assert beside < 0.3
        assert after > 0.6
        assert np.mean([mbps(item, 30, 45)[:2].sum() for item in results]) > MBPS / 3

    @pytest.mark.parametrize(("kappa_percent", "latest_s"), [(1000, 7.0), (1, None)])
    def test_kappa(self, kappa_percent: int, latest_s: float | None) -> None:
        """With κ = 10 a pulser exists half a second after the FFT's length; with 0.01, none.

        In the 25 s that follow it there would be one in a run of twenty.
        """
        result = nimbus(senders=EIGHT, jitter_ms=0.3, elect=1, kappa_percent=kappa_percent)
        role = pd.concat([state(result, flow)["role"] for flow in range(8)], axis=1)
        elected = role.index[(role.fillna(WATCHER) != WATCHER).any(axis=1)]
        assert elected.empty if latest_s is None else elected[0] < latest_s


class TestSettings:
    def test_out_of_range(self) -> None:
        """A setting out of range is refused by name."""
        with pytest.raises(EngineError, match=r"^sysctls\.net\.ipv4\.tcp_nimbus_pulses = '6' is"):
            nimbus(duration_s=1, pulses=6)
        with pytest.raises(EngineError):
            nimbus(duration_s=1, threshold_percent=99)
        with pytest.raises(EngineError):
            nimbus(duration_s=1, pulse_permille=501)
        with pytest.raises(EngineError):
            nimbus(duration_s=1, kappa_percent=0)

    @pytest.mark.parametrize(
        ("pulses", "delay_pulses", "fits"),
        [(25, 30, True), (10, 14, True), (10, 15, False), (40, 34, True), (7, 40, False)],
    )
    def test_no_reference_frequency(
        self, monkeypatch: pytest.MonkeyPatch, pulses: int, delay_pulses: int, *, fits: bool
    ) -> None:
        """Two pulse frequencies need others between the higher one and twice the lower one."""

        def with_elect(elect: int) -> Run:
            return nimbus(duration_s=0.2, pulses=pulses, delay_pulses=delay_pulses, elect=elect)

        assert len(with_elect(0).flows)  # one pulser needs no second frequency
        if fits:
            assert len(with_elect(1).flows)
            return
        with pytest.raises(InputError, match=r"^sysctls\.net.*nimbus_(delay_)?pulses is "):
            with_elect(1)
        # The kernel itself refuses the same.
        monkeypatch.setattr("ccbench.emulate.kernel.boot.parameters._check_nimbus", lambda _: None)
        with pytest.raises(EngineError, match=r"tcp_nimbus_elect = '1' is refused.*Invalid argum"):
            with_elect(1)

    def test_threshold(self) -> None:
        """With a threshold that no traffic reaches, there is only the delay mode."""
        reported = state(nimbus(Flow(cca="cubic"), threshold_percent=10_000, hold_ms=0))
        assert (reported["mode"].loc[10:] == DELAY).mean() > 0.95


class TestFall:
    @pytest.mark.parametrize("cca", ["nimbus", "nimbus_copa", "nimbus_vegas", "nimbus_reno"])
    def test_drops(self, cca: str) -> None:
        """If the link falls to a fortieth in the delay mode, drops are at most 3 times Reno's."""

        def drops(name: str) -> int:
            result = run(
                Scenario(
                    flows=(Flow(cca=name),),
                    path=NetworkPath(
                        bottlenecks=(Bottleneck(bandwidth_mbps=MBPS, queue_bdp=2),),
                        rtt_ms=RTT_MS,
                        changes=(Change(at_s=10, bandwidth_mbps=MBPS / 40),),
                    ),
                    duration_s=20,
                )
            )
            if name == cca:
                assert state(result)["mode"].loc[:10].iloc[-1] == DELAY
            return int((result.queue_events(0)["event"] == "drop").sum())

        assert drops(cca) <= 3 * drops("reno")


class TestPolicer:
    """A policer, which has no queue."""

    MBPS, RTT_S, PACKET_BITS = 20, 0.04, 12_000

    def loss_events(self, cca: str) -> list[int]:
        """Return the drops of each loss event after the first slow start."""
        policer = Policer(rate_mbps=self.MBPS, burst_bytes=50_000)
        result = run(
            Scenario(
                flows=(Flow(cca=cca),),
                path=NetworkPath(
                    bottlenecks=(
                        Bottleneck(bandwidth_mbps=100, queue_packets=334, policer=policer),
                    ),
                    rtt_ms=self.RTT_S * 1e3,
                ),
                duration_s=20,
            )
        )
        events = result.queue_events(0)
        lost_s = events["time_ns"][events["event"].isin(["drop", "loss"])].to_numpy() / 1e9
        later_s = lost_s[lost_s > 2]
        return [len(part) for part in np.split(later_s, np.flatnonzero(np.diff(later_s) > 0.2) + 1)]

    def test_loss_events(self) -> None:
        """Loss events are as frequent as CUBIC's, and lose no more than a crest exceeds the rate.

        The crest is at most a quarter of the link above the rate, until the loss is known after a
        round trip.
        """
        events = self.loss_events("nimbus")
        crest_mbps = 100 / 4
        assert len(events) <= 1.25 * len(self.loss_events("cubic"))
        assert max(events) <= crest_mbps * 1e6 * self.RTT_S / self.PACKET_BITS


class TestRecord:
    def test_other_ccas(self) -> None:
        """The state of other congestion controls has names, too; Reno reports none."""
        flows = (Flow(cca="vegas"), Flow(cca="reno"))
        result = run(
            Scenario(
                flows=flows,
                path=NetworkPath(
                    bottlenecks=(Bottleneck(bandwidth_mbps=12, queue_bdp=1),), rtt_ms=RTT_MS
                ),
                duration_s=5,
            )
        )
        reported = result.cca_info(0).iloc[-1]
        assert reported["enabled"] == 1
        assert reported["base_us"] == pytest.approx(RTT_MS * 1000, rel=0.1)
        assert result.cca_info(1).columns.empty
        assert result.flows.loc[result.flows["flow"] == 1, "cca_info_0"].isna().all()
