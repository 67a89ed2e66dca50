# SPDX-License-Identifier: Apache-2.0
"""Sysctls of the end hosts of all engines."""

from __future__ import annotations

from types import MappingProxyType

__all__ = ["HOST_SYSCTLS", "TCP_ECN"]

#: Maximum size of socket buffers in bytes, high enough not to limit flows on any path.
_LARGEST_BUFFER = 1 << 29

#: Value of the sysctl ``net.ipv4.tcp_ecn`` for each setting of ECN in scenarios.
TCP_ECN = MappingProxyType({False: "0", True: "1", "accecn": "3"})

#: Sysctls of both hosts. Those of the engine and the scenario take precedence.
HOST_SYSCTLS = MappingProxyType(
    {
        "net.ipv4.tcp_rmem": f"4096 131072 {_LARGEST_BUFFER}",
        "net.ipv4.tcp_wmem": f"4096 16384 {_LARGEST_BUFFER}",
        # Flows represent different pairs of hosts and must not share cached metrics.
        "net.ipv4.tcp_no_metrics_save": "1",
    }
)
