// SPDX-License-Identifier: Apache-2.0

#ifndef BFC_METADATA_P4
#define BFC_METADATA_P4

// What a copy of a packet is on its way to do.
const bit<1> TASK_PAUSE = 0; // tell the upstream neighbour to pause
const bit<1> TASK_DEQUEUE = 1; // do the bookkeeping of a packet that has left

const bit<8> CARRIED = 1; // the field list of clones and recirculated packets

// What goes with a packet through the switch, and with its copies. A copy gets what is here at the
// end of the pipeline that makes it.
struct carried_t {
    @field_list(CARRIED) bit<1> task;
    @field_list(CARRIED) port_t ingress_port;
    @field_list(CARRIED) bit<8> upstream_queue;
    @field_list(CARRIED) bit<32> entry; // in the flow table
    @field_list(CARRIED) bit<1> counted; // in the pause counter (counterIncr)
    @field_list(CARRIED) clock_t left; // when it left: a recirculated packet has no time of arrival
}

// In front of the packets that wait at the driver, on its holding port only.
header held_t {
    bit<16> port; // where it is to leave
    bit<8> queue;
    bit<8> upstream_queue;
    bit<16> ingress_port;
    bit<16> length; // in the queue, in bytes
    bit<32> entry;
    bit<6> flags; // 0
    bit<1> sampled;
    bit<1> counted;
}

struct switch_headers_t {
    held_t held;
    headers_t wire;
}

// The parameters of the table `settings`.
struct settings_t {
    bit<8> data_queues; // flows are assigned to queues 0 to data_queues - 1
    bit<8> upstream_queues;
    bit<32> flow_entries; // of each egress port
    clock_t sticky;
    bit<17> sampled; // of 65536 packets
    bit<1> skip_paused; // a queue that is empty but paused is given to no flow
}

struct metadata_t {
    carried_t carried;
    settings_t settings;
    bool is_data; // it waits in a queue that is accounted for
    bit<8> queue; // which one
    bit<32> length; // what it adds to it, in bytes
    bit<1> sampled; // its header will be recirculated
    bit<8> speed; // the class of its egress port's speed
}

#endif
