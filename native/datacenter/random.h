// SPDX-License-Identifier: Apache-2.0
//
// Random streams, identical on every machine. A stream is derived from the seed, a purpose and the
// number of its host, port or flow. No two streams therefore share a state, and additions to a
// network or its traffic do not change other draws.

#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace ccbench::datacenter {

// Purpose of a stream.
enum class Purpose : std::uint64_t {
  flow,       // a flow's identifier
  there,      // path to the destination
  back,       // path of ACKs
  nic,        // the queue of a flow in a network card
  port,       // a switch's draws at a port:
  sampling,   // whether a packet is sampled
  queue,      // the queue of a flow if none is empty
  marking,    // whether a packet is marked
  credits,    // time between a flow's credits
  spray,      // path of a packet
};

constexpr std::uint64_t GoldenGamma = 0x9e3779b97f4a7c15ULL;

// The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Derives a seed for one purpose of one entity. Each number is mixed in before the next.
template <typename... Numbers>
constexpr std::uint64_t derived(std::uint64_t seed, Purpose purpose, Numbers... numbers) {
  std::uint64_t state = mix(seed + GoldenGamma);
  state = mix((state ^ static_cast<std::uint64_t>(purpose)) + GoldenGamma);
  ((state = mix((state ^ static_cast<std::uint64_t>(numbers)) + GoldenGamma)), ...);
  return state;
}

// Maps a hash to [0, n) by its range.
constexpr std::uint32_t reduce(std::uint32_t hash, std::uint32_t n) {
  return static_cast<std::uint32_t>((std::uint64_t{hash} * n) >> 32);
}

// xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 2021).
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = mix(seed += GoldenGamma);
  }

  std::uint32_t below(std::uint32_t n) { return reduce(static_cast<std::uint32_t>(next() >> 32), n); }
  // Uniform in [0, 1).
  double share() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t next() {
    const std::uint64_t drawn = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return drawn;
  }

  std::array<std::uint64_t, 4> state_;
};

}  // namespace ccbench::datacenter
