# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import subprocess
import sys

import pytest

from ccbench.base.errors import InputError, MissingRequirement
from ccbench.emulate import cluster


class TestCluster:
    @pytest.mark.parametrize("address", ["head", "head:8786", "http://head:8786", "tcp://head"])
    def test_bad_address(self, address: str) -> None:
        """A cluster is named by the address of its scheduler."""
        with (
            pytest.raises(InputError, match=f"^scheduler is '{address}'; .* tcp://host:8786"),
            cluster(address),
        ):
            pass

    def test_no_dask(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without dask one line says how to install it."""
        monkeypatch.setitem(sys.modules, "distributed", None)
        with (
            pytest.raises(MissingRequirement, match=r"pip install 'ccbench\[cluster\]'"),
            cluster("tcp://127.0.0.1:8786"),
        ):
            pass

    def test_lazy(self) -> None:
        """Dask is not imported before it is used."""
        code = "import sys, ccbench.emulate; print('distributed' in sys.modules)"
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert ran.stdout == "False\n"
