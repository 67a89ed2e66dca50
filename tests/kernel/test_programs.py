# SPDX-License-Identifier: Apache-2.0
"""Flows between programs of this machine, on the virtual kernel."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Change, Flow, Run, Scenario, When
from ccbench.base.errors import EngineError, InputError
from ccbench.emulate.kernel.boot import boot as boot_module
from ccbench.experiment.receiver import Receiver
from tests.kernel.conftest import dumbbell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = pytest.mark.kernel

#: Unlike a shim of pyenv, this is the program itself.
PYTHON = sys.executable

#: Sends as fast as TCP accepts to each connection.
TCP_SENDER = """
import socket, sys
server = socket.create_server((sys.argv[1], int(sys.argv[2])), family=
    socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
print("listens", flush=True)
while True:
    connection, _ = server.accept()
    try:
        while True:
            connection.send(bytes(65536))
    except OSError:
        connection.close()
"""
TCP_RECEIVER = """
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while connection.recv(65536):
    pass
"""
#: Sends 1000 bytes every 2 ms, and 500 bytes of an answer come back for each.
UDP_SENDER = """
import socket, sys, time
sock = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
sock.connect((sys.argv[1], int(sys.argv[2])))
while True:
    sock.send(bytes(1000))
    time.sleep(0.002)
"""
UDP_RECEIVER = """
import socket, sys
sock = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((sys.argv[1], int(sys.argv[2])))
while True:
    _, peer = sock.recvfrom(2000)
    sock.sendto(bytes(500), peer)
"""
WAITER = "import time; time.sleep(1e6)"


def pair(sender: str, receiver: str, **settings: Any) -> Flow:
    """Return a flow between two programs in Python."""
    files = (("sender.py", sender), ("receiver.py", receiver))
    return Flow(
        kind="program",
        sender=f"{PYTHON} sender.py {{address}} {{port}}",
        receiver=Receiver(program=f"{PYTHON} receiver.py {{address}} {{port}}"),
        files=files,
        **settings,
    )


def tcp(**settings: Any) -> Flow:
    """Return a flow of TCP between programs."""
    return pair(TCP_SENDER, TCP_RECEIVER, **settings)


def udp(**settings: Any) -> Flow:
    """Return a flow of UDP between programs, at 4.112 Mbit/s of IP bytes."""
    return pair(UDP_SENDER, UDP_RECEIVER, server="receiver", **settings)


def alone(code: str, **settings: Any) -> Scenario:
    """Return a scenario with a sending program, whose receiver waits."""
    return dumbbell(pair(code, WAITER, **settings), Flow(kind="cbr", rate_mbps=1), duration_s=5)


def printed(run: Run, program: str = "0-sender") -> str:
    """Return what a program printed."""
    return run.files[f"programs/{program}/output"].decode()


@pytest.fixture(scope="module")
def mixed(engine: KernelEngine) -> Run:
    """Give a run of TCP, UDP and two flows of the kernel, of which one comes later."""
    flows = (
        tcp(cca="bbr"),
        udp(start_s=2, stop_s=8),
        Flow(cca="cubic"),
        Flow(cca="reno", start_s=4),
    )
    return engine.run(dumbbell(*flows, duration_s=12))


class TestFlows:
    def test_attribution(self, mixed: Run) -> None:
        """Each packet belongs to its flow: together, the flows fill the link."""
        assert mixed.queue["flow"].isin(range(4)).all()
        totals = mixed.throughput(1.0).loc[3:].sum(axis=1)
        assert totals.between(9, 10.02).all()

    def test_conservation(self, mixed: Run) -> None:
        """Packets of each flow leave the queue, are dropped or are still queued."""
        counts = mixed.queue.groupby(["flow", "event"], observed=False).size().unstack()
        left = counts["enqueue"] - counts["dequeue"] - counts["drop"]
        assert left.between(0, 64).all()
        last = mixed.flows.groupby("flow")["drops"].last()
        assert last.to_list() == counts["drop"].to_list()

    def test_rate(self, mixed: Run) -> None:
        """A program that sends 1000 bytes every 2 ms sends them at its times."""
        sent = mixed.queue.query("flow == 1 and event == 'enqueue'")
        # After its end, its host answers that nobody listens.
        sent = sent[sent["time_ns"] < 8e9]
        assert set(sent["bytes"]) == {1028}
        assert sent["time_ns"].min() >= 2e9
        assert len(sent) == pytest.approx(6 / 0.002, abs=2)
        done = mixed.completions.loc[1]
        dropped = mixed.queue.query("flow == 1 and event == 'drop' and bytes == 1028")
        assert done["delivered_bytes"] == 1000 * (len(sent) - len(dropped))

    def test_samples(self, mixed: Run) -> None:
        """Samples of a TCP program are those of its socket, whose CCA is the flow's."""
        samples = mixed.flows.query("flow == 0 and time_ns > 2e9")
        assert (samples["cwnd_packets"] > 0).all()
        assert 40 <= samples["min_rtt_us"].min() / 1e3 < 44
        assert mixed.cca_info(0)["pacing_gain"].max() > 1
        done = mixed.completions.loc[0]
        assert 0.9 < done["delivered_bytes"] / samples["throughput_bytes"].iloc[-1] < 1448 / 1500
        assert done["retransmits"] == samples["retransmits"].iloc[-1]
        assert mixed.flows.query("flow == 1")["srtt_us"].isna().all()

    def test_table(self, mixed: Run) -> None:
        """Programs stop with their flows, and servers with the scenario."""
        rows = mixed.programs.set_index(["flow", "side"])
        assert rows["end"].eq("stopped").all()
        assert (rows["end_ns"] / 1e9).round(3).to_dict() == {
            (0, "sender"): 12,
            (0, "receiver"): 12,
            (1, "sender"): 8,
            (1, "receiver"): 12,
        }
        assert printed(mixed) == "listens\n"

    def test_saved(self, mixed: Run, tmp_path: Path) -> None:
        """A saved run has the files of its programs, and notices when one is changed."""
        mixed.save(tmp_path / "run")
        again = Run.load(tmp_path / "run")
        assert again.digest() == mixed.digest()
        assert again.files == mixed.files
        assert (tmp_path / "run/programs/0-sender/output").read_text() == "listens\n"
        again.save(tmp_path / "run", replace=True)
        (tmp_path / "run/programs/0-sender/output").write_text("other")
        with pytest.raises(Exception, match="output was changed"):
            Run.load(tmp_path / "run")

    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    @pytest.mark.parametrize("ip_version", [4, 6])
    def test_directions(self, engine: KernelEngine, direction: str, ip_version: int) -> None:
        """Programs run in both directions, over IPv4 and IPv6, with the CCA of the flow."""
        settings: dict[str, Any] = {"direction": direction, "ip_version": ip_version}
        scenario = dumbbell(
            tcp(cca="reno", **settings),
            udp(**settings),
            duration_s=6,
            reverse_bottlenecks=dumbbell().path.bottlenecks,
        )
        run = engine.run(scenario)
        rates = run.throughput(1.0).loc[3:].mean()
        assert rates.sum() == pytest.approx(10, rel=0.03)
        header = 28 if ip_version == 4 else 48
        assert rates[1] <= (1000 + header) * 8 / 0.002 / 1e6 * 1.01
        assert run.flows.query("flow == 0")["srtt_us"].gt(40_000).any()

    def test_extra_delay(self, engine: KernelEngine) -> None:
        """An extra delay applies to a program's flow, as to any."""
        run = engine.run(dumbbell(tcp(extra_rtt_ms=100), duration_s=5))
        assert 140 <= run.flows["min_rtt_us"].min() / 1e3 < 145

    def test_events(self, engine: KernelEngine) -> None:
        """A change can wait for a packet of a program's flow."""
        change = Change(when=When(flow=0, packet=100), loss=1)
        run = engine.run(dumbbell(udp(), changes=(change,), duration_s=3))
        assert (run.changes["time_ns"] / 1e9).tolist() == [pytest.approx(0.198, abs=0.002)]
        assert run.queue_events().query("event == 'enqueue'").shape[0] in {99, 100}

    def test_several_connections(self, engine: KernelEngine) -> None:
        """Bytes are those of all connections of a flow."""
        client = TCP_RECEIVER.replace(
            "while connection.recv(65536):\n    pass",
            "connection.recv(200_000, socket.MSG_WAITALL)\nconnection.close()",
        )
        assert client != TCP_RECEIVER
        run = engine.run(
            dumbbell(pair(TCP_SENDER, client + client + WAITER, may_exit=False), duration_s=5)
        )
        delivered = run.completions["delivered_bytes"][0]
        assert 400_000 <= delivered < 900_000


class TestDeterminism:
    def test_same_bytes(self, engine: KernelEngine, mixed: Run) -> None:
        """The same scenario gives the same bytes, alone or beside others; another seed, others."""
        with ThreadPoolExecutor(3) as pool:
            again, beside, other = pool.map(
                engine.run, [mixed.scenario, mixed.scenario, replace(mixed.scenario, seed=2)]
            )
        assert mixed.digest() == again.digest() == beside.digest() != other.digest()

    def test_random_numbers(self, engine: KernelEngine) -> None:
        """Programs take their random numbers from the scenario's seed."""
        code = "import os, random\nprint(os.urandom(8), random.random(), hash('a'))"
        scenario = alone(f"{code}\n{WAITER}")
        first, again, other = (
            printed(engine.run(each)) for each in (scenario, scenario, replace(scenario, seed=2))
        )
        assert first == again != other

    def test_random_device(self, engine: KernelEngine) -> None:
        """C++ takes them from there, too, not from the processor."""
        code = (
            "import ctypes\n"
            "library = ctypes.CDLL('libstdc++.so.6')\n"
            "value = ctypes.CDLL(None)['_ZNSt13random_device9_M_getvalEv']\n"
            "print([value(None) for _ in range(3)])"
        )
        scenario = alone(f"{code}\n{WAITER}")
        first, again, other = (
            printed(engine.run(each)) for each in (scenario, scenario, replace(scenario, seed=2))
        )
        assert first == again != other

    def test_date(self, engine: KernelEngine) -> None:
        """The clock of programs begins with the scenario's date, 2020-01-01 by default."""
        code = f"import datetime; print(datetime.date.today())\n{WAITER}"
        scenario = alone(code)
        days = [
            printed(engine.run(replace(scenario, date=day))) for day in ("2020-01-01", "2031-02-03")
        ]
        assert ["2020-01-01\n", "2031-02-03\n"] == days

    @pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
    def test_counter_of_the_processor(self, engine: KernelEngine, tmp_path: Path) -> None:
        """RDTSC reads the guest's clock, in nanoseconds."""
        source = """
        #include <stdio.h>
        #include <time.h>
        #include <unistd.h>
        #include <x86intrin.h>
        int main(void)
        {
            unsigned int processor;
            unsigned long long begin = __rdtsc();
            struct timespec time = { 1, 0 };
            nanosleep(&time, NULL);
            printf("%llu\\n", __rdtscp(&processor) - begin);
            fflush(stdout);
            pause();
        }
        """
        (tmp_path / "tsc.c").write_text(source)
        folder = Path.home() / ".ccbench-test-programs"
        folder.mkdir(exist_ok=True)
        program = folder / "tsc"
        try:
            subprocess.run(["gcc", "-o", program, tmp_path / "tsc.c"], check=True)
            flow = Flow(
                kind="program",
                sender=str(program),
                receiver=Receiver(program=f"{PYTHON} -c '{WAITER}'"),
            )
            (ns,) = printed(engine.run(dumbbell(flow, duration_s=2))).split()
        finally:
            shutil.rmtree(folder)
        assert 1e9 <= int(ns) < 1.001e9


class TestClock:
    def test_read_without_calls(self, engine: KernelEngine) -> None:
        """Programs read the kernel's clocks, without a call, which would take 1 ns."""
        code = f"""
import ctypes, os, threading, time
asked = (ctypes.c_long * 2)()

def ask(clock):
    ctypes.CDLL(None).syscall(228, clock, asked)
    return asked[0] * 10**9 + asked[1]

def check():
    for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC_RAW, 7):
        before, read, after = ask(clock), time.clock_gettime_ns(clock), ask(clock)
        assert before <= read <= after <= before + 1000, (clock, before, read, after)
    assert len({{time.monotonic_ns() for _ in range(100)}}) == 1

check()
time.sleep(0.5)
check()
thread = threading.Thread(target=check)
thread.start()
thread.join()
if not (child := os.fork()):
    time.sleep(0.1)
    check()
    print("child", flush=True)
    os._exit(0)
os.waitpid(child, 0)
check()
print("parent", flush=True)
{WAITER}
"""
        assert printed(engine.run(alone(code))) == "child\nparent\n"


class TestPolling:
    @pytest.mark.parametrize(
        "wait",
        [
            "end = time.monotonic() + 1\nwhile time.monotonic() < end: pass",
            """
sock = socket.socket(type=socket.SOCK_DGRAM)
sock.setblocking(False)
end = time.time() + 1
while time.time() < end:
    try: sock.recv(1)
    except BlockingIOError: pass
""",
            "end = time.monotonic() + 1\nwhile time.monotonic() < end: os.getppid()",
        ],
        ids=["clock", "socket", "calls"],
    )
    def test_time_passes(self, engine: KernelEngine, wait: str) -> None:
        """A program that waits without sleeping sees time pass, and so do the other flows."""
        code = f"import os, socket, time\n{wait}\nprint('done', flush=True)\n{WAITER}"
        run = engine.run(alone(code))
        assert printed(run) == "done\n"
        assert run.throughput(1.0)[1].loc[2:].between(0.98, 1.02).all()


class TestEnds:
    @pytest.mark.parametrize(
        ("code", "error"),
        [
            (
                "print('ready')",
                r"sender of flow 0, '.*sender\.py 10\.0\.0\.1 8000', ended with exit status 0: let",
            ),
            ("print('no'); raise SystemExit(3)", "ended with exit status 3: see what it printed"),
            ("import os; os.abort()", "ended with signal 6"),
        ],
    )
    def test_too_early(self, engine: KernelEngine, code: str, error: str) -> None:
        """A program that ends before its flow is an error, with how it ended and its last lines."""
        with pytest.raises(EngineError, match=error) as caught:
            engine.run(alone(code))
        if "print" in code:
            assert caught.value.console[-1] in {"ready", "no"}

    def test_may_exit(self, engine: KernelEngine) -> None:
        """A program that may end by itself does; a failure remains an error."""
        run = engine.run(alone("print('ready')", may_exit=True))
        first = run.programs.iloc[0]
        assert ("exit", 0) == (first["end"], first["status"])
        with pytest.raises(EngineError, match="exit status 3"):
            engine.run(alone("raise SystemExit(3)", may_exit=True))

    def test_kept_files(self, engine: KernelEngine) -> None:
        """Files in the scratch folder that match a pattern are in the run, and no others."""
        code = (
            "import os\nos.mkdir('logs')\n"
            "for name in ('logs/a.qlog', 'b.qlog', 'c.txt'): open(name, 'w').write(name)\n"
            f"{WAITER}"
        )
        run = engine.run(alone(code, keep=("*.qlog",)))
        kept = {name: content for name, content in run.files.items() if "/kept/" in name}
        assert kept == {
            "programs/0-sender/kept/b.qlog": b"b.qlog",
            "programs/0-sender/kept/logs/a.qlog": b"logs/a.qlog",
        }

    def test_environment(self, engine: KernelEngine) -> None:
        """Programs have the scenario's environment variables, and not those of this process."""
        code = f"import os; print(sorted(os.environ))\n{WAITER}"
        names = printed(engine.run(alone(code, env=(("OWN", "1"),))))
        assert "'OWN'" in names
        assert "PYTEST" not in names

    def test_confined(self, engine: KernelEngine) -> None:
        """Programs can neither write to the host's files nor mount them."""
        code = f"""
import ctypes, os
for path in ("/etc/own", os.path.expanduser("~root/own")):
    try: open(path, "w")
    except OSError as error: print(error.strerror)
libc = ctypes.CDLL(None, use_errno=True)
print(libc.mount(b"none", b"/tmp", b"hostfs", 0, b"/"), os.strerror(ctypes.get_errno()))
print(os.listdir("/run"), flush=True)
{WAITER}"""
        assert printed(engine.run(alone(code))).splitlines() == [
            "Read-only file system",
            "Read-only file system",
            "-1 Operation not permitted",
            "[]",
        ]

    @pytest.mark.parametrize(
        ("code", "name"),
        [
            ("while True: pass", "python.*"),
            ("import subprocess as s\ns.run(['sh', '-c', 'while :; do :; done'])", "sh"),
        ],
    )
    def test_spins(
        self, engine: KernelEngine, monkeypatch: pytest.MonkeyPatch, code: str, name: str
    ) -> None:
        """A program or child that computes without end is named when the clock stands still."""
        monkeypatch.setattr(boot_module, "HANG_S", 3.0)
        with pytest.raises(EngineError, match=f"the program '{name}' computes without a system"):
            engine.run(alone(code))

    def test_kills_all(self, engine: KernelEngine) -> None:
        """A program that kills all processes of the guest is an error that names it."""
        with pytest.raises(EngineError, match=r"the end of the sender of flow 0, .*signal process"):
            engine.run(alone("import os, signal\nos.kill(-1, signal.SIGKILL)"))

    def test_memory(self, engine: KernelEngine) -> None:
        """Programs without enough memory end the run with the setting that gives them more."""
        code = f"memory = [b'x' * 50_000_000 for _ in range(12)]\nprint('has it')\n{WAITER}"
        with pytest.raises(EngineError, match="raise memory_mb of the flows"):
            engine.run(alone(code))
        assert printed(engine.run(alone(code, memory_mb=1200))) == "has it\n"


class TestInput:
    @pytest.mark.parametrize(
        ("command", "error"),
        [
            ("no-such-program", r"flows\[0\]\.sender is 'no-such-program'; it must be a program"),
            ("/no/such", r"flows\[0\]\.sender is '/no/such'; it must be a program"),
        ],
    )
    def test_missing(self, engine: KernelEngine, command: str, error: str) -> None:
        """A program that this machine lacks is named before the run."""
        flow = Flow(kind="program", sender=command, receiver=Receiver(program="cat"))
        with pytest.raises(InputError, match=error):
            engine.check(dumbbell(flow))

    def test_hidden(self, engine: KernelEngine, tmp_path: Path) -> None:
        """A program in a folder that the guest does not see is refused."""
        program = Path("/tmp") / tmp_path.name / "own"  # noqa: S108 - the folder that is hidden
        program.parent.mkdir()
        try:
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
            flow = Flow(kind="program", sender=str(program), receiver=Receiver(program="cat"))
            with pytest.raises(InputError, match="which the guest does not see: move it"):
                engine.check(dumbbell(flow))
        finally:
            shutil.rmtree(program.parent)


class TestIdentity:
    @pytest.mark.parametrize(
        "settings",
        [
            {"env": (("A", "1"),)},
            {"files": (("sender.py", "pass"), ("receiver.py", "pass"))},
            {"sender": "/bin/ls"},
            {"may_exit": True},
            {"memory_mb": 300},
        ],
    )
    def test_settings(self, engine: KernelEngine, settings: Mapping[str, Any]) -> None:
        """The identity of a run includes the settings of programs."""
        flow = tcp()
        other = replace(flow, **settings)
        assert engine.identity(dumbbell(flow)) != engine.identity(dumbbell(other))

    def test_software(self, engine: KernelEngine, tmp_path: Path) -> None:
        """The identity of a run includes the content of the programs."""
        program = tmp_path / "own"
        identities = set()
        for text in ("#!/bin/sh\n", "#!/bin/sh\ntrue\n"):
            program.write_text(text)
            program.chmod(0o755)
            flow = Flow(kind="program", sender=str(program), receiver=Receiver(program="cat"))
            identities.add(engine.identity(dumbbell(flow)))
        assert len(identities) == 2


def needs(*programs: str, package: str) -> pytest.MarkDecorator:
    """Return the mark of a test that needs programs of a package."""
    is_missing = any(shutil.which(name) is None for name in programs)
    return pytest.mark.skipif(is_missing, reason=f"not installed: sudo apt-get install {package}")


def twice(engine: KernelEngine, scenario: Scenario) -> Run:
    """Return a run that a second one equals."""
    first, again = engine.run(scenario), engine.run(scenario)
    assert first.digest() == again.digest()
    return first


class TestRealPrograms:
    @needs("iperf3", package="iperf3")
    def test_iperf3(self, engine: KernelEngine) -> None:
        """iperf3 and a flow of the kernel share a link, and iperf3 measures the same goodput."""
        iperf3 = Flow(
            kind="program",
            sender="iperf3 -s -p {port}",
            receiver=Receiver(program="iperf3 -c {address} -p {port} -R -t 10 -f k"),
            may_exit=True,
        )
        run = twice(engine, dumbbell(iperf3, Flow(cca="cubic"), duration_s=15))
        rates = run.throughput(1.0).loc[2:9]
        assert rates.sum(axis=1).mean() == pytest.approx(10, rel=0.03)
        assert rates.mean().between(2, 8).all()
        (line,) = (ln for ln in printed(run, "0-receiver").splitlines() if "receiver" in ln)
        kbps = float(line.partition("Bytes")[2].split()[0])
        assert run.goodput(1.0)[0].loc[:10].mean() * 1e3 == pytest.approx(kbps, rel=0.06)

    @needs("gtlsclient", "gtlsserver", "openssl", package="ngtcp2-client ngtcp2-server openssl")
    def test_ngtcp2(self, engine: KernelEngine, tmp_path: Path) -> None:
        """A QUIC download by ngtcp2 shares a link with CUBIC."""
        files = certificate(tmp_path)
        quic = Flow(
            kind="program",
            sender="gtlsserver -q --htdocs . {address} {port} key.pem cert.pem",
            receiver=Receiver(
                program="gtlsclient -q {address} {port} https://{url_address}:{port}/page"
            ),
            files=(*files, ("page", "x" * 900_000)),
            may_exit=True,
        )
        scenario = dumbbell(quic, Flow(cca="cubic", start_s=1), duration_s=8, date="2030-01-01")
        run = twice(engine, scenario)
        assert 900_000 < run.completions["delivered_bytes"][0] < 1_000_000
        assert run.throughput(1.0)[0].loc[:2].max() > 1


def certificate(folder: Path) -> tuple[tuple[str, str], ...]:
    """Return a key and a certificate for it."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    options = (
        "-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 10000 -subj /CN=sender"
    )
    command = ["openssl", "req", *options.split(), "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return ("key.pem", key.read_text()), ("cert.pem", certificate.read_text())
