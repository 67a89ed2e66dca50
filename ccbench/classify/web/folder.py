# SPDX-License-Identifier: Apache-2.0
"""What is kept of servers: a folder for each, with every download, the verdict and its figure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench import _atomic, _validate
from ccbench.emulate.realtime.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ccbench.classify.setting import Setting

__all__ = ["RESULT", "ServerFolder"]

RESULT = "result.json"


@dataclass(frozen=True)
class ServerFolder:
    """The folder of a server.

    It has a folder for each setting, as ``ccbench shell -o`` writes them, which ``ccbench
    classify`` reads as well, and ``result.json``, which is there when all is done.

    Parameters
    ----------
    path : Path
        It is made when something is kept.
    """

    path: Path

    def load(self, setting: Setting) -> Recording | None:
        """Return the download in a setting, if there is one."""
        folder = self.path / setting.name
        return Recording.load(folder) if Recording.is_in(folder) else None

    def keep(self, setting: Setting, recording: Recording) -> None:
        """Keep a download."""
        with _atomic.new_folder(self.path / setting.name, replace=True) as folder:
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
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            _ = found["label"], found["error"], found["traces"]
        except (ValueError, KeyError, TypeError) as error:
            allowed = "a result as it was written"
            raise _validate.bad("file", str(path), allowed, f"remove it ({error})") from error
        return found

    def finish(self, result: Mapping[str, Any]) -> None:
        """Keep the verdict: nothing more is to be asked."""
        self.path.mkdir(parents=True, exist_ok=True)
        with _atomic.new_file(self.path / RESULT) as temporary:
            temporary.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
