# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.models.processor_sharing import active_flows, mean_share_change


class TestProcessorSharing:
    @pytest.mark.parametrize("exponential", [True, False])
    def test_mean_number(self, exponential: bool) -> None:  # noqa: FBT001
        """A permanent flow doubles the mean number of others, whatever their sizes."""
        random, load, count = np.random.default_rng(1), 0.6, 200_000
        size = 1250.0  # 1 μs at 10 Gbit/s
        starts = np.cumsum(random.exponential(1e-6 / load, count))
        sizes = random.exponential(size, count) if exponential else np.full(count, size)
        times, numbers = active_flows(starts, sizes, gbps=10)
        spent = np.diff(times)
        mean = float((spent * (numbers[:-1] - 1)).sum() / spent.sum())
        assert mean == pytest.approx(2 * load / (1 - load), rel=0.05)

    def test_ends_alone(self) -> None:
        """Every flow departs, and only the endless one remains."""
        _, numbers = active_flows([0.0, 0.0, 0.0], [1e3, 2e3, 3e3], gbps=100)
        assert [1, 2, 3, 4, 3, 2, 1] == numbers.tolist()

    def test_change_over_a_long_interval(self) -> None:
        """Two independent times differ as two independent numbers do."""
        random = np.random.default_rng(2)
        times, numbers = np.arange(100_000.0), random.integers(1, 3, 100_000)
        change = mean_share_change(times, numbers, 1000.0, random.random(50_000) * 90_000)
        assert change == pytest.approx((0 + 0 + 0.5 + 1) / 4, abs=0.01)

    @pytest.mark.parametrize(("starts", "sizes"), [([1.0, 0.0], [1, 1]), ([0.0], [1, 2])])
    def test_bad_input(self, starts: list[float], sizes: list[int]) -> None:
        """Unordered starts and missing sizes are refused."""
        with pytest.raises(InputError, match=r"^start_s and size_bytes differ in length"):
            active_flows(starts, sizes, gbps=1)
