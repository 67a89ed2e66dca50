# SPDX-License-Identifier: Apache-2.0
"""Criteria: what is run, what is measured, and what is a definite failure.

A criterion is a scenario file with a table ``[criterion]``, which only evaluations read: ``ccbench
run`` runs the file as it is. The groups of flows with the label ``candidate``, or the labels of
`candidates`, take the congestion control that is evaluated, and that of each baseline in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ccbench.base import toml_files, validation
from ccbench.base.checked_fields import (
    check_fields,
    checked,
    document_form,
    number,
    open_table,
    set_field,
    tables,
)
from ccbench.base.dataclass_dicts import Document
from ccbench.base.errors import InputError
from ccbench.base.validation import Range
from ccbench.experiment import setting_paths
from ccbench.experiment.noise import typical
from ccbench.experiment.scenario import CRITERION_TABLE, Scenario
from ccbench.experiment.stack_names import names_stack
from ccbench.metrics import METRICS, Metric, Part, group_names, least_log, named, of_objects

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.experiment.flow import Flow

__all__ = ["CANDIDATE", "Criterion", "Measure", "Variant", "check_measure", "load_criterion"]

#: Label of the groups of flows that take the congestion control that is evaluated.
CANDIDATE = "candidate"

#: Sections as in an RFC, or names.
_SECTION = r"[A-Za-z0-9][A-Za-z0-9.-]*"

_ANY = Range()


def _texts(name: str, value: Any) -> tuple[str, ...]:
    items = validation.several(name, value, "a list of labels", f'write {name} = ["candidate"]')
    return tuple(validation.one_line(f"{name}[{i}]", item) for i, item in enumerate(items))


def _window(name: str, value: Any) -> tuple[float, float]:
    items = validation.several(name, value, "two times in seconds", f"write {name} = [10, 20]")
    times = tuple(
        validation.number(f"{name}[{i}]", item, Range(0), example=10)
        for i, item in enumerate(items)
    )
    if len(times) != 2 or times[0] >= times[1]:  # noqa: PLR2004
        raise validation.bad(name, list(items), "two ascending times", f"write {name} = [10, 20]")
    return times[0], times[1]


def _metric(name: str, value: Any) -> str:
    if value not in METRICS:
        hint = validation.choice_hint(str(value), METRICS)
        raise validation.bad(name, value, "a metric of `ccbench metrics`", hint)
    return str(value)


@dataclass(frozen=True, kw_only=True)
class Measure(Document):
    """A metric of a criterion, of one group of flows or another object.

    Parameters
    ----------
    metric : str
        Name of a metric (:mod:`ccbench.metrics`).
    of : str, optional
        Label of the group of flows, or name of the bottleneck or queue. Default: the candidate for
        metrics of flows; otherwise the only object.
    window_s : (float, float), optional
        Part of the run. Default: the whole run.
    at_most, at_least : float, optional
        Bounds that the source of the criterion gives, in the metric's unit.
    failure : str
        Words for a definite failure, such as ``starvation``.
    fails_above, fails_below : float, optional
        Values beyond which a median is this failure, unless a baseline's is too.
    gain_is_neutral : bool
        Whether a better value is not called better, such as a higher rate of the candidate against
        others, which they lose.

    Raises
    ------
    InputError
        If a setting is out of range.

    Examples
    --------
    >>> measure = Measure(metric="queueing_delay_p95")
    >>> measure.of, measure.described.quantity
    ('candidate', '95th percentile of the queueing delay')
    """

    metric: str = field(metadata=checked(_metric))
    of: str = field(default="", metadata=checked(validation.one_line))
    window_s: tuple[float, float] | None = field(
        default=None, metadata=checked(_window, optional=True)
    )
    at_most: float | None = field(default=None, metadata=number(_ANY, example=1, optional=True))
    at_least: float | None = field(default=None, metadata=number(_ANY, example=1, optional=True))
    failure: str = field(default="", metadata=checked(validation.one_line))
    fails_above: float | None = field(default=None, metadata=number(_ANY, example=1, optional=True))
    fails_below: float | None = field(default=None, metadata=number(_ANY, example=1, optional=True))
    gain_is_neutral: bool = field(default=False, metadata=checked(validation.flag))

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.of and self.described.scope == "flow":
            set_field(self, "of", CANDIDATE)
        has_limit = self.fails_above is not None or self.fails_below is not None
        if has_limit != bool(self.failure):
            allowed = "given together with fails_above or fails_below"
            raise validation.bad("failure", self.failure, allowed, "give both, or none")

    @property
    def described(self) -> Metric:
        """The metric."""
        return METRICS[self.metric]

    def title(self, *, names_candidate: bool = False) -> str:
        """Return the quantity in words, with the object and the part of the run.

        Parameters
        ----------
        names_candidate : bool
            Whether the candidate is named where it is the object.

        Examples
        --------
        >>> Measure(metric="throughput", of="UDP", window_s=(25, 40)).title()
        'throughput of UDP, 25 to 40 s'
        """
        of = self.of if self.of != CANDIDATE else "the candidate" if names_candidate else ""
        window = (
            "" if self.window_s is None else f", {self.window_s[0]:g} to {self.window_s[1]:g} s"
        )
        return self.described.quantity + (f" of {of}" if of else "") + window

    @property
    def unit(self) -> str:
        """The unit in reports: fractions are in percent."""
        return "%" if self.described.is_fraction else self.described.unit

    @property
    def scale(self) -> float:
        """Factor from a value to one in :attr:`unit`."""
        return 100.0 if self.described.is_fraction else 1.0

    @property
    def bound(self) -> str:
        """The bounds of the source in words, such as "at most 5 s"; empty for none."""
        bounds = (("at least", self.at_least), ("at most", self.at_most))
        return " and ".join(
            f"{words} {value * self.scale:g} {self.unit}".strip()
            for words, value in bounds
            if value is not None
        )

    def is_met(self, value: float) -> bool:
        """Return whether a value is within the bounds of the source; NaN is not within any."""
        if not self.bound:
            return True
        low = -math.inf if self.at_least is None else self.at_least
        high = math.inf if self.at_most is None else self.at_most
        return low <= value <= high

    def value(self, part: Part) -> float:
        """Return the value in a part of a run; NaN if it has none, such as an unfinished transfer.

        Raises
        ------
        InputError
            If the run has no such object.
        """
        values = of_objects(self.described, part)
        if self.described.scope == "flow":
            values = values.set_axis(_names(part.run.scenario.flows))
        if self.of not in values.index:
            allowed = f"one of {', '.join(map(str, values.index))}"
            raise validation.bad("of", self.of, allowed, "name one of them")
        return float(values[self.of])

    def fails(self, value: float) -> bool:
        """Return whether a value is a definite failure."""
        if self.fails_above is not None and value > self.fails_above:
            return True
        return self.fails_below is not None and value < self.fails_below


def _names(flows: tuple[Flow, ...]) -> list[str]:
    """Return the names of groups of flows, of which a single one has its own, too."""
    return [flows[0].name] if len(flows) == 1 else group_names(flows)


@dataclass(frozen=True, kw_only=True)
class Variant(Document):
    """A variant of a criterion's scenario.

    Parameters
    ----------
    name : str
    settings : tuple of (str, object), or mapping
        Other values of settings, by their paths as in ``ccbench sweep --vary``; in TOML a table.
    quick : bool
        Whether a quick evaluation runs it.
    """

    name: str = field(metadata=checked(validation.one_line))
    settings: tuple[tuple[str, Any], ...] = field(
        default=(), metadata=open_table(lambda _, value: tuple(dict(value).items()))
    )
    quick: bool = field(default=False, metadata=checked(validation.flag))

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, kw_only=True)
class Criterion(Document):
    """A criterion of an evaluation.

    Parameters
    ----------
    section : str
        Section of the source, such as ``5.1.2``, or a name.
    title : str
    obligation : str
        How the source binds: ``MUST``, ``SHOULD``, or empty.
    about : str
        What the criterion asks, and what is run, in a few sentences.
    question : str
        A question for the author, in place of measures.
    candidates : tuple of str
        Labels of the groups of flows that take the congestion control that is evaluated.
    harmed : str
        Label of the flows that the candidate may harm, for a search for the worst network
        (:mod:`ccbench.evaluate.worst`); empty for none.
    measures : tuple of Measure
        In TOML tables headed ``[[criterion.measures]]``.
    networks : tuple of Variant
        Variants of the scenario; by default one, which is also quick. In TOML tables headed
        ``[[criterion.networks]]``.
    name, folder : str
        Name of the criterion's file without its suffix, and its folder.
    scenario : tuple of (str, object)
        Settings of the scenario, as in its document.

    Raises
    ------
    InputError
        If a setting is invalid.
    """

    section: str = field(
        metadata=checked(
            lambda name, value: validation.text(
                name, value, _SECTION, "a section or a name without spaces", example="5.1.2"
            )
        )
    )
    title: str = field(metadata=checked(validation.one_line))
    obligation: str = field(default="", metadata=checked(validation.one_line))
    about: str = field(default="", metadata=checked(validation.one_line))
    question: str = field(default="", metadata=checked(validation.one_line))
    candidates: tuple[str, ...] = field(default=(CANDIDATE,), metadata=checked(_texts))
    harmed: str = field(default="", metadata=checked(validation.one_line))
    measures: tuple[Measure, ...] = field(default=(), metadata=tables(Measure, least=0))
    networks: tuple[Variant, ...] = field(default=(), metadata=tables(Variant, least=0))
    name: str = field(
        default="", metadata=checked(validation.one_line) | document_form(omits_default=True)
    )
    folder: str = field(default="", metadata=document_form(omits_default=True))
    scenario: tuple[tuple[str, Any], ...] = field(
        default=(), metadata=open_table(lambda _, value: tuple(dict(value).items()))
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if bool(self.question) == bool(self.measures):
            raise InputError(
                "a criterion has either a question for the author or measures: "
                "add [[criterion.measures]] or a question"
            )
        if self.measures and not self.networks:
            set_field(self, "networks", (Variant(name="", quick=True),))

    def title_of(self, measure: Measure) -> str:
        """Return a measure in words, which name the candidate if other flows share its path."""
        labels = {flow.get("label") for flow in dict(self.scenario).get("flows", [])}
        return measure.title(names_candidate=not labels <= set(self.candidates))

    @property
    def key(self) -> str:
        """Name of the criterion among those of its pack: that of its file."""
        return self.name or self.section

    def suits(self, cca: str) -> bool:
        """Return whether a congestion control can take the place of the candidate.

        The flows of a stack always have data, and have no settings of sockets.
        """
        if not names_stack(cca):
            return True
        try:
            for network in self.networks:
                self.scenario_of(network, cca, 1)
        except InputError:
            return False
        return True

    def scenario_of(self, network: Variant, cca: str, seed: int) -> Scenario:
        """Return the scenario of a network with a congestion control in the place of the candidate.

        A scenario that does not state its noise has the typical noise of its path.

        Raises
        ------
        InputError
            If a setting is invalid, or no group of flows is a candidate.
        """
        document = dict(self.scenario)
        for path in dict(network.settings):
            setting_paths.check_path(document, path)
        document = setting_paths.changed(document, dict(network.settings))
        flows = document.get("flows", [])
        own = [flow for flow in flows if flow.get("label") in self.candidates]
        if not own:
            step = f'write label = "{CANDIDATE}" below [[flows]]'
            raise validation.bad("candidates", list(self.candidates), "labels of flows", step)
        for flow in own:
            flow["cca"] = cca
        document["name"] = " ".join(filter(None, (self.title, network.name)))
        scenario = Scenario.from_dict({**document, "seed": seed}, self.folder)
        log = least_log(named(measure.metric for measure in self.measures))
        if "noise" not in document:
            noise = typical(rtt_ms=scenario.path.rtt_ms)
            scenario = replace(scenario, path=replace(scenario.path, noise=noise))
        return replace(scenario, queue_log=log)


def load_criterion(path: Path) -> Criterion:
    """Read a criterion from a file.

    Raises
    ------
    InputError
        If it is unreadable or invalid. The message names the file.
    """
    text = validation.text_file(path, "criterion file")
    with validation.within(f"{path}: "):
        document = toml_files.loads(text)
        table = document.pop(CRITERION_TABLE, None)
        if not isinstance(table, dict):
            raise InputError(f"there is no table [{CRITERION_TABLE}]: add it")
        with validation.within(f"{CRITERION_TABLE}."):
            criterion = Criterion.from_dict(
                {**table, "name": path.stem, "folder": str(path.parent)}
            )
        if criterion.question:
            return criterion
        criterion = replace(criterion, scenario=tuple(document.items()))
        for network in criterion.networks:
            with validation.within(f"network {network.name!r}: " if network.name else ""):
                scenario = criterion.scenario_of(network, "cubic", 1)
                for i, measure in enumerate(criterion.measures):
                    with validation.within(f"{CRITERION_TABLE}.measures[{i}]."):
                        check_measure(measure, scenario)
                if criterion.harmed:
                    with validation.within(f"{CRITERION_TABLE}."):
                        _check_harmed(criterion, scenario)
        return criterion


def check_measure(measure: Measure, scenario: Scenario) -> None:
    """Check that a scenario has the group of flows of a measure.

    Raises
    ------
    InputError
        If it has not.
    """
    if measure.described.scope != "flow":
        return
    labels = _names(scenario.flows)
    if measure.of not in labels:
        raise validation.bad("of", measure.of, f"one of {', '.join(labels)}", "name a label")


def _check_harmed(criterion: Criterion, scenario: Scenario) -> None:
    """Check that a search can vary the scenario: only the candidate and the others, on a link."""
    labels = [flow.name for flow in scenario.flows]
    if sorted(labels) != sorted([*criterion.candidates, criterion.harmed]) or len(labels) != 2:  # noqa: PLR2004
        allowed = "the label of all flows but the candidate's"
        raise validation.bad("harmed", criterion.harmed, allowed, f"{', '.join(labels)} are there")
    if scenario.path.bottlenecks[0].trace is not None:
        allowed = "left out with a link of varying rate"
        raise validation.bad("harmed", criterion.harmed, allowed, "remove one of the two")
