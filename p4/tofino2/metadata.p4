// SPDX-License-Identifier: Apache-2.0
// Metadata of a packet, and its header on internal links.

#ifndef BFC_METADATA_P4
#define BFC_METADATA_P4

// First byte of an internal packet, by which parsers distinguish its kind. The packet generator's
// header, which arrives on the same port as recirculated packets, starts with two zero bits.
const bit<8> INTERNAL_DATA = 0x81; // from ingress to egress
const bit<8> INTERNAL_PAUSE = 0x82; // copy made by ingress, sent upstream
const bit<8> INTERNAL_DEQUEUE = 0x83; // copy made by egress, sent back to ingress

const MirrorType_t MIRROR = 1;
const bit<1> AS_IT_CAME = 0; // mirrors the packet before the pipeline
const bit<1> AS_IT_GOES = 1; // mirrors the packet after the pipeline

header bridge_t {
    bit<8> kind;
    @padding
    bit<7> padding;
    PortId_t ingress_port;
    bit<8> upstream_queue;
    bit<8> queue;
    @padding
    bit<5> padding_too;
    bit<1> sampled; // the header will be recirculated, so the flow's entry counts the packet
    bit<1> counted; // the pause counter counts the packet
    flow_index_t entry;
}

// Copy of a bridge header with another kind.
#define BRIDGE(KIND, OF) \
    { KIND, 0, OF.ingress_port, OF.upstream_queue, OF.queue, 0, OF.sampled, OF.counted, OF.entry }

struct internal_headers_t {
    bridge_t bridge;
    pktgen_timer_header_t generated; // batch_id: port within the pipe, packet_id: queue
    headers_t wire;
}

struct ingress_metadata_t {
    bit<1> is_dequeue;
    bit<1> is_refresh;
    bit<1> fresh; // the flow's entry counts no packets
    bit<1> allowed; // this pair of ports may cause backpressure
    bit<1> congested; // the queue is longer than the threshold
    bit<1> turned; // the pause counter has changed from or to 0, or is 0 at a refresh
    bit<8> speed;
    bit<8> pipe; // ingress pipe, which determines the start of the search for empty queues
    bit<6> port_index; // of the ingress port within the pipe
    bit<8> active;
    bit<8> empty_queue;
    bit<32> busy; // bit i: queue i of the egress port has packets
    bit<32> held; // bit i: queue i of the egress port is paused
    clock_t now;
    clock_t age; // time since the last update of the flow's entry
    cells_t threshold;
    bit<8> copy_kind; // kind of the mirrored packet
    MirrorId_t session; // mirror session to the ingress port
}

struct egress_metadata_t {
    bit<8> copy_kind;
    MirrorId_t session; // mirror session to the recirculation port
    bit<1> speaks_bfc;
}

#endif
