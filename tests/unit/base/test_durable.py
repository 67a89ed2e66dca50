# SPDX-License-Identifier: Apache-2.0
"""Files and folders that are written completely or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest

from ccbench.base import durable
from ccbench.emulate._workspace import hold


def test_held_folder(tmp_path: Path) -> None:
    """Writing into a locked folder does not wait for the lock."""
    descriptor = hold(tmp_path)
    program = "import sys, pathlib; from ccbench.base import durable; "
    program += "durable.write_text(pathlib.Path(sys.argv[1]), 'text')"
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "file")], check=True, timeout=600)
    os.close(descriptor)
    assert (tmp_path / "file").read_text() == "text"


def test_many_writers(tmp_path: Path) -> None:
    """Concurrent writers to one folder do not take each other's files for leftovers."""

    def write(name: str) -> None:
        for i in range(50):
            with durable.new_folder(tmp_path / f"{name}{i}", replace=False) as folder:
                durable.write_text(folder / "file", name)
            durable.write_text(tmp_path / "shared", name)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(tmp_path.glob("*/file"))) == 200
    assert (tmp_path / "shared").read_text() in set("abcd")
    assert not list(tmp_path.glob(".*"))


def test_pipe(tmp_path: Path) -> None:
    """Pipes and devices such as /dev/null are written to and not replaced."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    durable.write_text(pipe, "text")
    reader.join()
    assert read == ["text"]
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_links(tmp_path: Path) -> None:
    """The target of a link is replaced, whether or not it exists; the link stays."""
    for name, is_there in (("old", True), ("new", False)):
        target, link = tmp_path / "elsewhere" / name, tmp_path / f"to-{name}"
        target.parent.mkdir(exist_ok=True)
        if is_there:
            target.write_text("before")
        link.symlink_to(target)
        durable.write_text(link, "text")
        assert link.is_symlink()
        assert target.read_text() == "text"
    for name, is_there in (("full", True), ("none", False)):
        target, link = tmp_path / "elsewhere" / name, tmp_path / f"to-{name}"
        if is_there:
            target.mkdir()
            (target / "before").touch()
        link.symlink_to(target)
        with durable.new_folder(link, replace=True) as folder:
            (folder / "after").touch()
        assert link.is_symlink()
        assert [path.name for path in target.iterdir()] == ["after"]


def test_circle(tmp_path: Path) -> None:
    """A link to itself is replaced, because it has no target."""
    link = tmp_path / "link"
    link.symlink_to(link)
    durable.write_text(link, "text")
    assert link.read_text() == "text"


def test_refusal(tmp_path: Path) -> None:
    """An error names the file that the user asked for, not the temporary one."""
    with pytest.raises(FileNotFoundError) as caught:
        durable.write_text(tmp_path / "none" / "file", "text")
    assert caught.value.filename == str(tmp_path / "none" / "file")


def test_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative folder named like a home is used as written, also by pandas and Arrow."""
    monkeypatch.chdir(tmp_path)
    with durable.new_folder(Path("~root/run"), replace=True) as folder:
        pd.DataFrame({"a": [1]}).to_parquet(folder / "a.parquet")
    assert (tmp_path / "~root" / "run" / "a.parquet").is_file()
