# SPDX-License-Identifier: Apache-2.0
"""``ccbench bfc simulate``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from ccbench.base import result_folders
from ccbench.cli._console import print_json, print_pairs, print_table
from ccbench.cli._options import (
    completes,
    jobs_option,
    json_option,
    output_option,
    quantity,
    seed_option,
    setting,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ccbench.datacenter.scheme import Scheme
    from ccbench.datacenter.simulation import Simulation
    from ccbench.datacenter.topology import Topology
    from ccbench.datacenter.workload import Workload

__all__ = ["simulate"]

#: Upper bounds of the table's rows in bytes.
_EDGES = (3e3, 1e4, 1e5, 1e6, 3e6)
#: Minimum simulated time after the last flow has started, in seconds.
_MIN_DRAIN_S = 5e-3
_INCAST = re.compile(r"(\d{1,6})\s*x\s*(\d+\.?\d*|\.\d+)\s*MB", re.ASCII | re.IGNORECASE)


def _incast(_context: click.Context, _option: click.Parameter, text: str | None) -> Any:
    """Read the degree and the total size of an incast in MB.

    Examples
    --------
    >>> _incast(None, None, "100x20MB")
    (100, 20.0)
    """
    if text is None:
        return None
    match = _INCAST.fullmatch(text.strip())
    if match is None:
        message = f"{text!r} is not a number of senders and a total size, such as 100x20MB"
        raise click.BadParameter(message)
    return int(match[1]), float(match[2])


def _clos(_context: click.Context, _option: click.Parameter, text: str) -> tuple[int, int, int]:
    """Read the size of a Clos network.

    Examples
    --------
    >>> _clos(None, None, "8x16x8")
    (8, 16, 8)
    """
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})x(\d{1,4})", text.strip(), re.ASCII)
    if match is None:
        message = f"{text!r} is not RACKSxSERVERSxSPINES, such as 8x16x8"
        raise click.BadParameter(message)
    return int(match[1]), int(match[2]), int(match[3])


class _Command(click.Command):
    """A command whose help lists the schemes."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of schemes."""
        from ccbench.datacenter.schemes import schemes

        with formatter.section("Schemes"):
            formatter.write_dl([(scheme.name, scheme.summary) for scheme in schemes().values()])
        super().format_epilog(ctx, formatter)


def _schemes() -> Iterable[str]:
    from ccbench.datacenter.schemes import schemes

    return schemes()


@click.command(cls=_Command, short_help="Run a packet-level simulation of a data centre.")
@click.option(
    "--workload",
    "sizes",
    metavar="NAME",
    default="google",
    show_default=True,
    help="Distribution of flow sizes: google, facebook or websearch.",
)
@click.option(
    "--load",
    type=quantity(""),
    metavar="SHARE",
    default=0.6,
    show_default=True,
    help="Load of the links between racks and spines, including incast.",
)
@click.option(
    "--arrivals",
    metavar="NAME",
    default="lognormal",
    show_default=True,
    help="Distribution of interarrival times: lognormal (bursty) or poisson.",
)
@click.option(
    "--incast",
    callback=_incast,
    metavar="NxSIZE",
    help="Incast of N simultaneous senders with the total SIZE, such as 100x20MB.",
)
@click.option(
    "--incast-load",
    type=quantity(""),
    metavar="SHARE",
    default=0.05,
    show_default=True,
    help="Load of incast, which is part of --load.",
)
@click.option(
    "--scheme",
    "schemes",
    metavar="NAME,...",
    default="bfc,hpcc,dctcp,dcqcn,ideal-fq",
    show_default=True,
    shell_complete=completes(_schemes),
    help="Schemes (see below).",
)
@click.option(
    "--scheme-option",
    "options",
    type=setting,
    metavar="NAME=VALUE",
    multiple=True,
    help="Option of all schemes, such as queues=128; may be repeated. The documentation of "
    "ccbench.datacenter.scheme lists the options.",
)
@click.option(
    "--clos",
    "size",
    callback=_clos,
    metavar="RxSxP",
    default="8x16x8",
    show_default=True,
    help="Number of racks, servers per rack, and spines.",
)
@click.option(
    "--bandwidth",
    type=quantity("Gbit/s"),
    metavar="GBPS",
    default=100.0,
    show_default=True,
    help="Rate of each link in Gbit/s.",
)
@click.option(
    "--delay",
    type=quantity("μs"),
    metavar="US",
    default=1.0,
    show_default=True,
    help="Propagation delay of each link in μs.",
)
@click.option(
    "--buffer",
    "buffer_mb",
    type=quantity("MB"),
    metavar="MB",
    default=12.0,
    show_default=True,
    help="Shared buffer of each switch.",
)
@click.option(
    "--duration",
    type=quantity("ms"),
    metavar="MS",
    default=2.0,
    show_default=True,
    help="Time in ms during which flows start; at least another 5 ms is simulated for them to "
    "complete.",
)
@seed_option
@jobs_option
@output_option("Save each result as DIR/SCHEME.", metavar="DIR")
@json_option
def simulate(
    *,
    sizes: str,
    load: float,
    arrivals: str,
    incast: tuple[int, float] | None,
    incast_load: float,
    schemes: str,
    options: tuple[tuple[str, Any], ...],
    size: tuple[int, int, int],
    bandwidth: float,
    delay: float,
    buffer_mb: float,
    duration: float,
    seed: int,
    jobs: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Run a packet-level simulation of a data centre under each scheme.

    The default network is a Clos network of 100 Gbit/s links, as in Goyal's thesis. All schemes get
    the same flows. The slowdown of a flow is its completion time divided by that in an empty
    network.
    """
    from ccbench.base import validation
    from ccbench.datacenter import flow_sizes
    from ccbench.datacenter.schemes import scheme, with_options
    from ccbench.datacenter.simulation.result import check_folder
    from ccbench.datacenter.topology import clos
    from ccbench.datacenter.workload import Incast, Workload

    validation.one_of("--workload", sizes, flow_sizes.NAMES)
    chosen = [with_options(scheme(name.strip()), options) for name in schemes.split(",")]
    if incast is not None and load < incast_load:
        step = "write a smaller --incast-load"
        raise validation.bad("load", load, f"at least the {incast_load:g} of incast", step)
    racks, servers, spines = size
    topology = clos(
        racks=racks,
        servers_per_rack=servers,
        spines=spines,
        gbps=bandwidth,
        delay_us=delay,
        buffer_mb=buffer_mb,
    )
    workload = Workload(
        sizes=sizes,
        load=load if incast is None else load - incast_load,
        arrivals=arrivals,
        incast=None
        if incast is None
        else Incast(degree=incast[0], total_mb=incast[1], load=incast_load),
    )
    if output is not None:
        result_folders.prepare(output, None)
        for each in chosen:
            check_folder(output / each.name)
    results = _simulate_all(topology, workload, chosen, duration * 1e-3, seed=seed, jobs=jobs)
    if output is not None:
        for name, result in results.items():
            result.save(output / name)
    if as_json:
        print_json({name: _document(result) for name, result in results.items()})
        return
    _print(results)


def _simulate_all(
    topology: Topology,
    workload: Workload,
    schemes: list[Scheme],
    duration_s: float,
    *,
    seed: int,
    jobs: int | None,
) -> dict[str, Simulation]:
    from ccbench.base.progress_bars import progress
    from ccbench.datacenter.case import SimulationCase, run_cases

    flows = workload.flows(topology, duration_s, seed)
    cases = [
        SimulationCase(
            name=chosen.name,
            topology=topology,
            workload=flows,
            scheme=chosen,
            duration_s=duration_s,
            seed=seed,
            drain_s=max(duration_s, _MIN_DRAIN_S),
        )
        for chosen in schemes
    ]
    with progress() as display:
        task = display.add_task("simulating", total=1.0)
        results = run_cases(
            cases,
            lambda _, result: result,
            jobs=jobs,
            on_progress=lambda done: display.update(task, completed=done),
        )
    return {case.name: result for case, result in zip(cases, results, strict=True)}


def _document(result: Simulation) -> dict[str, Any]:
    """Return the printed values of a result as a JSON document."""
    document = {
        kind: result.slowdowns(_EDGES if kind == "background" else (), kind=kind)
        .reset_index()
        .to_dict(orient="records")
        for kind in ("background", "incast")
    }
    return {
        "slowdown": document,
        "buffer_p99_bytes": float(result.buffers.quantile(0.99).max()),
        "paused_share": result.paused_share(),
        "summary": dict(result.summary),
        "provenance": {k: v for k, v in result.provenance.items() if k != "topology"},
    }


def _print(results: dict[str, Simulation]) -> None:
    rows = []
    for name, result in results.items():
        first = True
        tables = [(result.slowdowns(_EDGES), "")]
        incast = result.slowdowns(kind="incast")
        if incast["flows"].sum() + incast["unfinished"].sum() > 0:
            tables.append((incast, "incast"))
        for table, label in tables:
            for edge, row in table.iterrows():
                if row["flows"] + row["unfinished"] == 0:
                    continue
                rows.append(
                    (
                        name if first else "",
                        label or _size(float(str(edge))),
                        f"{row['flows']:.0f}",
                        f"{row['unfinished']:.0f}",
                        *(f"{row[column]:.2f}" for column in ("mean", "p50", "p95", "p99")),
                    )
                )
                first = False
    print_table(
        ("scheme", "bytes\nup to", "flows", "un-\nfinished", "mean", "p50", "p95", "p99"),
        rows,
        title="Slowdown of flow completion times",
    )
    print_table(
        (
            "scheme",
            "buffer\np99, MB",
            "buffer\nmax, MB",
            "PFC, %\nof time",
            "dropped",
            "events\nM",
        ),
        [
            (
                name,
                f"{result.buffers.quantile(0.99).max() / 1e6:.2f}",
                f"{result.summary['peak_buffer_bytes'] / 1e6:.2f}",
                f"{100 * result.paused_share():.2f}",
                f"{result.summary['dropped_packets']}",
                f"{result.summary['events'] / 1e6:.1f}",
            )
            for name, result in results.items()
        ],
    )
    summary = next(iter(results.values())).summary
    print_pairs(
        {
            "flows": f"{summary['flows']}",
            "base RTT": f"{summary['base_rtt_s'] * 1e6:.2f} μs",
        }
    )


def _size(size_bytes: float) -> str:
    """Return a size as text in its natural unit.

    Examples
    --------
    >>> _size(3000), _size(1e6), _size(float("inf"))
    ('3 KB', '1 MB', 'above')
    """
    if size_bytes == float("inf"):
        return "above"
    return f"{size_bytes / 1e6:g} MB" if size_bytes >= 1e6 else f"{size_bytes / 1e3:g} KB"  # noqa: PLR2004
