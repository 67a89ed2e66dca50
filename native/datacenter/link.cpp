// SPDX-License-Identifier: Apache-2.0
//
// Ports send their packets one by one: pause frames first, then ACKs, credits if one is due, data.

#include <algorithm>

#include "network.h"

namespace ccbench::datacenter {

// Starts sending if the port is idle; there may be new packets.
void Network::kick(std::uint32_t index) {
  Port& port = ports_[index];
  if (port.awake) return;
  if (now_ >= port.free_at) {
    send_next(index);
  } else {
    port.awake = true;
    events_.schedule(SourcesPerPort * index + 1, port.free_at);
  }
}

// Sends the next packet; the transmitter is free.
void Network::send_next(std::uint32_t index) {
  Port& port = ports_[index];
  const bool host = is_host(port.from);
  const auto has_data = [&] {
    return !port.stopped && !(host ? nics_[port.from].idle() : port.data.idle());
  };
  PacketId id;
  if (!port.urgent.empty()) {
    id = port.urgent.pop(packets_);
  } else if (!port.acks.empty()) {
    id = port.acks.pop(packets_);
  } else if (port.queued_credits > 0 && credit_due(port)) {
    id = port.credits.pop(packets_);
    --port.queued_credits;
    port.credit_at = std::max(port.credit_at, now_) + port.credit_interval;
  } else if (!has_data()) {
    wake_for_credit(index);
    return;
  } else if (host) {
    id = next_packet(port.from);
    ++port.counts.data_packets;
  } else {
    id = port.data.pop(packets_);
    port.counts.data_packets += packets_[id].kind == Kind::data;
    dequeued(index, id);
  }
  transmit(index, id);
  if (!port.urgent.empty() || !port.acks.empty() || has_data()) {
    port.awake = true;
    events_.schedule(SourcesPerPort * index + 1, port.free_at);
  } else {
    wake_for_credit(index);
  }
}

void Network::transmit(std::uint32_t index, PacketId id) {
  Port& port = ports_[index];
  Packet& packet = packets_[id];
  port.free_at = now_ + port.serialisation(packet.bytes);
  port.counts.sent_bytes += packet.bytes;
  packet.time = port.free_at + port.delay;
  if (port.flying.empty()) events_.schedule(SourcesPerPort * index, packet.time);
  port.flying.push(packets_, id);
}

// Sends a pause or resume frame to the other end of the link.
void Network::send_frame(std::uint32_t index, Kind kind, std::uint32_t number) {
  const PacketId id = packets_.take();
  ++results_.created_packets;
  Packet& packet = packets_[id];
  packet = Packet{};
  packet.flow = None;
  packet.kind = kind;
  packet.number = number;
  packet.bytes = 64;  // the minimum size of an Ethernet frame
  ports_[index].urgent.push(packets_, id);
  kick(index);
}

// Queues a credit, or drops it: credits have a short queue of their own.
void Network::add_credit(std::uint32_t index, PacketId id) {
  Port& port = ports_[index];
  if (port.queued_credits >= settings_.credit_queue) {
    ++results_.dropped_credits;
    const std::uint32_t slot = packets_[id].flow;
    --flows_[slot].live_packets;
    free_packet(id);
    release_if_over(slot);
    return;
  }
  ++port.queued_credits;
  port.credits.push(packets_, id);
  kick(index);
}

// Sets an event for the first queued credit, which is not due yet.
void Network::wake_for_credit(std::uint32_t index) {
  Port& port = ports_[index];
  if (port.queued_credits == 0 || port.credit_awake) return;
  port.credit_awake = true;
  events_.schedule(SourcesPerPort * index + 2,
                   std::max(port.free_at, port.credit_at - port.credit_interval));
}

void Network::stop(std::uint32_t index) {
  Port& port = ports_[index];
  if (port.stopped) return;
  port.stopped = true;
  port.stopped_at = now_;
  ++port.counts.pauses;
}

void Network::go_on(std::uint32_t index) {
  Port& port = ports_[index];
  if (!port.stopped) return;
  port.stopped = false;
  port.counts.paused += now_ - port.stopped_at;
  kick(index);
}

void Network::free_packet(PacketId id) {
  packets_.give_back(id);
  ++results_.consumed_packets;
}

}  // namespace ccbench::datacenter
