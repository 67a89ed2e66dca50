# SPDX-License-Identifier: Apache-2.0
"""``ccbench harm``."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ccbench.base import validation
from ccbench.base.progress_bars import progress
from ccbench.cli._console import print_json
from ccbench.cli._harm_report import print_harm, print_sensitivity
from ccbench.cli._options import (
    NoiseChoice,
    alpha_option,
    bandwidth_option,
    beta_option,
    check_ccas,
    duration_option,
    ecn_option,
    json_option,
    kernel_option,
    noise_options,
    qdisc_options,
    quantity,
    queue_option,
    rtt_option,
    seed_option,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ccbench.cli._options import EngineChoice
    from ccbench.emulate import Engine
    from ccbench.harm import Experiment
    from ccbench.metrics import Metric

__all__ = ["harm"]


@click.command()
@alpha_option
@beta_option
@bandwidth_option
@rtt_option
@queue_option
@qdisc_options
@ecn_option
@click.option(
    "--alpha-flows",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of ALPHA's flows.",
)
@click.option(
    "--beta-flows",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of BETA's flows.",
)
@click.option(
    "--workload",
    metavar="NAME",
    default="long",
    show_default=True,
    help="Workload of BETA's flows: long, short, video or call.",
)
@click.option(
    "--metric",
    "metrics",
    metavar="M",
    multiple=True,
    help="Additional metric of harm, of flows in `ccbench metrics`; may be repeated. `all` stands "
    "for every one.",
)
@duration_option
@seed_option
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    metavar="N",
    help="Repetitions, each with its own seed.  [default: 6]",
)
@click.option(
    "--precision",
    type=quantity(""),
    metavar="X",
    help="Repeat until half the 95 % interval of relative harm is at most X.",
)
@click.option(
    "--max-repeat",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --precision: maximum number of repetitions.  [default: 100]",
)
@noise_options
@click.option(
    "--sensitivity",
    is_flag=True,
    help="Measure at 0, 0.01, 0.1, 1 and 10 times the noise.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --sensitivity: draw harm over the level of noise as .png, .pdf or .svg.",
)
@kernel_option
@json_option
def harm(
    *,
    alpha: str,
    beta: str,
    workload: str,
    metrics: tuple[str, ...],
    ecn: bool | str,
    noise: NoiseChoice,
    repeat: int | None,
    precision: float | None,
    max_repeat: int | None,
    sensitivity: bool,
    plot: Path | None,
    engine: EngineChoice,
    as_json: bool,
    **network: Any,
) -> None:
    """Measure how much ALPHA harms BETA in one network.

    Compares two runs of the same network: BETA's flows alone, and BETA's flows together with
    ALPHA's. Absolute harm is the fraction of its solo throughput that BETA loses. Relative harm is
    absolute harm minus the loss that fair sharing would cause: above 0, ALPHA takes more than its
    fair share.

    Runs have the typical noise of the network and are repeated: each number is a median with its
    95 % confidence interval. Between loss-based CCAs, harm depends on the level of the noise: see
    --sensitivity.

    Workloads other than long flows have their own metrics, such as flow completion time or delay.
    """
    repetitions = _repetition_settings(repeat, precision, max_repeat)
    if plot is not None:
        _check_plot(plot, sensitivity=sensitivity)
    experiment, by = _experiment(alpha, beta, workload, metrics, network)
    experiment = replace(experiment, ecn=ecn, noise=noise.over(experiment.noise))

    def check(engine: Engine) -> None:
        check_ccas(("--alpha", alpha), ("--beta", beta), engine=engine)
        engine.check(experiment.competing)

    runner = engine.make(check)
    check(runner)
    settings = {"metrics": by, "engine": runner, **repetitions}
    if sensitivity:
        _over_noise(experiment, settings, plot, as_json=as_json)
    else:
        _at_one_level(experiment, settings, as_json=as_json)


def _at_one_level(experiment: Experiment, settings: dict[str, Any], *, as_json: bool) -> None:
    from ccbench.harm import repeat

    with _runs_shown(experiment) as on_progress:
        result = repeat(experiment, on_progress=on_progress, **settings)
    if as_json:
        print_json(result.to_dict())
    else:
        print_harm(result)


def _over_noise(
    experiment: Experiment, settings: dict[str, Any], plot: Path | None, *, as_json: bool
) -> None:
    from ccbench.harm import sensitivity

    with _runs_shown(experiment) as on_progress:
        result = sensitivity(experiment, on_progress=on_progress, **settings)
    if plot is not None:
        from ccbench import plots
        from ccbench.harm.figures import sensitivity_figure

        plots.save(sensitivity_figure(result), plot)
    if as_json:
        print_json(result.to_dict())
    else:
        print_sensitivity(result, plot)


@contextmanager
def _runs_shown(experiment: Experiment) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar of runs; yield a function of the finished and the planned runs."""
    with progress("{task.completed:.0f} of {task.total:.0f} runs") as bar:
        task = bar.add_task(experiment.competing.name, total=2)
        yield lambda done, planned: bar.update(task, completed=done, total=planned)


def _repetition_settings(
    repeat: int | None, precision: float | None, max_repeat: int | None
) -> dict[str, Any]:
    """Return the given arguments of :func:`ccbench.harm.repeat`."""
    if max_repeat is not None and precision is None:
        allowed = "left out without --precision"
        raise validation.bad("--max-repeat", max_repeat, allowed, "write --repeat instead")
    given = {"repetitions": repeat, "precision": precision, "max_repetitions": max_repeat}
    return {name: value for name, value in given.items() if value is not None}


def _check_plot(plot: Path, *, sensitivity: bool) -> None:
    if not sensitivity:
        allowed = "left out without --sensitivity"
        raise validation.bad("--plot", str(plot), allowed, "add --sensitivity")
    from ccbench import plots  # imports matplotlib

    plots.check_path(plot)


def _experiment(
    alpha: str, beta: str, workload: str, metrics: tuple[str, ...], network: dict[str, Any]
) -> tuple[Experiment, tuple[Metric, ...]]:
    """Return the experiment of the options, with typical noise, and the additional metrics."""
    from ccbench import harm as library
    from ccbench.metrics import least_log

    service = library.workload_named(workload)
    service.check_duration(network["duration"])
    own = () if workload == "long" else service.metrics
    by = library.metrics_named((*own, *metrics))
    experiment = library.long_flows(
        alpha=alpha,
        beta=beta,
        bandwidth_mbps=network["bandwidth"],
        rtt_ms=network["rtt"],
        alpha_flows=network["alpha_flows"],
        beta_flows=network["beta_flows"],
        duration_s=network["duration"],
        seed=network["seed"],
        qdisc=network["qdisc"],
        qdisc_options=network["qdisc_settings"],
        **network["queue_setting"],
    )
    if workload != "long":
        flow = service.with_cca(beta)
        flows = replace(flow, count=network["beta_flows"] * flow.count)
        experiment = replace(experiment, beta=(flows,))
    return replace(experiment, queue_log=least_log(by)), by
