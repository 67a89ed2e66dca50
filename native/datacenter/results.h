// SPDX-License-Identifier: Apache-2.0
//
// Results of a simulation.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "time.h"

namespace ccbench::datacenter {

// Histogram of delays: bins of 1 ns up to 32 ns, then 16 per doubling.
class DelayHistogram {
 public:
  static constexpr std::uint32_t Buckets = 32 + 16 * 40;

  void add(Time delay) {
    if (counts_.empty()) counts_.resize(Buckets);
    ++counts_[bucket(static_cast<std::uint64_t>(delay) / 1000)];
  }
  const std::vector<std::uint32_t>& counts() const { return counts_; }

 private:
  static std::uint32_t bucket(std::uint64_t ns) {
    if (ns < 32) return static_cast<std::uint32_t>(ns);
    const auto octave = static_cast<std::uint32_t>(std::bit_width(ns)) - 6;
    return 32 + 16 * octave + static_cast<std::uint32_t>((ns >> (octave + 1)) - 16);
  }

  std::vector<std::uint32_t> counts_;
};

struct PortCounts {
  std::uint64_t sent_bytes = 0;  // on the wire, of all kinds
  std::uint64_t data_packets = 0;
  std::uint64_t marked_packets = 0;
  std::uint64_t dropped_packets = 0;
  std::uint64_t peak_queue_bytes = 0;
  std::uint64_t pauses = 0;  // by PFC, of this port
  std::uint64_t queue_pauses = 0;  // by BFC, of queues of this port
  std::uint64_t assignments = 0;   // BFC: of packets of flows without queued packets here
  std::uint64_t collisions = 0;    // of these, to a non-empty queue
  Time paused = 0;  // by PFC
};

struct Results {
  // Per flow.
  std::vector<Time> completion;    // since the start; -1 if incomplete
  std::vector<Time> ideal;
  std::vector<Time> acknowledged;  // the same at the sender: when it has the ACK of all packets
  std::vector<Time> ideal_acknowledged;
  std::vector<std::int64_t> delivered_bytes;
  // Per port.
  std::vector<PortCounts> ports;
  std::vector<DelayHistogram> delays;
  // Per sample; `buffers` per sample and switch.
  std::vector<Time> sample_times;
  std::vector<std::uint32_t> buffers;
  std::vector<std::uint64_t> delivered;       // payload so far
  std::vector<std::uint64_t> delivered_long;  // of unlimited flows
  std::vector<std::uint32_t> live_packets;
  std::vector<Time> paused;  // by PFC so far, all ports together
  // How many switch ports had a number of flows with queued packets, for each sample and number
  // that a port had.
  std::vector<std::uint32_t> active_sample, active_flows, active_ports;
  // Per switch.
  std::vector<std::uint64_t> peak_buffers;

  std::uint64_t events = 0;
  std::uint64_t created_packets = 0;   // of any kind
  std::uint64_t consumed_packets = 0;  // by a host or switch
  std::uint64_t dropped_packets = 0;
  std::uint64_t left_packets = 0;  // in the network at the end
  std::uint64_t dropped_credits = 0;  // of ExpressPass; consumed
  std::uint64_t wasted_credits = 0;   // that arrived at a sender without data
  std::uint64_t sent_data_packets = 0;
  std::uint64_t resent_data_packets = 0;
  std::uint64_t peak_packets = 0;
  std::uint64_t peak_flows = 0;
  Time end = 0;
  Time base_rtt = 0;
};

}  // namespace ccbench::datacenter
