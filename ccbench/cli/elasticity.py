# SPDX-License-Identifier: Apache-2.0
"""``ccbench elasticity``."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ccbench.base import validation
from ccbench.cli._console import print_json, print_pairs, print_table
from ccbench.cli._options import json_option, quantity

if TYPE_CHECKING:
    from ccbench.elasticity.observed import Observation
    from ccbench.run.run import Run

__all__ = ["elasticity"]

#: Most rows of the table over time.
_MOST_ROWS = 12
_RATES = ("send_mbps", "receive_mbps", "estimate_mbps", "true_mbps")


def _flows(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> list[int]:
    """Read numbers of flows and ranges of them.

    Examples
    --------
    >>> _flows(None, None, ("0", "5-7"))
    [0, 5, 6, 7]
    """
    found: list[int] = []
    for text in texts:
        match = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", text, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            message = f"{text!r} is not the number of a flow such as 0, or a range such as 0-9"
            raise click.BadParameter(message)
        found += range(first, last + 1)
    return found


@click.command(short_help="Say whether a sender's cross traffic is elastic.")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--flow",
    "flows",
    metavar="N",
    multiple=True,
    default=("0",),
    callback=_flows,
    help="The sender, by its number in the run; all other flows are its cross traffic. A range "
    "such as 0-9, or the option again: these flows together.  [default: 0]",
)
@click.option(
    "--bottleneck",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="The bottleneck that it shares with them.",
)
@click.option(
    "--bandwidth",
    type=quantity("Mbit/s"),
    metavar="MBPS",
    help="What the sender takes for the link's rate, μ.  [default: the scenario's; the mean of a "
    "trace or of Wi-Fi]",
)
@click.option(
    "--rate-window",
    type=quantity("ms"),
    metavar="MS",
    help="What S and R are measured over.  [default: the sender's median RTT]",
)
@click.option(
    "--frequency",
    type=quantity("Hz"),
    metavar="HZ",
    default=5.0,
    show_default=True,
    help="Of the sender's pulses, f_p.",
)
@click.option(
    "--margin",
    type=quantity("Hz"),
    metavar="HZ",
    default=0.5,
    show_default=True,
    help="What the frequencies it is compared with keep away from it and from its double, ε.",
)
@click.option(
    "--window",
    type=quantity("s"),
    metavar="S",
    default=5.0,
    show_default=True,
    help="Length of the FFT: a whole number of pulses.",
)
@click.option(
    "--threshold",
    type=quantity(""),
    metavar="ETA",
    default=2.0,
    show_default=True,
    help="Cross traffic is elastic from this η on, 1 or more.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw rates, spectrum and η over time, as .png, .pdf or .svg.",
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
    """Say whether a sender's cross traffic is elastic, as Nimbus would, and whether that is so.

    RUN is the folder of a run with a queue log (`ccbench run -o`). From the rates at which the
    sender's own packets came to the bottleneck (S) and left it (R) follows the rate of all others
    (ẑ); η tells how far that goes up and down with the sender's pulses. Beside it stands what was
    really there.
    """
    from ccbench.elasticity.detector import Detector
    from ccbench.elasticity.observed import observe
    from ccbench.run.run import Run

    if plot is not None:
        from ccbench.run import plots  # matplotlib is worth it only if something is drawn

        plots.check_path(plot)
    detector = Detector(pulse_hz=frequency, margin_hz=margin, window_s=window, threshold=threshold)
    if not (run / "run.json").is_file():
        step = "name what `ccbench run -o` has written"
        raise validation.bad("folder", str(run), "one of a run", step)
    loaded = Run.load(run)
    seen = observe(
        loaded,
        flows=flows,
        bottleneck=bottleneck,
        link_mbps=bandwidth,
        rate_window_s=None if rate_window is None else rate_window / 1e3,
        detector=detector,
    )
    if plot is not None:
        from ccbench.elasticity.figures import over_time
        from ccbench.run import plots

        plots.save(over_time(seen), plot)
    if as_json:
        print_json({"run": str(run), **seen.to_dict()})
        return
    _print(seen, loaded)
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
    mean = rates.mean()
    lines = {
        "sender": f"{sender}: S {mean['send_mbps']:.2f}, R {mean['receive_mbps']:.2f} Mbit/s, "
        f"over {seen.rate_window_s * 1e3:.1f} ms each",
        "link": f"μ {seen.link_mbps:g} Mbit/s, of which {seen.busy:.1%} used",
        "cross traffic": f"{mean['estimate_mbps']:.2f} Mbit/s estimated, "
        f"{mean['true_mbps']:.2f} true",
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
            "elastic": f"in {windows['is_elastic'].mean():.1%} of the time, as η is "
            f"{detector.threshold:g} or more",
            "truth": f"{0.0 if math.isnan(share) else share:.1%} of the cross traffic is elastic; "
            f"{seen.accuracy:.1%} of the time judged rightly",
        }
    print_pairs(lines)
    for remark in _remarks(seen):
        click.echo(f"remark: {remark}")


def _remarks(seen: Observation) -> list[str]:
    """Say where the method's assumptions do not hold."""
    if not len(seen.elasticity):
        return [f"rates are known for less than {seen.detector.window_s:g} s: there is no η"]
    remarks = []
    if not seen.is_pulsing:
        remarks.append("the sender does not pulse, so η says nothing about its cross traffic")
    if seen.rate_window_s * seen.detector.pulse_hz > 0.75:  # noqa: PLR2004 - a third is left of it
        remarks.append(
            f"rates over {seen.rate_window_s * 1e3:.0f} ms hardly show pulses of "
            f"{1e3 / seen.detector.pulse_hz:.0f} ms; --rate-window shortens them"
        )
    return remarks


def _print_over_time(seen: Observation) -> None:
    """Print a row for each part of the time: means of rates and amplitudes, the median η."""
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
