# SPDX-License-Identifier: Apache-2.0
r"""Additions to Linux's TCP for congestion controls that must know which packets are lost.

A congestion control of Linux 6.1 to 7.3 learns how many packets were lost, but not which, and the
state of the network when a packet was sent only in part. BBRv3 needs both
(draft-ietf-ccwg-bbr, sections "Transmitting a data packet" and "Per-Loss Steps"):

- each packet records what was in flight with it (``sent_in_flight``) and the losses of the
  connection before it (``sent_lost``), in packets;
- a rate sample has both of the newest acknowledged packet;
- the optional operation ``packet_lost`` of a congestion control is called for each packet that TCP
  takes for lost, after it has been counted.

Nothing else reads the new fields, and no other congestion control has the operation, so that TCP
and all other congestion controls behave as without them. The record of a packet does not grow: what
was in flight, at most 16,777,215 packets, is in 3 bytes that were unused, and the losses share
their place with the acknowledged sequence number, which only received packets have.
"""

from __future__ import annotations

from ccbench.emulate.kernel.source.edits import Edit

__all__ = ["TCP_EDITS"]

_SENT = "a congestion control must know what was in flight when a packet was sent"
_LOST = "a congestion control must know which packets are lost"

TCP_EDITS = (
    Edit(
        file="include/net/tcp.h",
        find=r"^\t__u32\t\tack_seq;(.*)$",
        replace=r"#define TCPCB_IN_FLIGHT_MAX ((1U<<24) - 1)\n"
        r"\t__u32\t\tsent_in_flight:24;\n"
        r"\tunion {\n\t\t__u32\tack_seq;\1\n\t\t__u32\tsent_lost;\n\t};",
        reason=_SENT,
    ),
    Edit(
        file="include/net/tcp.h",
        find=r"^struct rate_sample \{\n(?:.*\n){1,24}?(?=\};$)",
        replace=r"\g<0>\tu32  sent_in_flight;\n\tu32  sent_lost;\n",
        reason=_SENT,
    ),
    Edit(
        file="net/ipv4/tcp_rate.c",
        moved_to="net/ipv4/tcp_output.c",
        find=r"^\tTCP_SKB_CB\(skb\)->tx\.is_app_limited\t= tp->app_limited \? 1 : 0;$",
        replace=r"\g<0>\n"
        r"\tTCP_SKB_CB(skb)->sent_in_flight\t= min(TCPCB_IN_FLIGHT_MAX,\n"
        r"\t\t\t\t\t\t      tcp_packets_in_flight(tp) +\n"
        r"\t\t\t\t\t\t      tcp_skb_pcount(skb));\n"
        r"\tTCP_SKB_CB(skb)->sent_lost\t\t= tp->lost;",
        reason=_SENT,
    ),
    Edit(
        file="net/ipv4/tcp_rate.c",
        moved_to="net/ipv4/tcp_input.c",
        find=r"^\t\trs->last_end_seq     = scb->end_seq;$",
        replace=r"\g<0>\n\t\trs->sent_in_flight   = scb->sent_in_flight;\n"
        r"\t\trs->sent_lost        = scb->sent_lost;",
        reason=_SENT,
    ),
    # TCP splits a burst of which some packets are lost. The first part left before the second.
    Edit(
        file="net/ipv4/tcp_output.c",
        find=r"^(\tTCP_SKB_CB\(buff\)->tx = TCP_SKB_CB\(skb\)->tx;\n"
        r"(?:.*\n){1,4}?\tif \(!before\(tp->snd_nxt, TCP_SKB_CB\(buff\)->end_seq\)\) \{\n"
        r"(?:.*\n){1,3}?\n)",
        replace=r"\1\t\tTCP_SKB_CB(buff)->sent_in_flight = TCP_SKB_CB(skb)->sent_in_flight;\n"
        r"\t\tTCP_SKB_CB(skb)->sent_in_flight -= min_t(u32, tcp_skb_pcount(buff),\n"
        r"\t\t\t\t\t\t\t TCP_SKB_CB(skb)->sent_in_flight);\n"
        r"\t\tTCP_SKB_CB(buff)->sent_lost = TCP_SKB_CB(skb)->sent_lost;\n",
        reason=_SENT,
    ),
    Edit(
        file="include/net/tcp.h",
        find=r"^struct tcp_congestion_ops \{\n(?:.*\n){1,70}?"
        r"\tsize_t \(\*get_info\)\(.*\n\t.*;\n",
        replace=r"\g<0>\tvoid (*packet_lost)(struct sock *sk, const struct sk_buff *skb);\n",
        reason=_LOST,
    ),
    Edit(
        file="net/ipv4/tcp_input.c",
        find=r"^static void tcp_notify_skb_loss_event\(.*\n\{\n"
        r"\ttp->lost \+= tcp_skb_pcount\(skb\);\n",
        replace=r"\g<0>\tif (inet_csk((struct sock *)tp)->icsk_ca_ops->packet_lost)\n"
        r"\t\tinet_csk((struct sock *)tp)->icsk_ca_ops->packet_lost((struct sock *)tp, skb);\n",
        reason=_LOST,
    ),
)
