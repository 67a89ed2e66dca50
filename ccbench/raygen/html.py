# SPDX-License-Identifier: Apache-2.0
"""The report of a search: one page that needs nothing else, and its figures as files."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ccbench import _atomic, _validate, emulate, plots
from ccbench.errors import CcbenchError
from ccbench.raygen.config import CLAIMED
from ccbench.raygen.figures import (
    check_heat_map,
    distances_figure,
    heat_map_figure,
    parallel_figure,
    predictor_of,
    progress_figure,
    quantity_name,
    throughput_figure,
    top_figure,
)
from ccbench.raygen.gene import Number
from ccbench.raygen.importance import importance
from ccbench.raygen.quantities import NUMBERS
from ccbench.raygen.regions import regions
from ccbench.raygen.result import SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    from ccbench.emulate import Engine, Store
    from ccbench.harm import Experiment
    from ccbench.raygen.config import SearchConfig
    from ccbench.raygen.gene import Gene
    from ccbench.run import Run
    from ccbench.scenario import Scenario

__all__ = ["FIGURES", "REPORT_HTML", "report"]

REPORT_HTML = "report.html"
#: The folder of the figures, beside the page.
FIGURES = "figures"
_FORMATS = (".svg", ".png")

#: Heat maps that every report has, as far as the space has both genes.
_HEAT_MAPS = (
    ("bandwidth_mbps", "rtt_ms"),
    ("queue_bdp", "alpha_flows"),
    ("queue_bdp", "beta_flows"),
    ("queue_packets", "alpha_flows"),
    ("queue_packets", "beta_flows"),
)
#: Searches can be compared if they agree in these settings.
_COMPARABLE = ("alpha", "beta", "duration_s", "space")
#: A model that explains less of the variance of harm has understood little.
_UNDERSTOOD = 0.3


def report(  # noqa: PLR0913 - choices that are independent, all by keyword
    folder: str | Path,
    path: str | Path | None = None,
    *,
    baselines: Iterable[str | Path] = (),
    heatmaps: Iterable[tuple[str, str]] = (),
    engine: str | Engine = "kernel",
    store: Store | None = emulate.DEFAULT_STORE,
) -> tuple[Path, ...]:
    """Write the report of a search.

    Parameters
    ----------
    folder : path
        What the search has left, see :mod:`ccbench.raygen.folder`. It need not be finished.
    path : path, optional
        The page; left out, ``report.html`` in `folder`.
    baselines : iterable of path
        Folders of other searches of the same kind, to be compared with.
    heatmaps : iterable of (str, str)
        Pairs of genes over which harm is drawn, besides bandwidth and round-trip time, and queue
        and numbers of flows.
    engine, store
        As in :func:`ccbench.emulate.run`: where the runs come from that are drawn.

    Returns
    -------
    tuple of Path
        The page, then the figures: each as SVG and PNG in the folder ``figures`` beside the page.
        The page has them within it and needs no other file. The same search gives the same bytes.

    Raises
    ------
    InputError
        If there is no search in a folder, a baseline is of another kind, or there is no such gene.
    CcbenchError
        If no scenario has been measured yet.

    Examples
    --------
    >>> from ccbench import raygen
    >>> _ = raygen.search(config, output_dir="found")  # doctest: +SKIP
    >>> report("found", heatmaps=[("rtt_ms", "queue_bdp")])[0].name  # doctest: +SKIP
    'report.html'
    """
    folder = Path(folder)
    result = SearchResult.load(folder)
    others = dict(_baseline(result, Path(other)) for other in baselines)
    pairs = list(dict.fromkeys([*_usual_heat_maps(result), *heatmaps]))
    for x, y in pairs:
        check_heat_map(result.config.space, x, y)
    if result.experiments["relative_harm"].isna().all():
        raise CcbenchError(f"no scenario of {folder} has been measured yet: let the search go on")

    path = folder / REPORT_HTML if path is None else Path(path)
    pictures = _Pictures(path.parent / FIGURES)
    run = partial(emulate.run, engine=engine, store=store)
    cards = list(_cards(result, folder, run, pictures))
    course = _course(result, others, pictures)
    landscape = _landscape(result, pairs, pictures)
    page = _page(result, cards, course=course, landscape=landscape)
    _atomic.write_text(path, page)
    return path, *pictures.files


@dataclass(frozen=True, kw_only=True)
class _Picture:
    """A figure within the page."""

    svg: Markup
    caption: str


class _Pictures:
    """Writes figures to files, and gives them for the page."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: list[Path] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            allowed = f"where a folder can be written ({error.strerror})"
            raise _validate.bad("output", str(folder), allowed, "choose another one") from error

    def add(self, name: str, figure: Figure, caption: str) -> _Picture:
        """Write a figure; return it for the page."""
        written = [self._folder / f"{name}{suffix}" for suffix in _FORMATS]
        for path in written:
            plots.save(figure, path)
        self.files += written
        svg = written[0].read_text(encoding="utf-8")
        svg = svg[svg.index("<svg") :]  # without the prologue of a file
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        # A page has each name once.
        svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
        title = Markup.escape(caption.partition(".")[0])
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
        return _Picture(svg=Markup(svg), caption=caption)  # noqa: S704 - matplotlib has escaped it


@dataclass(frozen=True, kw_only=True)
class _Column:
    """A column of a table."""

    name: str
    title: str
    unit: str = ""
    form: str = ""

    @property
    def is_number(self) -> bool:
        """Whether it is aligned and sorted as numbers are."""
        return bool(self.form)

    def shown(self, row: Mapping[str, Any]) -> str:
        """Return what a row has there; nothing for NaN."""
        value = row[self.name]
        if not self.is_number:
            return str(value)
        return "" if math.isnan(value) else format(value, self.form)


@dataclass(frozen=True, kw_only=True)
class _Card:
    """One of the worst networks."""

    rank: int
    title: str
    row: Mapping[str, Any]
    commands: Mapping[str, str]
    picture: _Picture | None
    reason: str


def _baseline(result: SearchResult, folder: Path) -> tuple[str, SearchResult]:
    """Read a search to be compared with; return it and its name."""
    other = SearchResult.load(folder)
    for name in _COMPARABLE:
        ours, theirs = getattr(result.config, name), getattr(other.config, name)
        if ours != theirs:
            if name == "space":
                allowed = "the folder of a search of the same space"
            else:
                allowed = f"the folder of a search with {name} = {ours!r}, not {theirs!r}"
            raise _validate.bad("baseline", str(folder), allowed, "name another one, or none")
    return f"{other.config.strategy} ({folder})", other


def _usual_heat_maps(result: SearchResult) -> list[tuple[str, str]]:
    varied = {gene.name for gene in result.config.space.genes if gene.size > 1}
    return [pair for pair in _HEAT_MAPS if varied.issuperset(pair)]


def _cards(
    result: SearchResult, folder: Path, run: Callable[[Scenario], Run], pictures: _Pictures
) -> Iterator[_Card]:
    """Yield the claims, or what would be claimed if the search ended now."""
    config = result.config
    confirmed = not result.claims.empty
    rows: Any = (result.claims if confirmed else result.worst(CLAIMED)).to_dict("records")
    for rank, row in enumerate(rows, start=1):
        experiment = result.claimed(rank) if confirmed else result.experiment(row["number"])
        picture, reason = None, row["error"]
        if not reason:
            try:
                figure = throughput_figure(
                    experiment, run(experiment.solo), run(experiment.competing)
                )
            except CcbenchError as error:
                reason = f"Its throughput over time is missing: {error}"
            else:
                picture = pictures.add(f"worst-{rank}", figure, _trace_words(config, experiment))
        yield _Card(
            rank=rank,
            title=experiment.describe(),
            row={"rank": rank, "found_harm": row["relative_harm"], **row},
            commands={
                label: shlex.join(["ccbench", "run", str(path)])
                for label, path in (
                    ("together", folder / f"worst-{rank}.toml"),
                    (f"{config.beta} alone", folder / f"worst-{rank}-solo.toml"),
                )
                if path.is_file()
            },
            picture=picture,
            reason=reason,
        )


def _trace_words(config: SearchConfig, experiment: Experiment) -> str:
    return (
        f"Throughput over time in one run, with seed {experiment.seed}. Thick lines are all flows "
        f"of {config.alpha} and of {config.beta}, thin ones single flows; dotted is what "
        f"{config.beta} had alone. Harm was measured over the shaded time."
    )


def _course(
    result: SearchResult, others: Mapping[str, SearchResult], pictures: _Pictures
) -> list[_Picture]:
    """Draw how the search went."""
    beside = "each search" if others else "the search"
    return [
        pictures.add(
            "progress",
            progress_figure(result, others),
            "Harm found so far, by generations and by experiments. The points are single "
            "experiments; the 90th percentile is that of all experiments so far.",
        ),
        pictures.add(
            "top",
            top_figure(result, others),
            f"Harm in the most harmful networks of {beside}, as distribution functions: the "
            "further to the right, the more harm. Behind the colon, how many networks.",
        ),
        pictures.add(
            "distances",
            distances_figure(result, others),
            f"Diversity: distances between each two of the 20 most harmful networks of {beside}. "
            "The further to the right, the less alike they are. Behind the colon, how many pairs.",
        ),
    ]


def _landscape(
    result: SearchResult, pairs: Sequence[tuple[str, str]], pictures: _Pictures
) -> list[_Picture]:
    """Draw where harm is."""
    config = result.config
    genes = {gene.name: gene for gene in config.space.genes}
    predictor = predictor_of(result)
    drawn = [
        pictures.add(
            "parallel",
            parallel_figure(result),
            "The 20 most harmful networks. Each line is one, and crosses the axes at its values; "
            "all others are grey. Whole numbers are spread a little, or lines would hide each "
            "other.",
        )
    ]
    for x, y in pairs:
        across, up = (_title(config, genes[name])[0] for name in (x, y))
        drawn.append(
            pictures.add(
                f"heatmap-{x}-{y}",
                heat_map_figure(result, x, y, predictor),
                f"Harm over {across} and {up}. Left, what was measured. In the middle, what a "
                "Gaussian process predicts, averaged over everything else that was varied; right, "
                "its prediction for the worst of everything else. Dots mark where it is unsure: "
                "the standard deviation is more than half of that of all measured harms.",
            )
        )
    return drawn


def _page(
    result: SearchResult,
    cards: Sequence[_Card],
    *,
    course: Sequence[_Picture],
    landscape: Sequence[_Picture],
) -> str:
    config, table = result.config, result.experiments
    environment = Environment(
        loader=PackageLoader("ccbench.raygen", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    genes = [_column(config, gene) for gene in config.space.genes]
    found = importance(config.space, table)
    return environment.get_template("report.html").render(
        alpha=config.alpha,
        beta=config.beta,
        lead=_lead(result, cards),
        unfinished=_unfinished(result),
        facts=_facts(result),
        worst_words=_worst_words(result),
        worst_columns=_worst_columns(result, genes),
        cards=cards,
        regions=[
            {
                "where": region.where(config.alpha, config.beta),
                "harm": _span(region.lowest_harm, region.highest_harm, len(region.members)),
                "evidence": f"The rule {region.evidence()}.",
            }
            for region in regions(config.space, table)
        ],
        importances=_importances(config, found.genes),
        importance_words=_importance_words(found.explained),
        landscape=landscape,
        course=course,
        failures=result.failed.to_dict("records"),
        failure_columns=[
            _Column(name="number", title="number", form="d"),
            *genes,
            _Column(name="error", title="reason"),
        ],
        columns=[
            column
            for column in _all_columns(config, genes)
            if column.is_number or (table[column.name] != "").any()
        ],
        rows=table.to_dict("records"),
        made_by=f"ccbench {result.provenance['ccbench']}",
        figures=FIGURES,
    )


def _lead(result: SearchResult, cards: Sequence[_Card]) -> str:
    config = result.config
    first = next((card for card in cards if not math.isnan(card.row["relative_harm"])), None)
    tried = f"{len(result.experiments)} networks were tried"
    if first is None:
        return f"{tried}."
    harm = first.row["relative_harm"]
    does = "harms" if harm > 0 else "does not harm"
    return (
        f"{tried}. In the worst, {config.alpha} {does} {config.beta}: relative harm {harm:+.2f} "
        f"with {first.title}."
    )


def _unfinished(result: SearchResult) -> str:
    done, planned = len(result.experiments), result.config.planned
    if done < planned:
        return f"{done} of {planned} networks were tried. The same ccbench raygen goes on."
    if result.claims.empty:
        return (
            "The worst networks were not yet run with fresh seeds. The same ccbench raygen goes on."
        )
    return ""


def _facts(result: SearchResult) -> dict[str, str]:
    """Return what was searched, how, and by what."""
    config, provenance = result.config, result.provenance
    space = (
        f"{_title(config, gene)[0]} {_range(gene)}" for gene in config.space.genes if gene.size > 1
    )
    failed = len(result.failed)
    own = [f"{config.initial} start"] if config.initial != "random" else []
    own += ["corners"] if config.corners else []
    own += [config.niching] if config.niching != "none" else []
    facts = {
        "strategy": ", ".join([config.strategy, f"population {config.population}", *own]),
        "budget": f"{len(result.experiments)} of {config.planned} networks"
        + (f", {failed} failed" if failed else ""),
        "each run": f"{config.duration_s:g} s"
        + (f", {config.repeat} repetitions" if config.repeat > 1 else ""),
        "seed": str(config.seed),
        "made by": f"ccbench {provenance['ccbench']}, engine {provenance['engine']}",
    }
    if "kernel_release" in provenance:
        facts["kernel"] = f"Linux {provenance['kernel_release']}"
    return {**facts, "space": "; ".join(space)}


def _range(gene: Gene) -> str:
    if isinstance(gene, Number):
        return f"{gene.low:g} to {gene.high:g} {gene.unit}".removesuffix(" flows").strip()
    return ", ".join(map(str, gene.levels(gene.size)))


def _worst_words(result: SearchResult) -> str:
    if result.claims.empty:
        return "As the search saw them so far. Luck is part of that: the most harmful of many."
    seeds = ", ".join(map(str, result.config.fresh_seeds))
    return (
        "A search finds what did most harm once, and luck is part of that. So the worst were run "
        f"again with fresh seeds ({seeds}), and are ranked by what these showed: their mean harm, "
        "its standard deviation (±), the least and the most."
    )


def _worst_columns(result: SearchResult, genes: Sequence[_Column]) -> list[_Column]:
    confirmed = [
        _Column(name="relative_harm", title="relative harm", form="+.3f"),
        _Column(name="relative_harm_sd", title="±", form=".3f"),
        _Column(name="relative_harm_min", title="least", form="+.3f"),
        _Column(name="relative_harm_max", title="most", form="+.3f"),
    ]
    config = result.config
    return [
        _Column(name="rank", title="", form="d"),
        *([] if result.claims.empty else confirmed),
        _Column(name="found_harm", title="the search saw", form="+.3f"),
        *genes,
        *_throughputs(config),
    ]


def _throughputs(config: SearchConfig) -> list[_Column]:
    return [
        _Column(name="solo_mbps", title=f"{config.beta} alone", unit="Mbit/s", form=".2f"),
        _Column(name="competing_mbps", title=config.beta, unit="Mbit/s", form=".2f"),
        _Column(name="alpha_mbps", title=config.alpha, unit="Mbit/s", form=".2f"),
    ]


def _all_columns(config: SearchConfig, genes: Sequence[_Column]) -> list[_Column]:
    """Return the columns of the table of all experiments."""
    repeated = [_Column(name="relative_harm_sd", title="±", form=".3f")]
    columns = [
        _Column(name="number", title="number", form="d"),
        _Column(name="generation", title="generation", form="d"),
        _Column(name="relative_harm", title="relative harm", form="+.3f"),
        *(repeated if config.repeat > 1 else []),
        *genes,
        _Column(name="queue_packets", title="queue", unit="packets", form="d"),
        *_throughputs(config),
        _Column(name="jain", title="Jain's index", form=".3f"),
        _Column(name="from_s", title="measured from", unit="s", form="g"),
        _Column(name="to_s", title="to", unit="s", form="g"),
        _Column(name="parents", title="parents"),
        _Column(name="error", title="failed"),
    ]
    return list(dict.fromkeys(columns))  # queue_packets may be a gene


def _column(config: SearchConfig, gene: Gene) -> _Column:
    title, unit = _title(config, gene)
    form = ""
    if gene.name in NUMBERS:
        form = "d" if NUMBERS[gene.name].whole else "g"
    return _Column(name=gene.name, title=title, unit=unit, form=form)


def _title(config: SearchConfig, gene: Gene) -> tuple[str, str]:
    """Return the name and the unit of a gene."""
    name, _, unit = quantity_name(config, gene).partition(" (")
    return name, unit.removesuffix(")")


def _span(low: float, high: float, count: int) -> str:
    if count == 1:
        return f"One network, harm {high:+.2f}."
    return f"{count} networks, harm {low:+.2f} to {high:+.2f}."


def _importances(config: SearchConfig, shares: Any) -> list[tuple[str, str, float]]:
    """Return name, share and width of its bar in percent, for each gene."""
    if shares.isna().any():
        return []
    genes = {gene.name: gene for gene in config.space.genes}
    longest = max(float(shares.max()), 1e-9)
    return [
        (_title(config, genes[name])[0], f"{share:.2f}", round(70 * max(share, 0) / longest, 1))
        for name, share in shares.items()
    ]


def _importance_words(explained: float) -> str:
    trust = "" if explained >= _UNDERSTOOD else ": little, so take the numbers with care"
    return (
        "How much worse a model of harm predicts if it is told wrong values of one quantity "
        "(permutation importance). In experiments that it did not learn from, the model explains "
        f"{max(explained, 0):.0%} of the variance of harm{trust}."
    )
