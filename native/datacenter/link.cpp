// SPDX-License-Identifier: Apache-2.0
//
// Ports send their packets one by one: pause frames first, then ACKs, then data.

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
    events_.schedule(2 * index + 1, port.free_at);
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
  } else if (!has_data()) {
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
    events_.schedule(2 * index + 1, port.free_at);
  }
}

void Network::transmit(std::uint32_t index, PacketId id) {
  Port& port = ports_[index];
  Packet& packet = packets_[id];
  port.free_at = now_ + port.serialisation(packet.bytes);
  port.counts.sent_bytes += packet.bytes;
  packet.time = port.free_at + port.delay;
  if (port.flying.empty()) events_.schedule(2 * index, packet.time);
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
