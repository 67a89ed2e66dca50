// SPDX-License-Identifier: Apache-2.0
//
// Hosts: start flows, send within window and rate, acknowledge, and retransmit from the missing
// packet (Go-Back-N).

#include <algorithm>

#include "dcqcn.h"
#include "dctcp.h"
#include "delay_window.h"
#include "hpcc.h"
#include "network.h"

namespace ccbench::datacenter {

void Network::start_flow(std::uint32_t id) {
  const FlowSpec& spec = specs_[id];
  const std::uint32_t slot = flows_.take(settings_.control);
  events_.add_sources(SourcesPerPort * static_cast<std::uint32_t>(ports_.size()) +
                      TimersPerFlow * flows_.capacity());
  Flow& flow = flows_[slot];
  // Flows are identified by their ends and start, not by their index in the traffic, which depends
  // on other flows.
  if (id > 0 && specs_[id - 1].start != spec.start) starting_.clear();
  const std::uint32_t alike = starting_[{spec.source, spec.destination}]++;
  const std::uint64_t identifier = derived(settings_.seed, Purpose::flow, spec.source,
                                           spec.destination, spec.start, alike);
  flow.id = id;
  flow.hash = static_cast<std::uint32_t>(identifier);
  flow.source = spec.source;
  flow.destination = spec.destination;
  flow.incast = spec.incast;
  flow.priority = spec.priority;
  flow.packets = None;
  flow.last_bytes = settings_.payload_bytes;
  flow.there = topology_.path(spec.source, spec.destination, derived(identifier, Purpose::there));
  flow.back = topology_.path(spec.destination, spec.source, derived(identifier, Purpose::back));
  if (spec.bytes > 0) {
    flow.packets = static_cast<std::uint32_t>((spec.bytes - 1) / settings_.payload_bytes + 1);
    flow.last_bytes = static_cast<std::uint32_t>((spec.bytes - 1) % settings_.payload_bytes + 1);
    results_.ideal[id] = ideal_completion(flow.there, port_specs_, flow.packets,
                                          settings_.payload_bytes + settings_.header_bytes,
                                          flow.last_bytes + settings_.header_bytes);
    results_.ideal_acknowledged[id] =
        results_.ideal[id] +
        ideal_completion(flow.back, port_specs_, 1, settings_.ack_bytes, settings_.ack_bytes);
  }
  flow.progress = now_;
  flow.refused = None;
  flow.last_notification = -settings_.dcqcn_notification_interval;
  const double line_mbps = static_cast<double>(ports_[flow.there.ports[0]].rate_mbps);
  flow.base_rtt = settings_.pair_rtt
                      ? topology_.rtt(flow.there, packet_bytes(),
                                      settings_.ack_bytes + settings_.telemetry_bytes)
                      : base_rtt_;
  flow.window_bytes = settings_.window_bdp * line_mbps / 8e6 * static_cast<double>(flow.base_rtt);
  switch (settings_.control) {
    case Control::none:
      flow.window_bytes = 1e18;
      break;
    case Control::dctcp:
      start_dctcp(flow, settings_.slow_start_packets * packet_bytes());
      break;
    case Control::dcqcn:
      flow.window_bytes = 1e18;
      start_dcqcn(flow);
      break;
    case Control::hpcc:
      start_hpcc(flow);
      break;
    case Control::express_pass:
      flow.window_bytes = 1e18;
      flow.express_pass->random = Random(derived(identifier, Purpose::credits));
      request_credits(slot);
      return;
    case Control::homa:
      start_homa(flow);
      break;
    case Control::fixed_window:
    case Control::delay_window:
      break;
  }
  make_ready(slot);
  kick(flow.there.ports[0]);
}

void Network::set_timer(std::uint32_t slot, Timer timer, Time time) {
  const auto which = static_cast<std::uint32_t>(timer);
  flows_[slot].timers |= static_cast<std::uint8_t>(1U << which);
  events_.schedule(
      SourcesPerPort * static_cast<std::uint32_t>(ports_.size()) + TimersPerFlow * slot + which,
      time);
}

void Network::fire(std::uint32_t slot, Timer timer) {
  Flow& flow = flows_[slot];
  flow.timers &= static_cast<std::uint8_t>(~(1U << static_cast<unsigned>(timer)));
  if (flow.all_acked()) {
    release_if_over(slot);
    return;
  }
  switch (timer) {
    case Timer::pace:
      make_ready(slot);
      kick(flow.there.ports[0]);
      break;
    case Timer::retransmission:
      settings_.control == Control::express_pass ? request_credits(slot) : time_out(slot);
      break;
    case Timer::credit:
      send_credit(slot);
      break;
    case Timer::increase:
      if (flow.rate_mbps <= 0) break;
      if (now_ >= flow.dcqcn.increase_at) {
        ++flow.dcqcn.time_steps;
        dcqcn_increase(flow, static_cast<double>(ports_[flow.there.ports[0]].rate_mbps), settings_);
        flow.dcqcn.increase_at = now_ + settings_.dcqcn_increase_interval;
      }
      if (flow.rate_mbps > 0) set_timer(slot, Timer::increase, flow.dcqcn.increase_at);
      break;
  }
}

// Adds a flow to those that may send if it may; otherwise sets a timer if it may later.
void Network::make_ready(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  if (flow.ready || flow.all_sent()) return;
  if (settings_.control == Control::express_pass && flow.express_pass->credits.empty()) return;
  if (settings_.control == Control::homa && flow.next_number >= flow.homa.granted) return;
  const std::uint32_t inflight =
      flow.next_number - flow.acked - static_cast<std::uint32_t>(flow.dropped.size());
  if (inflight > 0 && (inflight + 1.0) * packet_bytes() > flow.window_bytes) return;
  if (flow.rate_mbps > 0 && flow.next_send > now_) {
    if (!is_set(flow, Timer::pace)) set_timer(slot, Timer::pace, flow.next_send);
    return;
  }
  Nic& nic = nics_[flow.source];
  if (!flow.in_nic_queue) nic.assign(flow);
  nic.push(flows_, slot);
}

// The next packet of the next flow.
PacketId Network::next_packet(std::uint32_t host) {
  Nic& nic = nics_[host];
  const std::uint32_t slot = nic.pop(flows_);
  const PacketId id = packets_.take();
  ++results_.created_packets;
  ++results_.sent_data_packets;
  Flow& flow = flows_[slot];
  Packet& packet = packets_[id];
  packet = Packet{};
  packet.kind = Kind::data;
  packet.flow = slot;
  if (flow.dropped.empty()) {
    packet.number = flow.next_number++;
  } else {
    packet.number = flow.dropped.back();
    flow.dropped.pop_back();
    ++results_.resent_data_packets;
  }
  packet.remaining = flow.packets - packet.number;
  packet.sent = now_;
  packet.queue = flow.nic_queue;
  packet.priority = flow.priority;
  if (settings_.spray) {
    packet.spray = static_cast<std::uint32_t>(derived(flow.hash, Purpose::spray, packet.number));
  }
  if (settings_.control == Control::homa) packet.priority = homa_class(flow, packet.number);
  if (settings_.control == Control::express_pass) {
    packet.credit = flow.express_pass->credits.front().number;
    packet.sent = flow.express_pass->credits.front().sent;
    flow.express_pass->credits.pop_front();
  }
  const std::uint32_t payload =
      packet.number + 1 == flow.packets ? flow.last_bytes : settings_.payload_bytes;
  packet.bytes = static_cast<std::uint16_t>(payload + settings_.header_bytes +
                                            settings_.telemetry_bytes);
  ++flow.live_packets;
  if (settings_.control == Control::hpcc) {
    const Port& port = ports_[flow.there.ports[0]];
    packets_.telemetry(id)[0] = {now_, port.counts.sent_bytes, 0,
                                 static_cast<std::uint32_t>(port.rate_mbps)};
  }
  if (flow.rate_mbps > 0) {
    flow.next_send = now_ + static_cast<Time>(packet.bytes * 8e6 / flow.rate_mbps);
    if (settings_.control == Control::dcqcn && dcqcn_count(flow, packet.bytes, settings_)) {
      dcqcn_increase(flow, static_cast<double>(ports_[flow.there.ports[0]].rate_mbps), settings_);
    }
  }
  if (flow.all_sent()) {
    nic.release(flow);
  } else {
    make_ready(slot);
  }
  return id;
}

void Network::host_receive(PacketId id) {
  switch (packets_[id].kind) {
    case Kind::data:
      receive_data(id);
      break;
    case Kind::drop_notice:
      resend(id);
      break;
    case Kind::credit_request:
    case Kind::credit_stop:
      receive_request(id);
      break;
    case Kind::credit:
      receive_credit(id);
      break;
    case Kind::grant:
      receive_grant(id);
      break;
    default:
      receive_ack(id);
  }
}

// Turns a data packet into its own ACK, if one is due.
void Network::receive_data(PacketId id) {
  Packet& packet = packets_[id];
  Flow& flow = flows_[packet.flow];
  bool due = true;
  if (settings_.control == Control::express_pass) count_credit(flow, packet);
  if (packet.number == flow.expected || reorders()) {
    ++flow.expected;
    const std::uint64_t payload =
        packet.bytes - settings_.header_bytes - settings_.telemetry_bytes;
    delivered_ += payload;
    if (flow.packets == None) delivered_long_ += payload;
    results_.delivered_bytes[flow.id] += static_cast<std::int64_t>(payload);
    if (flow.expected == flow.packets) {
      results_.completion[flow.id] = now_ - specs_[flow.id].start;
    }
    due = flow.expected % settings_.packets_per_ack == 0 || flow.expected == flow.packets;
    packet.kind = Kind::ack;
  } else if (packet.number > flow.expected) {
    due = flow.refused != flow.expected;  // the sender has not been notified
    flow.refused = flow.expected;
    packet.kind = due ? Kind::nack : Kind::ack;
  } else {
    packet.kind = Kind::ack;
  }
  if (settings_.control == Control::dcqcn && packet.marked &&
      now_ - flow.last_notification >= settings_.dcqcn_notification_interval) {
    flow.last_notification = now_;
    packet.notifies = true;
  }
  const std::uint32_t slot = packet.flow;
  if (!due && !packet.notifies) {
    --flow.live_packets;
    free_packet(id);
    if (settings_.control == Control::homa) receive_message(slot);
    release_if_over(slot);
    return;
  }
  packet.number = flow.expected;
  packet.hop = 0;
  packet.bytes = static_cast<std::uint16_t>(settings_.ack_bytes + settings_.telemetry_bytes);
  const std::uint32_t out = flow.back.ports[0];
  ports_[out].acks.push(packets_, id);
  kick(out);
  if (settings_.control == Control::homa) receive_message(slot);
}

void Network::receive_ack(PacketId id) {
  const Packet& packet = packets_[id];
  const std::uint32_t slot = packet.flow;
  Flow& flow = flows_[slot];
  std::uint32_t newly_acked = 0;
  if (packet.number > flow.acked) {
    newly_acked = packet.number - flow.acked;
    flow.acked = packet.number;
    flow.progress = now_;
    flow.next_number = std::max(flow.next_number, flow.acked);
    if (flow.all_acked()) {
      results_.acknowledged[flow.id] = now_ - specs_[flow.id].start;
      --unacknowledged_;
    }
  }
  if (packet.kind == Kind::nack && packet.number == flow.acked) go_back(flow);
  if (flow.ready && flow.all_sent()) {  // packets due for retransmission have arrived after all
    nics_[flow.source].remove(flows_, slot);
    nics_[flow.source].release(flow);
  }
  control(flow, id, newly_acked);
  --flow.live_packets;
  free_packet(id);
  if (flow.all_acked()) {
    release_if_over(slot);
    return;
  }
  make_ready(slot);
  kick(flow.there.ports[0]);
}

void Network::control(Flow& flow, PacketId id, std::uint32_t newly_acked) {
  const Packet& packet = packets_[id];
  const double line_mbps = static_cast<double>(ports_[flow.there.ports[0]].rate_mbps);
  switch (settings_.control) {
    case Control::none:
    case Control::fixed_window:
    case Control::express_pass:
    case Control::homa:
      break;
    case Control::dctcp:
      dctcp_ack(flow, packet.marked, newly_acked, packet_bytes(), settings_.dctcp_gain);
      break;
    case Control::dcqcn:
      if (packet.notifies && !flow.all_acked()) {
        dcqcn_notification(flow, now_, line_mbps, settings_);
        if (!is_set(flow, Timer::increase)) {
          set_timer(packet.flow, Timer::increase, flow.dcqcn.increase_at);
        }
      }
      break;
    case Control::hpcc:
      hpcc_ack(flow, packets_.telemetry(id), flow.there.hops, flow.base_rtt, line_mbps, settings_);
      break;
    case Control::delay_window:
      delay_window_ack(flow, now_ - packet.sent,
                       settings_.target_rtts * static_cast<double>(flow.base_rtt), packet_bytes());
      break;
  }
}

// A packet of the host's other duties: requests, credits, grants.
PacketId Network::control_packet(std::uint32_t slot, Kind kind, std::uint32_t bytes) {
  const PacketId id = packets_.take();
  ++results_.created_packets;
  ++flows_[slot].live_packets;
  Packet& packet = packets_[id];
  packet = Packet{};
  packet.kind = kind;
  packet.flow = slot;
  packet.bytes = static_cast<std::uint16_t>(bytes);
  return id;
}

// Sends a packet again that a switch has dropped.
void Network::resend(PacketId id) {
  const std::uint32_t slot = packets_[id].flow;
  Flow& flow = flows_[slot];
  flow.dropped.push_back(packets_[id].number);
  --flow.live_packets;
  free_packet(id);
  make_ready(slot);
  kick(flow.there.ports[0]);
}

void Network::go_back(Flow& flow) {
  results_.resent_data_packets += flow.next_number - flow.acked;
  flow.next_number = flow.acked;
}

void Network::time_out(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  if (now_ - flow.progress >= settings_.retransmission_timeout) {
    go_back(flow);
    flow.progress = now_;
    make_ready(slot);
    kick(flow.there.ports[0]);
  }
  set_timer(slot, Timer::retransmission, flow.progress + settings_.retransmission_timeout);
}

// Frees the flow's state once nothing refers to it any more.
void Network::release_if_over(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  if (!flow.all_acked() || flow.live_packets > 0 || flow.timers != 0) return;
  if (flow.in_nic_queue) nics_[flow.source].release(flow);
  flows_.give_back(slot);
}

}  // namespace ccbench::datacenter
