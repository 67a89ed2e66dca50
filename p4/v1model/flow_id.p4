// SPDX-License-Identifier: Apache-2.0
// Which flow a packet belongs to (section 3.3.3.1).

#ifndef BFC_FLOW_ID_P4
#define BFC_FLOW_ID_P4

// The flow identifier (FID). What a packet does not have is 0: the ports of fragments and of
// protocols without ports, and all five fields of a packet that is not IPv4.
struct flow_id_t {
    bit<32> source;
    bit<32> destination;
    bit<8> protocol;
    bit<16> source_port;
    bit<16> destination_port;
}

// Reads valid headers only: on BMv2 the fields of an invalid one still hold what an earlier packet
// had there, so a flow without ports would be another flow with each packet.
control IdentifyFlow(in headers_t hdr, out flow_id_t flow) {
    apply {
        flow = { 0, 0, 0, 0, 0 };
        if (hdr.ipv4.isValid()) {
            flow.source = hdr.ipv4.source;
            flow.destination = hdr.ipv4.destination;
            flow.protocol = hdr.ipv4.protocol;
        }
        if (hdr.l4.isValid()) {
            flow.source_port = hdr.l4.source;
            flow.destination_port = hdr.l4.destination;
        }
    }
}

#endif
