# SPDX-License-Identifier: Apache-2.0
"""h2load, the client of downloads over TCP: HTTP/2, or HTTP/1.1 without TLS."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from ccbench.base.errors import EngineError
from ccbench.classify.web.client import ASKED_S, INACTIVITY_S, Responses, requests_at_once
from ccbench.emulate.engine import Check

if TYPE_CHECKING:
    from ccbench.classify.web.manners import Manners
    from ccbench.classify.web.site import Site

__all__ = ["H2Load"]

#: Time in seconds after the end of the download after which h2load is terminated.
_GRACE_S = 5.0

#: Terminates a program that has opened too many connections; prints the number of connections.
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


class H2Load:
    """h2load; see :class:`~ccbench.classify.web.client.Client`."""

    name = "h2load"
    suffix = ""

    def check(self, user: str) -> Check:
        """Check that it is installed, for all users."""
        del user
        missing = {} if shutil.which("h2load") else {"h2load": "nghttp2-client"}
        return Check.of_programs("programs for downloads", missing)

    def command(self, site: Site, manners: Manners) -> list[str]:
        """Return the command of a download."""
        target = site.target
        command = [
            "timeout",
            f"{ASKED_S + _GRACE_S:.0f}",
            "h2load",
            "--clients=1",
            "--threads=1",
            f"--max-concurrent-streams={requests_at_once(site)}",
            f"--duration={ASKED_S:.0f}",
            f"--connection-inactivity-timeout={INACTIVITY_S}",
            f"--header=user-agent: {manners.user_agent}",
            f"--connect-to={site.address}:{target.port}",
            target.url,
        ]
        if target.scheme == "http":
            command.insert(3, "--h1")  # few servers speak HTTP/2 without TLS
        return ["sh", "-c", _SCRIPT, "sh", str(manners.max_connections), *command]

    def responses(self, printed: str) -> Responses:
        """Parse the output.

        Examples
        --------
        >>> H2Load().responses("Application protocol: h2").protocol
        'h2'
        """

        def number(pattern: str) -> int:
            match = re.search(pattern, printed)
            return int(match[1]) if match else 0

        protocol = re.search(r"Application protocol: (\S+)", printed)
        return Responses(
            protocol=protocol[1] if protocol else "",
            connections=number(r"connections opened: (\d+)"),
            pages=number(r"status codes: (\d+) 2xx"),
            others=sum(number(rf"(\d+) {kind}xx") for kind in (3, 4, 5)),
            broken=number(r"(\d+) errored"),
        )

    def last_words(self, printed: str) -> str:
        r"""Return the line before that of the script.

        Examples
        --------
        >>> H2Load().last_words("Killed\nconnections opened: 0")
        'Killed'
        """
        return "".join(printed.strip().splitlines()[-2:-1])

    def silence(self) -> EngineError:
        """Blame the path: the server has answered without the link."""
        step = "check that no firewall drops forwarded packets (iptables -S FORWARD)"
        return EngineError(f"no packet has passed the link: {step}")
