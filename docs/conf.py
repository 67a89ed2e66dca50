# SPDX-License-Identifier: Apache-2.0
"""Configuration of Sphinx, which builds the site: ``make docs``."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))
import places
import yaml
from docutils import nodes
from pygments.lexers.shell import BashLexer
from pygments.token import Name, Text

import ccbench
from ccbench.datacenter.schemes import schemes
from ccbench.emulate.registry import ENGINES
from ccbench.experiment.qdiscs import QDISCS
from ccbench.raygen import SearchResult, strategies
from ccbench.sweeps import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sphinx.application import Sphinx

project = "ccbench"
author = copyright = "The ccbench developers"  # noqa: A001 - Sphinx's name
version = release = ccbench.__version__

#: What the repository says of itself. A release sets its address there (docs/releasing.md).
CITATION = yaml.safe_load((Path(__file__).parents[1] / "CITATION.cff").read_text("utf-8"))
UNKNOWN_REPOSITORY = "URL-OF-THIS-REPOSITORY"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
]
# Blocks without a language are terminal output: no colours, no copy button.
highlight_language = "none"
copybutton_selector = ":not(.highlight-none) > div.highlight > pre"
html_theme = "furo"
html_title = f"ccbench {version}"
html_static_path = ["_static"]
html_css_files = ["ccbench.css"]
templates_path = ["api/templates"]
exclude_patterns = ["_site", "api/templates", "searches"]

# Headings are link targets, as on GitHub.
myst_heading_anchors = 3
# Text is text, as on GitHub: by default a line that begins with % or +++ is not shown.
myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_target"]

autosummary_generate = True
autodoc_typehints = "none"  # docstrings have types, with units
autodoc_member_order = "bysource"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False


class CommandLexer(BashLexer):
    """Shell commands whose options are tokens, which the style sheet does not break at hyphens."""

    def get_tokens_unprocessed(
        self, text: str, stack: tuple[str, ...] = ("root",)
    ) -> Iterator[tuple[int, Any, str]]:
        """Yield the tokens with their positions."""
        for index, token, value in super().get_tokens_unprocessed(text, stack):
            is_option = token is Text and value.startswith("-")
            yield index, Name.Attribute if is_option else token, value


def engines_table() -> str:
    """Return the table of engines, from their descriptions."""
    heads = ("engine", "time", "byte-identical repetition", "root", "links to servers")
    rows = [[*heads, "installation", "own options"], ["---"] * (len(heads) + 2)]
    for info in ENGINES.values():
        flags = (info.is_repeatable, info.needs_root, info.has_links)
        options = ", ".join(f"`{option.flag}`" for option in info.options)
        rows.append(
            [
                f"[`{info.name}`]({info.page}): {info.summary}",
                "real" if info.is_real_time else "virtual",
                *("yes" if item else "no" for item in flags),
                info.install,
                options or "-",
            ]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def engine_pages() -> str:
    """Return the table of contents with the pages of the engines."""
    pages = dict.fromkeys(info.page.removesuffix(".md") for info in ENGINES.values())
    options = (":caption: Engines", ":maxdepth: 1", ":hidden:")
    return "\n".join(["```{toctree}", *options, "", "engines", *pages, "```"])


def metrics_table() -> str:
    """Return the table of metrics, from their descriptions."""
    lines = ["| metric | unit | of each | definition |", "| --- | --- | --- | --- |"]
    for metric in METRICS.values():
        cells = (f"`{metric.name}`", metric.unit, metric.of_each, metric.definition)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def comparison_table() -> str:
    """Return the table of the strategies compared, which `benchmarks/searches.py` writes."""
    with (Path(__file__).parent / "strategies.csv").open(encoding="utf-8") as file:
        heading, *rows = csv.reader(file)
    table = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in table)


def findings_table() -> str:
    """Return the table of what searches with perturbations have found, from their results."""
    rows = [["CCA", "link", "perturbation", "quantity", "CCA's value", "reference's value"]]
    rows.append(["---"] * len(rows[0]))
    for folder in sorted((Path(__file__).parent / "searches").iterdir()):
        result = SearchResult.load(folder)
        config = result.config
        for row in result.simplest.to_dict("records"):
            path = result.simplified(row["rank"]).path
            rows.append(
                [
                    f'<a href="{folder.name}.html">{config.alpha}</a>',
                    f"{path.bottlenecks[0].mean_mbps:g} Mbit/s, {path.rtt_ms:g} ms",
                    result.describe_simplest(row["rank"]).partition(", ")[2],
                    config.maximised.quantity,
                    f"{row['absolute_harm']:.3f}",
                    f"{row['expected_harm']:.3f} ({config.beta})",
                ]
            )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def strategies_table() -> str:
    """Return the table of search strategies, from their descriptions."""
    rows = [["`--strategy`", "networks", "settings"], ["---"] * 3]
    for name in strategies.names():
        strategy = strategies.get(name)
        settings = ", ".join(f"`{setting.name}`" for setting in strategy.settings)
        rows.append([f"`{name}`", strategy.summary, settings or "-"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def schemes_table() -> str:
    """Return the table of data-centre schemes, from their descriptions."""
    rows = [f"| `{scheme.name}` | {scheme.summary} |" for scheme in schemes().values()]
    return "\n".join(["| `--scheme` | description |", "| --- | --- |", *rows])


def qdiscs_tables() -> str:
    """Return the table of Linux's qdiscs, and a section with the options of each."""
    lines = [
        "| qdisc | description | limit | drops at an arrival | marks |",
        "| --- | --- | --- | --- | --- |",
    ]
    for qdisc in QDISCS.values():
        limit = f"`{qdisc.limit}`" if qdisc.limit in qdisc.options else qdisc.limit
        marks = "yes" if qdisc.marks else "no"
        cells = (f"`{qdisc.name}`", qdisc.summary, limit, qdisc.drops.value, marks)
        lines.append(f"| {' | '.join(cells)} |")
    heads = ("| option | meaning | unit | values | default |", "| --- | --- | --- | --- | --- |")
    for qdisc in QDISCS.values():
        if qdisc.options:
            lines += ["", f"### {qdisc.name}", "", *heads]
        for name, option in qdisc.options.items():
            default = "required" if option.is_required else option.default
            shown = "-" if default is None else str(default)
            cells = (f"`{name}`", option.summary, option.unit or "-", option.allowed, shown)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def bibtex() -> str:
    """Return the BibTeX entries of ccbench and of the publications that it names."""
    entries = [_entry("ccbench", CITATION | {"notes": f"Version {CITATION['version']}"})]
    for reference in CITATION["references"]:
        first_word = re.findall("[a-z]+", reference["title"].lower().replace("the ", ""))[0]
        key = f"{reference['authors'][0]['family-names'].lower()}{reference.get('year', '')}"
        entries.append(_entry(f"{key}{first_word}", reference))
    return "\n".join(["```bibtex", "\n\n".join(entries), "```"])


def _entry(key: str, work: Mapping[str, Any]) -> str:
    """Return the BibTeX entry of a work in the terms of CITATION.cff."""
    kinds = {"thesis": "phdthesis", "conference-paper": "inproceedings", "software": "software"}
    authors = [
        f"{one['family-names']}, {one['given-names']}"
        if "family-names" in one
        else _exact(one["name"])
        for one in work["authors"]
    ]
    fields = {
        "author": " and ".join(authors),
        "title": _exact(work["title"]),
        "booktitle": work.get("collection-title"),
        "school": work.get("institution", {}).get("name"),
        "number": work.get("number"),
        "year": work.get("year") or str(work.get("date-released", ""))[:4],
        "doi": work.get("doi"),
        "url": work.get("repository-code"),
        "note": work["notes"] if work["type"] == "software" else None,
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kinds[work['type']]}{{{key},", *lines, "}"])


def _exact(text: str) -> str:
    """Return a text whose capitals BibTeX keeps."""
    return f"{{{text}}}"


def index(words: str) -> str:
    """Return the index entries of a place, which the site's search lists first."""
    return "\n".join(["```{index} ! " + words.replace(", ", ", ! "), "```"])


_GENERATED = {
    "bibtex": bibtex,
    "comparison": comparison_table,
    "engine pages": engine_pages,
    "engines": engines_table,
    "findings": findings_table,
    "index": index,
    "metrics": metrics_table,
    "qdiscs": qdiscs_tables,
    "schemes": schemes_table,
    "strategies": strategies_table,
}


def fill(app: Sphinx, page: str, source: list[str]) -> None:
    """Insert the generated parts and the repository; figures link to their vector versions."""
    folder = (Path(app.srcdir) / page).parent

    def linked(figure: re.Match[str]) -> str:
        vector = figure[1].replace(".png", ".svg")
        return f"[{figure[0]}]({vector})" if (folder / vector).exists() else figure[0]

    text = places.filled(source[0], _GENERATED)
    text = text.replace(UNKNOWN_REPOSITORY, CITATION["repository-code"])
    source[0] = re.sub(r"!\[[^\]]*\]\((\S+\.png)\)", linked, text)


#: Spaces after which a line must not break: before a unit, around a sign.
_NO_BREAK = re.compile(
    r"(?<=\d) (?=(%|[\u00b5\u03bcmn]?s|min|h|[kMGT]?bit/s|[kKMGT]?B|BDP|points|packets|:)(?!\w))"
    r"|(?<=±) (?=\d)|(?<=\d) (?=±)"
)
#: Hyphens before numbers, which mean minus.
_MINUS = re.compile(r"(?<![\w.–-])-(?=\d)")


def set_numbers(_app: Sphinx, document: nodes.document) -> None:
    """Keep numbers on one line with their units and intervals, and write minus signs."""
    for text in list(document.findall(nodes.Text)):
        if not isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.raw):
            spaced = _NO_BREAK.sub("\N{NO-BREAK SPACE}", text)
            text.parent.replace(text, nodes.Text(_MINUS.sub("\N{MINUS SIGN}", spaced)))


def with_index(app: Sphinx, *_: object) -> list[str]:
    """Return the pages with index entries, which Sphinx forgets unless it reads them again."""
    pages = app.project.docnames
    return [
        page for page in pages if "<!-- index: " in Path(app.env.doc2path(page)).read_text("utf-8")
    ]


def write_reports(app: Sphinx, error: Exception | None) -> None:
    """Write the report of each search in ``docs/searches`` next to the pages."""
    searches = Path(app.srcdir) / "searches"
    for folder in searches.glob("*") if app.config.with_reports and not error else ():
        with TemporaryDirectory() as temporary:
            page = Path(temporary) / f"{folder.name}.html"
            program = Path(sys.executable).with_name("ccbench")
            # In this folder, the report's commands name the search as the site does.
            command = [program, "report", folder.name, "-o", page, "--json"]
            subprocess.run(command, cwd=searches, check=True, capture_output=True)  # noqa: S603
            back = f'<nav><a href="index.html">{html_title}: documentation</a></nav>'
            text = page.read_text("utf-8").replace("<body>", f"<body>\n{back}", 1)
            (Path(app.outdir) / page.name).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Fill in the generated parts, and omit the methods that scikit-learn adds to estimators.

    These methods refer to pages of its own site.
    """
    app.connect(
        "autodoc-skip-member",
        lambda *event: True if re.fullmatch("set_.*_request", event[2]) else None,
    )
    app.connect("env-get-outdated", with_index)
    app.connect("source-read", fill)
    app.connect("doctree-read", set_numbers)
    app.add_config_value("with_reports", default=True, rebuild="")
    app.connect("build-finished", write_reports)
    app.add_lexer("sh", CommandLexer)
