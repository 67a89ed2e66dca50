// SPDX-License-Identifier: Apache-2.0
//
// One switch of the simulator without its clock, links and randomness: a caller supplies events and
// sees the decisions, for comparison with the reference switch.

#pragma once

#include <cstdint>
#include <vector>

#include "network.h"

namespace ccbench::datacenter {

// An arriving packet; routing has already determined its egress port.
struct Arrival {
  std::uint32_t hash;  // of the flow
  std::uint32_t ingress;
  std::uint32_t egress;
  std::uint16_t bytes;
  std::uint16_t upstream_queue;
};

// Random draws: whether the packet is sampled, and its queue if none is empty.
struct Chance {
  bool sampled;
  std::uint32_t queue;
};

// A pause or resume sent by a port.
struct Frame {
  bool pause;
  std::uint32_t port;
  std::uint32_t queue;
};

class Probe {
 public:
  // A switch with a port of each rate, and a host at each port.
  Probe(const Settings& settings, const std::vector<std::int64_t>& rates_mbps, Time delay);

  PacketId enqueue(Time now, const Arrival& arrival, const Chance& chance);
  // `id` must be the first packet of its queue.
  void dequeue(Time now, PacketId id);
  // The neighbour behind a port pauses or resumes a queue.
  void receive(Time now, const Frame& frame);

  std::uint32_t queue(PacketId id) { return network_.packets_[id].queue; }
  std::vector<std::uint32_t> paused(std::uint32_t port) const;
  // Messages sent since the last call.
  std::vector<Frame> sent();

 private:
  // Hosts are the first nodes, and own the first ports.
  std::uint32_t towards(std::uint32_t host) const { return hosts_ + host; }
  void take_chance(Port& port, const Chance& chance);

  std::uint32_t hosts_;
  Network network_;
};

}  // namespace ccbench::datacenter
