// SPDX-License-Identifier: Apache-2.0
// What goes with a packet through the switch, in front of it on the internal links.

#ifndef BFC_METADATA_P4
#define BFC_METADATA_P4

// The first byte tells the parsers what they have before them. The packet generator's header, which
// comes in by the same port as recirculated packets, starts with two bits that are 0.
const bit<8> INTERNAL_DATA = 0x81; // from ingress to egress
const bit<8> INTERNAL_PAUSE = 0x82; // the copy that ingress makes, on its way upstream
const bit<8> INTERNAL_DEQUEUE = 0x83; // the copy that egress makes, on its way back to ingress

const MirrorType_t MIRROR = 1;
const bit<1> AS_IT_CAME = 0; // what is mirrored: the packet before or after the pipeline
const bit<1> AS_IT_GOES = 1;

header bridge_t {
    bit<8> kind;
    @padding
    bit<7> padding;
    PortId_t ingress_port;
    bit<8> upstream_queue;
    bit<8> queue;
    @padding
    bit<5> padding_too;
    bit<1> sampled; // it will count out, so its flow's entry counts it
    bit<1> counted; // the pause counter counts it
    flow_index_t entry;
}

// A copy of one, as another kind.
#define BRIDGE(KIND, OF) \
    { KIND, 0, OF.ingress_port, OF.upstream_queue, OF.queue, 0, OF.sampled, OF.counted, OF.entry }

struct internal_headers_t {
    bridge_t bridge;
    pktgen_timer_header_t generated; // batch_id: the port in its pipe, packet_id: the queue
    headers_t wire;
}

struct ingress_metadata_t {
    bit<1> is_dequeue;
    bit<1> is_refresh;
    bit<1> fresh; // the flow's entry counts no packets
    bit<1> allowed; // this pair of ports may make backpressure
    bit<1> congested; // the queue is longer than the threshold
    bit<1> turned; // the pause counter has left or reached 0
    bit<8> speed;
    bit<8> pipe; // which ingress pipe this is: it searches for empty queues from its own start
    bit<6> port_index; // of the ingress port within the pipe
    bit<8> active;
    bit<8> empty_queue;
    bit<32> busy; // bit i: queue i of the egress port has packets
    bit<32> held; // bit i: it is paused
    clock_t now;
    clock_t age; // since something last happened to the flow's entry
    cells_t threshold;
    bit<8> copy_kind; // what a mirrored packet is
    MirrorId_t session; // whose port is the ingress port
}

struct egress_metadata_t {
    bit<8> copy_kind;
    MirrorId_t session; // whose port is that of recirculation
    bit<1> speaks_bfc;
}

#endif
