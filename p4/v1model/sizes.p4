// SPDX-License-Identifier: Apache-2.0
// Maximum sizes of the switch; the table `settings` sets the sizes in use.

#ifndef BFC_SIZES_P4
#define BFC_SIZES_P4

#define PORTS 16
#define QUEUES 8 // standard_metadata.priority has 3 bits
#define UPSTREAM_QUEUES 32
#define FLOW_ENTRIES 800 // per egress port: 100 per queue (section 3.3.3.1)
#define FLOW_TABLE 12816 // PORTS * (FLOW_ENTRIES + 1); a port's last entry is for incasts
#define QUEUE_TABLE 128 // PORTS * QUEUES
#define PAUSE_TABLE 512 // PORTS * UPSTREAM_QUEUES

typedef bit<9> port_t;
typedef bit<32> clock_t; // microseconds; wraps after 71 minutes

const clock_t MAX_AGE = 0xFC000000; // greater differences are times in the future, up to 67 s
const clock_t HEADER_LIFETIME = 1000000; // a header not recirculated within 1 s is lost

const port_t DRIVER_PORT = 510; // pauses to the driver, requests for bitmaps from it
const port_t HOLDING_PORT = 508; // held packets to and from the driver
const bit<8> CONTROL_QUEUE = 7; // the highest priority
const bit<32> RECIRCULATION_SESSION = 1; // its port must not be an egress port of packets
const bit<32> HEADER_BYTES = 64; // length of a pause or resume made from a packet

#endif
