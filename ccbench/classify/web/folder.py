# SPDX-License-Identifier: Apache-2.0
"""Folder of a server with its downloads, verdict and figure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench.base import durable, validation
from ccbench.base.sealed import sealed, unsealed
from ccbench.emulate.recording import CommandRecording

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ccbench.classify.setting import Setting

__all__ = ["RESULT", "ServerFolder"]

RESULT = "result.json"

#: Provenance of a download in addition to that of any recorded command.
_OF_DOWNLOADS = ("setting", "url", "address", "server_rtt_ms", "answers", "seconds", "engine")


@dataclass(frozen=True)
class ServerFolder:
    """The folder of a server.

    It has a folder for each setting in the format of ``ccbench shell -o``, which ``ccbench
    classify`` can read, and finally ``result.json``.

    Parameters
    ----------
    path : Path
        The folder, which is created by the first write.
    engine : str
        Only downloads through this engine's links are loaded; by default all.
    """

    path: Path
    engine: str = ""

    def load(self, setting: Setting) -> CommandRecording | None:
        """Return the stored download in a setting through this engine's link, if there is one.

        Raises
        ------
        InputError
            If it is damaged, or is not a download.
        """
        folder = self.path / setting.name
        if not CommandRecording.is_in(folder):
            return None
        recording = CommandRecording.load(folder)
        missing = [name for name in _OF_DOWNLOADS if name not in recording.provenance]
        if missing:
            allowed = f"a download from a server, with its {_OF_DOWNLOADS[0]}"
            raise validation.bad("folder", str(folder), allowed, "remove it")
        return recording if self.engine in {"", recording.provenance["engine"]} else None

    def forget(self, setting_name: str) -> None:
        """Remove the download in a setting."""
        durable.remove(self.path / setting_name)

    def keep(self, setting: Setting, recording: CommandRecording) -> None:
        """Store a download."""
        with durable.new_folder(self.path / setting.name, replace=True) as folder:
            recording.save(folder)

    def result(self) -> dict[str, Any] | None:
        """Return the result stored by :meth:`finish`, if there is one.

        Raises
        ------
        InputError
            If it is damaged.
        """
        path = self.path / RESULT
        if not path.exists():
            return None
        try:
            result = unsealed(path.read_bytes())
            _ = result["label"], result["error"], [trace["kind"] for trace in result["traces"]]
        except (ValueError, KeyError, TypeError) as error:
            allowed = "an unchanged result"
            raise validation.bad("file", str(path), allowed, f"remove it ({error})") from error
        return result

    def finish(self, result: Mapping[str, Any]) -> None:
        """Store the verdict, which completes the folder."""
        self.path.mkdir(parents=True, exist_ok=True)
        text = json.dumps(sealed(result), indent=2, allow_nan=False) + "\n"
        durable.write_text(self.path / RESULT, text)
