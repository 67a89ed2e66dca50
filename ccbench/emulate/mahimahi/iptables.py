# SPDX-License-Identifier: Apache-2.0
"""Wrapper that makes iptables usable by Mahimahi."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

__all__ = ["let_iptables_serve_users"]

#: With -p, the shell does not drop root's privileges.
_WRAPPER = '#!/bin/sh -p\nexec setpriv --ruid 0 -- {} "$@"\n'
_ALTERNATIVES = Path("/etc/alternatives")


def let_iptables_serve_users(folder: Path) -> None:
    """Let setuid programs call iptables in this mount namespace.

    Mahimahi's programs are setuid, which iptables from 1.8.8 on refuses. This function must be
    called as root in a private mount namespace.

    Parameters
    ----------
    folder : Path
        A folder for files that last as long as the namespace.
    """
    link = _ALTERNATIVES / "iptables"
    if not link.is_symlink():
        return  # a system without alternatives
    own = folder / _ALTERNATIVES.name
    shutil.copytree(_ALTERNATIVES, own, symlinks=True)
    wrapper = own / link.name
    wrapper.unlink()
    wrapper.write_text(_WRAPPER.format(link.readlink()), encoding="utf-8")
    wrapper.chmod(0o755)
    subprocess.run(["mount", "--bind", str(own), str(_ALTERNATIVES)], check=True)
