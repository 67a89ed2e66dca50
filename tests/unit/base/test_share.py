# SPDX-License-Identifier: Apache-2.0
"""Shares of counted cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ccbench.base.estimate import CONFIDENCE
from ccbench.base.share import Share


class TestShare:
    @pytest.mark.parametrize("n_cases", [1, 20, 132])
    def test_all(self, n_cases: int) -> None:
        """If all cases have the property, the lower end is the share that makes this as rare."""
        share = Share(n_cases, n_cases)
        assert (share.low / 100) ** n_cases == pytest.approx((1 - CONFIDENCE) / 2)
        assert share.high == share.mean == 100

    def test_opposite(self) -> None:
        """The interval of the other cases is the opposite one."""
        some, others = Share(3, 40), Share(37, 40)
        assert (some.low, some.high) == pytest.approx((100 - others.high, 100 - others.low))

    @pytest.mark.parametrize("percent", [2, 50, 97])
    def test_coverage(self, percent: float) -> None:
        """At least 95 % of the intervals contain the true share, even if it is near 0 or 100 %."""
        counts = np.random.default_rng(1).binomial(60, percent / 100, 4000)
        intervals = {int(n): Share(int(n), 60) for n in np.unique(counts)}
        covered = np.mean([intervals[n].low <= percent <= intervals[n].high for n in counts])
        # Three standard deviations of a share of 4000.
        assert covered > CONFIDENCE - 3 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / 4000)

    def test_no_sample(self) -> None:
        """If the cases are all there are, the share is exact: there is no interval."""
        share = Share(3, 7, is_sample=False)
        assert math.isnan(share.low)
        assert f"{share:.1f}" == "42.9 (of 7)"

    def test_no_cases(self) -> None:
        """Without cases there is no share."""
        assert math.isnan(Share(0, 0).mean)
        assert math.isnan(Share(0, 0).high)
