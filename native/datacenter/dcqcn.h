// SPDX-License-Identifier: Apache-2.0
//
// DCQCN's sender (Zhu et al., SIGCOMM 2015, section 3.2). A notification cuts the rate; a timer and
// a byte counter restore it: a few times by half of the distance to its earlier value, then beyond.

#pragma once

#include <algorithm>
#include <cmath>

#include "flow.h"
#include "settings.h"

namespace ccbench::datacenter {

inline void start_dcqcn(Flow& flow) { flow.dcqcn.alpha = 1; }

inline void dcqcn_notification(Flow& flow, Time now, double line_mbps, const Settings& settings) {
  DcqcnState& state = flow.dcqcn;
  const double rate = flow.rate_mbps > 0 ? flow.rate_mbps : line_mbps;
  // Without notifications alpha decreases in every interval; this applies all elapsed intervals.
  if (state.notified) {
    const auto intervals = (now - state.alpha_at) / settings.dcqcn_alpha_interval;
    state.alpha *= std::pow(1 - settings.dcqcn_gain, static_cast<double>(intervals));
  }
  state.notified = true;
  state.alpha_at = now;
  state.target_mbps = rate;
  flow.rate_mbps = std::max(rate * (1 - state.alpha / 2), line_mbps / 1000);
  state.alpha += settings.dcqcn_gain * (1 - state.alpha);
  state.time_steps = state.byte_steps = 0;
  state.counted_bytes = 0;
  state.increase_at = now + settings.dcqcn_increase_interval;
}

inline void dcqcn_increase(Flow& flow, double line_mbps, const Settings& settings) {
  DcqcnState& state = flow.dcqcn;
  const std::uint32_t recovery = settings.dcqcn_recovery_steps;
  const std::uint32_t fewer = std::min(state.time_steps, state.byte_steps);
  if (fewer > recovery) {
    state.target_mbps += (fewer - recovery) * settings.dcqcn_hyper_mbps;
  } else if (std::max(state.time_steps, state.byte_steps) > recovery) {
    state.target_mbps += settings.dcqcn_additive_mbps;
  }
  state.target_mbps = std::min(state.target_mbps, line_mbps);
  flow.rate_mbps = (flow.rate_mbps + state.target_mbps) / 2;
  // Repeated halving of the distance never reaches the line rate.
  if (flow.rate_mbps > 0.999 * line_mbps) flow.rate_mbps = 0;
}

// Returns whether the byte counter has expired.
inline bool dcqcn_count(Flow& flow, std::uint32_t bytes, const Settings& settings) {
  DcqcnState& state = flow.dcqcn;
  state.counted_bytes += bytes;
  if (state.counted_bytes < settings.dcqcn_counter_bytes) return false;
  state.counted_bytes -= settings.dcqcn_counter_bytes;
  ++state.byte_steps;
  return true;
}

}  // namespace ccbench::datacenter
