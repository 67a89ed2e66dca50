# SPDX-License-Identifier: Apache-2.0
"""Entry point of the program ``ccbench``.

It handles Ctrl-C while the commands are imported and while Python exits, where a KeyboardInterrupt
would print a traceback.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["start"]

_INTERRUPTED = 130  # ExitStatus is not loaded yet


def start() -> NoReturn:
    """Run the program on ``sys.argv`` and exit."""
    before = signal.getsignal(signal.SIGINT)
    is_handled = before is signal.default_int_handler  # false if the shell ignores SIGINT
    if is_handled:
        signal.signal(signal.SIGINT, _leave)
    from ccbench.cli.main import main

    try:
        if is_handled:
            signal.signal(signal.SIGINT, before)
        main()
    except KeyboardInterrupt:  # a second one, while main reports the first
        _leave()
    finally:
        if is_handled:
            signal.signal(signal.SIGINT, _leave)


def _leave(_signal: int = signal.SIGINT, _frame: FrameType | None = None) -> NoReturn:
    with suppress(OSError):
        os.write(2, b"ccbench: interrupted; finished runs are stored\n")
    os._exit(_INTERRUPTED)
