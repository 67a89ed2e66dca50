// SPDX-License-Identifier: Apache-2.0
// Backpressure flow control on v1model, the architecture of BMv2's simple_switch.
//
//   ingress: choose a queue, count the packet, pause the upstream queue     (assign, backpressure)
//   queues:  by standard_metadata.priority (--priority-queues 8), or the driver's    (pause_queue)
//   egress:  decrease the queue's length, write the queue to the packet, clone the header (egress)
//   ingress: uncount the packet of a recirculated header, resume the upstream queue      (ingress)
//
// ccbench/datacenter/switch.py documents the settings of a switch and the order of its decisions.

#define V1MODEL_VERSION 20200408

#include <core.p4>
#include <v1model.p4>

#include "headers.p4"
#include "parser.p4"
#include "wire.p4"
#include "v1model/sizes.p4"
#include "v1model/metadata.p4"
#include "v1model/queues.p4"
#include "v1model/clock.p4"
#include "v1model/backpressure.p4"
#include "v1model/lost_headers.p4"
#include "v1model/flow_id.p4"
#include "v1model/assign.p4"
#include "v1model/pause_queue.p4"
#include "v1model/messages.p4"
#include "v1model/ingress.p4"
#include "v1model/egress.p4"

parser Parse(packet_in packet, out switch_headers_t hdr, inout metadata_t meta,
             inout standard_metadata_t standard) {
    WireParser() wire;

    state start {
        transition select(standard.ingress_port) {
            HOLDING_PORT: held;
            default: on_the_wire;
        }
    }

    state held {
        packet.extract(hdr.held);
        transition on_the_wire;
    }

    state on_the_wire {
        wire.apply(packet, hdr.wire);
        transition accept;
    }
}

// The headers modified by a switch have no checksums.
control Verify(inout switch_headers_t hdr, inout metadata_t meta) {
    apply {}
}

control Compute(inout switch_headers_t hdr, inout metadata_t meta) {
    apply {}
}

control Deparse(packet_out packet, in switch_headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(Parse(), Verify(), BfcIngress(), BfcEgress(), Compute(), Deparse()) main;
