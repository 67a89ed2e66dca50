# SPDX-License-Identifier: Apache-2.0
"""Training for any recording: parts of connections on random networks, in random views.

Half of the networks are the thesis's settings. A network is characterised by its bandwidth-delay
product and its queue in packets, and by its round-trip time, as some CCAs grow by time. The paths
have loss, cross traffic, both or neither (:func:`~ccbench.classify.training.noisy_variation`).

Of each run, parts are measured: at the queue, packet by packet; of a queue that is sampled or
averaged; and of the sender's window, with an estimated network. They begin anywhere
in the first minute of a connection.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ccbench.base.random_streams import stream
from ccbench.classify.implementation import Implementation
from ccbench.classify.measurements import measured_events
from ccbench.classify.occupancy import STEP_S, Events, events_of
from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.training import (
    Sample,
    Variation,
    noisy_variation,
    scenario,
    start_s,
)
from ccbench.classify.view import View
from ccbench.classify.window import Window
from ccbench.run.queue_record import backlog_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = [
    "DURATION_S",
    "MOST_CROSS_SHARE",
    "NETWORKS",
    "N_NETWORKS",
    "Course",
    "WindowPart",
    "at_the_queue",
    "at_the_sender",
    "averaged",
    "network",
    "path",
    "samples_of",
    "samples_of_run",
    "windows_needed",
]

#: Random networks of a training set.
N_NETWORKS = 170
#: Length of the runs, and the time between two points of their course, in seconds.
DURATION_S, _FINE_S = 62.0, 0.01


class _Ranges(NamedTuple):
    """Ranges of networks: RTT in ms, bandwidth-delay product in packets, queue in products."""

    rtts_ms: tuple[float, float]
    products: tuple[float, float]
    queues: tuple[float, float]


#: The random networks, and those for which they are near enough.
_RANDOM = _Ranges(rtts_ms=(15, 280), products=(5, 200), queues=(0.25, 4))
NETWORKS = _Ranges(rtts_ms=(8, 450), products=(3, 400), queues=(0.1, 12))
#: The range of their rates in Mbit/s, and the least queue in packets.
_RATES_MBPS, _LEAST_QUEUE = (0.2, 40), 5
#: One network in this many has no loss and no cross traffic.
_CALM = 6
#: The RTT of which the jitter and RTT differences of paths are typical, in milliseconds.
_TYPICAL_RTT_MS = 85
#: Lengths of the parts in seconds, and the share of parts from the start of the connection.
_LENGTHS_S, _FROM_START = (10, 12, 15, 20, 20, 20), 0.15
_STEPS_S = (0.02, 0.04, 0.1)
#: Number of further parts of each kind of queue in the thesis's settings, the most frequent ones.
_MORE_PARTS = 2
#: Greatest share of cross traffic with which the window of the sender is that of the queue.
MOST_CROSS_SHARE = 0.02


def network(number: int) -> Setting:
    """Return a random network.

    Parameters
    ----------
    number : int
        Each number has its own network.

    Examples
    --------
    >>> network(0).name, network(2) in SETTINGS
    ('9.58bw-21rtt-20q', True)
    """
    rng = stream(number, "network")
    if rng.random() < 0.5:  # noqa: PLR2004
        return SETTINGS[rng.integers(len(SETTINGS))]
    while True:
        rtt_ms, product = (
            float(np.exp(rng.uniform(*np.log(range_))))
            for range_ in (_RANDOM.rtts_ms, _RANDOM.products)
        )
        mbps = product * 1500 * 8 / rtt_ms / 1e3
        if not _RATES_MBPS[0] <= mbps <= _RATES_MBPS[1]:
            continue
        queue = round(product * float(np.exp(rng.uniform(*np.log(_RANDOM.queues)))))
        if queue >= _LEAST_QUEUE:
            return Setting(bandwidth_mbps=round(mbps, 2), rtt_ms=round(rtt_ms), queue_packets=queue)


def path(number: int) -> Variation:
    """Return the path of a random network, whose jitter is in proportion to its RTT.

    Examples
    --------
    >>> path(6).loss, path(6).cross_share
    (0.0, 0.0)
    """
    result = replace(noisy_variation(1000 + number), skipped_s=0.0)
    if number % _CALM == 0:
        result = replace(result, loss=0.0, cross_share=0.0)
    scale = min(1, network(number).rtt_ms / _TYPICAL_RTT_MS)
    return replace(
        result,
        extra_rtt_ms=round(result.extra_rtt_ms * scale, 1),
        jitter_ms=round(max(0.2, result.jitter_ms * scale), 1),
    )


class Course:
    """A run's queue, and the packets that have left it, every 10 ms from its start.

    Parameters
    ----------
    waiting, left : ndarray, shape (n_points,)
        Waiting packets, and the number of packets that have left.
    """

    def __init__(self, waiting: npt.ArrayLike, left: npt.ArrayLike) -> None:
        self.waiting = np.asarray(waiting, dtype=np.float64)
        self.left = np.asarray(left, dtype=np.float64)
        self.time_ns = np.arange(len(self.waiting)) * round(_FINE_S * 1e9)

    @classmethod
    def of(cls, run: Run, variation: Variation) -> Course:
        """Return the course of a run on a random network."""
        events = events_of(run)
        at_ns = round(start_s(variation) * 1e9) + np.arange(round(DURATION_S / _FINE_S)) * round(
            _FINE_S * 1e9
        )
        left = np.append(0, np.cumsum(np.asarray(events["event"]) == "dequeue"))
        until = np.searchsorted(np.asarray(events["time_ns"]), at_ns, side="right")
        return cls(backlog_at(events, at_ns), left[until])

    def in_flight(self, rtt_ms: float) -> npt.NDArray[np.float64]:
        """Return the waiting packets, and those that left in the last round-trip time."""
        points = round(rtt_ms / 1e3 / _FINE_S)
        before = np.concatenate([np.zeros(points), self.left[: len(self.left) - points]])
        result: npt.NDArray[np.float64] = self.waiting + self.left - before
        return result


def averaged(values: npt.NDArray[np.float64], points: int) -> npt.NDArray[np.float64]:
    """Return the mean of the last points at each point.

    Examples
    --------
    >>> averaged(np.array([2.0, 4.0, 6.0]), 2)
    array([2., 3., 5.])
    """
    if points <= 1:
        return values
    total = np.cumsum(np.insert(values, 0, 0.0))
    last = np.arange(1, len(values) + 1)
    first = np.maximum(last - points, 0)
    result: npt.NDArray[np.float64] = (total[last] - total[first]) / (last - first)
    return result


def samples_of(
    course: Course, number: int, implementation: Implementation, seed: int = 0
) -> list[Sample]:
    """Return measured parts of a run in random views.

    Parameters
    ----------
    course : Course
    number : int
        The number of the network.
    implementation : Implementation
        The implementation of the CCA.
    seed : int
        Each has other parts and views.
    """
    setting, variation = network(number), path(number)
    rng = stream(number, f"views {implementation.module} {seed}")
    result = []
    more = _MORE_PARTS if setting in SETTINGS else 0
    parts = (
        _whole(course, setting, rng),
        _filtered(course, setting, rng),
        _sent(course, setting, variation, rng),
        *(_whole(course, setting, rng) for _ in range(more)),
        *(_filtered(course, setting, rng) for _ in range(more)),
    )
    for part in parts:
        measured = part.measured()
        if len(measured):
            result.append(
                Sample(
                    cca=implementation.cca,
                    variant=implementation.variant,
                    setting=part.setting,
                    variation=replace(variation, name=f"network {number}"),
                    seed=seed,
                    points=np.zeros(0, dtype=np.float32),
                    measured=measured,
                    view=part.view,
                )
            )
    return result


def windows_needed(
    numbers: Iterable[int], ccas: Sequence[str]
) -> dict[tuple[int, Implementation], tuple[Scenario]]:
    """Return the scenarios of runs of each CCA on random networks.

    Parameters
    ----------
    numbers : iterable of int
        The numbers of the networks.
    ccas : sequence of str
        Descriptions for :meth:`~ccbench.classify.implementation.Implementation.named`.
    """
    return {
        (number, own): (
            scenario(
                network(number), own.module, path(number), seed=5000 + number, duration_s=DURATION_S
            ),
        )
        for number in numbers
        for own in map(Implementation.named, ccas)
    }


def samples_of_run(key: tuple[int, Implementation], run: Run) -> list[Sample]:
    """Return the samples of a run of :func:`windows_needed`."""
    number, own = key
    return samples_of(Course.of(run, path(number)), number, own)


class WindowPart(NamedTuple):
    """A part of a run as a recording shows it: its queue, network, view and start in seconds."""

    events: Events
    setting: Setting
    view: View
    first_s: float

    def measured(self) -> npt.NDArray[np.uint8]:
        """Return the measurements of the part."""
        return measured_events(self.events, self.setting, from_s=self.first_s, view=self.view)


def at_the_queue(  # noqa: PLR0913 - two options of the recording
    course: Course,
    setting: Setting,
    first_s: float,
    length_s: float,
    *,
    step_s: float = STEP_S,
    average_s: float = 0.0,
) -> WindowPart:
    """Return a part of a run as it is recorded at the queue.

    Parameters
    ----------
    course : Course
    setting : Setting
    first_s, length_s : float
        Start and length in seconds.
    step_s, average_s : float
        Time between two samples, and time over which each is an average, in seconds. If they are
        not the usual ones, only the length of the queue is recorded.
    """
    view = View(from_start=first_s == 0, length_s=length_s, step_s=step_s, average_s=average_s)
    waiting = averaged(course.waiting, round(average_s / _FINE_S))
    columns = {"time_ns": course.time_ns, "backlog_packets": waiting}
    if not view.is_coarse:
        columns["in_flight_packets"] = course.in_flight(setting.rtt_ms)
    step = max(1, round(step_s / _FINE_S)) if view.is_coarse else 1
    events = {name: values[::step] for name, values in columns.items()}
    return WindowPart(events, setting, view, first_s)


def at_the_sender(  # noqa: PLR0913 - two options of the recording
    course: Course,
    setting: Setting,
    variation: Variation,
    first_s: float,
    length_s: float,
    *,
    step_s: float = STEP_S,
    average_s: float = 0.0,
) -> WindowPart:
    """Return a part of a run as the sender's window shows it, with an estimated network.

    Parameters as for :func:`at_the_queue`, and the path, which must not have cross traffic.
    """
    rtt_ms = max(setting.rtt_ms / 2, setting.rtt_ms + variation.extra_rtt_ms)
    window = Window(
        name="run",
        time_ns=course.time_ns,
        packets=averaged(course.in_flight(rtt_ms), round(average_s / _FINE_S)),
        delivered=course.left,
        rtt_ms=rtt_ms + course.waiting / setting.packets_per_s * 1e3,
    )
    estimated = window.setting()
    view = View(
        from_start=first_s == 0,
        length_s=length_s,
        step_s=step_s,
        average_s=average_s,
        is_estimated=True,
    )
    return WindowPart(window.events(estimated), estimated, view, first_s)


def _span(course: Course, rng: np.random.Generator) -> tuple[float, float]:
    """Return the start and the length of a random part in seconds."""
    length_s = float(rng.choice(_LENGTHS_S))
    if rng.random() < _FROM_START:
        return 0.0, length_s
    latest_s = len(course.time_ns) * _FINE_S - length_s - 0.5
    return round(rng.uniform(1, latest_s), 2), length_s


def _whole(course: Course, setting: Setting, rng: np.random.Generator) -> WindowPart:
    return at_the_queue(course, setting, *_span(course, rng))


def _filtered(course: Course, setting: Setting, rng: np.random.Generator) -> WindowPart:
    span = _span(course, rng)
    step_s, average_s = _filter(setting, rng)
    return at_the_queue(course, setting, *span, step_s=step_s, average_s=average_s)


def _sent(
    course: Course, setting: Setting, variation: Variation, rng: np.random.Generator
) -> WindowPart:
    span = _span(course, rng)
    step_s, average_s = _filter(setting, rng) if rng.random() < 0.5 else (STEP_S, 0.0)  # noqa: PLR2004
    if variation.cross_share > MOST_CROSS_SHARE:  # its packets are not the sender's
        return at_the_queue(course, setting, *span)
    return at_the_sender(course, setting, variation, *span, step_s=step_s, average_s=average_s)


def _filter(setting: Setting, rng: np.random.Generator) -> tuple[float, float]:
    """Return a random step and a random time of averaging in seconds."""
    rtt_s = setting.rtt_ms / 1e3
    step_s = float(rng.choice([*_STEPS_S, max(_STEPS_S[0], round(rtt_s, 2))]))
    average_s = float(rng.choice([0.0, step_s, rtt_s, rng.uniform(0, rtt_s)]))
    return step_s, round(max(average_s, 0.0), 2)
