// SPDX-License-Identifier: Apache-2.0
// Messages from downstream neighbours, and the driver's requests for bitmaps.

#ifndef BFC_MESSAGES_P4
#define BFC_MESSAGES_P4

control Messages(inout headers_t hdr, in settings_t settings,
                 inout standard_metadata_t standard) {
    PauseQueue() pause_queue;
    MakeSignal() make_signal;
    RefreshPauses() refresh_pauses;
    bit<32> held;
    bit<32> known;
    bit<32> port;

    apply {
        known = ((bit<32>)1 << settings.data_queues) - 1;
        port = (bit<32>)standard.ingress_port;
        if (hdr.bfc.kind == BFC_REFRESH) {
            if (standard.ingress_port != DRIVER_PORT || hdr.bfc.port >= PORTS) {
                mark_to_drop(standard);
            } else {
                port = (bit<32>)hdr.bfc.port;
                standard.egress_spec = (port_t)hdr.bfc.port;
                standard.priority = (bit<3>)CONTROL_QUEUE;
                refresh_pauses.apply(port, held);
                make_signal.apply(hdr, BFC_BITMAP, 0);
                hdr.bitmap.setValid();
                hdr.bitmap.queues = held;
            }
        } else if (standard.ingress_port >= PORTS) {
            mark_to_drop(standard);
        } else {
            paused.read(held, port);
            if (hdr.bfc.kind == BFC_BITMAP && hdr.bitmap.isValid()) {
                held = hdr.bitmap.queues & known;
            } else if (hdr.bfc.kind == BFC_PAUSE) {
                held = held | (((bit<32>)1 << hdr.bfc.queue) & known);
            } else if (hdr.bfc.kind == BFC_RESUME) {
                held = held & ~((bit<32>)1 << hdr.bfc.queue);
            }
            paused.write(port, held);
            pause_queue.apply(hdr, standard);
        }
    }
}

#endif
