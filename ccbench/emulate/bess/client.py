# SPDX-License-Identifier: Apache-2.0
"""A bessd of one's own, and the calls of its service.

BESS's protocol belongs to a BESS: it is compiled from the folder that has the program.
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

#: Packet buffers: for the longest queue and the longest delay, and as many again. As many as BESS
#: makes otherwise would take 700 MB of memory.
_BUFFERS = 65_536
#: How long bessd may take to start, to answer, and to end.
_PATIENCE_S = 20.0
_POLL_S = 0.02


class BessError(RuntimeError):
    """BESS has refused something, or does not answer."""


class Bess:
    """A running bessd, until it is closed.

    Parameters
    ----------
    directory : Path
        BESS's.
    folder : Path
        Where to put what this one needs.

    Raises
    ------
    BessError
        If it does not start, or speaks another protocol.
    """

    def __init__(self, directory: Path, folder: Path) -> None:
        self._pool = compiled(files.protocol(directory), folder / files.DESCRIPTORS)
        self._methods = self._pool.FindServiceByName(SERVICE).methods_by_name
        socket = folder / files.SOCKET
        self._output = folder / files.BESSD_OUTPUT
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    # Its worker never sleeps: it goes first as far as ordinary programs can.
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
        # Linux may weigh whole sessions against each other, and what is nice only within them.
        with suppress(OSError):
            Path(f"/proc/{self._process.pid}/autogroup").write_text("-20", encoding="utf-8")
        self._channel = grpc.insecure_channel(f"unix:{socket}")
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End it; once more does nothing."""
        self._channel.close()
        self._process.kill()
        self._process.wait(_PATIENCE_S)

    def waited_s(self) -> float:
        """Return how long the worker has waited for its core so far, which others had, in seconds.

        That is the thread that has done most.
        """
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        done = (tuple(map(int, file.read_text(encoding="utf-8").split())) for file in threads)
        _ran_ns, waited_ns, _slices = max(done, default=(0, 0, 0))
        return waited_ns / 1e9

    def call(self, call: Call) -> Any:
        """Make a call; return the answer, or what an answer of any kind holds.

        Raises
        ------
        BessError
            If BESS does not do it, or does not know such a call.
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
            raise BessError(f"this BESS knows another {rpc}: {error}") from error
        invoke = self._channel.unary_unary(
            f"/{SERVICE}/{rpc}",
            request_serializer=request_class.SerializeToString,
            response_deserializer=response_class.FromString,
        )
        try:
            response: Any = invoke(request, timeout=_PATIENCE_S)
        except grpc.RpcError as error:
            words = f"{error.details()}: {self._last_words()}"
            raise BessError(f"BESS does not answer to {rpc}: {words}") from error
        if response.error.code:  # the call itself was fine in any case
            words = response.error.errmsg or os.strerror(response.error.code)
            raise BessError(f"BESS refuses {rpc} {_name(document)}: {words}")
        if getattr(response, "fatal", False):
            raise BessError(f"BESS cannot run this path: {self._last_words()}")
        return self._unpacked(response.data) if rpc == "ModuleCommand" else response

    def _unpacked(self, data: Any) -> Any:
        kind = data.type_url.rpartition("/")[2]
        if not kind:
            return None
        message = message_factory.GetMessageClass(self._pool.FindMessageTypeByName(kind))()
        data.Unpack(message)
        return message

    def _wait(self) -> None:
        """Wait until it answers."""
        ready = grpc.channel_ready_future(self._channel)
        deadline_s = time.monotonic() + _PATIENCE_S
        while True:
            try:
                ready.result(timeout=_POLL_S)
            except grpc.FutureTimeoutError:
                status = self._process.poll()
                if status is not None:
                    words = f"status {status}: {self._last_words()}"
                    raise BessError(f"bessd has ended with {words}") from None
                if time.monotonic() > deadline_s:
                    raise BessError(f"bessd does not answer in {_PATIENCE_S:g} s") from None
            else:
                return

    def _last_words(self) -> str:
        lines = self._output.read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1] if lines else "it has said nothing"


def compiled(protobuf: Path, target: Path) -> descriptor_pool.DescriptorPool:
    """Return what the protocol files in a folder describe.

    Parameters
    ----------
    protobuf : Path
        The folder.
    target : Path
        Where the compiler is to write, which is read back.

    Raises
    ------
    BessError
        If they are not there, or cannot be compiled.
    """
    compiler = [sys.executable, "-m", "grpc_tools.protoc", f"-I{protobuf}", "--include_imports"]
    found = subprocess.run(
        [*compiler, f"--descriptor_set_out={target}", *_PROTOCOL],
        capture_output=True,
        text=True,
        check=False,
        cwd=protobuf,
    )
    if found.returncode:
        raise BessError(f"BESS's protocol in {protobuf} is not understood: {found.stderr.strip()}")
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes()).file:
        pool.Add(file)
    return pool


def _name(document: dict[str, Any]) -> str:
    """Return the name of what a request is about."""
    for inner in (document, document.get("class"), document.get("hook")):
        if isinstance(inner, dict):
            for key in ("name", "leaf_module_name", "hook_name"):
                if key in inner:
                    return repr(inner[key])
    return ""
