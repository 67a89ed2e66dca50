// SPDX-License-Identifier: Apache-2.0
//
// DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257) with a given initial window, and optionally slow
// start, in which the window doubles per round trip up to the first mark. The window is cut by half the share of marked packets and then stays constant for a window
// of data, as in TCP after a reduction; otherwise it grows by a packet in that time. Such a period
// ends with the ACK of a packet sent after its start, not with that of the last packet sent before:
// the latter still reflects the queue that caused the cut.

#pragma once

#include <algorithm>

#include "flow.h"

namespace ccbench::datacenter {

inline void start_dctcp(Flow& flow, double slow_start_bytes) {
  flow.dctcp.alpha = 1;
  flow.dctcp.window_end = 0;
  flow.dctcp.slow_start = slow_start_bytes > 0;
  if (flow.dctcp.slow_start) flow.window_bytes = slow_start_bytes;
}

inline void dctcp_ack(Flow& flow, bool marked, std::uint32_t packets, double packet_bytes,
                      double gain) {
  DctcpState& state = flow.dctcp;
  ++state.acked;
  state.marked += marked;
  const bool cut_before = flow.acked <= state.cut_end;
  state.slow_start &= !marked;
  if (marked && !cut_before) {
    flow.window_bytes = std::max(flow.window_bytes * (1 - state.alpha / 2), packet_bytes);
    state.cut_end = flow.next_number;
  } else if (state.slow_start) {
    flow.window_bytes += packets * packet_bytes;
  } else if (!marked && !cut_before) {
    flow.window_bytes += packets * packet_bytes * packet_bytes / flow.window_bytes;
  }
  if (flow.acked > state.window_end) {
    const double share = static_cast<double>(state.marked) / state.acked;
    state.alpha += gain * (share - state.alpha);
    state.window_end = flow.next_number;
    state.acked = state.marked = 0;
  }
}

}  // namespace ccbench::datacenter
