// SPDX-License-Identifier: Apache-2.0

#ifndef BFC_INGRESS_P4
#define BFC_INGRESS_P4

parser IngressParse(packet_in packet, out internal_headers_t hdr, out ingress_metadata_t meta,
                    out ingress_intrinsic_metadata_t intrinsic) {
    WireParser() wire;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        meta = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
        transition select(intrinsic.ingress_port) {
            INSIDE &&& INSIDE_MASK : inside;
            default : from_wire;
        }
    }

    state inside {
        transition select(packet.lookahead<bit<8>>()) {
            INTERNAL_DEQUEUE : recirculated;
            default : generated;
        }
    }

    state recirculated {
        packet.extract(hdr.bridge);
        meta.is_dequeue = 1;
        transition from_wire;
    }

    state generated {
        packet.extract(hdr.generated);
        meta.is_refresh = 1;
        transition from_wire;
    }

    state from_wire {
        wire.apply(packet, hdr.wire);
        transition accept;
    }
}

// On Enqueue(packet), On Dequeue(packet) for recirculated headers, and the refresh of pauses.
control BfcIngress(inout internal_headers_t hdr, inout ingress_metadata_t meta,
                   in ingress_intrinsic_metadata_t intrinsic,
                   in ingress_intrinsic_metadata_from_parser_t from_parser,
                   inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                   inout ingress_intrinsic_metadata_for_tm_t for_tm,
                   in ghost_intrinsic_metadata_t ghost) {
    Hash<flow_index_t>(HashAlgorithm_t.CRC32) flow_hash;
    Hash<flow_index_t>(HashAlgorithm_t.CRC32) hosts_hash;
    Random<bit<5>>() random_queue;
    Random<bit<16>>() random_sample;
    FirstEmpty() first_empty;
    CountActive() count_active;
    FlowTable() flow_table;
    Threshold() threshold;
    PauseCounter() pause_counting;
    PauseQueue() pause_queue;
    MakeSignal() make_signal;

    action from_port(bit<8> pipe, bit<6> index, MirrorId_t session) {
        meta.pipe = pipe;
        meta.port_index = index;
        meta.session = session;
    }
    // Properties of the ingress port of the packet or, for a recirculated header, of its packet.
    table ingress_ports {
        key = {
            hdr.bridge.ingress_port : exact;
        }
        actions = {
            from_port;
        }
        size = PORTS;
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
        hdr.bridge.sampled = 1;
    }
    action pass_by() {
        hdr.bridge.sampled = 0;
    }
    bit<16> chance;
    // By default every packet is sampled. The driver sets the unsampled ranges of 65536 random
    // numbers (appendix E).
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
    action look_for_busy() {
        meta.busy = read_busy.execute(for_tm.ucast_egress_port);
    }
    action look_for_paused() {
        meta.held = read_paused.execute(for_tm.ucast_egress_port);
    }

    action hash_flow() {
        hdr.bridge.entry = flow_hash.get({ for_tm.ucast_egress_port, hdr.wire.ipv4.source,
                                           hdr.wire.ipv4.destination, hdr.wire.ipv4.protocol,
                                           hdr.wire.l4.source, hdr.wire.l4.destination });
    }
    action hash_hosts() {
        hdr.bridge.entry = hosts_hash.get({ for_tm.ucast_egress_port, hdr.wire.ipv4.source,
                                            hdr.wire.ipv4.destination, hdr.wire.ipv4.protocol });
    }
    action use_entry_of_port() {
        hdr.bridge.entry = (flow_index_t)for_tm.ucast_egress_port;
    }

    action has_arrived() {
        hdr.bridge.setValid();
        hdr.bridge.kind = INTERNAL_DATA;
        hdr.bridge.ingress_port = intrinsic.ingress_port;
        hdr.bridge.counted = 0;
    }
    action is_to_be_refreshed() {
        hdr.bridge.setValid();
        hdr.bridge.counted = 0;
        hdr.bridge.ingress_port = hdr.generated.pipe_id ++ hdr.generated.batch_id[6:0];
        hdr.bridge.upstream_queue = hdr.generated.packet_id[7:0];
    }

    action mirror_pause() {
        for_deparser.mirror_type = MIRROR;
        for_deparser.mirror_io_select = AS_IT_CAME;
        meta.copy_kind = INTERNAL_PAUSE;
    }
    // The packet itself becomes the pause or resume.
    action send_upstream() {
        for_tm.ucast_egress_port = hdr.bridge.ingress_port;
        for_tm.qid = (QueueId_t)CONTROL_QUEUE;
        for_tm.bypass_egress = 1;
        hdr.bridge.setInvalid();
    }

    apply {
        if (meta.is_refresh == 1) {
            is_to_be_refreshed();
        } else if (meta.is_dequeue == 0) {
            has_arrived();
            if (hdr.wire.bfc.isValid()) {
                hdr.bridge.upstream_queue = hdr.wire.bfc.queue;
            } else {
                hdr.bridge.upstream_queue = NO_QUEUE;
            }
        }
        ingress_ports.apply();
        meta.now = (clock_t)from_parser.global_tstamp[21:6];

        if (meta.is_refresh == 0 && meta.is_dequeue == 0 && hdr.wire.bfc.isValid() &&
            hdr.wire.bfc.kind != BFC_DATA) {
            pause_queue.apply(hdr.wire, meta, intrinsic.ingress_port, for_deparser);
        } else {
            if (meta.is_refresh == 0) {
                if (meta.is_dequeue == 0) {
                    forward.apply();
                    chance = random_sample.get();
                    sampling.apply();
                    if (hdr.wire.bfc.isValid() && hdr.wire.bfc.incast == 1) {
                        use_entry_of_port(); // shared by all labelled flows
                    } else if (hdr.wire.l4.isValid()) {
                        hash_flow();
                    } else if (hdr.wire.ipv4.isValid()) {
                        hash_hosts();
                    } else {
                        use_entry_of_port();
                    }
                    look_for_busy();
                    look_for_paused();
                    first_empty.apply(meta);
                    count_active.apply(meta);
                    if (meta.empty_queue == NO_QUEUE) {
                        meta.empty_queue = (bit<8>)random_queue.get();
                        if (meta.empty_queue == CONTROL_QUEUE) {
                            meta.empty_queue = 0; // twice as often as any other queue
                        }
                    }
                }
                flow_table.apply(hdr, meta);
                if (meta.is_dequeue == 0) {
                    for_tm.qid = (QueueId_t)hdr.bridge.queue;
                    threshold.apply(hdr, meta, intrinsic.ingress_port, for_tm.ucast_egress_port);
                    if (meta.congested == 1 && hdr.bridge.sampled == 1 && meta.allowed == 1 &&
                        hdr.bridge.upstream_queue[7:5] == 0) {
                        hdr.bridge.counted = 1;
                    }
                }
            }
            pause_counting.apply(hdr, meta);
            if (meta.is_refresh == 1 || meta.is_dequeue == 1) {
                if (meta.turned == 1) {
                    make_signal.apply(hdr.wire, BFC_RESUME, hdr.bridge.upstream_queue);
                    send_upstream();
                } else if (meta.is_refresh == 1) {
                    make_signal.apply(hdr.wire, BFC_PAUSE, hdr.bridge.upstream_queue);
                    send_upstream();
                } else {
                    drop();
                }
            } else if (meta.turned == 1) {
                mirror_pause();
            }
        }
    }
}

control IngressDeparse(packet_out packet, inout internal_headers_t hdr, in ingress_metadata_t meta,
                       in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    Mirror() mirror;
    apply {
        if (for_deparser.mirror_type == MIRROR) {
            mirror.emit<bridge_t>(meta.session, BRIDGE(meta.copy_kind, hdr.bridge));
        }
        packet.emit(hdr.bridge);
        packet.emit(hdr.wire);
    }
}

#endif
