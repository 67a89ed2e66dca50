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

    ccbench includes the compiled program. p4c is only needed to compile it again, and BMv2 to run
    it on a software switch; p4lang packages both for Ubuntu and Debian.
    """


@p4.command(name="compile")
@click.option(
    "--target",
    type=click.Choice(["v1model", "tofino2"]),
    default="v1model",
    show_default=True,
    help="Target architecture: v1model (BMv2) or Tofino 2.",
)
@click.option(
    "--p4c",
    "compiler",
    metavar="PROGRAM",
    help="Compiler: p4c, or p4c-bm2-ss for v1model; by default the installed one.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="For v1model, the JSON file to write, by default the one that ccbench includes; for "
    "tofino2, a folder for all output of the compiler, by default none.",
)
@json_option
def compile_(*, target: str, compiler: str | None, output: Path | None, as_json: bool) -> None:
    """Compile p4/bfc.p4 for BMv2, or p4/bfc_tofino2.p4 for Tofino 2.

    For Tofino 2, the program is also assembled, and the command prints its use of a pipe: stages
    and stateful memory, of which the flow table takes less than 10 % in the thesis. This needs p4c
    with its Tofino back end (-DENABLE_TOFINO=ON).
    """
    if target == "tofino2":
        _compile_for_tofino(compiler, output, as_json=as_json)
        return
    from ccbench.base.durable import new_file
    from ccbench.datacenter.p4 import sources

    folder = sources.source_folder()
    compiled = sources.compile_program(folder, compiler)
    if output is None:
        sources.store_compiled(compiled, folder)
    else:
        with new_file(output) as path:
            path.write_text(compiled, encoding="utf-8")
    if as_json:
        print_json({"source": folder / "bfc.p4", "made": output or sources.COMPILED})
    else:
        click.echo(f"{folder / 'bfc.p4'} -> {output or sources.COMPILED}")


def _compile_for_tofino(compiler: str | None, output: Path | None, *, as_json: bool) -> None:
    import tempfile
    from dataclasses import asdict

    from ccbench.datacenter.p4.sources import source_folder
    from ccbench.datacenter.p4.tofino import FLOW_TABLE, compile_tofino

    with tempfile.TemporaryDirectory() as scratch:
        fit = compile_tofino(source_folder(), output or Path(scratch), compiler)
    if as_json:
        shares = {
            "flow_table_share": fit.flow_table_share,
            "stateful_share": fit.stateful_share,
        }
        print_json({**asdict(fit), **shares})
        return

    def share(blocks: int) -> str:
        return f"{blocks / fit.blocks_available:.2%}"

    flow_table = sum(fit.blocks.get(name, 0) for name in FLOW_TABLE)
    rows = [(name, str(blocks), share(blocks)) for name, blocks in fit.blocks.items()]
    rows += [
        ("the flow table", str(flow_table), share(flow_table)),
        ("all registers", str(sum(fit.blocks.values())), f"{fit.stateful_share:.2%}"),
    ]
    print_table(
        ["register", "blocks", f"of {fit.blocks_available}"],
        rows,
        title=f"{fit.stages} of {fit.stages_available} stages, "
        f"{fit.sram_blocks} of {fit.sram_blocks_available} blocks of SRAM; stateful memory:",
    )


_random_option = click.option(
    "--random",
    "count",
    type=click.IntRange(0, 10_000),
    default=8,
    show_default=True,
    help="Number of random scenarios, in addition to the handwritten ones.",
)
_seed_option = click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Seed of the random scenarios.",
)


@p4.command()
@_random_option
@_seed_option
@json_option
def test(*, count: int, seed: int, as_json: bool) -> ExitStatus:
    """Check the program with test vectors: packets in, decisions out.

    ccbench's own interpreter executes it. Handwritten scenarios check the rules of the thesis;
    random scenarios compare the program with the reference switch.
    """
    from ccbench.datacenter.p4.implementation import Interpreted
    from ccbench.datacenter.p4.sources import load_compiled
    from ccbench.datacenter.vectors import check, random_scenarios, rules

    program = load_compiled()
    return _show(
        {
            scenario.name: check(scenario, Interpreted(program, scenario.settings))
            for scenario in (*rules(), *random_scenarios(count, seed=seed))
        },
        as_json=as_json,
    )


@p4.command(short_help="Check the program on BMv2's simple_switch.")
@_random_option
@click.option(
    "--paced",
    type=click.IntRange(0, 1000),
    default=1,
    show_default=True,
    help="Number of scenarios in real time, of about 10 s each.",
)
@click.option(
    "--load",
    "loads_per_s",
    type=click.IntRange(1, 100_000),
    multiple=True,
    default=(600, 1500),
    show_default=True,
    help="Packet rate per second at which flows must keep their queues; may be repeated.",
)
@_seed_option
@json_option
def run(
    *, count: int, paced: int, loads_per_s: tuple[int, ...], seed: int, as_json: bool
) -> ExitStatus:
    """Check the program with test vectors on BMv2's simple_switch.

    It needs root and BMv2. The switch and its interfaces run in their own namespaces.

    The scenarios of `ccbench bfc p4 test` run step by step: the driver holds the packets and sets
    the clock. ccbench's interpreter runs the same steps as BMv2; both must send the same bytes and
    end with the same registers. Paced scenarios use BMv2's own queues and clock, each queue at a
    constant rate. Loads of 6 s each and the loss of recirculated headers follow.
    """
    from ccbench.datacenter.p4.bmv2 import check_all
    from ccbench.datacenter.p4.paced import paced_scenarios
    from ccbench.datacenter.vectors import random_scenarios, rules

    stepped = (*rules(), *random_scenarios(count, seed=seed))
    wrong = check_all(stepped, paced_scenarios(paced, seed=seed), loads_per_s)
    return _show(wrong, as_json=as_json)


@p4.command(short_help="Run two switches in a closed loop.")
@click.option("--bmv2", is_flag=True, help="Run on BMv2's simple_switch in real time, as root.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 3600),
    default=3.0,
    show_default=True,
    help="Time during which hosts send.",
)
@click.option("--ignore-pauses", is_flag=True, help="Record pauses without obeying them.")
@click.option(
    "--topology",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of topology.json; by default p4/loop.",
)
@json_option
def loop(
    *, bmv2: bool, seconds: float, ignore_pauses: bool, folder: Path | None, as_json: bool
) -> ExitStatus:
    """Run two switches in a closed loop, in which one pauses single queues of the other.

    Two hosts send through both switches, one of them to a slow link. BFC must pause only the queue
    of this flow, in the first switch and in the host. The switches run in ccbench's interpreter in
    virtual time, or on BMv2 in their own namespaces. p4/README.md describes the network.
    """
    from dataclasses import asdict

    from ccbench.datacenter.p4.loop import faults, load_topology, run_interpreted, run_on_bmv2
    from ccbench.datacenter.p4.sources import load_compiled, source_folder

    folder = folder or source_folder() / "loop"
    if bmv2:
        result = run_on_bmv2(folder, seconds, stops=not ignore_pauses)
    else:
        topology = load_topology(folder)
        result = run_interpreted(load_compiled(), topology, seconds, stops=not ignore_pauses)
    wrong = faults(result)
    if as_json:
        print_json({**asdict(result), "faults": wrong})
        return ExitStatus.FAILED if wrong else ExitStatus.OK
    print_table(
        ["flow", "packets", "missing", "Mbit/s", "of"],
        [
            (
                f"{flow.sender} to {flow.receiver}",
                str(flow.sent),
                str(flow.sent - flow.delivered),
                f"{flow.rate_mbps:.2f}",
                f"{flow.fair_mbps:g}",
            )
            for flow in result.flows
        ],
    )
    click.echo()
    print_table(
        ["queue", "threshold, bytes", "longest, bytes", "pauses", "paused, s"],
        [
            (
                f"{queue.switch} port {queue.port} queue {queue.queue}",
                str(queue.threshold_bytes),
                str(queue.longest_bytes),
                str(queue.pauses),
                f"{queue.paused_s:.2f}",
            )
            for queue in result.queues
            if queue.longest_bytes
        ],
    )
    for fault in wrong:
        click.echo(f"wrong: {fault}")
    return ExitStatus.FAILED if wrong else ExitStatus.OK


def _show(wrong: dict[str, str | None], *, as_json: bool) -> ExitStatus:
    if as_json:
        print_json({"scenarios": wrong})
    else:
        rows = [(name, "right" if fault is None else fault) for name, fault in wrong.items()]
        print_table(["scenario", "answers"], rows)
    return ExitStatus.FAILED if any(wrong.values()) else ExitStatus.OK
