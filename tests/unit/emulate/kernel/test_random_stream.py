# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from ccbench.emulate.kernel.source import home
from tests.unit.emulate.kernel.conftest import write

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

#: Draws of several streams whose labels differ in one part, which counts from 0.
DRAWS = """
#include <stdio.h>
#include <stdlib.h>
#include "random_stream.h"

int main(int argc, char **argv)
{
	unsigned int streams = atoi(argv[2]), draws = atoi(argv[3]), i, j;

	for (i = 0; i < streams; i++) {
		struct random_stream stream;

		switch (*argv[1]) {
		case 's': stream = random_stream(i, RANDOM_LOSS, 0, 0); break;
		case 'p': stream = random_stream(1, i, 0, 0); break;
		case 'b': stream = random_stream(1, RANDOM_LOSS, i, 0); break;
		case 'f': stream = random_stream(1, RANDOM_LOSS, 0, i); break;
		case 'x': stream = random_stream(i, RANDOM_LOSS, 0, 0);
			for (j = 0; j < draws; j++) {
				double value = random_exponential(&stream) * 0x1p-32;

				fwrite(&value, sizeof(value), 1, stdout);
			}
			continue;
		default: stream.state = i;
		}
		for (j = 0; j < draws; j++) {
			unsigned long long word = random_u64(&stream);

			fwrite(&word, sizeof(word), 1, stdout);
		}
	}
	return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a program that prints the draws of streams."""
    folder = tmp_path_factory.mktemp("streams")
    write(folder, {"main.c": DRAWS})
    include = f"-I{home.sources_dir() / 'include'}"
    command = ["gcc", "-O2", "-Wall", "-Werror", include, "-o", "main", "main.c"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "main"


def draws(program: Path, part: str, streams: int, count: int) -> npt.NDArray[np.uint64]:
    """Return the draws of streams, a row for each."""
    command = [str(program), part, str(streams), str(count)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return np.frombuffer(output, "u8").reshape(streams, count)


class TestRandomStream:
    """kernel_modules/include/random_stream.h, compiled as an ordinary program."""

    def test_generator(self, program: Path) -> None:
        """From state 0, the first numbers are the published ones of splitmix64."""
        first = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
        assert draws(program, "raw", 1, 3)[0].tolist() == first

    @pytest.mark.parametrize("part", ["seed", "purpose", "bottleneck", "flow"])
    def test_neighbours(self, program: Path, part: str) -> None:
        """Streams whose labels differ by 1 are uniform and uncorrelated at each of the first draws.

        2,000 consecutive labels, 50 draws of each, as used for loss: Kolmogorov-Smirnov at each
        draw, and the correlation of each with its neighbour; Bonferroni over the draws.
        """
        uniform = draws(program, part, 2000, 50).astype(float) / 2**64
        worst = min(stats.kstest(uniform[:, i], "uniform").pvalue for i in range(50))
        assert worst > 1e-3 / 50
        correlation = [np.corrcoef(uniform[:-1, i], uniform[1:, i])[0, 1] for i in range(50)]
        assert np.abs(correlation).max() < 5 / np.sqrt(1999)

    def test_bits(self, program: Path) -> None:
        """Consecutive seeds differ in half of the bits of every draw."""
        words = draws(program, "seed", 2000, 50)
        different = np.unpackbits((words[:-1] ^ words[1:]).view(np.uint8)).mean()
        assert abs(different - 0.5) < 5 * 0.5 / np.sqrt(1999 * 50 * 64)

    def test_exponential(self, program: Path) -> None:
        """Gaps of a Poisson process are exponential with mean 1, over seeds and within one."""
        gaps = draws(program, "x", 200, 200).view(float)
        assert stats.kstest(gaps.ravel(), "expon").pvalue > 1e-3
        assert stats.kstest(gaps[:, 0], "expon").pvalue > 1e-3
