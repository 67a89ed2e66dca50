# SPDX-License-Identifier: Apache-2.0
"""Internal state that congestion controls report.

Linux's interface for it is inet_diag, by which ``ss -i`` shows 20 bytes or less that each
congestion control may fill as it likes. Here they have names and units, in the order of the columns
``cca_info_0`` to ``cca_info_6`` of a run's samples.

=====================  =============================================================================
``nimbus`` and         ``mode``: 0 TCP-competitive, 1 delay-control; ``role``: 0 watcher, 1 pulser,
variants               2 pulser that does not pulse now; ``eta``, at most 655.35, 0 while there is
                       none; ``mu_mbps``; ``z_mbps``, the cross traffic; ``send_mbps``,
                       ``receive_mbps``: S and R
``abc``, ``abc_ns``    ``w_abc``, ``w_nonabc``: windows in packets; ``accelerated``, ``braked``:
                       packets so far
``copa``,              ``default_mode``: 0 or 1; ``inverse_delta`` in packets; ``standing_us``,
``copa_default``       ``min_us``: RTTs
``rapid``              ``estimate_low``, ``estimate_high``: the available bandwidth in bytes per
                       second, modulo and divided by 2^32; ``min_us``; ``packets`` of a stream;
                       ``estimates`` so far
``bbr``                ``rate_low``, ``rate_high``: bytes per second as above; ``min_us``;
                       ``pacing_gain``, ``cwnd_gain`` in units of 1/256
``vegas``              ``enabled``; ``rtt_samples``; ``base_us``; ``round_us`` in a round trip
=====================  =============================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

__all__ = ["COLUMNS", "NAMES", "decode"]

#: The columns of a run's samples.
COLUMNS = tuple(f"cca_info_{i}" for i in range(7))

#: Name, type and unit of each number; the twins of structs of the kernel and of ``kernel_modules``.
_Field = tuple[str, str, float]
_NIMBUS: tuple[_Field, ...] = (
    ("mode", "u1", 1),
    ("role", "u1", 1),
    ("eta", "u2", 0.01),
    ("mu_mbps", "u4", 1e-3),
    ("z_mbps", "i4", 1e-3),
    ("send_mbps", "u4", 1e-3),
    ("receive_mbps", "u4", 1e-3),
)


def _words(*names: str) -> tuple[_Field, ...]:
    return tuple((name, "u4", 1) for name in names)


_ABC = _words("w_abc", "w_nonabc", "accelerated", "braked")
_COPA = _words("default_mode", "inverse_delta", "standing_us", "min_us")
_FIELDS: dict[str, tuple[_Field, ...]] = {
    **dict.fromkeys(("nimbus", "nimbus_reno", "nimbus_vegas", "nimbus_copa"), _NIMBUS),
    **dict.fromkeys(("abc", "abc_ns"), _ABC),
    **dict.fromkeys(("copa", "copa_default"), _COPA),
    "rapid": _words("estimate_low", "estimate_high", "min_us", "packets", "estimates"),
    "bbr": _words("rate_low", "rate_high", "min_us", "pacing_gain", "cwnd_gain"),
    "vegas": _words("enabled", "rtt_samples", "base_us", "round_us"),
}

#: For each congestion control that tells something, the names of its numbers.
NAMES: Mapping[str, tuple[str, ...]] = {
    cca: tuple(name for name, _, _ in fields) for cca, fields in _FIELDS.items()
}


def decode(cca: str, words: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.float64], ...]:
    """Return the numbers of a congestion control from what it has told the kernel.

    Parameters
    ----------
    cca : str
        One of :data:`NAMES`.
    words : numpy.ndarray
        What inet_diag says, 5 words of 32 bits, shape (n, 5).

    Returns
    -------
    tuple of numpy.ndarray
        Shape (n,), one for each of :data:`NAMES`.

    Examples
    --------
    >>> told = np.array([[1 | 1 << 8 | 250 << 16, 96_000, 24_000, 70_000, 72_000]], dtype=np.uint32)
    >>> dict(zip(NAMES["nimbus"], (float(n[0]) for n in decode("nimbus", told)), strict=True))
    ... # doctest: +NORMALIZE_WHITESPACE
    {'mode': 1.0, 'role': 1.0, 'eta': 2.5, 'mu_mbps': 96.0, 'z_mbps': 24.0, 'send_mbps': 70.0,
     'receive_mbps': 72.0}
    """
    fields = _FIELDS[cca]
    layout = np.dtype([(name, kind) for name, kind, _ in fields])
    rest: Any = words.dtype.itemsize * words.shape[1] - layout.itemsize
    whole = np.dtype([*layout.descr, ("rest", "V", rest)]) if rest else layout
    records = np.ascontiguousarray(words).view(whole)[:, 0]
    return tuple(records[name] * float(unit) for name, _, unit in fields)
