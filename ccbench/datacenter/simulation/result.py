# SPDX-License-Identifier: Apache-2.0
"""The result of a simulation, in memory and as a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from ccbench.base import durable, result_folders, validation
from ccbench.base.errors import DamagedRun
from ccbench.base.sealed import check_files, file_digest, sealed, unsealed

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FORMAT", "Simulation", "check_folder"]

#: Version of the folder format.
FORMAT = 4

_TABLES = ("flows", "samples", "buffers", "ports", "active_flows", "queue_delays")
_DESCRIPTION = "simulation.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulation:
    """Result of a data-centre simulation.

    Parameters
    ----------
    flows : DataFrame
        One row per flow, in order of its start. Columns: ``start_s``; ``source``; ``destination``;
        ``bytes`` (0: unlimited); ``kind`` (``background``, ``incast``, ``long``); ``priority``, the
        class; ``delivered_bytes``; ``fct_s``, the time from the start until the receiver had all
        bytes (NaN: incomplete); ``ideal_s``, the same in an empty network; ``slowdown``, the ratio
        of the two; ``acked_s``, the time from the start until the sender had the ACK of the last
        byte; ``ideal_acked_s``, the same in an empty network.
    samples : DataFrame
        Index ``time_s``. Columns: ``delivered_bytes``, payload so far; ``long_bytes``, the part
        that belongs to unlimited flows; ``packets``, number of packets in the network;
        ``paused_s``, time so far for which PFC stopped ports, summed over all ports.
    buffers : DataFrame
        Buffer occupancy in bytes; index ``time_s``, one column per switch.
    ports : DataFrame
        One row per port. Columns: ``node`` and ``to``, its ends; ``gbps``; ``sent_bytes`` of all
        packets; ``data_packets``, ``marked_packets``, ``dropped_packets``; ``peak_queue_bytes``;
        ``pauses`` and ``paused_s`` by PFC; ``queue_pauses`` by BFC; ``assignments`` of a queue to a
        flow without packets at the port, and the number of these that were ``collisions`` with
        other flows.
    active_flows : DataFrame
        Number of switch ``ports`` that had ``flows`` flows with queued packets; index ``time_s``.
    queue_delays : DataFrame
        Number of data packets (``count``) that waited for ``delay_ns`` (the lower edge of the bin)
        at ``port``; empty unless requested.
    summary : mapping
        Totals by name: events, packets, retransmissions and others.
    provenance : mapping
        JSON-compatible description of the simulation, and the version of ccbench.

    Examples
    --------
    The port with the longest queue:

    >>> ports = simulated.ports.set_index(["node", "to"])  # doctest: +SKIP
    >>> ports["peak_queue_bytes"].idxmax()  # doctest: +SKIP
    """

    flows: pd.DataFrame = field(repr=False)
    samples: pd.DataFrame = field(repr=False)
    buffers: pd.DataFrame = field(repr=False)
    ports: pd.DataFrame = field(repr=False)
    active_flows: pd.DataFrame = field(repr=False)
    queue_delays: pd.DataFrame = field(repr=False)
    summary: Mapping[str, Any]
    provenance: Mapping[str, Any]

    def slowdowns(
        self,
        edges_bytes: tuple[float, ...] = (),
        *,
        kind: str = "background",
        until: Literal["received", "acked"] = "received",
    ) -> pd.DataFrame:
        """Return statistics of the flows' slowdown by flow size.

        Parameters
        ----------
        edges_bytes : tuple of float
            Upper limits of all rows but the last; by default a single row.
        kind : str
            Kind of flows.
        until : {"received", "acked"}
            End of a flow: the receiver has all bytes (``fct_s`` / ``ideal_s``), or the sender has
            the last ACK (``acked_s`` / ``ideal_acked_s``).

        Returns
        -------
        DataFrame
            One row per range; index ``up_to_bytes``. Columns: number of complete ``flows`` and of
            ``unfinished`` flows; ``mean``, ``p50``, ``p95`` and ``p99`` of the slowdown, NaN if no
            flow is complete.

        Examples
        --------
        Flows of up to 3 KB, of up to 100 KB, and longer ones:

        >>> simulated.slowdowns((3e3, 100e3))["p99"]  # doctest: +SKIP
        """
        flows = self.flows[self.flows["kind"] == kind]
        edges = np.array([*edges_bytes, np.inf])
        part = np.searchsorted(edges, flows["bytes"].to_numpy(), side="left")
        slowdowns = (
            flows["slowdown"] if until == "received" else flows["acked_s"] / flows["ideal_acked_s"]
        ).to_numpy()
        rows = []
        for index in range(len(edges)):
            slowdown = slowdowns[part == index]
            complete = slowdown[~np.isnan(slowdown)]
            quantiles = np.quantile(complete, [0.5, 0.95, 0.99]) if len(complete) else [np.nan] * 3
            rows.append(
                {
                    "flows": len(complete),
                    "unfinished": len(slowdown) - len(complete),
                    "mean": complete.mean() if len(complete) else np.nan,
                    **dict(zip(("p50", "p95", "p99"), map(float, quantiles), strict=True)),
                }
            )
        return pd.DataFrame(rows, index=pd.Index(edges, name="up_to_bytes"))

    def paused_share(self, until_s: float = np.inf) -> float:
        """Return the share of time for which PFC stopped ports, 0 to 1, averaged over all ports.

        Parameters
        ----------
        until_s : float
            End of that time, for instance the ``duration_s`` in which flows start; by default the
            end of the simulation.

        Raises
        ------
        InputError
            If there is no sample until then.

        Examples
        --------
        >>> simulated.paused_share()  # doctest: +SKIP
        """
        if until_s >= self.summary["end_s"]:
            return float(self.ports["paused_s"].mean() / self.summary["end_s"])
        paused_s = self.samples["paused_s"].loc[:until_s]
        if paused_s.empty:
            first_s = self.samples.index[0] if len(self.samples) else self.summary["end_s"]
            raise validation.bad(
                "until_s", until_s, f"at least {first_s:g}", "that is the time of the first sample"
            )
        return float(paused_s.iloc[-1] / paused_s.index[-1] / len(self.ports))

    def save(self, folder: str | Path) -> None:
        """Save as a folder of Parquet files and a JSON file, replacing an earlier result.

        Raises
        ------
        InputError
            As :func:`ccbench.base.result_folders.check_replaceable`.
        OSError
            If the disk is full.

        Examples
        --------
        >>> simulated.save("bfc-facebook")  # doctest: +SKIP
        >>> Simulation.load("bfc-facebook").summary["flows"]  # doctest: +SKIP
        """
        path = Path(folder)
        check_folder(path)
        with durable.new_folder(path, replace=True) as temporary:
            files = {}
            for name in _TABLES:
                file = temporary / f"{name}.parquet"
                getattr(self, name).to_parquet(file, compression="zstd")
                files[file.name] = file_digest(file.read_bytes())
            document = {
                "format": FORMAT,
                "summary": dict(self.summary),
                "provenance": dict(self.provenance),
                "files": files,
            }
            text = json.dumps(sealed(document), indent=1, ensure_ascii=False) + "\n"
            (temporary / _DESCRIPTION).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Simulation:
        """Load a folder written by :meth:`save`.

        Raises
        ------
        DamagedRun
            If a file is missing, was changed, or has another format.
        """
        path = Path(folder)
        try:
            document = unsealed((path / _DESCRIPTION).read_bytes())
            if document["format"] != FORMAT:
                message = f"{path} has format {document['format']}; this ccbench reads {FORMAT}"
                raise DamagedRun(f"{message}: simulate it again")
            check_files(path, document["files"])
            tables = {name: pd.read_parquet(path / f"{name}.parquet") for name in _TABLES}
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"{path} cannot be read as a simulation ({error!r}): simulate it again"
            raise DamagedRun(message) from error
        return cls(**tables, summary=document["summary"], provenance=document["provenance"])


def check_folder(folder: Path) -> None:
    """Check that a simulation can be saved as `folder`, before running a long one.

    Raises
    ------
    InputError
        As :func:`ccbench.base.result_folders.check_replaceable`.
    """
    files = {_DESCRIPTION, *(f"{name}.parquet" for name in _TABLES)}
    result_folders.check_replaceable(folder, "simulation", files)
