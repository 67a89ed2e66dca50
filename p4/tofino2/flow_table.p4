// SPDX-License-Identifier: Apache-2.0
// Flow table: three registers in successive stages (section 3.4). Arriving packets and recirculated
// headers pass through the same stages and access each register at most once.

#ifndef BFC_FLOW_TABLE_P4
#define BFC_FLOW_TABLE_P4

Register<bit<16>, flow_index_t>(FLOW_ENTRIES) flow_size;
Register<clock_t, flow_index_t>(FLOW_ENTRIES) flow_touched;
Register<bit<8>, flow_index_t>(FLOW_ENTRIES) flow_queue;

control FlowTable(inout internal_headers_t hdr, inout ingress_metadata_t meta) {
    RegisterAction<bit<16>, flow_index_t, bit<1>>(flow_size) one_more = {
        void apply(inout bit<16> value, out bit<1> is_fresh) {
            is_fresh = 0;
            if (value == 0) {
                is_fresh = 1;
            }
            value = value + 1;
        }
    };
    RegisterAction<bit<16>, flow_index_t, bit<1>>(flow_size) as_many = {
        void apply(inout bit<16> value, out bit<1> is_fresh) {
            is_fresh = 0;
            if (value == 0) {
                is_fresh = 1;
            }
        }
    };
    RegisterAction<bit<16>, flow_index_t, bit<1>>(flow_size) one_less = {
        void apply(inout bit<16> value, out bit<1> is_fresh) {
            is_fresh = 0;
            value = value - 1;
        }
    };
    action count_in() {
        meta.fresh = one_more.execute(hdr.bridge.entry);
    }
    action look() {
        meta.fresh = as_many.execute(hdr.bridge.entry);
    }
    action count_out() {
        meta.fresh = one_less.execute(hdr.bridge.entry);
    }
    table size_of_flow {
        key = {
            meta.is_dequeue : exact;
            hdr.bridge.sampled : exact;
        }
        actions = {
            count_in;
            look;
            count_out;
            NoAction;
        }
        const default_action = NoAction(); // the hardware does not allow hashing in default actions
        const entries = {
            (0, 0) : look();
            (0, 1) : count_in();
            (1, 1) : count_out();
        }
        size = 4;
    }

    RegisterAction<clock_t, flow_index_t, clock_t>(flow_touched) touch = {
        void apply(inout clock_t value, out clock_t age) {
            age = meta.now - value;
            value = meta.now;
        }
    };

    RegisterAction<bit<8>, flow_index_t, bit<8>>(flow_queue) another = {
        void apply(inout bit<8> value, out bit<8> queue) {
            value = meta.empty_queue;
            queue = value;
        }
    };
    RegisterAction<bit<8>, flow_index_t, bit<8>>(flow_queue) the_same = {
        void apply(inout bit<8> value, out bit<8> queue) {
            queue = value;
        }
    };
    action reassign() {
        hdr.bridge.queue = another.execute(hdr.bridge.entry);
    }
    action keep() {
        hdr.bridge.queue = the_same.execute(hdr.bridge.entry);
    }
    // A flow gets another queue if it has had no packets in the switch for the sticky time. Packets
    // of two parsers of a pipe may be reordered after receiving their timestamps. A negative age
    // wraps to NOT_YET or more, and the flow keeps its queue.
    table queue_of_flow {
        key = {
            meta.is_dequeue : exact;
            meta.fresh : exact;
            meta.age : ternary;
        }
        actions = {
            reassign;
            keep;
            NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (0, 0, _) : keep();
            (0, 1, 0 &&& AFTER_STICKY) : keep();
            (0, 1, NOT_YET &&& AFTER_STICKY) : keep();
            (0, 1, _) : reassign();
        }
        size = 4;
    }

    apply {
        size_of_flow.apply();
        meta.age = touch.execute(hdr.bridge.entry);
        queue_of_flow.apply();
    }
}

#endif
