// SPDX-License-Identifier: Apache-2.0
// Assignment of packets to queues (section 3.3.3.1, sticky assignment in 3.3.3.2).

#ifndef BFC_ASSIGN_P4
#define BFC_ASSIGN_P4

// Flow table: one register for each of the three fields of an entry (section 3.4).
register<bit<16>, bit<32>>(FLOW_TABLE) flow_size; // sampled packets in the switch
register<bit<8>, bit<32>>(FLOW_TABLE) flow_queue; // queue + 1; 0 before the first flow
register<clock_t, bit<32>>(FLOW_TABLE) flow_touched;

register<bit<8>, bit<32>>(PORTS) next_in_turn; // start of the search for an empty queue
register<bit<32>, bit<32>>(1) random_state; // set by the driver to a non-zero seed

// Marsaglia's 32-bit xorshift generator (13, 17, 5), which is reproducible, unlike random().
control Draw(out bit<32> number) {
    apply {
        random_state.read(number, 0);
        number = number ^ (number << 13);
        number = number ^ (number >> 17);
        number = number ^ (number << 5);
        random_state.write(0, number);
    }
}

// Finds the first queue of the bitmap `empty` from `start` on, wrapping around. A table maps the
// lowest set bit to its number.
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
        wanted = (empty >> start) << start; // queues from `start` on
        if (wanted == 0) {
            wanted = empty;
        }
        wanted = wanted & (~wanted + 1);
        first_bit.apply();
    }
}

// Finds the flow's entry and queue and counts a sampled packet. Only ingress uses the flow table,
// and BMv2's ingress is a single thread, so branches between reads and writes are safe.
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
            size = 0; // the queue is empty, so the headers of the counted packets were lost
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

// Removes a departed packet from its flow's count.
control Forget(in bit<32> entry, in clock_t now) {
    Age() age;
    bit<16> size;
    clock_t touched;
    clock_t idle;
    clock_t latest;

    apply {
        flow_size.read(size, entry);
        if (size != 0) { // 0 if the header arrives after being considered lost
            flow_size.write(entry, size - 1);
        }
        flow_touched.read(touched, entry);
        age.apply(now, touched, idle, latest);
        flow_touched.write(entry, latest);
    }
}

#endif
