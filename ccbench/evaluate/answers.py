# SPDX-License-Identifier: Apache-2.0
"""An author's answers to the questions of a pack, and criteria that do not apply.

The file has two tables, both optional, with the names of criteria::

    [answers]
    "5.3.1-principles" = "It halves its window after a loss, as RFC 5681 does."

    [not_applicable]
    "7.10-multipath" = "It is not used for multipath transport."
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ccbench.base import toml_files, validation
from ccbench.base.checked_fields import check_fields, open_table
from ccbench.base.dataclass_dicts import Document

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.evaluate.pack import Pack

__all__ = ["NO_ANSWERS", "Answers", "load_answers"]


def _texts(name: str, value: Any) -> tuple[tuple[str, str], ...]:
    pairs = dict(value).items()
    return tuple((key, validation.one_line(f"{name}.{key}", text)) for key, text in pairs)


@dataclass(frozen=True, kw_only=True)
class Answers(Document):
    """Answers of an author.

    Parameters
    ----------
    answers : tuple of (str, str), or mapping
        Answers to questions, by the name of the criterion.
    not_applicable : tuple of (str, str), or mapping
        Reasons why criteria do not apply, by their names.
    """

    answers: tuple[tuple[str, str], ...] = field(default=(), metadata=open_table(_texts))
    not_applicable: tuple[tuple[str, str], ...] = field(default=(), metadata=open_table(_texts))

    def __post_init__(self) -> None:
        check_fields(self)

    def check(self, pack: Pack) -> None:
        """Check that all names are criteria of a pack.

        Raises
        ------
        InputError
            If one is not.
        """
        names = [one.key for one in pack.criteria]
        questions = [one.key for one in pack.criteria if one.question]
        for table, pairs, allowed in (
            ("answers", self.answers, questions),
            ("not_applicable", self.not_applicable, names),
        ):
            for name, _ in pairs:
                if name not in allowed:
                    with validation.within(f"{table}: "):
                        raise validation.unknown_key(name, allowed)

    def of(self, name: str) -> str:
        """Return the answer to the question of a criterion, or an empty string."""
        reason = dict(self.not_applicable).get(name)
        return f"Not applicable: {reason}" if reason else dict(self.answers).get(name, "")


#: No answers.
NO_ANSWERS = Answers()


def load_answers(path: Path, pack: Pack) -> Answers:
    """Read answers from a file.

    Raises
    ------
    InputError
        If it is unreadable or invalid, or a name is not a criterion of the pack.
    """
    text = validation.text_file(path, "file of answers")
    with validation.within(f"{path}: "):
        answers = Answers.from_dict(toml_files.loads(text))
        answers.check(pack)
        return answers
