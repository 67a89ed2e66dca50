# SPDX-License-Identifier: Apache-2.0
"""``ccbench traffic``."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from ccbench.cli._console import print_json, print_pairs
from ccbench.cli._options import check_folder_of, json_option, quantity

__all__ = ["traffic"]

#: Size of the initial window of 10 packets in bytes: a smaller flow is sent at once.
_SHORT_BYTES = 15_000


@click.command(short_help="Draw a random sequence of short flows.")
@click.option(
    "--sizes",
    metavar="NAME|BYTES",
    default="heavy-tailed",
    show_default=True,
    help="Distribution of flow sizes: heavy-tailed (10 KB to 100 MB, mean 22 KB), caida (flows of "
    "a backbone router, up to 100 MB, mean 21 KB), pareto (mean and bounds of heavy-tailed, fewer "
    "large flows), web (files on web servers), or a constant number of bytes.",
)
@click.option(
    "--load",
    type=quantity("Mbit/s"),
    metavar="MBPS",
    required=True,
    help="Offered load of payload in Mbit/s.",
)
@click.option(
    "--duration", type=quantity("s"), metavar="S", required=True, help="Duration of arrivals in s."
)
@click.option(
    "--start",
    type=quantity("s", or_zero=True),
    metavar="S",
    default=0.0,
    show_default=True,
    help="Start of arrivals in s.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=1,
    show_default=True,
    help="Seed of all random numbers.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help='CSV file to write, for arrivals = "FILE" in a scenario.',
)
@json_option
def traffic(
    *,
    sizes: str,
    load: float,
    duration: float,
    start: float,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Draw cross traffic: Poisson arrivals of short flows with random sizes.

    A scenario can contain the same traffic itself:

    \b
        [[flows]]
        kind = "bytes"
        arrivals = { sizes = "heavy-tailed", load_mbps = 48, stop_s = 60, seed = 1 }
    """  # noqa: D301 - click needs the backslash
    import numpy as np

    from ccbench.base import durable
    from ccbench.experiment import arrivals
    from ccbench.experiment.traffic import FlowMix

    if output is not None:
        check_folder_of(output)
    distribution: str | float = sizes
    with suppress(ValueError):
        distribution = float(sizes)
    mix = FlowMix(
        sizes=distribution, load_mbps=load, start_s=start, stop_s=start + duration, seed=seed
    )
    flows = mix.arrivals()
    if output is not None:
        durable.write_text(output, arrivals.to_csv(flows))
    drawn = np.array([size for _, size in flows])
    expected = mix.distribution
    document = {
        "flows": len(flows),
        "expected_flows": mix.expected_flows,
        "load_mbps": float(drawn.sum()) * 8e-6 / duration,
        "expected_load_mbps": load,
        "mean_bytes": float(drawn.mean()),
        "expected_mean_bytes": expected.mean_bytes,
        "median_bytes": float(np.median(drawn)),
        "largest_bytes": int(drawn.max()),
        "above_15_kb": float((drawn > _SHORT_BYTES).mean()),
        "bytes_above_15_kb": float(drawn[drawn > _SHORT_BYTES].sum() / drawn.sum()),
    }
    if as_json:
        print_json({**document, **({} if output is None else {"file": str(output)})})
        return
    shares = [f"{document[name]:.1%}" for name in ("above_15_kb", "bytes_above_15_kb")]
    pairs = {
        "flows": f"{len(flows)} ({mix.expected_flows:.0f} on average over all seeds)",
        "load": f"{document['load_mbps']:.2f} Mbit/s of payload ({load:g})",
        "mean size": f"{document['mean_bytes']:.0f} bytes ({expected.mean_bytes:.0f})",
        "median": f"{document['median_bytes']:.0f} bytes",
        "largest": f"{document['largest_bytes']} bytes",
        "above 15 KB": f"{shares[0]} of the flows, {shares[1]} of the bytes",
    }
    if output is not None:
        pairs["written to"] = str(output)
    print_pairs(pairs)
