# SPDX-License-Identifier: Apache-2.0
"""Compare the strategies of `ccbench raygen`: work, and harm found, confirmed with fresh seeds.

    .venv/bin/python benchmarks/searches.py [--budget N] [--seeds N] [-o FOLDER]

Searches five pairs of CCAs with each strategy and several seeds, with an equal number of networks;
and with strategies of short runs also with more networks, in about the same time. Work is the data
that all links can carry in all runs of a search, without those of its confirmation: the time of a
run is roughly proportional to it, but work is independent of the machine and its load. The best
claim and the lowest of the five are means of fresh seeds; with 50 networks, the lowest is the 90th
percentile of the networks. Differences are paired: same pair, same seed.

Links have 4 to 20 Mbit/s, a twentieth of those of the default space, so that the benchmark takes
half an hour of two cores.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

from ccbench import raygen
from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.raygen import DEFAULT_SPACE, Number, SearchConfig, Space, strategies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ccbench.experiment.scenario import Scenario
    from ccbench.raygen import SearchResult

PAIRS = (
    ("bbr", "cubic"),
    ("cubic", "bbr"),
    ("westwood", "reno"),
    ("bbr3", "cubic"),
    ("vegas", "cubic"),
)
#: The strategy with which the others are compared.
BASELINE = "genetic"
#: Networks of a further search with short runs, by those of the other strategies: its work is about
#: theirs.
MORE = 1.5
SPACE = Space(
    tuple(
        replace(gene, low=4, high=20)
        if isinstance(gene, Number) and gene.name == "bandwidth_mbps"
        else gene
        for gene in DEFAULT_SPACE.genes
    )
)


def work_mbit(result: SearchResult) -> float:
    """Return the data that the links can carry in all distinct runs before the confirmation."""
    config = result.config
    runs: set[Scenario] = set()
    for row in result.experiments.to_dict("records"):
        chromosome = config.space.chromosome(row)
        seeds = [int(seed) for seed in row["seeds"].split()]
        lengths = {config.first_share: config.repeat, row["duration_share"]: len(seeds)}
        for share, count in lengths.items():
            for seed in seeds[:count]:
                runs.update(config.experiment(chromosome, seed, share=share).scenarios)
    return sum(run.path.bottlenecks[0].mean_mbps * run.duration_s for run in runs)


def configs(
    pair: tuple[str, str], budget: int, duration_s: float, seed: int
) -> Iterator[tuple[str, SearchConfig]]:
    """Yield the searches of a pair with one seed by the names of their rows."""
    for name in strategies.names():
        config = SearchConfig(
            alpha=pair[0],
            beta=pair[1],
            space=SPACE,
            budget=budget,
            population=budget // 12 * 4,
            duration_s=duration_s,
            seed=seed,
            strategy=name,
            confirm=3,
        )
        yield name, config
        if config.first_share < 1:
            yield f"{name}, {MORE:g} x networks", replace(config, budget=round(MORE * budget))


def measured(searches: Iterable[tuple[str, SearchConfig]]) -> Iterator[dict[str, object]]:
    """Search, and yield a row for each search."""
    for name, config in searches:
        result = raygen.search(config, on_progress=lambda _: None)
        fresh = result.claims["relative_harm"]
        yield {
            "strategy": name,
            "pair": f"{config.alpha}/{config.beta}",
            "seed": config.seed,
            "networks": result.networks,
            "work_mbit": work_mbit(result),
            "best": fresh.max(),
            "lowest": fresh.min(),
        }


def compared(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each strategy's work relative to the baseline's, and its paired differences."""
    cases = rows.set_index(["pair", "seed"])
    baseline = cases[cases["strategy"] == BASELINE]
    found = []
    for name, own in cases.groupby("strategy"):
        best, lowest = (Estimate(own[of] - baseline[of][own.index]) for of in ("best", "lowest"))
        found.append(
            {
                "strategy": name,
                "networks": own["networks"].mean(),
                "work": own["work_mbit"].sum() / baseline["work_mbit"][own.index].sum(),
                "best": best.mean,
                "best_ci": best.half_width,
                "lowest": lowest.mean,
                "lowest_ci": lowest.half_width,
                "searches": len(own),
            }
        )
    return pd.DataFrame(found).sort_values("work", ignore_index=True)


def figure(table: pd.DataFrame) -> Figure:
    """Return the figure of harm found over work."""
    drawn = Figure(figsize=(7, 3.5), layout="constrained")
    for axes, (of, title) in zip(
        drawn.subplots(1, 2, sharex=True, sharey=True),
        {"best": "best claim", "lowest": "lowest of five claims"}.items(),
        strict=True,
    ):
        for row in table.to_dict("records"):
            axes.errorbar(row["work"], row[of], row[f"{of}_ci"], fmt="o", label=row["strategy"])
        axes.axhline(0, color="0.7", linewidth=1, zorder=0)
        axes.set(title=title, xlabel=f"work, relative to {BASELINE}", xlim=(0, None))
    drawn.axes[0].set_ylabel(f"relative harm with fresh seeds\nless that of {BASELINE}")
    drawn.axes[1].legend(fontsize="small")
    return drawn


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--budget", type=int, default=48, metavar="N")
    parser.add_argument("--seeds", type=int, default=3, metavar="N")
    parser.add_argument("--duration", type=float, default=180.0, metavar="S")
    parser.add_argument("-o", "--output", type=Path, default=Path("searches"), metavar="FOLDER")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    for seed, pair in itertools.product(range(1, options.seeds + 1), PAIRS):
        for row in measured(configs(pair, options.budget, options.duration, seed)):
            rows.append(row)
            pd.DataFrame(rows).to_csv(options.output / "searches.csv", index=False)
    table = compared(pd.DataFrame(rows))
    figure(table).savefig(options.output / "searches.png", dpi=150)
    shown = Table(box=box.SIMPLE_HEAD)
    for heading in ("strategy", "networks", "work", "best claim", "lowest of five"):
        shown.add_column(heading, justify="left" if heading == "strategy" else "right")
    for item in table.to_dict("records"):
        shown.add_row(
            *(str(item["strategy"]), f"{item['networks']:.0f}", f"{item['work']:.2f}"),
            *(f"{item[of]:+.3f} ± {item[f'{of}_ci']:.3f}" for of in ("best", "lowest")),
        )
    console = Console(width=100, highlight=False)
    console.print(shown)
    searches = len(rows) // len(table)
    console.print(f"Differences from {BASELINE}: means over {searches} searches, 95 % intervals.")


if __name__ == "__main__":
    main()
