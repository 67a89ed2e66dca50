# SPDX-License-Identifier: Apache-2.0
"""Settings of the end hosts of all engines."""

from __future__ import annotations

from types import MappingProxyType

__all__ = ["HOST_SYSCTLS"]

#: Socket buffers must not be what limits a flow, whatever the path: bytes.
_LARGEST_BUFFER = 1 << 29

#: Settings of both hosts. An engine's own and the scenario's come after them.
HOST_SYSCTLS = MappingProxyType(
    {
        "net.ipv4.tcp_rmem": f"4096 131072 {_LARGEST_BUFFER}",
        "net.ipv4.tcp_wmem": f"4096 16384 {_LARGEST_BUFFER}",
        # Flows stand for different pairs of hosts: none starts from what another has learnt.
        "net.ipv4.tcp_no_metrics_save": "1",
    }
)
