// SPDX-License-Identifier: Apache-2.0
// Packets to neighbours.

#ifndef BFC_WIRE_P4
#define BFC_WIRE_P4

// Converts any packet to a pause, resume or bitmap for a neighbour.
control MakeSignal(inout headers_t hdr, in bit<4> kind, in bit<8> queue) {
    apply {
        hdr.ethernet.setValid();
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = NEIGHBOUR_MAC;
        hdr.ethernet.type = ETHERTYPE_BFC;
        hdr.bfc.setValid();
        hdr.bfc.version = 0;
        hdr.bfc.incast = 0;
        hdr.bfc.kind = kind;
        hdr.bfc.queue = queue;
        hdr.bfc.port = 0;
        hdr.bfc.next_type = 0;
        hdr.bitmap.setInvalid();
        hdr.ipv4.setInvalid();
        hdr.l4.setInvalid();
    }
}

// Writes a data packet's queue to its BFC header. Removes the header for neighbours without BFC.
control NameQueue(inout headers_t hdr, in bit<8> queue, in bool neighbour_speaks_bfc) {
    apply {
        if (neighbour_speaks_bfc) {
            if (!hdr.bfc.isValid()) {
                hdr.bfc.setValid();
                hdr.bfc.version = 0;
                hdr.bfc.incast = 0;
                hdr.bfc.kind = BFC_DATA;
                hdr.bfc.port = 0;
                hdr.bfc.next_type = hdr.ethernet.type;
                hdr.ethernet.type = ETHERTYPE_BFC;
            }
            hdr.bfc.queue = queue;
        } else if (hdr.bfc.isValid()) {
            hdr.ethernet.type = hdr.bfc.next_type;
            hdr.bfc.setInvalid();
        }
    }
}

#endif
