// SPDX-License-Identifier: Apache-2.0

#include "network.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace ccbench::datacenter {

namespace {

// A packet with the longest frame on any link.
Time longest_hop(const std::vector<PortSpec>& ports, std::int64_t bytes) {
  Time longest = 0;
  for (const PortSpec& port : ports) {
    longest = std::max(longest, port.delay + serialisation(bytes, port.rate_mbps));
  }
  return longest;
}

}  // namespace

Network::Network(const Settings& settings, std::uint32_t hosts, std::uint32_t nodes,
                 const std::vector<PortSpec>& ports, std::vector<FlowSpec> flows)
    : settings_(settings),
      hosts_(hosts),
      port_specs_(ports),
      specs_(std::move(flows)),
      topology_(hosts, nodes, ports),
      base_rtt_(topology_.base_rtt(packet_bytes(), settings.ack_bytes + settings.telemetry_bytes)),
      events_(SourcesPerPort * static_cast<std::uint32_t>(ports.size()),
              longest_hop(ports, packet_bytes())),
      packets_(settings.control == Control::hpcc),
      switches_(nodes - hosts),
      inbound_(hosts) {
  nics_.reserve(hosts);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    nics_.emplace_back(settings.backpressure ? settings.nic_queues : 1, settings.shortest_first,
                       Random(derived(settings.seed, Purpose::nic, topology_.name(host))));
  }
  ports_.reserve(ports.size());
  for (std::uint32_t index = 0; index < ports.size(); ++index) {
    const PortSpec& spec = ports[index];
    const std::uint64_t seed =
        derived(settings.seed, Purpose::port, topology_.name(spec.from), topology_.name(spec.to));
    Port& port = ports_.emplace_back(spec, seed);
    port.reverse = topology_.reverse(index);
    port.credit_interval = port.serialisation(packet_bytes() + settings.credit_bytes);
    if (is_host(port.from)) continue;
    const bool grows = settings.assignment == Assignment::per_flow;
    port.data = Scheduler(grows ? 0 : settings.queues, settings.classes,
                          static_cast<std::int32_t>(packet_bytes()), settings.shortest_first);
    if (settings.assignment >= Assignment::per_flow) port.empty.resize(settings.classes);
    if (settings.assignment != Assignment::dynamic) continue;
    Time hop_rtt = 0;
    for (const PortSpec& other : ports) {
      if (other.to == port.from) hop_rtt = std::max(hop_rtt, 2 * other.delay);
    }
    const double sticky = settings.sticky_hops * static_cast<double>(hop_rtt);
    const std::uint32_t count = class_queues();
    for (std::uint32_t c = 0; c < settings.classes; ++c) {
      port.tables.emplace_back(settings.table_entries / settings.classes, static_cast<Time>(sticky));
      const std::uint32_t first = c * count;
      port.empty[c] = QueueBitmap(first + count, settings.incast_label ? 1 : first);
    }
  }
  // PFC reserves the amount that may still arrive over each link after a pause frame.
  for (Switch& at : switches_) at.pfc_buffer = settings.buffer_bytes;
  for (const Port& port : ports_) {
    if (is_host(port.to)) continue;
    switch_at(port.to).pfc_buffer -=
        2 * port.delay * port.rate_mbps / 8'000'000 + 4 * std::int64_t{packet_bytes()};
  }
  for (const Switch& at : switches_) {
    if (settings.pfc && settings.buffer_bytes > 0 && at.pfc_buffer <= 0) {
      throw std::invalid_argument("the buffer is smaller than what PFC must keep as headroom");
    }
  }
  if (settings.control == Control::homa) divide_classes();
  results_.completion.assign(specs_.size(), -1);
  results_.ideal.assign(specs_.size(), 0);
  results_.acknowledged.assign(specs_.size(), -1);
  results_.ideal_acknowledged.assign(specs_.size(), 0);
  results_.delivered_bytes.assign(specs_.size(), 0);
  results_.base_rtt = base_rtt_;
  if (settings.queue_delays) results_.delays.resize(ports.size());
  for (const FlowSpec& flow : specs_) unacknowledged_ += flow.bytes > 0;
}

Results Network::run(const std::function<void(Time)>& poll) {
  constexpr std::uint64_t PollMask = (1 << 16) - 1;
  const Time end = settings_.duration + settings_.drain;
  Time next_sample = settings_.sample_interval;
  const auto next_start = [&] {
    return started_ < specs_.size() ? specs_[started_].start : Never;
  };
  Time next_other = std::min({next_start(), next_sample, end});
  while (true) {
    const EventQueue::Event event = events_.next();
    if (event.time <= next_other) {
      events_.take();
      now_ = event.time;
      dispatch(event.source);
      if ((++results_.events & PollMask) == 0) poll(now_);
      continue;
    }
    now_ = next_other;
    events_.advance(now_);
    if (now_ == next_start()) {
      start_flow(started_++);
      if ((++results_.events & PollMask) == 0) poll(now_);
    } else if (now_ == next_sample) {
      sample();
      next_sample += settings_.sample_interval;
      if (finished()) break;
    } else {
      break;
    }
    next_other = std::min({next_start(), next_sample, end});
  }
  finish();
  return std::move(results_);
}

bool Network::finished() const {
  return now_ >= settings_.duration && started_ == specs_.size() && unacknowledged_ == 0;
}

void Network::dispatch(std::uint32_t source) {
  const std::uint32_t port_sources = SourcesPerPort * static_cast<std::uint32_t>(ports_.size());
  if (source >= port_sources) {
    const std::uint32_t timer = source - port_sources;
    fire(timer / TimersPerFlow, static_cast<Timer>(timer % TimersPerFlow));
    return;
  }
  const std::uint32_t index = source / SourcesPerPort;
  switch (source % SourcesPerPort) {
    case 0:
      arrive(index);
      break;
    case 1:
      ports_[index].awake = false;
      send_next(index);
      break;
    default:
      ports_[index].credit_awake = false;
      kick(index);
  }
}

void Network::arrive(std::uint32_t index) {
  Port& port = ports_[index];
  const PacketId id = port.flying.pop(packets_);
  if (!port.flying.empty()) {
    events_.schedule(SourcesPerPort * index, packets_[port.flying.head].time);
  }
  switch (packets_[id].kind) {
    case Kind::pfc_pause:
      stop(port.reverse);
      free_packet(id);
      return;
    case Kind::pfc_resume:
      go_on(port.reverse);
      free_packet(id);
      return;
    case Kind::bfc_pause:
    case Kind::bfc_resume: {
      Port& sender = ports_[port.reverse];
      const std::uint32_t queue = packets_[id].number;
      const bool pause = packets_[id].kind == Kind::bfc_pause;
      if (is_host(port.to)) {
        if (settings_.nic_backpressure) {
          pause ? nics_[port.to].pause(queue) : nics_[port.to].resume(queue);
        }
      } else {
        pause ? sender.data.pause(queue) : sender.data.resume(queue);
        note_empty(sender, queue);
      }
      sender.counts.queue_pauses += pause;
      free_packet(id);
      if (!pause) kick(port.reverse);
      return;
    }
    default:
      is_host(port.to) ? host_receive(id) : switch_receive(id, index);
  }
}

void Network::sample() {
  results_.sample_times.push_back(now_);
  for (const Switch& at : switches_) {
    results_.buffers.push_back(static_cast<std::uint32_t>(at.used));
  }
  std::vector<std::uint32_t> ports_with;  // by number of active flows
  Time paused = 0;
  for (const Port& port : ports_) {
    paused += port.paused(now_);
    if (is_host(port.from)) continue;
    if (port.active_flows >= ports_with.size()) ports_with.resize(port.active_flows + 1);
    ++ports_with[port.active_flows];
  }
  results_.paused.push_back(paused);
  for (std::uint32_t flows = 0; flows < ports_with.size(); ++flows) {
    if (ports_with[flows] == 0) continue;
    results_.active_sample.push_back(static_cast<std::uint32_t>(results_.sample_times.size() - 1));
    results_.active_flows.push_back(flows);
    results_.active_ports.push_back(ports_with[flows]);
  }
  results_.delivered.push_back(delivered_);
  results_.delivered_long.push_back(delivered_long_);
  results_.live_packets.push_back(static_cast<std::uint32_t>(packets_.live()));
}

void Network::finish() {
  results_.end = now_;
  results_.left_packets = packets_.live();
  results_.peak_packets = packets_.capacity();
  results_.peak_flows = flows_.capacity();
  for (std::uint32_t index = 0; index < ports_.size(); ++index) {
    Port& port = ports_[index];
    port.counts.paused = port.paused(now_);
    results_.ports.push_back(port.counts);
  }
  for (const Switch& at : switches_) results_.peak_buffers.push_back(at.peak);
  check_conservation();
}

// Every created packet has been consumed or dropped, or is on a link or in a queue. Buffers,
// ingress counts and BFC's tables match the contents of the queues.
void Network::check_conservation() {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw std::logic_error(std::string("packets are not conserved: ") + what);
  };
  std::uint64_t found = 0;
  std::vector<std::int64_t> buffered(ports_.size());
  std::vector<std::int64_t> used(switches_.size());
  std::vector<std::uint64_t> counted(ports_.size());
  const auto count = [&](const PacketList& list) {
    if (list.empty()) return;
    for (PacketId id = list.head; id != None; id = packets_[id].next) ++found;
  };
  for (const Port& port : ports_) {
    count(port.flying);
    count(port.urgent);
    count(port.acks);
    count(port.credits);
    std::uint64_t sampled = 0;
    for (std::uint32_t index = 0; index < port.data.size(); ++index) {
      const PacketList& list = port.data[index].packets;
      if (list.empty()) continue;
      std::uint64_t bytes = 0;
      for (PacketId id = list.head; id != None; id = packets_[id].next) {
        const Packet& packet = packets_[id];
        ++found;
        bytes += packet.bytes;
        buffered[packet.ingress] += packet.bytes;
        counted[packet.ingress] += packet.counted;
        sampled += packet.sampled;
      }
      require(bytes == port.data[index].bytes, "a queue's length is wrong");
    }
    if (!is_host(port.from)) used[port.from - hosts_] += port.data.bytes();
    if (settings_.assignment == Assignment::dynamic) {
      std::uint64_t recorded = 0;
      for (const FlowTable& table : port.tables) recorded += table.size();
      require(sampled == recorded, "a flow table counts other packets than are queued");
    }
  }
  for (std::size_t index = 0; index < ports_.size(); ++index) {
    require(buffered[index] == ports_[index].buffered, "an ingress counts other bytes than it has");
    require(counted[index] == ports_[index].pause_counters.sum(), "a pause counter is wrong");
  }
  for (std::size_t index = 0; index < switches_.size(); ++index) {
    require(used[index] == switches_[index].used, "a buffer holds other bytes than its queues");
  }
  require(found == packets_.live(), "some are nowhere");
  require(results_.created_packets ==
              results_.consumed_packets + results_.dropped_packets + results_.left_packets,
          "more or fewer ended than began");
}

}  // namespace ccbench::datacenter
