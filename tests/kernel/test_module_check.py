# SPDX-License-Identifier: Apache-2.0
"""The check of a user's module."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from ccbench.cli._status import ExitStatus
from ccbench.cli.main import program
from ccbench.emulate.kernel.module_check import adverse_scenarios, check_module
from ccbench.emulate.kernel.source import lookup
from ccbench.emulate.kernel.source.lookup import installed

pytestmark = pytest.mark.kernel

_AIMD = Path(__file__).parents[2] / "examples" / "own-cca" / "tcp_aimd"


@pytest.fixture(autouse=True)
def one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check on the default kernel only."""
    name = installed().name
    monkeypatch.setattr(lookup, "built", lambda: [name])


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """Give the folder of a copy of the example."""
    return Path(shutil.copytree(_AIMD, tmp_path / "tcp_aimd"))


def edit(module: Path, before: str, after: str) -> None:
    """Replace a text of the module."""
    file = module / "tcp_aimd.c"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_scenarios() -> None:
    """There are twelve scenarios, whose names are distinct."""
    assert len(adverse_scenarios("cubic")) == 12


def test_nothing_found(module: Path) -> None:
    """A module without faults passes, with exit status 0."""
    result = CliRunner().invoke(program, ["module", "check", str(module), "--json"])
    assert result.exit_code == ExitStatus.OK, result.output
    found = json.loads(result.stdout)
    assert found["ok"]
    assert ["aimd"] == found["ccas"]
    assert 12 == len(found["scenarios"])


def test_leak(module: Path) -> None:
    """Memory that a module allocates for each flow, and does not release, is reported in KB."""
    leak = "static void aimd_init_flow(struct sock *sk)\n{\n\tkmalloc(200, GFP_ATOMIC);\n}\n"
    edit(module, "static struct tcp_cong", f"{leak}\nstatic struct tcp_cong")
    edit(module, '.name = "aimd"', '.init = aimd_init_flow,\n\t.name = "aimd"')
    (finding,) = (f for f in check_module(module).findings if f.scenario)
    assert "many flows" == finding.scenario
    assert "it does not release" in finding.problem


@pytest.mark.parametrize("deed", ["unset", "allocated", "freed", "ended"])
def test_memory_of_others(module: Path, deed: str) -> None:
    """A run that depends on memory that the module has not set, or has freed, is reported."""
    gain = {
        # The compiler takes the variable for 3 without a warning.
        "unset": "u32 gain;\n\n\tif (tcp_snd_cwnd(tp) > 20)\n\t\tgain = 3;",
        "ended": "u32 gain = tcp_snd_cwnd(tcp_sk(first)) % 5;",
    }.get(deed, "u32 gain = **(u32 **)inet_csk_ca(sk) & 7;")
    start = "*(u32 **)inet_csk_ca(sk) = kmalloc(8, GFP_ATOMIC);\n"
    if deed == "freed":
        start += "\t**(u32 **)inet_csk_ca(sk) = 1;\n\tkfree(*(u32 **)inet_csk_ca(sk));\n"
    if deed == "ended":
        start = "first = first ?: sk;\n"
    head = f"static struct sock *first;\n\nstatic void start(struct sock *sk)\n{{\n\t{start}}}\n"
    edit(module, "static void aimd_cong", f"#include <linux/slab.h>\n{head}\nstatic void aimd_cong")
    edit(module, "tcp_sk(sk);\n", f"tcp_sk(sk);\n\t{gain}\n")
    edit(module, " / increase", " / max(gain, 1U)")
    edit(module, '.name = "aimd"', '.init = start,\n\t.name = "aimd"')
    findings = [found for found in check_module(module).findings if found.scenario]
    assert "it reads a variable or memory that it has not set" in findings[0].problem, findings


def test_warnings(module: Path) -> None:
    """The compiler's warnings are findings, with file and line, and each run logs them."""
    edit(module, "tcp_sk(sk);\n", "tcp_sk(sk);\n\tint unused;\n")
    (finding,) = check_module(module).findings
    assert "the compiler has 1 warning" == finding.problem
    assert re.match(r"tcp_aimd/tcp_aimd\.c:17:\d+: warning: unused", finding.details[0])


def test_window_and_messages(module: Path) -> None:
    """A window beyond all bounds, messages for packets, and the host's time are reported."""
    edit(module, "return max(", 'pr_info("loss\\n");\n\treturn max(')
    time = 'u32 low, high;\n\tasm volatile("rdtsc" : "=a" (low), "=d" (high));'
    window = "tcp_snd_cwnd_set(tp, (1 << 20) + low % 1024);\n\tif (0)"
    edit(module, "if (!tcp_is_cwnd_limited(sk))", f"{time}\n\t{window}")
    result = CliRunner().invoke(program, ["module", "check", str(module)])
    assert result.exit_code == ExitStatus.FAILED
    assert "floods the path: its window reaches" in result.stdout
    assert "two runs of one scenario differ" in result.stdout


def test_does_not_compile(module: Path) -> None:
    """Errors of all files are findings, with file and line; floating point is one."""
    (module / "Kbuild").write_text("obj-m := tcp_aimd.o\ntcp_aimd-y := one.o two.o\n")
    texts = {
        "one": "int f(void)\n{\n\treturn missing;\n}\n",
        "two": "double g(int x)\n{\n\treturn x * 1.5;\n}\n",
    }
    for name, text in texts.items():
        (module / f"{name}.c").write_text(text)
    (module / "tcp_aimd.c").unlink()
    (finding,) = check_module(module).findings
    assert "it does not compile" == finding.problem
    lines = {"one": "3:", "two": ""}  # some compilers give the line of the function
    for name, line in lines.items():
        assert any(text.startswith(f"tcp_aimd/{name}.c:{line}") for text in finding.details)


def test_no_module(tmp_path: Path) -> None:
    """A folder without a module is refused with exit status 2."""
    result = CliRunner().invoke(program, ["module", "check", str(tmp_path)])
    assert result.exit_code == ExitStatus.BAD_INPUT
    assert f"folder is '{tmp_path}'" in result.stderr
