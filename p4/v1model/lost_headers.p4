// SPDX-License-Identifier: Apache-2.0
// Second count of the packets in the pause counter, independent of recirculated headers.
//
// Recirculated headers decrement the pause counter (section 3.4). If packets leave faster than
// ingress can process their headers, BMv2 drops headers, and an upstream queue would stay paused.
// Ingress increments this second count and egress decrements it, as for queue lengths (queues.p4),
// each in one action without branches. The refresh resumes upstream queues whose count is 0.

#ifndef BFC_LOST_HEADERS_P4
#define BFC_LOST_HEADERS_P4

register<bit<16>, bit<32>>(PAUSE_TABLE) congested_packets; // by ingress port and upstream queue
register<bit<32>, bit<32>>(PORTS) congesting; // bit i: the count of upstream queue i is not 0

// Increments the count for a packet in the pause counter that joins its queue.
control JoinCongested(in carried_t carried) {
    action join() {
        bit<32> place = (bit<32>)carried.ingress_port * UPSTREAM_QUEUES
            + (bit<32>)carried.upstream_queue;
        bit<16> count;
        bit<32> bits;
        congested_packets.read(count, place);
        congested_packets.write(place, count + 1);
        congesting.read(bits, (bit<32>)carried.ingress_port);
        bits = bits | ((bit<32>)1 << carried.upstream_queue);
        congesting.write((bit<32>)carried.ingress_port, bits);
    }
    apply {
        join();
    }
}

// Decrements the count for a packet that leaves its queue.
control LeaveCongested(in carried_t carried) {
    action leave() {
        bit<32> place = (bit<32>)carried.ingress_port * UPSTREAM_QUEUES
            + (bit<32>)carried.upstream_queue;
        bit<16> left;
        bit<32> bits;
        congested_packets.read(left, place);
        left = left - 1;
        congested_packets.write(place, left);
        congesting.read(bits, (bit<32>)carried.ingress_port);
        bits = bits & ~((bit<32>)(bit<1>)(left == 0) << carried.upstream_queue);
        congesting.write((bit<32>)carried.ingress_port, bits);
    }
    apply {
        leave();
    }
}

// Returns the upstream queues to pause. Upstream queues without counted packets in any queue are
// resumed. The headers of their departed packets were lost or will have no effect on arrival.
control RefreshPauses(in bit<32> port, out bit<32> held) {
    bit<32> bits;
    apply {
        pausing.read(held, port);
        congesting.read(bits, port);
        held = held & bits;
        pausing.write(port, held);
    }
}

#endif
