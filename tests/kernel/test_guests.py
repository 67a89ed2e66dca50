# SPDX-License-Identifier: Apache-2.0
"""Misbehaving modules: each run ends with one clear error, and leaves nothing behind."""

from __future__ import annotations

import itertools
import json
import math
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Flow
from ccbench.base.errors import EngineError
from ccbench.emulate.kernel.boot import boot as boot_module
from ccbench.emulate.kernel.boot import console as console_module
from ccbench.emulate.kernel.boot import crash
from ccbench.emulate.kernel.boot.console import ConsoleWatch
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source.lookup import installed
from tests.kernel.conftest import dumbbell, gone, workspaces

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench import Scenario
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

    Ending = Callable[..., tuple[EngineError, str]]

pytestmark = pytest.mark.kernel

#: Includes the time that a guest takes to boot on a busy machine.
_HANG_S = 6.0


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> KernelBuild:
    """Give the virtual kernel with a module that misbehaves on demand."""
    folder = tmp_path_factory.mktemp("modules") / "tcp_evil"
    shutil.copytree(Path(__file__).with_name("tcp_evil"), folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CCBENCH_MODULES", str(folder))
        return installed()


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> KernelEngine:
    """Give the engine with a qdisc that misbehaves on demand."""
    folder = tmp_path_factory.mktemp("modules") / "sch_evil"
    shutil.copytree(Path(__file__).with_name("sch_evil"), folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CCBENCH_MODULES", str(folder))
        return KernelEngine(installed())


@pytest.fixture
def own_crashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test its own folder for consoles of crashes."""
    folder = tmp_path / "crashes"
    monkeypatch.setattr(crash, "crashes_dir", lambda: folder)
    return folder


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consider a guest hung after a few seconds."""
    monkeypatch.setattr(boot_module, "HANG_S", _HANG_S)


def line_of(text: str) -> str:
    """Return the position of a line of the module, as file and number."""
    lines = (Path(__file__).with_name("tcp_evil") / "tcp_evil.c").read_text().splitlines()
    (number,) = (i for i, line in enumerate(lines, start=1) if text in line)
    return f"tcp_evil/tcp_evil.c:{number}"


#: Deeds of the module, their messages, and the source lines of the crashes.
CRASHES = [
    ("null", r"a bad pointer, 0x8;", "*(volatile int *)8 = 1"),
    ("wild", r"a null or non-canonical pointer;", "depth = READ_ONCE(*wild)"),
    ("call", r"a call of a function at address 0;", "nowhere()"),
    ("panic", r"panic: evil;", 'panic("evil")'),
    ("divide", r"a division by zero;", "depth = 100 / "),
    ("trap", r"an invalid instruction, such as __builtin_trap\(\);", "__builtin_trap()"),
    ("stack", r"a stack overflow", "noinline void evil_recurse"),
    ("sleep", r"sleeping in atomic context;", "schedule_hrtimeout(&pause"),
]

#: Deeds to the socket, and what the guard of congestion controls says about them.
TOUCHES = [
    ("nxt", "changes the field snd_nxt of struct tcp_sock, which belongs to TCP"),
    ("packets", "changes the field packets_out of struct tcp_sock, which belongs to TCP"),
    ("srtt", "changes the field srtt_us of struct tcp_sock, which belongs to TCP"),
    ("area", r"writes beyond its private area \(ICSK_CA_PRIV_SIZE\), to the first fields .*"),
    ("huge", r"sets a window of 2\^31 packets or more"),
    ("threshold", "sets a window or an ssthresh of 0 packets"),
    ("rto", "changes the field icsk_rto of struct inet_connection_sock, which belongs to TCP"),
    (
        "recovery",
        "changes the field icsk_ca_state of struct inet_connection_sock, which belongs to TCP",
    ),
    ("state", "changes sk->sk_state, which belongs to TCP"),
    ("pace", "sets a pacing rate of 0"),
    ("buffer", "changes the field sk_sndbuf of struct sock, which belongs to TCP"),
    ("high", "changes the field high_seq of struct tcp_sock, which belongs to TCP"),
    ("forge", r"changes a packet in flight \(its time of transmission, .*\), .*"),
    ("middle", r"changes a packet in flight \(its time of transmission, .*\), .*"),
    ("peer", "sets the window, ssthresh, .* RTO of another flow, .* not locked"),
    ("rtt", "sets the window, ssthresh, .* RTO of another flow, .* not locked"),
    ("nagle", r"changes byte \d+ of struct tcp_sock of flow 1, .* not locked"),
    ("family", r"changes byte \d+ of struct inet_connection_sock, which belongs to TCP"),
    ("priority", r"changes byte \d+ of struct sock, which belongs to TCP"),
    ("observe", "changes the field snd_cwnd of struct tcp_sock, and may only observe.*"),
    ("count", "changes the field icsk_ca_priv .*, and may only observe.*"),
    ("info", "writes or returns more than union tcp_cc_info has bytes"),
    ("switch", "changes icsk_ca_ops of struct inet_connection_sock, which only init may do"),
    ("lock", "leaves a spinlock locked"),
    ("softirq", r"leaves softirqs disabled, or enables them \(local_bh_disable, spin_lock_bh\)"),
    ("interrupt", r"leaves interrupts disabled, or enables them \(local_irq_save, .*\)"),
    ("zero", r"returns less than 2, or 2\^31 or more"),
    ("timer", "leaves a timer in its private area running"),
]

HOOKS = (
    "init",
    "release",
    "ssthresh",
    "set_state",
    "cwnd_event",
    "in_ack_event",
    "pkts_acked",
    "get_info",
)


class TestEvilModules:
    @pytest.fixture
    def end(
        self,
        evil: KernelBuild,
        own_temporary: Path,
        own_crashes: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> Ending:
        """Give a function that runs a deed in a hook, and returns its error and the console."""
        monkeypatch.setenv("CCBENCH_MODULES", str(Path(__file__).with_name("tcp_evil")))

        def end(deed: str, hook: str = "cong_avoid", *others: Flow) -> tuple[EngineError, str]:
            parameters = {"tcp_evil.deed": deed, "tcp_evil.hook": hook}
            scenario = dumbbell(Flow(cca="evil"), *others, module_parameters=parameters)
            begin_s = time.monotonic()
            with pytest.raises(EngineError) as caught:
                KernelEngine(evil).run(scenario)
            assert time.monotonic() - begin_s < 60
            assert gone(own_temporary)
            assert not workspaces()
            assert "\n" not in str(caught.value)
            assert len(caught.value.console) <= 7
            (stored,) = own_crashes.iterdir()
            assert f"the console log is {stored}" in str(caught.value)
            return caught.value, stored.read_text()

        return end

    def test_harmless(self, evil: KernelBuild) -> None:
        """Without a deed the module is Reno, to the byte if both runs load it."""
        loading = {"tcp_evil.deed": "none"}
        runs = [
            KernelEngine(evil).run(dumbbell(Flow(cca=cca), duration_s=3, module_parameters=loading))
            for cca in ("evil", "reno")
        ]
        assert runs[0].completions.equals(runs[1].completions)

    def test_not_loaded(self, evil: KernelBuild, tmp_path: Path) -> None:
        """A module that a run does not load changes neither its identity nor its files."""
        scenario = dumbbell(Flow(cca="reno"), Flow(cca="bbr3"), duration_s=3)
        engines = {"with": KernelEngine(evil), "without": KernelEngine()}
        files = []
        for name, engine in engines.items():
            engine.run(scenario).save(tmp_path / name)
            files.append({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()})
        assert files[0] == files[1]
        identities = {engine.identity(scenario) for engine in engines.values()}
        assert len(identities) == 1
        modules = json.loads(files[0]["run.json"])["provenance"]["modules"]
        assert ["ccbench_flows", "ccbench_link", "tcp_bbr3"] == sorted(modules)

    @pytest.mark.parametrize(("deed", "message", "code"), CRASHES)
    def test_crash(self, end: Ending, deed: str, message: str, code: str) -> None:
        """A crash is one line with its kind, its place in the source and the remedy."""
        error, console = end(deed)
        function = "evil_recurse" if deed == "stack" else r"evil_do(?:\.cold)?"
        file, number = line_of(code).split(":")
        actual = re.match(
            rf"tcp_evil crashed in {function}\+0x\w+ \[tcp_evil\] \({file}:(\d+)\)"
            rf"{'' if deed == 'stack' else ', in its hook cong_avoid'}: {message}",
            str(error),
        )
        assert actual, str(error)
        # A recursion may end at any of the lines of its function.
        further = 7 if deed == "stack" else 0
        assert int(number) <= int(actual[1]) <= int(number) + further
        assert str(error).endswith(": correct the module")
        assert error.console[0] in console
        assert any("evil_cong_avoid" in line for line in error.console) or deed == "stack"

    def test_bug(self, end: Ending) -> None:
        """The line of a BUG() is that of Linux's message: its function may not be on the stack."""
        error, _ = end("bug")
        assert re.match(r"tcp_evil crashed in evil_\S+\+", str(error)), str(error)
        assert f"a call of BUG() at {line_of('BUG()')};" in str(error)

    @pytest.mark.parametrize("hook", HOOKS)
    def test_hook(self, end: Ending, hook: str) -> None:
        """Crashes are reported in every hook, in process context and in packet context."""
        error, _ = end("null", hook)
        # A hook whose last call is the one that crashes is not on the stack.
        place = rf"\({line_of('*(volatile int *)8 = 1')}\)(?:, in its hook {hook})?"
        assert re.search(rf"{place}: a bad pointer", str(error)), str(error)

    def test_bad_argument(self, end: Ending) -> None:
        """If the kernel crashes on a module's argument, the module is named."""
        error, _ = end("free")
        assert str(error).startswith("tcp_evil crashed in evil_do+")
        assert line_of("kfree(READ_ONCE(wild))") in str(error)
        assert error.console[1].startswith("kfree+")

    def test_warning(self, end: Ending) -> None:
        """The first WARN() of a module ends the run, with its hook and line."""
        error, _ = end("warn")
        place = rf"\({line_of('WARN_ON(1)')}\), in its hook cong_avoid: a WARN\(\)"
        assert re.search(rf"^tcp_evil warns in .*{place}", str(error)), str(error)

    def test_flood(self, end: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
        """A module that prints for each packet is stopped, and its message quoted."""
        monkeypatch.setattr(console_module, "MAX_BYTES", 1000)
        monkeypatch.setattr(console_module, "_PART_BYTES", 400)
        error, _ = end("print")
        assert "prints without end, mostly 'evil prints'" in str(error)
        assert "correct the module (tcp_evil): it must not print for each packet" in str(error)

    @pytest.mark.parametrize(("deed", "problem"), TOUCHES)
    def test_touch(self, end: Ending, deed: str, problem: str) -> None:
        """A hook that changes what belongs to TCP, or is no window, ends the run with its name."""
        others = [Flow(cca="evil")] if deed in {"peer", "rtt", "nagle"} else []
        error, _ = end(deed, "ssthresh" if deed == "zero" else "cong_avoid", *others)
        start = r"^the congestion control evil of flow 0 is faulty: at \d+ ns, its hook \w+ "
        assert re.search(f"{start}{problem};.*: correct the module$", str(error)), str(error)

    @pytest.mark.parametrize(
        ("deed", "problem"),
        [
            ("twice", r"\(%(again)s\) frees what .* \(%(once)s\) has freed"),
            ("later", r"byte 16 of what .* \(%(once)s\) has freed is written afterwards"),
        ],
    )
    def test_freed_memory(self, end: Ending, deed: str, problem: str) -> None:
        """A second kfree(), and a write to freed memory, name the lines of the module."""
        error, _ = end(deed)
        lines = {word: line_of(f"/* {word} */") for word in ("once", "again")}
        assert re.search(rf"memory is misused: .*{problem % lines}", str(error)), str(error)

    @pytest.mark.parametrize(
        ("deed", "problem"),
        [
            ("ticking", "changes the field srtt_us of struct tcp_sock of flow 0, which belongs to"),
            ("closing", "sets a window, .* of 0, .* of flow 0, at"),
            ("holding", "leaves a spinlock locked, at"),
        ],
    )
    def test_timer(self, end: Ending, deed: str, problem: str) -> None:
        """A timer, between hooks, is no more allowed to change TCP, and is named."""
        error, _ = end(deed, "none")
        place = r"evil_tick\S* \[tcp_evil\] \(tcp_evil/tcp_evil\.c:\d+\), which is no hook,"
        assert re.match(rf"a function is faulty: {place} {problem}", str(error)), str(error)

    def test_abandoned_timer(self, end: Ending) -> None:
        """A timer that runs after the end of its connection names its function."""
        error, _ = end("abandon", "none")
        expected = (
            "memory is misused: a timer of evil_late [tcp_evil] is running after all connections"
        )
        assert str(error).startswith(expected)

    def test_stale_pointer(self, end: Ending) -> None:
        """A write to the socket of a flow that has ended names the flow."""
        error, _ = end("stale", "none", Flow(cca="evil", start_s=1, stop_s=2))
        problem = r"of flow \d is faulty: its window, .* is written after release"
        assert re.search(problem, str(error))

    @pytest.mark.parametrize(
        ("deed", "call"),
        [("mutex", "mutex_lock"), ("atomic", "kmalloc"), ("grace", "synchronize_rcu")],
    )
    def test_may_sleep(self, end: Ending, deed: str, call: str) -> None:
        """A call that may sleep is an error in a hook, although it has not slept."""
        error, _ = end(deed)
        place = r"evil_\w+\S+ \[tcp_evil\] \(tcp_evil/tcp_evil\.c:\d+\)"
        assert re.match(rf"a call may sleep: {place} calls {call}\(", str(error))

    @pytest.mark.parametrize(
        ("deed", "problem"),
        [
            ("address", r"the host receiver has discarded \d+ packets.*\(In\w+\)"),
            ("sysctl", r"the host sender has another net\.ipv4\.tcp_recovery than at the start"),
            ("vanish", r"the host sender has lost \d+ packets .* \(InReceives, InDelivers\)"),
            ("device", r"the host sender has another device->mtu than at the start"),
        ],
    )
    def test_damaged_hosts(self, end: Ending, deed: str, problem: str) -> None:
        """Damaged, lost and misdirected packets, and changed settings of hosts, end the run."""
        error, _ = end(deed, "none" if deed in {"address", "vanish"} else "cong_avoid")
        assert re.match(problem, str(error)), str(error)
        assert str(error).endswith(": correct the module (tcp_evil)")

    def test_reduction(self, evil: KernelBuild) -> None:
        """A hook may let TCP reduce the window, which changes fields of TCP."""
        KernelEngine(evil).run(
            dumbbell(Flow(cca="evil"), module_parameters={"tcp_evil.deed": "reduce"})
        )

    def test_load(self, evil: KernelBuild) -> None:
        """The error of a module's initialisation is the module's, with its reason."""
        scenario = dumbbell(Flow(cca="evil"), module_parameters={"tcp_evil.hook": "refuse"})
        message = r"tcp_evil cannot be loaded: its module_init returns an error \(Input/output er"
        with pytest.raises(EngineError, match=message):
            KernelEngine(evil).run(scenario)

    def test_no_module(self, end: Ending) -> None:
        """If no module is in the call chain, the kernel's function is named."""
        error, _ = end("work")
        assert str(error).startswith("the virtual kernel crashed in process_one_work+")
        assert "correct the module (tcp_evil)" in str(error)
        assert "run without modules of your own (CCBENCH_MODULES)" in str(error)

    @pytest.mark.parametrize(
        ("deed", "hook", "code"),
        [
            ("loop", "cong_avoid", "cpu_relax()"),
            ("spin", "cong_avoid", "barrier()"),
            ("loop", "load", "cpu_relax()"),
            ("deadlock", "load", "mutex_lock(&lock), mutex_lock(&lock)"),
        ],
    )
    @pytest.mark.usefixtures("impatient")
    def test_hang(self, end: Ending, deed: str, hook: str, code: str) -> None:
        """A hung guest is reported with the place of its loop or deadlock."""
        error, _ = end(deed, hook)
        place = r"clock has not advanced for 6 s, in evil_do\+0x\w+ \[tcp_evil\] \((\S+)\)"
        actual = re.search(place, str(error))
        assert actual, str(error)
        file, number = line_of(code).split(":")
        assert actual[1] in {f"{file}:{number}", f"{file}:{int(number) - 1}"}  # or its loop's head

    @pytest.mark.parametrize(("deed", "hook"), [("eat", "cong_avoid"), ("vmalloc", "load")])
    def test_memory(self, end: Ending, deed: str, hook: str) -> None:
        """A module that allocates all memory ends the run with an error that says so."""
        error, _ = end(deed, hook)
        assert re.match(r"the virtual kernel ran out of its \d+ MB of memory", str(error))
        assert "correct the module, which most likely does not free" in str(error)

    def test_blocked_work(self, evil: KernelBuild, own_temporary: Path) -> None:
        """A deadlock among a module's own workers does not affect the run."""
        scenario = dumbbell(Flow(cca="evil"), module_parameters={"tcp_evil.deed": "block"})
        blocked = KernelEngine(evil).run(scenario)
        harmless = dumbbell(Flow(cca="reno"), module_parameters={"tcp_evil.deed": "none"})
        assert blocked.queue.equals(KernelEngine(evil).run(harmless).queue)
        assert gone(own_temporary)
        assert not workspaces()


#: What a run says about the length of a queue, in packets and bytes, according to the qdisc and by
#: its packets.
_LENGTH = r"its qlen is %d packets and its backlog %d bytes, while %d packets of %d bytes wait"

#: Deeds of the qdisc with every 50th packet, and what a run says about them.
QDISC_DEEDS = [
    ("lose", rf"{_LENGTH % (12, 18000, 13, 19500)} in it, after packet number 50 that arrived"),
    ("orphan", rf"{_LENGTH % (12, 18000, 13, 19500)} in it, after packet number 50 that arrived"),
    ("qlen", rf"{_LENGTH % (14, 19500, 13, 19500)} in it, after packet number 50 that arrived"),
    ("backlog", rf"{_LENGTH % (13, 19600, 13, 19500)} in it, after packet number 50 that arrived"),
    ("uncounted", r"its qlen is \d+ packets .*, after packet number \d+ that left"),
    ("free", r"it frees an arriving packet itself, which it must give to qdisc_drop\(\)"),
    ("clone", rf"{_LENGTH % (14, 21000, 13, 19500)} in it, after packet number 50 that arrived"),
    ("replace", r"it has sent a packet that never entered it: a packet of 1500 bytes of flow \d"),
    ("trim", r"it has changed the length.*: a packet of 1480 bytes of flow \d"),
    *(
        (deed, r"it has changed a header .*, skb->mark.*: a packet of 1500 bytes of flow \d")
        for deed in ("mark", "ttl", "window", "option", "payload", "summed", "swap")
    ),
    ("wild", r"it has changed .*skb->mark.*: a packet of 1500 bytes of no flow"),
    ("sum", r"it has left the IP header with a wrong checksum: a packet of 1500 bytes of flow \d"),
    ("clear", r"its qlen is 13 packets and its backlog 18000 bytes"),
    ("stamp", r"the end of skb->cb: a packet of 1500 bytes of flow \d"),
    ("congestion", r"it has changed the ECN field from Not-ECT to CE, .* \(RFC 3168\)"),
    ("codepoint", r"it has changed the ECN field from Not-ECT to ECT\(1\), .* \(RFC 3168\)"),
    ("refuse", r"its enqueue returns NET_XMIT_DROP for a packet that it has not dropped"),
    *(
        (deed, r"it sends a packet, which has waited .*, only when another arrives: .* a timer")
        for deed in ("pairs", "once")
    ),
    ("leak", r"\d+ of \d+ packets have neither left it nor been freed"),
    ("hold", r"since \d+ ns, it sends nothing over an idle link, while \d+ packets wait"),
]


class TestEvilQdisc:
    @staticmethod
    def scenario(deed: str, **settings: Any) -> Scenario:
        """Return a scenario in which the qdisc does a deed."""
        flows = Flow(cca="cubic"), Flow(cca="reno")
        parameters = {"sch_evil.deed": deed}
        settings = {"qdisc": "evil", "duration_s": 5, **settings}
        return dumbbell(*flows, module_parameters=parameters, **settings)

    def test_harmless(self, faulty: KernelEngine) -> None:
        """Without a deed it is a FIFO, whose queue has no limit in the summary."""
        run = faulty.run(self.scenario("none"))
        usual = faulty.run(self.scenario("none", qdisc="droptail", queue_packets=200))
        assert run.queue.equals(usual.queue)
        assert math.inf == run.bottleneck_summary()["queue_packets"][0]

    @pytest.mark.parametrize(("deed", "message"), QDISC_DEEDS)
    @pytest.mark.usefixtures("own_crashes")
    def test_conservation(self, faulty: KernelEngine, deed: str, message: str) -> None:
        """A qdisc that loses, copies, changes or holds packets gives an error, never a number."""
        problem = rf"^the qdisc evil of bottleneck 0 is faulty: .*{message}.*: correct the module$"
        with pytest.raises(EngineError, match=problem):
            faulty.run(self.scenario(deed, queue_log=False))

    @pytest.mark.usefixtures("own_crashes")
    def test_lock(self, faulty: KernelEngine) -> None:
        """A lock that a qdisc leaves locked names its function."""
        problem = r"^a function is faulty: evil_enqueue.*, which is no hook, leaves a spinlock"
        with pytest.raises(EngineError, match=problem):
            faulty.run(self.scenario("lock"))

    @pytest.mark.usefixtures("own_crashes")
    def test_limit(self, faulty: KernelEngine) -> None:
        """A queue that is longer than its limit is an error of the qdisc, also without a log."""
        problem = r"^the qdisc evil_long of .* is faulty: at \d+ ns, it holds more packets than its"
        scenario = self.scenario("none", qdisc="evil_long", queue_packets=20, queue_log=False)
        with pytest.raises(EngineError, match=problem):
            faulty.run(scenario)

    @pytest.mark.parametrize("queue_log", [True, "summary"])
    @pytest.mark.usefixtures("own_crashes")
    def test_logs(self, faulty: KernelEngine, queue_log: Any) -> None:
        """The checks do not depend on the record of the queue."""
        with pytest.raises(EngineError, match=r"is faulty: .* its qlen is 12 packets"):
            faulty.run(self.scenario("lose", queue_log=queue_log))

    @pytest.mark.parametrize(
        ("deed", "message"),
        [
            ("memory", r"the qdisc evil of bottleneck 0 cannot start: its init returns an error"),
            ("register", r"sch_evil cannot be loaded: its module_init returns an error"),
            ("crash", r"sch_evil crashed in evil_reset\+"),
            ("destroy", r"sch_evil crashed in evil_destroy\+"),
            ("timer", r"memory is misused: the destroy of the qdisc evil leaves a timer running"),
        ],
    )
    @pytest.mark.usefixtures("own_crashes")
    def test_setup(self, faulty: KernelEngine, deed: str, message: str) -> None:
        """Failures at the start and the end of a qdisc are its own."""
        with pytest.raises(EngineError, match=rf"^{message}.*: correct the module$"):
            faulty.run(self.scenario(deed))


def test_debug_information(evil: KernelBuild) -> None:
    """Debug information changes no instruction of a module, and is not in the guest."""
    for name in evil.modules:
        whole, stripped = (
            {
                section: subprocess.run(
                    ["objcopy", "-O", "binary", "-j", section, str(file), "/dev/stdout"],
                    capture_output=True,
                    check=True,
                ).stdout
                for section in (".text", ".data", ".rodata", ".init.text")
            }
            for file in (evil.debug(name), evil.module(name))
        )
        assert whole == stripped
        assert b".debug_info" not in evil.module(name).read_bytes()


def test_stopped_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watcher that was stopped itself, as with the whole machine, reports no hung guest."""
    progress = tmp_path / "progress.bin"  # without a byte: a clock that stands still
    console = tmp_path / "console.log"
    for empty in (progress, console):
        empty.touch()
    clock, looks = time.monotonic, itertools.count()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:

        def jumping() -> float:
            look = next(looks)
            if look == 5:
                process.communicate()  # which ends the process
            return clock() + 1000.0 * look

        monkeypatch.setattr(time, "monotonic", jumping)
        assert boot_module._watch(process, progress, ConsoleWatch(console, ()), None, ())


def test_many_at_once(own_temporary: Path) -> None:
    """64 concurrent guests give 64 results, each the same as alone, and leave nothing."""
    scenarios = [
        dumbbell(bandwidth_mbps=10 + i % 4, queue_packets=30, duration_s=2) for i in range(64)
    ]
    expected = [KernelEngine().run(scenario) for scenario in scenarios[:4]]
    with ThreadPoolExecutor(64) as pool:
        runs = list(pool.map(KernelEngine().run, scenarios))
    for i, run in enumerate(runs):
        assert run.queue.equals(expected[i % 4].queue)
    assert gone(own_temporary)
    assert not workspaces()
