# SPDX-License-Identifier: Apache-2.0
"""Flows that lack the ECN that a scenario asks for, and the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.record import RunRecord

__all__ = ["fallbacks"]

#: Failures that make a sender clear the ECN field of its packets: bits of `sender_failures` that
#: stand for altered ACE fields, sent or received.
_ALTERED = 0b0011


def fallbacks(run: RunRecord) -> dict[int, str]:
    """Return the flows without accurate ECN although their sender asks for it, with the reasons."""
    if not len(run.stored("ecn")):
        return {}
    delivered = run.completions["delivered_bytes"]
    ccas = run.scenario.flow_table()["cca"]
    asking = run.provenance.get("accecn_ccas", ())
    reasons = {
        int(end["flow"]): _reason(run.scenario, end, int(delivered[end["flow"]]))
        for end in run.ecn.to_dict("records")
        if run.scenario.path.ecn == "accecn" or ccas[end["flow"]] in asking
    }
    return {flow: reason for flow, reason in reasons.items() if reason}


def _reason(scenario: Scenario, end: dict[Any, Any], delivered_bytes: int) -> str:
    mode = end["sender"]
    if mode == "accecn":
        seen = sum(end[f"received_{codepoint}_bytes"] for codepoint in ("ect1", "ect0", "ce"))
        if end["sender_failures"] & _ALTERED:
            return "no ECN, as the path alters the ECN feedback"
        if delivered_bytes and not seen:
            return "no ECN, as no packet arrives with ECN: the path clears it"
        return ""
    if mode == "none":
        return ""
    kind = "classic ECN (RFC 3168)" if mode == "rfc3168" else "no ECN"
    receiver_ecn = scenario.path.hosts_ecn[1]
    if receiver_ecn == "accecn":
        return f"{kind}, as the path or a sysctl prevents AccECN"
    return f"{kind}, as its receiver lacks {'AccECN' if receiver_ecn else 'ECN'}"
