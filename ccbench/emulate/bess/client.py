# SPDX-License-Identifier: Apache-2.0
"""Private bessd process and calls of its service.

The protocol is specific to a build of BESS, and is compiled from the folder with the program.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

from ccbench.emulate.bess import files

if TYPE_CHECKING:
    from ccbench.emulate.bess.pipeline import Call

__all__ = ["SERVICE", "Bess", "BessError", "compiled"]

SERVICE = "bess.pb.BESSControl"
_PROTOCOL = (
    "service.proto",
    "bess_msg.proto",
    "error.proto",
    "module_msg.proto",
    "util_msg.proto",
    "ports/port_msg.proto",
)

#: Number of packet buffers: twice the longest queue and delay line. BESS's default would take
#: 700 MB of memory.
_BUFFERS = 65_536
#: Time limit for bessd's start, response and end, in seconds.
_TIMEOUT_S = 20.0
_POLL_S = 0.02


class BessError(RuntimeError):
    """A request refused by BESS, or no response."""


class Bess:
    """A running bessd, until it is closed.

    Parameters
    ----------
    directory : Path
        BESS's folder.
    folder : Path
        Folder for the files of this process.

    Raises
    ------
    BessError
        If it does not start, or has another protocol.
    """

    def __init__(self, directory: Path, folder: Path) -> None:
        self._pool = compiled(files.protocol(directory), folder / files.DESCRIPTORS)
        self._methods = self._pool.FindServiceByName(SERVICE).methods_by_name
        socket = folder / files.SOCKET
        self._output = folder / files.BESSD_OUTPUT
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    # Its worker never sleeps, so it has the highest priority of ordinary programs.
                    *("chrt", "--other", "0", "nice", "-n", "-20", str(files.program(directory))),
                    *("-f", "-m", "0", "-buffers", str(_BUFFERS)),
                    *("-i", str(folder / files.PID), "-grpc_url", f"unix:{socket}"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # 131,072 lines about each buffer
                stderr=output,
                cwd=folder,
                env={**os.environ, "GLOG_logtostderr": "1"},
                start_new_session=True,
            )
        # With autogroups, Linux applies nice values only within a session.
        with suppress(OSError):
            Path(f"/proc/{self._process.pid}/autogroup").write_text("-20", encoding="utf-8")
        self._channel = grpc.insecure_channel(f"unix:{socket}")
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process; further calls have no effect."""
        self._channel.close()
        self._process.kill()
        self._process.wait(_TIMEOUT_S)

    def waited_s(self) -> float:
        """Return the total time in seconds that the worker has waited for its core.

        The worker is the thread with the most CPU time.
        """
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        times = (tuple(map(int, file.read_text(encoding="utf-8").split())) for file in threads)
        _ran_ns, waited_ns, _slices = max(times, default=(0, 0, 0))
        return waited_ns / 1e9

    def call(self, call: Call) -> Any:
        """Make a call and return the response, or the content of a response of type Any.

        Raises
        ------
        BessError
            If BESS refuses the request, or has no such call.
        """
        rpc, document = call
        method = self._methods.get(rpc)
        if method is None:
            raise BessError(f"this BESS has no call {rpc}")
        request_class, response_class = (
            message_factory.GetMessageClass(kind)
            for kind in (method.input_type, method.output_type)
        )
        try:
            request = json_format.ParseDict(document, request_class(), descriptor_pool=self._pool)
        except json_format.ParseError as error:
            raise BessError(f"this BESS has another version of {rpc}: {error}") from error
        invoke = self._channel.unary_unary(
            f"/{SERVICE}/{rpc}",
            request_serializer=request_class.SerializeToString,
            response_deserializer=response_class.FromString,
        )
        try:
            response: Any = invoke(request, timeout=_TIMEOUT_S)
        except grpc.RpcError as error:
            reason = f"{error.details()}: {self._last_line()}"
            raise BessError(f"BESS does not respond to {rpc}: {reason}") from error
        if response.error.code:  # refused by a call that succeeded
            reason = response.error.errmsg or os.strerror(response.error.code)
            raise BessError(f"BESS refuses {rpc} {_name(document)}: {reason}")
        if getattr(response, "fatal", False):
            raise BessError(f"BESS cannot run this path: {self._last_line()}")
        return self._unpack(response.data) if rpc == "ModuleCommand" else response

    def _unpack(self, data: Any) -> Any:
        kind = data.type_url.rpartition("/")[2]
        if not kind:
            return None
        message = message_factory.GetMessageClass(self._pool.FindMessageTypeByName(kind))()
        data.Unpack(message)
        return message

    def _wait(self) -> None:
        """Wait until bessd responds."""
        ready = grpc.channel_ready_future(self._channel)
        deadline_s = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                ready.result(timeout=_POLL_S)
            except grpc.FutureTimeoutError:
                status = self._process.poll()
                if status is not None:
                    reason = f"status {status}: {self._last_line()}"
                    raise BessError(f"bessd has ended with {reason}") from None
                if time.monotonic() > deadline_s:
                    raise BessError(f"bessd does not respond within {_TIMEOUT_S:g} s") from None
            else:
                return

    def _last_line(self) -> str:
        lines = self._output.read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1] if lines else "no message"


def compiled(protobuf: Path, target: Path) -> descriptor_pool.DescriptorPool:
    """Compile the protocol files in a folder.

    Parameters
    ----------
    protobuf : Path
        The folder.
    target : Path
        Output file of the compiler.

    Raises
    ------
    BessError
        If the files are missing or cannot be compiled.
    """
    compiler = [sys.executable, "-m", "grpc_tools.protoc", f"-I{protobuf}", "--include_imports"]
    process = subprocess.run(
        [*compiler, f"--descriptor_set_out={target}", *_PROTOCOL],
        capture_output=True,
        text=True,
        check=False,
        cwd=protobuf,
    )
    if process.returncode:
        message = f"BESS's protocol in {protobuf} cannot be compiled: {process.stderr.strip()}"
        raise BessError(message)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes()).file:
        pool.Add(file)
    return pool


def _name(document: dict[str, Any]) -> str:
    """Return the name of a request's object."""
    for inner in (document, document.get("class"), document.get("hook")):
        if isinstance(inner, dict):
            for key in ("name", "leaf_module_name", "hook_name"):
                if key in inner:
                    return repr(inner[key])
    return ""
