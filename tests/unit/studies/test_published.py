# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import math

import pytest

from ccbench.base.estimate import Estimate
from ccbench.studies import Comparison, published

_WHERE = "Table 1"


class TestBounds:
    @pytest.mark.parametrize(
        ("statement", "inside", "outside"),
        [
            (published.percentage(80, _WHERE), (75, 85), (74.9, 85.1)),
            (published.percentage(10, _WHERE), (7.5, 12.5), (7.4, 12.6)),
            (published.percentage(-10, _WHERE), (-12.5, -7.5), (-12.6, -7.4, 10)),
            (published.fraction(0.9, _WHERE), (0.851, 0.949), (0.849, 0.951)),
            (published.fraction(0.04, _WHERE), (0.031, 0.049), (0.029, 0.051)),
            (published.quantity(1.2, _WHERE), (0.9, 1.5), (0.89, 1.51)),
            (published.between(2, 4, _WHERE), (1.5, 4.5), (1.4, 4.6)),
            (published.between(2.3, 3, _WHERE), (2.25, 3.05), (2.24, 3.06)),
            (published.between(30, 40, _WHERE), (29.5, 40.5), (29.4, 40.6)),
            (published.exactly(0, _WHERE), (0,), (1, -1)),
            (published.similar(100, _WHERE), (95, 105), (94.9, 105.1)),
            (published.at_least(90, _WHERE), (90, 1e9), (89.9,)),
            (published.at_most(5, _WHERE), (5, -1e9), (5.1,)),
        ],
    )
    def test_rule(
        self,
        statement: published.Published,
        inside: tuple[float, ...],
        outside: tuple[float, ...],
    ) -> None:
        """Each kind of statement agrees with the numbers of its rule, and no others."""
        assert all(statement.includes(value) for value in inside)
        assert not any(statement.includes(value) for value in (*outside, math.nan))

    def test_kinds(self) -> None:
        """Bounds, directions, numbers and mere words are distinguished."""
        kinds = {
            published.quantity(3, _WHERE).kind: "number",
            published.at_least(0, _WHERE).kind: "direction",
            published.at_most(0, _WHERE).kind: "direction",
            published.unbounded("low", _WHERE).kind: "unbounded",
        }
        assert all(kind == expected for kind, expected in kinds.items())

    def test_zero(self) -> None:
        """A published zero has no tolerance; similarity in words does."""
        assert not published.percentage(0, _WHERE).includes(0.1)
        assert published.similar(0, _WHERE).includes(4.9)


class TestComparison:
    @pytest.mark.parametrize(
        ("measured", "statement", "judgement"),
        [
            (38.2, published.percentage(40, _WHERE), "agrees"),
            (34.9, published.percentage(40, _WHERE), "differs"),
            (math.nan, published.percentage(40, _WHERE), "differs"),
            (0.1, published.at_least(0, _WHERE), "agrees, direction only"),
            (math.nan, published.at_least(0, _WHERE), "differs, direction only"),
            (7.0, published.unbounded("low", _WHERE), "not compared"),
            (math.nan, published.unbounded("low", _WHERE), "not compared"),
        ],
    )
    def test_judgement(
        self, measured: float, statement: published.Published, judgement: str
    ) -> None:
        """A number agrees or differs, NaN differs, and mere words are not compared."""
        assert (
            judgement == Comparison(quantity="", measured=measured, published=statement).judgement
        )

    @pytest.mark.parametrize(
        ("values", "judgement"),
        [
            ((33.0, 34.0, 35.0), "differs, not significantly"),
            ((33.9, 34.0, 34.1), "differs"),
            ((44.0, 45.0, 47.0), "differs, not significantly"),
            ((20.0, 40.0, 60.0), "agrees"),
        ],
    )
    def test_significance(self, values: tuple[float, ...], judgement: str) -> None:
        """A difference is not significant if its interval contains agreeing numbers."""
        share = published.percentage(40, _WHERE)
        assert (
            judgement
            == Comparison(quantity="", measured=Estimate(values), published=share).judgement
        )

    def test_repetitions(self) -> None:
        """The mean of repetitions is compared, and its interval is known."""
        several = Estimate((36.0, 38.0, 40.0))
        comparison = Comparison(
            quantity="share", measured=several, published=published.percentage(42, _WHERE)
        )
        assert (38.0, several.half_width) == (comparison.value, comparison.half_width)
        assert comparison.verdict == "agrees"
