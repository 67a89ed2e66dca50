# SPDX-License-Identifier: Apache-2.0
"""``ccbench bfc``."""

from __future__ import annotations

import click

from ccbench.cli.bfc_p4 import p4
from ccbench.cli.bfc_simulate import simulate

__all__ = ["bfc"]


@click.group(short_help="Simulate data centres with BFC, or run its P4 program.")
def bfc() -> None:
    """Backpressure flow control in data centres: a simulator and a switch in P4."""


bfc.add_command(p4)
bfc.add_command(simulate)
