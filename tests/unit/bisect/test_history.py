# SPDX-License-Identifier: Apache-2.0
"""Versions of a module from commits and patches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import InputError
from ccbench.bisect import Commits, Series
from tests.unit.bisect.conftest import VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ccbench.bisect import History

    Git = Callable[..., str]


def texts(history: History, folder: Path) -> list[str]:
    """Return the content of the module's file in each version."""
    found = []
    for i in range(len(history.versions)):
        place = folder / str(i)
        place.mkdir(parents=True)
        written = history.write(i, place)
        assert history.folder.name == written.name
        assert (written / "Kbuild").exists()
        found.append((written / "tcp_mine.c").read_text().strip())
    return found


class TestCommits:
    def test_versions(self, module: Path, tmp_path: Path) -> None:
        """The versions are the good commit and all later ones that change the folder."""
        history = Commits.between(module, "HEAD~12")
        assert list(VERSIONS[1:]) == texts(Commits.between(module, "HEAD~10"), tmp_path / "some")
        assert list(VERSIONS) == texts(history, tmp_path / "all")
        first, *_, last = history.versions
        assert "Read me after 0" == first.subject
        assert ("Version 6: greedy 6", "A. Author") == (last.subject, last.author)

    def test_untouched(self, module: Path, git: Git, tmp_path: Path) -> None:
        """Files, index and branch stay as they are, also with changes that are not committed."""
        (module / "tcp_mine.c").write_text("changed\n")
        (module / "new.c").write_text("new\n")
        git("add", str(module / "new.c"))
        before = git("status", "--porcelain", "-b"), git("stash", "list"), git("worktree", "list")
        index = (module.parents[1] / ".git" / "index").read_bytes()
        assert "even 1" == texts(Commits.between(module, "HEAD~12"), tmp_path / "w")[0]
        after = git("status", "--porcelain", "-b"), git("stash", "list"), git("worktree", "list")
        assert before == after
        assert index == (module.parents[1] / ".git" / "index").read_bytes()

    def test_whole_repository(self, module: Path, git: Git, tmp_path: Path) -> None:
        """The module may be the whole repository."""
        git("mv", "modules/tcp_mine/tcp_mine.c", "modules/tcp_mine/Kbuild", ".")
        git("commit", "-q", "-m", "Move")
        (module.parents[1] / "tcp_mine.c").write_text("moved\n")
        git("commit", "-q", "-a", "-m", "Change")
        assert ["greedy 6", "moved"] == texts(
            Commits.between(module.parents[1], "HEAD~1"), tmp_path / "w"
        )

    def test_missing_folder(self, module: Path, tmp_path: Path) -> None:
        """A commit without the folder is an error that names the folder."""
        (module.parent / "later").mkdir()
        (module.parent / "later" / "Kbuild").write_text("obj-m := later.o\n")
        history = Commits(
            module.parent / "later", module.parents[1], Commits.between(module, "HEAD~2").versions
        )
        with pytest.raises(InputError, match=r"^it has no folder modules/later \("):
            history.write(0, tmp_path)

    def test_merge(self, module: Path, git: Git) -> None:
        """Of a merged branch, only the merge is a version, with its parents."""
        git("checkout", "-q", "-b", "topic", "HEAD~2")
        (module / "other.c").write_text("other\n")
        git("add", "-A")
        git("commit", "-q", "-m", "On the branch")
        git("checkout", "-q", "main")
        git("merge", "-q", "--no-ff", "-m", "Merge it", "topic")
        *_, last = Commits.between(module, "HEAD~2").versions
        assert "Merge it" == last.subject
        assert 2 == len(last.parents)

    @pytest.mark.parametrize(
        ("good", "bad", "error"),
        [
            ("nothing", "HEAD", "good is 'nothing'; it must be a commit"),
            ("HEAD", "none", "bad is 'none'; it must be a commit"),
            ("--all", "HEAD", "good is '--all'; it must be a commit"),
            ("HEAD", "HEAD~2", "good is 'HEAD'; it must be an ancestor of HEAD~2"),
            ("HEAD~1", "HEAD", "good is 'HEAD~1'; it must be a commit before a change"),
        ],
    )
    def test_errors(self, module: Path, good: str, bad: str, error: str) -> None:
        """Commits that cannot be the ends of a search are named."""
        with pytest.raises(InputError) as raised:
            Commits.between(module, good, bad)
        assert str(raised.value).startswith(error)

    def test_no_repository(self, tmp_path: Path) -> None:
        """A folder outside of a repository is an error that leads to patches."""
        with pytest.raises(InputError, match="a folder in a Git repository: give --patch"):
            Commits.between(tmp_path, "HEAD")


class TestSeries:
    @pytest.mark.parametrize("options", [(), ("--relative=modules/tcp_mine",)])
    def test_versions(
        self, module: Path, git: Git, tmp_path: Path, options: tuple[str, ...]
    ) -> None:
        """Patches of the module's folder, or of the repository, give the commits' versions."""
        git("format-patch", "-q", "-o", str(tmp_path / "series"), *options, "HEAD~12")
        git("checkout", "-q", "HEAD~12")
        files = sorted((tmp_path / "series").iterdir())
        files = [file for file in files if "Version" in file.name] if options else files
        history = Series.of(module, files)
        assert list(VERSIONS) == list(dict.fromkeys(texts(history, tmp_path / "w")))
        assert "even 1\n" == (module / "tcp_mine.c").read_text()
        version = next(v for v in history.versions if v.subject.startswith("Version 4"))
        assert ("Version 4: greedy 4", "A. Author") == (version.subject, version.author)
        assert 10 == len(version.date)

    def test_does_not_apply(self, module: Path, git: Git, tmp_path: Path) -> None:
        """A patch that does not apply is an error with its name and the line."""
        git("format-patch", "-q", "-o", str(tmp_path / "series"), "HEAD~2")
        history = Series.of(module, sorted((tmp_path / "series").iterdir()))
        with pytest.raises(InputError, match=r"^patch: 0001-\S+ does not apply to .*tcp_mine"):
            history.write(1, tmp_path)
