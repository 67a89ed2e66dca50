// SPDX-License-Identifier: Apache-2.0
//
// BFC's end-to-end control (Goyal, algorithm 2): the window keeps the RTT near a target, in steps
// of at most a packet per ACK.

#pragma once

#include <algorithm>

#include "flow.h"

namespace ccbench::datacenter {

inline void delay_window_ack(Flow& flow, Time rtt, double target_rtt, double packet_bytes) {
  const double share = (target_rtt - static_cast<double>(rtt)) / static_cast<double>(rtt);
  flow.window_bytes = std::max(flow.window_bytes + share * packet_bytes, packet_bytes);
}

}  // namespace ccbench::datacenter
