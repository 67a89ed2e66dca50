// SPDX-License-Identifier: Apache-2.0
// How large the switch is at most; `settings` says how much of it is in use.

#ifndef BFC_SIZES_P4
#define BFC_SIZES_P4

#define PORTS 16
#define QUEUES 8 // standard_metadata.priority has 3 bits
#define UPSTREAM_QUEUES 32
#define FLOW_ENTRIES 800 // of each egress port: 100 times its queues (section 3.3.3.1)
#define FLOW_TABLE 12816 // PORTS * (FLOW_ENTRIES + 1); the last one of a port is its incast's
#define QUEUE_TABLE 128 // PORTS * QUEUES
#define PAUSE_TABLE 512 // PORTS * UPSTREAM_QUEUES

typedef bit<9> port_t;
typedef bit<32> clock_t; // microseconds; wraps after 71 minutes

const clock_t MAX_AGE = 0xFC000000; // a greater difference is a time in the future, up to 67 s
const clock_t HEADER_LIFETIME = 1000000; // a header that has not come back in 1 s is lost

const port_t DRIVER_PORT = 510; // where the driver hears of pauses, and asks for bitmaps
const port_t HOLDING_PORT = 508; // where it gets packets to hold, and gives them back
const bit<8> CONTROL_QUEUE = 7; // the highest priority
const bit<32> RECIRCULATION_SESSION = 1; // its port must be none that packets leave from
const bit<32> HEADER_BYTES = 64; // what is left of a packet that becomes a pause or resume

#endif
