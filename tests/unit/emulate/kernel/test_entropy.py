# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from ccbench.emulate.kernel.source import home
from tests.unit.emulate.kernel.conftest import write

if TYPE_CHECKING:
    from pathlib import Path


ENTROPY = """
#include <stdio.h>
#include <sys/types.h>
#include "entropy.h"

int main(int argc, char **argv)
{
	unsigned char bytes[64] = { 0 };

	for (int i = 1, used = 0; i < argc; i++)
		used += ccbench_getrandom(bytes + used, atoi(argv[i]), 0);
	fwrite(bytes, 1, sizeof(bytes), stdout);
	return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a program that draws as many bytes as its arguments say."""
    folder = tmp_path_factory.mktemp("entropy")
    warn = "static void os_warn(const char *text) { fputs(text, stderr); }\n"
    stream = (home.sources_dir() / "include" / "random_stream.h").read_text(encoding="utf-8")
    headers = {"os.h": f"#include <stdio.h>\n{warn}", "ccbench_random_stream.h": stream}
    write(folder, {**headers, "main.c": ENTROPY})
    include = [f"-I{folder}", f"-I{home.sources_dir() / 'um'}"]
    command = ["gcc", "-Wall", "-Werror", *include, "-o", "main", "main.c"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "main"


class TestEntropy:
    """kernel_modules/um/entropy.h, compiled as an ordinary program."""

    def draw(self, program: Path, *sizes: int, seed: str | None) -> bytes:
        """Return 64 bytes, the first of which are drawn in pieces of these sizes."""
        environment = {} if seed is None else {"CCBENCH_SEED": seed}
        command = [str(program), *map(str, sizes)]
        return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout

    def test_pieces(self, program: Path) -> None:
        """Any number of bytes can be drawn; each draw continues the previous one."""
        drawn = self.draw(program, 3, 8, 1, seed="1")
        assert drawn == self.draw(program, 3, 8, 1, seed="1")
        assert drawn[:3] != drawn[3:6]
        assert drawn[12:] == bytes(52)

    def test_seeds(self, program: Path) -> None:
        """Every seed yields different bytes, up to the largest seed."""
        seeds = ["0", "1", str(2**63 - 1)]
        assert len({self.draw(program, 32, seed=seed) for seed in seeds}) == len(seeds)

    def test_no_seed(self, program: Path) -> None:
        """Without a seed the bytes are the host's."""
        assert self.draw(program, 32, seed=None) != self.draw(program, 32, seed=None)

    @pytest.mark.parametrize("seed", ["", "abc", "1x"])
    def test_bad_seed(self, program: Path, seed: str) -> None:
        """A seed that is not a number is refused."""
        with pytest.raises(subprocess.CalledProcessError):
            self.draw(program, 8, seed=seed)
