// SPDX-License-Identifier: Apache-2.0
// Lengths of queues and the bitmap of non-empty queues.
//
// The traffic manager of a hardware switch provides both. v1model provides queue depths only in
// egress and in packets, so ingress increases the lengths here and egress decreases them. Each
// update is one action without branches, which BMv2 executes atomically.

#ifndef BFC_QUEUES_P4
#define BFC_QUEUES_P4

register<bit<32>, bit<32>>(QUEUE_TABLE) queue_bytes;
register<bit<32>, bit<32>>(PORTS) busy_queues; // bit i: queue i has packets

control JoinQueue(in port_t port, in bit<8> queue, in bit<32> length,
                  out bit<32> queue_length, out bit<32> busy) {
    action join() {
        bit<32> place = (bit<32>)port * QUEUES + (bit<32>)queue;
        queue_bytes.read(queue_length, place);
        queue_length = queue_length + length;
        queue_bytes.write(place, queue_length);
        busy_queues.read(busy, (bit<32>)port);
        busy = busy | ((bit<32>)1 << queue);
        busy_queues.write((bit<32>)port, busy);
    }
    apply {
        join();
    }
}

control LeaveQueue(in port_t port, in bit<8> queue, in bit<32> length) {
    action leave() {
        bit<32> place = (bit<32>)port * QUEUES + (bit<32>)queue;
        bit<32> left;
        bit<32> busy;
        queue_bytes.read(left, place);
        left = left - length;
        queue_bytes.write(place, left);
        busy_queues.read(busy, (bit<32>)port);
        busy = busy & ~((bit<32>)(bit<1>)(left == 0) << queue);
        busy_queues.write((bit<32>)port, busy);
    }
    apply {
        leave();
    }
}

#endif
