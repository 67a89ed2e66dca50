# SPDX-License-Identifier: Apache-2.0
"""The built site answers the most common questions within two clicks and by its search."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from tests.documentation import DOCS

if TYPE_CHECKING:
    from pathlib import Path

#: Questions, the pages that answer them, and words of the answers.
ANSWERS = {
    "compare two CCAs on a cellular trace with a figure": ("tutorial", "--columns 1"),
    "test my CCA against CUBIC": ("your-own-cca", "--beta cubic"),
    "what ± and noise mean": ("uncertainty", "95 % confidence interval"),
    "run on a cluster, also Slurm": ("cluster", "#SBATCH"),
    "cite": ("citing", "@software{ccbench"),
    "capture packets": ("how-to/run", "--pcap"),
    "programs and QUIC stacks": ("programs", "ngtcp2"),
    "how accurate it is": ("virtual-time", "relative error"),
    "what it cannot do": ("virtual-time", "infinitely fast"),
}

#: Words of the search and the pages that it shows first.
FIRST = {
    "cite": "citing",
    "bibtex": "citing",
    "cluster": "cluster",
    "slurm": "cluster",
    "pcap": "how-to/run",
    "quic": "programs",
}


class _Article(HTMLParser):
    """The links and the text of a page's own part, without navigation.

    Parameters
    ----------
    text : str
        The page in HTML.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.words: list[str] = []
        self._depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._depth += tag == "article"
        if self._depth and tag == "a":
            self.links.append(dict(attrs).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag == "article"

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.words.append(data.replace("\N{NO-BREAK SPACE}", " "))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, without the Python API and the reports of searches."""
    folder = tmp_path_factory.mktemp("site")
    settings = (
        "exclude_patterns=_site,api,searches",
        "with_reports=0",
        "autosummary_generate=0",
        "html_copy_source=0",
    )
    options = [word for setting in settings for word in ("-D", setting)]
    command = [sys.executable, "-m", "sphinx", "-Q", "-b", "html", *options, str(DOCS), str(folder)]
    for _ in range(2):  # as `make docs` does it after a change
        subprocess.run(command, check=True)
    return folder


def _article(site: Path, name: str) -> _Article:
    return _Article((site / f"{name}.html").read_text(encoding="utf-8"))


def _linked(site: Path, name: str) -> set[str]:
    """Return the pages to which the text of a page links."""
    folder = (site / name).parent
    local = (link.partition("#")[0] for link in _article(site, name).links if "://" not in link)
    paths = ((folder / link).resolve() for link in local if link.endswith(".html"))
    return {str(path.relative_to(site).with_suffix("")) for path in paths if path.exists()}


def test_two_clicks(site: Path) -> None:
    """Each of nine questions is answered at most two clicks from the landing page."""
    first = _linked(site, "index")
    reached = first.union(*(_linked(site, name) for name in first))
    for question, (name, words) in ANSWERS.items():
        assert name in reached, question
        text = " ".join("".join(_article(site, name).words).split())
        assert words in text, question


def test_search(site: Path) -> None:
    """The search shows the right page first: no other match counts as much as an index entry."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index: dict[str, Any] = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    for word, name in FIRST.items():
        entries = index["indexentries"][word]
        assert [name] == [index["docnames"][page] for page, _, is_main in entries if is_main], word
