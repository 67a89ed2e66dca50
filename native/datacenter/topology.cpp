// SPDX-License-Identifier: Apache-2.0

#include "topology.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "random.h"

namespace ccbench::datacenter {

Topology::Topology(std::uint32_t hosts, std::uint32_t nodes, const std::vector<PortSpec>& ports)
    : hosts_(hosts), nodes_(nodes), ports_(ports), first_port_(nodes + 1), reverse_(ports.size()) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> between;
  for (std::uint32_t port = 0; port < ports.size(); ++port) {
    ++first_port_[ports[port].from + 1];
    between[{ports[port].from, ports[port].to}] = port;
  }
  for (std::uint32_t node = 0; node < nodes; ++node) first_port_[node + 1] += first_port_[node];
  for (std::uint32_t port = 0; port < ports.size(); ++port) {
    reverse_[port] = between.at({ports[port].to, ports[port].from});
  }
  choices_.assign(std::size_t{hosts} * nodes, None);
  for (std::uint32_t host = 0; host < hosts; ++host) find_next_hops(host);
}

void Topology::find_next_hops(std::uint32_t destination) {
  std::vector<std::uint32_t> distance(nodes_, None);
  std::vector<std::uint32_t> order{destination};
  distance[destination] = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t node = order[i];
    if (node < hosts_ && node != destination) continue;  // hosts do not forward
    for (std::uint32_t port = first_port_[node]; port < first_port_[node + 1]; ++port) {
      const std::uint32_t neighbour = ports_[port].to;
      if (distance[neighbour] != None) continue;
      distance[neighbour] = distance[node] + 1;
      order.push_back(neighbour);
    }
  }
  for (std::uint32_t node = 0; node < nodes_; ++node) {
    if (node == destination) continue;
    if (distance[node] > MaxHops) {
      throw std::invalid_argument("node " + std::to_string(node) + " has no way to host " +
                                  std::to_string(destination) + " of at most " +
                                  std::to_string(MaxHops) + " links");
    }
    const std::size_t begin = sets_.size();
    sets_.push_back(0);
    for (std::uint32_t port = first_port_[node]; port < first_port_[node + 1]; ++port) {
      const std::uint32_t to = ports_[port].to;
      if (distance[to] + 1 == distance[node] && (to >= hosts_ || to == destination)) {
        sets_.push_back(port);
        ++sets_[begin];
      }
    }
    choices_[std::size_t{destination} * nodes_ + node] = static_cast<std::uint32_t>(begin);
  }
}

std::uint32_t Topology::next_port(std::uint32_t node, std::uint32_t destination,
                                  std::uint64_t hash) const {
  const std::uint32_t* set = &sets_[choices_[std::size_t{destination} * nodes_ + node]];
  std::uint32_t choice = 0;
  if (set[0] > 1) choice = reduce(static_cast<std::uint32_t>(mix(hash + name(node)) >> 32), set[0]);
  return set[1 + choice];
}

Path Topology::path(std::uint32_t source, std::uint32_t destination, std::uint64_t hash) const {
  Path path{};
  std::uint32_t node = source;
  while (node != destination) {
    const std::uint32_t port = next_port(node, destination, hash);
    path.ports[path.hops++] = port;
    node = ports_[port].to;
  }
  return path;
}

Time Topology::base_rtt(std::int64_t packet_bytes, std::int64_t ack_bytes) const {
  Time longest = 0;
  for (std::uint32_t source = 0; source < hosts_; ++source) {
    for (std::uint32_t destination = 0; destination < hosts_; ++destination) {
      if (source == destination) continue;
      longest = std::max(longest, rtt(path(source, destination, 0), packet_bytes, ack_bytes));
    }
  }
  return longest;
}

Time Topology::rtt(const Path& path, std::int64_t packet_bytes, std::int64_t ack_bytes) const {
  Time rtt = 0;
  for (std::uint32_t hop = 0; hop < path.hops; ++hop) {
    const PortSpec& port = ports_[path.ports[hop]];
    rtt += 2 * port.delay + serialisation(packet_bytes, port.rate_mbps) +
           serialisation(ack_bytes, port.rate_mbps);
  }
  return rtt;
}

Time ideal_completion(const Path& path, const std::vector<PortSpec>& ports, std::int64_t packets,
                      std::int64_t full_bytes, std::int64_t last_bytes) {
  Time before = 0;   // departure of the last packet but one from the link
  Time slowest = 0;  // transmission time of a full packet on the slowest link so far
  Time last = 0;     // departure of the last packet from the link
  for (std::uint32_t hop = 0; hop < path.hops; ++hop) {
    const PortSpec& port = ports[path.ports[hop]];
    if (packets > 1) {
      const Time full = serialisation(full_bytes, port.rate_mbps);
      const Time wait = (packets - 2) * std::max(full - slowest, Time{0});
      slowest = std::max(slowest, full);
      before += full + wait;
      last = std::max(last, before);
    }
    last += serialisation(last_bytes, port.rate_mbps) + port.delay;
    before += port.delay;
  }
  return last;
}

}  // namespace ccbench::datacenter
