# SPDX-License-Identifier: Apache-2.0
"""The folder of a server, with every download, the verdict and its figure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench.base import durable, validation
from ccbench.base.sealed import sealed, unsealed
from ccbench.emulate.realtime.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ccbench.classify.setting import Setting

__all__ = ["RESULT", "ServerFolder"]

RESULT = "result.json"

#: What the record of a download says besides what that of any command does.
_OF_DOWNLOADS = ("setting", "url", "address", "server_rtt_ms", "answers", "seconds", "engine")


@dataclass(frozen=True)
class ServerFolder:
    """The folder of a server.

    It has a folder for each setting, as ``ccbench shell -o`` writes them, which ``ccbench
    classify`` reads as well, and ``result.json``, which is there when all is done.

    Parameters
    ----------
    path : Path
        It is made when something is kept.
    engine : str
        Whose links count; left out, all do.
    """

    path: Path
    engine: str = ""

    def load(self, setting: Setting) -> Recording | None:
        """Return the download in a setting, if there is one through this engine's link.

        Raises
        ------
        InputError
            If it is damaged, or something else.
        """
        folder = self.path / setting.name
        if not Recording.is_in(folder):
            return None
        recording = Recording.load(folder)
        missing = [name for name in _OF_DOWNLOADS if name not in recording.provenance]
        if missing:
            allowed = f"a download from a server, whose {_OF_DOWNLOADS[0]} is known"
            raise validation.bad("folder", str(folder), allowed, "remove it")
        is_ours = self.engine in {"", recording.provenance["engine"]}
        return recording if is_ours else None

    def forget(self, setting_name: str) -> None:
        """Remove the download in a setting."""
        durable.remove(self.path / setting_name)

    def keep(self, setting: Setting, recording: Recording) -> None:
        """Keep a download."""
        with durable.new_folder(self.path / setting.name, replace=True) as folder:
            recording.save(folder)

    def result(self) -> dict[str, Any] | None:
        """Return what :meth:`finish` has kept, if there is anything.

        Raises
        ------
        InputError
            If it is damaged.
        """
        path = self.path / RESULT
        if not path.exists():
            return None
        try:
            found = unsealed(path.read_bytes())
            _ = found["label"], found["error"], [one["kind"] for one in found["traces"]]
        except (ValueError, KeyError, TypeError) as error:
            allowed = "a result as it was written"
            raise validation.bad("file", str(path), allowed, f"remove it ({error})") from error
        return found

    def finish(self, result: Mapping[str, Any]) -> None:
        """Keep the verdict: nothing more is to be asked."""
        self.path.mkdir(parents=True, exist_ok=True)
        text = json.dumps(sealed(result), indent=2, allow_nan=False) + "\n"
        durable.write_text(self.path / RESULT, text)
