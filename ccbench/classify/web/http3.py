# SPDX-License-Identifier: Apache-2.0
"""The client of downloads over QUIC (HTTP/3): a program of ccbench with aioquic."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ccbench.base.errors import ServerError
from ccbench.classify.web.client import ASKED_S, Responses, requests_at_once
from ccbench.emulate.engine import Check

if TYPE_CHECKING:
    from ccbench.classify.web.manners import Manners
    from ccbench.classify.web.site import Site

__all__ = ["Http3"]

_PROGRAM = "ccbench.classify.web.http3_program"


class Http3:
    """A client of HTTP/3; see :class:`~ccbench.classify.web.client.Client`.

    It opens one connection. The certificate is that of the same host over TCP, which has been
    checked, and is not checked again.
    """

    name = "the HTTP/3 client"
    suffix = "+http3"

    def check(self, user: str) -> Check:
        """Check that aioquic is installed, and that the user can start this Python."""
        detail, remedy = "aioquic is installed", ""
        if find_spec("aioquic") is None:
            detail, remedy = "aioquic is not installed", "pip install 'ccbench[http3]'"
        elif os.geteuid() == 0 and not _can_start(user):
            detail = f"the user {user} cannot start {sys.executable}"
            remedy = "name in CCBENCH_USER a user who can, or install ccbench in a public folder"
        name = "HTTP/3 client (for --http3)"
        return Check(name=name, ok=not remedy, detail=detail, remedy=remedy)

    def command(self, site: Site, manners: Manners) -> list[str]:
        """Return the command of a download.

        Raises
        ------
        ServerError
            If the page is without TLS.
        """
        if site.target.scheme != "https":
            message = f"{site.target.url} is without TLS, which HTTP/3 needs: write https://"
            raise ServerError(message, "tls")
        return [
            *(sys.executable, "-m", _PROGRAM, site.address, str(site.target.port)),
            *(site.target.url, f"{ASKED_S:g}", str(requests_at_once(site)), manners.user_agent),
        ]

    def responses(self, printed: str) -> Responses:
        """Parse the output, whose last line has the statistics.

        Examples
        --------
        >>> line = '{"protocol": "h3", "connections": 1, "pages": 9, "others": 0, "broken": 0}'
        >>> Http3().responses(line).pages
        9
        """
        return Responses(**json.loads(printed.splitlines()[-1]))

    def last_words(self, printed: str) -> str:
        r"""Return the last line, which names the error.

        Examples
        --------
        >>> Http3().last_words("Traceback:\nOSError: no route to host")
        'OSError: no route to host'
        """
        return "".join(printed.strip().splitlines()[-1:])

    def silence(self) -> ServerError:
        """Blame the server: most do not speak HTTP/3."""
        message = "it does not answer over QUIC: it may not speak HTTP/3, or UDP does not pass"
        return ServerError(f"{message}: leave out --http3", "refused")


def _can_start(user: str) -> bool:
    """Return whether a user can start this Python with the program's modules."""
    command = [sys.executable, "-c", "import aioquic, ccbench"]
    try:
        group = pwd.getpwnam(user).pw_gid
        subprocess.run(  # noqa: S603 - this Python, as a user of this machine
            command,
            user=user,
            group=group,
            extra_groups=(),
            capture_output=True,
            cwd="/",
            check=True,
        )
    except (OSError, LookupError, subprocess.CalledProcessError):
        return False
    return True
