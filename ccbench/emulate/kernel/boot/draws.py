# SPDX-License-Identifier: Apache-2.0
"""The functions of the guest's kernel whose random numbers can decide a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.emulate.kernel.boot.shared import structure

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["read_draws"]

#: Functions of Linux that draw ports, sequence numbers, offsets of timestamps, and hash keys of
#: connections. No time of a packet depends on them, as the path clears the hash that a host gives
#: its packets: a qdisc that hashes flows calls the flow dissector, which draws a key of its own.
_OF_CONNECTIONS = frozenset(
    (
        *("tcp_v4_connect", "tcp_v6_connect", "tcp_conn_request", "tcp_retransmit_timer"),
        *("tcp_v4_syn_recv_sock", "tcp_v6_syn_recv_sock", "secure_tcp_seq_and_ts_off"),
        *("__inet_hash_connect", "inet_csk_get_port", "inet_hash", "inet6_init_ehash_secret"),
        *("secure_ipv4_port_ephemeral", "secure_ipv6_port_ephemeral"),
        *("inet_ehashfn", "inet6_ehashfn", "udp_ehashfn", "udp6_ehashfn", "udp_lib_get_port"),
        *("__ip4_datagram_connect", "__ip6_datagram_connect"),
        *("mptcp_token_new_connect", "subflow_check_req", "__mptcp_subflow_connect"),
    )
)
#: Functions that draw keys of tables, tests and addresses of memory and programs.
_OF_THE_KERNEL = frozenset(
    (
        # The slow path of a bounded draw, whose callers are recorded themselves.
        "__get_random_u32_below",
        *("fill_ptr_key", "fill_ptr_key_workfn", "blake2s_random_test", "blake2s_selftest"),
        *("bucket_table_alloc", "net_ns_init", "setup_net", "copy_net_ns", "ip_rt_init"),
        *("rt_genid_init", "ping_v4_proc_init_net"),
        *("neigh_table_init", "neigh_hash_alloc", "neigh_parms_alloc"),
        *("randomize_stack_top", "create_elf_tables", "load_elf_binary"),
        "prandom_seed_full_state",  # of the stack and of the memory allocator
    )
)
#: Congestion controls that compute with the values of timestamps, which have a random offset.
_READ_TIMESTAMPS = frozenset(("lp",))


def read_draws(directory: Path, ccas: Iterable[str]) -> dict[str, int]:
    """Return how many random numbers each function drew on which the run can depend.

    Any function counts that is not known to draw names and keys only.

    Parameters
    ----------
    directory : Path
        Folder of the record files.
    ccas : iterable of str
        Congestion controls of the flows.

    Returns
    -------
    dict
        By the names of functions, in order; those of modules are followed by ``[module]``.
    """
    irrelevant = _OF_THE_KERNEL
    if _READ_TIMESTAMPS.isdisjoint(ccas):
        irrelevant |= _OF_CONNECTIONS
    drawn: dict[str, int] = {}
    for function, draws in np.fromfile(directory / "draws.bin", structure("draws_record")).tolist():
        name, _, module = function.decode().partition(" ")
        name = name.partition(".")[0]  # the compiler appends for example .isra.0
        if name not in irrelevant:
            full = f"{name} {module}".rstrip()
            drawn[full] = drawn.get(full, 0) + draws
    return dict(sorted(drawn.items()))
