# SPDX-License-Identifier: Apache-2.0
"""Output folder of a search, whose files are written atomically.

=============================  =================================================================
``search.json``                settings, engine, versions and progress; after the end of the
                               search, the digest of each other file; its own digest
``results.csv``                one row for each scenario: genes, harm and its parts
``claims.csv``                 the same for the most harmful scenarios, run with fresh seeds
``worst-1.toml`` to 5          their competing scenarios; ``ccbench run worst-1.toml`` repeats one
``worst-1-solo.toml`` to 5     their solo scenarios of the beta flows
``timelines.json``             throughput over time in both runs of each, as figures draw it
``worst.png``                  the figure of the most harmful scenario
``simplest.csv``               for some objectives, the simplest networks that show the claims,
                               run with fresh seeds; ``simplest-1.toml`` and so on like ``worst-``
=============================  =================================================================

All but the first two exist after the end of the search. A later change of a table, and any change
of ``search.json``, is detected when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench.base import durable, result_folders, safe_json, validation
from ccbench.base.errors import CcbenchError, InputError
from ccbench.base.os_errors import explain
from ccbench.base.sealed import ChangedError, check_files, file_digest, sealed, unsealed
from ccbench.raygen.config import SearchConfig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ccbench.base.figures import Figure
    from ccbench.raygen.objective import Case
    from ccbench.raygen.timeline import Timeline

__all__ = [
    "CLAIMS_CSV",
    "RESULTS_CSV",
    "SEARCH_JSON",
    "SIMPLEST_CSV",
    "TIMELINES_JSON",
    "WORST_PNG",
    "Folder",
    "read_folder",
]

CLAIMS_CSV = "claims.csv"
RESULTS_CSV = "results.csv"
SEARCH_JSON = "search.json"
SIMPLEST_CSV = "simplest.csv"
TIMELINES_JSON = "timelines.json"
WORST_PNG = "worst.png"

#: Key in ``search.json`` with the digests of all files, which only a complete search has.
_FILES = "files"


class Folder:
    """The folder of one search.

    Parameters
    ----------
    path : Path
        The folder, which is created if it does not exist.
    identity : mapping
        Identity of the search: its settings, the engine and its version.

    Attributes
    ----------
    done : int
        Number of experiments that an interrupted search has left in the folder.

    Raises
    ------
    InputError
        If the folder contains another search, which is not changed, or cannot be used.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self._identity = json.loads(json.dumps(identity))  # comparable with values read from JSON
        self.done = 0
        self._planned = 0
        self._digests: dict[str, str] = {}
        self._is_finished = False
        result_folders.prepare(path, "search")
        try:
            self._check()
        except OSError as error:
            raise self._invalid("a readable folder", explain(error)) from error

    def write_state(self, *, done: int, planned: int) -> None:
        """Write the progress of the search."""
        self._planned = planned
        self._describe(done)

    def finish(self) -> None:
        """Mark the search as complete, and write the digests of its files."""
        self._describe(self.done, **{_FILES: dict(sorted(self._digests.items()))})

    def write_table(self, name: str, table: pd.DataFrame) -> None:
        """Write a table, with floating-point numbers in full precision."""
        self._write_text(name, table.to_csv(index=False))

    def write_scenarios(self, name: str, heading: str, experiment: Case) -> None:
        """Write the two scenarios of a network, the first with a one-line heading."""
        heading = f"# {heading}\n"
        self._write_text(f"{name}.toml", heading + experiment.competing.to_toml())
        self._write_text(f"{name}-solo.toml", experiment.solo.to_toml())

    def write_timelines(self, timelines: Mapping[int, Timeline]) -> None:
        """Write the throughput over time of the claims by their ranks."""
        documents = {rank: timeline.to_dict() for rank, timeline in timelines.items()}
        self._write_text(TIMELINES_JSON, json.dumps(safe_json.plain(documents)) + "\n")

    def write_picture(self, figure: Figure) -> None:
        """Write the figure of the most harmful scenario."""
        with self._replacing(WORST_PNG) as temporary:
            figure.savefig(temporary, format="png", dpi=150)

    def _check(self) -> None:
        """Check that the folder does not contain another search."""
        document = _read_json(self.path)
        if document is None:
            taken = [name for name in (RESULTS_CSV, CLAIMS_CSV) if (self.path / name).exists()]
            if taken:
                allowed = f"a folder without a {taken[0]} of another program"
                raise self._invalid(allowed, "choose another folder")
            return
        if not document:
            allowed = f"a folder of the same search; its {SEARCH_JSON} cannot be read"
            raise self._invalid(allowed, "choose another folder, or remove it")
        names = list(_differences(self._identity, document))
        if names:
            allowed = f"a folder of the same search; its {SEARCH_JSON} differs in"
            step = "choose another folder, or remove it"
            raise self._invalid(f"{allowed} {', '.join(names)}", step)
        done, planned = (document.get(f"experiments_{name}") for name in ("done", "planned"))
        self.done = done if isinstance(done, int) else 0
        self._planned = planned if isinstance(planned, int) else 0
        self._is_finished = _FILES in document

    def _describe(self, done: int, **more: object) -> None:
        counts = {"experiments_done": done, "experiments_planned": self._planned}
        document = sealed({**self._identity, **counts, **more})
        with self._placing(SEARCH_JSON) as temporary:
            temporary.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        self.done, self._is_finished = done, bool(more)

    def _invalid(self, allowed: str, step: str) -> InputError:
        return validation.bad("output folder", str(self.path), allowed, step)

    def _write_text(self, name: str, text: str) -> None:
        with self._replacing(name) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @contextmanager
    def _replacing(self, name: str) -> Iterator[Path]:
        """Yield a temporary path that replaces the file `name` after the block.

        A complete search is first marked as incomplete, as its digests no longer hold.
        """
        if self._is_finished:
            self._describe(self.done)
        with self._placing(name) as temporary:
            yield temporary
            self._digests[name] = file_digest(temporary.read_bytes())

    @contextmanager
    def _placing(self, name: str) -> Iterator[Path]:
        try:
            with durable.new_file(self.path / name) as temporary:
                yield temporary
        except OSError as error:
            message = f"cannot write {explain(error, self.path / name)}"
            step = "the same command continues the search"
            raise CcbenchError(f"{message}; {step}") from error


def _differences(expected: Mapping[str, Any], stored: object) -> Iterator[str]:
    """Yield the names of the settings that are missing or different in `stored`."""
    for name, value in expected.items():
        other = stored.get(name) if isinstance(stored, Mapping) else None
        if isinstance(value, Mapping):
            yield from _differences(value, other)
        elif value != other:
            yield name


def read_folder(
    path: Path,
) -> tuple[SearchConfig, dict[str, Any], dict[str, pd.DataFrame | None], dict[str, Any]]:
    """Read settings, provenance, tables by the names of their files, and timelines by rank.

    All values of the tables are text. A table is None if it does not exist.

    Raises
    ------
    InputError
        If the folder does not contain a search, or is damaged.
    """
    try:
        document = _read_json(path)
        if document is None:
            allowed = f"the folder of a search, which contains {SEARCH_JSON}"
            step = "name a folder written by `ccbench raygen`"
            raise validation.bad("folder", str(path), allowed, step)
        if not document:
            allowed = f"a folder with a readable {SEARCH_JSON} (it is damaged)"
            raise validation.bad("folder", str(path), allowed, "repeat the search")
        with validation.within(f"{path / SEARCH_JSON}: "):
            config = SearchConfig.from_dict(document["search"])
        digests = document.get(_FILES, {})
        names = (RESULTS_CSV, CLAIMS_CSV, SIMPLEST_CSV)
        read = (*names, TIMELINES_JSON)
        check_files(path, {name: digests[name] for name in read if name in digests})
        tables = {name: _read_table(path / name) for name in names}
        _check_rows(tables[RESULTS_CSV], document["experiments_done"])
        timelines = {}
        if TIMELINES_JSON in digests:
            timelines = dict(safe_json.loads((path / TIMELINES_JSON).read_bytes()))
    except ChangedError as error:
        allowed = f"a folder with unchanged {RESULTS_CSV} and {CLAIMS_CSV}"
        step = f"start the search again, which restores them from stored runs ({error})"
        raise validation.bad("folder", str(path), allowed, step) from error
    except (OSError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        allowed = f"a folder with a readable {SEARCH_JSON} ({error})"
        raise validation.bad("folder", str(path), allowed, "repeat the search") from error
    own = {"search", "experiments_done", "experiments_planned", _FILES}
    provenance = {name: value for name, value in document.items() if name not in own}
    return config, provenance, tables, timelines


def _check_rows(experiments: pd.DataFrame | None, done: int) -> None:
    """Raise a ValueError if rows are missing, as the table is written before their number."""
    if (0 if experiments is None else len(experiments)) < done:
        raise ValueError(f"{RESULTS_CSV} has fewer rows than the {done} of {SEARCH_JSON}")


def _read_json(folder: Path) -> Any:
    """Return the content of ``search.json``, None if it does not exist, False if it is damaged."""
    try:
        return unsealed((folder / SEARCH_JSON).read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        return False


def _read_table(path: Path) -> pd.DataFrame | None:
    if not path.exists():
        return None
    return pd.read_csv(path, dtype=str, keep_default_na=False)  # "none" is a valid value
