// SPDX-License-Identifier: Apache-2.0

#ifndef BFC_INGRESS_P4
#define BFC_INGRESS_P4

parser IngressParse(packet_in packet, out internal_headers_t hdr, out ingress_metadata_t meta,
                    out ingress_intrinsic_metadata_t intrinsic) {
    WireParser() wire;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        meta = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                 { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 0 };
        transition select(intrinsic.ingress_port) {
            68 : recirculated; // the recirculation port of each pipe
            196 : recirculated;
            324 : recirculated;
            452 : recirculated;
            default : from_wire;
        }
    }

    state recirculated {
        packet.extract(hdr.bridge);
        meta.is_dequeue = 1;
        transition from_wire;
    }

    state from_wire {
        wire.apply(packet, hdr.wire);
        transition accept;
    }
}

// On Enqueue(packet), and On Dequeue(packet) for recirculated headers.
control BfcIngress(inout internal_headers_t hdr, inout ingress_metadata_t meta,
                   in ingress_intrinsic_metadata_t intrinsic,
                   in ingress_intrinsic_metadata_from_parser_t from_parser,
                   inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                   inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    Hash<flow_index_t>(HashAlgorithm_t.CRC32) flow_hash;
    Random<bit<5>>() random_queue;
    Random<bit<16>>() random_sample;
    FirstEmpty() first_empty;
    CountActive() count_active;
    FlowTable() flow_table;
    Threshold() threshold;
    PauseCounter() pause_counting;
    PauseQueue() pause_queue;
    MakeSignal() make_signal;
    flow_index_t entry;

    action from_port(bit<8> pipe, bit<8> index, MirrorId_t session) {
        meta.pipe = pipe;
        meta.port_index = index;
        meta.session = session; // whose port is this ingress port
    }
    // By where the packet came from: itself, or the one whose header comes back.
    table ingress_ports {
        key = {
            hdr.bridge.ingress_port : exact;
        }
        actions = {
            from_port;
        }
        size = 512;
    }

    action drop() {
        for_deparser.drop_ctl = 1;
    }
    action to_port(PortId_t port, bit<8> speed) {
        for_tm.ucast_egress_port = port;
        meta.speed = speed;
    }
    table forward {
        key = {
            hdr.wire.ethernet.destination : exact;
        }
        actions = {
            to_port;
            drop;
        }
        default_action = drop();
        size = 1024;
    }

    action sample() {
        meta.sampled = 1;
    }
    action pass_by() {
        meta.sampled = 0;
    }
    bit<16> chance;
    // Every packet, until the driver says which of 65536 numbers are not sampled (appendix E).
    table sampling {
        key = {
            chance : range;
        }
        actions = {
            sample;
            pass_by;
        }
        default_action = sample();
        size = 8;
    }

    RegisterAction<bit<32>, PortId_t, bit<32>>(busy_queues) read_busy = {
        void apply(inout bit<32> value, out bit<32> found) {
            found = value;
        }
    };
    RegisterAction<bit<32>, PortId_t, bit<32>>(paused_queues) read_paused = {
        void apply(inout bit<32> value, out bit<32> found) {
            found = value;
        }
    };

    action hash_flow() {
        entry = flow_hash.get({ for_tm.ucast_egress_port, hdr.wire.ipv4.source,
                                hdr.wire.ipv4.destination, hdr.wire.ipv4.protocol,
                                hdr.wire.l4.source, hdr.wire.l4.destination });
    }
    action hash_incast() {
        entry = (flow_index_t)for_tm.ucast_egress_port; // one entry for all of a port
    }

    action mirror_pause() {
        for_deparser.mirror_type = MIRROR;
        for_deparser.mirror_io_select = AS_IT_CAME;
        meta.copy = hdr.bridge;
        meta.copy.kind = INTERNAL_PAUSE;
    }

    apply {
        if (meta.is_dequeue == 0) {
            hdr.bridge.setValid();
            hdr.bridge.kind = INTERNAL_DATA;
            hdr.bridge.ingress_port = intrinsic.ingress_port;
            hdr.bridge.padding = 0;
            hdr.bridge.padding_too = 0;
            hdr.bridge.padding_three = 0;
            hdr.bridge.padding_four = 0;
            hdr.bridge.counted = 0;
            hdr.bridge.upstream_queue = NO_QUEUE;
            if (hdr.wire.bfc.isValid()) {
                hdr.bridge.upstream_queue = hdr.wire.bfc.queue;
                if (hdr.wire.bfc.kind == BFC_REFRESH) {
                    hdr.bridge.ingress_port = (PortId_t)hdr.wire.bfc.port;
                }
            }
        }
        ingress_ports.apply();
        meta.now = (clock_t)from_parser.global_tstamp[21:6];

        if (meta.is_dequeue == 0 && hdr.wire.bfc.isValid() && hdr.wire.bfc.kind != BFC_DATA) {
            if (hdr.wire.bfc.kind == BFC_REFRESH) {
                // From the packet generator: one queue of one port at a time, in place of a bitmap.
                pause_counting.apply(hdr, meta);
                bit<4> kind = BFC_PAUSE;
                if (meta.turned == 1) {
                    kind = BFC_RESUME;
                }
                make_signal.apply(hdr.wire, kind, hdr.bridge.upstream_queue);
                for_tm.ucast_egress_port = hdr.bridge.ingress_port;
                for_tm.qid = (QueueId_t)CONTROL_QUEUE;
                for_tm.bypass_egress = 1;
                hdr.bridge.setInvalid();
            } else {
                pause_queue.apply(hdr.wire, meta, intrinsic.ingress_port, for_deparser);
            }
        } else {
            if (meta.is_dequeue == 1) {
                entry = hdr.bridge.entry;
            } else {
                forward.apply();
                chance = random_sample.get();
                sampling.apply();
                if (hdr.wire.bfc.isValid() && hdr.wire.bfc.incast == 1) {
                    hash_incast();
                } else {
                    hash_flow();
                }
                meta.busy = read_busy.execute(for_tm.ucast_egress_port);
                meta.held = read_paused.execute(for_tm.ucast_egress_port);
                first_empty.apply(meta);
                count_active.apply(meta);
                if (meta.empty_queue == NO_QUEUE) {
                    meta.empty_queue = (bit<8>)random_queue.get();
                    if (meta.empty_queue == CONTROL_QUEUE) {
                        meta.empty_queue = 0; // once in 32 times more often than the others
                    }
                }
            }
            flow_table.apply(hdr, meta, entry);
            if (meta.is_dequeue == 0) {
                hdr.bridge.entry = entry;
                hdr.bridge.sampled = meta.sampled;
                hdr.bridge.egress_port = for_tm.ucast_egress_port;
                for_tm.qid = (QueueId_t)hdr.bridge.queue;
                threshold.apply(hdr, meta, intrinsic.ingress_port, for_tm.ucast_egress_port);
                if (meta.congested == 1 && meta.sampled == 1 && hdr.bridge.backpressured == 1 &&
                    hdr.bridge.upstream_queue[7:5] == 0) {
                    hdr.bridge.counted = 1;
                }
            }
            pause_counting.apply(hdr, meta);
            if (meta.is_dequeue == 0) {
                if (meta.turned == 1) {
                    mirror_pause();
                }
            } else if (meta.turned == 1) {
                make_signal.apply(hdr.wire, BFC_RESUME, hdr.bridge.upstream_queue);
                for_tm.ucast_egress_port = hdr.bridge.ingress_port;
                for_tm.qid = (QueueId_t)CONTROL_QUEUE;
                for_tm.bypass_egress = 1;
                hdr.bridge.setInvalid();
            } else {
                drop();
            }
        }
    }
}

control IngressDeparse(packet_out packet, inout internal_headers_t hdr, in ingress_metadata_t meta,
                       in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    Mirror() mirror;
    apply {
        if (for_deparser.mirror_type == MIRROR) {
            mirror.emit<bridge_t>(meta.session, meta.copy);
        }
        packet.emit(hdr.bridge);
        packet.emit(hdr.wire);
    }
}

#endif
