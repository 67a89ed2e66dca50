# SPDX-License-Identifier: Apache-2.0
"""Homa (Montazeri et al., SIGCOMM 2018).

The first RTTbytes of a message are sent at once, in a priority level that depends on its length;
the receiver grants the rest, RTTbytes ahead, to as many of its shortest messages as there are
levels for granted packets, each in a level of its own. Senders send the message with the least
remaining data first.

As in the thesis (appendix F.1): 32 levels, divided in proportion to the bytes that need no grant
and those that do; unlimited buffers. ``homa`` sprays packets over all paths, ``homa-ecmp`` selects
one for each flow.

Deviations:

- Cutoffs between the levels follow from the simulated flows. The paper measures recent traffic.
- A message is a flow in one direction; there are no requests and responses, and no limit of
  incast by marked responses.
- Nothing is lost, so that there are no timeouts and no requests to send again.
- The receiver acknowledges the last packet of a flow, so that its end at the sender is known.
- RTTbytes are one BDP of the longest path.
"""

from dataclasses import replace

from ccbench.datacenter.scheme import Scheme

__all__ = ["SCHEMES"]

_HOMA = Scheme(
    name="homa",
    summary="Homa with 32 levels and packet spraying",
    control="homa",
    classes=32,
    spray=True,
    shortest_first=True,
    packets_per_ack=100_000,
    endless_buffer=True,
)

SCHEMES = (
    _HOMA,
    replace(
        _HOMA,
        name="homa-ecmp",
        summary="Homa with a path per flow instead of spraying (appendix F.1)",
        spray=False,
    ),
)
