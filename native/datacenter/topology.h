// SPDX-License-Identifier: Apache-2.0
//
// Paths through the network, and their selection by flows.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "packet.h"
#include "settings.h"

namespace ccbench::datacenter {

// The egress ports of a packet, starting with the sender's.
struct Path {
  std::array<std::uint32_t, MaxHops> ports;
  std::uint32_t hops;
};

class Topology {
 public:
  // Throws std::invalid_argument if a host cannot be reached, or only over more than MaxHops links.
  Topology(std::uint32_t hosts, std::uint32_t nodes, const std::vector<PortSpec>& ports);

  // A shortest path; among equal paths, each switch selects by the hash.
  Path path(std::uint32_t source, std::uint32_t destination, std::uint64_t hash) const;
  // The port of a switch on a shortest path to a host, selected by the hash.
  std::uint32_t next_port(std::uint32_t node, std::uint32_t destination, std::uint64_t hash) const;
  // The time from sending a packet over a path to its ACK in an empty network.
  Time rtt(const Path& path, std::int64_t packet_bytes, std::int64_t ack_bytes) const;
  // The port of the opposite direction of a link.
  std::uint32_t reverse(std::uint32_t port) const { return reverse_[port]; }
  // The first port of a node; the only port of a host.
  std::uint32_t first_port(std::uint32_t node) const { return first_port_[node]; }
  // An identifier that does not depend on the number of nodes of the other kind.
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
  std::vector<std::uint32_t> first_port_;     // by node, plus the end
  std::vector<std::uint32_t> reverse_;
  std::vector<std::uint32_t> choices_;        // by destination and node: start of its set
  std::vector<std::uint32_t> sets_;           // for each set, its size and its ports
};

// Completion time of a flow in an otherwise empty network.
Time ideal_completion(const Path& path, const std::vector<PortSpec>& ports, std::int64_t packets,
                      std::int64_t full_bytes, std::int64_t last_bytes);

}  // namespace ccbench::datacenter
