# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import assert_refused, ccbench


@pytest.mark.usefixtures("arithmetic")
@pytest.mark.parametrize(
    ("words", "named"),
    [(("",), "CCA is ''"), (("even", "--against", ""), "--against is ''")],
    ids=["candidate", "against"],
)
def test_empty(words: tuple[str, ...], named: str) -> None:
    """An empty name, as from a variable that is not set, is refused under its own name."""
    assert_refused(ccbench("evaluate", *words), named)
