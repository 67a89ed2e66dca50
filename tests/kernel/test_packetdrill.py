# SPDX-License-Identifier: Apache-2.0
"""Linux's own packetdrill scripts of TCP, on the virtual kernel.

Each script states the packets and system calls of a connection, with their times. They are in
Linux's ``tools/testing/selftests/net/packetdrill``; ccbench contains none of them, nor packetdrill.
``CCBENCH_PACKETDRILL`` names the program, built from https://github.com/google/packetdrill, and
``CCBENCH_REPETITIONS=100`` sets how often each script runs, 1 by default; ``make packetdrill`` does
that.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench.emulate.kernel.source.guest_sources import OWN_MODULES
from ccbench.emulate.kernel.source.lookup import of_release
from ccbench.emulate.kernel.source.paths import kernels_dir
from tests.kernel.conftest import ask

if TYPE_CHECKING:
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

#: Releases with scripts, and the number of scripts that they had when this test was written. Stable
#: releases remove none.
RELEASES = {"6.12": 24, "7.3": 165}

REPETITIONS = int(os.environ.get("CCBENCH_REPETITIONS", "1"))

HERE = Path(__file__).parent / "packetdrill"

#: Folder of the scripts and sources of the modules that packetdrill needs, in Linux.
SCRIPTS = "tools/testing/selftests/net/packetdrill"
SOURCES = ("drivers/net/tun*.[ch]", "net/packet/af_packet.c", "net/packet/internal.h")
MODULES = ("checksum", "tun", "af_packet")

#: Programs that packetdrill and the scripts run, and the guest's search path.
PROGRAMS = ("sh", "ip", "tc", "sysctl", "ethtool", "nstat", "python3")
PROGRAM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

#: Addresses and constants, as on any machine: documentation's for the remote host. The cookies
#: follow from these and from the key in the scripts' ``defaults.sh``.
OPTIONS = (
    "--ip_version=ipv4",
    *("--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1", "--netmask_ip=255.255.0.0"),
    "--remote_ip=192.0.2.1",
    *("-D", "TFO_COOKIE=3021b9d889017eeb", "-D", "TFO_COOKIE_ZERO=b7c12350a90dc8f5"),
    *("-D", "CMSG_LEVEL_IP=SOL_IP", "-D", "CMSG_TYPE_RECVERR=IP_RECVERR"),
)

#: Tolerance of times in microseconds; for long waits an eighth of the wait, which is packetdrill's
#: default and the granularity of Linux's timers. Some scripts expect answers 2 ms after their
#: cause, and two name a later cause than the actual one, relying on packetdrill's default of 4 ms.
#: In virtual time, an answer takes no time, so that these are early by that much.
TOLERANCE_US = 1000
LATE_TOLERANCE_US = 2100
LATE = re.compile(r"^\s*\+0?\.002\s+>", re.MULTILINE)
LATE_CAUSE = {
    "tcp_eor_no-coalesce-large.pkt",
    "tcp_sack_sack-shift-sacked-7-3-4-8-9-fack.pkt",
}

#: Features of scripts that the virtual kernel lacks, by the words that request them.
LACKING = {
    "IPv6": re.compile(r"^--ip_version=ipv6$", re.MULTILINE),
    "unconditional SYN cookies": re.compile(r"net\.ipv4\.tcp_syncookies=2"),
}

#: Scripts that contradict the source of their own release. Linux 7.3.4 has this script, but not the
#: change of ``ipv4_default_advmss`` (the MTU of the device instead of that of the path) which it
#: tests. 6.12.117 has the change.
CONTRADICTED = {"tcp_advmss_pmtu_ipv4.pkt"}

#: A server whose SYN/ACK, repeated after the initial RTO of 1 s (RFC 6298), is never answered.
SYN_ACK = """\
`./defaults.sh`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000>
+0 > S. 0:0(0) ack 1 <mss {mss}>
+{times_s} > S. 0:0(0) ack 1 <mss 1460>
"""


@dataclass(frozen=True)
class Subject:
    """A kernel with packetdrill's modules, and the folder with the scripts of its release."""

    kernel: KernelBuild
    folder: Path

    @property
    def scripts(self) -> dict[str, str]:
        """The scripts that this kernel has the features for, by their names."""
        scripts = {path.name: path.read_text() for path in sorted(self.folder.glob("*.pkt"))}
        return {
            name: script
            for name, script in scripts.items()
            if not any(words.search(script) for words in LACKING.values())
        }

    def execute(self, script: str, root: Path, *options: str, count: int = 1) -> list[str]:
        """Execute a script several times in a guest; return the output of the failed times."""
        for name in ("dev", "host", "proc", "run", "tmp"):
            (root / name).mkdir(parents=True)
        run = root / "run"
        for module in MODULES:
            shutil.copy(self.kernel.module(module), run)
        shutil.copytree(self.folder, run / "scripts")
        shutil.copyfile(HERE / "set_sysctls.sh", run / "scripts/set_sysctls.py")
        (run / "scripts/script.pkt").write_text(script)
        shutil.copy(os.environ["CCBENCH_PACKETDRILL"], run / "packetdrill")
        preload = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(run / "preload.so")]
        subprocess.run([*preload, str(HERE / "preload.c")], check=True)
        command = ("/mnt/packetdrill", *OPTIONS, *options, "script.pkt")
        console = ask("packetdrill/guest.c", root, str(count), *command, kernel=self.kernel)
        ends = re.findall(r"(.*?)\nended with wait status (\d+)\n", console, re.DOTALL)
        assert len(ends) == count, console
        return [output for output, status in ends if status != "0"]


@pytest.fixture(scope="module", params=RELEASES)
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """Give the kernel and the scripts of a release."""
    release, folder = request.param, tmp_path_factory.mktemp("linux")
    if "CCBENCH_PACKETDRILL" not in os.environ:
        pytest.skip("CCBENCH_PACKETDRILL names no packetdrill")
    missing = [name for name in PROGRAMS if shutil.which(name, path=PROGRAM_PATH) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    tarballs = list((kernels_dir() / "sources").glob(f"linux-source-{release}*"))
    if not tarballs or of_release(release) is None:
        pytest.skip(f"Linux {release} is not built: ccbench kernel build {release}")
    unpack = ["tar", "-xf", str(tarballs[0]), "-C", str(folder), "--strip-components=1"]
    names = [f"*/{name}" for name in (f"{SCRIPTS}/*", *SOURCES)]
    subprocess.run([*unpack, "--wildcards", "--no-wildcards-match-slash", *names], check=True)
    modules = folder / "packetdrill"
    shutil.copytree(HERE / "modules", modules)
    for name in SOURCES:
        for file in folder.glob(name):
            shutil.copy(file, modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OWN_MODULES, str(modules))
        kernel = of_release(release)
    assert kernel is not None
    assert len(list((folder / SCRIPTS).glob("*.pkt"))) >= RELEASES[release]
    return Subject(kernel, folder / SCRIPTS)


def tolerance(name: str, script: str) -> str:
    """Return the option that sets the tolerance of a script's times."""
    is_late = LATE.search(script) or name in LATE_CAUSE
    return f"--tolerance_usecs={LATE_TOLERANCE_US if is_late else TOLERANCE_US}"


@pytest.mark.long
def test_scripts(subject: Subject, tmp_path: Path) -> None:
    """Every script passes each time, except those that contradict the source of this Linux."""

    def failures(name: str) -> list[str]:
        script = scripts[name]
        root = tmp_path / name
        return subject.execute(script, root, tolerance(name, script), count=REPETITIONS)

    scripts = subject.scripts
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = {
            f"{name}: {len(outputs)} of {REPETITIONS}": outputs[0]
            for name, outputs in zip(scripts, pool.map(failures, scripts), strict=True)
            if outputs
        }
    expected = {f"{name}: {REPETITIONS} of {REPETITIONS}" for name in CONTRADICTED & {*scripts}}
    assert failed.keys() <= expected, "\n".join(f"{name}\n{text}" for name, text in failed.items())


@pytest.mark.parametrize(
    ("mss", "times_s", "error"),
    [
        (1460, "1~+1.064", ""),
        (1459, "1~+1.064", "bad value in outbound TCP option"),
        (1460, ".9~+.998", "timing error"),
        (1460, "1.066~+1.2", "timing error"),
    ],
)
def test_wrong_scripts(
    subject: Subject, tmp_path: Path, mss: int, times_s: str, error: str
) -> None:
    """The RTO is 1 s plus at most a timer's 64 ms; scripts with others, or another MSS, fail."""
    script = SYN_ACK.format(mss=mss, times_s=times_s)
    options = (f"--tolerance_usecs={TOLERANCE_US}", "--tolerance_percent=0")
    outputs = subject.execute(script, tmp_path, *options)
    assert len(outputs) == bool(error)
    assert all(error in output for output in outputs)
