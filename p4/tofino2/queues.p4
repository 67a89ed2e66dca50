// SPDX-License-Identifier: Apache-2.0
// Queue lengths in the ingress pipeline. The traffic manager reports them to the ghost thread,
// which runs in the stages of ingress and shares its registers (section 3.4). The compiler
// duplicates shared registers: the ghost writes one copy, ingress reads the other ("ping-pong").

#ifndef BFC_QUEUES_P4
#define BFC_QUEUES_P4

Register<cells_t, queue_index_t>(QUEUE_TABLE) queue_cells; // length, as reported
Register<bit<32>, PortId_t>(PORTS) busy_queues; // bit i: queue i of the port has packets
Register<bit<32>, PortId_t>(PORTS) paused_queues; // bit i: queue i is paused by its neighbour

// Stores the traffic manager's reports. A report contains the queue's number within its pipe; tables
// map it to the port and queue.
control Ghost(in ghost_intrinsic_metadata_t report) {
    PortId_t port = 0;
    bit<32> bit_of_queue = 0;
    cells_t cells = 0; // a word for register actions: the report's field spans two words

    RegisterAction<cells_t, queue_index_t, cells_t>(queue_cells) note_length = {
        void apply(inout cells_t value) {
            value = cells;
        }
    };
    RegisterAction<bit<32>, PortId_t, bit<32>>(busy_queues) note_busy = {
        void apply(inout bit<32> value) {
            if (cells == 0) {
                value = value & ~bit_of_queue;
            } else {
                value = value | bit_of_queue;
            }
        }
    };

    action is_queue(PortId_t of_port, bit<32> as_bit) {
        port = of_port;
        bit_of_queue = as_bit;
    }
    table queue_of_report {
        key = {
            report.pipe_id : exact;
            report.qid : exact;
        }
        actions = {
            is_queue;
        }
        size = 8192;
    }

    // A separate table, because ingress reads lengths some stages after the bitmap of busy queues.
    action has_length(queue_index_t place) {
        note_length.execute(place);
    }
    table length_of_report {
        key = {
            report.pipe_id : exact;
            report.qid : exact;
        }
        actions = {
            has_length;
        }
        size = 8192;
    }

    apply {
        cells = report.qlength[15:0];
        if (queue_of_report.apply().hit) {
            note_busy.execute(port);
        }
        length_of_report.apply();
    }
}

#endif
