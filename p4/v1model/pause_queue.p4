// SPDX-License-Identifier: Apache-2.0
// Pausing of queues, which v1model does not support.
//
// The switch stores pauses in `paused` and forwards them to the driver. For ports in the table
// `held_by_driver`, the driver acts as the traffic manager: it receives each packet on the holding
// port with a header of metadata, holds it until its queue may send, and returns it.

#ifndef BFC_PAUSE_QUEUE_P4
#define BFC_PAUSE_QUEUE_P4

// Forwards a pause, resume or bitmap to the driver.
control PauseQueue(inout headers_t hdr, inout standard_metadata_t standard) {
    apply {
        hdr.bfc.port = (bit<16>)standard.ingress_port;
        standard.egress_spec = DRIVER_PORT;
    }
}

// Sends a packet to the driver if the driver holds the queues of its egress port.
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
        meta.is_data = false; // the packet does not leave yet
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

// Sends a packet returned by the driver without further delay.
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
