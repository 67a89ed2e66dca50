# SPDX-License-Identifier: Apache-2.0
"""A download through an emulated link, by h2load, and what the link's queue did meanwhile."""

from __future__ import annotations

import math
import re
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import EngineError, ServerError
from ccbench.classify.occupancy import DURATION_S, STEP_S
from ccbench.classify.web.target import INSTEAD_OF_LOOPBACK, is_loopback
from ccbench.emulate.engine import Check
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import MTU_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from ccbench.classify.setting import Setting
    from ccbench.classify.web.manners import Manners
    from ccbench.classify.web.site import Site
    from ccbench.emulate.engine import LinkEngine
    from ccbench.emulate.realtime.recording import Recording

    #: Runs a command behind a link: ``record`` of a :class:`ccbench.emulate.engine.LinkEngine`.
    Recorder = Callable[..., Recording]

__all__ = [
    "ASKED_S",
    "UTILISATION",
    "Answers",
    "added_rtt_ms",
    "check_download",
    "check_utilisation",
    "checks",
    "download",
    "link_of",
    "utilisation",
]

#: How long is asked: as long as a trace, and a while for the handshakes before it.
ASKED_S = DURATION_S + 2.0
#: A server that uses less of the link is limited by something else (section 2.5.1).
UTILISATION = 0.8

#: What is asked for at once: enough that the server always has something to send, and few requests
#: where they are for large files.
_ASKED_BYTES, _FEWEST, _MOST = 16_000_000, 2, 100
#: So much more than the path and the queue can hold must be asked for, or else what is asked for
#: limits the server, and not its CCA.
_ENOUGH = 2.0
#: A server that has said nothing for so long has gone.
_SILENCE_S = 10
#: h2load ends by itself. If it does not, it is ended this much later.
_REST_S = 5.0
#: Of its answers as many must be pages.
_FINE = 0.9
#: mm-delay knows whole milliseconds each way, and no less than one.
_RTT_STEP_MS = 2

#: Ends the program when it has opened too many connections; says how many these were.
_SCRIPT = """
most=$1; shift
"$@" & asking=$!
count() { while read -r name _ _ _ _ opened _; do [ "$name" != Tcp: ] || echo "$opened"; done \
</proc/net/snmp | tail -n 1; }
while kill -0 $asking 2>/dev/null; do
  sleep 0.2
  [ "$(count)" -le "$most" ] || kill $asking 2>/dev/null
done
wait $asking
status=$?
echo "connections opened: $(count)"
exit $status
"""
#: Its statuses where h2load has done what it was told, or was ended: by timeout, or by the script.
_ENDINGS = (0, 124, 143)


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What a server has answered.

    Parameters
    ----------
    protocol : str
        What was spoken: ``"h2"`` or ``"http/1.1"``; empty if nothing was.
    connections : int
        How many TCP connections were opened.
    pages : int
        Answers that were a page (status 200 to 299), complete or not.
    others : int
        Those with another status.
    broken : int
        Requests whose answer did not come or not whole, as the connection ended.
    """

    protocol: str
    connections: int
    pages: int
    others: int
    broken: int

    @classmethod
    def read(cls, text: str) -> Answers:
        """Read what h2load has printed.

        Examples
        --------
        >>> Answers.read("Application protocol: h2").protocol
        'h2'
        """

        def number(pattern: str) -> int:
            found = re.search(pattern, text)
            return int(found[1]) if found else 0

        protocol = re.search(r"Application protocol: (\S+)", text)
        return cls(
            protocol=protocol[1] if protocol else "",
            connections=number(r"connections opened: (\d+)"),
            pages=number(r"status codes: (\d+) 2xx"),
            others=sum(number(rf"(\d+) {kind}xx") for kind in (3, 4, 5)),
            broken=number(r"(\d+) errored"),
        )


def checks(engine: LinkEngine) -> list[Check]:
    """Return what asking servers through an engine's links needs, and whether it is there."""
    missing = {} if shutil.which("h2load") else {"h2load": "nghttp2-client"}
    return [*engine.link_checks(), Check.of_programs("programs that ask servers", missing)]


def added_rtt_ms(setting: Setting, rtt_ms: float) -> int:
    """Return what must be added to a server's round trip to make it the setting's.

    Raises
    ------
    ServerError
        If the server is too far away.
    """
    missing_ms = setting.rtt_ms - rtt_ms
    if missing_ms < 0:
        message = f"it is {rtt_ms:.1f} ms away, too far for {setting.rtt_ms:g} ms"
        raise ServerError(message, "too far")
    return max(1, round(missing_ms / _RTT_STEP_MS)) * _RTT_STEP_MS


def link_of(setting: Setting) -> Bottleneck:
    """Return the bottleneck of a setting."""
    return Bottleneck(bandwidth_mbps=setting.bandwidth_mbps, queue_packets=setting.queue_packets)


def download(site: Site, setting: Setting, manners: Manners, record: Recorder) -> Recording:
    """Download for :data:`ASKED_S` through the link of a setting.

    Parameters
    ----------
    site : Site
        Whom to ask.
    setting : Setting
        Through which link.
    manners : Manners
        How.
    record : callable
        What runs a command behind a link, as :meth:`ccbench.emulate.engine.LinkEngine.record` does.

    Returns
    -------
    Recording
        Its provenance says where it is from: ``setting``, ``url``, ``address``, ``server_rtt_ms``,
        ``answers``, and how many ``seconds`` it took.

    Raises
    ------
    ServerError
        If the server is too far away, its page too small, or its address a loopback one.
    EngineError
        If the link or h2load fails, or nothing passes the link.
    """
    if is_loopback(site.address):
        message = f"its address is {site.address}, this machine's loopback, where no link leads"
        raise ServerError(f"{message}: {INSTEAD_OF_LOOPBACK}", "loopback")
    link = link_of(setting)
    added_ms = added_rtt_ms(setting, site.rtt_ms)
    _check_page(site, setting)
    with tempfile.TemporaryFile() as output:
        begin_s = time.monotonic()
        recording = record(_command(site, manners), link, added_ms, output=output)
        lasted_s = time.monotonic() - begin_s
        if recording.was_interrupted:
            raise KeyboardInterrupt
        output.seek(0)
        said = output.read().decode(errors="replace")
    if recording.status not in _ENDINGS:
        words = said.strip().splitlines()[-2:-1] or ["it said nothing"]
        raise EngineError(f"h2load ended with status {recording.status}: {words[0]}")
    if not len(recording.queue):
        step = (
            "look whether a firewall of this machine drops what it forwards (iptables -S FORWARD)"
        )
        raise EngineError(f"nothing has passed the link: {step}")
    answers = Answers.read(said)
    about = {
        "setting": setting.name,
        "url": site.target.url,
        "address": site.address,
        "server_rtt_ms": site.rtt_ms,
        "answers": asdict(answers),
        "seconds": round(lasted_s, 3),
    }
    return replace(recording, provenance={**recording.provenance, **about})


def utilisation(events: pd.DataFrame, setting: Setting) -> float:
    """Return which part of the link was used in the time of a trace."""
    times_s = (events["time_ns"] - events["time_ns"].min()) / 1e9
    carried = events.loc[(events["event"] == "dequeue") & (times_s < DURATION_S), "bytes"].sum()
    return float(carried) * 8 / (setting.bandwidth_mbps * 1e6 * DURATION_S)


def check_utilisation(min_utilisation: float) -> None:
    """Check what a user wants to be enough.

    Raises
    ------
    InputError
        If it is no part of a link.
    """
    share = validation.Range(0, 1, low_open=True)
    validation.number("min_utilisation", min_utilisation, share, example=UTILISATION)


def check_download(
    recording: Recording, setting: Setting, min_utilisation: float = UTILISATION
) -> None:
    """Check that a download shows the CCA of one connection.

    Parameters
    ----------
    recording : Recording
        The download.
    setting : Setting
        Where it was made.
    min_utilisation : float
        Which part of the link it must have used at least.

    Raises
    ------
    ServerError
        If it does not: the kind is ``"refused"``, ``"status"``, ``"connections"``, ``"closed"`` or
        ``"slow"``.
    """
    answers = Answers(**recording.provenance["answers"])
    used = utilisation(recording.queue, setting)
    answered = answers.pages + answers.others
    if answers.connections > 1:
        step = "name a larger file"
        message = f"it took {answers.connections} connections, of which a trace can be but one"
        raise ServerError(f"{message}: {step}", "connections")
    if not answered:
        raise ServerError("it does not answer when it is asked through the link", "refused")
    if answers.pages < _FINE * answered:
        message = f"{answers.others} of {answered} answers are no pages: it may limit requests"
        raise ServerError(message, "status")
    times_ns = recording.queue["time_ns"]
    lasted_s = (times_ns.max() - times_ns.min()) / 1e9
    is_short = lasted_s < DURATION_S - STEP_S
    if is_short and answers.broken:
        message = f"it closed the connection after {answered} answers and {lasted_s:.1f} s"
        raise ServerError(f"{message}: name a larger file", "closed")
    if used < min_utilisation or is_short:
        message = f"it uses {used:.0%} of the link, not {min_utilisation:.0%}"
        reason = "it sends too slowly, or its page is too small"
        raise ServerError(f"{message}: {reason}: name a larger file", "slow")


def _check_page(site: Site, setting: Setting) -> None:
    """Check that a page is large enough: that asked for so often, it fills the path."""
    path_bytes = setting.bandwidth_mbps * 1e6 / 8 * setting.rtt_ms / 1e3
    holds_bytes = path_bytes + setting.queue_packets * MTU_BYTES
    least = math.ceil(_ENOUGH * holds_bytes / _MOST)
    if site.body_bytes < least:
        message = (
            f"its page of {site.body_bytes} bytes is too small, asked for {_MOST} times at once"
        )
        raise ServerError(f"{message}: name a file of {least} bytes or more", "small")


def _command(site: Site, manners: Manners) -> list[str]:
    target = site.target
    at_once = math.ceil(_ASKED_BYTES / max(1, site.body_bytes))
    asking = [
        "timeout",
        f"{ASKED_S + _REST_S:.0f}",
        "h2load",
        "--clients=1",
        "--threads=1",
        f"--max-concurrent-streams={min(max(at_once, _FEWEST), _MOST)}",
        f"--duration={ASKED_S:.0f}",
        f"--connection-inactivity-timeout={_SILENCE_S}",
        f"--header=user-agent: {manners.user_agent}",
        f"--connect-to={site.address}:{target.port}",
        target.url,
    ]
    if target.scheme == "http":
        asking.insert(3, "--h1")  # few servers speak HTTP/2 without TLS
    return ["sh", "-c", _SCRIPT, "sh", str(manners.max_connections), *asking]
