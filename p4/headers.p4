// SPDX-License-Identifier: Apache-2.0
// Packet formats and constants of both architectures.

#ifndef BFC_HEADERS_P4
#define BFC_HEADERS_P4

typedef bit<48> mac_t;

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_BFC = 0x88B5; // reserved by IEEE 802 for local experiments

// Destination of pauses and resumes: the address of MAC control frames, not forwarded by bridges.
const mac_t NEIGHBOUR_MAC = 0x0180C2000001;

const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

// Kinds of packets with a BFC header, and the meaning of the header's queue or port.
const bit<4> BFC_DATA = 0;    // queue: the packet's queue at the upstream neighbour (upstreamQ)
const bit<4> BFC_PAUSE = 1;   // queue: the queue to pause
const bit<4> BFC_RESUME = 2;  // queue: the queue to resume
const bit<4> BFC_BITMAP = 3;  // a bfc_bitmap_t with the queues to pause follows; resume all others
const bit<4> BFC_REFRESH = 4; // from the driver of v1model: send a bitmap on port

const bit<8> NO_QUEUE = 0xFF;

header ethernet_t {
    mac_t destination;
    mac_t source;
    bit<16> type;
}

// BFC header, between Ethernet and IP. Pauses and resumes end with it.
header bfc_t {
    bit<3> version;
    bit<1> incast; // the sender labelled the packet as part of an incast
    bit<4> kind;
    bit<8> queue;
    bit<16> port; // port that the message concerns, to and from the driver
    bit<16> next_type; // EtherType of the next header
}

header bfc_bitmap_t {
    bit<32> queues; // bit i: queue i
}

header ipv4_t {
    bit<4> version;
    bit<4> header_words;
    bit<8> traffic_class;
    bit<16> length;
    bit<16> identification;
    bit<2> flags; // reserved, "don't fragment"
    bit<1> more_fragments;
    bit<13> fragment_offset;
    bit<8> hops_left;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

// Ports of TCP and UDP, which have the same position in both.
header l4_ports_t {
    bit<16> source;
    bit<16> destination;
}

struct headers_t {
    ethernet_t ethernet;
    bfc_t bfc;
    bfc_bitmap_t bitmap;
    ipv4_t ipv4;
    l4_ports_t l4;
}

#endif
