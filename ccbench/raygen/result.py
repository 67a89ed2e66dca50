# SPDX-License-Identifier: Apache-2.0
"""Results of a search."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench.base import validation
from ccbench.raygen.analysis.diversity import ranked
from ccbench.raygen.evaluated import EvaluatedCandidate
from ccbench.raygen.folder import CLAIMS_CSV, RESULTS_CSV, SIMPLEST_CSV, read_folder
from ccbench.raygen.ranking import groups
from ccbench.raygen.selection import CLAIMED
from ccbench.raygen.strategy import Candidate
from ccbench.raygen.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccbench.raygen.config import SearchConfig
    from ccbench.raygen.objective import Case

__all__ = ["SearchResult", "claims_table", "experiments_table"]

#: Columns of the confidence interval of a claim.
_BOUNDS = ("relative_harm_low", "relative_harm_high")

#: Columns that the printed table of claims omits.
_OMITTED = (
    *("number", "generation", "parents", "absolute_harm", "expected_harm", "jain", "from_s"),
    *("to_s", "converged_at_s", "duration_share", "seeds", "error", "solo_key", "competing_key"),
    *("relative_harm_sd", "relative_harm_min", "relative_harm_max", "doubt"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchResult:
    """The experiments and claims of a search.

    Attributes
    ----------
    config : SearchConfig
    experiments : DataFrame
        One row for each proposed scenario, in order of proposal: ``number`` (from 0),
        ``generation`` (from 1), ``parents`` (their numbers), ``relative_harm`` (the mean over all
        seeds in the search, NaN if a run failed), the standard deviation of single seeds
        ``relative_harm_sd``, ``relative_harm_min`` and ``_max``, ``absolute_harm``,
        ``expected_harm``, a column for each gene, ``queue_packets``, ``solo_mbps``,
        ``competing_mbps`` and ``alpha_mbps`` (sums over flows), ``jain``, ``from_s`` and ``to_s``
        (the measured interval), ``converged_at_s``, ``duration_share`` (length of the runs as a
        share of the search's duration, below 1 for networks that a strategy ran for a short time
        only), ``repetitions`` (number of seeds), ``seeds``, ``error`` (reason of a failure),
        ``solo_key`` and ``competing_key`` (of the first seed's scenarios).
    claims : DataFrame
        One row for each of the most harmful scenarios, run again with fresh seeds: ``rank`` (from
        1, by the mean over the fresh seeds), ``group`` (claims that share a letter do not differ
        significantly, see :mod:`ccbench.raygen.ranking`), ``found_harm`` (the mean in the search),
        ``relative_harm_low`` and ``_high`` (simultaneous 95 % confidence intervals of the mean),
        ``doubt`` (reason for which the seeds hardly support the interval, or empty) and the columns
        of `experiments`. Empty for an unfinished search.
    provenance : mapping
        Versions of ccbench and the engine.
    simplest : DataFrame
        The distinct simplest networks that show most of the harm of a claim, with the columns of
        `claims` and its fresh seeds; ``number`` is that of the first such claim. Empty for
        objective ``"harm"``, for an unfinished search, and if no claim is significantly above 0.01.
    timelines : mapping of Timeline
        Throughput over time of each claim by its rank, with the first of its fresh seeds.

    Examples
    --------
    >>> len(result.experiments) == result.config.planned  # doctest: +SKIP
    True
    >>> result.top_table()[["relative_harm", "bandwidth_mbps", "rtt_ms"]]  # doctest: +SKIP
    """

    config: SearchConfig
    experiments: pd.DataFrame
    claims: pd.DataFrame
    provenance: Mapping[str, Any]
    simplest: pd.DataFrame = field(default_factory=pd.DataFrame)
    timelines: Mapping[int, Timeline] = field(default_factory=dict, repr=False)

    @classmethod
    def load(cls, folder: str | Path) -> SearchResult:
        """Read the folder of a search, which may be unfinished.

        Raises
        ------
        InputError
            If the folder does not contain a search, or is damaged.

        Examples
        --------
        >>> from ccbench import raygen
        >>> _ = raygen.search(config, output_dir="search")  # doctest: +SKIP
        >>> SearchResult.load("search").worst()  # doctest: +SKIP
        """
        config, provenance, tables, timelines = read_folder(Path(folder))
        try:
            experiments = _typed(tables[RESULTS_CSV], experiments_table(config, ()))
            empty = claims_table(config, (), ())
            claims, simplest = (_typed(tables[name], empty) for name in (CLAIMS_CSV, SIMPLEST_CSV))
            _check(experiments, claims)
            read = {int(rank): Timeline.from_dict(document) for rank, document in timelines.items()}
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            allowed = f"a folder with unchanged {RESULTS_CSV} and {CLAIMS_CSV}"
            step = f"repeat the search ({error})"
            raise validation.bad("folder", str(folder), allowed, step) from error
        return cls(
            config=config,
            experiments=experiments,
            claims=claims,
            simplest=simplest,
            provenance=provenance,
            timelines=read,
        )

    @property
    def networks(self) -> int:
        """Number of distinct proposed scenarios."""
        return len(self.experiments.drop_duplicates([g.name for g in self.config.space.genes]))

    @property
    def failed(self) -> pd.DataFrame:
        """Failed experiments, with the reason in ``error``."""
        return self.experiments[self.experiments["error"] != ""]

    def worst(self, n: int = CLAIMED) -> pd.DataFrame:
        """Return the `n` distinct scenarios with the greatest harm, in descending order.

        Those that ran for a part of the duration only are left out.
        """
        is_long = self.experiments["duration_share"] == 1
        return ranked(self.config.space, self.experiments[is_long]).head(n)

    def experiment(self, number: int, seed: int | None = None) -> Case:
        """Return the experiment with this number, by default with its first seed in the search.

        Raises
        ------
        InputError
            If the number does not exist.

        Examples
        --------
        >>> result.experiment(0).describe()  # doctest: +SKIP
        '4 bbr against 5 cubic, 32.4 ms, 54.3 Mbit/s, 150 packets (1 BDP)'
        """
        row = _row("number", number, self.experiments)
        return self.config.experiment(self.config.space.chromosome(row), seed)

    def describe(self, number: int) -> str:
        """Return a one-line description of the scenario with this number.

        Examples
        --------
        >>> result.describe(0)  # doctest: +SKIP
        '4 bbr against 5 cubic, link 54.3 Mbit/s, RTT 32.4 ms, queue 1.02 BDP'
        """
        row = _row("number", number, self.experiments)
        return self.config.describe(self.config.space.chromosome(row))

    def claimed(self, rank: int) -> Case:
        """Return the experiment of the claim with this rank, with the first of its fresh seeds.

        Raises
        ------
        InputError
            If there is no such claim, for example in an unfinished search.

        Examples
        --------
        >>> result.claimed(1).competing.to_toml()  # doctest: +SKIP
        """
        number = _row("rank", rank, self.claims)["number"]
        return self.experiment(number, self.config.fresh_seeds(number)[0])

    def describe_simplest(self, rank: int) -> str:
        """Return a one-line description of a row of `simplest`."""
        row = _row("rank", rank, self.simplest)
        return self.config.describe(self.config.space.chromosome(row))

    def simplified(self, rank: int) -> Case:
        """Return the experiment of a row of `simplest`, with the first of its fresh seeds.

        Raises
        ------
        InputError
            If there is no such row.
        """
        row = _row("rank", rank, self.simplest)
        seed = self.config.fresh_seeds(row["number"])[0]
        return self.config.experiment(self.config.space.chromosome(row), seed)

    def top_table(self) -> pd.DataFrame:
        """Return the main columns of `claims`, indexed by rank from 1."""
        return self.claims.set_index("rank").drop(columns=list(_OMITTED))

    def to_dict(self) -> dict[str, Any]:
        """Return settings, provenance and claims as plain values (JSON-able except for NaN)."""
        return {
            "config": self.config.to_dict(),
            "provenance": dict(self.provenance),
            "experiments": len(self.experiments),
            "networks": self.networks,
            "failed": self.failed[["number", "error"]].to_dict("records"),
            "claims": [
                {
                    **claim,
                    "description": self.describe(claim["number"]),
                    "scenario": experiment.competing.to_dict(),
                }
                for claim in self.claims.to_dict("records")
                for experiment in [self.claimed(claim["rank"])]
            ],
            "simplest": [
                {
                    **row,
                    "description": self.describe_simplest(row["rank"]),
                    "scenario": self.simplified(row["rank"]).competing.to_dict(),
                }
                for row in self.simplest.to_dict("records")
            ],
        }


def _row(name: str, value: int, table: pd.DataFrame) -> dict[Any, Any]:
    """Return the row with this value in a column of unique values."""
    rows: list[dict[Any, Any]] = table[table[name] == value].to_dict("records")
    if not rows:
        numbers = table[name].tolist()
        allowed = f"{min(numbers)} to {max(numbers)}" if numbers else "left out: there is none yet"
        raise validation.bad(name, value, allowed, f"choose a value in the column {name}")
    return rows[0]


def experiments_table(
    config: SearchConfig, evaluations: Iterable[EvaluatedCandidate]
) -> pd.DataFrame:
    """Return one row per evaluation in order of proposal; see :attr:`EvaluatedCandidate.row`."""
    ordered = sorted(evaluations, key=lambda e: e.candidate.number)
    return _table(config, [evaluation.row for evaluation in ordered])


def claims_table(
    config: SearchConfig,
    evaluations: Iterable[EvaluatedCandidate],
    fresh: Iterable[EvaluatedCandidate],
) -> pd.DataFrame:
    """Return one row for each claim, ranked by the mean harm over the fresh seeds."""
    searched = {evaluation.candidate.number: evaluation.relative for evaluation in evaluations}
    ranked = sorted(fresh, key=lambda e: e.rank)
    measured = [evaluation.harm for evaluation in ranked if not evaluation.error]
    letters = iter(groups(measured))
    rows = []
    for rank, evaluation in enumerate(ranked, start=1):
        joint = evaluation.harm.joint(len(measured))
        claim = {
            "rank": rank,
            "group": "" if evaluation.error else next(letters),
            "found_harm": searched[evaluation.candidate.number],
            "relative_harm_low": joint.low,
            "relative_harm_high": joint.high,
            "doubt": joint.doubt,
        }
        rows.append({**claim, **evaluation.row})
    empty = {"rank": 1, "group": "", **dict.fromkeys(("found_harm", *_BOUNDS), 0.0), "doubt": ""}
    return _table(config, rows, **empty)


def _table(config: SearchConfig, rows: list[dict[str, Any]], **more: object) -> pd.DataFrame:
    """Return a table with all columns and their types, even without rows."""
    if rows:
        return pd.DataFrame(rows)
    chromosome = tuple(gene.at(0.0) for gene in config.space.genes)
    example = EvaluatedCandidate(
        candidate=Candidate(number=0, generation=1, chromosome=chromosome),
        genes=config.space.values(chromosome),
        experiment=config.experiment(chromosome),
        seeds=config.seeds(chromosome),
        harms=(),
        error="none was run",
    )
    return pd.DataFrame([{**more, **example.row}]).iloc[:0]


def _check(experiments: pd.DataFrame, claims: pd.DataFrame) -> None:
    """Raise a ValueError if tables that were read are inconsistent."""
    # In an unfinished search, numbers may be missing.
    if not (experiments["number"].is_monotonic_increasing and experiments["number"].is_unique):
        raise ValueError(f"the rows of {RESULTS_CSV} are not in order")
    if list(claims["rank"]) != list(range(1, len(claims) + 1)):
        raise ValueError(f"a row of {CLAIMS_CSV} is missing")
    for name, table in ((RESULTS_CSV, experiments), (CLAIMS_CSV, claims)):
        if not table["number"].isin(experiments["number"]).all():
            raise ValueError(f"{name} has a number without an experiment")
        valid = table[table["error"] == ""]
        absolute, expected = valid["absolute_harm"], valid["expected_harm"]
        relative = valid["relative_harm"]
        possible = absolute.le(1) & expected.le(1) & (absolute - expected - relative).abs().le(1e-9)
        if not possible.all():
            number = valid["number"][~possible].iloc[0]
            raise ValueError(f"the harm of number {number} in {name} is impossible")


def _typed(words: pd.DataFrame | None, empty: pd.DataFrame) -> pd.DataFrame:
    """Convert a table of text to the types of `empty`; Python parses floats exactly."""
    if words is None:
        return empty
    if "duration_share" not in words:  # written by an earlier version
        words = words.assign(duration_share="1")
    numbers = empty.select_dtypes("number").columns
    words = words[empty.columns]
    return words.replace({name: {"": "nan"} for name in numbers}).astype(empty.dtypes)
