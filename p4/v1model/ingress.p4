// SPDX-License-Identifier: Apache-2.0
// On Enqueue(packet) of the thesis's pseudocode, and On Dequeue(packet) for recirculated headers.

#ifndef BFC_INGRESS_P4
#define BFC_INGRESS_P4

const bit<32> INSTANCE_INGRESS_CLONE = 1;
const bit<32> INSTANCE_EGRESS_CLONE = 2;
const bit<32> INSTANCE_RECIRCULATED = 4;

// Assigns a data packet to a queue, counts it, and pauses its upstream queue if necessary.
control Enqueue(inout switch_headers_t hdr, inout metadata_t meta,
                inout standard_metadata_t standard, in clock_t now) {
    Draw() draw;
    Assign() assign;
    JoinQueue() join_queue;
    IsBackpressured() is_backpressured;
    CountPause() count_pause;
    JoinCongested() join_congested;
    Hold() hold;
    bit<32> number;
    bit<32> queue_length;
    bit<32> busy;
    bool first;

    apply {
        draw.apply(number);
        meta.sampled = (bit<1>)((bit<17>)(number >> 16) < meta.settings.sampled);
        assign.apply(hdr.wire, meta, standard.egress_spec, now, number);
        meta.is_data = true;
        meta.length = standard.packet_length;
        meta.carried.ingress_port = standard.ingress_port;
        standard.priority = (bit<3>)meta.queue;
        join_queue.apply(standard.egress_spec, meta.queue, meta.length, queue_length, busy);
        is_backpressured.apply(hdr.wire, meta, standard.ingress_port, standard.egress_spec,
                               queue_length, busy);
        if (meta.carried.counted == 1) {
            join_congested.apply(meta.carried);
            count_pause.apply(meta.carried, first);
            if (first) {
                // Through the recirculation port, because clones of ingress always join queue 0.
                meta.carried.task = TASK_PAUSE;
                clone_preserving_field_list(CloneType.I2E, RECIRCULATION_SESSION, CARRIED);
            }
        }
        hold.apply(hdr.held, meta, standard);
    }
}

// Processes a recirculated header: converts it to a pause, or uncounts its packet and converts it to
// a resume if necessary.
control ComeBack(inout switch_headers_t hdr, inout metadata_t meta,
               inout standard_metadata_t standard, in clock_t now) {
    Forget() forget;
    CountResume() count_resume;
    MakeSignal() make_signal;
    bit<4> kind;
    bool tell;

    apply {
        kind = BFC_PAUSE;
        tell = true;
        if (meta.carried.task == TASK_DEQUEUE) {
            kind = BFC_RESUME;
            forget.apply(meta.carried.entry, now);
            tell = false;
            if (meta.carried.counted == 1) {
                count_resume.apply(meta.carried, tell);
            }
        }
        if (tell) {
            make_signal.apply(hdr.wire, kind, meta.carried.upstream_queue);
            standard.egress_spec = meta.carried.ingress_port;
            standard.priority = (bit<3>)CONTROL_QUEUE;
            truncate(HEADER_BYTES);
        } else {
            mark_to_drop(standard);
        }
    }
}

control BfcIngress(inout switch_headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard) {
    Clock() clock;
    Enqueue() enqueue;
    ComeBack() come_back;
    Release() release;
    Messages() messages;
    clock_t arrived;
    clock_t now;

    action configure(bit<8> data_queues, bit<8> upstream_queues, bit<32> flow_entries,
                     clock_t sticky, bit<17> sampled, bit<1> skip_paused) {
        meta.settings.data_queues = data_queues;
        meta.settings.upstream_queues = upstream_queues;
        meta.settings.flow_entries = flow_entries;
        meta.settings.sticky = sticky;
        meta.settings.sampled = sampled;
        meta.settings.skip_paused = skip_paused;
    }
    // The default sticky time is 2 HRTT of 1 ms, for a software switch. The driver can change it.
    table settings {
        actions = {
            configure;
        }
        default_action = configure(QUEUES - 1, UPSTREAM_QUEUES, FLOW_ENTRIES, 2000, 65536, 0);
    }

    action drop() {
        mark_to_drop(standard);
    }
    action to_port(port_t port, bit<8> speed) {
        standard.egress_spec = port;
        meta.speed = speed;
    }
    // Routes, set by the driver: BFC does not include routing.
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

    apply {
        bool is_back = standard.instance_type == INSTANCE_RECIRCULATED;
        settings.apply();
        arrived = (clock_t)standard.ingress_global_timestamp;
        if (is_back) {
            arrived = meta.carried.left; // BMv2 sets no time of arrival
        }
        clock.apply(arrived, now);
        if (is_back) {
            come_back.apply(hdr, meta, standard, now);
        } else if (hdr.held.isValid()) {
            release.apply(hdr.held, meta, standard);
        } else if (hdr.wire.bfc.isValid() && hdr.wire.bfc.kind != BFC_DATA) {
            messages.apply(hdr.wire, meta.settings, standard);
        } else if (forward.apply().hit && standard.egress_spec < PORTS &&
                   standard.ingress_port < PORTS) {
            enqueue.apply(hdr, meta, standard, now);
        } else {
            mark_to_drop(standard);
        }
    }
}

#endif
