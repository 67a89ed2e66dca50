# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel compared with Mahimahi on a path with loss, and on an asymmetric path.

The mixes, the quantities and the criterion are those of the study ``engines-agree``. On the
asymmetric path, the link of the acknowledgements is too slow for them: at 25 Mbit/s, an ACK of 52
bytes for every second packet needs 0.43 Mbit/s. It therefore drops some of them.
"""

from __future__ import annotations

from ccbench.studies.fidelity.cases import EnginePath
from ccbench.studies.fidelity.engines_agree import agreement

#: Random loss of 0.5 %; and a reverse path with 1/83 of the rate.
_PATHS = (
    EnginePath(20, 60, 2, loss=0.005),
    EnginePath(25, 40, 1, acks_mbps=0.3, acks_packets=40),
)

STUDY = agreement("engines-paths", _PATHS)
