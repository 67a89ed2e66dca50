// SPDX-License-Identifier: Apache-2.0
// The one thing that v1model cannot do: stop a queue. The packet that asks for it has been noted in
// `paused`, and goes on to the driver, which stops the queue as well as it can.

#ifndef BFC_PAUSE_QUEUE_P4
#define BFC_PAUSE_QUEUE_P4

control PauseQueue(inout headers_t hdr, inout standard_metadata_t standard) {
    apply {
        hdr.bfc.port = (bit<16>)standard.ingress_port;
        standard.egress_spec = DRIVER_PORT;
    }
}

#endif
