// SPDX-License-Identifier: Apache-2.0
//
// Homa (Montazeri et al., SIGCOMM 2018). The first RTTbytes of a message are sent at once, in a
// class that depends on its length; the receiver grants the rest to the shortest messages, each in
// a class of its own.

#include <algorithm>
#include <cmath>
#include <tuple>

#include "network.h"

namespace ccbench::datacenter {

namespace {

std::uint32_t packets_in(double bytes, std::uint32_t packet_bytes) {
  return std::max<std::uint32_t>(static_cast<std::uint32_t>(std::ceil(bytes / packet_bytes)), 1);
}

}  // namespace

// Divides the classes in proportion to the packets that need no grant and those that do, and gives
// each class of the former the same number of packets, the first to the shortest messages (section
// 3.4). The paper measures its traffic for that; here the flows are known.
void Network::divide_classes() {
  const double bdp = settings_.window_bdp * static_cast<double>(port_specs_[0].rate_mbps) / 8e6 *
                     static_cast<double>(base_rtt_);
  const std::uint32_t most = packets_in(bdp, packet_bytes());
  std::vector<std::uint32_t> lengths;
  for (const FlowSpec& flow : specs_) {
    if (flow.bytes == 0) continue;
    lengths.push_back(static_cast<std::uint32_t>((flow.bytes - 1) / settings_.payload_bytes + 1));
  }
  std::sort(lengths.begin(), lengths.end());
  double all = 0;
  double unscheduled = 0;
  for (const std::uint32_t packets : lengths) {
    all += packets;
    unscheduled += std::min(packets, most);
  }
  const double share = all > 0 ? unscheduled / all : 0.5;
  homa_unscheduled_ = std::clamp<std::uint32_t>(
      static_cast<std::uint32_t>(std::lround(share * settings_.classes)), 1, settings_.classes - 1);
  double sum = 0;
  for (const std::uint32_t packets : lengths) {
    sum += std::min(packets, most);
    const double end = unscheduled * static_cast<double>(homa_cutoffs_.size() + 1);
    if (homa_cutoffs_.size() + 1 < homa_unscheduled_ && sum * homa_unscheduled_ >= end) {
      homa_cutoffs_.push_back(packets);
    }
  }
}

void Network::start_homa(Flow& flow) {
  flow.homa.unscheduled = packets_in(flow.window_bytes, packet_bytes());
  flow.window_bytes = 1e18;
  flow.homa.granted = flow.homa.promised = std::min(flow.homa.unscheduled, flow.packets);
  flow.homa.level = static_cast<std::uint8_t>(settings_.classes - 1);
}

// The class of a packet of a message.
std::uint8_t Network::homa_class(const Flow& flow, std::uint32_t number) const {
  if (number >= flow.homa.unscheduled) return flow.homa.level;
  const auto& cutoffs = homa_cutoffs_;
  return static_cast<std::uint8_t>(
      std::lower_bound(cutoffs.begin(), cutoffs.end(), flow.packets) - cutoffs.begin());
}

// A packet of a message has arrived.
void Network::receive_message(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  if (!flow.homa.inbound && flow.homa.promised < flow.packets) {
    flow.homa.inbound = true;
    inbound_[flow.destination].push_back(slot);
  }
  if (flow.homa.inbound) grant(flow.destination);
}

// Keeps RTTbytes granted to as many of the shortest messages as there are classes for granted
// packets. The shortest has the first of the classes in use, which are the last ones.
void Network::grant(std::uint32_t host) {
  std::vector<std::uint32_t>& inbound = inbound_[host];
  const auto levels = settings_.classes - homa_unscheduled_;
  const auto missing = [this](std::uint32_t slot) {
    const Flow& flow = flows_[slot];
    return std::tuple(flow.packets - flow.expected, flow.id);
  };
  bool changes = true;
  while (changes && !inbound.empty()) {
    std::sort(inbound.begin(), inbound.end(),
              [&](std::uint32_t a, std::uint32_t b) { return missing(a) < missing(b); });
    const auto chosen = std::min<std::uint32_t>(levels, static_cast<std::uint32_t>(inbound.size()));
    for (std::uint32_t rank = 0; rank < chosen; ++rank) {
      const std::uint32_t slot = inbound[rank];
      Flow& flow = flows_[slot];
      const std::uint32_t wanted =
          flow.packets - flow.expected > flow.homa.unscheduled
              ? flow.expected + flow.homa.unscheduled
              : flow.packets;
      if (wanted <= flow.homa.promised) continue;
      flow.homa.promised = wanted;
      const std::uint32_t out = flow.back.ports[0];
      const PacketId id = control_packet(slot, Kind::grant, settings_.ack_bytes);
      packets_[id].number = wanted;
      packets_[id].priority = static_cast<std::uint8_t>(settings_.classes - chosen + rank);
      ports_[out].acks.push(packets_, id);
      kick(out);
    }
    // Messages that are granted completely make room for others.
    const auto done = std::remove_if(inbound.begin(), inbound.end(), [this](std::uint32_t slot) {
      Flow& flow = flows_[slot];
      flow.homa.inbound = flow.homa.promised < flow.packets;
      return !flow.homa.inbound;
    });
    changes = done != inbound.end();
    inbound.erase(done, inbound.end());
  }
}

void Network::receive_grant(PacketId id) {
  const Packet packet = packets_[id];
  const std::uint32_t slot = packet.flow;
  Flow& flow = flows_[slot];
  --flow.live_packets;
  free_packet(id);
  flow.homa.granted = std::max(flow.homa.granted, packet.number);
  flow.homa.level = packet.priority;
  make_ready(slot);
  kick(flow.there.ports[0]);
  release_if_over(slot);
}

}  // namespace ccbench::datacenter
