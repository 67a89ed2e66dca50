# SPDX-License-Identifier: Apache-2.0
"""The functions of the guest's kernel whose random numbers can decide a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.emulate.kernel.boot.records import DRAWS_RECORD

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_draws"]

#: Functions of Linux that draw only names and keys: of connections, tables and processes. No time
#: of a packet depends on them, as the path clears the hash that a host gives its packets: a qdisc
#: that hashes flows calls the flow dissector, which draws a key of its own. Any other function
#: counts, also one of a Linux that this list does not know yet.
_NAMES_AND_KEYS = frozenset(
    (
        # The slow path of a bounded draw, whose callers are recorded themselves.
        "__get_random_u32_below",
        # Ports, sequence numbers, timestamps' offsets and hashes of connections.
        *("tcp_v4_connect", "tcp_v6_connect", "tcp_conn_request", "tcp_retransmit_timer"),
        *("tcp_v4_syn_recv_sock", "tcp_v6_syn_recv_sock", "__inet_hash_connect"),
        *("secure_ipv4_port_ephemeral", "secure_ipv6_port_ephemeral"),
        *("inet_ehashfn", "inet6_ehashfn"),
        # Keys of tables, made at boot.
        *("fill_ptr_key", "blake2s_random_test", "bucket_table_alloc", "net_ns_init"),
        *("copy_net_ns", "ip_rt_init", "rt_genid_init", "neigh_table_init", "neigh_hash_alloc"),
        "neigh_parms_alloc",
        # The addresses of the guest's programs.
        *("randomize_stack_top", "create_elf_tables"),
    )
)


def read_draws(directory: Path) -> dict[str, int]:
    """Return how many random numbers each function drew on which the run can depend.

    Parameters
    ----------
    directory : Path
        Folder of the record files.

    Returns
    -------
    dict
        By the names of functions, in order; those of modules are followed by ``[module]``.
    """
    drawn: dict[str, int] = {}
    for function, draws in np.fromfile(directory / "draws.bin", DRAWS_RECORD).tolist():
        name, _, module = function.decode().partition(" ")
        name = name.partition(".")[0]  # the compiler appends for example .isra.0
        if name not in _NAMES_AND_KEYS:
            full = f"{name} {module}".rstrip()
            drawn[full] = drawn.get(full, 0) + draws
    return dict(sorted(drawn.items()))
