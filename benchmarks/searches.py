# SPDX-License-Identifier: Apache-2.0
"""Compare the strategies of `ccbench raygen`: harm found, confirmed with fresh seeds, and work.

    .venv/bin/python benchmarks/searches.py [--seeds N] [--strategy NAME ...] [-o FOLDER]

Searches five pairs of CCAs with each strategy and several seeds: with an equal number of networks,
and with as many networks as take about the time of the genetic search. Time is measured by work:
the data that all links can carry in all runs of a search, without those of its confirmation. The
time of a run is roughly proportional to it, but work is independent of the machine and its load.
The best claim and the lowest of the five are means of fresh seeds; with 50 networks, the lowest is
the 90th percentile of the networks. Differences are paired: same pair, same seed.

Links have 4 to 20 Mbit/s, a twentieth of those of the default space, so that a search takes a
minute of one core. Interrupted, the same command continues. `searches.csv` has a row per search,
also of earlier commands with other options and the same folder; `strategies.csv` is the table of
docs/raygen.md, `searches.png` and `.svg` its figure.
"""

from __future__ import annotations

import argparse
import itertools
import math
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
from ccbench.raygen import DEFAULT_SPACE, SearchConfig, strategies
from ccbench.studies.style import finished, save_figure, style

if TYPE_CHECKING:
    from collections.abc import Iterator

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
#: Difference of work from the baseline's that counts as none, and most searches to get there.
NEAR, TRIES = 0.15, 2
SPACE = DEFAULT_SPACE.with_range("bandwidth_mbps", 4, 20)
#: Columns that identify a case, in which each strategy searches once.
CASE = ["equal", "budget", "pair", "seed"]


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


def config_of(
    strategy: str, pair: tuple[str, str], budget: int, duration_s: float, seed: int
) -> SearchConfig:
    """Return the search of a pair with one seed."""
    return SearchConfig(
        alpha=pair[0],
        beta=pair[1],
        space=SPACE,
        budget=budget,
        population=min(60, budget // 12 * 4),  # the thesis's is 60
        duration_s=duration_s,
        seed=seed,
        strategy=strategy,
        confirm=3,
    )


def searched(config: SearchConfig) -> tuple[SearchResult, float]:
    """Return a search and its work."""
    result = raygen.search(config, on_progress=lambda _: None)
    return result, work_mbit(result)


def in_time(config: SearchConfig, work: float, target: float) -> tuple[SearchResult, float]:
    """Return a search with about the work of another one.

    Parameters
    ----------
    config : SearchConfig
    work : float
        Its work.
    target : float
        Work of the other search.
    """
    tried = {0: 0.0, config.budget: work}
    for _ in range(TRIES):
        near, far = sorted(tried, key=lambda budget: abs(tried[budget] - target))[:2]
        if abs(tried[near] / target - 1) < NEAR:
            break
        slope = (tried[far] - tried[near]) / (far - near)
        if slope <= 0:  # a sweep has one grid for several budgets
            break
        budget = max(config.population, round(near + (target - tried[near]) / slope))
        if budget in tried:
            break
        tried[budget] = searched(replace(config, budget=budget, confirm=1))[1]
    nearest = min(tried, key=lambda budget: abs(tried[budget] - target))
    return searched(replace(config, budget=nearest))


def measured(
    pair: tuple[str, str], options: argparse.Namespace, seed: int
) -> Iterator[dict[str, object]]:
    """Search with each strategy, and yield a row for each search."""
    budget, duration_s = options.budget, options.duration
    target = searched(config_of(BASELINE, pair, budget, duration_s, seed))[1]
    for name in (BASELINE, *(name for name in options.strategy if name != BASELINE)):
        config = config_of(name, pair, budget, duration_s, seed)
        found = {"networks": searched(config)}
        if options.equal == "both":
            work = found["networks"][1]
            is_first = name == BASELINE
            found["time"] = found["networks"] if is_first else in_time(config, work, target)
        for kind, (result, work) in found.items():
            fresh = result.claims["relative_harm"]
            yield {
                "equal": kind,
                "budget": budget,
                "strategy": name,
                "pair": f"{config.alpha}/{config.beta}",
                "seed": config.seed,
                "networks": result.networks,
                "work_mbit": work,
                "best": fresh.max(),
                "lowest": fresh.min(),
            }


def compared(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each strategy's work relative to the baseline's, and its paired differences."""
    cases = rows.set_index(CASE)
    baseline = cases[cases["strategy"] == BASELINE]
    found = []
    for (equal, budget, name), own in cases.groupby(["equal", "budget", "strategy"], sort=False):
        best, lowest = (Estimate(own[of] - baseline[of][own.index]) for of in ("best", "lowest"))
        found.append(
            {
                "equal": equal,
                "budget": budget,
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
    return pd.DataFrame(found).sort_values(["equal", "budget", "lowest"], ignore_index=True)


def figure(table: pd.DataFrame) -> Figure:
    """Return the figure of harm found over work, by budget: circles, or squares for equal time."""
    drawn = Figure(figsize=(7, 3.2), layout="constrained")
    budgets = sorted(set(table["budget"]))
    others = table[table["strategy"] != BASELINE]
    names = sorted(set(others["strategy"]))
    for axes, (of, title) in zip(
        drawn.subplots(1, 2, sharex=True, sharey=True),
        {"best": "best claim", "lowest": "lowest of five claims"}.items(),
        strict=True,
    ):
        for row in others.to_dict("records"):
            markers, label = "oD^", row["strategy"]
            if row["equal"] == "time":
                markers, label = "s", f"{label}, equal time"
            elif len(budgets) > 1:
                label += f", {row['budget']} networks"
            axes.errorbar(
                row["work"],
                row[of],
                None if math.isnan(row[f"{of}_ci"]) else row[f"{of}_ci"],
                fmt=markers[budgets.index(row["budget"]) % len(markers)],
                color=f"C{names.index(row['strategy'])}",
                label=label,
                capsize=3,
            )
        axes.axhline(0, color="0.7", linewidth=1, zorder=0)
        axes.set(title=title, xlabel=f"work, relative to {BASELINE}", xlim=(0, None))
        axes.legend()
    drawn.axes[0].set_ylabel(f"relative harm with fresh seeds\nminus that of {BASELINE}")
    return finished(drawn)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of the documentation."""
    return pd.DataFrame(
        {
            "equal": table["equal"],
            "strategy": "`" + table["strategy"] + "`",
            "searches": table["searches"].map(str),
            "networks": table["networks"].map("{:.0f}".format),
            "work": table["work"].map("{:.2f}".format),
            **{
                words: [
                    "" if name == BASELINE else _words(mean, half)
                    for name, mean, half in zip(
                        table["strategy"], table[of], table[f"{of}_ci"], strict=True
                    )
                ]
                for of, words in (("best", "best claim"), ("lowest", "lowest of five claims"))
            },
        }
    )


def _words(mean: float, half: float) -> str:
    return f"{mean:+.3f}" + ("" if math.isnan(half) else f" ± {half:.3f}")


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--budget", type=int, default=48, metavar="N")
    parser.add_argument("--seeds", type=int, default=3, metavar="N")
    parser.add_argument("--duration", type=float, default=180.0, metavar="S")
    parser.add_argument(
        "--strategy",
        choices=strategies.names(),
        default=strategies.names(),
        nargs="+",
        metavar="NAME",
        help=f"strategies to compare with {BASELINE}; by default all",
    )
    parser.add_argument(
        "--equal",
        choices=("networks", "both"),
        default="both",
        help="whether to search with equal time too",
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("searches"), metavar="FOLDER")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    file = options.output / "searches.csv"
    rows = pd.read_csv(file) if file.exists() else pd.DataFrame()
    table = pd.DataFrame()
    for seed, pair in itertools.product(range(1, options.seeds + 1), PAIRS):
        own = pd.DataFrame(measured(pair, options, seed))
        rows = pd.concat([rows, own], ignore_index=True)
        rows = rows.drop_duplicates([*CASE, "strategy"], keep="last")
        rows.to_csv(file, index=False)
        table = compared(rows)
        summary(table).to_csv(options.output / "strategies.csv", index=False)
        with style():
            drawn = figure(table)
        for suffix in (".png", ".svg"):
            save_figure(drawn, options.output / f"searches{suffix}")
    shown = Table(box=box.SIMPLE_HEAD)
    found = summary(table)
    for i, heading in enumerate(found):
        shown.add_column(str(heading), justify="left" if i < 2 else "right")  # noqa: PLR2004
    for cells in found.to_numpy().tolist():
        shown.add_row(*map(str, cells))
    console = Console(width=100, highlight=False)
    console.print(shown)
    searches = int(table["searches"].max())
    console.print(f"Differences from {BASELINE}: means over {searches} searches, 95 % intervals.")


if __name__ == "__main__":
    main()
