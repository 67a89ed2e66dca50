# SPDX-License-Identifier: Apache-2.0
"""ExpressPass (Cho, Jang and Han, SIGCOMM 2017).

A receiver sends credits, each of which permits its sender one packet. Switches limit credits to the
rate at which the data that they permit fill the opposite direction of the link, and drop those that
exceed a short queue, so that data hardly queue. The receiver adapts its rate to the share of lost
credits.

As in the authors' simulator (kaist-ina/ns2-xpass), which the thesis uses, and beyond the paper's
text: the largest share of lost credits is an eighth of the unused share of the rate; credits are
10 % irregular; flows of fewer than 40 packets begin with proportionally less than α; a sender
stops its credits once as many as the last round trip brought suffice for the rest, and asks again
if they do not.

Deviations:

- Credits all have 84 bytes; the authors' simulator varies them between 76 and 92.
- Requests and stops precede data, as all control packets do here. There they wait among the data.
- The receiver acknowledges the last packet of a flow, so that its end at the sender is known.
- Buffers are unlimited, so that no data are lost. The thesis has 75 MB per port instead.
- A flow's credits take its own links in the opposite direction, as the paper demands of routing.
"""

from ccbench.datacenter.scheme import Scheme

__all__ = ["SCHEMES"]

SCHEMES = (
    Scheme(
        name="expresspass",
        summary="ExpressPass, with α = 0.5 and 16 credits per port",
        control="expresspass",
        packets_per_ack=100_000,
        endless_buffer=True,
    ),
)
