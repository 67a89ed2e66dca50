// SPDX-License-Identifier: Apache-2.0
// Parser of packets from the Ethernet header on. Each architecture first parses its own headers.

#ifndef BFC_PARSER_P4
#define BFC_PARSER_P4

parser WireParser(packet_in packet, out headers_t hdr) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            ETHERTYPE_BFC: bfc;
            ETHERTYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state bfc {
        packet.extract(hdr.bfc);
        transition select(hdr.bfc.kind, hdr.bfc.next_type) {
            (BFC_BITMAP, _): bitmap;
            (BFC_DATA, ETHERTYPE_IPV4): ipv4;
            default: accept;
        }
    }

    state bitmap {
        packet.extract(hdr.bitmap);
        transition accept;
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        // Only the first fragment of a datagram has ports. Ports of fragments are ignored, so that
        // all fragments join one queue. Ports after IP options are not parsed, either.
        transition select(hdr.ipv4.header_words, hdr.ipv4.more_fragments,
                          hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (5, 0, 0, PROTOCOL_TCP): l4;
            (5, 0, 0, PROTOCOL_UDP): l4;
            default: accept;
        }
    }

    state l4 {
        packet.extract(hdr.l4);
        transition accept;
    }
}

#endif
