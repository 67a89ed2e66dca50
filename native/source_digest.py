# SPDX-License-Identifier: Apache-2.0
"""Writes a header with the digest of C++ sources: ``source_digest.py HEADER MACRO SOURCE...``.

The digest changes with the code, not with comments or white space.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

#: A comment; or what may look as if it had one, and stays.
_COMMENT_OR_LITERAL = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])')""", re.DOTALL
)


def without_comments(text: str) -> str:
    """Return C++ code without comments, with a space for all white space."""
    code = _COMMENT_OR_LITERAL.sub(lambda found: found.group(1) or " ", text)
    return " ".join(code.split())


def main(header: Path, macro: str, sources: list[Path]) -> None:
    """Write the header."""
    digest = hashlib.sha256()
    for source in sorted(sources, key=lambda path: path.name):
        code = without_comments(source.read_text(encoding="utf-8"))
        digest.update(f"{source.name} {code}\n".encode())
    header.write_text(f'#define {macro} "{digest.hexdigest()}"\n', encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], [Path(name) for name in sys.argv[3:]])
