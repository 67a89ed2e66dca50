// SPDX-License-Identifier: Apache-2.0

#include "probe.h"

namespace ccbench::datacenter {

namespace {

std::vector<PortSpec> star(const std::vector<std::int64_t>& rates_mbps, Time delay) {
  const auto hosts = static_cast<std::uint32_t>(rates_mbps.size());
  std::vector<PortSpec> ports;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    ports.push_back({host, hosts, rates_mbps[host], delay});
  }
  for (std::uint32_t host = 0; host < hosts; ++host) {
    ports.push_back({hosts, host, rates_mbps[host], delay});
  }
  return ports;
}

// Returns a stream with the given next draw.
template <typename Wanted>
Random drawing(const Wanted& wanted) {
  std::uint64_t seed = 0;
  while (!wanted(Random(seed))) ++seed;
  return Random(seed);
}

}  // namespace

Probe::Probe(const Settings& settings, const std::vector<std::int64_t>& rates_mbps, Time delay)
    : hosts_(static_cast<std::uint32_t>(rates_mbps.size())),
      network_(settings, hosts_, hosts_ + 1, star(rates_mbps, delay), {}) {
  // Pretend that each port has a pending event, so that nothing is sent unless requested.
  for (Port& port : network_.ports_) port.awake = true;
}

PacketId Probe::enqueue(Time now, const Arrival& arrival, const Chance& chance) {
  network_.now_ = now;
  const std::uint32_t slot = network_.flows_.take(Control::none);
  Flow& flow = network_.flows_[slot];
  flow.hash = arrival.hash;
  flow.there.hops = 2;
  flow.there.ports = {arrival.ingress, towards(arrival.egress)};
  const PacketId id = network_.packets_.take();
  Packet& packet = network_.packets_[id];
  packet = Packet{};
  packet.kind = Kind::data;
  packet.flow = slot;
  packet.bytes = arrival.bytes;
  packet.queue = arrival.upstream_queue;
  take_chance(network_.ports_[flow.there.ports[1]], chance);
  network_.enqueue(id, arrival.ingress);
  return id;
}

void Probe::dequeue(Time now, PacketId id) {
  network_.now_ = now;
  const Packet& packet = network_.packets_[id];
  const std::uint32_t slot = packet.flow;
  const std::uint32_t index = network_.flows_[slot].there.ports[1];
  Scheduler& data = network_.ports_[index].data;
  // Let the scheduler choose only the packet's queue.
  std::vector<std::uint32_t> others;
  for (std::uint32_t queue = 0; queue < data.size(); ++queue) {
    if (queue != packet.queue && !data[queue].paused) others.push_back(queue);
  }
  const std::uint32_t own = packet.queue;
  const bool was_paused = data[own].paused;
  for (const std::uint32_t queue : others) data.pause(queue);
  data.resume(own);
  const PacketId left = data.pop(network_.packets_);
  if (was_paused) data.pause(own);
  for (const std::uint32_t queue : others) data.resume(queue);
  network_.dequeued(index, left);
  network_.packets_.give_back(left);
  network_.flows_.give_back(slot);
}

void Probe::receive(Time now, const Frame& frame) {
  network_.now_ = now;
  const PacketId id = network_.packets_.take();
  Packet& packet = network_.packets_[id];
  packet = Packet{};
  packet.kind = frame.pause ? Kind::bfc_pause : Kind::bfc_resume;
  packet.flow = None;
  packet.number = frame.queue;
  network_.ports_[frame.port].flying.push(network_.packets_, id);
  network_.arrive(frame.port);
}

std::vector<std::uint32_t> Probe::paused(std::uint32_t port) const {
  const Scheduler& data = network_.ports_[towards(port)].data;
  std::vector<std::uint32_t> queues;
  for (std::uint32_t queue = 0; queue < data.size(); ++queue) {
    if (data[queue].paused) queues.push_back(queue);
  }
  return queues;
}

std::vector<Frame> Probe::sent() {
  std::vector<Frame> frames;
  for (std::uint32_t port = 0; port < hosts_; ++port) {
    PacketList& urgent = network_.ports_[towards(port)].urgent;
    while (!urgent.empty()) {
      const PacketId id = urgent.pop(network_.packets_);
      const Packet& packet = network_.packets_[id];
      frames.push_back({packet.kind == Kind::bfc_pause, port, packet.number});
      network_.packets_.give_back(id);
    }
  }
  return frames;
}

// Sets the port's streams to the given draws: whether a packet is sampled and, if no queue is
// empty, its queue.
void Probe::take_chance(Port& port, const Chance& chance) {
  const Settings& settings = network_.settings_;
  if (settings.sampling < 1) {
    port.sampling = drawing([&](Random random) {
      return (random.share() < settings.sampling) == chance.sampled;
    });
  }
  port.queue_choice =
      drawing([&](Random random) { return random.below(settings.queues) == chance.queue; });
}

}  // namespace ccbench::datacenter
