# SPDX-License-Identifier: Apache-2.0
"""Where the program ``ccbench`` starts, so that Ctrl-C is answered before and after all else.

Loading the commands takes a moment, and so does Python's end; a KeyboardInterrupt there would be a
traceback.
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
    is_heard = before is signal.default_int_handler  # not where a shell lets it be ignored
    if is_heard:
        signal.signal(signal.SIGINT, _leave)
    from ccbench.cli.main import main

    try:
        if is_heard:
            signal.signal(signal.SIGINT, before)
        main()
    except KeyboardInterrupt:  # another one, while the first was answered
        _leave()
    finally:
        if is_heard:
            signal.signal(signal.SIGINT, _leave)


def _leave(_signal: int = signal.SIGINT, _frame: FrameType | None = None) -> NoReturn:
    with suppress(OSError):
        os.write(2, b"ccbench: interrupted; what was finished is kept\n")
    os._exit(_INTERRUPTED)
