# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest

from ccbench.base.errors import InputError
from ccbench.emulate.kernel.boot.trapping import TRAPPING, parameters, used, ways


@pytest.fixture(autouse=True)
def _undemanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TRAPPING, raising=False)


@pytest.mark.parametrize("release", ["6.1.170", "6.12.117", "6.15.0-rc1"])
def test_old_kernel(release: str) -> None:
    """Kernels before 6.16 have ptrace only, and no parameter."""
    assert ("ptrace",) == ways(release)
    assert () == parameters(release)


@pytest.mark.parametrize("release", ["6.16.0", "7.0.0-rc1", "7.3.4", "10.0.0"])
def test_new_kernel(release: str) -> None:
    """Newer ones try seccomp, and use ptrace if the host refuses it."""
    assert ("seccomp", "ptrace") == ways(release)
    assert ("seccomp=auto",) == parameters(release)


@pytest.mark.parametrize(("demanded", "value"), [("seccomp", "on"), ("ptrace", "off")])
def test_demand(monkeypatch: pytest.MonkeyPatch, demanded: str, value: str) -> None:
    """The environment demands one of the ways."""
    monkeypatch.setenv(TRAPPING, demanded)
    assert (f"seccomp={value}",) == parameters("7.3.4")


@pytest.mark.parametrize(
    ("release", "demanded", "allowed"),
    [
        ("6.12.117", "seccomp", "ptrace on Linux 6.12.117"),
        ("7.3.4", "on", "seccomp or ptrace on Linux 7.3.4"),
    ],
)
def test_bad_demand(
    monkeypatch: pytest.MonkeyPatch, release: str, demanded: str, allowed: str
) -> None:
    """A way that the kernel lacks is refused with those that it has."""
    monkeypatch.setenv(TRAPPING, demanded)
    with pytest.raises(InputError, match=f"^{TRAPPING} is '{demanded}'; it must be {allowed}: "):
        parameters(release)


@pytest.mark.parametrize(
    ("result", "expected"), [("OK", "seccomp"), ("missing", "ptrace"), ("error", "ptrace")]
)
def test_used(result: str, expected: str) -> None:
    """The console tells which way the host allows."""
    check = f"Checking that seccomp filters can be installed...{result}\n"
    assert expected == used(f"Core dump limits :\n{check}[    0.000000] Linux version 7.3.4\n")
