# SPDX-License-Identifier: Apache-2.0
"""Changes of the path and of applications during a run."""

from __future__ import annotations

from dataclasses import dataclass, field

from ccbench.base import validation
from ccbench.base.checked_fields import (
    check_exactly_one,
    check_fields,
    checked,
    number,
    open_table,
    set_field,
    table,
    whole,
)
from ccbench.base.dataclass_dicts import Document
from ccbench.base.errors import InputError
from ccbench.base.validation import RATE_MBPS, Range
from ccbench.experiment.bottleneck import Option, checked_options
from ccbench.experiment.noise import WIFI_JITTER
from ccbench.experiment.receiver import WINDOW_BYTES
from ccbench.experiment.when import When

__all__ = ["Change"]

_SECONDS = Range(0, 1e6, low_open=True)

#: An application may also pause.
_APP_RATE = Range(0, RATE_MBPS.high)

#: Settings of a flow's ends.
_OF_ENDS = ("app_rate_mbps", "window_bytes")

#: Settings of a bottleneck.
_OF_LINK = ("bandwidth_mbps", "outage_s", "loss", "queue_packets", "qdisc_options")


def _app_rate(name: str, value: object) -> float:
    rate_mbps = validation.number(name, value, _APP_RATE, example=1)
    if 0 < rate_mbps < RATE_MBPS.low:
        step = f"write 0 for a pause, or for example {name} = 1"
        raise validation.bad(name, value, f"0, or at least {RATE_MBPS.low:g}", step)
    return rate_mbps


@dataclass(frozen=True, kw_only=True)
class Change(Document):
    """A change of the path or of an application at a time or after an event, once or periodically.

    Settings that are left out remain as they are. Changes at the same time take effect in their
    order.

    Parameters
    ----------
    at_s : float, optional
        Time in seconds of the scenario. Either this or `when` is required.
    when : When, optional
        Event of a flow at which the change takes effect. The packet that is the event meets the
        changed path, except for `queue_packets` and `qdisc_options`: Linux changes queueing
        disciplines only after it has processed the packet. If a packet is several events, changes
        for its number (`packet`) take effect before those for states (`info`).
    after_s : float, optional
        With `when`: time since the event, in seconds.
    every_s : float, optional
        Period of repetitions in seconds, until the end of the scenario.
    rtt_ms : float, optional
        Base round-trip time of packets sent from then on, in milliseconds.
    forward_delay_ms : float, optional
        Its part on the way to the receiving host.
    overtakes : bool
        Whether packets with a shorter new delay overtake those under way, as after a change of
        route. By default, they arrive after them.
    wifi_jitter_ms : float, optional
        Jitter of a busy Wi-Fi channel, as in :class:`~ccbench.experiment.noise.Noise`.
    bottleneck : int
        Number of the bottleneck to which the following settings apply, as in runs.
    bandwidth_mbps : float, optional
        Rate of its link, for links of constant rate. A packet on the link is not affected.
    outage_s : float, optional
        Time for which its link sends nothing, after the packet on the link. Outages that overlap
        add up.
    loss : float, optional
        Probability of random loss before its queue, 0 to 1.
    queue_packets : int, optional
        Limit of its queue.
    qdisc_options : tuple of (str, value)
        Options of its queueing discipline.
    flow : int, optional
        Number of the flow whose ends change as follows.
    app_rate_mbps : float, optional
        Rate at which its application offers data from then on, as `rate_mbps` of the flow: payload
        of TCP (kinds ``"bulk"`` and ``"rate"``), IP bytes of UDP (kind ``"cbr"``). 0 is a pause.
        TCP's application is unlimited at 100,000. Data that the socket has not accepted yet are
        discarded.
    window_bytes : int, optional
        Maximum receive window of this TCP flow in bytes from then on, from 1500 to 250 million, as
        in :class:`~ccbench.experiment.receiver.Receiver`. What the receiver has offered before
        remains: after a lower one, the window shrinks as data arrive.

    Raises
    ------
    InputError
        If a setting is out of range, or nothing changes.

    Examples
    --------
    >>> Change(at_s=10, rtt_ms=80).times_s(60)
    (10.0,)
    >>> Change(at_s=15, every_s=15, outage_s=0.1).times_s(60)
    (15.0, 30.0, 45.0)
    >>> Change(when=When(flow=0, packet=100), outage_s=0.1).times_s(60)
    ()
    >>> Change(at_s=10, flow=0, app_rate_mbps=1).changes_application
    True
    """

    at_s: float | None = field(default=None, metadata=number(_SECONDS, example=10, optional=True))
    when: When | None = field(
        default=None, metadata=table(When, "{flow = 0, packet = 100}", optional=True)
    )
    after_s: float | None = field(default=None, metadata=number(_SECONDS, example=1, optional=True))
    every_s: float | None = field(
        default=None, metadata=number(Range(0.001, 1e6), example=15, optional=True)
    )
    rtt_ms: float | None = field(
        default=None, metadata=number(Range(0.001, 10_000), example=80, optional=True)
    )
    forward_delay_ms: float | None = field(
        default=None, metadata=number(Range(0, 10_000), example=40, optional=True)
    )
    overtakes: bool | None = field(default=None, metadata=checked(validation.flag, optional=True))
    wifi_jitter_ms: float | None = field(
        default=None, metadata=number(WIFI_JITTER, example=7, optional=True)
    )
    bottleneck: int = field(default=0, metadata=whole(Range(0, 15), example=0))
    bandwidth_mbps: float | None = field(
        default=None, metadata=number(RATE_MBPS, example=5, optional=True)
    )
    outage_s: float | None = field(
        default=None, metadata=number(_SECONDS, example=1, optional=True)
    )
    loss: float | None = field(
        default=None, metadata=number(Range(0, 1), example=0.01, optional=True)
    )
    queue_packets: int | None = field(
        default=None, metadata=whole(Range(1, 1_000_000), example=100, optional=True)
    )
    qdisc_options: tuple[tuple[str, Option], ...] = field(
        default=(), metadata=open_table(checked_options)
    )
    flow: int | None = field(
        default=None, metadata=whole(Range(0, 999_999), example=0, optional=True)
    )
    app_rate_mbps: float | None = field(default=None, metadata=checked(_app_rate, optional=True))
    window_bytes: int | None = field(
        default=None, metadata=whole(WINDOW_BYTES, example=100_000, optional=True)
    )

    def __post_init__(self) -> None:
        check_fields(self)
        check_exactly_one(self, "at_s", "when", example="at_s = 10")
        if self.after_s is not None and self.when is None:
            raise validation.bad("after_s", self.after_s, "left out without when", "use at_s")
        # Absent rather than false, as in Bottleneck.
        set_field(self, "overtakes", self.overtakes or None)
        self._check_ends()
        effects = ("rtt_ms", "forward_delay_ms", "wifi_jitter_ms", *_OF_LINK, *_OF_ENDS)
        if not any(getattr(self, name) not in (None, ()) for name in effects):
            raise validation.of_part(f"nothing changes: add one of {', '.join(effects)}")
        if self.outage_s and self.every_s and self.outage_s >= self.every_s:
            allowed = f"below every_s = {self.every_s:g}, as outages add up"
            raise validation.bad("outage_s", self.outage_s, allowed, "shorten it, or use loss = 1")
        if self.overtakes is not None and not self.changes_delay:
            allowed = "left out without rtt_ms or forward_delay_ms"
            raise validation.bad("overtakes", self.overtakes, allowed, "remove it")

    def _check_ends(self) -> None:
        given = [name for name in _OF_ENDS if getattr(self, name) is not None]
        if self.flow is None and given:
            raise InputError(f"flow is missing: add it, as {given[0]} needs it")
        if self.flow is not None and not given:
            raise InputError(f"{' or '.join(_OF_ENDS)} is missing: add it, as flow needs it")

    @property
    def changes_application(self) -> bool:
        """Whether the application of a flow changes."""
        return self.app_rate_mbps is not None

    @property
    def changes_delay(self) -> bool:
        """Whether the base delay of a direction changes."""
        return self.rtt_ms is not None or self.forward_delay_ms is not None

    @property
    def changes_queue(self) -> bool:
        """Whether the queueing discipline changes."""
        return self.queue_packets is not None or bool(self.qdisc_options)

    @property
    def draws_at_random(self) -> bool:
        """Whether the change makes the path random."""
        return self.loss not in {None, 0, 1} or bool(self.wifi_jitter_ms)

    def times_s(self, duration_s: float) -> tuple[float, ...]:
        """Return the times of the change in a scenario, of which none is known with `when`."""
        if self.at_s is None:
            return ()
        at_ns, end_ns = round(self.at_s * 1e9), round(duration_s * 1e9)
        every_ns = end_ns if self.every_s is None else round(self.every_s * 1e9)
        return tuple(time_ns / 1e9 for time_ns in range(at_ns, end_ns, every_ns))
