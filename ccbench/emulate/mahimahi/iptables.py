# SPDX-License-Identifier: Apache-2.0
"""An iptables that serves Mahimahi."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

__all__ = ["let_iptables_serve_users"]

#: -p, as the shell would give up being root.
_WRAPPER = '#!/bin/sh -p\nexec setpriv --ruid 0 -- {} "$@"\n'
_ALTERNATIVES = Path("/etc/alternatives")


def let_iptables_serve_users(folder: Path) -> None:
    """Let programs that are root by their file's owner call iptables, in this mount namespace.

    Mahimahi's are such, and iptables from 1.8.8 on refuses to work for a user who is not root
    otherwise. To be called as root of a mount namespace that nobody else is in.

    Parameters
    ----------
    folder : Path
        Where files may be made that last as long as the namespace.
    """
    link = _ALTERNATIVES / "iptables"
    if not link.is_symlink():
        return  # another system, which chooses its iptables in another way
    own = folder / _ALTERNATIVES.name
    shutil.copytree(_ALTERNATIVES, own, symlinks=True)
    wrapper = own / link.name
    wrapper.unlink()
    wrapper.write_text(_WRAPPER.format(link.readlink()), encoding="utf-8")
    wrapper.chmod(0o755)
    subprocess.run(["mount", "--bind", str(own), str(_ALTERNATIVES)], check=True)
