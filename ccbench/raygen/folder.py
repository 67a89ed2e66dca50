# SPDX-License-Identifier: Apache-2.0
"""What a search leaves behind: a folder of files, each written as a whole or not at all.

=============================  =================================================================
``search.json``                settings, engine and versions; how far the search has come; when it
                               is complete, the digest of each other file; its own digest
``results.csv``                one row for each scenario: genes, harm and its parts
``claims.csv``                 the same for the most harmful ones, run again with fresh seeds
``worst-1.toml`` to 5          their competing scenarios; ``ccbench run worst-1.toml`` repeats one
``worst-1-solo.toml`` to 5     what the beta flows had alone
``worst.png``                  throughput over time in the most harmful one
=============================  =================================================================

The last four are there when the search is complete. What changes a table after that is noticed when
it is read, and what changes ``search.json`` at any time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench.base import durable, result_folders, validation
from ccbench.base.errors import CcbenchError, InputError
from ccbench.base.os_errors import explain
from ccbench.base.sealed import ChangedError, check_files, file_digest, sealed, unsealed
from ccbench.raygen.config import SearchConfig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.figure import Figure

    from ccbench.harm import Experiment

__all__ = ["CLAIMS_CSV", "RESULTS_CSV", "SEARCH_JSON", "WORST_PNG", "Folder", "read_folder"]

CLAIMS_CSV = "claims.csv"
RESULTS_CSV = "results.csv"
SEARCH_JSON = "search.json"
WORST_PNG = "worst.png"

#: What only a complete search has in its description: a digest of each file that it has written.
_FILES = "files"


class Folder:
    """The folder of one search.

    Parameters
    ----------
    path : Path
        Made if it is not there.
    identity : mapping
        What makes a search the same search: its settings, the engine and its version.

    Attributes
    ----------
    done : int
        How many experiments an earlier part of the search has left in it.

    Raises
    ------
    InputError
        If the folder holds another search; nothing in it is touched. If it cannot be used.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self._identity = json.loads(json.dumps(identity))  # as it reads when it comes back
        self.done = 0
        self._planned = 0
        self._digests: dict[str, str] = {}
        self._is_finished = False
        result_folders.prepare(path, "search")
        try:
            self._check()
        except OSError as error:
            raise self._unfit("a folder that can be read", explain(error)) from error

    def write_state(self, *, done: int, planned: int) -> None:
        """Write how far the search has come."""
        self._planned = planned
        self._describe(done)

    def finish(self) -> None:
        """Write that the search is complete: from now on its tables are as they are."""
        self._describe(self.done, **{_FILES: dict(sorted(self._digests.items()))})

    def write_table(self, name: str, table: pd.DataFrame) -> None:
        """Write a table as it stands, floating-point numbers to the last digit."""
        self._write_text(name, table.to_csv(index=False))

    def write_claim(self, rank: int, heading: str, experiment: Experiment) -> None:
        """Write the two scenarios of a claim, the first below a heading of one line."""
        heading = f"# {heading}\n"
        self._write_text(f"worst-{rank}.toml", heading + experiment.competing.to_toml())
        self._write_text(f"worst-{rank}-solo.toml", experiment.solo.to_toml())

    def write_picture(self, figure: Figure) -> None:
        """Write the picture of the most harmful scenario."""
        with self._replacing(WORST_PNG) as temporary:
            figure.savefig(temporary, format="png", dpi=150)

    def _check(self) -> None:
        """Refuse a folder that another search has written to."""
        found = _read_json(self.path)
        if found is None:
            taken = [name for name in (RESULTS_CSV, CLAIMS_CSV) if (self.path / name).exists()]
            if taken:
                allowed = f"a folder without {taken[0]} of something else"
                raise self._unfit(allowed, "choose another one")
            return
        if not found:
            allowed = f"a folder of this very search; its {SEARCH_JSON} cannot be read"
            raise self._unfit(allowed, "choose another one, or remove it")
        names = list(_differences(self._identity, found))
        if names:
            allowed = f"a folder of this very search; its {SEARCH_JSON} differs in"
            raise self._unfit(f"{allowed} {', '.join(names)}", "choose another one, or remove it")
        done, planned = (found.get(f"experiments_{name}") for name in ("done", "planned"))
        self.done = done if isinstance(done, int) else 0
        self._planned = planned if isinstance(planned, int) else 0
        self._is_finished = _FILES in found

    def _describe(self, done: int, **more: object) -> None:
        counts = {"experiments_done": done, "experiments_planned": self._planned}
        document = sealed({**self._identity, **counts, **more})
        with self._placing(SEARCH_JSON) as temporary:
            temporary.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        self.done, self._is_finished = done, bool(more)

    def _unfit(self, allowed: str, step: str) -> InputError:
        return validation.bad("output folder", str(self.path), allowed, step)

    def _write_text(self, name: str, text: str) -> None:
        with self._replacing(name) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @contextmanager
    def _replacing(self, name: str) -> Iterator[Path]:
        """Give a path to write to; what was written there then takes the place of `name`.

        A search that was complete is no more, so that nobody takes the new one for a changed one.
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
            step = "the same command goes on where it stopped"
            raise CcbenchError(f"{message}; {step}") from error


def _differences(ours: Mapping[str, Any], theirs: object) -> Iterator[str]:
    """Yield the names of the settings of `ours` that `theirs` lacks or has with other values."""
    for name, value in ours.items():
        other = theirs.get(name) if isinstance(theirs, Mapping) else None
        if isinstance(value, Mapping):
            yield from _differences(value, other)
        elif value != other:
            yield name


def read_folder(
    path: Path,
) -> tuple[SearchConfig, dict[str, Any], pd.DataFrame | None, pd.DataFrame | None]:
    """Read settings, provenance, experiments and claims; None if there is no such table yet.

    The tables are as they stand, of words.

    Raises
    ------
    InputError
        If there is no search in the folder, or what is there cannot be read.
    """
    try:
        document = _read_json(path)
        if document is None:
            allowed = f"the folder of a search, which holds {SEARCH_JSON}"
            step = "name the one that `ccbench raygen` has written"
            raise validation.bad("folder", str(path), allowed, step)
        if not document:
            allowed = f"a folder with a readable {SEARCH_JSON} (it is damaged)"
            raise validation.bad("folder", str(path), allowed, "repeat the search")
        with validation.within(f"{path / SEARCH_JSON}: "):
            config = SearchConfig.from_dict(document["search"])
        digests = document.get(_FILES, {})
        check_files(path, {name: digests[name] for name in (RESULTS_CSV, CLAIMS_CSV) if digests})
        experiments, claims = (_read_table(path / name) for name in (RESULTS_CSV, CLAIMS_CSV))
        _check_rows(experiments, document["experiments_done"])
    except ChangedError as error:
        allowed = f"a folder whose {RESULTS_CSV} and {CLAIMS_CSV} are as they were written"
        step = f"start the search again, which restores them from the runs ({error})"
        raise validation.bad("folder", str(path), allowed, step) from error
    except (OSError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        allowed = f"a folder with a readable {SEARCH_JSON} ({error})"
        raise validation.bad("folder", str(path), allowed, "repeat the search") from error
    own = {"search", "experiments_done", "experiments_planned", _FILES}
    provenance = {name: value for name, value in document.items() if name not in own}
    return config, provenance, experiments, claims


def _check_rows(experiments: pd.DataFrame | None, done: int) -> None:
    """Raise a ValueError if rows are missing: the table is written before the number."""
    if (0 if experiments is None else len(experiments)) < done:
        raise ValueError(f"{RESULTS_CSV} has fewer rows than the {done} of {SEARCH_JSON}")


def _read_json(folder: Path) -> Any:
    """Return what ``search.json`` holds, None if there is none, False if it is damaged."""
    try:
        return unsealed((folder / SEARCH_JSON).read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        return False


def _read_table(path: Path) -> pd.DataFrame | None:
    if not path.exists():
        return None
    return pd.read_csv(path, dtype=str, keep_default_na=False)  # a word may be "none"
