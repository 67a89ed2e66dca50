// SPDX-License-Identifier: Apache-2.0
// Sizes of tables and registers (section 3.4). The switch has four ingress pipes and 4096 queues, 32
// at each port of 100 Gbit/s. Up to 32 ports of a pipe can be connected to upstream neighbours.

#ifndef BFC_SIZES_P4
#define BFC_SIZES_P4

#define QUEUES 32 // per port; the highest is for pauses and resumes
#define PORTS 512 // of the switch: 4 pipes of 128 port numbers, not all in use
#define FLOW_ENTRIES 131072 // per pipe: the power of 2 above 25 times 4096 queues
#define FLOW_INDEX_WIDTH 17
#define PAUSE_TABLE 2048 // per pipe: 64 ingress ports and 32 upstream queues
#define QUEUE_TABLE 16384 // of the switch: 512 port numbers and 32 queues

typedef bit<FLOW_INDEX_WIDTH> flow_index_t;
typedef bit<11> pause_index_t;
typedef bit<14> queue_index_t;
typedef bit<16> cells_t; // length of a queue; the driver limits queues to 65535 cells, 11 MB
typedef bit<16> clock_t; // units of 64 ns: wraps after 4 ms, far beyond the sticky time

// Port of recirculated and generated packets: 6, 134, 262 and 390 in pipes 0 to 3.
const PortId_t INSIDE = 6;
const PortId_t INSIDE_MASK = 0x7F;

const bit<8> CONTROL_QUEUE = 31;
const clock_t AFTER_STICKY = 0xFFC0; // bits for 64 units or more: 2 HRTT of 2 microseconds
const clock_t NOT_YET = 0xFFC0; // negative ages, from -64 units on

#endif
