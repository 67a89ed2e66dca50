# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.cli._status import ExitStatus
from tests.unit.cli.conftest import assert_refused, ccbench

if TYPE_CHECKING:
    from pathlib import Path


class TestKernel:
    @pytest.mark.parametrize(
        ("option", "value"),
        [("hz", "0"), ("hz", "1e3"), ("hz", "99999"), ("jobs", "0"), ("jobs", "all")],
    )
    def test_bad_number(self, option: str, value: str) -> None:
        """HZ and the number of compilers are whole numbers within bounds."""
        assert_refused(ccbench("kernel", "build", f"--{option}={value}"), option, value)

    def test_missing_source(self, tmp_path: Path) -> None:
        """A missing source is named."""
        path = tmp_path / "linux.tar"
        assert_refused(ccbench("kernel", "build", "--source", path), "source", str(path))

    def test_source_is_no_kernel(self, tmp_path: Path) -> None:
        """A folder without a kernel is refused, after a line for each phase of the build."""
        folder = tmp_path / "empty"
        folder.mkdir()
        result = ccbench("kernel", "build", "--source", folder)
        assert_refused(result, "source", str(folder), phases=("unpacking the kernel's source",))

    def test_bad_patch(self, tmp_path: Path) -> None:
        """A missing patch, another file and a patch of an empty folder are refused."""
        path, folder = tmp_path / "my.patch", tmp_path / "empty"
        folder.mkdir()
        assert_refused(ccbench("kernel", "build", "--patch", path), "patch", "my.patch")
        path.write_text("#!/bin/sh\n")
        for words in (("--patch", path), ("--name", "own", "--patch", path)):
            assert_refused(ccbench("kernel", "build", *words), "my.patch is not a valid patch")
        path.write_text("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
        result = ccbench("kernel", "build", "--patch", path, "--source", folder)
        assert_refused(result, str(folder), "is not the source of a Linux kernel")

    @pytest.mark.parametrize(
        ("option", "value"), [("name", "6.12"), ("name", "a b"), ("config", "FOO=y")]
    )
    def test_bad_word(self, option: str, value: str) -> None:
        """Names of releases, and options that are not of the kernel, are refused."""
        assert_refused(ccbench("kernel", "build", f"--{option}={value}"), option, value)

    @pytest.mark.parametrize("options", [(), ("--json",)])
    def test_not_built(self, options: tuple[str, ...]) -> None:
        """Without a virtual kernel, info names the command that builds one, with status 1."""
        result = ccbench("kernel", "info", *options)
        assert_refused(result, "run: ccbench kernel build", status=ExitStatus.FAILED)

    @pytest.mark.parametrize("release", ["5.15", "7", "newest"])
    def test_no_release(self, release: str) -> None:
        """Another text than a supported release is refused."""
        assert_refused(ccbench("kernel", "build", release), "release", release, "6.1")

    def test_release_and_source(self, tmp_path: Path) -> None:
        """A release and a source together are refused."""
        assert_refused(ccbench("kernel", "build", "6.12", "--source", tmp_path), "give one of them")

    def test_use_of_none(self) -> None:
        """A release that is not built cannot be used; the error has the command that builds it."""
        assert_refused(ccbench("kernel", "use", "7.3"), "(none)", "ccbench kernel build 7.3")


class TestOfOneCommand:
    COMMANDS = (
        ("run", "examples/bbr-vs-cubic.toml"),
        ("harm", "--alpha=bbr", "--beta=cubic", "--bandwidth=10", "--rtt=40", "--queue=1bdp"),
        ("deployable", "--alpha=bbr", "--beta=cubic"),
        ("raygen", "--alpha=bbr", "--beta=cubic"),
        ("sweep", "examples/bbr-vs-cubic.toml", "--vary=rtt_ms=20,40"),
        ("classify", "examples"),
        ("classify-train", "-o", "new.parquet"),
        ("study", "run", "ware-3.2", "--quick"),
    )

    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
    def test_not_built(self, command: tuple[str, ...]) -> None:
        """A kernel that is not built is refused by each command that runs one."""
        assert_refused(ccbench(*command, "--kernel=5.4"), "kernel", "5.4", "ccbench kernel list")
