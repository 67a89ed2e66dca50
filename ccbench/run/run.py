# SPDX-License-Identifier: Apache-2.0
"""Runs: the records of experiments.

Every engine returns a :class:`Run`, and every analysis reads one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.run import delay_analysis, ecn, flow_analysis, queue_analysis, queue_events, run_files
from ccbench.run.outcomes import OUTCOMES
from ccbench.run.record import RunRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["Run"]


class Run(RunRecord):
    """The record of one run of a scenario, with its analysis as methods.

    The tables' types are in :mod:`ccbench.run.tables`.

    Parameters
    ----------
    scenario : Scenario
        The experiment.
    queue : DataFrame
        One row per event at a bottleneck, in order of time; no rows unless `queue_log` is true.
        Columns: ``time_ns``; ``bottleneck`` from 0; ``event``; ``flow``
        (:data:`~ccbench.run.tables.NO_FLOW` for background traffic); ``bytes`` of the IP packet;
        ``backlog_packets`` and ``backlog_bytes`` after the event, without the packet in
        transmission; and, only if a qdisc has a queue for L4S (``dualpi2``), ``queue``, the
        packet's queue, ``classic`` or ``l4s`` (missing at other bottlenecks). Events are

        ``enqueue``
            A packet arrived at the queue. If the queue refuses it, its ``drop`` follows
            immediately, so that per flow enqueued = dequeued + dropped + remaining.
        ``dequeue``
            A packet left the queue for the link.
        ``drop``
            The queue dropped a packet.
        ``mark``
            A packet leaves the queue marked "congestion experienced"; its ``dequeue`` follows
            immediately.
        ``loss``
            A packet was lost before it arrived at the queue: at random or by a policer, for
            example.
    flows : DataFrame
        Samples of each flow from its start, at multiples of the scenario's `sample_interval_ms` and
        at its end, in order of time. Columns: ``time_ns``; ``flow``; the running totals
        ``delivered_bytes`` (payload delivered to the receiving application), ``throughput_bytes``
        (IP bytes that left the last bottleneck), ``retransmits`` (packets) and ``drops`` (packets,
        by all queues); the sender's ``cwnd_packets``, ``ssthresh_packets``, ``srtt_us``,
        ``min_rtt_us``, ``pacing_rate_bps`` (bits per second), ``lost`` (packets currently
        considered lost), ``state`` (``open``, ``disorder``, ``cwr``, ``recovery``, ``loss``) and
        ``inflight_packets``; and ``cca_info_0`` to ``cca_info_6``, the internal state that the
        congestion control reports (with their names from :meth:`cca_info`). The last are NaN if a
        congestion control reports nothing, and on engines in real time. Thresholds, RTTs and pacing
        rates are NaN while there is none.
    completions : DataFrame
        One row per flow; index ``flow``. Columns: ``start_ns``; ``end_ns``, the time at which the
        receiver had every byte (-1 if never); ``delivered_bytes``; ``sent_bytes``, with
        retransmissions; ``retransmits`` in packets.
    links : DataFrame
        One row per bottleneck. Columns: ``bottleneck``; ``carried_packets`` and ``carried_bytes``
        of IP, whose transmission ended during the run; ``left_packets``, which left the queue for
        the link, and ``waited_ns``, the sum of their waiting times; and of these,
        ``l4s_left_packets`` and ``l4s_waited_ns`` of the L4S queue of a qdisc that has one. Without
        rows if an engine does not count them.
    batches : DataFrame
        One row per batch of frames of a Wi-Fi link (:class:`~ccbench.experiment.wifi.Wifi`), in
        order of ``acked_ns``, the arrival of its block ACK. Further columns: ``start_ns``;
        ``bottleneck``; ``station``; ``frames``; ``bytes``; ``bitrate_bps``; and ``estimate_bps``,
        the link's estimate of its capacity.
    messages : DataFrame
        One row per short flow on a shared connection (:class:`~ccbench.experiment.flow.Flow`,
        `connections`), and per segment of a video that has arrived, connection by connection.
        Columns: ``flow``, the connection; ``start_ns``, for segments that of the request;
        ``end_ns``, the time at which the receiver had every byte (-1 if never); ``size_bytes``.
    changes : DataFrame
        One row per occurrence of a change of the path after an event
        (:class:`~ccbench.experiment.when.When`), in order of time. Columns: ``time_ns``;
        ``change``, its position in the scenario's `changes`.
    connections : DataFrame
        Samples of each connection of Multipath TCP (:class:`~ccbench.experiment.flow.Flow`,
        `subflows`), at the same times as those of its subflows, which are flows of their own.
        Columns: ``time_ns``; ``flow``, its first subflow; ``subflows``, their number;
        ``delivered_bytes``, the running total of the payload delivered to the application. In
        `flows` and `completions`, ``delivered_bytes`` of a subflow is the payload that arrived over
        it, of which some may have arrived over another one as well, and ``end_ns`` is that of its
        connection.
    qdiscs : DataFrame
        Statistics that qdiscs report, as to ``tc -s qdisc``, at multiples of the scenario's
        `sample_interval_ms` and at its end. Columns: ``time_ns``; ``bottleneck``; ``statistic_0``
        to ``statistic_14``, whose names are in :meth:`qdisc_statistics`. Without rows unless a
        bottleneck has ``dualpi2``.
    ecn : DataFrame
        One row per flow, if a host or a congestion control asks for accurate ECN (RFC 9768).
        Columns: ``flow``; the ECN that the ``sender`` and the ``receiver`` have negotiated
        (``none`` without a connection, ``off``, ``rfc3168``, ``accecn``); counts of packets and of
        payload by ECN codepoint, of the receiver (``received_ce_packets``,
        ``received_ect1_bytes``, ``received_ect0_bytes``, ``received_ce_bytes``) and as reported
        to the sender (``delivered_…``; with RFC 3168, packets whose ACKs carry ECE);
        ``sender_failures`` and ``receiver_failures``, bits for detected alterations of the ACE
        field that it sent (1) or received (2), or of the AccECN option (4, 8).
    programs : DataFrame
        One row per program of a flow of kind ``"program"``. Columns: ``flow``; ``side``, its host,
        ``sender`` or ``receiver`` of the flow's data; ``end``: it has ended by itself (``exit``),
        by a ``signal``, or was ``stopped``; ``status``, its exit status or the signal's number;
        ``end_ns``.
    files : mapping of str to bytes
        Files of programs by their paths, such as ``programs/0-sender/output``, what it has printed,
        and ``programs/0-sender/kept/a.sqlog``.
    queue_summary : QueueSummary, optional
        The record of the queues, with `queue_log` = "summary".
    provenance : mapping
        Origin of the run in JSON-able values, among them ``engine`` and ``engine_version``.

    Raises
    ------
    ValueError
        If an engine returns a table with other columns.

    Examples
    --------
    Drops of each flow:

    >>> drops = run.queue[run.queue["event"] == "drop"]  # doctest: +SKIP
    >>> drops["flow"].value_counts()  # doctest: +SKIP
    """

    def __repr__(self) -> str:
        """Return the scenario and the engine in one line, without the tables."""
        scenario, flows = self.scenario, self.scenario.flow_count
        senders = dict.fromkeys(f.kind if f.is_udp else f.cca for f in scenario.split_flows)
        traffic = f"{flows} flow{'s' if flows > 1 else ''} ({', '.join(senders)})"
        origin = f"seed {scenario.seed}, engine {self.provenance['engine']}"
        name = f"{scenario.name!r}: " if scenario.name else ""
        return f"<Run {name}{traffic}, {scenario.duration_s:g} s, {origin}>"

    def throughput(self, interval_s: float = 1.0) -> pd.DataFrame:
        """Return each flow's throughput over time: IP bytes that leave the last bottleneck.

        Parameters
        ----------
        interval_s : float
            Length of the intervals in seconds, a multiple of the scenario's `sample_interval_ms`.

        Returns
        -------
        DataFrame
            Mbit/s; index ``time_s``, the end of each interval; one column per flow. A partial final
            interval is dropped.

        Raises
        ------
        InputError
            If `interval_s` is not a multiple of the scenario's `sample_interval_ms`.

        Examples
        --------
        >>> run.throughput(interval_s=10).round(1)  # doctest: +SKIP
        """
        return flow_analysis.throughput(self, interval_s)

    def goodput(self, interval_s: float = 1.0) -> pd.DataFrame:
        """Return each flow's goodput over time: payload delivered to the receiving application.

        Parameters, result and errors are those of :meth:`throughput`.

        Examples
        --------
        >>> run.goodput().mean()  # doctest: +SKIP
        """
        return flow_analysis.goodput(self, interval_s)

    def samples(self, column: str) -> pd.DataFrame:
        """Return a column of `flows` over time.

        Parameters
        ----------
        column : str
            Name of the column, such as ``"cwnd_packets"``.

        Returns
        -------
        DataFrame
            Index ``time_s``, one column per flow; NaN before a flow starts.

        Raises
        ------
        InputError
            If there is no such column.

        Examples
        --------
        >>> run.samples("cwnd_packets").plot()  # doctest: +SKIP
        """
        return flow_analysis.samples(self, column)

    def cca_info(self, flow: int = 0) -> pd.DataFrame:
        """Return the internal state of a flow's congestion control over time, in named columns.

        Parameters
        ----------
        flow : int
            Number of the flow.

        Returns
        -------
        DataFrame
            Index ``time_s``; columns with the names in the congestion control's descriptor
            (:mod:`ccbench.run.cca_info`), none if it reports nothing, as most of Linux's do
            (``cubic``, ``reno``). States, such as the phase of ``bbr3``, are categorical, with
            their names.

        Raises
        ------
        InputError
            If there is no such flow.

        Examples
        --------
        The highest pacing gain of BBR:

        >>> run.cca_info(0)["pacing_gain"].max()  # doctest: +SKIP
        """
        return flow_analysis.cca_info(self, flow)

    def summary(self) -> pd.DataFrame:
        """Return throughput, delay, retransmissions and drops of each flow.

        Returns
        -------
        DataFrame
            Index ``flow``; columns ``label``, ``cca``, ``throughput_mbps`` and ``goodput_mbps``
            (means from the flow's start to its completion or stop), ``srtt_ms`` (mean of the
            samples, NaN without samples), ``retransmits`` and ``drops`` (packets).

        Examples
        --------
        >>> run.summary()[["label", "throughput_mbps", "srtt_ms"]]  # doctest: +SKIP
        """
        return flow_analysis.summary(self)

    def ecn_fallbacks(self) -> dict[int, str]:
        """Return the flows without accurate ECN in a scenario that asks for it, with the reasons.

        Examples
        --------
        In ``examples/l4s.toml``, every flow negotiates accurate ECN:

        >>> l4s.ecn_fallbacks()  # doctest: +SKIP
        {}
        """
        return ecn.fallbacks(self)

    def completion_times(self) -> pd.DataFrame:
        """Return the completion time of each flow of a given size.

        Returns
        -------
        DataFrame
            Index ``flow``, only those of kind ``"bytes"``, with a row for each short flow of a
            shared connection; columns ``label``, ``cca``, ``start_s``, ``size_bytes`` and
            ``fct_s``, the time from the start until the receiver had every byte (NaN if never).

        Examples
        --------
        >>> done = run.completion_times()  # doctest: +SKIP
        >>> done.groupby(done["size_bytes"] > 15_000)["fct_s"].quantile(0.95)  # doctest: +SKIP
        """
        return flow_analysis.completion_times(self)

    def outcomes(self) -> dict[str, pd.DataFrame]:
        """Return what the applications of the flows have achieved.

        Returns
        -------
        dict of DataFrame
            Tables with a row for each group of flows: ``transfers`` of flows of a given size, with
            the number that ``finished`` and their mean and median completion times; ``videos``,
            with segments, mean bitrate and stalls. See :mod:`ccbench.run.outcomes`.

        Examples
        --------
        >>> run.outcomes()["transfers"]["finished"]  # doctest: +SKIP
        """
        return {outcome.name: outcome.table(self) for outcome in OUTCOMES}

    def connection_summary(self) -> pd.DataFrame:
        """Return the goodput of each connection of Multipath TCP.

        Returns
        -------
        DataFrame
            Index ``flow``, the number of its first subflow; columns ``subflows``, their number;
            ``delivered_bytes``, the payload that reached the application; ``goodput_mbps``, the
            same from the start until the receiver had every byte, or else the end of sending.

        Examples
        --------
        >>> run.connection_summary()["goodput_mbps"]  # doctest: +SKIP
        """
        return flow_analysis.connections(self)

    def queue_events(self, bottleneck: int = 0, queue: str | None = None) -> pd.DataFrame:
        """Return the rows of `queue` that belong to a bottleneck.

        Parameters
        ----------
        bottleneck : int
            Position of the bottleneck in the scenario.
        queue : str, optional
            One of the queues of a qdisc for L4S, ``"classic"`` or ``"l4s"``; the backlog is then
            that of this queue. By default, all packets.

        Raises
        ------
        InputError
            If the run has no queue log or the scenario no such bottleneck or queue.

        Examples
        --------
        >>> run.queue_events()["event"].value_counts()  # doctest: +SKIP
        """
        return queue_events.events(self, bottleneck, queue)

    def occupancy(
        self, interval_s: float = 0.01, bottleneck: int = 0, queue: str | None = None
    ) -> pd.Series[int]:
        """Return the queue occupancy over time.

        Parameters
        ----------
        interval_s : float
            Time between two values in seconds; for a queue summary, a multiple of the scenario's
            `sample_interval_ms`.
        bottleneck : int
            Position of the bottleneck in the scenario.
        queue : str, optional
            One of the queues of a qdisc for L4S, ``"classic"`` or ``"l4s"``; by default, all
            packets.

        Returns
        -------
        Series
            Waiting packets at each instant; index ``time_s`` from 0 to the end.

        Raises
        ------
        InputError
            If the run has no record of its queues, or a summary without these times, or the
            scenario has no such bottleneck or queue.

        Examples
        --------
        >>> int(run.occupancy(interval_s=0.01).max())  # doctest: +SKIP
        500
        """
        return queue_analysis.occupancy(self, interval_s, bottleneck, queue)

    def occupancy_distribution(
        self, bottleneck: int = 0, queue: str | None = None
    ) -> pd.Series[float]:
        """Return the share of the time at each queue length.

        Parameters
        ----------
        bottleneck : int
            Position of the bottleneck in the scenario.
        queue : str, optional
            One of the queues of a qdisc for L4S, ``"classic"`` or ``"l4s"``; by default, all
            packets.

        Returns
        -------
        Series
            Shares of the run's length, which add up to 1; index ``packets``, ascending, without
            lengths that never occurred.

        Raises
        ------
        InputError
            If the run has no record of its queues or the scenario no such bottleneck or queue.

        Examples
        --------
        >>> shares = run.occupancy_distribution().cumsum()  # doctest: +SKIP
        >>> int(shares.index[shares >= 0.99][0])  # the 99th percentile  # doctest: +SKIP
        """
        return queue_analysis.occupancy_distribution(self, bottleneck, queue)

    def queueing_delay_ms(self, bottleneck: int = 0, queue: str | None = None) -> float:
        """Return the mean waiting time of a packet in a queue, in milliseconds.

        Counted are packets that left the queue for the link, also those of background traffic, but
        not those that were dropped after waiting, as by CoDel. Transmission is not included. NaN if
        no packet left the queue.

        Parameters
        ----------
        bottleneck : int
            Position of the bottleneck in the scenario.
        queue : str, optional
            One of the queues of a qdisc for L4S, ``"classic"`` or ``"l4s"``; by default, all
            packets.

        Raises
        ------
        InputError
            If the scenario has no such bottleneck or queue, or as :meth:`carried_bytes`.

        Examples
        --------
        >>> run.queueing_delay_ms()  # doctest: +SKIP
        4...
        """
        return queue_analysis.queueing_delay_ms(self, bottleneck, queue)

    def queueing_delay_percentiles_ms(
        self, percentiles: Sequence[float] = (50, 99), bottleneck: int = 0, queue: str | None = None
    ) -> pd.Series[float]:
        """Return percentiles of the packets' waiting times in a queue, in milliseconds.

        Counted are the packets of :meth:`queueing_delay_ms`. A percentile is the shortest time that
        this share of the packets did not exceed: exact from a queue log, at most 1.6 % too long
        from a queue summary.

        Parameters
        ----------
        percentiles : sequence of float
            Percentiles, 0 to 100.
        bottleneck : int
            Position of the bottleneck in the scenario.
        queue : str, optional
            One of the queues of a qdisc for L4S, ``"classic"`` or ``"l4s"``; by default, all
            packets.

        Returns
        -------
        Series
            Milliseconds; index ``percentile``; NaN if no packet left the queue.

        Raises
        ------
        InputError
            If the run has no record of its queues, only a log of a qdisc that drops arbitrary
            packets (CHOKe, and CAKE with `ack_filter`), or the scenario has no such bottleneck or
            queue.

        Examples
        --------
        >>> float(l4s.queueing_delay_percentiles_ms(queue="l4s")[99])  # doctest: +SKIP
        0.2...
        """
        return delay_analysis.queueing_delay_percentiles_ms(self, percentiles, bottleneck, queue)

    def l4s_summary(self) -> pd.DataFrame:
        """Return packets, length and delay of both queues of each qdisc for L4S.

        Returns
        -------
        DataFrame
            Index ``bottleneck`` and ``queue`` (``classic``, ``l4s``); columns ``carried_packets``,
            ``marks`` and ``drops`` in packets, ``mean_queue_packets``, ``queueing_delay_ms`` (the
            mean), ``queueing_delay_p50_ms`` and ``queueing_delay_p99_ms``. Without rows if no
            bottleneck has such a qdisc, or without a record of the queues.

        Examples
        --------
        >>> run.l4s_summary()["queueing_delay_p99_ms"]  # doctest: +SKIP
        """
        return delay_analysis.by_queue(self)

    def qdisc_statistics(self, bottleneck: int = 0) -> pd.DataFrame:
        """Return the statistics that a bottleneck's qdisc reports over time, in named columns.

        Parameters
        ----------
        bottleneck : int
            Position of the bottleneck in the scenario.

        Returns
        -------
        DataFrame
            Index ``time_s``; columns with the names in the qdisc's descriptor
            (:mod:`ccbench.experiment.qdiscs`), none if it has no statistics there.

        Raises
        ------
        InputError
            If there is no such bottleneck.

        Examples
        --------
        DualPI2's probability in the classic queue before it is squared:

        >>> l4s.qdisc_statistics()["probability"].mean()  # doctest: +SKIP
        """
        return queue_analysis.statistics(self, bottleneck)

    def carried_bytes(self, bottleneck: int = 0) -> int:
        """Return the IP bytes that a link carried over the whole run.

        Counted are all packets whose transmission ended during the run, those of
        acknowledgements and of background traffic included.

        Parameters
        ----------
        bottleneck : int
            Position of the bottleneck in the scenario.

        Raises
        ------
        InputError
            If the scenario has no such bottleneck, or the engine does not count what links carry.

        Examples
        --------
        >>> run.carried_bytes() * 8e-6 / run.scenario.duration_s  # Mbit/s  # doctest: +SKIP
        99...
        """
        return queue_analysis.carried_bytes(self, bottleneck)

    def utilisation(self, bottleneck: int = 0) -> float:
        """Return the utilisation of a link over the whole run.

        Parameters
        ----------
        bottleneck : int
            Position of the bottleneck in the scenario.

        Returns
        -------
        float
            :meth:`carried_bytes` divided by the link's capacity, 0 to 1. NaN without capacity, as
            with a trace whose first opportunity is after the end.

        Raises
        ------
        InputError
            As :meth:`carried_bytes`.

        Examples
        --------
        >>> run.utilisation()  # doctest: +SKIP
        0.99...
        """
        return queue_analysis.utilisation(self, bottleneck)

    def bottleneck_summary(self) -> pd.DataFrame:
        """Return rate, queue, utilisation, delay and losses of each bottleneck.

        Returns
        -------
        DataFrame
            Index ``bottleneck``; columns ``bandwidth_mbps`` (the mean of a trace), ``qdisc``,
            ``queue_packets`` (the limit, infinite without one), ``utilisation`` (0 to 1),
            ``mean_queue_packets``,
            ``queueing_delay_ms`` and ``losses`` (packets, of all flows and directions, that random
            or given losses or a policer took before the queue); NaN without the required record of
            the queue.

        Examples
        --------
        >>> run.bottleneck_summary()["utilisation"]  # doctest: +SKIP
        """
        return queue_analysis.summary(self)

    @property
    def is_late(self) -> bool:
        """Whether a run in real time was disturbed by a busy machine."""
        return bool(self.provenance.get("is_late", False))

    def save(self, folder: str | Path, *, replace: bool = True) -> None:
        """Write the run to a folder: a Parquet file for each table, ``run.json``, and the scenario.

        The folder is written atomically, even if the process is killed.

        Parameters
        ----------
        folder : path
            The folder, created with its parents.
        replace : bool
            Whether to replace an existing run. If false and a run exists, nothing is written.

        Raises
        ------
        InputError
            If the folder contains anything but a run, or is not writable.
        OSError
            If the disk is full.

        Examples
        --------
        >>> run.save("results")  # doctest: +SKIP
        >>> Run.load("results").utilisation() == run.utilisation()  # doctest: +SKIP
        True
        """
        run_files.save(self, Path(folder), replace=replace, with_scenario=True)

    @classmethod
    def load(cls, folder: str | Path) -> Run:
        """Read a run from a folder.

        Raises
        ------
        DamagedRun
            If a file is missing, was changed, or has another format.
        """
        return run_files.load(Path(folder), cls)

    @property
    def is_exact(self) -> bool:
        """Whether every seed gives this run, as nothing drew a random number.

        That is known of the engine ``kernel``: neither the scenario's noise and impairments nor a
        function of Linux, a congestion control or a qdisc drew any on which a packet depends
        (``random_draws`` of the provenance). It is never known of engines in real time.

        Examples
        --------
        >>> emulate.run(scenario).is_exact  # BBR draws its phase  # doctest: +SKIP
        False
        """
        return not self.scenario.draws_at_random and self.provenance.get("random_draws") == {}

    def digest(self) -> str:
        """Return the SHA-256 of all tables, in hexadecimal.

        Runs with the same digest have identical tables, even if their scenarios have different
        seeds.

        Examples
        --------
        >>> run.digest() == emulate.run(run.scenario).digest()  # doctest: +SKIP
        True
        """
        return run_files.digest(self)
