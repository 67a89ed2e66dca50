// SPDX-License-Identifier: Apache-2.0
//
// Time in whole picoseconds: a byte takes 80 ps at 100 Gbit/s, without rounding.

#pragma once

#include <cstdint>
#include <limits>

namespace ccbench::datacenter {

using Time = std::int64_t;

constexpr Time Never = std::numeric_limits<Time>::max();
constexpr Time Microsecond = 1'000'000;
constexpr double SecondPs = 1e12;

// Time to send `bytes` at a rate, to the nearest picosecond.
constexpr Time serialisation(std::int64_t bytes, std::int64_t rate_mbps) {
  return (bytes * 8'000'000 + rate_mbps / 2) / rate_mbps;
}

}  // namespace ccbench::datacenter
