# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ccbench.emulate.kernel.command import Builder, BuildError


def alive(pid: int) -> bool:
    """Return whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class TestBuilder:
    def builder(self, tmp_path: Path) -> Builder:
        """Return a builder."""
        return Builder(log=tmp_path / "log", jobs=1, cflags="")

    def test_failure(self, tmp_path: Path) -> None:
        """A failed step is named, with the last lines of its log; the log is kept."""
        script = "for i in $(seq 30); do echo line $i; done; echo wrong >&2; exit 3"
        with pytest.raises(BuildError, match=r"compiling failed with exit status 3") as error:
            self.builder(tmp_path).run(["sh", "-c", script], purpose="compiling", folder=tmp_path)
        assert str(error.value).endswith("\n  line 30\n  wrong")
        assert "line 1\n" in (tmp_path / "log").read_text()

    def test_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Environment variables that would change the build do not reach the compilers."""
        monkeypatch.setenv("KCFLAGS", "-O0")
        lines: list[str] = []
        self.builder(tmp_path).run(["env"], purpose="", folder=tmp_path, on_line=lines.append)
        set_ = {line.partition("=")[0] for line in lines}
        assert {"PATH", "KBUILD_BUILD_TIMESTAMP"} <= set_
        assert "KCFLAGS" not in set_

    def test_interrupted(self, tmp_path: Path) -> None:
        """After an interruption, every process that the step started ends."""
        pids: list[int] = []

        def interrupt(line: str) -> None:
            pids.append(int(line))
            raise KeyboardInterrupt

        script = "sleep 1000 & echo $!; wait"
        with pytest.raises(KeyboardInterrupt):
            self.builder(tmp_path).run(
                ["sh", "-c", script], purpose="", folder=tmp_path, on_line=interrupt
            )
        deadline_s = time.monotonic() + 300
        # The process disappears when its new parent reaps it.
        while alive(*pids) and time.monotonic() < deadline_s:
            time.sleep(0.01)
        assert not alive(*pids)
