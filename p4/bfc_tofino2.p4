// SPDX-License-Identifier: Apache-2.0
// Backpressure flow control on Tofino 2 (T2NA), after section 3.4 of the thesis.
//
//   ghost:   notes the length of every queue, as the traffic manager reports it            (queues)
//   ingress: chooses a queue, counts the packet in, mirrors a pause upstream   (flow_table, backpressure)
//   egress:  names the queue, mirrors the header back to the ingress pipe it came from        (egress)
//   ingress: the recirculated header counts the packet out and becomes the resume            (ingress)
//
// The wire format and what is done to headers are those of bfc.p4. What differs: pauses stop a queue
// in the data plane (pause_queue); lengths are the traffic manager's, in cells; the flow table is one
// for each pipe; queues are searched from a start for each pipe; instead of a bitmap, the packet
// generator refreshes one queue at a time, with a pause or a resume.

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
