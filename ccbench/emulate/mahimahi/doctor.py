# SPDX-License-Identifier: Apache-2.0
"""Requirements of Mahimahi on a machine."""

from __future__ import annotations

import hashlib
import platform
import shutil
from functools import cache
from pathlib import Path

from ccbench.emulate.engine import Check
from ccbench.emulate.realtime.host import lacking, root_check, user_check

__all__ = ["checks", "programs_digest"]

_INSTALL_SCRIPT = "scripts/mahimahi.sh"
#: Mahimahi's programs.
_PROGRAMS = ("mm-delay", "mm-link", "mm-loss")
#: Other required programs and their packages.
_TOOLS = {
    "iptables": "iptables",
    "dnsmasq": "dnsmasq-base",
    "ip": "iproute2",
    "unshare": "util-linux",
    "setpriv": "util-linux",
}


def checks(user: str) -> list[Check]:
    """Return the checks, which have no side effects.

    Parameters
    ----------
    user : str
        The user of Mahimahi's programs.
    """
    return [_programs(), _tools(), root_check(), user_check(user)]


@cache
def programs_digest() -> str:
    """Return a digest of this machine's build of Mahimahi; "none" if it is not installed."""
    digest = hashlib.sha256()
    for name in _PROGRAMS:
        path = shutil.which(name)
        if path is None:
            return "none"
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()[:8]


def _programs() -> Check:
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    return Check(
        name="mahimahi",
        ok=not missing,
        detail=f"not installed: {', '.join(missing)}" if missing else "installed",
        remedy=_how_to_install(),
    )


def _how_to_install() -> str:
    """Return the step that installs Mahimahi, which few systems have as a package."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    package = "sudo apt-get install -y --no-install-recommends mahimahi"
    if release.get("ID") == "debian" and release.get("VERSION_ID") != "11":
        return f"sudo {_INSTALL_SCRIPT} (in ccbench's sources; four packages come from Debian 11)"
    if release.get("ID") in {"ubuntu", "debian"}:
        return package
    return "use Ubuntu or Debian, which have a package, or build it from source"


def _tools() -> Check:
    return Check.of_programs("programs of a run", lacking(_TOOLS))
