# SPDX-License-Identifier: Apache-2.0
"""The search space (Ware section 5.4)."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ccbench.base import toml_files, validation
from ccbench.base.errors import InputError
from ccbench.experiment import trace_library
from ccbench.experiment.trace import Trace
from ccbench.raygen.gene import Choice, Gene, Number, Value, read_gene
from ccbench.raygen.perturbations import KINDS, NONE
from ccbench.raygen.quantities import SHORT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    import pandas as pd

__all__ = ["ADVERSARIAL_SPACE", "DEFAULT_SPACE", "Chromosome", "Space"]

#: One value for each gene, in the order of the space.
Chromosome: TypeAlias = tuple[Value, ...]

#: A space needs exactly one gene of each group: for the link, the delay and the queue.
_NEEDED = (("bandwidth_mbps", "trace"), ("rtt_ms",), ("queue_bdp", "queue_packets"))


@dataclass(frozen=True)
class Space:
    """The genes of a search.

    Parameters
    ----------
    genes : tuple of Gene
        Genes in any order, including ``rtt_ms``, either ``bandwidth_mbps`` or ``trace``, and either
        ``queue_bdp`` or ``queue_packets``.
    traces : tuple of Trace
        The traces of a gene ``trace``.
    path : mapping
        Fixed settings of the path, as in a scenario file: those that no gene varies, and the tables
        of genes such as ``reverse_bottlenecks.0.bandwidth_mbps``.

    Raises
    ------
    InputError
        If a gene is missing or duplicate, or a trace is missing.

    Examples
    --------
    >>> DEFAULT_SPACE.values((100.0, 40.0, 1.0, 1, 2))["beta_flows"]
    2
    """

    genes: tuple[Gene, ...]
    traces: tuple[Trace, ...] = ()
    path: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not self.genes:
            step = "add a table [[genes]] for each gene"
            raise validation.bad("genes", list(self.genes), "a list of one gene or more", step)
        names = [gene.name for gene in self.genes]
        for name in names:
            if names.count(name) > 1:
                raise validation.bad(
                    f"number of genes {name}", names.count(name), "1", "remove the others"
                )
        for needed in _NEEDED:
            present = [name for name in needed if name in names]
            if not present and not self._is_set(needed):
                raise InputError(f"gene {' or '.join(needed)} is missing: add a table [[genes]]")
            if len(present) > 1:
                raise InputError(f"genes {' and '.join(present)} exclude each other: remove one")
        object.__setattr__(self, "traces", tuple(self.traces))
        for gene in self.genes:
            if gene.name == "trace" and isinstance(gene, Choice):
                for value in gene.values:
                    self.trace(str(value))

    def _is_set(self, names: Iterable[str]) -> bool:
        """Return whether a fixed setting or a gene by its path determines one of the quantities."""
        paths = {SHORT[name] for name in names}
        links = self.path.get("bottlenecks") or [{}]
        given = {*self.path, *(f"bottlenecks.0.{name}" for name in links[0])}
        return bool(paths & {*given, *(gene.name for gene in self.genes)})

    def trace(self, name: str) -> Trace:
        """Return the trace of this name.

        Raises
        ------
        InputError
            If there is no such trace.
        """
        traces = {trace.name: trace for trace in self.traces}
        if name not in traces:
            allowed = f"one of the traces given ({', '.join(traces) or 'none'})"
            raise validation.bad("trace", name, allowed, validation.choice_hint(name, traces))
        return traces[name]

    def with_range(self, name: str, low: float, high: float) -> Space:
        """Return this space with another range of a numeric gene.

        Examples
        --------
        >>> slow = DEFAULT_SPACE.with_range("bandwidth_mbps", 4, 20)
        >>> slow.genes[0].low, slow.genes[1:] == DEFAULT_SPACE.genes[1:]
        (4.0, True)
        """
        genes = tuple(
            replace(gene, low=low, high=high)
            if isinstance(gene, Number) and gene.name == name
            else gene
            for gene in self.genes
        )
        return replace(self, genes=genes)

    def random(self, rng: Random) -> Chromosome:
        """Return a random chromosome."""
        return tuple(gene.random(rng) for gene in self.genes)

    def stratified(self, rng: Random, count: int) -> list[Chromosome]:
        """Return random chromosomes that cover the range of each gene evenly (Latin hypercube).

        The range of each gene is divided into `count` equal parts on its scale, and one value is
        drawn from each part. So all bandwidth ranges are represented, as in section 5.4 of the
        thesis, and those of all other genes as well.

        Examples
        --------
        >>> import random
        >>> four = DEFAULT_SPACE.stratified(random.Random(1), 4)
        >>> [int(c[0] > 50) + int(c[0] > 100) + int(c[0] > 200) for c in sorted(four)]
        [0, 1, 2, 3]
        """
        columns = []
        for gene in self.genes:
            parts = list(range(count))
            rng.shuffle(parts)
            columns.append([gene.at((part + rng.random()) / count) for part in parts])
        return list(zip(*columns, strict=True))

    def corners(self) -> list[Chromosome]:
        """Return all chromosomes with each number at an end of its range and any choices."""
        ends = (gene.values if isinstance(gene, Choice) else gene.levels(2) for gene in self.genes)
        return list(itertools.product(*ends))

    def coordinates(self, chromosome: Chromosome) -> tuple[float, ...]:
        """Return the coordinates of a chromosome, from 0 to 1; see :meth:`Gene.coordinates`.

        Examples
        --------
        >>> DEFAULT_SPACE.coordinates((400.0, 320.0, 0.25, 1, 1))[:3]
        (1.0, 1.0, 0.0)
        """
        pairs = zip(self.genes, chromosome, strict=True)
        return tuple(itertools.chain.from_iterable(g.coordinates(value) for g, value in pairs))

    def values(self, chromosome: Chromosome) -> dict[str, Value]:
        """Return the values of a chromosome by the names of the genes."""
        return {gene.name: value for gene, value in zip(self.genes, chromosome, strict=True)}

    def check(self, chromosome: Chromosome) -> None:
        """Check that a chromosome lies in the space.

        Raises
        ------
        InputError
            If the number of values is wrong, or a value is outside the range of its gene.
        """
        if len(chromosome) != len(self.genes):
            allowed = f"of {len(self.genes)} values, one for each gene"
            raise validation.bad("chromosome", chromosome, allowed, "follow the order of the genes")
        for gene, value in zip(self.genes, chromosome, strict=True):
            if not gene.includes(value):
                allowed = "a value of the gene"
                raise validation.bad(gene.name, value, allowed, "use its methods")

    def chromosome(self, values: Mapping[Any, Any] | pd.Series[Any]) -> Chromosome:
        """Return the chromosome with these values: the inverse of :meth:`values`.

        Other entries of `values`, such as further columns of a table, are ignored.

        Examples
        --------
        >>> row = DEFAULT_SPACE.values((100.0, 40.0, 1.0, 1, 2)) | {"relative_harm": 0.3}
        >>> DEFAULT_SPACE.chromosome(row)
        (100.0, 40.0, 1.0, 1, 2)
        """
        selected = (values[gene.name] for gene in self.genes)
        # Tables contain NumPy scalars, which print and hash differently in some versions.
        return tuple(value.item() if hasattr(value, "item") else value for value in selected)

    def to_dict(self) -> dict[str, Any]:
        """Return the space as a dictionary of JSON-able values."""
        document: dict[str, Any] = {"genes": [gene.to_dict() for gene in self.genes]}
        if self.path:
            document["path"] = copy.deepcopy(dict(self.path))
        if self.traces:
            document["traces"] = [
                # As one string, as JSON would write a hundred thousand numbers in a line each.
                {"name": trace.name, "opportunities_ms": " ".join(map(str, trace.opportunities_ms))}
                for trace in self.traces
            ]
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], base_dir: str | Path = ".") -> Space:
        """Create a space from a dictionary of :meth:`to_dict`.

        Parameters
        ----------
        document : mapping
            ``genes``, and ``traces`` unless the values of a gene ``trace`` are files or names.
        base_dir : path
            Folder to which the paths of those files are relative.

        Raises
        ------
        InputError
            If the dictionary is invalid; the message starts with the position of the error.
        """
        if not isinstance(document, Mapping):
            raise validation.bad("space", document, "a table", "head each gene with [[genes]]")
        for key in document:
            if key not in {"genes", "traces", "path"}:
                raise validation.unknown_key(str(key), ["genes", "path"])
        tables = document.get("genes")
        if not isinstance(tables, list) or not all(isinstance(t, Mapping) for t in tables):
            raise InputError("genes are missing: add a table [[genes]] for each gene")
        genes = []
        for i, table in enumerate(tables):
            with validation.within(f"genes[{i}]: "):
                genes.append(read_gene(table))
        fixed = document.get("path", {})
        if not isinstance(fixed, Mapping):
            raise validation.bad("path", fixed, "a table", "head it with [path]")
        if "traces" in document:
            traces = _stored_traces(document["traces"])
        else:
            genes, traces = _read_traces(genes, Path(base_dir))
        return cls(tuple(genes), tuple(traces), fixed)

    @classmethod
    def load(cls, path: str | Path) -> Space:
        """Read a space from a TOML file: a table ``[[genes]]`` for each gene.

        Raises
        ------
        InputError
            If the file cannot be read or is not a space; the message names the file.

        Examples
        --------
        >>> [gene.name for gene in Space.load("examples/raygen/space.toml").genes][:2]
        ['bandwidth_mbps', 'rtt_ms']
        """
        path = Path(path)
        text = validation.text_file(path, "file of the search space")
        with validation.within(f"{path}: "):
            document = toml_files.loads(text)
            if "traces" in document:  # only in search.json; a TOML file names files
                raise validation.unknown_key("traces", ["genes"])
            return cls.from_dict(document, path.parent)


def _stored_traces(tables: Any) -> list[Trace]:
    """Read the traces written by :meth:`Space.to_dict`."""
    try:
        return [
            Trace(name=t["name"], opportunities_ms=tuple(map(int, t["opportunities_ms"].split())))
            for t in tables
        ]
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        allowed = f"a list of names and opportunities ({error!r})"
        raise validation.bad("traces", tables, allowed, "do not change it") from error


def _read_traces(genes: list[Gene], base_dir: Path) -> tuple[list[Gene], list[Trace]]:
    """Read the traces of a gene ``trace``, and replace its values by their names."""
    traces: list[Trace] = []
    named: list[Gene] = []
    for gene in genes:
        if gene.name == "trace" and isinstance(gene, Choice):
            traces = [trace_library.find(str(value), base_dir) for value in gene.values]
            named.append(Choice(name="trace", values=tuple(trace.name for trace in traces)))
        else:
            named.append(gene)
    return named, traces


#: The ranges of the thesis (section 5.4).
DEFAULT_SPACE = Space(
    (
        Number(name="bandwidth_mbps", low=25, high=400),
        Number(name="rtt_ms", low=10, high=320),
        Number(name="queue_bdp", low=0.25, high=5),
        Number(name="alpha_flows", low=1, high=5),
        Number(name="beta_flows", low=1, high=5),
    )
)


def _perturbation(number: int) -> tuple[Gene, ...]:
    """Return the genes of a perturbation in the first 15 s, or of none."""
    name = f"perturbations.{number}"
    return (
        Choice(name=f"{name}.kind", values=(NONE, *KINDS)),
        Number(name=f"{name}.at_s", low=0.1, high=15, scale="linear", decimals=2),
        Number(name=f"{name}.lasts_s", low=0.05, high=2, decimals=2),
        Number(name=f"{name}.share", low=0.05, high=0.95, scale="linear", decimals=2),
    )


#: Up to four perturbations of a link like those of CC-Fuzz: 12 Mbit/s, 40 ms.
ADVERSARIAL_SPACE = Space(
    tuple(gene for number in range(4) for gene in _perturbation(number)),
    path={"rtt_ms": 40, "bottlenecks": [{"bandwidth_mbps": 12, "queue_bdp": 2}]},
)
