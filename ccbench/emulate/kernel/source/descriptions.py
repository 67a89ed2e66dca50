# SPDX-License-Identifier: Apache-2.0
"""Modules' descriptions of their own qdiscs and congestion controls, and of the kernel's features.

The macros in ``kernel_modules/include/ccbench_describe.h`` write them to a module's ``.modinfo``.
Each is a line of names, properties (``name`` or ``name=value``), a colon and a summary. ::

    ccbench_qdisc=abc limit=1 marks: Accel-Brake Control
    ccbench_option=abc eta attribute=2 scale=65536 low=0.001 high=1: target utilisation
    ccbench_cca=abc receiver info=w_abc|w_nonabc: Accel-Brake Control
    ccbench_feature=accecn: accurate ECN (RFC 9768)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ccbench.base.errors import InputError
from ccbench.base.structures import Field
from ccbench.experiment.qdiscs import NO_LIMIT, AttributeQdisc, Drops, Option
from ccbench.run import cca_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

__all__ = ["LINUX_CCAS", "Cca", "Descriptions", "check_distinct", "described", "lines"]

#: An entry of .modinfo, preceded by an unprintable byte: the end of the previous entry, or the last
#: byte of the previous section.
_ENTRY = re.compile(rb"(?<![ -~])ccbench_(?:qdisc|option|cca|feature)=[^\0]*")
_LINE = re.compile(r"ccbench_(qdisc|option|cca|feature)=(.*?): +(\S.*)")
_OWNER = re.compile(r"ccbench_(qdisc|cca)=([a-z0-9_]+)\b")
_NAME = re.compile(r"[a-z0-9_]{1,15}")
#: A field of CCA_INFO: name, kernel type, and scale or names of its values.
_INFO_FIELD = re.compile(r"([a-z]\w*)(?::([us])(8|16|32|64))?(?::([0-9.]+|\w+(?:/\w+)+))?")

_HELP = "see ccbench_describe.h and docs/your-own-qdisc.md"


@dataclass(frozen=True, kw_only=True)
class Cca:
    """Properties of a congestion control.

    Parameters
    ----------
    name : str
        Its name in Linux.
    summary : str
        A description in one line.
    needs_receiver : bool
        Whether the receiver takes part with its own feedback of marks.
    qdisc_option : tuple of (str, str, str), optional
        Qdisc, option and the option's required value on bottlenecks with this qdisc.
    info : tuple of Field, optional
        The state that it reports through inet_diag.
    feature : str
        The feature of the kernel that it requires, if any.
    excludes : str
        The feature that both hosts must not use, if any.
    """

    name: str
    summary: str = ""
    needs_receiver: bool = False
    qdisc_option: tuple[str, str, str] | None = None
    info: tuple[Field, ...] = ()
    feature: str = ""
    excludes: str = ""


@dataclass(frozen=True, kw_only=True)
class Descriptions:
    """The qdiscs, congestion controls and kernel features described by modules, by name.

    Parameters
    ----------
    qdiscs, ccas : mapping
        Their descriptors.
    features : mapping of str to str
        Summaries.
    """

    qdiscs: Mapping[str, AttributeQdisc] = field(default_factory=dict)
    ccas: Mapping[str, Cca] = field(default_factory=dict)
    features: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> Mapping[str, str]:
        """The features that congestion controls require and the kernel lacks, by their names."""
        return {
            cca.name: cca.feature
            for cca in self.ccas.values()
            if cca.feature and cca.feature not in self.features
        }


def lines(module: Path) -> tuple[str, ...]:
    """Return the description lines in a compiled module, sorted."""
    entries = _ENTRY.findall(module.read_bytes())
    return tuple(sorted(entry.decode(errors="replace") for entry in entries))


def described(entries: Iterable[str]) -> Descriptions:
    """Parse the description lines of modules.

    Raises
    ------
    InputError
        If a line cannot be parsed, or belongs to a qdisc without a description.

    Examples
    --------
    >>> early = described(
    ...     [
    ...         "ccbench_qdisc=early limit=1 marks: drop-tail with a random early mark",
    ...         "ccbench_option=early least attribute=2 unit=packets default=5: no mark below",
    ...     ]
    ... ).qdiscs["early"]
    >>> early.marks, early.options["least"].allowed
    (True, '0 to 4294967295')
    """
    qdiscs: dict[str, AttributeQdisc] = {}
    ccas: dict[str, Cca] = {}
    features: dict[str, str] = {}
    options: dict[str, dict[str, Option]] = {}
    for entry in entries:
        try:
            kind, owner, option, values = _parse(entry)
        except ValueError as error:
            raise InputError(f"{entry}: {error}: correct the module; {_HELP}") from None
        if kind == "qdisc":
            qdiscs[owner] = AttributeQdisc(name=owner, **values)
        elif kind == "cca":
            ccas[owner] = Cca(name=owner, **values)
        elif kind == "feature":
            features[owner] = values["summary"]
        else:
            options.setdefault(owner, {})[option] = Option(**values)
    for owner, by_name in options.items():
        if owner not in qdiscs:
            raise InputError(
                f"ccbench_option={owner}: no module describes the qdisc {owner}: add "
                f"CCBENCH_QDISC({owner}, ...); {_HELP}"
            )
        in_order = sorted(by_name.items(), key=lambda item: item[1].attribute)
        qdiscs[owner] = replace(qdiscs[owner], options=dict(in_order))
    return Descriptions(qdiscs=qdiscs, ccas=ccas, features=features)


def check_distinct(entries: Iterable[str]) -> None:
    """Check that no two modules describe the same qdisc or congestion control.

    Raises
    ------
    InputError
        If two do, as when a copied module keeps the name of the other.

    Examples
    --------
    >>> check_distinct(["ccbench_cca=fast: one", "ccbench_cca=slow: another"])
    """
    seen = set()
    for entry in entries:
        if (match := _OWNER.match(entry)) is None:
            continue
        if match[0] in seen:
            kind, owner = match.groups()
            macro = f"CCBENCH_{kind.upper()}"
            raise InputError(
                f"two modules describe {owner} with {macro}({owner}, ...): give it in your own "
                f"the name that the module registers; {_HELP}"
            )
        seen.add(match[0])


def _parse(entry: str) -> tuple[str, str, str, dict[str, Any]]:
    """Return kind, name, name of the option (or empty), and the fields of the descriptor.

    Raises
    ------
    ValueError
        With the reason, if the line cannot be parsed.
    """
    match = _LINE.fullmatch(entry)
    if match is None:
        raise ValueError("it must end with a colon and a summary")
    kind, head, summary = match.groups()
    owner, *properties = head.split() or [""]
    option = properties.pop(0) if kind == "option" and properties else ""
    if not _NAME.fullmatch(owner):
        raise ValueError("its name must be 1 to 15 lower-case letters, digits and _")
    values: dict[str, Any] = {"summary": summary}
    for word in properties:
        key, _, text = word.partition("=")
        if key not in _FIELDS[kind]:
            raise ValueError(f"{key} must be one of {', '.join(_FIELDS[kind])}")
        name, read = _FIELDS[kind][key]
        try:
            values[name] = read(text)
        except (KeyError, ValueError):
            step = "write a literal or a macro, not an enumerator" if text else "give it a value"
            if key == "info":
                step = (
                    f"write at most {len(cca_info.COLUMNS)} fields of together "
                    f"{cca_info.MAX_BYTES} bytes, such as mode:u8|rate_mbps:u32:0.001"
                )
            raise ValueError(f"the value of {key} cannot be read: {step}") from None
    if kind == "option":
        _check(Option(**values))
    if kind == "qdisc" and "limit_attribute" not in values:
        step = "give the attribute that limits the queue in packets, or 0 if it has no limit"
        raise ValueError(f"its limit is missing: {step}")
    if kind == "qdisc" and not values["limit_attribute"]:
        values["limit"] = NO_LIMIT
    return kind, owner, option, values


def _check(option: Option) -> None:
    """Check the range and the default of an option."""
    low, high, default = option.range.low, option.range.high, option.default
    if low > high:
        raise ValueError(f"its range is {low} to {high}: the first must not exceed the second")
    if isinstance(default, str):
        if default not in option.choices:
            raise ValueError(f"its default is {default}, which is neither a number nor a choice")
    elif default is not None and not low <= default <= high:
        raise ValueError(f"its default is {default}, outside its range of {low} to {high}")


def _number(text: str) -> float:
    return int(text) if text.isdecimal() else float(text)


def _default(text: str) -> float | str:
    return text if text.isidentifier() else _number(text)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split("|"))


def _true(_: str) -> bool:
    return True


def _qdisc_option(text: str) -> tuple[str, str, str]:
    qdisc, option, value = text.split(".")
    return qdisc, option, value


def _info(text: str) -> tuple[Field, ...]:
    fields = []
    for word in text.split("|"):
        if (match := _INFO_FIELD.fullmatch(word)) is None:
            raise ValueError(word)
        name, sign, bits, unit = match.groups(default="")
        dtype = f"{'i' if sign == 's' else 'u'}{int(bits or 32) // 8}"
        names = tuple(unit.split("/")) if "/" in unit else ()
        if len({*names}) < len(names):
            raise ValueError(word)
        fields.append(Field(name, dtype, 1 if names else _number(unit or "1"), names))
    cca_info.check(fields)  # or an error
    return tuple(fields)


#: The field of the descriptor and the parser of the value for each property.
_FIELDS: Mapping[str, Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "qdisc": {
        "limit": ("limit_attribute", int),
        "drops": ("drops", lambda text: Drops[text.upper()]),
        "marks": ("marks", _true),
        "rewrites": ("rewrites", _true),
    },
    "option": {
        "attribute": ("attribute", int),
        "unit": ("unit", str),
        "scale": ("scale", _number),
        "low": ("low", _number),
        "high": ("high", _number),
        "default": ("default", _default),
        "choices": ("choices", _words),
        "flag": ("is_flag", _true),
        "required": ("is_required", _true),
    },
    "cca": {
        "receiver": ("needs_receiver", _true),
        "qdisc": ("qdisc_option", _qdisc_option),
        "info": ("info", _info),
        "feature": ("feature", str),
        "excludes": ("excludes", str),
    },
    "feature": {},
}

#: Linux's own congestion controls with such properties. BBR's rate is in bytes per second, and its
#: gains are in units of 1/256.
LINUX_CCAS: Mapping[str, Cca] = described(
    (
        "ccbench_cca=bbr info=rate_low|rate_high|min_us|pacing_gain|cwnd_gain: BBR version 1",
        "ccbench_cca=dctcp receiver: Data Center TCP (RFC 8257)",
        "ccbench_cca=vegas info=enabled|rtt_samples|base_us|round_us: TCP Vegas",
    )
).ccas
