// SPDX-License-Identifier: Apache-2.0
// Which queue a packet joins (section 3.3.3.1, sticky assignment in 3.3.3.2).

#ifndef BFC_ASSIGN_P4
#define BFC_ASSIGN_P4

// The flow table: one register for each of the three values of an entry (section 3.4).
register<bit<16>, bit<32>>(FLOW_TABLE) flow_size; // packets in the switch that will be recirculated
register<bit<8>, bit<32>>(FLOW_TABLE) flow_queue; // the queue plus 1; 0 before the first flow
register<clock_t, bit<32>>(FLOW_TABLE) flow_touched;

register<bit<8>, bit<32>>(PORTS) next_in_turn; // where the search for an empty queue starts
register<bit<32>, bit<32>>(1) random_state; // set by the driver to the seed, which is not 0

// The next of Marsaglia's 32-bit xorshift numbers (13, 17, 5): unlike random(), it can be repeated.
control Draw(out bit<32> number) {
    apply {
        random_state.read(number, 0);
        number = number ^ (number << 13);
        number = number ^ (number >> 17);
        number = number ^ (number << 5);
        random_state.write(0, number);
    }
}

// The first queue in turn among those of which `empty` has the bits. A table finds the bit.
control FirstEmpty(in bit<32> empty, in bit<8> start, out bit<8> queue) {
    bit<32> wanted;

    action found(bit<8> number) {
        queue = number;
    }
    table first_bit {
        key = {
            wanted : exact;
        }
        actions = {
            found;
        }
        const default_action = found(0);
        const entries = {
            0x01 : found(0);
            0x02 : found(1);
            0x04 : found(2);
            0x08 : found(3);
            0x10 : found(4);
            0x20 : found(5);
            0x40 : found(6);
        }
    }
    apply {
        wanted = (empty >> start) << start; // those from `start` on
        if (wanted == 0) {
            wanted = empty;
        }
        wanted = wanted & (~wanted + 1);
        first_bit.apply();
    }
}

// Finds the flow's entry and queue, and counts the packet in. Only ingress uses the flow table, and
// BMv2's ingress is one thread: the branches between reads and writes are safe here.
control Assign(in headers_t hdr, inout metadata_t meta, in port_t port, in clock_t now,
               in bit<32> number) {
    IdentifyFlow() identify_flow;
    Age() age;
    FirstEmpty() first_empty;
    flow_id_t flow;
    bit<32> entry;
    bit<16> size;
    bit<8> assigned;
    clock_t touched;
    clock_t idle;
    clock_t latest;
    bit<32> busy;

    action find_entry() {
        hash(entry, HashAlgorithm.crc32, (bit<32>)0,
             { flow.source, flow.destination, flow.protocol, flow.source_port,
               flow.destination_port }, meta.settings.flow_entries);
    }

    apply {
        identify_flow.apply(hdr, flow);
        find_entry();
        if (hdr.bfc.isValid() && hdr.bfc.incast == 1) {
            entry = meta.settings.flow_entries;
        }
        entry = entry + (bit<32>)port * (FLOW_ENTRIES + 1);
        flow_size.read(size, entry);
        flow_queue.read(assigned, entry);
        flow_touched.read(touched, entry);
        age.apply(now, touched, idle, latest);
        busy_queues.read(busy, (bit<32>)port);
        if (idle > HEADER_LIFETIME && ((busy >> (assigned - 1)) & 1) == 0) {
            size = 0; // its queue is empty: the headers of the packets that it counts were lost
        }
        if (assigned == 0 || (size == 0 && idle > meta.settings.sticky)) {
            bit<8> start;
            if (meta.settings.skip_paused == 1) {
                bit<32> stopped;
                paused.read(stopped, (bit<32>)port);
                busy = busy | stopped;
            }
            next_in_turn.read(start, (bit<32>)port);
            bit<32> empty = ~busy & (((bit<32>)1 << meta.settings.data_queues) - 1);
            if (empty != 0) {
                first_empty.apply(empty, start, assigned);
                start = assigned + 1;
                if (start == meta.settings.data_queues) {
                    start = 0;
                }
                next_in_turn.write((bit<32>)port, start);
            } else {
                assigned = (bit<8>)((number & 0xFFFF) * (bit<32>)meta.settings.data_queues >> 16);
            }
            assigned = assigned + 1;
        }
        flow_size.write(entry, size + (bit<16>)meta.sampled);
        flow_queue.write(entry, assigned);
        flow_touched.write(entry, latest);
        meta.queue = assigned - 1;
        meta.carried.entry = entry;
    }
}

// Counts a packet out that has left.
control Forget(in bit<32> entry, in clock_t now) {
    Age() age;
    bit<16> size;
    clock_t touched;
    clock_t idle;
    clock_t latest;

    apply {
        flow_size.read(size, entry);
        if (size != 0) { // 0 if the header was given up for lost and comes after all
            flow_size.write(entry, size - 1);
        }
        flow_touched.read(touched, entry);
        age.apply(now, touched, idle, latest);
        flow_touched.write(entry, latest);
    }
}

#endif
