# SPDX-License-Identifier: Apache-2.0
"""Formats that guest and host share."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from ccbench.emulate.kernel.boot import shared
from ccbench.emulate.kernel.source.home import HEADERS, sources_dir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np


def test_layout(tmp_path: Path) -> None:
    """Fields, structures and constants have the places, sizes and values of a compiler."""
    expected = {name: shared.constant(name) for name in shared.constants()}
    code = [f'print("{name}", CCBENCH_{name});' for name in expected]
    for name in shared.structures():
        struct = f"struct ccbench_{name}"
        dtype = shared.structure(name)
        expected[name] = dtype.itemsize
        code.append(f'print("{name}", sizeof({struct}));')
        for field, offset in _fields(dtype):
            expected[f"{name}.{field}"] = offset
            place = f"offsetof({struct}, {field})"
            if (name, field) == ("queue_record", "event"):  # its bits have no address
                place = f"offsetof({struct}, bottleneck) - 1"
            code.append(f'print("{name}.{field}", {place});')
    source = tmp_path / "layout.c"
    source.write_text(
        '#include <stddef.h>\n#include <stdio.h>\n#include "ccbench.h"\n'
        "static void print(const char *name, long value)\n"
        '{ printf("%s %ld\\n", name, value); }\n'
        "int main(void) {\n" + "\n".join(code) + "\nreturn 0; }\n"
    )
    program = tmp_path / "layout"
    command = ["gcc", "-Wall", "-Werror", f"-I{sources_dir() / HEADERS}", "-o"]
    subprocess.run([*command, str(program), str(source)], check=True)
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    actual = {name: int(value) for name, value in map(str.split, output.splitlines())}
    assert expected == actual
    assert len(shared.structures()) == 28
    assert sum(len([*_fields(shared.structure(name))]) for name in shared.structures()) > 200


def _fields(dtype: np.dtype[np.void]) -> Iterator[tuple[str, int]]:
    """Yield the fields of a structure with their offsets, also those of structures in it."""
    assert dtype.fields is not None
    for name, (kind, offset, *_) in dtype.fields.items():
        yield name, offset
        is_array = kind.subdtype is not None
        for inner, at in _fields(kind.base) if kind.base.fields else ():
            yield f"{name}{'[0]' if is_array else ''}.{inner}", offset + at
