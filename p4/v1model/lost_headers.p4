// SPDX-License-Identifier: Apache-2.0
// A second count of the packets in the pause counter, which needs no recirculated header.
//
// The pause counter is counted down by headers that come back (section 3.4). BMv2 drops headers when
// more packets leave than ingress can take back, and an upstream queue would stay paused for good.
// This count goes up in ingress and down in egress, as the lengths of queues do (queues.p4), each in
// one action without branches. The refresh resumes the upstream queues for which it is 0.

#ifndef BFC_LOST_HEADERS_P4
#define BFC_LOST_HEADERS_P4

register<bit<16>, bit<32>>(PAUSE_TABLE) congested_packets; // by ingress port and upstream queue
register<bit<32>, bit<32>>(PORTS) congesting; // bit i: the count of upstream queue i is not 0

// Counts a packet that is in the pause counter and joins its queue.
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

// Counts it out, when it leaves its queue.
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

// The upstream queues to pause. Those that no packet in a queue asks for are resumed: the headers
// of the packets that did were lost, or will find that there is nothing left to do.
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
