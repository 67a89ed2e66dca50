# SPDX-License-Identifier: Apache-2.0
"""Hooks and fixtures shared by all tests."""

from __future__ import annotations

import fcntl
import gc
import math
import os
import signal
import struct
import subprocess
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import HealthCheck, settings

from ccbench.base.locks import exclusive

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

    WritePcap: TypeAlias = Callable[[Path, Iterable[tuple[int, bytes, int]]], Path]

_EXAMPLES = os.environ.get("CCBENCH_EXAMPLES")

#: The settings of all property tests. Without CCBENCH_EXAMPLES every run draws the same 100
#: examples of each; with it, other ones each time (`make fuzz`). Nothing depends on speed.
settings.register_profile(
    "ccbench",
    max_examples=int(_EXAMPLES or 100),
    derandomize=_EXAMPLES is None,
    database=None,
    deadline=None,
    # Examples write the same file of a test's folder again.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("ccbench")


def pytest_configure() -> None:
    """Handle SIGINT as Python does, even if this process inherited that it is ignored.

    Otherwise the processes of tests inherit it as well. They do inherit that NumPy's library for
    matrices has one thread, as all cores are busy, and starting more takes a fifth of the CPU time
    of a short ``ccbench run``.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the first worker begin with tests in real time, and the others with long tests.

    Tests in real time mostly wait while others compute. xdist gives each worker an equal number of
    consecutive tests; a worker without tests takes over the last ones of another. So the first
    worker has the last of the other tests, which are the shortest.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1:
        return
    real_time = [item for item in items if "realtime" in item.path.parts]
    long = [item for item in items if item.get_closest_marker("long")]
    begun = {*real_time, *long}
    others = iter([item for item in items if item not in begun])
    some = math.ceil(len(long) / (workers - 1))
    first = [real_time, *(long[i * some : (i + 1) * some] for i in range(workers - 1))]
    share = len(items) // workers
    parts = [[*own, *islice(others, max(0, share - len(own)))] for own in reversed(first)]
    items[:] = [*chain.from_iterable(reversed(parts)), *others]


def pytest_collection_finish() -> None:
    """Exempt the modules and tests from garbage collections, which would go through them all."""
    gc.collect()
    gc.freeze()


_MACHINE = pytest.StashKey[IO[str]]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    """Hold the lock of :func:`pytest_runtest_setup` until the test has been torn down."""
    with (item.config.rootpath / "pyproject.toml").open() as machine:
        item.stash[_MACHINE] = machine
        try:
            return (yield)
        finally:  # not by closing alone: a forked process may still have the file open
            fcntl.flock(machine, fcntl.LOCK_UN)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Run tests marked `alone` while no other worker runs a test, unless they are skipped."""
    is_alone = item.get_closest_marker("alone") is not None
    with (item.config.rootpath / "README.md").open() as queue:  # waiting tests keep their order
        fcntl.flock(queue, fcntl.LOCK_EX)
        try:
            fcntl.flock(item.stash[_MACHINE], fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH)
        finally:
            fcntl.flock(queue, fcntl.LOCK_UN)


@pytest.fixture(autouse=True)
def own_cache(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Give each test its own cache folder; tests of the virtual kernel use the user's."""
    if request.node.get_closest_marker("kernel") is None:
        monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder that all workers of this session share."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """Return a folder of :func:`shared_folder`, which the first worker that needs it makes."""
    with exclusive(folder.with_suffix(".lock")):
        if not folder.exists():
            make(folder)
    return folder


def on_small_disk(folder: Path, size: str) -> tuple[str, ...]:
    """Return the start of a command that mounts a small disk at a folder, as root."""
    before = ("unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o size={size} none "$0" && "$@"')
    if subprocess.run([*before, str(folder), "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounting requires root")
    return (*before, str(folder))


def tcp_headers(
    number: int,
    length: int = 1500,
    *,
    identification: int | None = None,
    source: bytes = b"\x0a\x00\x00\x01",
    target: bytes = b"\x0a\x00\x00\x02",
    port: int = 443,
) -> bytes:
    """Return the headers of an IPv4 TCP packet that carries the `number`-th 1000 bytes."""
    mark = number % 65536 if identification is None else identification
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, mark, 0, 64, 6, 0, source, target)
    sequence = number * 1000 % 2**32
    return ip + struct.pack(">HHIIHHHH", port, 50000, sequence, 1, 0x5010, 1000, 0, 0)


def write_pcap(path: Path, packets: Iterable[tuple[int, bytes, int]]) -> Path:
    """Write a nanosecond pcap file of Ethernet frames: time, headers and length of each."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 1)]
    for time_ns, headers, length in packets:
        frame = bytes(12) + b"\x08\x00" + headers
        times = divmod(time_ns, 1_000_000_000)
        parts.append(struct.pack("<IIII", *times, len(frame), length + 14) + frame)
    path.write_bytes(b"".join(parts))
    return path


@pytest.fixture(name="tcp_headers")
def give_tcp_headers() -> Callable[..., bytes]:
    """Give :func:`tcp_headers`."""
    return tcp_headers


@pytest.fixture(name="write_pcap")
def give_write_pcap() -> WritePcap:
    """Give :func:`write_pcap`."""
    return write_pcap
