# SPDX-License-Identifier: Apache-2.0
"""A kernel with patches of its own, built once per session from the objects of the default one."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Flow
from ccbench.base.errors import InputError
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source import objects
from ccbench.emulate.kernel.source.build import build
from ccbench.emulate.kernel.source.lookup import installed, of_release
from tests.conftest import made_once
from tests.kernel.conftest import dumbbell

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench import Run
    from ccbench.experiment.scenario import Scenario

pytestmark = [pytest.mark.kernel, pytest.mark.long]

#: CUBIC's window after a loss is half of that before, instead of 0.7 of it.
BETA = """\
CUBIC halves its window.
--- a/net/ipv4/tcp_cubic.c
+++ b/net/ipv4/tcp_cubic.c
@@ -49,3 +49,3 @@
 static int fast_convergence __read_mostly = 1;
-static int beta __read_mostly = 717;	/* = 717/1024 (BICTCP_BETA_SCALE) */
+static int beta __read_mostly = 512;	/* = 512/1024 (BICTCP_BETA_SCALE) */
 static int initial_ssthresh __read_mostly;
"""

CCA = """\
// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include <net/tcp.h>

static u32 quarter_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) / 4, 2U);
}

static struct tcp_congestion_ops quarter __read_mostly = {
	.name		= "quarter",
	.owner		= THIS_MODULE,
	.ssthresh	= quarter_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static int __init quarter_register(void)
{
	return tcp_register_congestion_control(&quarter);
}
module_init(quarter_register);
"""

_ADDED = "".join(f"+{line}" for line in CCA.splitlines(keepends=True))

#: A new CCA whose window after a loss is a quarter of that before.
NEW = f"""\
diff --git a/Documentation/networking/quarter.rst b/Documentation/networking/quarter.rst
new file mode 100644
--- /dev/null
+++ b/Documentation/networking/quarter.rst
@@ -0,0 +1 @@
+Builds do not read this file.
diff --git a/net/ipv4/Kconfig b/net/ipv4/Kconfig
--- a/net/ipv4/Kconfig
+++ b/net/ipv4/Kconfig
@@ -482,1 +482,4 @@
+config TCP_CONG_QUARTER
+	tristate "Quarter"
+
 config TCP_CONG_BIC
diff --git a/net/ipv4/Makefile b/net/ipv4/Makefile
--- a/net/ipv4/Makefile
+++ b/net/ipv4/Makefile
@@ -48,1 +48,2 @@
+obj-$(CONFIG_TCP_CONG_QUARTER) += tcp_quarter.o
 obj-$(CONFIG_TCP_CONG_BIC) += tcp_bic.o
diff --git a/net/ipv4/tcp_quarter.c b/net/ipv4/tcp_quarter.c
new file mode 100644
--- /dev/null
+++ b/net/ipv4/tcp_quarter.c
@@ -0,0 +1,{len(CCA.splitlines())} @@
{_ADDED}"""


def _sawtooth(cca: str) -> Scenario:
    """Return a scenario with a loss every few seconds."""
    return dumbbell(Flow(cca=cca), rtt_ms=20, queue_packets=30, duration_s=40, sample_interval_ms=5)


def _cut(run: Run) -> float:
    """Return the window after a loss as a share of that before, as the median of all losses."""
    samples = run.flows[run.flows["time_ns"] > 3e9]  # after slow start
    is_recovering = (samples["state"] == "recovery").to_numpy().astype(int)
    windows, thresholds = (samples[f"{name}_packets"].to_numpy() for name in ("cwnd", "ssthresh"))
    (losses,) = np.nonzero(np.diff(is_recovering) == 1)
    assert len(losses) >= 5
    return float(np.median(thresholds[losses + 1] / windows[losses]))


def _release() -> str:
    """Return the first two numbers of the release of the installed kernel."""
    return ".".join(installed().release.split(".")[:2])


@pytest.fixture(scope="session")
def released() -> KernelEngine:
    """Give the engine with the kernel as released: a patched one may be in use."""
    kernel = of_release(_release())
    if kernel is None:
        pytest.skip(f"Linux {_release()} is not built: ccbench kernel build {_release()}")
    return KernelEngine(kernel)


@pytest.fixture(scope="session")
def patched_cache(shared_folder: Path, released: KernelEngine) -> Path:
    """Give a cache with a patched kernel, built from the user's source and objects."""
    home = released.kernel.path.resolve().parents[1]
    programs = (home / "trees").glob("[!.]*/linux")
    (tree,) = (path.parent for path in programs if path.samefile(released.kernel.linux))
    release = _release()
    if not [*(home / "sources").glob(f"linux-source-{release}_*")]:
        pytest.skip(f"the cache has no source of Linux {release}: ccbench kernel build {release}")
    if not (tree / objects.FILE).exists():
        pytest.skip(f"{tree} was built before objects were stored: remove and build it")

    def make(cache: Path) -> None:
        for path in (home / "sources", tree, released.kernel.path.resolve()):
            link = cache / "kernel" / path.relative_to(home)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
        files = [cache / "0001-beta.patch", cache / "0002-quarter.patch"]
        for file, text in zip(files, (BETA, NEW), strict=True):
            file.write_text(text)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CCBENCH_CACHE", str(cache))
            build(release=release, patch=files)

    return made_once(shared_folder / "patched", make)


@pytest.fixture
def patched(patched_cache: Path, monkeypatch: pytest.MonkeyPatch) -> KernelEngine:
    """Give the engine with the patched kernel."""
    with monkeypatch.context() as patch:
        patch.setenv("CCBENCH_CACHE", str(patched_cache))
        return KernelEngine(installed())


def test_modules(released: KernelEngine, patched: KernelEngine, patched_cache: Path) -> None:
    """Modules that no patch concerns are those of the released kernel, and not compiled again."""
    if not (released.kernel.path / objects.FILE).exists():
        pytest.skip("the released kernel's modules were compiled before objects were stored")
    ours, theirs = ((one.kernel.path / "root" / "modules") for one in (patched, released))
    names = sorted(file.name for file in theirs.glob("*.ko"))
    packaged = [name for name in names if not released.kernel.modules[name[:-3]].is_own]
    assert {*packaged} <= {file.name for file in ours.iterdir()}
    for name in packaged:
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    (log,) = (patched_cache / "kernel" / "logs").glob(f"modules-{patched.kernel.path.name}.log")
    lines = log.read_text(encoding="utf-8").splitlines()
    glue = (".mod.o", ".module-common.o")  # of each module and build
    assert [line for line in lines if " CC [M] " in line and not line.endswith(glue)] == []


def test_changed_cca(released: KernelEngine, patched: KernelEngine) -> None:
    """CUBIC with another beta cuts its window to that share of it, and the released one to 0.7."""
    scenario = _sawtooth("cubic")
    assert _cut(released.run(scenario)) == pytest.approx(717 / 1024, abs=0.03)
    assert _cut(patched.run(scenario)) == pytest.approx(512 / 1024, abs=0.03)


def test_new_cca(released: KernelEngine, patched: KernelEngine) -> None:
    """A CCA that a patch adds with its option can be used, on the patched kernel only."""
    scenario = _sawtooth("quarter")
    assert _cut(patched.run(scenario)) == pytest.approx(1 / 4, abs=0.03)
    with pytest.raises(InputError, match="quarter"):
        released.run(scenario)


def test_other_ccas(released: KernelEngine, patched: KernelEngine) -> None:
    """A CCA that the patches do not change behaves as on the released kernel.

    Not in every byte: the new CCA, which is initialised at boot, changes Linux's random numbers.
    """
    first, second = (one.run(_sawtooth("reno")) for one in (released, patched))
    assert _cut(second) == pytest.approx(_cut(first), abs=0.02)
    assert second.queueing_delay_ms() == pytest.approx(first.queueing_delay_ms(), rel=0.02)


def test_provenance(released: KernelEngine, patched: KernelEngine) -> None:
    """Runs state release, name and patches, and are stored apart from those of the release."""
    scenario = dumbbell(Flow(cca="reno"), duration_s=1)
    provenance = patched.run(scenario).provenance
    assert provenance["kernel_release"] == released.kernel.release
    assert provenance["kernel_name"] == f"{_release()}-beta-quarter"
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in (BETA, NEW)]
    assert [patch["sha256"] for patch in provenance["kernel_patches"]] == digests
    assert patched.identity(scenario) != released.identity(scenario)
