# SPDX-License-Identifier: Apache-2.0
"""Runs: what happened.

Every engine returns a :class:`Run`, and everything that analyses starts from one.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base import validation
from ccbench.base.errors import DamagedRun, InputError
from ccbench.experiment.scenario import Scenario
from ccbench.run import cca_info, run_files, table_files
from ccbench.run.queue_record import Events, Summarised
from ccbench.run.queue_summary import TABLES as SUMMARY_TABLES
from ccbench.run.queue_summary import QueueSummary
from ccbench.run.rates import rates_mbps
from ccbench.run.table_files import EVENT_DTYPE, EVENTS, NO_FLOW, STATE_DTYPE, STATES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from ccbench.run.queue_record import QueueRecord

__all__ = ["EVENTS", "EVENT_DTYPE", "NO_FLOW", "STATES", "STATE_DTYPE", "Run"]

_NS = 1_000_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """One run of a scenario.

    Parameters
    ----------
    scenario : Scenario
        What was run.
    queue : DataFrame
        One row per event at a bottleneck, in order of time; no rows unless `queue_log` is true.
        Columns:
        ``time_ns``; ``bottleneck`` from 0; ``event``; ``flow`` (:data:`NO_FLOW` for background
        traffic); ``bytes`` of the IP packet;
        ``backlog_packets`` and ``backlog_bytes`` that wait after the event, the packet in
        transmission not counted. Events are

        ``enqueue``
            A packet arrived at the queue. If the queue refuses it, its ``drop`` follows at once, so
            that per flow enqueued = dequeued + dropped + left over.
        ``dequeue``
            It left the queue for the link.
        ``drop``
            The queue dropped it.
        ``mark``
            It leaves the queue marked "congestion experienced"; its ``dequeue`` follows at once.
        ``loss``
            It was lost at random before the queue, and never arrived there.
    flows : DataFrame
        Samples of each flow from its start on, on multiples of the scenario's `sample_interval_ms`
        and at the end, in order of time. Columns: ``time_ns``; ``flow``; the running totals
        ``delivered_bytes`` (payload handed to the receiving application), ``throughput_bytes`` (IP
        bytes that left the last bottleneck), ``retransmits`` (packets) and ``drops`` (by the queues
        of all bottlenecks, in packets); and the sender's ``cwnd_packets``, ``ssthresh_packets``,
        ``srtt_us``, ``min_rtt_us``, ``pacing_rate_bps`` (bits per second), ``lost`` (packets now
        thought lost), ``state`` (``open``, ``disorder``, ``cwr``, ``recovery``, ``loss``) and
        ``inflight_packets``; and ``cca_info_0`` to ``cca_info_6``, what the sender's congestion
        control tells of its own state. :mod:`ccbench.run.cca_info` names them for each, and
        :meth:`cca_info` gives them with their names. NaN where a congestion control tells nothing,
        and of engines in real time.
    completions : DataFrame
        One row per flow; index ``flow``. Columns: ``start_ns``; ``end_ns``, when the receiver had
        every byte (-1: it never had); ``delivered_bytes``; ``sent_bytes``, with retransmissions;
        ``retransmits`` in packets.
    batches : DataFrame
        One row per batch of frames that a Wi-Fi link (:class:`~ccbench.experiment.wifi.Wifi`) has
        sent, in order of ``acked_ns``, when its block ACK came; none without such a link. Further
        columns: ``start_ns``; ``bottleneck``; ``station``; ``frames``; ``bytes``; ``bitrate_bps``;
        and ``estimate_bps``, what the link thinks that it could carry.
    messages : DataFrame
        One row per short flow that a connection of several has carried
        (:class:`~ccbench.experiment.flow.Flow`, `connections`), connection by connection. Columns:
        ``flow``, the connection; ``start_ns``; ``end_ns``, when the receiver had every byte (-1: it
        never had); ``size_bytes``.
    queue_summary : QueueSummary, optional
        What the queues did, with `queue_log` = "summary".
    provenance : mapping
        JSON-able values that say what made the run, among them ``engine`` and ``engine_version``.

    Raises
    ------
    ValueError
        If a table does not have these columns: a mistake in an engine.

    Examples
    --------
    Which flow's packets the queue drops:

    >>> drops = run.queue[run.queue["event"] == "drop"]  # doctest: +SKIP
    >>> drops["flow"].value_counts()  # doctest: +SKIP
    """

    scenario: Scenario
    queue: pd.DataFrame = field(repr=False)
    flows: pd.DataFrame = field(repr=False)
    completions: pd.DataFrame = field(repr=False)
    provenance: Mapping[str, Any]
    batches: pd.DataFrame = field(
        default_factory=lambda: table_files.empty(table_files.BATCH_COLUMNS), repr=False
    )
    messages: pd.DataFrame = field(
        default_factory=lambda: table_files.empty(table_files.MESSAGE_COLUMNS), repr=False
    )
    queue_summary: QueueSummary | None = None

    def __post_init__(self) -> None:
        completions = table_files.normal(
            "completions", self.completions, table_files.COMPLETION_COLUMNS
        )
        if len(completions) != self.scenario.flow_count:
            message = f"completions has {len(completions)} rows, not {self.scenario.flow_count}"
            raise ValueError(message)
        tables = {
            "queue": table_files.normal("queue", self.queue, table_files.QUEUE_COLUMNS),
            "flows": table_files.normal(
                "flows", self.flows, table_files.FLOW_COLUMNS, table_files.CCA_COLUMNS
            ),
            "batches": table_files.normal("batches", self.batches, table_files.BATCH_COLUMNS),
            "messages": table_files.normal("messages", self.messages, table_files.MESSAGE_COLUMNS),
            "completions": completions.set_axis(pd.RangeIndex(len(completions), name="flow")),
        }
        for name, frame in tables.items():
            object.__setattr__(self, name, frame)
        if (self.queue_summary is None) == (self.scenario.queue_log == "summary"):
            message = f"queue_summary does not belong to queue_log = {self.scenario.queue_log!r}"
            raise ValueError(message)

    def __repr__(self) -> str:
        """Return what was run, and by what, in a line; the tables say what happened."""
        scenario, flows = self.scenario, self.scenario.flow_count
        senders = dict.fromkeys(f.kind if f.is_udp else f.cca for f in scenario.flows)
        of_what = f"{flows} flow{'s' if flows > 1 else ''} ({', '.join(senders)})"
        made_by = f"seed {scenario.seed}, engine {self.provenance['engine']}"
        name = f"{scenario.name!r}: " if scenario.name else ""
        return f"<Run {name}{of_what}, {scenario.duration_s:g} s, {made_by}>"

    def throughput(self, interval_s: float = 1.0) -> pd.DataFrame:
        """Return each flow's throughput over time: IP bytes that leave the last bottleneck.

        Parameters
        ----------
        interval_s : float
            Length of the intervals in seconds; a multiple of the scenario's `sample_interval_ms`.

        Returns
        -------
        DataFrame
            Mbit/s; index ``time_s``, the end of each interval, the first of which ends at
            `interval_s`; one column per flow. A rest at the end that fills no interval is left out.

        Raises
        ------
        InputError
            If `interval_s` is no multiple of the scenario's `sample_interval_ms`.

        Examples
        --------
        >>> run.throughput(interval_s=10).round(1)  # doctest: +SKIP
        """
        return self._rates("throughput_bytes", interval_s)

    def samples(self, column: str) -> pd.DataFrame:
        """Return a column of `flows` over time.

        Parameters
        ----------
        column : str
            One of that table, ``"cwnd_packets"`` for instance.

        Returns
        -------
        DataFrame
            Index ``time_s``, a column for each flow; NaN before a flow starts.

        Raises
        ------
        InputError
            If there is no such column.

        Examples
        --------
        >>> run.samples("cwnd_packets").plot()  # doctest: +SKIP
        """
        keys = ("time_ns", "flow")
        validation.one_of("column", column, [str(name) for name in self.flows if name not in keys])
        # A pivot table would take means, and states have none.
        samples = self.flows.pivot(index="time_ns", columns="flow", values=column)  # noqa: PD010
        return samples.set_axis(pd.Index(samples.index / _NS, name="time_s"))

    def cca_info(self, flow: int = 0) -> pd.DataFrame:
        """Return what a flow's congestion control tells of its own state, with names and units.

        Parameters
        ----------
        flow : int
            Its number.

        Returns
        -------
        DataFrame
            Index ``time_s``; the columns are those of :data:`ccbench.run.cca_info.NAMES`, none for
            a congestion control that tells nothing.

        Raises
        ------
        InputError
            If there is no such flow.

        Examples
        --------
        How high BBR took its pacing gain:

        >>> run.cca_info(0)["pacing_gain"].max()  # doctest: +SKIP
        """
        last = self.scenario.flow_count - 1
        flow = validation.whole("flow", flow, validation.Range(0, last), example=0)
        names = cca_info.NAMES.get(self.scenario.flow_table()["cca"].iloc[flow], ())
        rows = self.flows[self.flows["flow"] == flow]
        index = pd.Index(rows["time_ns"] / _NS, name="time_s")
        return pd.DataFrame(
            {
                name: rows[column].to_numpy()
                for name, column in zip(names, cca_info.COLUMNS, strict=False)
            },
            index=index,
        )

    def goodput(self, interval_s: float = 1.0) -> pd.DataFrame:
        """Return each flow's goodput over time: payload handed to the receiving application.

        Parameters, result and errors are those of :meth:`throughput`.

        Examples
        --------
        >>> run.goodput().mean()  # doctest: +SKIP
        """
        return self._rates("delivered_bytes", interval_s)

    def queue_events(self, bottleneck: int = 0) -> pd.DataFrame:
        """Return the rows of `queue` that belong to a bottleneck.

        Raises
        ------
        InputError
            If the run has no queue log or the scenario no such bottleneck.

        Examples
        --------
        >>> run.queue_events()["event"].value_counts()  # doctest: +SKIP
        """
        self._check_bottleneck(bottleneck)
        if self.scenario.queue_log is not True:
            raise InputError(
                f"queue_log is {self.scenario.queue_log!r}, so this run does not have what this "
                "needs of its queues: run with queue_log = true"
            )
        if len(self.scenario.bottlenecks) == 1:  # spares a copy of millions of rows
            return self.queue
        return self.queue[self.queue["bottleneck"] == bottleneck]

    def occupancy_distribution(self, bottleneck: int = 0) -> pd.Series[float]:
        """Return for which share of the time how many packets waited in a queue.

        Parameters
        ----------
        bottleneck : int
            Position of the bottleneck in the scenario.

        Returns
        -------
        Series
            Shares of the run's length, 1 together; index ``packets``, ascending, without numbers
            that never waited.

        Raises
        ------
        InputError
            If the run knows nothing of its queues or the scenario has no such bottleneck.

        Examples
        --------
        >>> shares = run.occupancy_distribution().cumsum()  # doctest: +SKIP
        >>> int(shares.index[shares >= 0.99][0])  # the 99th percentile  # doctest: +SKIP
        """
        time_ns = self._queue_record(bottleneck).time_ns_by_packets()
        shares: pd.Series[float] = time_ns / self._duration_ns
        return shares.rename_axis("packets").rename("share")

    def occupancy(self, interval_s: float = 0.01, bottleneck: int = 0) -> pd.Series[int]:
        """Return the queue occupancy over time.

        Parameters
        ----------
        interval_s : float
            Time between two samples in seconds; of a summary, a multiple of the scenario's
            `sample_interval_ms`.
        bottleneck : int
            Position of the bottleneck in the scenario.

        Returns
        -------
        Series
            Packets that wait in the queue at that instant; index ``time_s`` from 0 to the end.

        Raises
        ------
        InputError
            If the run knows nothing of its queues, or of its summary not at these times, or the
            scenario has no such bottleneck.

        Examples
        --------
        >>> int(run.occupancy(interval_s=0.01).max())  # doctest: +SKIP
        500
        """
        interval_ns = _interval_ns(interval_s)
        grid = np.arange(self._duration_ns // interval_ns + 1) * interval_ns
        record = self._queue_record(bottleneck)
        if self.queue_summary is not None:
            self._check_multiple(interval_ns)
        backlog = record.backlog_at(grid)
        return pd.Series(backlog, index=_time_index(grid), name="occupancy_packets")

    def carried_bytes(self, bottleneck: int = 0) -> int:
        """Return how many IP bytes a link carried, over the whole run.

        The number is exact, from one of two sources. If all flows that pass the link leave the path
        there, as at the last bottleneck, it is what their samples count: packets that have left the
        link. Otherwise a later bottleneck may have lost some of what the link carried, so the
        samples are only a lower bound, as they are beside background traffic, which is no flow. The
        number is then what the record of the queue counts, in which a packet that is on the link at
        the end of the run counts in full.

        Parameters
        ----------
        bottleneck : int
            Position of the bottleneck in the scenario.

        Raises
        ------
        InputError
            If the scenario has no such bottleneck, or if flows go on to a later one, or there is
            background traffic, and the run has no record of its queues.

        Examples
        --------
        >>> run.carried_bytes() * 8e-6 / run.scenario.duration_s  # Mbit/s  # doctest: +SKIP
        99.0...
        """
        self._check_bottleneck(bottleneck)
        table = self.scenario.flow_table()
        first, last = table["first_bottleneck"], table["last_bottleneck"]
        some_go_on = ((first <= bottleneck) & (bottleneck < last)).any()
        if some_go_on or self.scenario.noise.background_share:
            return self._queue_record(bottleneck).carried_bytes()
        leaves_here = table.index[last == bottleneck]
        reached = self.flows.groupby("flow")["throughput_bytes"].last()
        return int(reached.reindex(leaves_here, fill_value=0).sum())

    def utilisation(self, bottleneck: int = 0) -> float:
        """Return the share of a link's capacity that was used, over the whole run.

        Parameters
        ----------
        bottleneck : int
            Position of the bottleneck in the scenario.

        Returns
        -------
        float
            0 to 1: :meth:`carried_bytes`, divided by the IP bytes that the link could have carried.
            NaN if it could carry nothing, as a trace whose first opportunity comes after the end.

        Raises
        ------
        InputError
            As :meth:`carried_bytes`.

        Examples
        --------
        >>> run.utilisation()  # doctest: +SKIP
        0.99...
        """
        carried = self.carried_bytes(bottleneck)
        link = self.scenario.bottlenecks[bottleneck]
        could_carry = link.capacity_bytes(self.scenario.duration_s)
        return carried / could_carry if could_carry else math.nan

    def queueing_delay_ms(self, bottleneck: int = 0) -> float:
        """Return how long packets waited in a queue, in milliseconds, the mean over the run.

        By Little's law: the time that all packets together have waited, divided by the number of
        packets that left the queue for the link. What a queue drops after it has waited (as CoDel
        does) counts in the first and not in the second.

        Parameters
        ----------
        bottleneck : int
            Position of the bottleneck in the scenario.

        Returns
        -------
        float
            The packet's own time on the link is not part of it. NaN if no packet left the queue.

        Raises
        ------
        InputError
            If the run knows nothing of its queues or the scenario has no such bottleneck.

        Examples
        --------
        >>> run.queueing_delay_ms()  # doctest: +SKIP
        4...
        """
        record = self._queue_record(bottleneck)
        left = record.carried_packets()
        return record.waited_ns() / left / 1e6 if left else math.nan

    @property
    def is_late(self) -> bool:
        """Whether it was made in real time by a machine that was too busy for that."""
        return bool(self.provenance.get("is_late", False))

    def summary(self) -> pd.DataFrame:
        """Return one row per flow with what it got.

        Returns
        -------
        DataFrame
            Index ``flow``; columns ``label``, ``cca``, ``throughput_mbps`` and ``goodput_mbps``
            (means from the flow's start to its completion or, if it has none, its stop),
            ``srtt_ms`` (mean over the samples, NaN without any), ``retransmits`` and ``drops``
            (packets).

        Examples
        --------
        >>> run.summary()[["label", "throughput_mbps", "srtt_ms"]]  # doctest: +SKIP
        """
        table = self.scenario.flow_table()
        samples = self.flows.groupby("flow")
        totals = samples[["throughput_bytes", "drops"]].last().reindex(table.index, fill_value=0)
        srtt_us = self.flows.loc[self.flows["srtt_us"] > 0].groupby("flow")["srtt_us"].mean()
        done = self.completions
        end_s = (done["end_ns"] / _NS).where(done["end_ns"] >= 0, table["stop_s"])
        active_us = (end_s - done["start_ns"] / _NS) * 1e6
        return pd.DataFrame(
            {
                "label": table["label"],
                "cca": table["cca"],
                "throughput_mbps": totals["throughput_bytes"] * 8 / active_us,
                "goodput_mbps": done["delivered_bytes"] * 8 / active_us,
                "srtt_ms": srtt_us.reindex(table.index) / 1e3,
                "retransmits": done["retransmits"],
                "drops": totals["drops"],
            }
        )

    def bottleneck_summary(self) -> pd.DataFrame:
        """Return one row per bottleneck with what it did.

        Returns
        -------
        DataFrame
            Index ``bottleneck``; columns ``bandwidth_mbps`` (the mean of a trace), ``qdisc``,
            ``queue_packets`` (its room), ``utilisation`` (0 to 1), ``mean_queue_packets`` and
            ``queueing_delay_ms``; NaN where only a queue log could tell.

        Examples
        --------
        >>> run.bottleneck_summary()["utilisation"]  # doctest: +SKIP
        """
        links = self.scenario.bottlenecks
        logged = bool(self.scenario.queue_log)
        rows = [
            {
                "bandwidth_mbps": link.mean_mbps,
                "qdisc": link.qdisc,
                "queue_packets": link.queue_packets,
                "utilisation": self._known_utilisation(i),
                "mean_queue_packets": self._mean_queue_packets(i) if logged else math.nan,
                "queueing_delay_ms": self.queueing_delay_ms(i) if logged else math.nan,
            }
            for i, link in enumerate(links)
        ]
        return pd.DataFrame(rows, index=pd.RangeIndex(len(links), name="bottleneck"))

    def completion_times(self) -> pd.DataFrame:
        """Return how long the flows of a given size took, one row for each.

        Returns
        -------
        DataFrame
            Index ``flow``, those of kind ``"bytes"`` only, with a row for each flow that a
            connection of several has carried; columns ``label``, ``cca``, ``start_s``,
            ``size_bytes`` and ``fct_s``, the seconds from the start to when the receiver had every
            byte (NaN: it never had).

        Examples
        --------
        >>> done = run.completion_times()  # doctest: +SKIP
        >>> done.groupby(done["size_bytes"] > 15_000)["fct_s"].quantile(0.95)  # doctest: +SKIP
        """
        table = self.scenario.flow_table()
        own = table["size_bytes"].dropna().astype("int64")
        done = self.completions.loc[own.index, ["start_ns", "end_ns"]].assign(size_bytes=own)
        carried = self.messages.set_index("flow").astype("int64")
        done = pd.concat([done, carried]).sort_index(kind="stable").rename_axis("flow")
        took_s = (done["end_ns"] - done["start_ns"]) / _NS
        return pd.DataFrame(
            {
                **{name: table.loc[done.index, name] for name in ("label", "cca")},
                "start_s": done["start_ns"] / _NS,
                "size_bytes": done["size_bytes"],
                "fct_s": took_s.where(done["end_ns"] >= 0).astype(float),
            }
        )

    def save(self, folder: str | Path, *, replace: bool = True) -> None:
        """Write the run to a folder: a Parquet file for each table, and ``run.json``.

        The folder appears complete or not at all, whatever happens meanwhile.

        Parameters
        ----------
        folder : path
            Where to; made with its parents.
        replace : bool
            What to do with a run that is there already: replace it, or keep it and write nothing.

        Raises
        ------
        InputError
            If the folder holds anything but a run, or cannot be written.
        OSError
            If there is no room for it.

        Examples
        --------
        >>> run.save("results")  # doctest: +SKIP
        >>> Run.load("results").utilisation() == run.utilisation()  # doctest: +SKIP
        True
        """
        description = {"scenario": self.scenario.to_dict(), "provenance": dict(self.provenance)}
        run_files.save(Path(folder), self._tables(), description, replace=replace)

    @classmethod
    def load(cls, folder: str | Path) -> Run:
        """Read a run from a folder.

        Raises
        ------
        DamagedRun
            If a file is missing, differs from what was written, or has another format.
        """
        description, tables = run_files.load(Path(folder))
        try:
            scenario = Scenario.from_dict(description["scenario"])
            parts: dict[str, Any] = dict(tables)
            if scenario.queue_log == "summary":
                parts["queue_summary"] = QueueSummary(
                    **{name: parts.pop(f"queue_{name}") for name in SUMMARY_TABLES}
                )
            return cls(scenario=scenario, provenance=description["provenance"], **parts)
        except (KeyError, ValueError) as error:
            message = f"{folder} does not hold a run ({error}): run the scenario again"
            raise DamagedRun(message) from error

    def digest(self) -> str:
        """Return the SHA-256 in hexadecimal of what happened: of all tables.

        Runs with the same digest are the same, even if their scenarios have different seeds.

        Examples
        --------
        >>> run.digest() == emulate.run(run.scenario).digest()  # doctest: +SKIP
        True
        """
        total = hashlib.sha256()
        for name, table in self._tables().items():
            total.update(f"{name}, {len(table)} rows\n".encode())
            for column in table:
                values = table[column]
                is_word = isinstance(values.dtype, pd.CategoricalDtype)
                numbers = values.cat.codes if is_word else values
                total.update(numbers.to_numpy().tobytes())
        return total.hexdigest()

    def _tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables by the names of their files."""
        tables: dict[str, pd.DataFrame] = {
            name: getattr(self, name) for name in ("queue", "flows", "completions")
        }
        # Most of many thousand runs have neither: no files for them.
        tables |= {
            name: table
            for name, table in (("batches", self.batches), ("messages", self.messages))
            if not table.empty
        }
        if self.queue_summary is not None:
            tables |= {
                f"queue_{name}": getattr(self.queue_summary, name) for name in SUMMARY_TABLES
            }
        return tables

    @property
    def _duration_ns(self) -> int:
        return round(self.scenario.duration_s * _NS)

    @property
    def _sample_ns(self) -> int:
        return round(self.scenario.sample_interval_ms * 1e6)

    def _known_utilisation(self, bottleneck: int) -> float:
        try:
            return self.utilisation(bottleneck)
        except InputError:  # only a queue log could tell
            return math.nan

    def _mean_queue_packets(self, bottleneck: int) -> float:
        shares = self.occupancy_distribution(bottleneck)
        return float((shares * shares.index).sum())

    def _check_bottleneck(self, bottleneck: int) -> None:
        last = len(self.scenario.bottlenecks) - 1
        validation.whole("bottleneck", bottleneck, validation.Range(0, last), example=0)

    def _check_multiple(self, interval_ns: int) -> None:
        """Check that an interval is a multiple of that of the scenario's samples."""
        sample_ns = self._sample_ns
        if interval_ns % sample_ns:
            allowed = f"a multiple of the scenario's sample_interval_ms = {sample_ns / 1e6:g}"
            nearest = max(1, round(interval_ns / sample_ns)) * sample_ns / _NS
            step = f"for example {nearest:g}"
            raise validation.bad("interval_s", interval_ns / _NS, allowed, step)

    def _queue_record(self, bottleneck: int) -> QueueRecord:
        """Return what the run knows of a queue."""
        if self.queue_summary is None:
            return Events(self.queue_events(bottleneck), self._duration_ns)
        self._check_bottleneck(bottleneck)
        return Summarised(self.queue_summary, bottleneck)

    def _rates(self, total: str, interval_s: float) -> pd.DataFrame:
        """Return the growth of a running total per interval in Mbit/s."""
        interval_ns = _interval_ns(interval_s)
        self._check_multiple(interval_ns)
        rates = rates_mbps(
            self.flows,
            total,
            flow_count=self.scenario.flow_count,
            sample_ns=self._sample_ns,
            interval_ns=interval_ns,
            duration_ns=self._duration_ns,
        )
        ends = np.arange(1, len(rates) + 1) * interval_ns
        flows = pd.RangeIndex(self.scenario.flow_count, name="flow")
        return pd.DataFrame(rates, index=_time_index(ends), columns=flows)


def _interval_ns(interval_s: float) -> int:
    allowed = validation.Range(1e-9, 1e6)
    return round(validation.number("interval_s", interval_s, allowed, example=1) * _NS)


def _time_index(time_ns: npt.NDArray[np.int64]) -> pd.Index[float]:
    return pd.Index(time_ns / _NS, name="time_s")
