// SPDX-License-Identifier: Apache-2.0
// Backpressure flow control on Tofino 2 (T2NA), after section 3.4 of the thesis.
//
//   ghost:   store the length of every queue, as reported by the traffic manager          (queues)
//   ingress: choose a queue, count the packet, mirror a pause upstream  (flow_table, backpressure)
//   egress:  write the queue to the packet, mirror the header to its ingress pipe         (egress)
//   ingress: uncount the packet of a recirculated header, which becomes the resume       (ingress)
//
// The packet formats and their processing are those of bfc.p4, with five differences: pauses stop a
// queue in the data plane (pause_queue); queue lengths come from the traffic manager, in cells;
// each pipe has its own flow table; each pipe starts the search for empty queues at its own queue;
// and the packet generator refreshes one queue at a time, with a pause or resume, not a bitmap.

#include <core.p4>
#include <t2na.p4>

#include "headers.p4"
#include "parser.p4"
#include "wire.p4"
#include "tofino2/sizes.p4"
#include "tofino2/metadata.p4"
#include "tofino2/queues.p4"
#include "tofino2/first_empty.p4"
#include "tofino2/active.p4"
#include "tofino2/flow_table.p4"
#include "tofino2/backpressure.p4"
#include "tofino2/pause_queue.p4"
#include "tofino2/ingress.p4"
#include "tofino2/egress.p4"

Pipeline(IngressParse(), BfcIngress(), IngressDeparse(), EgressParse(), BfcEgress(),
         EgressDeparse(), Ghost()) pipe;

Switch(pipe) main;
