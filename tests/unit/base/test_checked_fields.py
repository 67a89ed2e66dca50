# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from ccbench.base.checked_fields import check_fields, number, whole
from ccbench.base.errors import InputError
from ccbench.base.validation import Range


@dataclass(frozen=True)
class Settings:
    rtt_ms: float = field(metadata=number(Range(0), example=40))
    count: int | None = field(default=None, metadata=whole(Range(1, 5), example=2, optional=True))
    name: str = ""

    def __post_init__(self) -> None:
        check_fields(self)


class TestCheckFields:
    def test_normal_form(self) -> None:
        """Values are normalised, also in copies; None stays None."""
        settings = replace(Settings(1), rtt_ms=40)
        assert Settings(40.0) == settings
        assert "40.0" == repr(settings.rtt_ms)
        assert settings.count is None

    def test_bad(self) -> None:
        """The message of a failed check starts with the field's name."""
        with pytest.raises(InputError, match=r"^count is 6; it must be a whole number at least 1"):
            Settings(1, count=6)

    def test_first(self) -> None:
        """Of several invalid values the first field's is reported."""
        with pytest.raises(InputError, match=r"^rtt_ms is -1;"):
            Settings(-1, count=6)
