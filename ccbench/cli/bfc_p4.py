# SPDX-License-Identifier: Apache-2.0
"""``ccbench bfc p4``."""

from __future__ import annotations

from pathlib import Path

import click

from ccbench.cli._console import print_json, print_table
from ccbench.cli._options import json_option
from ccbench.cli._status import ExitStatus

__all__ = ["p4"]


@click.group()
def p4() -> None:
    """Compile, run and test the BFC switch as a P4 program.

    ccbench carries the compiled program; p4c and BMv2, which p4lang packages for Ubuntu and Debian,
    are needed only to compile it again and to run it on a real software switch.
    """


@p4.command(name="compile")
@click.option(
    "--p4c",
    "compiler",
    metavar="PROGRAM",
    help="The compiler, p4c or p4c-bm2-ss; by default the one that is installed.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the JSON there; by default it replaces the one that ccbench carries.",
)
def compile_(*, compiler: str | None, output: Path | None) -> None:
    """Compile p4/bfc.p4 for BMv2."""
    from ccbench._atomic import new_file
    from ccbench.bfc.p4 import sources

    folder = sources.source_folder()
    made = sources.compile_program(folder, compiler)
    if output is None:
        sources.store_compiled(made, folder)
    else:
        with new_file(output) as path:
            path.write_text(made, encoding="utf-8")
    click.echo(f"{folder / 'bfc.p4'} -> {output or sources.COMPILED}")


_random_option = click.option(
    "--random",
    "count",
    type=click.IntRange(0, 10_000),
    default=8,
    show_default=True,
    help="Scenarios made by chance, beside those written by hand.",
)
_seed_option = click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Which scenarios."
)


@p4.command()
@_random_option
@_seed_option
@json_option
def test(*, count: int, seed: int, as_json: bool) -> ExitStatus:
    """Put the program to the test vectors: packets in, decisions out.

    ccbench's own interpreter executes it. The scenarios written by hand hold the thesis's rules;
    what chance makes is answered by the reference switch.
    """
    from ccbench.bfc.p4.form import Interpreted
    from ccbench.bfc.p4.sources import load_compiled
    from ccbench.bfc.vectors import check, random_scenarios, rules

    program = load_compiled()
    return _show(
        {
            scenario.name: check(scenario, Interpreted(program, scenario.settings))
            for scenario in (*rules(), *random_scenarios(count, seed=seed))
        },
        as_json=as_json,
    )


@p4.command(short_help="Run it on BMv2's simple_switch, and test it there.")
@_random_option
@click.option(
    "--paced",
    type=click.IntRange(0, 1000),
    default=1,
    show_default=True,
    help="Scenarios in real time, of some 10 s each.",
)
@_seed_option
@json_option
def run(*, count: int, paced: int, seed: int, as_json: bool) -> ExitStatus:
    """Run the program on BMv2's simple_switch and put it to the test vectors there.

    It needs root and BMv2. The switch and its interfaces are in namespaces of their own.

    The scenarios of `ccbench bfc p4 test` go step by step: the driver keeps the packets and sets
    the clock. ccbench's interpreter runs beside BMv2; both must send the same bytes, and end with
    the same registers. In paced scenarios BMv2's own queues and clock are at work, each queue at a
    steady rate.
    """
    from ccbench.bfc.p4.bmv2 import check_all
    from ccbench.bfc.p4.paced import paced_scenarios
    from ccbench.bfc.vectors import random_scenarios, rules

    stepped = (*rules(), *random_scenarios(count, seed=seed))
    return _show(check_all(stepped, paced_scenarios(paced, seed=seed)), as_json=as_json)


def _show(wrong: dict[str, str | None], *, as_json: bool) -> ExitStatus:
    if as_json:
        print_json({"scenarios": wrong})
    else:
        rows = [(name, "right" if fault is None else fault) for name, fault in wrong.items()]
        print_table(["scenario", "answers"], rows)
    return ExitStatus.FAILED if any(wrong.values()) else ExitStatus.OK
