// SPDX-License-Identifier: Apache-2.0
// The flow table: three registers, one after the other (section 3.4). A packet that arrives and a
// recirculated header pass through the same stages; each touches each register once.

#ifndef BFC_FLOW_TABLE_P4
#define BFC_FLOW_TABLE_P4

Register<bit<16>, flow_index_t>(FLOW_ENTRIES) flow_size;
Register<clock_t, flow_index_t>(FLOW_ENTRIES) flow_touched;
Register<bit<8>, flow_index_t>(FLOW_ENTRIES) flow_queue;

control FlowTable(inout internal_headers_t hdr, inout ingress_metadata_t meta) {
    RegisterAction<bit<16>, flow_index_t, bit<1>>(flow_size) count_in = {
        void apply(inout bit<16> value, out bit<1> is_fresh) {
            is_fresh = 0;
            if (value == 0) {
                is_fresh = 1;
            }
            value = value + 1;
        }
    };
    RegisterAction<bit<16>, flow_index_t, bit<1>>(flow_size) look = {
        void apply(inout bit<16> value, out bit<1> is_fresh) {
            is_fresh = 0;
            if (value == 0) {
                is_fresh = 1;
            }
        }
    };
    RegisterAction<bit<16>, flow_index_t, bit<1>>(flow_size) count_out = {
        void apply(inout bit<16> value, out bit<1> is_fresh) {
            is_fresh = 0;
            value = value - 1;
        }
    };
    RegisterAction<clock_t, flow_index_t, clock_t>(flow_touched) touch = {
        void apply(inout clock_t value, out clock_t age) {
            age = meta.now - value;
            value = meta.now;
        }
    };
    RegisterAction<bit<8>, flow_index_t, bit<8>>(flow_queue) reassign = {
        void apply(inout bit<8> value, out bit<8> queue) {
            value = meta.empty_queue;
            queue = value;
        }
    };
    RegisterAction<bit<8>, flow_index_t, bit<8>>(flow_queue) keep = {
        void apply(inout bit<8> value, out bit<8> queue) {
            queue = value;
        }
    };

    apply {
        if (meta.is_dequeue == 1) {
            meta.fresh = count_out.execute(hdr.bridge.entry);
        } else if (hdr.bridge.sampled == 1) {
            meta.fresh = count_in.execute(hdr.bridge.entry);
        } else {
            meta.fresh = look.execute(hdr.bridge.entry);
        }
        meta.age = touch.execute(hdr.bridge.entry);
        if (meta.is_dequeue == 0) {
            if (meta.fresh == 1 && meta.age[15:STICKY_BITS] != 0) {
                hdr.bridge.queue = reassign.execute(hdr.bridge.entry);
            } else {
                hdr.bridge.queue = keep.execute(hdr.bridge.entry);
            }
        }
    }
}

#endif
