// SPDX-License-Identifier: Apache-2.0
// What one of the four ingress pipes holds (section 3.4): 4096 queues in the switch, of 32 at each
// port of 100 Gbit/s; 32 ports of a pipe can be upstream neighbours.

#ifndef BFC_SIZES_P4
#define BFC_SIZES_P4

#define QUEUES 32 // of each port; the highest is that of pauses and resumes
#define PORTS 512 // of the switch: 4 pipes of 128 port numbers, not all in use
#define FLOW_ENTRIES 131072 // of each pipe: the power of 2 above 25 times 4096 queues
#define FLOW_INDEX_WIDTH 17
#define PAUSE_TABLE 2048 // of each pipe: 64 ingress ports and 32 upstream queues
#define QUEUE_TABLE 16384 // of the switch: 512 port numbers and 32 queues

typedef bit<FLOW_INDEX_WIDTH> flow_index_t;
typedef bit<11> pause_index_t;
typedef bit<14> queue_index_t;
typedef bit<16> cells_t; // a queue's length; the driver limits queues to 65535 cells, 11 MB
typedef bit<16> clock_t; // units of 64 ns: wraps after 4 ms, far beyond the sticky time

// The port by which recirculated and generated packets come in: 6, 134, 262 and 390 in pipes 0 to 3.
const PortId_t INSIDE = 6;
const PortId_t INSIDE_MASK = 0x7F;

const bit<8> CONTROL_QUEUE = 31;
const clock_t AFTER_STICKY = 0xFFC0; // the bits of 64 units and more: 2 HRTT of 2 microseconds
const clock_t NOT_YET = 0xFFC0; // ages from -64 units on: of times that are still to come

#endif
