# SPDX-License-Identifier: Apache-2.0
"""The search for the commit that changed a run, on the virtual kernel."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench.bisect import SAVED, Commits, RunQuestion, bisect
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.experiment.flow import Flow
from ccbench.run.difference import difference
from ccbench.run.run import Run
from tests.kernel.conftest import dumbbell
from tests.unit.bisect.conftest import git_in

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [pytest.mark.kernel, pytest.mark.long, pytest.mark.usefixtures("own_store")]

_AIMD = Path(__file__).parents[2] / "examples" / "own-cca" / "tcp_aimd"

#: Subject of each commit, and the text that it replaces.
_COMMITS: Mapping[str, tuple[str, str]] = {
    "Reword": ("One more packet", "A further packet"),
    "Describe": ("AIMD with constants", "AIMD with other constants"),
    "Explain the unit": ("packets added per", "packets more per"),
    "Undo in another way": ("tcp_reno_undo_cwnd,", "aimd_undo,"),
    "Undo as Reno": ("aimd_undo,", "tcp_reno_undo_cwnd,"),
    "Keep more": ("keep_percent = 50", "keep_percent = 80"),
    "Reword again": ("A further packet", "One packet more"),
    "Describe again": ("AIMD with other constants", "AIMD"),
}


def test_commit(tmp_path: Path) -> None:
    """A broken commit is skipped, the one that changes a constant is found, and the runs saved."""
    module = Path(shutil.copytree(_AIMD, tmp_path / "repository" / "tcp_aimd"))
    git = git_in(module.parent)
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "AIMD")
    for subject, (before, after) in _COMMITS.items():
        text = (module / "tcp_aimd.c").read_text()
        assert before in text
        (module / "tcp_aimd.c").write_text(text.replace(before, after))
        git("commit", "-q", "-a", "-m", subject)
    state = git("status", "--porcelain", "-b"), git("reflog")
    question = RunQuestion(dumbbell(Flow(cca="aimd"), Flow(cca="cubic"), queue_log=True))
    history = Commits.between(module, "HEAD~8")
    found = bisect(history, question, make_engine=KernelEngine, output=tmp_path / "out")
    assert found.first_bad is not None
    assert "Keep more" == found.first_bad.subject
    verdicts = {each.version.subject: each.verdict for each in found.tested}
    assert "skipped" == verdicts["Undo in another way"]
    assert "good" == verdicts["Undo as Reno"]
    json.dumps(found.to_dict())
    change = difference(*(Run.load(tmp_path / "out" / name) for name in SAVED))
    assert {"tcp_aimd"} == {*change.modules}
    assert {} == change.settings
    assert change.packet
    assert state == (git("status", "--porcelain", "-b"), git("reflog"))
