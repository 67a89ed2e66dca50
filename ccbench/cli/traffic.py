# SPDX-License-Identifier: Apache-2.0
"""``ccbench traffic``."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from ccbench.cli._console import print_json, print_pairs
from ccbench.cli._options import check_folder_of, json_option, quantity

__all__ = ["traffic"]

#: Above it, as the initial window is 10 packets, a flow does not leave at once.
_SHORT_BYTES = 15_000


@click.command(short_help="Draw short flows of different sizes.")
@click.option(
    "--sizes",
    metavar="NAME|BYTES",
    default="heavy-tailed",
    show_default=True,
    help="How much the flows send: heavy-tailed (10 KB to 100 MB, mean 22 KB), caida (flows of a "
    "backbone router, to 100 MB, mean 21 KB), pareto (mean and bounds of the first, few large "
    "ones), web (files on web servers), or a number of bytes.",
)
@click.option(
    "--load",
    type=quantity("Mbit/s"),
    metavar="MBPS",
    required=True,
    help="Payload that they offer.",
)
@click.option(
    "--duration", type=quantity("s"), metavar="S", required=True, help="For how long flows arrive."
)
@click.option(
    "--start",
    type=quantity("s", or_zero=True),
    metavar="S",
    default=0.0,
    show_default=True,
    help="When that begins.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=1,
    show_default=True,
    help="Another seed draws other flows.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help='The CSV file to write: a scenario has it by arrivals = "FILE". Left out: none.',
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
    """Draw short flows: Poisson arrivals of flows of different sizes, as cross traffic.

    A scenario may also say the same itself:

    \b
        [[flows]]
        kind = "bytes"
        arrivals = { sizes = "heavy-tailed", load_mbps = 48, stop_s = 60, seed = 1 }
    """  # noqa: D301 - click wants this sign itself
    import numpy as np

    from ccbench.base import durable
    from ccbench.experiment import arrivals
    from ccbench.experiment.traffic import FlowMix

    if output is not None:
        check_folder_of(output)
    named: str | float = sizes
    with suppress(ValueError):
        named = float(sizes)
    mix = FlowMix(sizes=named, load_mbps=load, start_s=start, stop_s=start + duration, seed=seed)
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
