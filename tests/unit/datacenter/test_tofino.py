# SPDX-License-Identifier: Apache-2.0
"""The P4 program of BFC for Tofino 2: sizes, and resources reported by the compiler."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from ccbench.base.errors import CcbenchError, InputError, MissingRequirement
from ccbench.cli._status import ExitStatus
from ccbench.cli.main import program as cli
from ccbench.datacenter.p4.sources import source_folder
from ccbench.datacenter.p4.tofino import FLOW_TABLE, Fit, compile_tofino, missing, read_fit

if TYPE_CHECKING:
    from pathlib import Path

BLOCK_BITS = 1024 * 128


class TestSources:
    """Resources that are known without a compiler."""

    def test_the_flow_table_of_a_pipe(self) -> None:
        """The table has 25 entries per queue of 4096 (3.4), of at most 400 KB/76,000 (3.6.2.1)."""
        sizes, registers = _registers()
        parts = [registers[name] for name in FLOW_TABLE]
        assert {entries for entries, _ in parts} == {sizes["FLOW_ENTRIES"]}
        assert sizes["FLOW_ENTRIES"] == 2 ** sizes["FLOW_INDEX_WIDTH"] >= 25 * 4096
        assert sum(width for _, width in parts) / 8 <= 400e3 / 76e3

    def test_the_flow_table_is_less_than_a_tenth_of_the_stateful_memory(self) -> None:
        """A pipe has 20 stages of 48 blocks of 16 KB with map RAM; each register a spare one."""
        _, registers = _registers()
        blocks = sum(
            -(-entries * width // BLOCK_BITS) + 1
            for name, (entries, width) in registers.items()
            if name in FLOW_TABLE
        )
        assert blocks < 20 * 48 / 10

    def test_the_pause_counter_is_small(self) -> None:
        """The pause counter takes little memory beside the flow table (3.3.3.2)."""
        _, registers = _registers()
        flows = sum(n * width for name, (n, width) in registers.items() if name in FLOW_TABLE)
        entries, width = registers["pause_counter"]
        assert entries * width < flows / 100


class TestSticky:
    """The table that decides whether a flow without packets keeps its queue."""

    @pytest.mark.parametrize(("age", "decision"), [(0, "keep"), (63, "keep"), (64, "reassign")])
    def test_the_sticky_time(self, age: int, decision: str) -> None:
        """A flow keeps its queue for 64 units of 64 ns, 2 HRTT of 2 microseconds."""
        assert _decision(age) == decision

    @pytest.mark.parametrize("age", [-1, -2, -64])
    def test_packets_that_overtook(self, age: int) -> None:
        """A packet processed after one with a later stamp joins its flow's queue."""
        assert _decision(age) == "keep"

    def test_ages_in_between(self) -> None:
        """A flow that is silent for longer is a new flow, until the clock wraps."""
        assert {_decision(age) for age in range(64, 2**16 - 64, 61)} == {"reassign"}


class TestFit:
    """Resources of a program, added up from the compiler's report."""

    def test_every_block_belongs_to_one_register(self, tmp_path: Path) -> None:
        """Each block is counted once for its register, and other uses are not counted."""
        fit = _fit(
            tmp_path,
            [
                _stage(0, {(0, 0): "pipe.flow_size", (0, 1): "pipe.flow_size"}),
                _stage(1, {(0, 0): "pipe.flow_size", (7, 5): "flow_queue"}, twice=True),
                _stage(2, {(3, 3): "pipe.packets"}, used_for="statistics_ram"),
            ],
        )
        assert fit.blocks == {"flow_queue": 1, "flow_size": 3}
        assert fit.sram_blocks == 5

    def test_shares_are_of_all_stages(self, tmp_path: Path) -> None:
        """Stages missing in the report have memory too; a register may appear twice."""
        copies = {(0, 1): "queue_cells", (0, 2): "queue_cells__gen_duplicate_ping_pong"}
        fit = _fit(tmp_path, [_stage(0, {(0, 0): "flow_size", **copies})], stages_available=2)
        assert fit.blocks == {"flow_size": 1, "queue_cells": 2}
        assert (fit.blocks_available, fit.sram_blocks_available) == (2 * 48, 2 * 80)
        assert fit.flow_table_share == pytest.approx(1 / 96)
        assert fit.stateful_share == pytest.approx(3 / 96)

    def test_stages_are_counted_to_the_last_that_has_a_table(self, tmp_path: Path) -> None:
        """Stages between tables pass packets on, and count."""
        stages = [_stage(number, {}, tables=number in {0, 2}) for number in range(4)]
        fit = _fit(tmp_path, stages)
        assert (fit.stages, fit.stages_available) == (3, 4)

    @pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"resources": {"mau": {}}}'])
    def test_other_files(self, tmp_path: Path, text: str | None) -> None:
        """A missing file, or one that is not the compiler's report, is named."""
        path = tmp_path / "resources.json"
        if text is not None:
            path.write_text(text)
        with pytest.raises(InputError, match=r"resources\.json is not"):
            read_fit(path)


class TestCompiler:
    def test_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without p4c the command names the required build option."""
        monkeypatch.setenv("PATH", "/nonexistent")
        result = CliRunner().invoke(cli, ["bfc", "p4", "compile", "--target", "tofino2"])
        assert result.exit_code == ExitStatus.FAILED
        assert "p4c is not installed" in result.output
        assert "ENABLE_TOFINO" in result.output

    def test_without_the_back_end(self, tmp_path: Path) -> None:
        """A p4c without the back end for Tofino 2 is detected before compilation."""
        compiler = _script(tmp_path, "echo bmv2-v1model")
        with pytest.raises(MissingRequirement, match="no back end for Tofino 2"):
            compile_tofino(source_folder(), tmp_path, compiler)

    def test_that_refuses(self, tmp_path: Path) -> None:
        """The compiler's first error is the message."""
        compiler = _script(
            tmp_path,
            'if [ "$1" = --target-help ]; then echo tofino2-t2na; exit 1; fi',
            "echo 'a.p4(1): warning: so'; echo 'a.p4(2): error: too many stages' >&2; exit 1",
        )
        with pytest.raises(CcbenchError, match=r"bfc_tofino2\.p4: a\.p4\(2\): error: too many"):
            compile_tofino(source_folder(), tmp_path, compiler)

    @pytest.mark.skipif(missing() is not None, reason=str(missing()))
    def test_the_program_fits(self, tmp_path: Path) -> None:
        """The program fits; the whole flow table takes less than 10 % of the memory (3.4).

        No register takes fewer blocks than hold its entries, and a pipe has at least the stages.
        """
        fit = compile_tofino(source_folder(), tmp_path)
        assert fit.stages <= fit.stages_available == 20
        assert fit.flow_table_share < 0.1
        _, registers = _registers()
        for name, (entries, width) in registers.items():
            assert fit.blocks[name] * BLOCK_BITS >= entries * width
        assert sum(fit.blocks.values()) <= fit.sram_blocks <= fit.sram_blocks_available


def _registers() -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
    """Return the sizes and, of each register, its entries and their width in bits."""
    folder = source_folder() / "tofino2"
    text = "".join(path.read_text() for path in sorted(folder.glob("*.p4")))
    sizes = {name: int(n) for name, n in re.findall(r"^#define (\w+) (\d+)", text, re.MULTILINE)}
    types = re.findall(r"^typedef bit<(\w+)> (\w+);", text, re.MULTILINE)
    widths = {name: int(width) for width, name in types if width.isdigit()}
    declared = re.findall(r"^Register<([\w<>]+), \w+>\((\w+)\) (\w+);", text, re.MULTILINE)
    return sizes, {
        name: (
            int(n) if n.isdigit() else sizes[n],
            widths[kind] if kind in widths else int(kind[4:-1]),
        )
        for kind, n, name in declared
    }


def _decision(age: int) -> str:
    """Return the program's decision for a flow of this age without packets in the switch."""
    folder = source_folder() / "tofino2"
    sizes = (folder / "sizes.p4").read_text()
    constants = {
        name: int(number, 16)
        for name, number in re.findall(r"^const clock_t (\w+) = (0x\w+);", sizes, re.MULTILINE)
    }
    entries = re.findall(r"\(0, 1, (.*)\) : (\w+)\(\);", (folder / "flow_table.p4").read_text())
    for key, decision in entries:
        value, _, mask = key.partition(" &&& ")
        wanted = constants.get(value, 0)
        if key == "_" or age & constants[mask] == wanted & constants[mask]:
            return str(decision)
    raise AssertionError(f"no entry for an age of {age}")


def _stage(
    number: int,
    map_rams: dict[tuple[int, int], str],
    *,
    used_for: str = "stateful_ram",
    twice: bool = False,
    tables: bool = True,
) -> dict[str, Any]:
    """Return a stage of a report: the users of map RAM by row and unit, and of its SRAM."""
    units = [
        (place, [{"used_by": name, "used_for": used_for}]) for place, name in map_rams.items()
    ] * (2 if twice else 1)
    return {
        "stage_number": number,
        "logical_tables": {"size": 16, "ids": [{"id": 0, "table_name": "t"}] if tables else []},
        "rams": {
            "nRows": 8,
            "nColumns": 10,
            "srams": [
                {"row": row, "column": unit + 4, "usages": uses} for (row, unit), uses in units
            ],
        },
        "map_rams": {
            "nRows": 8,
            "nUnits": 6,
            "maprams": [
                {"row": row, "unit_id": unit, "usages": uses} for (row, unit), uses in units
            ],
        },
    }


def _fit(folder: Path, stages: list[dict[str, Any]], *, stages_available: int | None = None) -> Fit:
    path = folder / "resources.json"
    mau = {"nStages": stages_available or len(stages), "mau_stages": stages}
    path.write_text(json.dumps({"resources": {"mau": mau}}))
    return read_fit(path)


def _script(folder: Path, *lines: str) -> str:
    path = folder / "p4c"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return str(path)
