# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import InputError
from ccbench.classify.web.target import Target, read_list

if TYPE_CHECKING:
    from pathlib import Path


class TestTarget:
    @pytest.mark.parametrize(
        ("name", "url"),
        [
            ("example.com", "https://example.com/"),
            ("EXAMPLE.com/A", "https://example.com/A"),
            ("example.com:8443", "https://example.com:8443/"),
            ("http://example.com", "http://example.com/"),
            ("https://example.com:443/a?b=c#d", "https://example.com/a?b=c"),
            ("192.0.2.7", "https://192.0.2.7/"),
            ("bücher.example", "https://xn--bcher-kva.example/"),
            ("example.com.", "https://example.com/"),
        ],
    )
    def test_url(self, name: str, url: str) -> None:
        """A host means its root over https; a URL is used as written."""
        assert url == Target.named(name).url

    @pytest.mark.parametrize(
        "name",
        [
            *("", "/", "https://", "a b", "-a.com", "a..b", "x" * 64 + ".com", "ftp://example.com"),
            *("user:secret@example.com", "https://[::1", "example.com:0", "example.com:99999"),
            *(
                "example.com/#\x1b[2J",
                "example.com:http",
                "example.com/ü",
                "https://example.com/a b",
                "--version",
            ),
        ],
    )
    def test_refused(self, name: str) -> None:
        """Anything but a host or a URL is refused in one line with an example."""
        with pytest.raises(InputError, match=r"^server is .*example\.com"):
            Target.named(name)

    def test_folder_name(self) -> None:
        """Different URLs have different folders, with safe names."""
        names = ["a.com", "http://a.com", "a.com/b", "a.com/b/", "a.com_b", "a.com/..", "a.com:81"]
        names += [f"a.com/{'x' * n}" for n in (300, 301)]
        folders = {Target.named(name).folder_name for name in names}
        assert len(folders) == len(names)
        assert not any("/" in name or name.startswith(".") or len(name) > 100 for name in folders)

    def test_list(self, tmp_path: Path) -> None:
        """A list has a server on each line, optionally with a group; comments are ignored."""
        file = tmp_path / "hosts"
        file.write_text("# own\na.com\n\nb.com/x#y, cdn  # CDN\n", encoding="utf-8")
        actual = [(target.name, target.group) for target in read_list(file)]
        assert actual == [("a.com", None), ("b.com/x#y", "cdn")]

    @pytest.mark.parametrize("text", ["", "# nobody", "a.com\nb c\n", "\xff"])
    def test_bad_list(self, tmp_path: Path, text: str) -> None:
        """A list without servers, or with an invalid line, is refused."""
        file = tmp_path / "hosts"
        file.write_bytes(text.encode("latin-1"))
        with pytest.raises(InputError):
            read_list(file)
