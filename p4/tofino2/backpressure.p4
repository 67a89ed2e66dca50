// SPDX-License-Identifier: Apache-2.0
// Pause threshold and pause counter (section 3.3.3.2).

#ifndef BFC_BACKPRESSURE_P4
#define BFC_BACKPRESSURE_P4

Register<bit<16>, pause_index_t>(PAUSE_TABLE) pause_counter;

// Determines whether the packet's queue, as last reported by the traffic manager, is above the
// threshold and whether its pair of ports allows backpressure.
control Threshold(inout internal_headers_t hdr, inout ingress_metadata_t meta,
                  in PortId_t ingress_port, in PortId_t port) {
    action deny() {
        meta.allowed = 0;
    }
    action allow() {
        meta.allowed = 1;
    }
    // Excludes pairs of ports that could close a cycle (appendix D).
    table backpressure_allowed {
        key = {
            ingress_port : exact;
            port : exact;
        }
        actions = {
            deny;
            allow;
        }
        const default_action = allow();
        size = 1024;
    }

    action set_threshold(cells_t cells) {
        meta.threshold = cells;
    }
    // Th = HRTT * speed / N_active, in cells.
    table pause_threshold {
        key = {
            meta.speed : exact;
            meta.active : exact;
        }
        actions = {
            set_threshold;
        }
        default_action = set_threshold(0xFFFF);
        size = 1024;
    }

    Hash<queue_index_t>(HashAlgorithm_t.IDENTITY) place; // concatenation of two fields
    RegisterAction<cells_t, queue_index_t, bit<1>>(queue_cells) is_longer = {
        void apply(inout cells_t value, out bit<1> longer) {
            longer = 0;
            if (value > meta.threshold) {
                longer = 1;
            }
        }
    };

    action compare() {
        meta.congested = is_longer.execute(place.get({ port, hdr.bridge.queue[4:0] }));
    }

    apply {
        pause_threshold.apply();
        backpressure_allowed.apply();
        compare();
    }
}

control PauseCounter(inout internal_headers_t hdr, inout ingress_metadata_t meta) {
    Hash<pause_index_t>(HashAlgorithm_t.IDENTITY) place;
    RegisterAction<bit<16>, pause_index_t, bit<1>>(pause_counter) one_more = {
        void apply(inout bit<16> value, out bit<1> left_zero) {
            left_zero = 0;
            if (value == 0) {
                left_zero = 1;
            }
            value = value + 1;
        }
    };
    RegisterAction<bit<16>, pause_index_t, bit<1>>(pause_counter) one_less = {
        void apply(inout bit<16> value, out bit<1> reached_zero) {
            reached_zero = 0;
            if (value == 1) {
                reached_zero = 1;
            }
            value = value - 1;
        }
    };
    RegisterAction<bit<16>, pause_index_t, bit<1>>(pause_counter) as_many = {
        void apply(inout bit<16> value, out bit<1> is_zero) {
            is_zero = 0;
            if (value == 0) {
                is_zero = 1;
            }
        }
    };
    action count_in() {
        meta.turned = one_more.execute(place.get({ meta.port_index, hdr.bridge.upstream_queue[4:0] }));
    }
    action count_out() {
        meta.turned = one_less.execute(place.get({ meta.port_index, hdr.bridge.upstream_queue[4:0] }));
    }
    action look() {
        meta.turned = as_many.execute(place.get({ meta.port_index, hdr.bridge.upstream_queue[4:0] }));
    }
    table pausing_packets {
        key = {
            meta.is_refresh : exact;
            meta.is_dequeue : exact;
            hdr.bridge.counted : exact;
        }
        actions = {
            count_in;
            count_out;
            look;
            NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (0, 0, 1) : count_in();
            (0, 1, 1) : count_out();
            (1, 0, 0) : look();
        }
        size = 4;
    }

    apply {
        pausing_packets.apply();
    }
}

#endif
