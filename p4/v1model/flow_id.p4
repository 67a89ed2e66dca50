// SPDX-License-Identifier: Apache-2.0
// Flow identifiers (section 3.3.3.1).

#ifndef BFC_FLOW_ID_P4
#define BFC_FLOW_ID_P4

// Flow identifier (FID). Missing fields are 0: the ports of fragments and of protocols without
// ports, and all five fields of packets other than IPv4.
struct flow_id_t {
    bit<32> source;
    bit<32> destination;
    bit<8> protocol;
    bit<16> source_port;
    bit<16> destination_port;
}

// Computes the flow identifier from valid headers only. On BMv2, invalid headers contain fields of
// earlier packets, which would give a flow without ports varying identifiers.
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
