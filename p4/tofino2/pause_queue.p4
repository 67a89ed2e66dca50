// SPDX-License-Identifier: Apache-2.0
// Pausing and resuming of queues in the data plane. The deparser passes a word to the traffic
// manager ("advanced flow control"). Its bits, from the highest: 1 for a queue, 2 for the pipe, 4
// for the port's group, 3 unused, 7 for the queue in the group, 15 that are 0 to resume. The driver
// fills the table with the word that resumes each queue; setting the lowest bit makes it a pause.

#ifndef BFC_PAUSE_QUEUE_P4
#define BFC_PAUSE_QUEUE_P4

control PauseQueue(inout headers_t hdr, inout ingress_metadata_t meta, in PortId_t port,
                   inout ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    bit<32> bit_of_queue = 0;

    action pause(bit<32> word, bit<32> as_bit) {
        for_deparser.adv_flow_ctl = word | 1;
        bit_of_queue = as_bit;
    }
    action resume(bit<32> word, bit<32> as_bit) {
        for_deparser.adv_flow_ctl = word;
        bit_of_queue = as_bit;
    }
    // The table contains neither nonexistent queues nor the queue of pauses and resumes.
    table flow_control_word {
        key = {
            port : exact;
            hdr.bfc.queue : exact;
            hdr.bfc.kind : exact;
        }
        actions = {
            pause;
            resume;
        }
        size = 4096;
    }

    RegisterAction<bit<32>, PortId_t, bit<32>>(paused_queues) note_paused = {
        void apply(inout bit<32> value) {
            value = value | bit_of_queue;
        }
    };
    RegisterAction<bit<32>, PortId_t, bit<32>>(paused_queues) note_running = {
        void apply(inout bit<32> value) {
            value = value & ~bit_of_queue;
        }
    };

    action remember() {
        note_paused.execute(port);
    }
    action forget() {
        note_running.execute(port);
    }
    table paused {
        key = {
            hdr.bfc.kind : exact;
        }
        actions = {
            remember;
            forget;
            NoAction;
        }
        const default_action = NoAction();
        const entries = {
            BFC_PAUSE : remember();
            BFC_RESUME : forget();
        }
        size = 4;
    }

    apply {
        if (flow_control_word.apply().hit) {
            paused.apply();
        }
        for_deparser.drop_ctl = 1;
    }
}

#endif
