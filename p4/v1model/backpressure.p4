// SPDX-License-Identifier: Apache-2.0
// Decisions to pause and resume upstream queues (section 3.3.3.2).

#ifndef BFC_BACKPRESSURE_P4
#define BFC_BACKPRESSURE_P4

register<bit<16>, bit<32>>(PAUSE_TABLE) pause_counter; // by ingress port and upstream queue
register<bit<32>, bit<32>>(PORTS) pausing; // bit i: the counter of upstream queue i is not 0
register<bit<32>, bit<32>>(PORTS) paused; // bit i: the downstream neighbour has paused queue i

// Counts the non-empty queues that are not paused (N_active), for at most 8 queues.
control CountActive(in port_t port, in bit<32> busy, out bit<8> active) {
    apply {
        bit<32> held;
        paused.read(held, (bit<32>)port);
        bit<8> x = (bit<8>)(busy & ~held);
        x = x - ((x >> 1) & 0x55);
        x = (x & 0x33) + ((x >> 2) & 0x33);
        active = (x + (x >> 4)) & 0x0F;
    }
}

// Sets carried.counted if the packet must be counted in the pause counter.
control IsBackpressured(in headers_t hdr, inout metadata_t meta, in port_t ingress_port,
                        in port_t port, in bit<32> queue_length, in bit<32> busy) {
    CountActive() count_active;
    bit<8> active;
    bit<32> threshold;
    bit<1> allowed;

    action deny() {
        allowed = 0;
    }
    action allow() {
        allowed = 1;
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
        size = 256;
    }

    action set_threshold(bit<32> bytes) {
        threshold = bytes;
    }
    // Th = HRTT * speed / N_active, computed by the driver.
    table pause_threshold {
        key = {
            meta.speed : exact;
            active : exact;
        }
        actions = {
            set_threshold;
        }
        default_action = set_threshold(0xFFFFFFFF);
        size = 1024;
    }

    apply {
        count_active.apply(port, busy, active);
        pause_threshold.apply();
        backpressure_allowed.apply();
        meta.carried.upstream_queue = NO_QUEUE;
        if (hdr.bfc.isValid()) {
            meta.carried.upstream_queue = hdr.bfc.queue;
        }
        meta.carried.counted = 0;
        if (meta.sampled == 1 && allowed == 1 && queue_length > threshold &&
            meta.carried.upstream_queue < meta.settings.upstream_queues) {
            meta.carried.counted = 1;
        }
    }
}

// Increments the pause counter; sets `first` if the upstream queue must be paused.
control CountPause(in carried_t carried, out bool first) {
    apply {
        bit<32> place = (bit<32>)carried.ingress_port * UPSTREAM_QUEUES
            + (bit<32>)carried.upstream_queue;
        bit<32> as_bit = (bit<32>)1 << carried.upstream_queue;
        bit<16> count;
        bit<32> bits;
        pause_counter.read(count, place);
        pausing.read(bits, (bit<32>)carried.ingress_port);
        first = (bits & as_bit) == 0;
        if (first) {
            count = 0; // not yet 0 if headers were lost (lost_headers.p4)
        }
        pause_counter.write(place, count + 1);
        pausing.write((bit<32>)carried.ingress_port, bits | as_bit);
    }
}

// Decrements the pause counter; sets `last` if the upstream queue must be resumed. A refresh may
// have resumed it already (lost_headers.p4).
control CountResume(in carried_t carried, out bool last) {
    apply {
        bit<32> place = (bit<32>)carried.ingress_port * UPSTREAM_QUEUES
            + (bit<32>)carried.upstream_queue;
        bit<32> as_bit = (bit<32>)1 << carried.upstream_queue;
        bit<16> count;
        bit<32> bits;
        last = false;
        pausing.read(bits, (bit<32>)carried.ingress_port);
        if ((bits & as_bit) != 0) {
            pause_counter.read(count, place);
            pause_counter.write(place, count - 1);
            if (count == 1) {
                last = true;
                pausing.write((bit<32>)carried.ingress_port, bits & ~as_bit);
            }
        }
    }
}

#endif
