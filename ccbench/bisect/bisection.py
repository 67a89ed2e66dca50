# SPDX-License-Identifier: Apache-2.0
"""Search for the version of a module that changed a result."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ccbench.base import validation
from ccbench.base.errors import EngineError, InputError
from ccbench.bisect.search import next_version, suspects
from ccbench.emulate import CampaignPlan
from ccbench.emulate._workspace import workspace
from ccbench.emulate.kernel.command import BuildError
from ccbench.emulate.kernel.source.guest_sources import named_folders, own_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ccbench.bisect.history import History, Version
    from ccbench.bisect.question import Question
    from ccbench.bisect.search import Verdict
    from ccbench.emulate import Engine

__all__ = ["SAVED", "Bisection", "Tested", "bisect", "most_tests", "plan"]

#: Folders of the versions before and after the change.
SAVED: Final = ("good", "bad")


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A version that was tested.

    Attributes
    ----------
    number : int
    version : Version
    verdict : "good", "bad" or "skipped"
    words : str
        Its answer, or the reason why it was skipped.
    values : tuple of float
        The numbers of its answer.
    """

    number: int
    version: Version
    verdict: Verdict
    words: str
    values: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Bisection:
    """The result of a search.

    Attributes
    ----------
    versions : tuple of Version
        All versions, of which the first is good and the last bad.
    tested : tuple of Tested
        Those that were tested, in the order of the versions.
    suspects : range
        Numbers of the versions that may be the first bad one; several if all between the last good
        one and the first bad one were skipped.
    provenance : mapping
        Engine of the good version.
    """

    versions: tuple[Version, ...]
    tested: tuple[Tested, ...]
    suspects: range
    provenance: Mapping[str, Any]

    @property
    def first_bad(self) -> Version | None:
        """The version that changed the result, if it is the only one that may be it."""
        return self.versions[self.suspects[0]] if len(self.suspects) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary of plain values."""
        return {
            "first_bad": self.first_bad and asdict(self.first_bad),
            "suspects": [asdict(self.versions[i]) for i in self.suspects],
            "versions": len(self.versions),
            "tested": [asdict(each) for each in self.tested],
            "provenance": dict(self.provenance),
        }


def most_tests(history: History) -> int:
    """Return the largest number of versions that are tested if none is skipped."""
    count = len(history.versions)
    return 2 + (count - 2).bit_length() if count > 1 else count


def plan(
    history: History, question: Question, *, make_engine: Callable[[], Engine], **campaign: Any
) -> CampaignPlan:
    """Return the largest extent and expected cost of a search in which no version is skipped.

    Parameters
    ----------
    history, question, make_engine, **campaign
        As in :func:`bisect`.
    """
    with workspace() as folder:
        engine = _engine(history, 0, folder, make_engine)
    first = question.plan(engine=engine, **campaign)
    other = question.plan(engine=engine, **campaign | {"fresh": True})
    return CampaignPlan.total([first] + [other] * (most_tests(history) - 1))


def bisect(
    history: History,
    question: Question,
    *,
    make_engine: Callable[[], Engine],
    output: Path | None = None,
    on_progress: Callable[[str, float], None] | None = None,
    **campaign: Any,
) -> Bisection:
    """Search for the first version of a module whose answer to a question is bad.

    The good and the bad version are tested first. Versions that cannot be built or run are skipped.
    If the run of the bad version fails, as in a crash, the search is for the first that fails.

    Parameters
    ----------
    history : History
    question : Question
    make_engine : callable
        Returns an engine with the modules in `CCBENCH_MODULES`, in which it is called.
    output : Path, optional
        Folder in which the results before and after the change are saved.
    on_progress : callable, optional
        Called with the current step and the completed share, 0 to 1.
    **campaign
        Further settings of a :class:`~ccbench.emulate.Campaign`.

    Raises
    ------
    InputError
        If the answers of the good and the bad version are alike, or one of them cannot run.
    BuildError
        If one of these does not compile.
    EngineError
        If the run of the good version fails.

    Examples
    --------
    The commit of a repository since which a run differs::

        history = Commits.between(Path("tcp_mine"), "v1.0")
        question = RunQuestion(Scenario.load("scenario.toml"))
        bisect(history, question, make_engine=KernelEngine).first_bad.subject
    """
    versions = history.versions
    with workspace() as folder:
        bench = _Bench(history, make_engine, folder, on_progress or (lambda *_: None), campaign)
        question, tested, only_failures = _ends(bench, question)
        verdicts = {number: each.verdict for number, each in tested.items()}
        while (number := next_version(len(versions), verdicts)) is not None:
            tested[number] = _tested(bench, question, number, only_failures=only_failures)
            verdicts[number] = tested[number].verdict
        found = suspects(len(versions), verdicts)
        if output is not None:
            for name, number in zip(SAVED, (found[0] - 1, found[-1]), strict=True):
                if name == SAVED[0] or not only_failures:
                    question.save(output / name, engine=bench.engines[number], **campaign)
        return Bisection(
            versions=versions,
            tested=tuple(tested[number] for number in sorted(tested)),
            suspects=found,
            provenance=bench.engines[0].provenance(),
        )


@dataclass(frozen=True)
class _Bench:
    """Builds and runs versions."""

    history: History
    make_engine: Callable[[], Engine]
    folder: Path
    on_progress: Callable[[str, float], None]
    campaign: Mapping[str, Any]
    engines: dict[int, Engine] = field(default_factory=dict)

    def ask(self, question: Question, number: int) -> Any:
        """Return the answer of a version."""
        share = min(len(self.engines) / most_tests(self.history), 1.0)
        self.on_progress(self.history.versions[number].short, share)
        self.engines[number] = _engine(self.history, number, self.folder, self.make_engine)
        return question.ask(engine=self.engines[number], **self.campaign)

    def tested(self, number: int, verdict: Verdict, words: str, *values: float) -> Tested:
        """Return a version with its verdict."""
        version = self.history.versions[number]
        return Tested(number=number, version=version, verdict=verdict, words=words, values=values)


def _ends(bench: _Bench, question: Question) -> tuple[Question, dict[int, Tested], bool]:
    """Test the good and the bad version.

    Returns
    -------
    question : Question
        That which tells them apart.
    tested : dict
        Both versions.
    only_failures : bool
        Whether a failed run tells them apart.
    """
    versions = bench.history.versions
    last = len(versions) - 1
    with _about(versions[0]):
        good = bench.ask(question, 0)
    question = question.after_good(good)
    tested = {0: bench.tested(0, "good", question.words(good), *question.values(good))}
    try:
        with _about(versions[last]):
            bad = bench.ask(question, last)
    except EngineError as error:
        tested[last] = bench.tested(last, "bad", str(error))
        return question, tested, True
    question = question.after_bad(bad)
    tested[last] = bench.tested(last, "bad", question.words(bad), *question.values(bad))
    return question, tested, False


def _tested(bench: _Bench, question: Question, number: int, *, only_failures: bool) -> Tested:
    """Test a version between the ends."""
    try:
        answer = bench.ask(question, number)
    except BuildError as error:
        line = error.console[0] if error.console else str(error.args[0])
        return bench.tested(number, "skipped", f"does not compile: {line}")
    except InputError as error:
        return bench.tested(number, "skipped", str(error))
    except EngineError as error:
        return bench.tested(number, "bad" if only_failures else "skipped", str(error))
    verdict: Verdict = "good" if only_failures else question.verdict(answer)
    return bench.tested(number, verdict, question.words(answer), *question.values(answer))


def _engine(
    history: History, number: int, folder: Path, make_engine: Callable[[], Engine]
) -> Engine:
    """Return the engine with a version of the module, and the user's other modules."""
    place = folder / str(number)
    place.mkdir()
    module = history.write(number, place)
    others = (named for named in named_folders() if named != history.folder.resolve())
    with own_modules((module, *others), "module"):
        engine = make_engine()
        engine.version()  # compiles the modules
        return engine


@contextmanager
def _about(version: Version) -> Iterator[None]:
    """Name a version in errors."""
    try:
        with validation.within(f"{version.short}: "):
            yield
    except BuildError as error:
        raise BuildError(f"{version.short}: {error.args[0]}", error.console) from error
