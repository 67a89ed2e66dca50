# SPDX-License-Identifier: Apache-2.0
"""Look for input that breaks a parser, guided by the code that it reaches (atheris, libFuzzer).

    pip install atheris
    python scripts/fuzz_parsers.py capture -max_total_time=300 [CORPUS FOLDER]

Every file is either read or refused with one of ccbench's own errors. The other arguments are
libFuzzer's. Parsers: capture, link-log, scenario, space, trace.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import atheris

if TYPE_CHECKING:
    from collections.abc import Callable

with atheris.instrument_imports(include=["ccbench"]):
    from ccbench.base.errors import CcbenchError
    from ccbench.emulate.mahimahi.link_log import LinkLog
    from ccbench.emulate.mahimahi.replay import replay
    from ccbench.experiment.scenario import Scenario
    from ccbench.experiment.trace import Trace
    from ccbench.raygen.space import Space
    from ccbench.run.captures.reader import read_capture

PARSERS: dict[str, Callable[[Path], object]] = {
    "capture": lambda path: list(read_capture(path)),
    "link-log": lambda path: replay(LinkLog.read(path)),
    "scenario": Scenario.load,
    "space": Space.load,
    "trace": Trace.from_file,
}


def main() -> None:
    """Run a parser until libFuzzer's limits."""
    names = sys.argv[1:2]
    if not names or names[0] not in PARSERS:
        sys.exit(f"name a parser: {', '.join(PARSERS)}")
    parse = PARSERS[names[0]]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "input"

        def once(data: bytes) -> None:
            path.write_bytes(data)
            try:
                parse(path)
            except CcbenchError as error:
                if "\n" in str(error):
                    raise AssertionError("an error of several lines") from error

        atheris.Setup([sys.argv[0], *sys.argv[2:]], once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
