// SPDX-License-Identifier: Apache-2.0
// The one thing that v1model cannot do: stop a queue. What asks for it has been noted in `paused`, and
// goes on to the driver. For ports where that must have an effect, the driver is the traffic manager:
// it gets each packet on a port of its own, with what belongs to it in front, keeps it for as long as
// its queue has to wait, and gives it back.

#ifndef BFC_PAUSE_QUEUE_P4
#define BFC_PAUSE_QUEUE_P4

// Tells the driver of a pause, resume or bitmap.
control PauseQueue(inout headers_t hdr, inout standard_metadata_t standard) {
    apply {
        hdr.bfc.port = (bit<16>)standard.ingress_port;
        standard.egress_spec = DRIVER_PORT;
    }
}

// Hands a packet that has been counted in to the driver, if that keeps the queues of its port.
control Hold(inout held_t held, inout metadata_t meta, inout standard_metadata_t standard) {
    action hold() {
        held.setValid();
        held.port = (bit<16>)standard.egress_spec;
        held.queue = meta.queue;
        held.upstream_queue = meta.carried.upstream_queue;
        held.ingress_port = (bit<16>)meta.carried.ingress_port;
        held.length = (bit<16>)meta.length;
        held.entry = meta.carried.entry;
        held.flags = 0;
        held.sampled = meta.sampled;
        held.counted = meta.carried.counted;
        meta.is_data = false; // it does not leave yet
        standard.egress_spec = HOLDING_PORT;
    }
    table held_by_driver {
        key = {
            standard.egress_spec : exact;
        }
        actions = {
            hold;
            NoAction;
        }
        const default_action = NoAction();
        size = PORTS;
    }

    apply {
        held_by_driver.apply();
    }
}

// A packet that the driver gives back: it leaves at once.
control Release(inout held_t held, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = (port_t)held.port;
        standard.priority = (bit<3>)CONTROL_QUEUE;
        meta.is_data = true;
        meta.queue = held.queue;
        meta.length = (bit<32>)held.length;
        meta.sampled = held.sampled;
        meta.carried.upstream_queue = held.upstream_queue;
        meta.carried.ingress_port = (port_t)held.ingress_port;
        meta.carried.entry = held.entry;
        meta.carried.counted = held.counted;
        held.setInvalid();
    }
}

#endif
