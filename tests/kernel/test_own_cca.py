# SPDX-License-Identifier: Apache-2.0
"""A user's own congestion control, as in docs/your-own-cca.md."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ccbench import emulate
from ccbench.base.errors import InputError
from ccbench.emulate.kernel.command import BuildError
from ccbench.emulate.kernel.source.lookup import installed
from ccbench.experiment.scenario import Scenario

pytestmark = [pytest.mark.kernel, pytest.mark.long]

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs" / "your-own-cca.md").read_text(encoding="utf-8")
_MODULE = _ROOT / "examples" / "own-cca" / "tcp_aimd"
_BBR3 = _ROOT / "kernel_modules" / "tcp_bbr3"


@pytest.fixture
def checkout(other_cache: Path, tmp_path: Path) -> Path:
    """Give a folder with two modules, and a cache with a kernel but without builds and runs."""
    assert other_cache.is_dir()
    shutil.copytree(_BBR3, tmp_path / "kernel_modules" / "tcp_bbr3")
    shutil.copytree(_MODULE, tmp_path / "examples" / "own-cca" / "tcp_aimd")
    return tmp_path


def test_page(checkout: Path) -> None:
    """The commands of the page lead from a C file to a report."""
    commands = "".join(re.findall(r"```sh\n(.*?)```", _PAGE, re.DOTALL))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", commands],
        cwd=checkout,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "aimd" in done.stdout
    shown = re.search(r"```\n(network .*?)```", _PAGE, re.DOTALL)
    assert shown is not None
    for line in shown[1].splitlines():  # the compiler may differ, the networks do not
        assert line.split("  ")[0] in done.stdout
    assert "aimd" in (checkout / "aimd-report" / "report.html").read_text(encoding="utf-8")


def test_parameters(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger increase and a smaller decrease take more from CUBIC than the usual constants."""
    folder = checkout / "examples" / "own-cca" / "tcp_aimd"
    monkeypatch.setenv("CCBENCH_MODULES", str(folder))
    text = re.search(r"```toml\n(.*?)```", _PAGE, re.DOTALL)
    assert text is not None
    (checkout / "scenario.toml").write_text(text[1])
    (checkout / "usual.toml").write_text(re.sub("module_parameters.*", "", text[1]))
    greedy, usual = (
        emulate.run(Scenario.load(checkout / name)).summary()["throughput_mbps"]
        for name in ("scenario.toml", "usual.toml")
    )
    assert greedy[0] / greedy[1] > 1.5 * usual[0] / usual[1]


def test_state(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state that a CCA reports has the names, types and scales of its description."""
    folder = checkout / "examples" / "own-cca" / "tcp_aimd"
    monkeypatch.setenv("CCBENCH_MODULES", str(folder))
    state = """
#include <linux/inet_diag.h>
#include "ccbench_describe.h"

static size_t aimd_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	((u16 *)info)[0] = tcp_snd_cwnd(tcp_sk(sk));
	((s16 *)info)[1] = -3;
	((u8 *)info)[4] = 1;
	*attr = INET_DIAG_VEGASINFO;
	return 5;
}

CCBENCH_CCA(aimd, CCA_INFO("cwnd_packets:u16|half:s16:0.5|mode:u8:slow/fast"), "AIMD with state");
"""
    source = folder / "tcp_aimd.c"
    before, operations, after = source.read_text().partition("static struct tcp_congestion_ops")
    after = after.replace(".name", ".get_info = aimd_get_info,\n\t.name", 1)
    source.write_text(before + state + operations + after)
    text = re.search(r"```toml\n(.*?)```", _PAGE, re.DOTALL)
    assert text is not None
    (checkout / "scenario.toml").write_text(text[1])
    run = emulate.run(Scenario.load(checkout / "scenario.toml"))
    info = run.cca_info(0)
    assert info["cwnd_packets"].tolist() == run.samples("cwnd_packets")[0].dropna().tolist()
    assert set(info["half"]) == {-1.5}
    assert set(info["mode"]) == {"fast"}


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("info.c", "another folder than tcp_mine also has a module tcp_bbr3"),
        ("Kbuild", r"two modules describe bbr3 with CCBENCH_CCA\(bbr3, "),
    ],
)
def test_copied_names(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, file: str, message: str
) -> None:
    """A copy with one of the names of its original is refused, and leaves earlier builds alone."""
    module = installed().path / "debug" / "tcp_bbr3.ko"
    before = module.read_bytes()
    copy = checkout / "kernel_modules" / "tcp_bbr3"
    copy = copy.rename(copy.with_name("tcp_mine"))
    for changed in ("main.c", file):
        text = (copy / changed).read_text(encoding="utf-8")
        for old in ('"bbr3"', "CCBENCH_CCA(bbr3", "tcp_bbr3.o", "tcp_bbr3-y"):
            text = text.replace(old, old.replace("bbr3", "mine"))
        (copy / changed).write_text(text, encoding="utf-8")
    monkeypatch.setenv("CCBENCH_MODULES", str(copy))
    with pytest.raises(InputError, match=message):
        installed()
    assert module.read_bytes() == before


def test_does_not_compile(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a build contains the compiler's message."""
    folder = checkout / "examples" / "own-cca" / "tcp_aimd"
    monkeypatch.setenv("CCBENCH_MODULES", str(folder))
    (folder / "tcp_aimd.c").write_text("int nonsense(void) { return missing; }\n")
    with pytest.raises(BuildError, match=r"(?s)compiling the kernel modules failed.*missing"):
        installed()
