# SPDX-License-Identifier: Apache-2.0
"""The record of an emulated link behind which a program ran: in memory and in a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ccbench.base import durable, validation
from ccbench.base.sealed import check_files, file_digest, sealed, unsealed
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.run import table_files, tables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

__all__ = ["Recording"]

_QUEUE, _ABOUT = "queue.parquet", "shell.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """The record of a queue behind which a command ran.

    Parameters
    ----------
    status : int
        The command's exit status.
    duration_s : float
        How long the link was there, in seconds.
    queue : DataFrame
        As in a :class:`~ccbench.run.run.Run`; all packets are of flow 0.
    provenance : mapping
        JSON-able values that say what made it: ``ccbench``, ``engine``, ``engine_version``, the
        ``bottleneck``, ``rtt_ms``, ``direction`` and ``command``, and what the caller adds.
    was_interrupted : bool
        Whether there was a Ctrl-C, which is the command's business in the first place.
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
        """Return the figures that say most: packets, drops, the largest queue, utilisation."""
        queue = self.queue
        count = queue["event"].value_counts()
        capacity = self.bottleneck.capacity_bytes(self.duration_s)
        waiting = queue.loc[queue["event"] != "enqueue", "backlog_packets"]  # when all is decided
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
        """Write it to a folder that is there: ``queue.parquet`` and ``shell.json``."""
        with durable.new_file(folder / _QUEUE) as temporary:
            table_files.write(self.queue, temporary)
        files = {_QUEUE: file_digest((folder / _QUEUE).read_bytes())}
        with durable.new_file(folder / _ABOUT) as temporary:
            about = {**self.summary(), "provenance": dict(self.provenance), "files": files}
            document = sealed(about)
            temporary.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether one has been written to a folder."""
        return (folder / _ABOUT).is_file()

    @classmethod
    def load(cls, folder: Path) -> Recording:
        """Read what :meth:`save` has written.

        Raises
        ------
        InputError
            If that is damaged.
        """
        try:
            about = unsealed((folder / _ABOUT).read_bytes())
            check_files(folder, about["files"])
            queue = table_files.read((folder / _QUEUE).read_bytes())
            return cls(
                status=about["exit_status"],
                duration_s=about["duration_s"],
                queue=tables.normalised("queue", queue, tables.QUEUE_COLUMNS),
                provenance=about["provenance"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            allowed = f"one with {_QUEUE} and {_ABOUT} as they were written"
            step = f"record it again ({error})"
            raise validation.bad("folder", str(folder), allowed, step) from error
