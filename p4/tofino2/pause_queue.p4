// SPDX-License-Identifier: Apache-2.0
// Stopping and starting a queue in the data plane: the deparser hands a word to the traffic manager
// ("advanced flow control"). Its bits, from the highest: 1 for a queue, 2 of the pipe, 4 of the
// port's group, 3 unused, 7 of the queue in the group, 15 that are 0 to resume. The driver knows
// the groups and fills the table with the word of each queue, resumed; the lowest bit pauses.

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
    // Queues that do not exist, and the one of pauses and resumes, are not in it.
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
