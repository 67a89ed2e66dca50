// SPDX-License-Identifier: Apache-2.0
// What goes with a packet through the switch, in front of it on the internal links.

#ifndef BFC_METADATA_P4
#define BFC_METADATA_P4

// The first byte tells the parsers what they have before them.
const bit<8> INTERNAL_DATA = 1; // from ingress to egress
const bit<8> INTERNAL_PAUSE = 2; // the copy that ingress makes, on its way upstream
const bit<8> INTERNAL_DEQUEUE = 3; // the copy that egress makes, on its way back to ingress

const MirrorType_t MIRROR = 1;
const bit<1> AS_IT_CAME = 0; // what is mirrored: the packet before or after the pipeline
const bit<1> AS_IT_GOES = 1;

header bridge_t {
    bit<8> kind;
    bit<7> padding;
    PortId_t ingress_port;
    bit<7> padding_too;
    PortId_t egress_port;
    bit<8> upstream_queue;
    bit<8> queue;
    bit<5> padding_three;
    bit<1> sampled;
    bit<1> counted;
    bit<1> backpressured;
    bit<7> padding_four;
    flow_index_t entry;
}

struct internal_headers_t {
    bridge_t bridge;
    headers_t wire;
}

struct ingress_metadata_t {
    bit<1> is_dequeue;
    bit<1> sampled;
    bit<1> fresh; // the flow's entry counts no packets
    bit<1> stale; // and nothing has happened to it for longer than the sticky time
    bit<1> congested; // the queue is longer than the threshold
    bit<1> turned; // the pause counter has left or reached 0
    bit<8> speed;
    bit<8> pipe; // which ingress pipe this is: it searches for empty queues from its own start
    bit<8> port_index; // of the ingress port, 0 to 63 within the pipe
    bit<8> active;
    bit<8> empty_queue;
    bit<8> any_queue;
    bit<32> busy; // bit i: queue i of the egress port has packets
    bit<32> held; // bit i: it is paused
    clock_t now;
    bit<32> threshold; // in cells
    pause_index_t pause_index;
    queue_index_t queue_index;
    bridge_t copy; // what a mirrored packet carries
    MirrorId_t session;
}

struct egress_metadata_t {
    bridge_t copy;
    MirrorId_t session;
    bit<1> speaks_bfc;
}

#endif
