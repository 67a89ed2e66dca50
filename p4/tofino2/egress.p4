// SPDX-License-Identifier: Apache-2.0

#ifndef BFC_EGRESS_P4
#define BFC_EGRESS_P4

parser EgressParse(packet_in packet, out internal_headers_t hdr, out egress_metadata_t meta,
                   out egress_intrinsic_metadata_t intrinsic) {
    WireParser() wire;

    state start {
        packet.extract(intrinsic);
        meta = { 0, 0, 1 };
        // Packets to be recirculated pass unchanged.
        transition select(packet.lookahead<bit<8>>()) {
            INTERNAL_DEQUEUE : accept;
            default : bridged;
        }
    }

    state bridged {
        packet.extract(hdr.bridge);
        wire.apply(packet, hdr.wire);
        transition accept;
    }
}

control BfcEgress(inout internal_headers_t hdr, inout egress_metadata_t meta,
                  in egress_intrinsic_metadata_t intrinsic,
                  in egress_intrinsic_metadata_from_parser_t from_parser,
                  inout egress_intrinsic_metadata_for_deparser_t for_deparser,
                  inout egress_intrinsic_metadata_for_output_port_t for_port) {
    NameQueue() name_queue;
    MakeSignal() make_signal;

    action set_neighbour(bit<1> speaks_bfc) {
        meta.speaks_bfc = speaks_bfc;
    }
    table neighbour {
        key = {
            intrinsic.egress_port : exact;
        }
        actions = {
            set_neighbour;
        }
        default_action = set_neighbour(1);
        size = PORTS;
    }

    // Mirror session to the recirculation port of the packet's ingress pipe.
    action back_to(MirrorId_t session) {
        for_deparser.mirror_type = MIRROR;
        for_deparser.mirror_io_select = AS_IT_GOES; // without the bridge
        meta.session = session;
        meta.copy_kind = INTERNAL_DEQUEUE;
    }
    table recirculation {
        key = {
            hdr.bridge.ingress_port : exact;
        }
        actions = {
            back_to;
        }
        size = PORTS;
    }

    apply {
        neighbour.apply();
        if (hdr.bridge.isValid()) {
            if (hdr.bridge.kind == INTERNAL_PAUSE) {
                make_signal.apply(hdr.wire, BFC_PAUSE, hdr.bridge.upstream_queue);
            } else {
                if (hdr.bridge.sampled == 1) {
                    recirculation.apply();
                }
                name_queue.apply(hdr.wire, hdr.bridge.queue, meta.speaks_bfc == 1);
            }
        }
    }
}

control EgressDeparse(packet_out packet, inout internal_headers_t hdr, in egress_metadata_t meta,
                      in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    Mirror() mirror;
    apply {
        if (for_deparser.mirror_type == MIRROR) {
            mirror.emit<bridge_t>(meta.session, BRIDGE(meta.copy_kind, hdr.bridge));
        }
        packet.emit(hdr.wire);
    }
}

#endif
