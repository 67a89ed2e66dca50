# SPDX-License-Identifier: Apache-2.0
"""Shades of maps of percentages: one hue, for colour-blind readers and in grey; white is best.

Black numbers can be read on every shade.
"""

from __future__ import annotations

from matplotlib.colors import LinearSegmentedColormap

__all__ = ["WORSE_ABOVE", "WORSE_BELOW"]

#: Colours of the best and the worst values.
_BEST, _WORST = "#ffffff", "#e07b39"

WORSE_ABOVE = LinearSegmentedColormap.from_list("worse above", [_BEST, _WORST])
WORSE_BELOW = LinearSegmentedColormap.from_list("worse below", [_WORST, _BEST])
