# SPDX-License-Identifier: Apache-2.0
"""Self-describing settings: name, default, allowed values and help text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ccbench.base import validation
from ccbench.base.validation import Range

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["StrategySetting", "Value", "read_settings"]

Value: TypeAlias = "bool | int | float | str"

_ANY = Range()


@dataclass(frozen=True, kw_only=True)
class StrategySetting:
    """A setting. The type of its values is that of its default.

    Parameters
    ----------
    name : str
        A Python identifier, with the unit as a suffix.
    default : bool, int, float or str
        The value if the setting is omitted.
    help : str
        One line of help text.
    allowed : Range
        The allowed range of a number.
    choices : tuple of str
        The allowed strings.

    Examples
    --------
    >>> gain = StrategySetting(
    ...     name="gain", default=0.5, allowed=Range(0, 1), help="Weight of a sample."
    ... )
    >>> gain.describe()
    'gain=0.5 (a number at least 0 and at most 1): Weight of a sample.'
    """

    name: str
    default: Value
    help: str
    allowed: Range = _ANY
    choices: tuple[str, ...] = ()

    def checked(self, field: str, value: object) -> Value:
        """Return a value in its normal form.

        Raises
        ------
        InputError
            If the value is not allowed; the message begins with `field`.
        """
        if isinstance(self.default, bool):
            return validation.flag(field, value)
        if isinstance(self.default, int):
            return validation.whole(field, value, self.allowed, example=self.default)
        if isinstance(self.default, float):
            return validation.number(field, value, self.allowed, example=self.default)
        validation.one_of(field, value, self.choices)
        return str(value)

    @property
    def allowed_words(self) -> str:
        """The allowed values in words."""
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return " or ".join(self.choices)
        kind = "a whole number" if isinstance(self.default, int) else "a number"
        return f"{kind} {self.allowed}".rstrip()

    def describe(self) -> str:
        """Return one line: ``NAME=DEFAULT``, the allowed values and the help text."""
        default = str(self.default).lower() if isinstance(self.default, bool) else self.default
        return f"{self.name}={default} ({self.allowed_words}): {self.help}"


def read_settings(
    field: str, given: object, settings: Iterable[StrategySetting]
) -> dict[str, Value]:
    """Return the values of all settings, with defaults for those not given.

    Parameters
    ----------
    field : str
        The field that holds the settings, for messages.
    given : mapping, or iterable of pairs
        Values by the names of settings.
    settings : iterable of StrategySetting
        All settings that exist.

    Raises
    ------
    InputError
        If a setting does not exist or its value is not allowed.

    Examples
    --------
    >>> settings = (StrategySetting(name="corners", default=False, help="Begin with the corners."),)
    >>> read_settings("options", {"corners": True}, settings)
    {'corners': True}
    >>> read_settings("options", (), settings)
    {'corners': False}
    """
    by_name = {setting.name: setting for setting in settings}
    values = validation.pairs(field, given, f"write for example {field} = {{}}")
    for name in values:
        if name not in by_name:
            with validation.within(f"{field}: "):
                raise validation.unknown_key(str(name), by_name)
    return {
        name: setting.checked(f"{field}.{name}", values.get(name, setting.default))
        for name, setting in by_name.items()
    }
