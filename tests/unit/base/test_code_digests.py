# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from ccbench.base import code_digests
from ccbench.base.code_digests import code_digest, imported, normal_form

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SOURCE = '''
"""A module."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ccbench.run.run import Run

#: A number.
NUMBER = 1


class Thing:
    """A thing."""

    def total(self, run: Run) -> int:
        """Return a sum."""
        return NUMBER + len(f"{run}, {NUMBER!r}")  # the sum
'''


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""A module."""', '"""Another description."""'),
        ('    """A thing."""\n', ""),
        ('"""Return a sum."""', '"""Return a total."""'),
        ("#: A number.", "# What all else is added to."),
        ("  # the sum", ""),
        ("NUMBER = 1", "NUMBER = (1)"),
        ("\n\n\nclass", "\n\nclass"),
        ("    from ccbench.run.run import Run\n", "    from ccbench.run.run import EVENTS, Run\n"),
    ],
)
def test_explanations(before: str, after: str) -> None:
    """Comments, docstrings, formatting and type-only imports do not count."""
    assert before in SOURCE
    assert normal_form(SOURCE) == normal_form(SOURCE.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("NUMBER = 1", "NUMBER = 2"),
        ("NUMBER = 1", "NUMBER = 1.0"),
        ("NUMBER = 1", "NUMBER = None"),
        ("NUMBER + len", "NUMBER - len"),
        ("def total", "def sum"),
        (", {NUMBER!r}", ", {NUMBER}"),
        ('f"{run}, ', 'f"{run} '),
        ("class Thing:", "class Thing(dict):"),
    ],
)
def test_code(before: str, after: str) -> None:
    """Any change of code changes its normal form."""
    assert before in SOURCE
    assert normal_form(SOURCE) != normal_form(SOURCE.replace(before, after))


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Replace the package by three modules, which are looked up by name alone."""
    modules = {
        "ccbench.experiment.flow": "import os\nfrom ccbench.experiment import wifi\n",
        "ccbench.experiment.wifi": "def f():\n    from ccbench.experiment import trace\n",
        "ccbench.experiment.trace": "def g():\n    return 1\n",
        "ccbench.run.run": "def h():\n    return 1\n",
    }
    monkeypatch.setattr(code_digests, "_source", modules.__getitem__)
    return modules


def digest_of(sources: Mapping[str, str], **changed: str) -> str:
    """Return the digest of the first module, with some modules replaced."""
    code_digest.cache_clear()
    before = dict(sources)
    assert isinstance(sources, dict)
    sources.update({name.replace("_", "."): source for name, source in changed.items()})
    try:
        return code_digest("ccbench.experiment.flow")
    finally:
        sources.update(before)
        code_digest.cache_clear()


class TestImported:
    def test_followed(self, sources: dict[str, str]) -> None:
        """Imports are followed from module to module, including those inside functions."""
        assert (
            "ccbench.experiment.flow",
            "ccbench.experiment.trace",
            "ccbench.experiment.wifi",
        ) == imported(*list(sources)[:1])

    def test_packages(self) -> None:
        """A package counts if a name of its own is imported, not if one of its modules is."""
        modules = imported("ccbench.emulate.kernel.boot.plan")
        assert "ccbench.experiment.qdiscs" in modules
        assert "ccbench.experiment.qdiscs._descriptor" in modules
        assert "ccbench.emulate.kernel" not in modules
        assert "ccbench" not in modules

    def test_missing(self) -> None:
        """A missing module is an error, not an empty part of a digest."""
        with pytest.raises(ModuleNotFoundError):
            code_digest("ccbench.nothing")

    def test_readers(self) -> None:
        """Readers of guest records and simulator output import neither scenarios nor analysis."""
        assert not {"ccbench.run.run", "ccbench.experiment.scenario", "ccbench.base.validation"} & {
            *imported("ccbench.emulate.kernel.boot.results"),
            *imported("ccbench.datacenter.simulation.tables"),
        }


class TestDigest:
    def test_imported_modules(self, sources: dict[str, str]) -> None:
        """Only changes of imported modules change the digest."""
        before = digest_of(sources)
        assert before != digest_of(sources, ccbench_experiment_trace="def g():\n    return 2\n")
        assert before == digest_of(sources, ccbench_run_run="def h():\n    return 2\n")

    def test_comments(self, sources: dict[str, str]) -> None:
        """Changes of comments do not change the digest."""
        assert digest_of(sources) == digest_of(
            sources, ccbench_experiment_trace="def g():\n    return 1  # one\n"
        )


def test_threads() -> None:
    """Threads that compute digests at the same time compute the same ones."""
    code_digest.cache_clear()
    with ThreadPoolExecutor(4) as threads:
        first, *others = threads.map(code_digest, ["ccbench.run.run"] * 4)
    assert [first] * 3 == others


@pytest.mark.parametrize("damage", [None, b"", b"{}", b'{"modules": 1}'])
def test_stored(damage: bytes | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Digests are the same from the cache folder as from the sources, also if it is damaged."""
    module = "ccbench.base.arrays"
    digests = []
    for number in range(2):
        monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path))
        code_digest.cache_clear()
        digests.append(code_digest(module))
        for file in tmp_path.glob("code/*.json"):
            if damage is not None and not number:
                file.write_bytes(damage)
    monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / "other"))
    code_digest.cache_clear()
    assert [code_digest(module)] * 2 == digests
    assert list(tmp_path.glob("code/*.json"))


def test_stored_imports(sources: dict[str, str]) -> None:
    """Imports follow the modules that exist, also for facts from the cache folder."""
    before = digest_of(sources)
    assert before == digest_of(sources)
    assert before != digest_of(sources, ccbench_experiment_flow="import os\n")
