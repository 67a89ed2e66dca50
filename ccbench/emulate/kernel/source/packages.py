# SPDX-License-Identifier: Apache-2.0
"""Linux's source from the packages of Debian and Ubuntu.

The packages ``linux-source-*`` are downloaded, not installed. apt verifies their signatures. If the
machine's package lists lack a release, other suites of the same archive are read with settings and
lists of their own, in a temporary folder. The machine's settings do not change, and root is not
required.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import durable, validation
from ccbench.base.errors import InputError, MissingRequirement
from ccbench.emulate.kernel import releases
from ccbench.emulate.kernel.source.linux import NAME_A_SOURCE, OLDEST, message_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["downloaded", "fetch", "offered", "package_of"]

_PREFERRED_RELEASE = "6.12"
_PACKAGE = re.compile(r"linux-source-(\d+\.\d+)(?:\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class _Archive:
    """An archive of packages: the file of its keys, and suites with other kernels."""

    keys: str
    suites: tuple[str, ...]


#: By the label of the archive. The small suites come first.
_ARCHIVES = {
    "Debian": _Archive(
        keys="/usr/share/keyrings/debian-archive-keyring.gpg",
        suites=("trixie-backports", "bookworm", "trixie", "forky", "sid"),
    ),
    "Ubuntu": _Archive(keys="/usr/share/keyrings/ubuntu-archive-keyring.gpg", suites=("devel",)),
}


def fetch(directory: Path, report: Callable[[str], None], release: str | None = None) -> Path:
    """Return a tarball of the kernel's source, downloaded as a package if there is none yet.

    Parameters
    ----------
    directory : Path
        Folder of downloaded tarballs, which are named after package and version.
    report : callable
        Called with the current step if it takes long.
    release : str, optional
        Such as ``"7.3"``. By default 6.12 if it is downloaded or in the machine's package lists,
        else the newest from 6.1 on of those downloaded, or of the lists.

    Raises
    ------
    InputError
        If `release` is not the name of a release, or too old, or there is no such package.
    MissingRequirement
        If the machine has no apt, or apt cannot read or download packages.
    """
    if tarball := downloaded(directory, release):
        return tarball
    wanted = release or _PREFERRED_RELEASE
    tarballs = _tarballs(directory)
    other = _choose(tarballs, None) if release is None else None
    if other is None:
        _require_apt()
    listed = _listed(directory, {}) if shutil.which("apt-cache") else []
    if package := _choose(listed, wanted):
        return _downloaded(package, directory, {}, report)
    if other is not None:
        return tarballs[other]
    if package := _choose(listed, release):
        return _downloaded(package, directory, {}, report)
    if release is None:
        raise MissingRequirement(
            "apt has no package with the source of Linux 6.1 or newer: "
            f"sudo apt-get update, then try again, or {NAME_A_SOURCE}"
        )
    return _from_other_suites(release, listed, directory, report)


def downloaded(directory: Path, release: str | None = None) -> Path | None:
    """Return the tarball that :func:`fetch` returns without looking for packages, if any.

    Raises
    ------
    InputError
        If `release` is not the name of a release, or too old, or cannot exist.
    """
    if release is not None:
        _check(release)
    tarballs = _tarballs(directory)
    if package := _choose(tarballs, release or _PREFERRED_RELEASE):
        return tarballs[package]
    if release is not None and not releases.is_possible(release):
        raise _no_such(release, directory)
    return None


def package_of(tarball: str) -> str:
    """Return the package of the name of a downloaded tarball; empty for another name.

    Examples
    --------
    >>> package_of("linux-source-6.12_6.12.48-1_all.tar.xz"), package_of("linux-6.12.tar.xz")
    ('linux-source-6.12', '')
    """
    package = tarball.partition("_")[0]
    return package if _PACKAGE.fullmatch(package) else ""


def _tarballs(directory: Path) -> dict[str, Path]:
    return {path.name.split("_")[0]: path for path in directory.glob("linux-source-*.tar.*")}


def offered(report: Callable[[str], None]) -> tuple[str, ...]:
    """Return the releases of Linux from 6.1 on whose source the distribution has, oldest first.

    Parameters
    ----------
    report : callable
        As in :func:`fetch`.

    Raises
    ------
    MissingRequirement
        If the machine has no apt, or apt has no package lists.
    """
    _require_apt()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        packages = set(_listed(directory, {}))
        label, address = _archive(directory)
        for suite in _ARCHIVES[label].suites:
            report(f"reading the packages of {label} {suite}")
            with (
                suppress(MissingRequirement),
                _updated(directory, label, address, suite) as settings,
            ):
                packages.update(_listed(directory, settings))
    return tuple(sorted({*_releases(packages).values()}, key=releases.numbers))


def _require_apt() -> None:
    for program in ("apt-cache", "apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise MissingRequirement(
                f"the kernel's source cannot be downloaded, as this machine has no {program}; "
                f"{NAME_A_SOURCE}"
            )


def _check(release: str) -> None:
    if not re.fullmatch(r"\d+\.\d+", release) or releases.numbers(release) < OLDEST:
        allowed = "the first two numbers of a kernel from 6.1 on"
        raise validation.bad("release", release, allowed, "write for example 6.12")


def _from_other_suites(
    release: str, listed: Iterable[str], directory: Path, report: Callable[[str], None]
) -> Path:
    """Download a package from a suite that the machine does not use."""
    known, message = set(listed), ""
    label, address = _archive(directory)
    for suite in _ARCHIVES[label].suites:
        report(f"looking for linux-source-{release} in {label} {suite}")
        try:
            with _updated(directory, label, address, suite) as settings:
                found = _listed(directory, settings)
                if package := _choose(found, release):
                    return _downloaded(package, directory, settings, report)
                known.update(found)
        except MissingRequirement as error:  # for example no such suite in a partial copy
            message = f"; {error}"
    names = ", ".join(sorted({*_releases(known).values()}, key=releases.numbers)) or "none"
    problem = f"there is no package with the source of Linux {release}; {label} has {names}: name"
    step = f"one of these, or {NAME_A_SOURCE}{message}"
    raise (MissingRequirement if message else InputError)(f"{problem} {step}")


def _no_such(release: str, directory: Path) -> InputError:
    """Return the error for a release that cannot exist, with those known without a download."""
    listed = _listed(durable.existing(directory), {}) if shutil.which("apt-cache") else []
    known = {*_releases([*listed, *_tarballs(directory)]).values(), releases.NEWEST_TESTED}
    names = ", ".join(sorted(known, key=releases.numbers))
    step = f"list all with `ccbench kernel list --offered`, or {NAME_A_SOURCE}"
    return validation.bad("release", release, f"a release of Linux, such as {names}", step)


@contextmanager
def _updated(directory: Path, label: str, address: str, suite: str) -> Iterator[dict[str, str]]:
    """Give the environment in which apt uses one suite of an archive, with current lists.

    Raises
    ------
    MissingRequirement
        If the lists cannot be downloaded.
    """
    with tempfile.TemporaryDirectory(dir=directory, prefix=".download-") as name:
        settings = _settings(Path(name), label, address, suite)
        _output(["apt-get", "update"], directory, settings)
        yield settings


def _archive(directory: Path) -> tuple[str, str]:
    """Return the label and the address of the machine's archive."""
    fields = ["--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"]
    for target in _output(["apt-get", "indextargets", *fields], directory).splitlines():
        label, _, address = target.partition(" ")
        if label in _ARCHIVES:
            return label, address
    raise MissingRequirement(
        "apt has package lists of neither Debian nor Ubuntu: sudo apt-get update, then try again, "
        f"or {NAME_A_SOURCE}"
    )


def _settings(folder: Path, label: str, address: str, suite: str) -> dict[str, str]:
    """Return the environment in which apt uses one suite of an archive, and keeps its files."""
    for name in ("lists/partial", "archives/partial"):
        (folder / name).mkdir(parents=True)
    sources = folder / "ccbench.sources"
    sources.write_text(
        f"Types: deb\nURIs: {address}\nSuites: {suite}\nComponents: main\n"
        f"Signed-By: {_ARCHIVES[label].keys}\n",
        encoding="utf-8",
    )
    options = {
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder,
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "/dev/null",
        "Acquire::Languages": "none",
        # As root, apt otherwise downloads as a user that cannot write to this folder.
        "APT::Sandbox::User": "root",
    }
    config = folder / "apt.conf"
    lines = (f'{name} "{value}";\n' for name, value in options.items())
    config.write_text("".join(lines), encoding="utf-8")
    return {"APT_CONFIG": str(config)}


def _listed(directory: Path, settings: dict[str, str]) -> list[str]:
    """Return the packages of kernel sources that apt knows."""
    search = ["apt-cache", "--names-only", "search", "^linux-source-[0-9.]+$"]
    lines = _output(search, directory, settings).splitlines()
    return [line.split()[0] for line in lines if line]


def _downloaded(
    package: str, directory: Path, settings: dict[str, str], report: Callable[[str], None]
) -> Path:
    """Download a package and return its tarball."""
    report(f"downloading {package}")
    with tempfile.TemporaryDirectory(dir=directory, prefix=".download-") as name:
        work = Path(name)
        _output(["apt-get", "download", package], work, settings)
        (deb,) = work.glob("*.deb")
        _output(["dpkg", "-x", deb.name, "."], work)
        tarballs = [path for path in work.rglob("linux-source-*.tar.*") if not path.is_symlink()]
        if len(tarballs) != 1:
            raise MissingRequirement(f"there is no tarball in package {package}; {NAME_A_SOURCE}")
        compression = tarballs[0].suffix
        return tarballs[0].rename(directory / f"{deb.stem}.tar{compression}")


def _choose(packages: Iterable[str], release: str | None) -> str | None:
    """Return the package of a release, or the preferred or newest supported one; None if none."""
    by_release = {release: package for package, release in _releases(packages).items()}
    if release is not None:
        return by_release.get(release)
    newest = max(by_release, key=releases.numbers, default="")
    return by_release.get(_PREFERRED_RELEASE, by_release.get(newest))


def _releases(packages: Iterable[str]) -> dict[str, str]:
    """Return the releases of the packages of supported sources."""
    return {
        package: match[1]
        for package in packages
        if (match := _PACKAGE.fullmatch(package)) and releases.numbers(match[1]) >= OLDEST
    }


def _output(arguments: list[str], directory: Path, settings: dict[str, str] | None = None) -> str:
    """Run one of apt's programs in a folder and return its output."""
    try:
        return subprocess.run(
            arguments,
            cwd=directory,
            env={**os.environ, **(settings or {})},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    except subprocess.CalledProcessError as error:
        raise MissingRequirement(
            f"the kernel's source cannot be downloaded: {' '.join(arguments)} failed: "
            f"{message_line(error.stderr, -1)}; try again, or {NAME_A_SOURCE}"
        ) from None
