# SPDX-License-Identifier: Apache-2.0
"""Named traces: recorded cellular links and traces in a user's folder.

The cellular links are from the package ``mahimahi-traces`` and were recorded in cars and on foot
(Winstein et al., "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular
Networks", NSDI 2013).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import MissingRequirement
from ccbench.experiment.trace import Trace, name_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["figures", "find", "paths", "summary"]

#: Folder of the package ``mahimahi-traces``.
PACKAGE_FOLDER = Path("/usr/share/mahimahi/traces")

#: Suffixes of trace files.
_SUFFIXES = {".down", ".trace", ".up"}

HOW_TO_INSTALL = (
    "recorded cellular links are in the package mahimahi-traces, which `sudo scripts/mahimahi.sh` "
    "installs in a checkout; for traces of your own, export CCBENCH_TRACES=FOLDER"
)


def paths() -> dict[str, Path]:
    """Return the files of all named traces, sorted by name.

    They are in the folder ``$CCBENCH_TRACES``, if set, and in that of the package
    ``mahimahi-traces``; the former takes precedence. The name of a trace is that of its file, which
    ends in ``.up``, ``.down`` or ``.trace``.

    Raises
    ------
    InputError
        If ``$CCBENCH_TRACES`` is not a folder.

    Examples
    --------
    >>> list(paths())  # doctest: +SKIP
    """
    folders = [PACKAGE_FOLDER] if PACKAGE_FOLDER.is_dir() else []
    own = os.environ.get("CCBENCH_TRACES")
    if own:
        folder = validation.user_path("CCBENCH_TRACES", own)
        if not folder.is_dir():
            step = "export CCBENCH_TRACES=FOLDER, or unset it"
            raise validation.bad("CCBENCH_TRACES", own, "a folder of trace files", step)
        folders.append(folder)  # its traces override the package's
    files = (file for folder in folders for file in folder.iterdir())
    by_name = {name_of(file): file for file in files if file.suffix in _SUFFIXES}
    return dict(sorted(by_name.items()))


def find(name: str, base_dir: str | Path = ".") -> Trace:
    """Return a trace by the path of its file or by its name.

    Parameters
    ----------
    name : str
        A path or, if there is no such file, a name from :func:`paths`.
    base_dir : path
        Base of a relative path.

    Raises
    ------
    InputError
        If the trace does not exist or is invalid.

    Examples
    --------
    >>> find("varying-link.trace", "examples").mean_mbps
    15.0
    """
    path = Path(base_dir) / name
    if path.exists():
        return Trace.from_file(path)
    files = paths()
    if name not in files:
        allowed = f"a trace file (there is none in {base_dir}) or a name of `ccbench traces list`"
        step = validation.choice_hint(name, files)
        if not PACKAGE_FOLDER.is_dir():
            step = f"{step}; {HOW_TO_INSTALL}"
        raise validation.bad("trace", name, allowed, step)
    return Trace.from_file(files[name])


def figures() -> dict[str, dict[str, float]]:
    """Return the properties of each named trace, by name.

    Returns
    -------
    dict of dict
        ``duration_s``, the period; ``mean_mbps``; ``p5_mbps`` and ``p95_mbps``, percentiles of the
        rate over 1 s; ``longest_gap_s``, the longest time without an opportunity.

    Raises
    ------
    MissingRequirement
        If there are no traces.
    InputError
        If a file is not a trace, or ``$CCBENCH_TRACES`` is not a folder.

    Examples
    --------
    >>> figures()["Verizon-LTE-driving.down"]["mean_mbps"]  # doctest: +SKIP
    """
    properties = {name: _figures(Trace.from_file(path)) for name, path in paths().items()}
    if not properties:
        raise MissingRequirement(f"there are no traces here: {HOW_TO_INSTALL}")
    return properties


def summary() -> pd.DataFrame:
    """Return the properties of all named traces as a table.

    Returns
    -------
    DataFrame
        Index ``name``; columns as in :func:`figures`.

    Raises
    ------
    MissingRequirement, InputError
        As :func:`figures`.

    Examples
    --------
    >>> summary()["mean_mbps"].idxmax()  # doctest: +SKIP
    """
    import pandas as pd  # noqa: PLC0415 - not needed to find a trace

    return pd.DataFrame.from_dict(figures(), orient="index").rename_axis("name")


def _figures(trace: Trace) -> dict[str, float]:
    import numpy as np  # noqa: PLC0415 - likewise

    low, high = map(float, np.percentile(trace.rates_mbps(), [5, 95]))
    return {
        "duration_s": trace.duration_s,
        "mean_mbps": trace.mean_mbps,
        "p5_mbps": low,
        "p95_mbps": high,
        "longest_gap_s": trace.longest_gap_s,
    }
