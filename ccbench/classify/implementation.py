# SPDX-License-Identifier: Apache-2.0
"""Implementations of CCAs: servers run several versions of some algorithms."""

from __future__ import annotations

from dataclasses import dataclass

from ccbench.base import validation
from ccbench.classify.vote import UNKNOWN

__all__ = ["CCAS", "IMPLEMENTATIONS", "Implementation"]


@dataclass(frozen=True, kw_only=True)
class Implementation:
    """An implementation of a CCA that the virtual kernel runs.

    Parameters
    ----------
    module : str
        Its name in the kernel.
    cca : str
        The CCA, by which its traces are labelled.
    variant : str
        Its difference from other implementations of the CCA, such as the versions of Linux that
        have it; empty if there are no others.
    """

    module: str
    cca: str
    variant: str = ""

    @classmethod
    def named(cls, text: str) -> Implementation:
        """Return an implementation by its description.

        Parameters
        ----------
        text : str
            The name in the kernel; if the CCA has another name or several implementations, followed
            by ``=``, the CCA, a comma, and the variant.

        Raises
        ------
        InputError
            If a name is missing, or is ``unknown``.

        Examples
        --------
        >>> Implementation.named("bic_5_6=bic, older than Linux 5.7").variant
        'older than Linux 5.7'
        >>> Implementation.named("cubic") == Implementation(module="cubic", cca="cubic")
        True
        """
        module, is_labelled, rest = (part.strip() for part in text.partition("="))
        cca, _, variant = (part.strip() for part in rest.partition(","))
        if not module or (is_labelled and not cca):
            allowed = "NAME or NAME=CCA, VARIANT, such as mybic=bic, with my patch"
            raise validation.bad("cca", text, allowed, "write it in this form")
        if UNKNOWN in {cca, module}:
            raise validation.bad("cca", text, "the name of a CCA", "choose another name")
        return cls(module=module, cca=cca or module, variant=variant)


#: The CCAs of Linux for wide-area networks, which are those of the thesis.
CCAS = (
    *("bbr", "bic", "cdg", "cubic", "highspeed", "htcp", "hybla", "illinois"),
    *("nv", "reno", "scalable", "vegas", "veno", "westwood", "yeah"),
)

#: The CCAs that counted ACKs before Linux 5.7, and count packets since.
_CHANGED_IN_5_7 = ("bic", "scalable", "veno", "yeah")

#: The implementations of the packaged training set.
IMPLEMENTATIONS = (
    *(name for name in CCAS if name not in {"bbr", *_CHANGED_IN_5_7}),
    "bbr=bbr, Linux 4.16 or newer",
    "bbr_4_15=bbr, older than Linux 4.16",
    *(f"{name}={name}, Linux 5.7 or newer" for name in _CHANGED_IN_5_7),
    *(f"{name}_5_6={name}, older than Linux 5.7" for name in _CHANGED_IN_5_7),
    "bbr3",
)
