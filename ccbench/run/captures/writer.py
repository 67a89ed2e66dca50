# SPDX-License-Identifier: Apache-2.0
"""Captures at several points of a path, from packet blocks of pcapng.

The virtual kernel records packets as blocks of a pcapng file, so that a capture of millions of
packets is copied rather than converted. This module adds the section, interfaces and comments.

References
----------
M. Tuexen et al., "PCAP Now Generic (pcapng) Capture File Format", draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from ccbench.base import durable, result_folders
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from ccbench.experiment.scenario import Scenario

__all__ = ["BLOCK_BYTES", "FILE_SUFFIX", "check_path", "file_names", "points", "until", "write"]

#: Suffix of a capture in one file; other captures are folders.
FILE_SUFFIX = ".pcapng"

#: Size of a block without the bytes of its packet.
BLOCK_BYTES = 32

#: Maximum number of bytes of a packet, as in ``kernel_modules/include/ccbench.h``.
_MAX_BYTES = 128

_SECTION, _INTERFACE = 0x0A0D0D0A, 1
_BYTE_ORDER = 0x1A2B3C4D
_UNKNOWN_LENGTH = -1
_RAW_IP = 101
_COMMENT, _PROGRAM, _NAME, _RESOLUTION = 1, 4, 2, 9
_NANOSECONDS = 9  # 10 to the power of -9 s

#: Words of a block.
_LENGTH_WORD, _POINT_WORD, _TIME_WORD = 1, 2, 3
_WORD_BYTES = 4

#: Number of packets that are assigned to files at once.
_PACKETS_AT_ONCE = 100_000


def points(scenario: Scenario) -> list[str]:
    """Return the names of the points where packets are captured, in the order of their numbers.

    Examples
    --------
    >>> from ccbench import Bottleneck, Flow, NetworkPath, Scenario
    >>> link = Bottleneck(bandwidth_mbps=12, queue_packets=100)
    >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=50)
    >>> points(Scenario(flows=(Flow(),), path=path, duration_s=10))
    ['sender', 'receiver', 'bottleneck 0 in', 'bottleneck 0 out']
    """
    sides = [
        f"bottleneck {i} {side}" for i in range(len(scenario.path.links)) for side in ("in", "out")
    ]
    return ["sender", "receiver", *sides]


def file_names(points: Sequence[str]) -> list[str]:
    """Return the names of the files of a folder, one for each point.

    Examples
    --------
    >>> file_names(["sender", "bottleneck 0 in"])
    ['sender.pcapng', 'bottleneck-0-in.pcapng']
    """
    return [f"{point.replace(' ', '-')}{FILE_SUFFIX}" for point in points]


def check_path(path: str | Path, scenario: Scenario) -> Path:
    """Return `path` after checking that a capture can be written to it, before a long run.

    Raises
    ------
    InputError
        If it is a file without the suffix ``.pcapng``, a folder with other files, or cannot be
        written.
    """
    path = Path(path)
    if path.suffix == FILE_SUFFIX:
        if not path.parent.is_dir():
            raise InputError(f"capture is {path}; its folder must exist: mkdir -p {path.parent}")
        if path.is_dir() or not durable.is_possible(path):
            raise InputError(f"capture is {path}, which cannot be written: name another file")
    elif path.suffix or path.is_file():
        raise InputError(
            f"capture is {path}; it must be a file that ends with {FILE_SUFFIX}, or a folder, "
            f"for a file of each point: name for example {path.stem}{FILE_SUFFIX}"
        )
    else:
        result_folders.check_replaceable(path, "capture", file_names(points(scenario)))
    return path


def until(blocks: npt.NDArray[np.uint8], end_ns: int) -> npt.NDArray[np.uint8]:
    """Return the blocks of packets until a time in nanoseconds; blocks are in order of time."""
    end = len(blocks)
    while end:
        (size,) = struct.unpack_from("=I", blocks.data, end - _WORD_BYTES)
        high, low = struct.unpack_from("=II", blocks.data, end - size + _TIME_WORD * _WORD_BYTES)
        if (high << 32) + low <= end_ns:
            break
        end -= size
    return blocks[:end]


def write(  # noqa: PLR0913 - independent parts of the file
    path: Path,
    blocks: npt.NDArray[np.uint8],
    names: Sequence[str],
    *,
    comments: Mapping[int, str],
    program: str,
    description: str,
) -> None:
    """Write a capture, complete or not at all.

    Parameters
    ----------
    path : Path
        A file with an interface for each point, or a folder with a file for each.
    blocks : array of uint8
        Enhanced Packet Blocks without options, with raw IP packets and times in nanoseconds.
    names : sequence of str
        Names of the points; packets refer to them by number.
    comments : mapping of int to str
        Comments on packets, by the positions of their blocks in bytes.
    program, description : str
        Name of the program and description of the run.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    section = _section(program, description)
    if path.suffix == FILE_SUFFIX:
        with durable.new_file(path) as temporary, temporary.open("wb") as file:
            file.write(section)
            file.writelines(map(_interface, names))
            file.writelines(_with_comments(blocks.data, comments))
        return
    with durable.new_folder(path, replace=True) as folder, ExitStack() as stack:
        files = []
        for name, file_name in zip(names, file_names(names), strict=True):
            files.append(stack.enter_context((folder / file_name).open("wb")))
            files[-1].write(section + _interface(name))
        _write_by_point(files, blocks, comments)


def _section(program: str, description: str) -> bytes:
    body = struct.pack("=IHHq", _BYTE_ORDER, 1, 0, _UNKNOWN_LENGTH)
    options = _option(_COMMENT, description.encode()), _option(_PROGRAM, program.encode())
    return _block(_SECTION, b"".join((body, *options, _option(0))))


def _interface(name: str) -> bytes:
    options = _option(_NAME, name.encode()), _option(_RESOLUTION, bytes([_NANOSECONDS]))
    body = struct.pack("=HHI", _RAW_IP, 0, _MAX_BYTES)
    return _block(_INTERFACE, b"".join((body, *options, _option(0))))


def _option(code: int, value: bytes = b"") -> bytes:
    return struct.pack("=HH", code, len(value)) + value + bytes(-len(value) % _WORD_BYTES)


def _block(kind: int, body: bytes) -> bytes:
    size = struct.pack("=I", len(body) + 3 * _WORD_BYTES)
    return struct.pack("=I", kind) + size + body + size


def _with_comments(blocks: memoryview, comments: Mapping[int, str]) -> Iterator[bytes | memoryview]:
    """Yield the blocks with comments in turn."""
    at = 0
    for position, comment in sorted(comments.items()):
        yield blocks[at:position]
        kind, size = struct.unpack_from("=II", blocks, position)
        at = position + size
        body = bytes(blocks[position + 2 * _WORD_BYTES : at - _WORD_BYTES])
        yield _block(kind, body + _option(_COMMENT, comment.encode()) + _option(0))
    yield blocks[at:]


def _write_by_point(
    files: Sequence[IO[bytes]], blocks: npt.NDArray[np.uint8], comments: Mapping[int, str]
) -> None:
    """Append the blocks of each point to its file, where they refer to the only interface."""
    positions = sorted(comments)
    start = 0
    while start < len(blocks):
        *_, last = _starts(blocks[start:].view(np.uint32))
        end = start + last
        here = positions[bisect_left(positions, start) : bisect_left(positions, end)]
        own = {position - start: comments[position] for position in here}
        content = bytearray().join(_with_comments(blocks[start:end].data, own))
        words = np.frombuffer(content, np.uint32)
        bounds = np.fromiter(_starts(words), np.int64) // _WORD_BYTES
        points = words[bounds[:-1] + _POINT_WORD]  # a copy
        words[bounds[:-1] + _POINT_WORD] = 0
        for point in np.unique(points):
            files[point].write(words[np.repeat(points == point, np.diff(bounds))])
        start = end


def _starts(words: npt.NDArray[np.uint32]) -> Iterator[int]:
    """Yield the positions of a number of blocks, and then their end, in bytes."""
    view, at = words.data, 0
    for _ in range(_PACKETS_AT_ONCE):
        if at == len(words) * _WORD_BYTES:
            break
        yield at
        at += view[at // _WORD_BYTES + _LENGTH_WORD]
    yield at
