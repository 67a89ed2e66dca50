// SPDX-License-Identifier: Apache-2.0
//
// Which ways there are through the network, and which of them a flow takes.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "packet.h"
#include "settings.h"

namespace ccbench::datacenter {

// The ports that a packet leaves by, the sender's first.
struct Path {
  std::array<std::uint32_t, MaxHops> ports;
  std::uint32_t hops;
};

class Topology {
 public:
  // Throws std::invalid_argument if a host cannot be reached, or only over more than MaxHops links.
  Topology(std::uint32_t hosts, std::uint32_t nodes, const std::vector<PortSpec>& ports);

  // A shortest way; among those that are equal, each switch chooses by the hash.
  Path path(std::uint32_t source, std::uint32_t destination, std::uint64_t hash) const;
  // The port on the other end of a link that sends the other way.
  std::uint32_t reverse(std::uint32_t port) const { return reverse_[port]; }
  // The first port of a node; that of a host is its only one.
  std::uint32_t first_port(std::uint32_t node) const { return first_port_[node]; }
  // A number that a host or switch keeps, however many there are of the other.
  std::uint64_t name(std::uint32_t node) const {
    return node < hosts_ ? 2 * std::uint64_t{node} : 2 * std::uint64_t{node - hosts_} + 1;
  }
  // The longest time from sending a packet to its ACK in an empty network.
  Time base_rtt(std::int64_t packet_bytes, std::int64_t ack_bytes) const;

 private:
  void find_next_hops(std::uint32_t destination);

  std::uint32_t hosts_;
  std::uint32_t nodes_;
  std::vector<PortSpec> ports_;
  std::vector<std::uint32_t> first_port_;     // by node, and one more at the end
  std::vector<std::uint32_t> reverse_;
  std::vector<std::uint32_t> choices_;        // by destination and node: where its set begins
  std::vector<std::uint32_t> sets_;           // a count and that many ports, again and again
};

// How long after its start a flow is complete that has the network for itself.
Time ideal_completion(const Path& path, const std::vector<PortSpec>& ports, std::int64_t packets,
                      std::int64_t full_bytes, std::int64_t last_bytes);

}  // namespace ccbench::datacenter
