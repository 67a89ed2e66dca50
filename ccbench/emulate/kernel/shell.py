# SPDX-License-Identifier: Apache-2.0
"""Commands of the user at one end of a path in virtual time."""

from __future__ import annotations

import base64
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ccbench.base import validation
from ccbench.emulate.recording import CommandRecording
from ccbench.experiment.flow import Flow
from ccbench.experiment.receiver import Receiver
from ccbench.experiment.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ccbench.emulate.kernel.engine import KernelEngine
    from ccbench.experiment.path import NetworkPath
    from ccbench.run.run import Run

__all__ = ["LIMIT_S", "TIMED_OUT", "VirtualCommand"]

#: Exit status of a command that was ended at the limit, as of ``timeout``.
TIMED_OUT = 124

#: Virtual time after which a command is ended by default.
LIMIT_S = 600.0

#: The other host, if no server is given.
_NOBODY = "sleep infinity"

#: Scripts in the scratch folders of both programs, the command's standard input, and the file with
#: its exit status: another one than 0 is an error of a flow.
_COMMAND, _SERVER, _STATUS = "ccbench-command", "ccbench-server", "ccbench-status"
_INPUT = "ccbench-input"
_RUN_COMMAND = f"sh -c '{{before}}sh {_COMMAND} {{{{address}}}} {{{{port}}}}; echo $? >{_STATUS}'"
_RUN_SERVER = f"sh {_SERVER} {{address}} {{port}}"

#: Folder in the scratch folder that stands for the root of the host: there, programs start in their
#: working directory, and can write.
_WRITABLE = "files"

#: Maximum standard input in bytes, so that it is a file of a flow.
_MAX_INPUT_BYTES = 700_000

#: Environment variables that the command inherits.
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TERM", "USER")

_SAMPLE_INTERVAL_MS = 1000


@dataclass(frozen=True, kw_only=True)
class VirtualCommand:
    """A command behind a path, in virtual time.

    Parameters
    ----------
    words : sequence of str
        The command. As the server, it starts in the working directory of ccbench, where it sees
        the files, and can create others. ``{address}`` is the server's, and ``{port}`` one of its
        ports.
    path : NetworkPath
        The path between the command and the server.
    server : str
        Command line of the server at the other end, which starts a second earlier; without one,
        nobody answers.
    direction : {"down", "up"}
        Direction of the traffic that passes the bottlenecks: to the command, or from it.
    limit_s : float
        Virtual time after which the command is ended.
    standard_input : bytes
        What it reads from standard input.

    Examples
    --------
    >>> from ccbench import Bottleneck, NetworkPath
    >>> link = Bottleneck(bandwidth_mbps=12, queue_packets=64)
    >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=80)
    >>> VirtualCommand(words=["ping", "-c1", "{address}"], path=path).scenario().duration_s
    600.0
    """

    words: Sequence[str]
    path: NetworkPath
    server: str = ""
    direction: Literal["down", "up"] = "down"
    limit_s: float = LIMIT_S
    standard_input: bytes = field(default=b"", repr=False)

    def scenario(self) -> Scenario:
        """Return the scenario of the command.

        Raises
        ------
        InputError
            If the limit is invalid, the quotes of the server's command line, or the input is long.
        """
        if len(self.standard_input) > _MAX_INPUT_BYTES:
            allowed = f"at most {_MAX_INPUT_BYTES} bytes in virtual time"
            step = "write it to a file that the command reads"
            raise validation.bad("standard input", len(self.standard_input), allowed, step)
        try:
            server_words = shlex.split(self.server or _NOBODY)
        except ValueError as error:
            step = f"correct it: {str(error).rstrip('.').lower()}"
            raise validation.bad("server", self.server, "a command line", step) from None
        files = {_COMMAND: _script(self.words), _SERVER: _script(server_words, "exec")}
        if self.standard_input:
            files[_INPUT] = base64.encodebytes(self.standard_input).decode()
        before = f"base64 -d {_INPUT} | " if self.standard_input else ""
        ends = (_RUN_SERVER, _RUN_COMMAND.format(before=before))
        sender, receiver = ends if self.direction == "down" else ends[::-1]
        flow = Flow(
            kind="program",
            sender=sender,
            receiver=Receiver(program=receiver),
            server="sender" if self.direction == "down" else "receiver",
            env=tuple((name, os.environ[name]) for name in _INHERITED if name in os.environ),
            files=tuple(files.items()),
            keep=(_STATUS, f"{_WRITABLE}/*"),
            may_exit=True,
        )
        return Scenario(
            flows=(flow,),
            path=self.path,
            duration_s=self.limit_s,
            sample_interval_ms=_SAMPLE_INTERVAL_MS,
            name="shell",
        )

    def record(
        self, engine: KernelEngine, on_output: Callable[[bytes], object]
    ) -> tuple[CommandRecording, dict[str, bytes]]:
        """Run the command; return the recording of the first bottleneck, and the files it wrote.

        Parameters
        ----------
        engine : KernelEngine
        on_output : callable
            Called with what the command has printed since the last call.

        Raises
        ------
        InputError
            If a program is missing, or a command line is invalid.
        EngineError
            If the server fails.
        """
        scenario = self.scenario()
        engine.check(scenario)
        side = "receiver" if self.direction == "down" else "sender"

        def pass_on(program: str, printed: bytes) -> None:
            if program == f"0-{side}":
                on_output(printed)

        run = engine.run_live(scenario, pass_on)
        status, end_s = _end(run, side)
        queue = run.queue_events(0)
        provenance = {
            **run.provenance,
            "bottleneck": self.path.bottlenecks[0].to_dict(),
            "rtt_ms": self.path.rtt_ms,
            "direction": self.direction,
            "command": list(self.words),
        }
        recording = CommandRecording(
            status=status,
            duration_s=end_s,
            queue=queue[queue["time_ns"] <= end_s * 1e9].reset_index(drop=True),
            provenance=provenance,
        )
        folder = f"programs/0-{side}/kept/{_WRITABLE}{Path.cwd()}/"
        written = {
            name.removeprefix(folder): content
            for name, content in run.files.items()
            if name.startswith(folder)
        }
        return recording, written


def _script(words: Sequence[str], *before: str) -> str:
    """Return a script that executes a command in the writable form of the working directory.

    Its arguments are the values of the placeholders.

    Examples
    --------
    >>> print(_script(["curl", "{address}:{port}/a file"]).splitlines()[-1])
    curl ''"$1"':'"$2"'/a file'
    """
    line = shlex.join(words)  # words with braces are in single quotes
    for number, name in enumerate(("address", "port"), 1):
        line = line.replace(f"{{{name}}}", f"""'"${number}"'""")
    return "\n".join((*_folders(Path.cwd()), " ".join((*before, line)), ""))


def _folders(folder: Path) -> Iterator[str]:
    """Yield the lines of a script that make a folder and those above it, with links to their files.

    The links lead to the files of the host, which are read-only.

    Examples
    --------
    >>> for line in _folders(Path("/home")):
    ...     print(line)
    mkdir -p files/home
    find / -mindepth 1 -maxdepth 1 -exec ln -s -t files/ {} + 2>/dev/null
    find /home -mindepth 1 -maxdepth 1 -exec ln -s -t files/home {} + 2>/dev/null
    cd files/home
    """
    yield f"mkdir -p {shlex.quote(f'{_WRITABLE}{folder}')}"
    for each in (*reversed(folder.parents), folder):
        # Those that the path consists of exist.
        here, there = (shlex.quote(text) for text in (str(each), f"{_WRITABLE}{each}"))
        yield f"find {here} -mindepth 1 -maxdepth 1 -exec ln -s -t {there} {{}} + 2>/dev/null"
    yield f"cd {shlex.quote(f'{_WRITABLE}{folder}')}"


def _end(run: Run, side: str) -> tuple[int, float]:
    """Return the exit status of a program, and when it ended, in seconds."""
    programs = run.programs
    own = programs[programs["side"] == side].iloc[0]
    kept = run.files.get(f"programs/0-{side}/kept/{_STATUS}")
    if kept is None:
        return TIMED_OUT, run.scenario.duration_s
    return int(kept), float(own["end_ns"]) / 1e9
