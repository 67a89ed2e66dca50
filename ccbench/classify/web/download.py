# SPDX-License-Identifier: Apache-2.0
"""Downloads through an emulated link, and the queue that they cause."""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import EngineError, ServerError
from ccbench.classify.occupancy import DURATION_S, STEP_S
from ccbench.classify.web.client import MOST_REQUESTS, Responses
from ccbench.classify.web.target import INSTEAD_OF_LOOPBACK, is_loopback
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import MTU_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from ccbench.classify.setting import Setting
    from ccbench.classify.web.client import Client
    from ccbench.classify.web.manners import Manners
    from ccbench.classify.web.site import Site
    from ccbench.emulate.recording import CommandRecording

    #: Type of ``record`` of a :class:`ccbench.emulate.engine.LinkEngine`.
    Recorder = Callable[..., CommandRecording]

__all__ = [
    "UTILISATION",
    "added_rtt_ms",
    "check_download",
    "check_utilisation",
    "download",
    "link_of",
    "utilisation",
]

#: Minimum utilisation: below it, the server is not limited by its CCA (section 2.5.1).
UTILISATION = 0.8

#: Minimum ratio of the requested bytes to the capacity of path and queue, so that the CCA limits
#: the server, and not the requests.
_MIN_RATIO = 2.0
#: Minimum fraction of responses with a page.
_MIN_PAGES = 0.9
#: Resolution of the added round-trip time: mm-delay takes whole milliseconds per direction, from 1.
_RTT_STEP_MS = 2

#: Exit statuses of success, and of termination by timeout and by the client's script.
_ENDINGS = (0, 124, 143)


def added_rtt_ms(setting: Setting, rtt_ms: float) -> int:
    """Return the delay to add to a server's round-trip time to reach that of the setting.

    Raises
    ------
    ServerError
        If the server's round-trip time exceeds that of the setting.
    """
    missing_ms = setting.rtt_ms - rtt_ms
    if missing_ms < 0:
        message = f"its round-trip time is {rtt_ms:.1f} ms, above {setting.rtt_ms:g} ms"
        raise ServerError(message, "too far")
    return max(1, round(missing_ms / _RTT_STEP_MS)) * _RTT_STEP_MS


def link_of(setting: Setting) -> Bottleneck:
    """Return the bottleneck of a setting."""
    return Bottleneck(bandwidth_mbps=setting.bandwidth_mbps, queue_packets=setting.queue_packets)


def download(  # noqa: PLR0913 - the download, and what it runs with
    site: Site,
    setting: Setting,
    manners: Manners,
    record: Recorder,
    *,
    client: Client,
    others: Sequence[Setting] = (),
) -> CommandRecording:
    """Download for :data:`ASKED_S` through the link of a setting.

    Parameters
    ----------
    site : Site
    setting : Setting
    manners : Manners
    record : callable
        Function that runs a command behind a link, such as
        :meth:`ccbench.emulate.engine.LinkEngine.record`.
    client : Client
        Program of the download.
    others : sequence of Setting
        All settings of the measurement. The advice for a page that is too small names the size that
        all need.

    Returns
    -------
    CommandRecording
        Its provenance has ``setting``, ``url``, ``address``, ``server_rtt_ms``, ``answers``, and
        the duration in ``seconds``.

    Raises
    ------
    ServerError
        If the server is too far away, its page is too small, or its address is a loopback address.
    EngineError
        If the link or the client fails, or no packet passes the link.
    """
    if is_loopback(site.address):
        message = f"its address is {site.address}, this machine's loopback, which no link reaches"
        raise ServerError(f"{message}: {INSTEAD_OF_LOOPBACK}", "loopback")
    link = link_of(setting)
    added_ms = added_rtt_ms(setting, site.rtt_ms)
    _check_page(site, setting, others)
    with tempfile.TemporaryFile() as output:
        start_s = time.monotonic()
        recording = record(client.command(site, manners), link, added_ms, output=output)
        duration_s = time.monotonic() - start_s
        if recording.was_interrupted:
            raise KeyboardInterrupt
        output.seek(0)
        printed = output.read().decode(errors="replace")
    if recording.status not in _ENDINGS:
        words = client.last_words(printed) or "no output"
        raise EngineError(f"{client.name} ended with status {recording.status}: {words}")
    if not len(recording.queue):
        raise client.silence()
    provenance = {
        **recording.provenance,
        "setting": setting.name,
        "url": site.target.url,
        "address": site.address,
        "server_rtt_ms": site.rtt_ms,
        "answers": asdict(client.responses(printed)),
        "seconds": round(duration_s, 3),
    }
    return replace(recording, provenance=provenance)


def utilisation(events: pd.DataFrame, setting: Setting) -> float:
    """Return the utilisation of the link during a trace."""
    times_s = (events["time_ns"] - events["time_ns"].min()) / 1e9
    carried = events.loc[(events["event"] == "dequeue") & (times_s < DURATION_S), "bytes"].sum()
    return float(carried) * 8 / (setting.bandwidth_mbps * 1e6 * DURATION_S)


def check_utilisation(min_utilisation: float) -> None:
    """Check that a minimum utilisation is above 0 and at most 1.

    Raises
    ------
    InputError
        If it is not.
    """
    share = validation.Range(0, 1, low_open=True)
    validation.number("min_utilisation", min_utilisation, share, example=UTILISATION)


def check_download(
    recording: CommandRecording, setting: Setting, min_utilisation: float = UTILISATION
) -> None:
    """Check that a download shows the CCA of one connection.

    Parameters
    ----------
    recording : CommandRecording
        The download.
    setting : Setting
        The setting of the download.
    min_utilisation : float
        Minimum utilisation of the link.

    Raises
    ------
    ServerError
        If it does not: the kind is ``"refused"``, ``"status"``, ``"connections"``, ``"closed"`` or
        ``"slow"``.
    """
    answers = Responses(**recording.provenance["answers"])
    used = utilisation(recording.queue, setting)
    answered = answers.pages + answers.others
    if answers.connections > 1:
        step = "name a larger file"
        message = f"it took {answers.connections} connections, and a trace must be of one"
        raise ServerError(f"{message}: {step}", "connections")
    if not answered:
        raise ServerError("it does not answer through the link", "refused")
    if answers.pages < _MIN_PAGES * answered:
        message = f"{answers.others} of {answered} responses are not pages: it may limit requests"
        raise ServerError(message, "status")
    times_ns = recording.queue["time_ns"]
    duration_s = (times_ns.max() - times_ns.min()) / 1e9
    is_short = duration_s < DURATION_S - STEP_S
    if is_short and answers.broken:
        message = f"it closed the connection after {answered} responses and {duration_s:.1f} s"
        raise ServerError(f"{message}: name a larger file", "closed")
    if used < min_utilisation or is_short:
        message = f"it uses {used:.0%} of the link, not {min_utilisation:.0%}"
        reason = "it sends too slowly, or its page is too small"
        raise ServerError(f"{message}: {reason}: name a larger file", "slow")


def _check_page(site: Site, setting: Setting, others: Sequence[Setting]) -> None:
    """Check that simultaneous requests for the page can fill path and queue."""
    if site.body_bytes < _least_page_bytes(setting):
        message = (
            f"its page of {site.body_bytes} bytes is too small for {MOST_REQUESTS} requests at once"
        )
        least = max(map(_least_page_bytes, (setting, *others)))
        step = f"name a file of {least} bytes or more, which is enough for all settings"
        raise ServerError(f"{message}: {step}", "small")


def _least_page_bytes(setting: Setting) -> int:
    """Return the size of a page whose simultaneous requests fill path and queue twice."""
    path_bytes = setting.bandwidth_mbps * 1e6 / 8 * setting.rtt_ms / 1e3
    capacity_bytes = path_bytes + setting.queue_packets * MTU_BYTES
    return math.ceil(_MIN_RATIO * capacity_bytes / MOST_REQUESTS)
