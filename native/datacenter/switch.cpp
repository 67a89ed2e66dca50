// SPDX-License-Identifier: Apache-2.0
//
// Switches: select a packet's port, admit it to the shared buffer, assign its queue, mark it, and
// pause the other end of the link.

#include <algorithm>

#include "network.h"

namespace ccbench::datacenter {

void Network::switch_receive(PacketId id, std::uint32_t from_port) {
  Packet& packet = packets_[id];
  const Flow& flow = flows_[packet.flow];
  std::uint32_t out = None;
  switch (packet.kind) {
    case Kind::data:
      enqueue(id, from_port);
      return;
    case Kind::credit:
      add_credit(topology_.reverse(flow.there.ports[--packet.hop]), id);
      return;
    case Kind::drop_notice:
      out = topology_.reverse(flow.there.ports[--packet.hop]);
      break;
    case Kind::credit_request:
    case Kind::credit_stop:
      out = flow.there.ports[++packet.hop];
      break;
    default:
      if (settings_.queued_acks) {
        enqueue(id, from_port);
        return;
      }
      out = flow.back.ports[++packet.hop];
  }
  ports_[out].acks.push(packets_, id);
  kick(out);
}

void Network::enqueue(PacketId id, std::uint32_t from_port) {
  Packet& packet = packets_[id];
  Flow& flow = flows_[packet.flow];
  const bool data = packet.kind == Kind::data;
  const std::uint32_t hop = ++packet.hop;
  const std::uint32_t out =
      data && settings_.spray
          ? topology_.next_port(ports_[from_port].to, flow.destination, packet.spray)
          : (data ? flow.there : flow.back).ports[hop];
  Port& port = ports_[out];
  Switch& at = switch_at(port.from);
  const bool full =
      settings_.buffer_bytes > 0 && at.used + packet.bytes > settings_.buffer_bytes;
  if (full && settings_.drop_notices && data) {
    send_notice(id, port);
    return;
  }
  if (full && !settings_.drop_notices) {
    drop(id, port);
    return;
  }
  packet.time = now_;
  packet.ingress = from_port;
  packet.upstream_queue = packet.queue;
  at.used += packet.bytes;
  at.peak = std::max(at.peak, static_cast<std::uint64_t>(at.used));
  ports_[from_port].buffered += packet.bytes;

  const std::uint32_t queue = choose_queue(port, flow, packet);
  if (data && !settings_.spray && flow.queued_at[hop]++ == 0) {
    ++port.active_flows;
    ++port.counts.assignments;
    port.counts.collisions += port.data[queue].length > 0;
  }
  packet.queue = static_cast<std::uint16_t>(queue);
  port.data.push(packets_, id, queue);
  port.counts.peak_queue_bytes =
      std::max<std::uint64_t>(port.counts.peak_queue_bytes, port.data.bytes());
  if (settings_.ecn && data && mark(port, queue)) {
    packet.marked = true;
    ++port.counts.marked_packets;
  }
  // Below, frames may be sent, and packets may move in memory.
  if (settings_.backpressure && data) backpressure(port, packet);
  if (settings_.pfc) check_ingress(at, from_port);
  kick(out);
}

std::uint32_t Network::choose_queue(Port& port, Flow& flow, Packet& packet) {
  const std::uint32_t first_queue = packet.priority * class_queues();
  switch (settings_.assignment) {
    case Assignment::single:
      return packet.priority;
    case Assignment::stochastic:
      return first_queue + reduce(flow.hash, class_queues());
    case Assignment::per_flow: {
      std::uint16_t& queue = flow.queue_at[packet.hop];
      if (flow.queued_at[packet.hop] == 0) {
        std::uint32_t found = port.empty[0].find();
        if (found == None) {
          found = port.data.add_queue();
          port.empty[0].grow(port.data.size());
        }
        queue = static_cast<std::uint16_t>(found);
        port.empty[0].clear(queue);
      }
      return queue;
    }
    case Assignment::dynamic:
      break;
  }
  packet.sampled = settings_.sampling >= 1 || port.sampling.share() < settings_.sampling;
  QueueBitmap& empty = port.empty[packet.priority];
  std::uint32_t queue = port.tables[packet.priority].enqueue(
      flow.hash, now_, packet.sampled, empty, settings_.incast_label ? 1 : first_queue,
      first_queue + class_queues(), port.queue_choice);
  if (settings_.incast_label && flow.incast) queue = 0;
  if (queue > 0 || !settings_.incast_label) empty.clear(queue);
  return queue;
}

// Makes a queue without packets available to the next flow, unless it is reserved for incast, or is
// paused and paused queues are skipped.
void Network::note_empty(Port& port, std::uint32_t queue) {
  if (settings_.assignment < Assignment::per_flow) return;
  if (settings_.incast_label && queue == 0) return;
  if (port.data[queue].length > 0) return;
  const bool skipped = settings_.skip_paused && port.data[queue].paused;
  QueueBitmap& empty = port.empty[settings_.classes == 1 ? 0 : queue / class_queues()];
  skipped ? empty.clear(queue) : empty.set(queue);
}

// BFC (3.3.3.2): a packet that arrives at a queue longer than the threshold pauses its upstream
// queue.
void Network::backpressure(Port& port, Packet& packet) {
  packet.counted = false;
  Port& from = ports_[packet.ingress];
  const std::int64_t active = std::max<std::uint32_t>(port.data.active(), 1);
  // A pause takes effect after an RTT of the link that the packet came from.
  const auto limit = static_cast<std::int64_t>(settings_.pause_threshold_hops *
                                               static_cast<double>(2 * from.delay) *
                                               static_cast<double>(port.rate_mbps) / 8e6);
  if (port.data[packet.queue].bytes * active <= limit) return;
  if (settings_.assignment == Assignment::dynamic && !packet.sampled) return;
  const Flow& flow = flows_[packet.flow];
  if (flow.queued_at[packet.hop] < settings_.pause_packets) return;
  packet.counted = true;
  const std::uint16_t queue = packet.upstream_queue;
  if (from.pause_counters.increment(queue)) send_frame(from.reverse, Kind::bfc_pause, queue);
}

// Accounts for a packet that has left its queue.
void Network::dequeued(std::uint32_t index, PacketId id) {
  Port& port = ports_[index];
  Packet& packet = packets_[id];
  Flow& flow = flows_[packet.flow];
  Port& from = ports_[packet.ingress];
  Switch& at = switch_at(port.from);
  at.used -= packet.bytes;
  from.buffered -= packet.bytes;
  const bool data = packet.kind == Kind::data;
  if (data && !settings_.spray && --flow.queued_at[packet.hop] == 0) --port.active_flows;
  note_empty(port, packet.queue);
  if (settings_.assignment == Assignment::dynamic && packet.sampled) {
    port.tables[packet.priority].dequeue(flow.hash, now_);
  }
  const bool unscheduled =
      settings_.control == Control::homa && packet.priority < homa_unscheduled_;
  if (settings_.queue_delays && data && !unscheduled) {
    results_.delays[index].add(now_ - packet.time);
  }
  if (settings_.control == Control::hpcc && data) {
    packets_.telemetry(id)[packet.hop] = {now_, port.counts.sent_bytes, port.data.bytes(),
                                          static_cast<std::uint32_t>(port.rate_mbps)};
  }
  // Below, frames may be sent, and packets may move in memory.
  const std::uint32_t ingress = packet.ingress;
  if (packet.counted) {
    packet.counted = false;
    const std::uint16_t queue = packet.upstream_queue;
    if (from.pause_counters.decrement(queue)) send_frame(from.reverse, Kind::bfc_resume, queue);
  }
  if (settings_.pfc) check_ingress(at, ingress);
}

// PFC with a dynamic threshold: an ingress port may hold a share of the free buffer.
std::int64_t Network::pfc_limit(const Switch& at) const {
  const std::int64_t free = std::max<std::int64_t>(at.pfc_buffer - at.used, 0);
  return static_cast<std::int64_t>(settings_.pfc_share * static_cast<double>(free));
}

void Network::check_ingress(Switch& at, std::uint32_t from_port) {
  Port& from = ports_[from_port];
  const std::int64_t limit = pfc_limit(at);
  if (!from.asked_to_stop && from.buffered > limit) {
    from.asked_to_stop = true;
    send_frame(from.reverse, Kind::pfc_pause, 0);
  } else if (from.asked_to_stop &&
             from.buffered <= std::max<std::int64_t>(limit - 2 * packet_bytes(), 0)) {
    from.asked_to_stop = false;
    send_frame(from.reverse, Kind::pfc_resume, 0);
  }
}

bool Network::mark(Port& port, std::uint32_t queue) {
  const double bytes = port.data[queue].bytes;
  if (bytes <= settings_.ecn_min_bytes) return false;
  if (bytes > settings_.ecn_max_bytes) return true;
  const double share = (bytes - settings_.ecn_min_bytes) /
                       (settings_.ecn_max_bytes - settings_.ecn_min_bytes);
  return port.marking.share() < share * settings_.ecn_max_probability;
}

// Drops a data packet and sends its number back to the sender.
void Network::send_notice(PacketId id, Port& port) {
  ++port.counts.dropped_packets;
  ++results_.dropped_packets;
  ++results_.created_packets;
  Packet& packet = packets_[id];
  packet.kind = Kind::drop_notice;
  packet.bytes = static_cast<std::uint16_t>(settings_.ack_bytes);
  const std::uint32_t out = topology_.reverse(flows_[packet.flow].there.ports[--packet.hop]);
  ports_[out].acks.push(packets_, id);
  kick(out);
}

void Network::drop(PacketId id, Port& port) {
  ++port.counts.dropped_packets;
  ++results_.dropped_packets;
  const std::uint32_t slot = packets_[id].flow;
  packets_.give_back(id);
  Flow& flow = flows_[slot];
  --flow.live_packets;
  // The sender's timer matters only after a loss.
  if (!is_set(flow, Timer::retransmission)) {
    set_timer(slot, Timer::retransmission, now_ + settings_.retransmission_timeout);
  }
  release_if_over(slot);
}

}  // namespace ccbench::datacenter
