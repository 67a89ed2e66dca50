# SPDX-License-Identifier: Apache-2.0
"""What a search leaves behind: a folder of files, each written as a whole or not at all.

========================  ======================================================================
``search.json``           settings, engine and versions; how far the search has come
``results.csv``           one row per experiment: scenario, harm and its parts
``worst-1.toml`` to 5     the most harmful scenarios; ``ccbench run worst-1.toml`` repeats one
``worst.png``             throughput over time in the most harmful one
========================  ======================================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from ccbench import _atomic, _validate
from ccbench.errors import CcbenchError
from ccbench.harm.experiment import INTERVAL_S, flow_names
from ccbench.raygen.result import SHOWN, frame, worst

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from ccbench.errors import InputError
    from ccbench.raygen.result import Evaluation
    from ccbench.run import Run

__all__ = ["RESULTS_CSV", "SEARCH_JSON", "WORST_PNG", "Folder", "throughput_figure"]

RESULTS_CSV = "results.csv"
SEARCH_JSON = "search.json"
WORST_PNG = "worst.png"

_ALPHA_COLOUR = "tab:red"
_BETA_COLOUR = "tab:blue"


class Folder:
    """The folder of one search.

    Parameters
    ----------
    path : Path
        Made if it is not there.
    identity : mapping
        What makes a search the same search: its settings, the engine and its version.

    Raises
    ------
    InputError
        If the folder holds another search; nothing in it is touched. If it cannot be used.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self._identity = json.loads(json.dumps(identity))  # as it reads when it comes back
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._check()
        except OSError as error:
            allowed = f"a folder that can be written ({error.strerror})"
            raise self._unfit(allowed, "choose another one") from error

    def write_state(self, *, done: int, planned: int) -> None:
        """Write how far the search has come."""
        document = {**self._identity, "experiments_done": done, "experiments_planned": planned}
        self._write_text(SEARCH_JSON, json.dumps(document, indent=2) + "\n")

    def write_results(self, evaluations: Sequence[Evaluation]) -> None:
        """Write all experiments that are finished, in the order of proposal."""
        ordered = sorted(evaluations, key=lambda evaluation: evaluation.number)
        self._write_text(RESULTS_CSV, frame(ordered).to_csv(index=False))

    def write_worst(self, evaluations: Sequence[Evaluation]) -> None:
        """Write the most harmful scenarios."""
        for rank, evaluation in enumerate(worst(evaluations, SHOWN), start=1):
            experiment = evaluation.experiment
            heading = f"# Relative harm {evaluation.harm.relative:.3f}: {experiment.describe()}\n"
            self._write_text(f"worst-{rank}.toml", heading + experiment.competing.to_toml())

    def write_picture(self, figure: Figure) -> None:
        """Write the picture of the most harmful scenario."""
        with self._replacing(WORST_PNG) as temporary:
            figure.savefig(temporary, format="png", dpi=150)

    def _check(self) -> None:
        """Refuse a folder that another search has written to."""
        try:
            found = json.loads((self.path / SEARCH_JSON).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        except ValueError:
            found = None
        if not isinstance(found, Mapping):
            allowed = f"a folder of this very search; its {SEARCH_JSON} cannot be read"
            raise self._unfit(allowed, "choose another one, or remove it")
        if isinstance(search := found.get("search"), dict):
            search.setdefault("strategy", "genetic")  # the only one there was at first
        names = list(_differences(self._identity, found))
        if names:
            allowed = f"a folder of this very search; its {SEARCH_JSON} differs in"
            raise self._unfit(f"{allowed} {', '.join(names)}", "choose another one, or remove it")

    def _unfit(self, allowed: str, step: str) -> InputError:
        return _validate.bad("output folder", str(self.path), allowed, step)

    def _write_text(self, name: str, text: str) -> None:
        with self._replacing(name) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @contextmanager
    def _replacing(self, name: str) -> Iterator[Path]:
        """Give a path to write to; what was written there then takes the place of `name`."""
        try:
            with _atomic.new_file(self.path / name) as temporary:
                yield temporary
        except OSError as error:
            message = f"cannot write {self.path / name} ({error.strerror}): make room; the same"
            raise CcbenchError(f"{message} command then goes on where it stopped") from error


def _differences(ours: Mapping[str, Any], theirs: object) -> Iterator[str]:
    """Yield the names of the settings of `ours` that `theirs` lacks or has with other values."""
    for name, value in ours.items():
        other = theirs.get(name) if isinstance(theirs, Mapping) else None
        if isinstance(value, Mapping):
            yield from _differences(value, other)
        elif value != other:
            yield name


def throughput_figure(evaluation: Evaluation, solo: Run, competing: Run) -> Figure:
    """Draw the throughput of both sides over time, and what beta had alone.

    Parameters
    ----------
    evaluation : Evaluation
        The experiment.
    solo, competing : Run
        Its runs.

    Returns
    -------
    Figure
        Thick lines are all flows of a side together, thin ones single flows; harm was measured over
        the shaded time.

    Examples
    --------
    >>> worst = result.worst(1)[0]  # doctest: +SKIP
    >>> pair = (worst.experiment.solo, worst.experiment.competing)  # doctest: +SKIP
    >>> throughput_figure(worst, *map(emulate.run, pair))  # doctest: +SKIP
    """
    harm, experiment = evaluation.harm, evaluation.experiment
    together = competing.throughput(INTERVAL_S)
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(harm.from_s, harm.to_s, color="0.94", zorder=0, label="measured")
    alpha_name, beta_name = flow_names(experiment.alpha), flow_names(experiment.beta)
    _draw_side(axes, together.iloc[:, harm.n_beta :], alpha_name, _ALPHA_COLOUR)
    _draw_side(axes, together.iloc[:, : harm.n_beta], beta_name, _BETA_COLOUR)
    alone = solo.throughput(INTERVAL_S).sum(axis=1)
    axes.plot(alone.index, alone, color=_BETA_COLOUR, linestyle=":", linewidth=0.8)
    axes.plot(
        (harm.from_s, harm.to_s),
        (harm.solo_mbps, harm.solo_mbps),
        color=_BETA_COLOUR,
        linestyle="--",
        label=f"{beta_name} alone (mean)",
    )
    axes.set_title(f"{experiment.describe()}: relative harm {harm.relative:.2f}", fontsize="medium")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("throughput (Mbit/s)")
    axes.set_xlim(0, competing.scenario.duration_s)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", fontsize="small", ncols=4)
    return figure


def _draw_side(axes: Axes, throughput: pd.DataFrame, name: str, colour: str) -> None:
    total = throughput.sum(axis=1)
    axes.plot(total.index, total, color=colour, linewidth=2, label=name)
    if throughput.shape[1] > 1:
        axes.plot(throughput.index, throughput.to_numpy(), color=colour, linewidth=0.6, alpha=0.6)
