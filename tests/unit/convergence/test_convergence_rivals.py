# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from ccbench.base.errors import InputError
from ccbench.convergence.rivals import (
    distance_from_later_mean,
    near_fair_share,
    near_fixed_point,
    skipping,
)

if TYPE_CHECKING:
    import numpy.typing as npt


def _throughput(*flows: npt.ArrayLike) -> pd.DataFrame:
    table = pd.DataFrame(np.column_stack(flows))
    return table.set_axis(pd.Index(np.arange(1.0, len(table) + 1), name="time_s"))


def _times(times_s: pd.Series[float]) -> list[float | None]:
    return [None if np.isnan(time_s) else time_s for time_s in times_s]


class TestSkipping:
    def test_a_minute(self) -> None:
        """Every flow has converged after a minute, if the run is longer."""
        assert _times(skipping(_throughput(np.ones(180), np.zeros(180)))) == [60, 60]
        assert _times(skipping(_throughput(np.ones(60)))) == [None]

    def test_negative(self) -> None:
        """A negative time is an error."""
        with pytest.raises(InputError, match=r"^seconds is -1"):
            skipping(_throughput(np.ones(60)), seconds=-1)


class TestNearFairShare:
    def test_start_of_the_stay(self) -> None:
        """The time is the beginning of the first 5 s within 25 % of an equal share."""
        late = np.repeat([0.0, 5.0, 10.0], [30, 40, 110])
        times_s = near_fair_share(_throughput(20 - late, late))
        assert _times(times_s) == [70, 70]

    def test_a_visit_that_is_too_short(self) -> None:
        """4 s near the fair share are not enough, 5 are."""
        for seconds, expected in ((4, [None, None]), (5, [50, 50])):
            flow = np.full(180, 18.0)
            flow[50 : 50 + seconds] = 10
            assert _times(near_fair_share(_throughput(flow, 20 - flow))) == expected

    def test_later_values_do_not_matter(self) -> None:
        """Flows that leave their fair share again have converged nevertheless."""
        flow = np.repeat([10.0, 18.0], [20, 160])
        assert _times(near_fair_share(_throughput(flow, 20 - flow))) == [0, 0]

    def test_before_the_last_entry(self) -> None:
        """No flow converges before all flows have entered."""
        first, second = np.full(180, 10.0), np.repeat([0.0, 10.0], [90, 90])
        assert _times(near_fair_share(_throughput(first, second))) == [90, 90]

    def test_steady_but_unequal(self) -> None:
        """Flows that settle elsewhere never converge, as the thesis objects."""
        throughput = _throughput(np.full(180, 15.0), np.full(180, 5.0))
        assert _times(near_fair_share(throughput)) == [None, None]

    def test_a_flow_that_never_enters(self) -> None:
        """If a flow never enters there is no fair share."""
        assert _times(near_fair_share(_throughput(np.ones(180), np.zeros(180)))) == [None, None]

    @pytest.mark.parametrize(("name", "value"), [("tolerance", 1.5), ("hold_s", 0)])
    def test_bad_setting(self, name: str, value: float) -> None:
        """A setting out of range is named."""
        with pytest.raises(InputError, match=f"^{name} is"):
            near_fair_share(_throughput(np.ones(9)), **{name: value})


class TestNearFixedPoint:
    @pytest.mark.parametrize(("swing", "converges"), [(9.9, True), (10.1, False)])
    def test_within_10_percent(self, swing: float, converges: bool) -> None:  # noqa: FBT001
        """With alpha 0.9, swings of just under 10 % around any point pass, wider ones do not."""
        flow = 100 + swing * (-1) ** np.arange(180)
        assert _times(near_fixed_point(_throughput(flow))) == [0 if converges else None]

    def test_after_the_last_excursion(self) -> None:
        """The time is the end of the last value outside the band of its successors."""
        flow = np.full(180, 10.0)
        flow[72] = 30
        assert _times(near_fixed_point(_throughput(flow))) == [73]

    def test_an_end_is_left(self) -> None:
        """Values in the band only in the last minute have not converged."""
        flow = np.full(180, 10.0)
        for last, expected in ((119, 120), (120, None)):
            excursion = flow.copy()
            excursion[last] = 30
            assert _times(near_fixed_point(_throughput(excursion))) == [expected]

    def test_smaller_alpha_is_earlier(self) -> None:
        """A wider band is reached earlier."""
        throughput = _throughput(10 + 40 * np.exp(-np.arange(180) / 20))
        times_s = [near_fixed_point(throughput, alpha=alpha)[0] for alpha in (0.9, 0.75, 0.4)]
        assert times_s == sorted(times_s, reverse=True)
        # The band is reached where 10 + 40 exp(-t / 20) = 10 (2 - alpha) / alpha.
        expected = [20 * np.log(4 / ((2 - alpha) / alpha - 1)) for alpha in (0.9, 0.75, 0.4)]
        assert times_s == pytest.approx(expected, abs=1)

    @pytest.mark.parametrize("alpha", [0, 1])
    def test_bad_alpha(self, alpha: float) -> None:
        """An empty band and an unbounded one are errors."""
        with pytest.raises(InputError, match=r"^alpha is"):
            near_fixed_point(_throughput(np.ones(180)), alpha=alpha)


class TestDistanceFromLaterMean:
    def test_steady_swings(self) -> None:
        """Swings of 40 % around a constant mean stay 40 % away from it."""
        distance = distance_from_later_mean(_throughput(10 + 4.0 * (-1) ** np.arange(180)))
        assert distance[0].iloc[:120].to_numpy() == pytest.approx(0.4, abs=0.01)

    def test_only_later_values_count(self) -> None:
        """A value is not part of the mean that it is compared with."""
        distance = distance_from_later_mean(_throughput([1.0, 2.0, 2.0]))
        assert distance[0].tolist() == [0.5, 0.0]

    def test_nothing_later(self) -> None:
        """A mean of 0 has no relative distance."""
        assert distance_from_later_mean(_throughput([1.0, 0.0]))[0].isna().all()
