# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import resource
from types import SimpleNamespace

import pytest

from ccbench.base.errors import MissingRequirement
from ccbench.emulate.kernel import doctor
from ccbench.emulate.kernel.boot.limits import check_folder, check_limits

MB = 2**20


class TestLimits:
    @pytest.mark.parametrize(
        ("limit", "least", "words"),
        [
            (resource.RLIMIT_AS, 272 * MB, r"ulimit -v\) is 272 MB, .* needs 272 MB: .*ulimit -v"),
            (resource.RLIMIT_FSIZE, 256 * MB, r"ulimit -f\) is 256 MB, .* needs 256 MB"),
            (resource.RLIMIT_NOFILE, 64, r"ulimit -n\) is 63, .* needs 64: .*`ulimit -n 1024`"),
        ],
    )
    def test_refused(
        self, limit: int, least: int, words: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A limit below what the guest needs is named before the start, and by the doctor."""
        allowed = {limit: least}
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

        def limits_of(kind: int) -> tuple[int, int]:
            return (allowed[kind], allowed[kind]) if kind in allowed else unlimited

        monkeypatch.setattr(resource, "getrlimit", limits_of)
        check_limits(256)
        allowed[limit] = least - 1
        with pytest.raises(MissingRequirement, match=words) as caught:
            check_limits(256)
        assert "\n" not in str(caught.value)
        (check,) = [one for one in doctor.checks() if one.name == "limits"]
        assert not check.ok
        assert "ulimit" in check.remedy

    def test_noexec(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A folder of memory that is mounted with noexec is named, with the command that helps."""
        check_folder()
        mount = SimpleNamespace(
            f_flag=os.ST_NOEXEC, f_bavail=2**30, f_frsize=1, f_blocks=2**30, f_bfree=0
        )
        monkeypatch.setattr(os, "statvfs", lambda _: mount)
        with pytest.raises(MissingRequirement, match=r"shm, .*noexec.*: mount -o remount,exec"):
            check_folder()
        (check,) = [one for one in doctor.checks() if one.name == "memory"]
        assert (check.ok, check.remedy.split()[0]) == (False, "mount")
