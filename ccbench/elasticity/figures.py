# SPDX-License-Identifier: Apache-2.0
"""Figures of a sender's view of its cross traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ccbench.elasticity.observed import Observation

__all__ = ["over_time"]

#: Limits of the axis of η, at which values outside are drawn; η of a pure tone is infinite.
_HIGHEST = 100.0
_LOWEST = 0.1


def over_time(seen: Observation) -> Figure:
    """Plot S, R and ẑ, the spectrum of ẑ, and η over time.

    Parameters
    ----------
    seen : Observation
        The sender's view.

    Returns
    -------
    Figure
        From top to bottom: the rates in Mbit/s, with the true rate of the cross traffic; the
        amplitudes of ẑ by frequency, with f_p and the compared frequencies marked; their mean over
        time, as in figure 4; η, the threshold, and the elastic share of the cross traffic. Use
        :func:`ccbench.plots.save` to write it to a file.

    Examples
    --------
    >>> from ccbench.elasticity.observed import observe
    >>> over_time(observe(run)).savefig("elasticity.png")  # doctest: +SKIP
    """
    figure = Figure(figsize=(9, 9.5), layout="constrained")
    rates, spectrogram, mean, metric = figure.subplots(4, height_ratios=[1.5, 1.2, 1.1, 1.2])
    end_s = float(seen.rates.index[-1]) if len(seen.rates) else 1.0
    _draw_rates(rates, seen)
    _draw_spectrogram(spectrogram, seen)
    _draw_metric(metric, seen)
    for axes in (rates, spectrogram, metric):
        axes.set_xlim(0, end_s)
        axes.set_xlabel("time (s)")
    _draw_mean_spectrum(mean, seen)
    return figure


def _draw_rates(axes: Axes, seen: Observation) -> None:
    table = seen.rates
    lines = {
        "send_mbps": ("S, sent", "C0", 0.8),
        "receive_mbps": ("R, received", "C2", 0.8),
        "estimate_mbps": ("ẑ, cross traffic estimated", "C3", 0.8),
    }
    axes.plot(
        table.index, table["true_mbps"], color="0.7", linewidth=2, label="z, cross traffic accepted"
    )
    for name, (label, color, width) in lines.items():
        axes.plot(table.index, table[name], label=label, color=color, linewidth=width)
    axes.set_ylabel("Mbit/s")
    # Rates before the queue has filled would compress the rest.
    axes.set_ylim(0, 1.5 * seen.link_mbps)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), fontsize="small", ncols=4, frameon=False)
    axes.grid(alpha=0.3)


def _draw_spectrogram(axes: Axes, seen: Observation) -> None:
    frequencies, amplitudes = seen.spectra()
    shown = frequencies <= 2.5 * seen.detector.pulse_hz
    axes.set_ylabel("frequency of ẑ (Hz)")
    if len(amplitudes) < 2:  # noqa: PLR2004 - an area needs two edges
        return
    bands = amplitudes[:, shown].T
    top = np.quantile(bands[frequencies[shown] >= 1], 0.995)  # slow changes do not matter
    mesh = axes.pcolormesh(
        seen.elasticity.index,
        frequencies[shown],
        bands,
        shading="nearest",
        rasterized=True,
        vmin=0,
        vmax=top or None,
    )
    axes.figure.colorbar(mesh, ax=axes, label="Mbit/s", pad=0.01)
    low, high = _interval(seen)
    axes.axhline(seen.detector.pulse_hz, color="white", linewidth=0.6, linestyle="--")
    for edge in (low, high):
        axes.axhline(edge, color="white", linewidth=0.6, linestyle=":")


def _draw_mean_spectrum(axes: Axes, seen: Observation) -> None:
    frequencies, amplitudes = seen.spectra()
    shown = (frequencies > 0) & (frequencies <= 2.5 * seen.detector.pulse_hz)
    axes.set_xlabel("frequency of ẑ (Hz)")
    axes.set_ylabel("mean (Mbit/s)")
    axes.axvline(seen.detector.pulse_hz, color="0.5", linewidth=0.8, linestyle="--")
    axes.axvspan(*_interval(seen), color="0.92")
    if len(amplitudes):
        mean = amplitudes.mean(axis=0)
        axes.plot(frequencies[shown], mean[shown], color="C3", linewidth=1)
        axes.set_ylim(0, 1.2 * float(mean[frequencies >= 1].max()) or None)
    axes.set_xlim(0, 2.5 * seen.detector.pulse_hz)
    axes.grid(alpha=0.3)


def _draw_metric(axes: Axes, seen: Observation) -> None:
    table = seen.elasticity
    axes.plot(table.index, table["elasticity"].clip(_LOWEST, _HIGHEST), color="C0", linewidth=1)
    axes.axhline(seen.detector.threshold, color="0.4", linewidth=0.8, linestyle="--")
    axes.set_yscale("log")
    axes.set_ylim(_LOWEST, _HIGHEST)
    axes.set_ylabel("η")
    axes.grid(alpha=0.3)
    share = axes.twinx()
    share.fill_between(table.index, table["elastic_share"], color="C1", alpha=0.2, linewidth=0)
    share.set_ylim(0, 1)
    share.set_ylabel("elastic part of z", color="C1")


def _interval(seen: Observation) -> tuple[float, float]:
    detector = seen.detector
    return (
        detector.pulse_hz + detector.margin_hz,
        2 * detector.pulse_hz - detector.margin_hz,
    )
