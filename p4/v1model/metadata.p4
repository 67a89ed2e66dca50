// SPDX-License-Identifier: Apache-2.0

#ifndef BFC_METADATA_P4
#define BFC_METADATA_P4

// Task of a packet's copy.
const bit<1> TASK_PAUSE = 0; // pause the upstream queue
const bit<1> TASK_DEQUEUE = 1; // uncount a packet that has left

const bit<8> CARRIED = 1; // field list of clones and recirculated packets

// Metadata of a packet and its copies. A copy receives the values at the end of the pipeline that
// creates it.
struct carried_t {
    @field_list(CARRIED) bit<1> task;
    @field_list(CARRIED) port_t ingress_port;
    @field_list(CARRIED) bit<8> upstream_queue;
    @field_list(CARRIED) bit<32> entry; // in the flow table
    @field_list(CARRIED) bit<1> counted; // in the pause counter (counterIncr)
    @field_list(CARRIED) clock_t left; // departure; BMv2 sets no arrival for copies
}

// Header of packets held by the driver, only on its holding port.
header held_t {
    bit<16> port; // egress port
    bit<8> queue;
    bit<8> upstream_queue;
    bit<16> ingress_port;
    bit<16> length; // of the packet in the queue, in bytes
    bit<32> entry;
    bit<6> flags; // 0
    bit<1> sampled;
    bit<1> counted;
}

struct switch_headers_t {
    held_t held;
    headers_t wire;
}

// Parameters of the table `settings`.
struct settings_t {
    bit<8> data_queues; // flows are assigned to queues 0 to data_queues - 1
    bit<8> upstream_queues;
    bit<32> flow_entries; // of each egress port
    clock_t sticky; // time for which a flow without packets keeps its queue
    bit<17> sampled; // sampled packets in 65536
    bit<1> skip_paused; // empty but paused queues are not assigned to flows
}

struct metadata_t {
    carried_t carried;
    settings_t settings;
    bool is_data; // the packet is in a data queue
    bit<8> queue; // the packet's queue
    bit<32> length; // of the packet in the queue, in bytes
    bit<1> sampled; // the header will be recirculated
    bit<8> speed; // speed class of the egress port
}

#endif
