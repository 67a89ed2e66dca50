// SPDX-License-Identifier: Apache-2.0
// Departure of packets: writes the queue to the packet and recirculates a copy of its header.

#ifndef BFC_EGRESS_P4
#define BFC_EGRESS_P4

control BfcEgress(inout switch_headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard) {
    LeaveQueue() leave_queue;
    LeaveCongested() leave_congested;
    NameQueue() name_queue;
    bool speaks_bfc;

    action set_neighbour(bit<1> knows) {
        speaks_bfc = knows == 1;
    }
    table neighbour {
        key = {
            standard.egress_port : exact;
        }
        actions = {
            set_neighbour;
        }
        default_action = set_neighbour(1);
        size = PORTS;
    }

    apply {
        if (standard.instance_type == INSTANCE_INGRESS_CLONE ||
            standard.instance_type == INSTANCE_EGRESS_CLONE) {
            recirculate_preserving_field_list(CARRIED);
        } else if (meta.is_data) {
            leave_queue.apply(standard.egress_port, meta.queue, meta.length);
            if (meta.carried.counted == 1) {
                leave_congested.apply(meta.carried);
            }
            neighbour.apply();
            name_queue.apply(hdr.wire, meta.queue, speaks_bfc);
            if (meta.sampled == 1) {
                meta.carried.task = TASK_DEQUEUE;
                meta.carried.left = (clock_t)standard.egress_global_timestamp;
                clone_preserving_field_list(CloneType.E2E, RECIRCULATION_SESSION, CARRIED);
            }
        }
    }
}

#endif
