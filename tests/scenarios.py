# SPDX-License-Identifier: Apache-2.0
"""Scenarios from flat settings, as documents have them, for tests that vary any of them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from ccbench.experiment.path import NetworkPath
from ccbench.experiment.scenario import Scenario

_OF_PATH = {field.name for field in fields(NetworkPath)}


def flat(**settings: Any) -> Scenario:
    """Return the scenario with these settings of its own and of its path."""
    path, own = _divided(settings)
    return Scenario(path=NetworkPath(**path), **own)


def changed(scenario: Scenario, **settings: Any) -> Scenario:
    """Return a scenario with other settings of its own and of its path."""
    path, own = _divided(settings)
    return replace(scenario, path=replace(scenario.path, **path), **own)


def _divided(settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    path = {name: value for name, value in settings.items() if name in _OF_PATH}
    return path, {name: value for name, value in settings.items() if name not in _OF_PATH}
