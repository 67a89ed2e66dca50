# SPDX-License-Identifier: Apache-2.0
"""Servers: whom we mean, how they are found and asked, and what is kept of them."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ccbench import _frames
from ccbench._sealed import unsealed
from ccbench.classify.filters import Filters
from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.web import site
from ccbench.classify.web.download import (
    Answers,
    added_rtt_ms,
    check_download,
    utilisation,
)
from ccbench.classify.web.folder import ServerFolder
from ccbench.classify.web.manners import Manners, visit
from ccbench.classify.web.site import find_site
from ccbench.classify.web.survey import FIGURE, survey
from ccbench.classify.web.target import Target, read_list
from ccbench.cli.main import program
from ccbench.emulate.realtime.recording import Recording
from ccbench.errors import EngineError, InputError, ServerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MTU_BYTES = 1500
FINE = {"protocol": "h2", "connections": 1, "pages": 50, "others": 0, "broken": 0}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / "cache"))


class TestTarget:
    @pytest.mark.parametrize(
        ("name", "url"),
        [
            ("example.com", "https://example.com/"),
            ("EXAMPLE.com/A", "https://example.com/A"),
            ("example.com:8443", "https://example.com:8443/"),
            ("http://example.com", "http://example.com/"),
            ("https://example.com:443/a?b=c#d", "https://example.com/a?b=c"),
            ("192.0.2.7", "https://192.0.2.7/"),
            ("bücher.example", "https://xn--bcher-kva.example/"),
            ("example.com.", "https://example.com/"),
        ],
    )
    def test_url(self, name: str, url: str) -> None:
        """A host is asked by https for its root; a URL for what it says."""
        assert url == Target.named(name).url

    @pytest.mark.parametrize(
        "name",
        [
            *("", "/", "https://", "a b", "-a.com", "a..b", "x" * 64 + ".com", "ftp://example.com"),
            *("user:secret@example.com", "https://[::1]/", "example.com:0", "example.com:99999"),
            *(
                "example.com/#\x1b[2J",
                "example.com:http",
                "example.com/ü",
                "https://example.com/a b",
                "--version",
            ),
        ],
    )
    def test_refused(self, name: str) -> None:
        """What is neither a host nor a URL is refused in one line that says what is."""
        with pytest.raises(InputError, match=r"^server is .*example\.com"):
            Target.named(name)

    def test_folder_name(self) -> None:
        """Different URLs have different folders, whose names are harmless."""
        names = ["a.com", "http://a.com", "a.com/b", "a.com/b/", "a.com_b", "a.com/..", "a.com:81"]
        names += [f"a.com/{'x' * n}" for n in (300, 301)]
        folders = {Target.named(name).folder_name for name in names}
        assert len(folders) == len(names)
        assert not any("/" in name or name.startswith(".") or len(name) > 100 for name in folders)

    def test_list(self, tmp_path: Path) -> None:
        """A list has a server on each line, perhaps with a group; comments say nothing."""
        file = tmp_path / "hosts"
        file.write_text("# ours\na.com\n\nb.com/x#y, cdn  # theirs\n", encoding="utf-8")
        found = [(target.name, target.group) for target in read_list(file)]
        assert found == [("a.com", None), ("b.com/x#y", "cdn")]

    @pytest.mark.parametrize("text", ["", "# nobody", "a.com\nb c\n", "\xff"])
    def test_bad_list(self, tmp_path: Path, text: str) -> None:
        """A list without servers, or with a line that is none, is refused."""
        file = tmp_path / "hosts"
        file.write_bytes(text.encode("latin-1"))
        with pytest.raises(InputError):
            read_list(file)


class TestManners:
    def test_user_agent(self) -> None:
        """Servers are told what asks, and whom to write to."""
        agent = Manners(contact="mail@example.com").user_agent
        assert agent.startswith("ccbench/")
        assert "congestion control" in agent
        assert "mail@example.com" in agent

    @pytest.mark.parametrize(
        "wrong",
        [
            {"max_megabytes": 0},
            {"max_connections": 0},
            {"pause_s": -1},
            {"contact": "a\r\nHost: b"},
        ],
    )
    def test_refused(self, wrong: dict[str, Any]) -> None:
        """Limits that limit nothing, and a contact that would be another header, are refused."""
        with pytest.raises(InputError, match=next(iter(wrong))):
            Manners(**wrong)

    def test_megabytes(self) -> None:
        """What downloads take at most is what links carry; beyond the limit nobody is asked."""
        each = Setting(bandwidth_mbps=8, rtt_ms=100, queue_packets=10)
        assert Manners(max_megabytes=40).check([each, each], 20.0) == pytest.approx(40)
        with pytest.raises(InputError, match="max_megabytes"):
            Manners(max_megabytes=39).check([each, each], 20.0)

    def test_visits(self) -> None:
        """Nobody visits a server while somebody else does, and not before the pause is over."""
        begun = threading.Event()
        ended_s = []

        def first() -> None:
            with visit("192.0.2.1"):
                begun.set()
                time.sleep(0.3)
                ended_s.append(time.time())

        thread = threading.Thread(target=first)
        thread.start()
        begun.wait()
        with visit("192.0.2.1", pause_s=0.4):
            waited_s = time.time() - ended_s[0]
        thread.join()
        assert waited_s >= 0.39

    def test_others_need_not_wait(self) -> None:
        """Visits to different servers have nothing to do with each other."""
        with visit("192.0.2.1"), visit("192.0.2.2", pause_s=60):
            pass


class Handler(BaseHTTPRequestHandler):
    """A web server that does what its paths say."""

    protocol_version = "HTTP/1.1"
    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        """Answer."""
        self.server.seen.append(dict(self.headers))  # type: ignore[attr-defined] # see `serving`
        kind, _, rest = self.path.strip("/").partition("/")
        if kind == "status":
            self._answer(int(rest), b"no")
        elif kind == "to":
            self._answer(302, b"", Location=f"/{rest}")
        elif kind == "round":
            self._answer(301, b"", Location=f"/round/{rest}x")
        elif kind == "away":
            self._answer(301, b"", Location="ftp://elsewhere/")
        elif kind == "chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"3e8\r\n" + bytes(1000) + b"\r\n0\r\n\r\n")
        elif kind == "until-the-end":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(bytes(1000))
            self.close_connection = True
        elif kind == "endless":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(bytes(1 << 16))
        else:
            self._answer(200, bytes(int(kind or 10_000)))

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def handle_one_request(self) -> None:
        """Answer, and mind nobody who has gone."""
        self.close_connection = True
        with suppress(OSError):
            super().handle_one_request()


@contextmanager
def serving() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Serve; give the URL and the headers of every request."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen = []  # type: ignore[attr-defined] # what the handler fills
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.seen  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def saying(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serve one connection after the other with `talk`; give the host and port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection, suppress(OSError):  # whoever asked has gone
                    talk(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def drip(start: bytes) -> Callable[[socket.socket], None]:
    """Say something, and then a byte now and then, for ever."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)

    return talk


def redirecting_to(url: str) -> Callable[..., Any]:
    """Return what answers every question with a redirect to a URL."""
    return lambda *_, **__: site._Answer(
        status=302, reason="Found", location=url, body_bytes=0, rtt_ms=1.0
    )


def kind_of(name: str) -> str:
    """Return why a server cannot be found."""
    with pytest.raises(ServerError) as caught:
        find_site(Target.named(name), Manners())
    assert "\n" not in str(caught.value)
    return caught.value.kind


class TestSite:
    def test_found(self) -> None:
        """A server is asked once, says how large its page is, and is a short round trip away."""
        with serving() as (url, seen):
            found = find_site(Target.named(f"{url}/5000"), Manners(contact="me"))
        assert (found.body_bytes, found.address, len(seen)) == (5000, "127.0.0.1", 1)
        assert 0 < found.rtt_ms < 100
        assert seen[0]["User-Agent"] == Manners(contact="me").user_agent
        assert seen[0]["Host"] == url.removeprefix("http://")

    def test_redirected(self) -> None:
        """Redirects are followed, and what is found is where they end."""
        with serving() as (url, seen):
            found = find_site(Target.named(f"{url}/to/to/7000"), Manners())
        assert (found.target.path, found.body_bytes, len(seen)) == ("/7000", 7000, 3)

    @pytest.mark.parametrize("path", ["chunked", "until-the-end"])
    def test_size_unknown(self, path: str) -> None:
        """A page that does not say how large it is is read."""
        with serving() as (url, _):
            found = find_site(Target.named(f"{url}/{path}"), Manners())
        assert found.body_bytes == 1000
        assert 0 < found.rtt_ms < 100

    def test_inward(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server on the Internet may not send us to one that is not."""
        with serving() as (url, seen):
            monkeypatch.setattr(site, "_ask", redirecting_to(url))
            monkeypatch.setattr(
                site, "_resolve", lambda target: {"far": "1.1.1.1"}.get(target.host, target.host)
            )
            assert kind_of("http://far/") == "redirects"
        assert not seen

    @pytest.mark.parametrize(
        "said", [b"HTTP/1.1 404 \x1b[31mred\x9b2J\r\n\r\n", b"\x1b[2Jhello\r\n", b"\r\n"]
    )
    def test_escapes(self, said: bytes) -> None:
        """What servers say cannot do anything to a terminal."""
        with (
            saying(lambda connection: connection.sendall(said)) as where,
            pytest.raises(ServerError) as caught,
        ):
            find_site(Target.named(f"http://{where}"), Manners())
        assert str(caught.value).isprintable()

    def test_endless_page(self) -> None:
        """Of a page without end no more is read than says that it is large."""
        with serving() as (url, _):
            found = find_site(Target.named(f"{url}/endless"), Manners())
        assert 1_000_000 <= found.body_bytes < 2_000_000

    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            *(("status/404", "status"), ("status/429", "status"), ("status/503", "status")),
            *(("round/", "redirects"), ("away", "redirects")),
        ],
    )
    def test_no_page(self, path: str, kind: str) -> None:
        """Other answers than a page, and redirects without end, say what they are."""
        with serving() as (url, seen):
            assert kind_of(f"{url}/{path}") == kind
        assert len(seen) <= 6

    def test_nobody(self) -> None:
        """A name that nobody has, and a port where nobody listens."""
        assert kind_of("nobody.invalid") == "unresolved"
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        assert kind_of(f"127.0.0.1:{port}") == "refused"

    @pytest.mark.parametrize(
        "said", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1000 + b"\r\n"]
    )
    def test_no_http(self, said: bytes) -> None:
        """What does not speak HTTP, or with a thousand headers, is no web server."""
        with saying(lambda connection: connection.sendall(said)) as where:
            assert kind_of(f"http://{where}") == "http"

    def test_no_tls(self) -> None:
        """A server without TLS says so when it is asked by https."""
        with serving() as (url, _):
            assert kind_of(url.replace("http:", "https:")) == "tls"

    @pytest.mark.parametrize(
        "said", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"], ids=repr
    )
    def test_drip(self, said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server that gives a byte now and then is left after a bounded time."""
        monkeypatch.setattr(site, "_PATIENCE_S", 0.5)
        begin_s = time.monotonic()
        with saying(drip(said)) as where:
            try:
                found = find_site(Target.named(f"http://{where}"), Manners())
            except ServerError as error:
                assert error.kind == "timeout"  # noqa: PT017 - a page that grows has been found
            else:
                assert said.endswith(b"\r\n\r\n")
                assert found.body_bytes < 100
        assert time.monotonic() - begin_s < 5

    def test_drip_in_tls(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """So is one that does so in the handshake of TLS."""
        monkeypatch.setattr(site, "_PATIENCE_S", 0.5)
        with saying(lambda _: time.sleep(2)) as where:
            assert kind_of(f"https://{where}") == "timeout"


class TestAnswers:
    def test_read(self) -> None:
        """What h2load says, in its own words, is understood."""
        text = """
Application protocol: h2
finished in 22.00s, 28.41 req/s, 559.05KB/s
requests: 625 total, 675 started, 625 done, 620 succeeded, 5 failed, 3 errored, 0 timeout
status codes: 620 2xx, 0 3xx, 12 4xx, 1 5xx
connections opened: 2
"""
        expected = Answers(protocol="h2", connections=2, pages=620, others=13, broken=3)
        assert Answers.read(text) == expected

    def test_nothing(self) -> None:
        """Where it says nothing, nothing was answered."""
        nothing = Answers(protocol="", connections=0, pages=0, others=0, broken=0)
        assert Answers.read("") == nothing


class TestAdded:
    @pytest.mark.parametrize(("rtt_ms", "added_ms"), [(0.03, 84), (40.0, 44), (83.9, 2), (85.0, 2)])
    def test_added(self, rtt_ms: float, added_ms: int) -> None:
        """What is added is even, as the emulated delay is, and makes the setting's round trip."""
        assert added_rtt_ms(SETTINGS[0], rtt_ms) == added_ms
        assert abs(rtt_ms + added_ms - SETTINGS[0].rtt_ms) <= 2

    def test_too_far(self) -> None:
        """Nothing can bring a server nearer."""
        with pytest.raises(ServerError, match="too far for 85 ms") as caught:
            added_rtt_ms(SETTINGS[0], 85.1)
        assert caught.value.kind == "too far"


def download(
    setting: Setting, *, share: float = 0.95, seconds: float = 21.0, **answers: Any
) -> Recording:
    """Make the record of a download that uses a share of the link, with one packet in the queue."""
    packet_s = MTU_BYTES * 8 / (setting.bandwidth_mbps * 1e6 * share)
    times_ns = (np.arange(0, seconds, packet_s) * 1e9).astype("int64")
    count = len(times_ns)
    queue = pd.DataFrame(
        {
            "time_ns": np.repeat(times_ns, 2),
            "event": ["enqueue", "dequeue"] * count,
            "bytes": MTU_BYTES,
            "backlog_packets": [1, 0] * count,
        }
    )
    normal = _frames.normal(
        "queue",
        queue.reindex(columns=list(_frames.QUEUE_COLUMNS), fill_value=0),
        _frames.QUEUE_COLUMNS,
    )
    return Recording(
        status=0,
        duration_s=seconds,
        queue=normal,
        provenance={
            "engine": "made up",
            "bottleneck": {
                "bandwidth_mbps": setting.bandwidth_mbps,
                "queue_packets": setting.queue_packets,
            },
            "setting": setting.name,
            "seconds": seconds,
            "answers": {**FINE, **answers},
        },
    )


class TestTrace:
    def test_utilisation(self) -> None:
        """Utilisation is that of the link in the time of the trace."""
        found = utilisation(download(SETTINGS[0], share=0.9, seconds=40).queue, SETTINGS[0])
        assert found == pytest.approx(0.9, rel=1e-3)

    def test_valid(self) -> None:
        """A download that used the link for the time of a trace over one connection is fine."""
        check_download(download(SETTINGS[0], seconds=20.0), SETTINGS[0])

    def test_min_utilisation(self) -> None:
        """How much of the link is enough can be said."""
        check_download(download(SETTINGS[0], share=0.6), SETTINGS[0], 0.55)
        with pytest.raises(ServerError, match="uses 60% of the link, not 65%"):
            check_download(download(SETTINGS[0], share=0.6), SETTINGS[0], 0.65)

    @pytest.mark.parametrize(
        ("wrong", "kind", "words"),
        [
            ({"pages": 0}, "refused", "does not answer"),
            ({"pages": 40, "others": 10}, "status", "10 of 50"),
            ({"connections": 2}, "connections", "2 connections"),
            ({"share": 0.79}, "slow", "79% of the link"),
            ({"seconds": 18.0, "broken": 4}, "closed", "after 50 answers and 18.0 s"),
            ({"seconds": 18.0}, "slow", "larger file"),
            ({"seconds": 19.95}, "slow", "larger file"),
        ],
    )
    def test_invalid(self, wrong: dict[str, Any], kind: str, words: str) -> None:
        """One that did not says what was the matter."""
        with pytest.raises(ServerError, match=words) as caught:
            check_download(download(SETTINGS[0], **wrong), SETTINGS[0])
        assert caught.value.kind == kind


class TestSurvey:
    """What is kept of servers; the downloads are made by the tests, the rest is real."""

    @staticmethod
    def run(
        folder: Path, urls: list[str], record: Callable[..., Recording], **options: Any
    ) -> list[dict[str, Any]]:
        """Survey servers in two settings."""
        return list(
            survey(
                [Target.named(url) for url in urls],
                TrainingSet.load(PACKAGED),
                record,
                folder,
                provenance={"engine": "made up"},
                **{"settings": SETTINGS[:2], "manners": Manners(pause_s=0), **options},
            )
        )

    def test_resumes(self, tmp_path: Path) -> None:
        """What was downloaded is not asked for again, whenever the survey was interrupted."""
        asked = []

        def record(_command: Any, link: Any, _rtt_ms: float, *, output: Any) -> Recording:
            output.write(b"status codes: 50 2xx\nconnections opened: 1")
            asked.append(link.bandwidth_mbps)
            if len(asked) == 2:
                raise KeyboardInterrupt
            return download(SETTINGS[0])

        with serving() as (url, seen):
            with pytest.raises(KeyboardInterrupt):
                self.run(tmp_path, [url], record)
            rows = self.run(tmp_path, [url], record)
            requests = len(seen)
            again = self.run(tmp_path, [url], record)
            assert len(seen) == requests
        assert len(asked) == 3  # of which one was interrupted
        assert rows == again
        own = tmp_path / Target.named(url).folder_name
        assert unsealed((own / "result.json").read_bytes()) == rows[0]
        assert (own / FIGURE).exists()
        assert ServerFolder(own).load(SETTINGS[1]) is not None

    def test_other_options(self, tmp_path: Path) -> None:
        """With another setting or filter, what is there is judged again, and the rest asked for."""
        asked = []

        def record(_command: Any, link: Any, _rtt_ms: float, *, output: Any) -> Recording:
            output.write(b"status codes: 50 2xx\nconnections opened: 1")
            asked.append(link.bandwidth_mbps)
            return download(SETTINGS[2] if link.bandwidth_mbps == 10 else SETTINGS[0])

        with serving() as (url, seen):
            self.run(tmp_path, [url], record)
            (smooth,) = self.run(tmp_path, [url], record, filters=Filters(smooth_s=0.5))
            assert (len(asked), len(seen)) == (2, 1)
            assert smooth["filters"]["smooth_s"] == 0.5
            (more,) = self.run(tmp_path, [url], record, settings=SETTINGS[:3])
            assert len(asked) == 3
            other = replace(TrainingSet.load(PACKAGED), provenance={})
            assert other.digest == more["training"]
            self.run(tmp_path, [url], record, settings=SETTINGS[:3])
        assert (len(asked), len(seen)) == (3, 2)
        assert [trace["setting"] for trace in more["traces"]] == [one.name for one in SETTINGS[:3]]

    def test_gone(self, tmp_path: Path) -> None:
        """What was observed of a server counts when it cannot be found any more."""

        def record(_command: Any, _link: Any, _rtt_ms: float, *, output: Any) -> Recording:
            output.write(b"status codes: 50 2xx\nconnections opened: 1")
            return download(SETTINGS[0])

        with serving() as (url, _):
            (before,) = self.run(tmp_path, [url], record, settings=SETTINGS[:1])
        (after,) = self.run(tmp_path, [url], record, settings=SETTINGS[:2])
        assert after["label"] == before["label"] is not None
        assert [trace["kind"] for trace in after["traces"]] == [None, "refused"]

    def test_row(self, tmp_path: Path) -> None:
        """A row has the label, the votes and what it took."""

        def record(_command: Any, _link: Any, _rtt_ms: float, *, output: Any) -> Recording:
            output.write(b"status codes: 50 2xx\nconnections opened: 1")
            return download(SETTINGS[0])

        with serving() as (url, _):
            (row,) = self.run(tmp_path, [url], record)
        assert row["label"] in {trace["label"] for trace in row["traces"]}
        votes = sum(trace["label"] == row["label"] for trace in row["traces"])
        assert row["votes"] == f"{votes} of 2"
        assert row["megabytes"] == pytest.approx(2 * 0.95 * 5 / 8 * 21, rel=0.01)
        assert [trace["setting"] for trace in row["traces"]] == [one.name for one in SETTINGS[:2]]
        assert row["provenance"] == {"engine": "made up"}
        assert row["engine"] == "made up"

    def test_gives_up(self, tmp_path: Path) -> None:
        """A server that does not answer through the link is not asked in other settings."""
        asked = []

        def record(_command: Any, _link: Any, _rtt_ms: float, **_: Any) -> Recording:
            asked.append(1)
            return download(SETTINGS[0])

        with serving() as (url, _):
            (row,) = self.run(tmp_path, [url], record)
            (same,) = self.run(tmp_path, [url], record)
            assert (row["label"], row["kind"], len(asked)) == (None, "refused", 1)
            self.run(tmp_path, [url], record, retry=True)
        assert same == row
        assert len(asked) == 2

    def test_link_fails(self, tmp_path: Path) -> None:
        """Where the link fails in one setting, the others vote."""
        asked = []

        def record(_command: Any, _link: Any, _rtt_ms: float, *, output: Any) -> Recording:
            output.write(b"status codes: 50 2xx\nconnections opened: 1")
            asked.append(1)
            if len(asked) == 1:
                raise EngineError("too busy")
            return download(SETTINGS[1])

        with serving() as (url, _):
            (row,) = self.run(tmp_path, [url], record)
        assert [trace["kind"] for trace in row["traces"]] == ["link", None]
        assert row["label"] == row["traces"][1]["label"]
        assert "too busy" in row["traces"][0]["error"]
        with serving() as (url, _):
            self.run(tmp_path / "again", [url], record)
            (row,) = self.run(tmp_path / "again", [url], record, retry=True)
        assert len(asked) == 4  # nothing has failed there

    def test_failures_are_tried_again(self, tmp_path: Path) -> None:
        """A link that failed in one setting is tried again there, and only there."""
        asked = []

        def record(_command: Any, _link: Any, _rtt_ms: float, *, output: Any) -> Recording:
            asked.append(1)
            output.write(b"status codes: 50 2xx\nconnections opened: 1\n")
            made = download(SETTINGS[0])
            return replace(made, status=1) if len(asked) == 1 else made

        with serving() as (url, _):
            (row,) = self.run(tmp_path, [url], record)
            assert [trace["kind"] for trace in row["traces"]] == ["link", None]
            (row,) = self.run(tmp_path, [url], record, retry=True)
        assert [trace["kind"] for trace in row["traces"]] == [None, None]
        assert len(asked) == 3

    def test_nothing_passes(self, tmp_path: Path) -> None:
        """A machine that forwards nothing is not the server's fault."""

        def record(_command: Any, _link: Any, _rtt_ms: float, **_: Any) -> Recording:
            made = download(SETTINGS[0])
            return replace(made, queue=made.queue.iloc[:0])

        with serving() as (url, _):
            (row,) = self.run(tmp_path, [url], record)
        assert row["kind"] == "link"
        assert "iptables" in row["error"]

    def test_small_page(self, tmp_path: Path) -> None:
        """A page so small that asking for it limits the server is not asked for again and again."""
        with serving() as (url, seen):
            (row,) = self.run(tmp_path, [f"{url}/900"], lambda: None)  # type: ignore[arg-type,return-value] # nobody is asked
        # Twice what path and queue hold, a hundred times: 2 * (53,125 + 96,000) / 100.
        assert row["kind"] == "small"
        assert "2983 bytes or more" in row["error"]
        assert len(seen) == 1

    def test_errors_are_rows(self, tmp_path: Path) -> None:
        """A server that cannot be found is a row without a label, and the next one has its turn."""
        with serving() as (url, _):
            rows = self.run(tmp_path, ["nobody.invalid", f"{url}/status/403"], lambda: None)  # type: ignore[arg-type,return-value] # nobody is asked
        assert [(row["label"], row["kind"]) for row in rows] == [
            (None, "unresolved"),
            (None, "status"),
        ]

    def test_damaged(self, tmp_path: Path) -> None:
        """A result that is no result is refused in one line."""
        folder = tmp_path / "nobody.invalid"
        folder.mkdir()
        (folder / "result.json").write_text("[]", encoding="utf-8")
        with pytest.raises(InputError, match="remove it"):
            self.run(tmp_path, ["nobody.invalid"], lambda: None)  # type: ignore[arg-type,return-value] # nobody is asked


class TestCommand:
    @staticmethod
    def classify(*words: str) -> Any:
        """Run the command."""
        return CliRunner().invoke(program, ["classify", *words])

    def test_dry_run(self) -> None:
        """A dry run says what would be asked at most, and asks nobody."""
        with serving() as (url, seen):
            result = self.classify(url, "example.com", "--dry-run", "--json")
        document = json.loads(result.stdout)
        assert (result.exit_code, seen) == (0, [])
        assert [one["url"] for one in document["servers"]] == [f"{url}/", "https://example.com/"]
        assert not any(one["has_result"] for one in document["servers"])
        assert document["each"]["megabytes_at_most"] == pytest.approx(30 / 8 * 22)

    @pytest.mark.parametrize(("engine", "packets"), [("mahimahi", [64, 128]), ("bess", [63, 127])])
    def test_engine(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, packets: list[int]
    ) -> None:
        """The engine that is named emulates the link, with the queues that it can have."""
        asked = []

        def record(
            _command: Any, link: Any, _rtt_ms: float, *, output: Any, **how: Any
        ) -> Recording:
            output.write(b"status codes: 50 2xx\nconnections opened: 1")
            asked.append((link.queue_packets, how))
            return download(SETTINGS[0])

        other = {"mahimahi": "bess", "bess": "mahimahi"}[engine]
        monkeypatch.setattr(f"ccbench.emulate.{engine}.command.record", record)
        monkeypatch.setattr(f"ccbench.emulate.{engine}.command.checks", lambda *_: [])
        monkeypatch.setattr(f"ccbench.emulate.{other}.command.checks", pytest.fail)
        monkeypatch.setattr("ccbench.classify.web.download.checks", list)
        names = [f"--setting={setting.name}" for setting in (SETTINGS[0], SETTINGS[2])]
        where = ["--bess-dir", str(tmp_path)] if engine == "bess" else []
        with serving() as (url, _):
            result = self.classify(
                *(
                    url,
                    "--engine",
                    engine,
                    *where,
                    "-o",
                    str(tmp_path / "kept"),
                    "--pause=0",
                    *names,
                )
            )
        assert result.exit_code in {0, 1}, result.stderr
        assert [count for count, _ in asked] == packets
        assert all(how == ({"directory": tmp_path} if where else {}) for _, how in asked)
        (row,) = (tmp_path / "kept").glob("*/result.json")
        assert json.loads(row.read_text(encoding="utf-8"))["provenance"]["engine"] == engine

    def test_no_such_queue(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A setting whose queue the engine cannot have is refused before anybody is asked."""
        monkeypatch.setattr(TrainingSet, "samples_of", lambda *_: None)
        with serving() as (url, seen):
            result = self.classify(
                *(url, "--engine", "bess", "--bess-dir", str(tmp_path)),
                *("--setting", "5bw-85rtt-64q", "--setting", "5bw-85rtt-100q"),
            )
        assert (result.exit_code, seen) == (2, [])
        (line,) = result.stderr.splitlines()
        assert "setting 5bw-85rtt-100q: bottlenecks[0].queue_packets is 100" in line

    @pytest.mark.parametrize("engine", ["mahimahi", "bess"])
    def test_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
        """What the engine lacks on this machine is said before anybody is asked."""
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CCBENCH_BESS_DIR", raising=False)
        with serving() as (url, seen):
            result = self.classify(url, "--engine", engine, "-o", str(tmp_path / "kept"))
        assert (result.exit_code, seen) == (1, [])
        assert {"mahimahi": "mahimahi: not", "bess": "BESS: not"}[engine] in str(result.stderr)

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ((), "names is"),
            (("a b.com",), "server is 'a b.com'"),
            (("run-1",), "file is 'run-1'; it must be there"),
            (("queue.csv",), "file is 'queue.csv'; it must be there"),
            (("results/run.d",), "file is 'results/run.d'; it must be there"),
            (("/nowhere/run-1",), "file is '/nowhere/run-1'; it must be there: mend the path"),
            (("example.com", "--setting", "7bw-85rtt-64q", "--dry-run"), "setting is"),
            (
                ("example.com", "--max-megabytes", "82", "--dry-run"),
                "write 83 (--max-megabytes 83)",
            ),
            (("example.com", "--min-utilisation", "80"), "min_utilisation is 80"),
            (("example.com", "--plot", "a.png", "--dry-run"), "--plot is"),
            (("example.com", "--bess-dir", "x"), "--bess-dir is"),
            (("example.com", "."), "files only"),
            ((".", "--dry-run"), "--dry-run is True; it must be left out for files"),
            ((".", "--pause", "3"), "--pause is 3.0; it must be left out for files"),
        ],
    )
    def test_refused(self, words: tuple[str, ...], message: str) -> None:
        """What cannot be meant is refused in one line before anybody is asked."""
        result = self.classify(*words)
        assert result.exit_code == 2
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1
