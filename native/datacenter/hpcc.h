// SPDX-License-Identifier: Apache-2.0
//
// HPCC's sender (Li et al., SIGCOMM 2019, algorithm 1). Each ACK carries the bytes sent and queued
// at every link of the path; the window follows the most utilised link.

#pragma once

#include <algorithm>

#include "flow.h"
#include "settings.h"

namespace ccbench::datacenter {

inline void start_hpcc(Flow& flow) {
  HpccState& state = *flow.hpcc;
  state.reference_window = flow.window_bytes;
  state.utilisation = 1;
  state.stage = 0;
  state.update_at = 0;
}

// MeasureInflight: the moving average of the largest share of a link's BDP in flight.
inline void hpcc_measure(HpccState& state, const Telemetries& now, std::uint32_t hops,
                         Time base_rtt) {
  double largest = 0;
  double interval = 0;
  for (std::uint32_t hop = 0; hop < hops; ++hop) {
    const Telemetry& before = state.last[hop];
    const double elapsed = static_cast<double>(now[hop].time - before.time);
    if (elapsed <= 0) continue;
    const double bytes_per_ps = now[hop].rate_mbps / 8e6;
    const double queued = std::min(now[hop].queued_bytes, before.queued_bytes);
    const double sent = static_cast<double>(now[hop].sent_bytes - before.sent_bytes);
    const double share = queued / (bytes_per_ps * static_cast<double>(base_rtt)) +
                         sent / elapsed / bytes_per_ps;
    if (share > largest) {
      largest = share;
      interval = elapsed;
    }
  }
  const double weight = std::min(interval / static_cast<double>(base_rtt), 1.0);
  state.utilisation += weight * (largest - state.utilisation);
}

inline void hpcc_ack(Flow& flow, const Telemetries& telemetry, std::uint32_t hops, Time base_rtt,
                     double line_mbps, const Settings& settings) {
  HpccState& state = *flow.hpcc;
  if (!state.known) {
    state.known = true;
    state.last = telemetry;
    state.update_at = flow.next_number;
    return;
  }
  hpcc_measure(state, telemetry, hops, base_rtt);
  state.last = telemetry;
  const bool update = flow.acked > state.update_at;  // once per RTT
  const double over = state.utilisation / settings.hpcc_target;
  double window = state.reference_window + settings.hpcc_additive_bytes;
  if (over >= 1 || state.stage >= settings.hpcc_stages) {
    window = state.reference_window / over + settings.hpcc_additive_bytes;
    if (update) state.stage = 0;
  } else if (update) {
    ++state.stage;
  }
  const double most = line_mbps / 8e6 * static_cast<double>(base_rtt);
  window = std::clamp(window, static_cast<double>(settings.hpcc_additive_bytes), most);
  if (update) {
    state.reference_window = window;
    state.update_at = flow.next_number;
  }
  flow.window_bytes = window;
  flow.rate_mbps = window < most ? window * 8e6 / static_cast<double>(base_rtt) : 0;
}

}  // namespace ccbench::datacenter
