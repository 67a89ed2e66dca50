# SPDX-License-Identifier: Apache-2.0
"""The page of qdiscs, whose tables docs/conf.py generates from the descriptors."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace
from typing import Any

import pytest

from ccbench.experiment.qdiscs import QDISCS
from tests.documentation import DOCS

_SPEC = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
assert _SPEC is not None
assert _SPEC.loader is not None
conf: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(conf)


@pytest.mark.parametrize("qdisc", QDISCS)
def test_tables(qdisc: str) -> None:
    """Every qdisc and every option is on the page."""
    source = [(DOCS / "qdiscs.md").read_text(encoding="utf-8")]
    conf.fill(SimpleNamespace(srcdir=DOCS), "qdiscs", source)
    assert f"| `{qdisc}` | {QDISCS[qdisc].summary} |" in source[0]
    section = source[0].partition(f"### {qdisc}\n")[2].partition("###")[0]
    for name, option in QDISCS[qdisc].options.items():
        assert f"| `{name}` | {option.summary} |" in section
