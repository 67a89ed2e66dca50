// SPDX-License-Identifier: Apache-2.0
//
// Random numbers and hashes, both by the finalizer of splitmix64: the same on every machine.

#pragma once

#include <cstdint>

namespace ccbench::datacenter {

constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The part of [0, n) that a hash falls into.
constexpr std::uint32_t reduce(std::uint32_t hash, std::uint32_t n) {
  return static_cast<std::uint32_t>((std::uint64_t{hash} * n) >> 32);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed + 1)) {}

  std::uint32_t below(std::uint32_t n) { return reduce(static_cast<std::uint32_t>(next() >> 32), n); }
  // From 0 to below 1.
  double share() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15ULL); }

  std::uint64_t state_;
};

}  // namespace ccbench::datacenter
