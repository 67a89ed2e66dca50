# SPDX-License-Identifier: Apache-2.0
"""A stand-in for bessd: the same calls, and a small switch that really carries packets.

It is as strict as bessd about the order of calls, and fails on request by ``STAND_IN``:
``refuse=CALL`` answers that call with an error, ``die=CALL`` ends instead, ``slow`` has a link of
97 % of the rate, ``deaf`` carries nothing, ``lossy`` loses every tenth packet at its ports,
``forgetful`` does not write every tenth departure.

    python stand_in.py PROTOBUF -f -m 0 -buffers N -i PIDFILE -grpc_url unix:SOCKET
"""

from __future__ import annotations

import errno
import math
import os
import random
import socket
import struct
import sys
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import grpc
from google.protobuf import message_factory
from google.protobuf.json_format import ParseDict

from ccbench.emulate.bess.client import SERVICE, compiled

MODULES = {"PortInc", "PortOut", "Queue", "RandomSplit", "Timestamp", "QueueDelay"}
PCAP_HEADER = struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1500, 1)
OVERHEAD_BYTES = 24
ETH_P_ALL = 3
OUTGOING = 4


class Refusal(Exception):
    """An error answer of bessd."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


def need(condition: object, code: int, words: str) -> None:
    if not condition:
        raise Refusal(code, words)


class Switch:
    """The configuration, and the threads that carry packets."""

    def __init__(self, pool: Any, wanted_faults: str) -> None:
        self.pool = pool
        self.faults = wanted_faults
        self.reset()

    def reset(self) -> None:
        self.running = False
        self.workers: list[int] = []
        self.ports: dict[str, socket.socket] = {}
        self.modules: dict[str, Any] = {}
        self.kinds: dict[str, str] = {}
        self.next: dict[str, str] = {}
        self.classes: dict[str, int] = {}
        self.limited: dict[str, str] = {}
        self.burst = 32
        self.hooks: dict[tuple[str, str], BinaryIO] = {}
        self.waiting: deque[bytes] = deque()
        self.counts = {"enqueued": 0, "dequeued": 0, "dropped": 0}
        self.delayed: deque[tuple[float, bytes]] = deque()
        self.news = threading.Condition()

    # The calls, by name.

    def PauseAll(self, _: Any) -> dict[str, Any]:
        self.running = False
        return {}

    def ResetAll(self, _: Any) -> dict[str, Any]:
        need(not self.running, errno.EBUSY, "There is a running worker")
        self.reset()
        return {}

    def ResumeAll(self, _: Any) -> dict[str, Any]:
        need(self.workers, errno.EINVAL, "No worker")
        self.running = True
        for name, kind in self.kinds.items():
            if kind == "PortInc":
                self.start(self.carry, self.ports[self.modules[name].port], self.next[name])
            if kind == "Queue":
                self.start(self.serve, name)
            if kind == "QueueDelay":
                self.start(self.delay, name)
        return {}

    def AddWorker(self, request: Any) -> dict[str, Any]:
        need(request.core in range(os.cpu_count() or 1), errno.EINVAL, "Invalid core")
        self.workers.append(request.wid)
        return {}

    def CreatePort(self, request: Any) -> dict[str, Any]:
        self.need_pause()
        need(request.driver == "PMDPort", errno.ENOENT, f"No port driver '{request.driver}' found")
        kind, *settings = self.unpacked(request.arg).vdev.split(",")
        interface = dict(setting.split("=") for setting in settings)["iface"]
        need(kind.startswith("net_af_packet"), errno.ENODEV, f"No device '{kind}'")
        port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        port.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)
        port.bind((interface, ETH_P_ALL))
        self.ports[request.name] = port
        return {"name": request.name}

    def CreateModule(self, request: Any) -> dict[str, Any]:
        self.need_pause()
        kind, name = request.mclass, request.name
        need(kind in MODULES, errno.ENOENT, f"No module class '{kind}' found")
        need(name not in self.modules, errno.EEXIST, f"Module '{name}' already exists")
        arguments = self.unpacked(request.arg)
        if "Port" in kind:
            need(arguments.port in self.ports, errno.ENODEV, f"Port {arguments.port} not found")
        if kind == "Queue":
            size = arguments.size
            need(4 <= size <= 16384, errno.EINVAL, "must be in [4, 16384]")
            need(size & (size - 1) == 0, errno.EINVAL, "must be a power of 2")
        self.modules[name], self.kinds[name] = arguments, kind
        return {"name": name}

    def ConnectModules(self, request: Any) -> dict[str, Any]:
        self.need_pause()
        for name in (request.m1, request.m2):
            need(name in self.modules, errno.ENOENT, f"No module '{name}' found")
        need(request.m1 not in self.next, errno.EBUSY, f"Gate of '{request.m1}' is connected")
        self.next[request.m1] = request.m2
        return {}

    def ModuleCommand(self, request: Any) -> dict[str, Any]:
        need(request.name in self.modules, errno.ENOENT, f"No module '{request.name}' found")
        if request.cmd == "set_burst":
            self.burst = self.unpacked(request.arg).burst
            return {}
        need(request.cmd == "get_status", errno.ENOTSUP, f"No command '{request.cmd}'")
        kind = "type.googleapis.com/bess.pb.QueueCommandGetStatusResponse"
        return {"data": {"@type": kind, "count": len(self.waiting), **self.counts}}

    def AddTc(self, request: Any) -> dict[str, Any]:
        self.need_pause()
        traffic_class = getattr(request, "class")
        need(traffic_class.policy == "rate_limit", errno.EINVAL, "Invalid traffic class policy")
        need(traffic_class.resource == "bit", errno.EINVAL, "Invalid resource")
        need(
            traffic_class.wid == -1 or traffic_class.wid in self.workers,
            errno.EINVAL,
            "Unknown worker",
        )
        self.classes[traffic_class.name] = traffic_class.limit["bit"]
        return {}

    def UpdateTcParent(self, request: Any) -> dict[str, Any]:
        self.need_pause()
        traffic_class = getattr(request, "class")
        need(
            traffic_class.parent in self.classes,
            errno.ENOENT,
            f"Parent TC '{traffic_class.parent}' not found",
        )
        need(traffic_class.wid == -1, errno.EINVAL, "Both wid and parent specified")
        kind = self.kinds.get(traffic_class.leaf_module_name)
        need(kind == "Queue", errno.ENOENT, f"Module {traffic_class.leaf_module_name} has no task")
        self.limited[traffic_class.leaf_module_name] = traffic_class.parent
        return {}

    def CheckSchedulingConstraints(self, _: Any) -> dict[str, Any]:
        return {"fatal": not self.workers}

    def ConfigureGateHook(self, request: Any) -> dict[str, Any]:
        hook = request.hook
        need(hook.class_name == "TcpDump", errno.ENOENT, f"No such hook: {hook.class_name}")
        need(hook.module_name in self.modules, errno.ENOENT, f"No module '{hook.module_name}'")
        key = (hook.module_name, hook.WhichOneof("gate"))
        if not request.enable:
            self.hooks.pop(key).close()
            return {}
        path = Path(self.unpacked(hook.arg).fifo)
        need(path.exists(), errno.ENOENT, "Failed to open FIFO")
        file = path.open("ab", buffering=0)
        file.write(PCAP_HEADER)
        self.hooks[key] = file
        return {}

    def need_pause(self) -> None:
        need(not self.running, errno.EBUSY, "There is a running worker")

    def unpacked(self, packed: Any) -> Any:
        descriptor = self.pool.FindMessageTypeByName(packed.type_url.rpartition("/")[2])
        message = message_factory.GetMessageClass(descriptor)()
        packed.Unpack(message)
        return message

    # The packets.

    def start(self, work: Any, *arguments: Any) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()

    def carry(self, port: socket.socket, target: str) -> None:
        came = 0
        while True:
            frame, address = port.recvfrom(2048)
            if address[2] == OUTGOING or not self.running or "deaf" in self.faults:
                continue
            came += 1
            if "lossy" not in self.faults or came % 10:
                self.enter(target, frame)

    def enter(self, name: str, frame: bytes) -> None:
        self.note(name, "igate", frame)
        kind, arguments = self.kinds[name], self.modules[name]
        if kind == "PortOut":
            self.ports[arguments.port].send(frame)
        elif kind == "Queue":
            with self.news:
                if len(self.waiting) < arguments.size - 1:
                    self.waiting.append(frame)
                    self.counts["enqueued"] += 1
                    self.news.notify()
                else:
                    self.counts["dropped"] += 1
        elif kind == "QueueDelay":
            self.delayed.append((time.perf_counter() + arguments.delay / 1e3, frame))
        elif kind == "Timestamp" or random.random() >= arguments.drop_rate:
            self.enter(self.next[name], frame)

    def serve(self, name: str) -> None:
        rate = self.classes[self.limited[name]] * (0.97 if "slow" in self.faults else 1)
        free_s = math.inf
        while True:
            with self.news:
                if not self.waiting:  # otherwise the link is on time even if this thread is late
                    free_s = math.inf
                self.news.wait_for(lambda: self.waiting and self.running)
                burst = [self.waiting.popleft() for _ in range(min(self.burst, len(self.waiting)))]
            self.counts["dequeued"] += len(burst)
            for frame in burst:
                self.note(name, "ogate", frame)
                self.enter(self.next[name], frame)
            bits = sum(len(frame) + OVERHEAD_BYTES for frame in burst) * 8
            free_s = min(time.perf_counter(), free_s) + bits / rate
            while (left_s := free_s - time.perf_counter()) > 0:
                time.sleep(left_s)

    def delay(self, name: str) -> None:
        while True:
            time.sleep(0.0002)
            while self.delayed and self.delayed[0][0] <= time.perf_counter():
                self.enter(self.next[name], self.delayed.popleft()[1])

    def note(self, name: str, gate: str, frame: bytes) -> None:
        if (file := self.hooks.get((name, gate))) is not None:
            forgets = "forgetful" in self.faults and Path(file.name).name == "departures"
            if forgets and self.counts["dequeued"] % 10 == 0:
                return
            seconds, microseconds = divmod(time.time_ns() // 1000, 1_000_000)
            header = struct.pack("=IIII", seconds, microseconds, len(frame), len(frame))
            file.write(header + frame)


def main() -> None:
    protobuf, options = Path(sys.argv[1]), sys.argv[2:]
    wanted_faults = os.environ.get("STAND_IN", "")
    settings = dict(zip(options[1::2], options[2::2], strict=True))
    assert options[0] == "-f"
    assert settings["-m"] == "0"
    Path(settings["-i"]).write_text(str(os.getpid()), encoding="utf-8")
    pool = compiled(protobuf, Path(settings["-i"] + ".protocol"))
    switch = Switch(pool, wanted_faults)

    def handler(rpc: str, method: Any) -> grpc.RpcMethodHandler:
        request_class, response_class = (
            message_factory.GetMessageClass(kind)
            for kind in (method.input_type, method.output_type)
        )

        def answer(request: Any, _: Any) -> Any:
            if wanted_faults == f"die={rpc}":
                sys.stderr.write("the stand-in was told to die\n")
                sys.stderr.flush()
                os._exit(3)
            try:
                need(
                    wanted_faults != f"refuse={rpc}",
                    errno.ENOMEM,
                    "the stand-in was told to refuse",
                )
                answered = getattr(switch, rpc)(request)
                return ParseDict(answered, response_class(), descriptor_pool=pool)
            except Refusal as refusal:
                return response_class(error={"code": refusal.code, "errmsg": str(refusal)})

        return grpc.unary_unary_rpc_method_handler(
            answer, request_class.FromString, response_class.SerializeToString
        )

    methods = pool.FindServiceByName(SERVICE).methods_by_name
    handlers = {rpc: handler(rpc, method) for rpc, method in methods.items()}
    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
    server.add_insecure_port(settings["-grpc_url"])
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
