# SPDX-License-Identifier: Apache-2.0
"""Recordings of the queue of an emulated link behind which a program ran."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ccbench.base import durable, validation
from ccbench.base.sealed import check_files, file_digest, sealed, unsealed
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.run import tables
from ccbench.run.stored_tables import Encoded, of_frame

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

__all__ = ["CommandRecording"]

_QUEUE, _DESCRIPTION = "queue.parquet", "shell.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class CommandRecording:
    """The recorded queue of an emulated link behind which a command ran.

    Parameters
    ----------
    status : int
        The command's exit status.
    duration_s : float
        Lifetime of the link in seconds.
    queue : DataFrame
        As in a :class:`~ccbench.run.run.Run`; all packets belong to flow 0.
    provenance : mapping
        JSON values: ``ccbench``, ``engine``, ``engine_version``, ``bottleneck``, ``rtt_ms``,
        ``direction``, ``command``, and additions of the caller.
    was_interrupted : bool
        Whether there was a Ctrl-C, which the command may have handled.
    """

    status: int
    duration_s: float
    queue: pd.DataFrame = field(repr=False)
    provenance: Mapping[str, Any]
    was_interrupted: bool = False

    @property
    def bottleneck(self) -> Bottleneck:
        """The link and its queue."""
        return Bottleneck.from_dict(self.provenance["bottleneck"])

    def summary(self) -> dict[str, float | None]:
        """Return exit status, duration, packets, drops, largest queue and utilisation."""
        queue = self.queue
        count = queue["event"].value_counts()
        capacity = self.bottleneck.capacity_bytes(self.duration_s)
        # An arriving packet counts as enqueued until it is dropped.
        waiting = queue.loc[queue["event"] != "enqueue", "backlog_packets"]
        carried = queue.loc[queue["event"] == "dequeue", "bytes"].sum()
        return {
            "exit_status": self.status,
            "duration_s": self.duration_s,
            "packets": int(count["dequeue"]),
            "drops": int(count["drop"]),
            "largest_queue_packets": int(waiting.max()) if len(waiting) else 0,
            "utilisation": float(carried) / capacity if capacity else None,
        }

    def save(self, folder: Path) -> None:
        """Write ``queue.parquet`` and ``shell.json`` to an existing folder."""
        with durable.new_file(folder / _QUEUE) as temporary:
            temporary.write_bytes(of_frame(self.queue).encoded())
        files = {_QUEUE: file_digest((folder / _QUEUE).read_bytes())}
        with durable.new_file(folder / _DESCRIPTION) as temporary:
            document = sealed(
                {**self.summary(), "provenance": dict(self.provenance), "files": files}
            )
            temporary.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Return whether a folder contains a recording."""
        return (folder / _DESCRIPTION).is_file()

    @classmethod
    def load(cls, folder: Path) -> CommandRecording:
        """Read a recording from a folder.

        Raises
        ------
        InputError
            If it is damaged.
        """
        try:
            document = unsealed((folder / _DESCRIPTION).read_bytes())
            check_files(folder, document["files"])
            queue = Encoded((folder / _QUEUE).read_bytes()).frame()
            return cls(
                status=document["exit_status"],
                duration_s=document["duration_s"],
                queue=tables.normalised("queue", queue, tables.QUEUE_COLUMNS),
                provenance=document["provenance"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            allowed = f"one with unmodified {_QUEUE} and {_DESCRIPTION}"
            step = f"record it again ({error})"
            raise validation.bad("folder", str(folder), allowed, step) from error
