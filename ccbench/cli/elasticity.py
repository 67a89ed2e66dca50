# SPDX-License-Identifier: Apache-2.0
"""``ccbench elasticity``."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ccbench.base import validation
from ccbench.cli._console import in_mbps, print_json, print_pairs, print_table
from ccbench.cli._options import json_option, quantity

if TYPE_CHECKING:
    from ccbench.elasticity.observed import Observation
    from ccbench.run.run import Run

__all__ = ["elasticity"]

#: Maximum number of rows of the table over time.
_MOST_ROWS = 12
_RATES = ("send_mbps", "receive_mbps", "estimate_mbps", "true_mbps")


def _flows(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> list[int]:
    """Read numbers and ranges of flows.

    Examples
    --------
    >>> _flows(None, None, ("0", "5-7"))
    [0, 5, 6, 7]
    """
    flows: list[int] = []
    for text in texts:
        match = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", text, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            message = f"{text!r} is not the number of a flow such as 0, or a range such as 0-9"
            raise click.BadParameter(message)
        flows += range(first, last + 1)
    return flows


@click.command(short_help="Detect whether a sender's cross traffic is elastic.")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--flow",
    "flows",
    metavar="N",
    multiple=True,
    default=("0",),
    callback=_flows,
    help="Number of the sender in the run; all other flows are its cross traffic. A range such as "
    "0-9, or a repeated option, is one sender of several flows.  [default: 0]",
)
@click.option(
    "--bottleneck",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Number of the bottleneck.",
)
@click.option(
    "--bandwidth",
    type=quantity("Mbit/s"),
    metavar="MBPS",
    help="Link rate μ assumed by the sender.  [default: that of the scenario; the mean of a trace "
    "or of Wi-Fi]",
)
@click.option(
    "--rate-window",
    type=quantity("ms"),
    metavar="MS",
    help="Averaging window of S and R.  [default: the sender's median RTT]",
)
@click.option(
    "--frequency",
    type=quantity("Hz"),
    metavar="HZ",
    default=5.0,
    show_default=True,
    help="Frequency of the sender's pulses, f_p.",
)
@click.option(
    "--margin",
    type=quantity("Hz"),
    metavar="HZ",
    default=0.5,
    show_default=True,
    help="Margin ε around f_p and 2 f_p of the frequencies that f_p is compared with.",
)
@click.option(
    "--window",
    type=quantity("s"),
    metavar="S",
    default=5.0,
    show_default=True,
    help="Length of the FFT; a whole number of pulses.",
)
@click.option(
    "--threshold",
    type=quantity(""),
    metavar="ETA",
    default=2.0,
    show_default=True,
    help="Minimum η of elastic cross traffic, at least 1.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw rates, spectrum and η over time as .png, .pdf or .svg.",
)
@json_option
def elasticity(
    *,
    run: Path,
    flows: list[int],
    bottleneck: int,
    bandwidth: float | None,
    rate_window: float | None,
    frequency: float,
    margin: float,
    window: float,
    threshold: float,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Detect with Nimbus's method whether a sender's cross traffic is elastic, and check it.

    RUN is the folder of a run with a queue log (`ccbench run -o`). The rates at which the sender's
    packets arrive at the bottleneck (S) and leave it (R) give an estimate of the cross traffic's
    rate (ẑ); η measures how strongly ẑ follows the sender's pulses. The output compares both with
    the true cross traffic.
    """
    from ccbench.elasticity.detector import Detector
    from ccbench.elasticity.observed import observe
    from ccbench.run.run import Run

    if plot is not None:
        from ccbench import plots

        plots.check_path(plot)
    detector = Detector(pulse_hz=frequency, margin_hz=margin, window_s=window, threshold=threshold)
    if not (run / "run.json").is_file():
        step = "name a folder written by `ccbench run -o`"
        raise validation.bad("folder", str(run), "the folder of a run", step)
    loaded = Run.load(run)
    observation = observe(
        loaded,
        flows=flows,
        bottleneck=bottleneck,
        link_mbps=bandwidth,
        rate_window_s=None if rate_window is None else rate_window / 1e3,
        detector=detector,
    )
    if plot is not None:
        from ccbench import plots
        from ccbench.elasticity.figures import over_time

        plots.save(over_time(observation), plot)
    if as_json:
        print_json({"run": str(run), **observation.to_dict()})
        return
    _print(observation, loaded)
    if plot is not None:
        print_pairs({"plot": str(plot)})


def _print(seen: Observation, run: Run) -> None:
    from ccbench.elasticity.pulse import fundamental_mbps

    rates, windows, detector = seen.rates, seen.elasticity, seen.detector
    if len(windows):
        _print_over_time(seen)
    labels = run.scenario.flow_table()["label"]
    sender = f"flow {seen.flows[0]} ({labels[seen.flows[0]]})"
    if len(seen.flows) > 1:
        kinds = ", ".join(dict.fromkeys(labels[list(seen.flows)]))
        sender = f"{len(seen.flows)} flows ({kinds})"
    mean = {name: in_mbps(rate) for name, rate in rates.mean().items()}
    lines = {
        "sender": f"{sender}: S {mean['send_mbps']}, R {mean['receive_mbps']} Mbit/s, over "
        f"{seen.rate_window_s * 1e3:.1f} ms each",
        "link": f"μ {seen.link_mbps:g} Mbit/s, of which {seen.busy:.1%} used",
        "cross traffic": f"{mean['estimate_mbps']} Mbit/s estimated, {mean['true_mbps']} true",
    }
    if len(errors := seen.errors):
        lines["error"] = (
            f"{errors.median():.1%} of the true rate in the median, {errors.quantile(0.95):.1%} "
            "in the 95th percentile"
        )
    if len(windows):
        eta = windows["elasticity"]
        low, middle, high = eta.quantile([0.1, 0.5, 0.9])
        share = windows["elastic_share"].mean()
        lines |= {
            "pulses": f"S varies by {seen.send_peak_mbps:.2f} Mbit/s at {detector.pulse_hz:g} Hz; "
            f"with pulses of μ/4 by {fundamental_mbps(seen.link_mbps):.2f}",
            "η": f"{middle:.2f} in the median, {low:.2f} to {high:.2f} in four of five windows",
            "elastic": f"{windows['is_elastic'].mean():.1%} of the time (η at least "
            f"{detector.threshold:g})",
            "truth": f"{0.0 if math.isnan(share) else share:.1%} of the cross traffic is elastic; "
            f"{seen.accuracy:.1%} of the time classified correctly",
        }
    print_pairs(lines)
    for remark in _remarks(seen):
        click.echo(f"remark: {remark}")


def _remarks(seen: Observation) -> list[str]:
    """Return the assumptions of the method that do not hold."""
    if not len(seen.elasticity):
        return [f"rates cover less than {seen.detector.window_s:g} s: there is no η"]
    remarks = []
    if not seen.is_pulsing:
        remarks.append("the sender does not pulse, so η says nothing about its cross traffic")
    if seen.rate_window_s * seen.detector.pulse_hz > 0.75:  # noqa: PLR2004 - a third remains
        remarks.append(
            f"rates over {seen.rate_window_s * 1e3:.0f} ms hardly show pulses of "
            f"{1e3 / seen.detector.pulse_hz:.0f} ms; shorten them with --rate-window"
        )
    return remarks


def _print_over_time(seen: Observation) -> None:
    """Print a row for each period: means of rates and amplitudes, and the median η."""
    import numpy as np

    windows = seen.elasticity
    start_s, end_s = windows.index[0], windows.index[-1]
    parts = min(_MOST_ROWS, len(windows))
    length_s = (end_s - start_s) / parts
    rates = seen.rates.loc[start_s:end_s]

    def part(times: np.ndarray) -> np.ndarray:
        position = (times - start_s) / length_s if length_s else np.zeros(len(times))
        return np.asarray(np.minimum(position.astype(int), parts - 1))

    mean = rates.groupby(part(rates.index.to_numpy())).mean()
    number = part(windows.index.to_numpy())
    spectra = windows.groupby(number).mean()
    eta = windows["elasticity"].groupby(number).median()
    print_table(
        [
            "time\ns",
            *("S\nMbit/s", "R\nMbit/s", "ẑ\nMbit/s", "true z\nMbit/s"),
            *(f"ẑ at {seen.detector.pulse_hz:g} Hz\nMbit/s", "highest other\nMbit/s", "η"),
            *("elastic\nof time", "truth\nof bytes"),
        ],
        [
            [
                f"{start_s + i * length_s:.1f} to {start_s + (i + 1) * length_s:.1f}",
                *(f"{value:.2f}" for value in mean.loc[i, list(_RATES)]),
                *(f"{spectra.loc[i, name]:.3f}" for name in ("peak_mbps", "others_mbps")),
                f"{eta[i]:.2f}",
                f"{spectra.loc[i, 'is_elastic']:.0%}",
                _share(float(spectra.loc[i, "elastic_share"])),
            ]
            for i in spectra.index
        ],
    )


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.0%}"
