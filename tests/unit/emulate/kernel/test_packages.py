# SPDX-License-Identifier: Apache-2.0
"""Download of the kernel's source from packages, with programs in the place of apt's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import InputError, MissingRequirement
from ccbench.emulate.kernel.source.packages import fetch, offered

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Programs = Callable[[str, str], None]

#: dpkg that unpacks a tarball.
DPKG = 'p=${2%%_*}; PATH=/bin:/usr/bin; mkdir -p usr/src && : >"usr/src/$p.tar.xz"'
#: apt-get that knows an archive and downloads any package.
GET = """
case $1 in
  indextargets) echo "Debian ftp://archive/debian/" ;;
  update) test ! -f no-network || { echo "E: no network" >&2; exit 100; } ;;
  download) : >"$2_6.x-1_all.deb" ;;
esac
"""


def apt_cache(own: str, **suites: str) -> str:
    """Return an apt-cache that lists packages of the machine's suites, and of some others."""
    listed = "".join(
        f"*'Suites: {suite}'*) names='{names}' ;;\n" for suite, names in suites.items()
    )
    return f"""
names='{own}'
if [ "$APT_CONFIG" ]; then
  names=
  case $(cat "${{APT_CONFIG%/*}}/ccbench.sources") in
  {listed}
  esac
fi
for name in $names; do echo "linux-source-$name - Linux kernel source"; done
"""


def offer(on_path: Programs, own: str, *, get: str = GET, **suites: str) -> None:
    """Install apt-cache, apt-get and dpkg that offer these kernels."""
    path = "PATH=/bin:/usr/bin\n"
    on_path("apt-cache", path + apt_cache(own, **suites))
    on_path("apt-get", path + get)
    on_path("dpkg", DPKG)


class TestOffered:
    def test_all_suites(self, on_path: Programs) -> None:
        """The supported releases of the machine's suites and of others are listed once, sorted."""
        offer(on_path, "6.12 6.1", trixie="6.12", sid="7.2 5.10", forky="7.10")
        assert offered(print) == ("6.1", "6.12", "7.2", "7.10")

    def test_without_network(self, on_path: Programs) -> None:
        """Suites whose lists cannot be read are left out."""
        get = GET.replace("test ! -f no-network", "false")
        offer(on_path, "6.1", get=get, sid="7.2")
        assert offered(print) == ("6.1",)


class TestDefault:
    def test_preferred(self, on_path: Programs, tmp_path: Path) -> None:
        """Linux 6.12 is preferred."""
        offer(on_path, "6.1 6.12 6.18")
        fetched = fetch(tmp_path, print)
        assert fetched == tmp_path / "linux-source-6.12_6.x-1_all.tar.xz"
        assert fetched.exists()

    def test_newest(self, on_path: Programs, tmp_path: Path) -> None:
        """Without 6.12 the newest kernel is chosen, in numerical order."""
        offer(on_path, "6.8.0 6.11.0 5.15.0")
        assert fetch(tmp_path, print).name.startswith("linux-source-6.11.0_")

    def test_kept(self, on_path: Programs, tmp_path: Path) -> None:
        """A downloaded kernel is not downloaded again."""
        offer(on_path, "6.12")
        first = fetch(tmp_path, print)
        offer(on_path, "6.12", get="exit 1")
        assert first == fetch(tmp_path, print)

    def test_preferred_beside_others(self, on_path: Programs, tmp_path: Path) -> None:
        """Linux 6.12 is preferred to another one that is downloaded, as far as it is offered."""
        offer(on_path, "6.1", sid="7.2")
        other = fetch(tmp_path, print, "7.2")
        assert fetch(tmp_path, print) == other
        offer(on_path, "6.1 6.12", sid="7.2")
        assert fetch(tmp_path, print).name.startswith("linux-source-6.12_")
        assert fetch(tmp_path, print, "7.2") == other

    def test_none(self, on_path: Programs, tmp_path: Path) -> None:
        """If apt has no such package, the error says how to update its lists."""
        offer(on_path, "5.10")
        with pytest.raises(MissingRequirement, match=r"sudo apt-get update.*--source DIR\|TARBALL"):
            fetch(tmp_path, print)

    def test_failure(self, on_path: Programs, tmp_path: Path) -> None:
        """If the download fails, the error repeats apt's message, and no files remain."""
        offer(on_path, "6.12", get="echo 'E: no network' >&2; exit 100")
        with pytest.raises(MissingRequirement, match="failed: E: no network;"):
            fetch(tmp_path, print)
        assert [] == list(tmp_path.glob(".download-*"))

    @pytest.mark.usefixtures("on_path")
    def test_no_apt(self, tmp_path: Path) -> None:
        """On a machine without apt, the error asks for a source."""
        with pytest.raises(MissingRequirement, match=r"no apt-cache;.*--source DIR\|TARBALL"):
            fetch(tmp_path, print)


class TestRelease:
    def test_own_suite(self, on_path: Programs, tmp_path: Path) -> None:
        """A release in the machine's package lists is downloaded from there."""
        offer(on_path, "6.1 6.12", get=GET.replace("test ! -f no-network", "false"))
        assert fetch(tmp_path, print, "6.1").name.startswith("linux-source-6.1_")

    def test_other_suite(self, on_path: Programs, tmp_path: Path) -> None:
        """Another release is found in another suite; only its tarball remains."""
        offer(on_path, "6.1 6.12", sid="7.2 7.3")
        before = set(tmp_path.iterdir())
        fetched = fetch(tmp_path, print, "7.3")
        assert fetched.name.startswith("linux-source-7.3_")
        assert {fetched} == set(tmp_path.iterdir()) - before

    def test_downloaded_another(self, on_path: Programs, tmp_path: Path) -> None:
        """The tarball of one release is not taken for another one."""
        offer(on_path, "6.1 6.12")
        assert fetch(tmp_path, print, "6.12") != fetch(tmp_path, print, "6.1")

    def test_nowhere(self, on_path: Programs, tmp_path: Path) -> None:
        """If no suite has the release, the error lists those that any has, in numerical order."""
        offer(on_path, "6.12 6.1", sid="7.2", forky="6.18")
        with pytest.raises(InputError, match=r"Debian has 6\.1, 6\.12, 6\.18, 7\.2: name"):
            fetch(tmp_path, print, "7.9")

    @pytest.mark.parametrize("release", ["99.9", "9.9", "6.99"])
    def test_impossible(self, on_path: Programs, tmp_path: Path, release: str) -> None:
        """A release that Linux cannot have yet is refused without a search, with those known."""
        offer(on_path, "6.12 6.1", get="exit 1")
        steps: list[str] = []
        with pytest.raises(InputError, match=r"such as 6\.1, 6\.12, 7\.3: .*kernel list --offered"):
            fetch(tmp_path, steps.append, release)
        assert steps == []

    def test_offline(self, on_path: Programs, tmp_path: Path) -> None:
        """Without a network, the error repeats apt's message and asks for a source."""
        offer(on_path, "6.12")
        (tmp_path / "no-network").touch()
        with pytest.raises(MissingRequirement, match=r"--source DIR\|TARBALL; .*E: no network"):
            fetch(tmp_path, print, "7.3")

    def test_no_lists(self, on_path: Programs, tmp_path: Path) -> None:
        """Without package lists, the error says how to get them."""
        offer(on_path, "", get=GET.replace("Debian ftp", "Other ftp"))
        with pytest.raises(MissingRequirement, match="sudo apt-get update"):
            fetch(tmp_path, print, "7.3")

    @pytest.mark.parametrize("release", ["5.15", "7", "7.3.4", "latest", ""])
    def test_no_release(self, tmp_path: Path, release: str) -> None:
        """Another text than a supported release is refused in one line."""
        with pytest.raises(InputError, match=r"^release is '.*'; it must be .* 6\.1 on: .*$"):
            fetch(tmp_path, print, release)
