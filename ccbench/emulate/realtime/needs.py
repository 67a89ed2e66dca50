# SPDX-License-Identifier: Apache-2.0
"""Memory, scratch space and work of a run in real time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.emulate._load import packets, samples
from ccbench.emulate.resources import Needs

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario

__all__ = ["needs"]

#: Memory of the path's programs and the Python processes of the hosts; and for reading the records:
#: constant, per packet and per sample; in bytes.
_PROGRAMS_BYTES = 350e6
_READER_BYTES = 20e6
_PACKET_BYTES = 1200
_SAMPLE_BYTES = 350
#: The part of it that the run keeps.
_RUN_PACKET_BYTES = 48
_RUN_SAMPLE_BYTES = 130
#: Size of a sample's record in bytes.
_SAMPLE_RECORD_BYTES = 96


def needs(scenario: Scenario, packet_record_bytes: float) -> Needs:
    """Return the resources of a run, which records every packet even with ``queue_log = false``.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    packet_record_bytes : float
        Size of all records of one packet in bytes.
    """
    sent, sampled = sum(packets(scenario)), samples(scenario)
    return Needs(
        running_bytes=_PROGRAMS_BYTES,
        reading_bytes=_READER_BYTES + sent * _PACKET_BYTES + sampled * _SAMPLE_BYTES,
        result_bytes=(sent * _RUN_PACKET_BYTES if scenario.queue_log else 0.0)
        + sampled * _RUN_SAMPLE_BYTES,
        scratch_bytes=sent * packet_record_bytes + sampled * _SAMPLE_RECORD_BYTES,
        work=scenario.duration_s,
        running_remedy="use the engine kernel",
        reading_remedy="lower duration_s or the bandwidth, or use the engine kernel",
    )
