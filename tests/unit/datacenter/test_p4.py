# SPDX-License-Identifier: Apache-2.0
"""The P4 program of BFC, executed by the interpreter of BMv2's JSON."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from ccbench.base.errors import CcbenchError, InputError, MissingRequirement
from ccbench.cli._status import ExitStatus
from ccbench.cli.main import program as cli
from ccbench.datacenter.p4.bmv2 import check_all
from ccbench.datacenter.p4.driven import Driven, Held, Twins
from ccbench.datacenter.p4.implementation import (
    DRIVER_PORT,
    HOLDING_PORT,
    RECIRCULATION_PORT,
    RECIRCULATION_SESSION,
    Interpreted,
    configure,
    data_packet,
    message_packet,
    queue_named,
    read_message,
    refresh_packet,
    table_entries,
)
from ccbench.datacenter.p4.interpreter import Machine, Sent
from ccbench.datacenter.p4.interpreter.state import Leftovers, PacketState
from ccbench.datacenter.p4.load import LOADS
from ccbench.datacenter.p4.paced import paced_scenarios
from ccbench.datacenter.p4.program import Program
from ccbench.datacenter.p4.sources import (
    COMPILED,
    DIGEST,
    compile_program,
    load_compiled,
    source_digest,
    source_folder,
)
from ccbench.datacenter.packet import NOT_IP
from ccbench.datacenter.switch import Bitmap, Flow, Packet, Settings, Signal
from ccbench.datacenter.vectors import (
    Answer,
    Departure,
    Refresh,
    SwitchScenario,
    check,
    random_scenarios,
    rules,
)
from tests.unit.datacenter.conftest import NEEDS_BMV2

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = Settings(speeds_mbps=(8000,) * 3, queues=5, upstream_queues=8, hrtt_ns=3000)
PACKET = Packet(flow=Flow(1, 2, 3, 4), ingress=0, egress=1, upstream_queue=5)


class Device:
    """The interpreter as a driver sees a switch; queues are empty at once."""

    def __init__(self, program: Program) -> None:
        machine = Machine(program, {RECIRCULATION_SESSION: RECIRCULATION_PORT})
        self.insert = machine.insert
        self.set_default = machine.set_default
        self.read = machine.read
        self.write = machine.write
        self._machine = machine
        self._sent: list[Sent] = []

    def send(self, port: int, data: bytes) -> None:
        """Process an arriving packet as far as possible."""
        waiting = self._machine.ingress(data, port, 12_345)
        while waiting:
            sent, following = self._machine.egress(waiting.pop(0), 54_321)
            self._sent += sent
            waiting += following

    def listen(self) -> list[Sent]:
        """Return the packets sent."""
        sent, self._sent = self._sent, []
        return sent


@pytest.fixture(scope="module", name="program")
def _program() -> Program:
    return load_compiled()


class TestVectors:
    @pytest.mark.parametrize("scenario", rules(), ids=lambda scenario: scenario.name)
    def test_rules(self, program: Program, scenario: SwitchScenario) -> None:
        """The program follows the rules of the thesis."""
        assert check(scenario, Interpreted(program, scenario.settings)) is None

    def test_random_scenarios(self, program: Program) -> None:
        """Over hundreds of packets each it decides as the reference does."""
        for scenario in random_scenarios(6, packets=200, seed=2):
            assert check(scenario, Interpreted(program, scenario.settings)) is None

    def test_reordered_time_stamps(self, program: Program) -> None:
        """Time stamps may run backwards between packets, and decisions stay correct."""
        for scenario in random_scenarios(4, packets=200, seed=5, waits_ns=20_000):
            times = [step.at_ns for step in scenario.steps]
            assert times != sorted(times)
            assert check(scenario, Interpreted(program, scenario.settings)) is None

    def test_paced_scenarios(self, program: Program) -> None:
        """The scenarios for BMv2 in real time pass in the interpreter, and pause and resume."""
        for scenario in paced_scenarios(4):
            assert check(scenario, Interpreted(program, scenario.settings)) is None
            kinds = [signal.kind for step in scenario.steps for signal in step.answer.signals]
            assert kinds.count("pause") == kinds.count("resume") > 0

    def test_driver_as_traffic_manager(self, program: Program) -> None:
        """With the driver as traffic manager the program decides and sends the same bytes."""
        for scenario in (*rules(), *random_scenarios(2, packets=100, seed=4)):
            driven = Driven(Device(program), scenario.settings)
            managed = Twins(driven, Interpreted(program, scenario.settings))
            assert check(scenario, managed) is None

    def test_registers_end_at_zero(self, program: Program) -> None:
        """When all packets have left, all counts are 0: no leak in queues, flows or pauses."""
        (scenario,) = random_scenarios(1, packets=150, seed=3)
        form = Interpreted(program, scenario.settings)
        assert check(scenario, form) is None
        for name in ("queue_bytes", "busy_queues", "flow_size", "pause_counter", "pausing"):
            size, _ = program.registers[program.register(name)]
            assert not any(form.machine.read(name, index) for index in range(size))


class TestBMv2:
    pytestmark = NEEDS_BMV2

    def test_agrees(self) -> None:
        """On BMv2 the program answers, sends and counts as in the interpreter."""
        stepped = (*rules(), *random_scenarios(2, packets=100))
        assert set(check_all(stepped, paced_scenarios(1)).values()) == {None}

    def test_under_load(self) -> None:
        """At 600 and 1,500 packets/s flows keep their queues, and lost headers are repaired."""
        assert set(check_all((), (), LOADS).values()) == {None}


class TestProgram:
    def test_compiled_program_is_current(self) -> None:
        """The compiled program is that of the current sources."""
        assert DIGEST.read_text().strip() == source_digest(source_folder())

    def test_flow_table_size(self, program: Program) -> None:
        """The table has 100 entries per queue (3.3.3.1), and one more for each port's incast."""
        ports, _ = program.registers[program.register("busy_queues")]
        queues, _ = program.registers[program.register("queue_bytes")]
        entries = {program.registers[program.register(f"flow_{part}")][0] for part in _FLOW_TABLE}
        assert entries == {100 * queues + ports}

    def test_memory(self, program: Program) -> None:
        """The pause counter is small beside the flow table, whose entries take few bytes."""
        flows = sum(_bits(program, f"flow_{part}") for part in _FLOW_TABLE)
        entries, _ = program.registers[program.register("flow_size")]
        # 400 KB for 76,000 entries on the simulated switch, with clocks of half the width.
        assert flows / 8 / entries <= 400e3 / 76e3 + 2
        assert _bits(program, "pause_counter") + _bits(program, "pausing") < flows / 10

    def test_shared_constants(self) -> None:
        """Constants shared by driver and program are the same in both."""
        text = (source_folder() / "v1model" / "sizes.p4").read_text()
        sizes = {
            name: int(value)
            for name, value in re.findall(r"^#define (\w+) (\d+)", text, re.MULTILINE)
        }
        largest = Settings(
            speeds_mbps=(1000,) * sizes["PORTS"],
            queues=sizes["QUEUES"],
            upstream_queues=sizes["UPSTREAM_QUEUES"],
            flow_entries=sizes["FLOW_ENTRIES"],
        )
        assert list(table_entries(largest))
        for changed in (
            {"speeds_mbps": (1000,) * (sizes["PORTS"] + 1)},
            {"queues": sizes["QUEUES"] + 1, "upstream_queues": 8},
            {"upstream_queues": sizes["UPSTREAM_QUEUES"] + 1},
            {"flow_entries": sizes["FLOW_ENTRIES"] + 1},
        ):
            with pytest.raises(InputError, match=r"bfc\.p4 for BMv2"):
                list(table_entries(dataclasses.replace(largest, **changed)))
        assert sizes["FLOW_TABLE"] == sizes["PORTS"] * (sizes["FLOW_ENTRIES"] + 1)
        assert sizes["QUEUE_TABLE"] == sizes["PORTS"] * sizes["QUEUES"]
        assert sizes["PAUSE_TABLE"] == sizes["PORTS"] * sizes["UPSTREAM_QUEUES"]
        assert f"DRIVER_PORT = {DRIVER_PORT};" in text
        assert f"HOLDING_PORT = {HOLDING_PORT};" in text

    def test_shared_registers_are_updated_atomically(self, program: Program) -> None:
        """Registers that ingress and egress change are changed in one atomic action of BMv2."""
        groups = [
            {program.register(name) for name in names}
            for names in (("queue_bytes", "busy_queues"), ("congested_packets", "congesting"))
        ]
        for action in program.actions.values():
            written = {
                parameter["value"]
                for primitive in action["primitives"]
                if primitive["op"] == "register_write"
                for parameter in primitive["parameters"][:1]
            }
            read = {
                primitive["parameters"][1]["value"]
                for primitive in action["primitives"]
                if primitive["op"] == "register_read"
            }
            for shared in groups:
                if written & shared:
                    assert written == read == shared


class TestLostHeaders:
    """Recirculated headers dropped by the switch, as on BMv2 under load."""

    def congested(self, program: Program, *, lost: bool) -> Interpreted:
        """Return a switch that three packets have congested and left, with or without headers."""
        form = Interpreted(program, SETTINGS)
        for _ in range(4):
            form.answer(0, PACKET)
        assert form.answer(0, Refresh(0)) == Answer(bitmap=frozenset({5}))
        for number in range(4):
            if lost:
                form.machine.egress(form._held[number], 0)  # and its recirculated header is lost
            else:
                form.answer(0, Departure(number))
        return form

    def test_refresh_resumes(self, program: Program) -> None:
        """When no queued packet asks for a pause, the refresh resumes, and clears all state."""
        form = self.congested(program, lost=True)
        assert form.machine.read("pausing", 0) == 1 << 5
        assert form.answer(0, Refresh(0)) == Answer(bitmap=frozenset())
        assert form.machine.read("pausing", 0) == 0

    def test_refresh_pauses(self, program: Program) -> None:
        """While a packet that asked for the pause waits, the refresh names its queue."""
        form = Interpreted(program, SETTINGS)
        for _ in range(5):
            form.answer(0, PACKET)
        for number in range(4):
            form.machine.egress(form._held[number], 0)
            assert form.answer(0, Refresh(0)) == Answer(bitmap=frozenset({5}))

    def test_next_congestion(self, program: Program) -> None:
        """After the refresh the next congestion causes one pause and one resume."""
        form = self.congested(program, lost=True)
        form.answer(0, Refresh(0))
        signals = [form.answer(0, PACKET).signals for _ in range(4)]
        assert [*filter(None, signals)] == [(Signal("pause", 0, 5),)]
        signals = [form.answer(0, Departure(number)).signals for number in range(4, 8)]
        assert [*filter(None, signals)] == [(Signal("resume", 0, 5),)]

    def test_late_header(self, program: Program) -> None:
        """A header that returns after the refresh has resumed its queue has no effect."""
        form = Interpreted(program, SETTINGS)
        for _ in range(4):
            form.answer(0, PACKET)
        copies = [form.machine.egress(form._held[number], 0)[1] for number in range(4)]
        assert form.answer(0, Refresh(0)) == Answer(bitmap=frozenset())
        for waiting in copies:
            assert form._settle(waiting, 0) == ([], [])
        assert not any(form.machine.read_all("flow_size"))

    def test_flow_expires(self, program: Program) -> None:
        """A flow whose headers were lost gets a new queue after a second without packets."""
        form = self.congested(program, lost=True)
        assert form.answer(900_000_000, PACKET).queue == 0
        form.machine.egress(form._held[4], 900_000)
        assert form.answer(2_000_000_000, PACKET).queue == 1

    def test_without_loss(self, program: Program) -> None:
        """A refresh after the resume has no effect."""
        form = self.congested(program, lost=False)
        assert form.machine.read("pausing", 0) == form.machine.read("congesting", 0) == 0
        assert form.answer(0, Refresh(0)) == Answer(bitmap=frozenset())


class TestOnTheWire:
    def machine(self, program: Program) -> Interpreted:
        """Return a switch of three ports."""
        return Interpreted(program, SETTINGS)

    def test_neighbour_without_bfc(self, program: Program) -> None:
        """The header with the queue is inserted for BFC neighbours and removed for others."""
        form = self.machine(program)
        plain = data_packet(dataclasses.replace(PACKET, upstream_queue=None))
        form.machine.insert("neighbour", (1,), "set_neighbour", (0,))
        for data in (plain, data_packet(PACKET)):
            (waiting,) = form.machine.ingress(data, 0, 0)
            ((sent,), _) = form.machine.egress(waiting, 0)
            assert sent.data[12:14] == b"\x08\x00"
            assert sent.data[14:42] == plain[14:42]
        (waiting,) = form.machine.ingress(plain, 0, 0)
        form.machine.insert("neighbour", (1,), "set_neighbour", (1,))
        ((sent,), _) = form.machine.egress(waiting, 0)
        assert sent.data[12:14] == b"\x88\xb5"
        assert sent.data[20:48] == plain[14:42]
        assert len(sent.data) == len(plain) + 6

    def test_pause_message(self, program: Program) -> None:
        """A pause is only a header, sent to the address that no bridge forwards."""
        form = self.machine(program)
        sent: list[Sent] = []
        for _ in range(4):
            waiting = form.machine.ingress(data_packet(PACKET), 0, 0)
            sent, _held = form._settle(waiting, 0)
        (pause,) = sent
        assert read_message(pause) == Signal("pause", 0, 5)
        assert len(pause.data) <= 64
        assert pause.data[:6] == bytes.fromhex("0180c2000001")

    def test_refresh_needs_the_driver(self, program: Program) -> None:
        """Refreshes are answered only to the driver, and only for existing ports."""
        form = self.machine(program)
        assert form.machine.ingress(refresh_packet(0), 1, 0) == []
        assert form.machine.ingress(refresh_packet(16), DRIVER_PORT, 0) == []
        assert len(form.machine.ingress(refresh_packet(0), DRIVER_PORT, 0)) == 1

    def test_invalid_packets(self, program: Program) -> None:
        """Unknown destinations, unknown ports and truncated packets change nothing."""
        form = self.machine(program)
        data = data_packet(PACKET)
        for wrong in (b"", data[:10], bytes(64), b"\xff" * 64, data_packet(PACKET)[:13]):
            assert form.machine.ingress(wrong, 0, 0) == []
        assert form.machine.ingress(data, 200, 0) == []
        assert form.machine.ingress(message_packet(Signal("pause", 0, 1)), 300, 0) == []
        assert not any(form.machine.read("busy_queues", port) for port in range(16))

    def test_held_packets(self, program: Program) -> None:
        """Packets held by the driver do not leave; their queue counts as full until released."""
        device = Device(program)
        driven = Driven(device, SETTINGS)
        driven.answer(0, PACKET)
        driven.answer(0, Signal("pause", 1, 0))
        held = Held.read(driven._held[0].data)
        assert (held.port, held.queue, held.length) == (1, 0, PACKET.length_bytes)
        assert device.read("busy_queues", 1) == 1
        assert device.listen() == []
        device.send(HOLDING_PORT, held.data)
        (left,) = device.listen()
        assert (left.port, queue_named(left)) == (1, 0)
        assert device.read("busy_queues", 1) == 0

    def test_departure_time(self, program: Program) -> None:
        """A flow's sticky time starts when its packet left: BMv2 gives the header no time."""
        form = self.machine(program)
        form.answer(1_000_000, PACKET)
        form.answer(9_000_000, Departure(0))
        assert max(form.machine.read_all("flow_touched")) == 9000

    def test_packet_without_ports(self) -> None:
        """ICMP with ports, or a fragment with ports, is an error, not a wrong flow."""
        for packet in (
            dataclasses.replace(PACKET, flow=Flow(1, 2, 3, 4, protocol=1)),
            dataclasses.replace(PACKET, shape="fragment"),
        ):
            with pytest.raises(InputError, match="has none: set them to 0"):
                data_packet(packet)

    def test_message_round_trip(self) -> None:
        """Messages written by the driver are read back unchanged."""
        for message in (Signal("resume", 2, 31), Bitmap(2, frozenset({0, 31}))):
            assert read_message(Sent(2, message_packet(message))) == message
        assert read_message(Sent(2, data_packet(PACKET))) is None


class TestInterpreter:
    def test_register_bounds(self, program: Program) -> None:
        """Unlike release builds of BMv2 the interpreter checks the bounds of registers."""
        machine = Machine(program, {1: RECIRCULATION_PORT})
        machine.insert(
            "forward", (int.from_bytes(data_packet(PACKET)[:6], "big"),), "to_port", (1, 0)
        )
        machine.set_default("settings", "configure", (7, 32, 50_000, 0, 65_536, 0))
        machine.write("random_state", 0, 1)
        packets = [dataclasses.replace(PACKET, flow=Flow(source, 2, 3, 4)) for source in range(50)]
        with pytest.raises(CcbenchError, match="a bug in the program"):
            _all_arrive(machine, packets)

    def test_unknown_primitive(self, program: Program, tmp_path: Path) -> None:
        """An unimplemented primitive is an error that names it."""
        text = COMPILED.read_text().replace('"op":"register_write"', '"op":"count"')
        path = tmp_path / "other.json"
        path.write_text(text)
        form = Interpreted(program, SETTINGS)
        form.machine = Machine(Program.load(path), {1: RECIRCULATION_PORT})
        configure(form.machine, SETTINGS)
        with pytest.raises(InputError, match=r"primitive .*count"):
            form.answer(0, PACKET)

    def test_undefined_values(self, program: Program) -> None:
        """Fields of an absent header have another value in each packet."""
        arp = data_packet(dataclasses.replace(PACKET, flow=NOT_IP, length_bytes=64))
        machine = Interpreted(program, SETTINGS).machine
        actual = set()
        for _ in range(9):
            (waiting,) = machine.ingress(arp, 0, 0)
            (header,) = (name for name in program.widths if "ipv4" in name)
            assert header not in waiting.state.valid
            actual.add(waiting.state.read((header, "source")))
        assert len(actual) == 9

    def test_new_header(self, program: Program) -> None:
        """A new header has undefined values until they are written."""
        (header,) = (name for name in program.widths if "ipv4" in name)
        actual = set()
        for number in range(9):
            state = PacketState({}, set(), Leftovers(program.widths, number))
            state.add_header(header)
            actual.add(tuple(state.fields.values()))
        assert len(actual) == 9

    @pytest.mark.parametrize("text", ["", "{}", "[1]", '{"__meta__": {"version": [9, 0]}}'])
    def test_other_files(self, tmp_path: Path, text: str) -> None:
        """A file that is not BMv2's JSON is named."""
        path = tmp_path / "wrong.json"
        path.write_text(text)
        with pytest.raises(InputError, match=r"wrong\.json"):
            Program.load(path)

    def test_unknown_names(self, program: Program) -> None:
        """Unknown names of tables, actions and registers are errors."""
        with pytest.raises(InputError, match="tables named 'nothing'"):
            program.table("nothing")
        with pytest.raises(InputError, match="no action 'nothing'"):
            program.action(program.table("forward"), "nothing")
        with pytest.raises(InputError, match="registers named 'nothing'"):
            program.register("nothing")


class TestCommands:
    def test_test(self) -> None:
        """``ccbench bfc p4 test`` passes and reports each scenario."""
        result = CliRunner().invoke(cli, ["bfc", "p4", "test", "--random", "1", "--json"])
        assert result.exit_code == ExitStatus.OK
        assert set(json.loads(result.output)["scenarios"].values()) == {None}

    def test_run_without_bmv2(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without BMv2 ``ccbench bfc p4 run`` names its source."""
        monkeypatch.setenv("PATH", "/nonexistent")
        result = CliRunner().invoke(cli, ["bfc", "p4", "run"])
        assert result.exit_code == ExitStatus.FAILED
        assert "p4lang packages BMv2" in result.output

    def test_compile_without_compiler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without p4c the error names its source."""
        monkeypatch.setenv("PATH", "/nonexistent")
        with pytest.raises(MissingRequirement, match="p4lang packages p4c"):
            compile_program(source_folder())

    def test_compiler_error(self, tmp_path: Path) -> None:
        """The compiler's first error is the message."""
        compiler = tmp_path / "p4c-bm2-ss"
        compiler.write_text("#!/bin/sh\necho 'bfc.p4(1): error: no' >&2\nexit 1\n")
        compiler.chmod(0o755)
        with pytest.raises(CcbenchError, match=r"refuses bfc\.p4: bfc\.p4\(1\): error: no"):
            compile_program(source_folder(), str(compiler))

    def test_reproducible_compilation(self, tmp_path: Path) -> None:
        """The same program gives the same bytes wherever it is compiled."""
        compiler = tmp_path / "p4c-bm2-ss"
        made = {"actions": [{"source_info": {"filename": str(tmp_path)}, "id": 1}]}
        compiler.write_text(f"#!/bin/sh\necho '{json.dumps(made)}' > $2\n")
        compiler.chmod(0o755)
        assert compile_program(source_folder(), str(compiler)) == '{"actions":[{"id":1}]}\n'

    def test_changed_source(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A program compiled from other sources is not executed."""
        (tmp_path / "bfc.p4").write_text("// another program\n")
        monkeypatch.setattr("ccbench.datacenter.p4.sources.source_folder", lambda: tmp_path)
        with pytest.raises(InputError, match="compiled from sources other than"):
            load_compiled()


def _all_arrive(machine: Machine, packets: list[Packet]) -> None:
    for packet in packets:
        machine.ingress(data_packet(packet), packet.ingress, 0)


_FLOW_TABLE = ("size", "queue", "touched")


def _bits(program: Program, register: str) -> int:
    size, width = program.registers[program.register(register)]
    return size * width
