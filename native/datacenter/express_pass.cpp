// SPDX-License-Identifier: Apache-2.0
//
// ExpressPass (Cho, Jang and Han, SIGCOMM 2017). A receiver sends credits, each of which permits one
// packet; switches limit the rate of credits, so that the data that they permit fit into the links
// of the opposite direction. The receiver adapts its rate to the share of credits that are lost
// (algorithm 1).

#include <algorithm>
#include <cmath>

#include "network.h"

namespace ccbench::datacenter {

namespace {

constexpr double LargestWeight = 0.5;
constexpr double SmallestWeight = 0.01;
constexpr double WeightStep = 0.05;
constexpr double TargetLoss = 0.125;
constexpr double Jitter = 0.1;          // of the time between credits
constexpr double DataRttWeight = 0.2;   // of the moving average
constexpr std::uint32_t ShortFlow = 40;  // packets; shorter flows begin with proportionally less

}  // namespace

// The sender asks for credits: at its start, or because it stopped them too early.
void Network::request_credits(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  ExpressPassState& state = *flow.express_pass;
  if (flow.all_sent()) return;
  if (!state.credits.empty()) {  // they wait for other flows of this host
    set_timer(slot, Timer::retransmission, now_ + 2 * state.rtt);
    return;
  }
  state.stopped = false;
  state.rtt = 0;
  state.request_sent = now_;
  const PacketId id = control_packet(slot, Kind::credit_request, settings_.credit_bytes);
  packets_[id].remaining = flow.packets - flow.next_number;
  const std::uint32_t out = flow.there.ports[0];
  ports_[out].acks.push(packets_, id);
  kick(out);
}

void Network::stop_credits(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  if (flow.express_pass->stopped) return;
  flow.express_pass->stopped = true;
  const PacketId id = control_packet(slot, Kind::credit_stop, settings_.credit_bytes);
  const std::uint32_t out = flow.there.ports[0];
  ports_[out].acks.push(packets_, id);
  kick(out);
  // In case that the credits on their way do not suffice.
  if (!is_set(flow, Timer::retransmission)) {
    set_timer(slot, Timer::retransmission, now_ + 2 * flow.express_pass->rtt);
  }
}

// A request or a stop arrives at the receiver.
void Network::receive_request(PacketId id) {
  const Packet packet = packets_[id];
  const std::uint32_t slot = packet.flow;
  Flow& flow = flows_[slot];
  ExpressPassState& state = *flow.express_pass;
  --flow.live_packets;
  free_packet(id);
  const bool begins = packet.kind == Kind::credit_request && !state.crediting;
  state.crediting = packet.kind == Kind::credit_request && flow.expected < flow.packets;
  if (begins && state.crediting) {
    state.share = settings_.credit_alpha *
                  std::min(1.0, static_cast<double>(packet.remaining) / ShortFlow);
    state.weight = settings_.credit_weight;
    state.may_increase = false;
    state.update_at = now_;
    state.counted = state.lost = 0;
    if (!is_set(flow, Timer::credit)) send_credit(slot);
  }
  release_if_over(slot);
}

// Algorithm 1: the rate falls to that of the credits that were not lost, or approaches the largest.
static void update_rate(ExpressPassState& state, Time now, double largest_per_ps) {
  const double elapsed = static_cast<double>(now - state.update_at);
  if (state.data_rtt <= 0 || elapsed < state.data_rtt || state.counted == 0) return;
  const double loss = static_cast<double>(state.lost) / state.counted;
  const double target = (1 - state.share) * TargetLoss;
  if (loss > target) {
    const double arrived = (state.counted - state.lost) / elapsed / largest_per_ps;
    state.share = std::min(state.share, arrived * (1 + target));
    state.weight = std::max(state.weight / 2, SmallestWeight);
    state.may_increase = false;
  } else {
    if (state.may_increase) state.weight = std::min(state.weight + WeightStep, LargestWeight);
    state.may_increase = true;
    state.share += state.weight * (1 - state.share);
  }
  const double smallest = 1 / (state.data_rtt * largest_per_ps);  // one credit per round trip
  state.share = std::clamp(state.share, std::min(smallest, 1.0), 1.0);
  state.counted = state.lost = 0;
  state.update_at = now;
}

// The receiver sends a credit, and sets the time of the next.
void Network::send_credit(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  ExpressPassState& state = *flow.express_pass;
  if (!state.crediting) {
    release_if_over(slot);
    return;
  }
  const std::uint32_t out = topology_.reverse(flow.there.ports[flow.there.hops - 1]);
  const double interval = static_cast<double>(ports_[out].credit_interval);
  update_rate(state, now_, 1 / interval);
  const PacketId id = control_packet(slot, Kind::credit, settings_.credit_bytes);
  Packet& packet = packets_[id];
  packet.credit = state.next_credit++;
  packet.sent = now_;
  packet.hop = static_cast<std::uint8_t>(flow.there.hops - 1);
  const double jitter = 1 + Jitter * (2 * state.random.share() - 1);
  set_timer(slot, Timer::credit, now_ + static_cast<Time>(interval / state.share * jitter));
  add_credit(out, id);
}

// A credit arrives at the sender.
void Network::receive_credit(PacketId id) {
  const Packet packet = packets_[id];
  const std::uint32_t slot = packet.flow;
  Flow& flow = flows_[slot];
  ExpressPassState& state = *flow.express_pass;
  --flow.live_packets;
  free_packet(id);
  if (state.rtt == 0) {
    state.rtt = now_ - state.request_sent;
    state.round_start = now_;
    state.round_credits = 0;
  }
  const std::uint32_t left =
      flow.packets - flow.next_number - static_cast<std::uint32_t>(state.credits.size());
  if (left == 0) {
    ++results_.wasted_credits;
    release_if_over(slot);
    return;
  }
  ++state.round_credits;
  state.credits.push_back({packet.credit, packet.sent});
  if (left == 1) {
    stop_credits(slot);
  } else if (now_ - state.round_start >= state.rtt) {
    // As many more are on their way as arrived in the last round trip.
    if (state.round_credits >= left - 1) stop_credits(slot);
    state.round_start = now_;
    state.round_credits = 0;
  }
  make_ready(slot);
  kick(flow.there.ports[0]);
}

// Data arrive at the receiver: the credits between theirs and the one before were lost.
void Network::count_credit(Flow& flow, const Packet& data) {
  ExpressPassState& state = *flow.express_pass;
  state.counted += data.credit + 1 - state.expected_credit;
  state.lost += data.credit - state.expected_credit;
  state.expected_credit = data.credit + 1;
  const double rtt = static_cast<double>(now_ - data.sent);
  state.data_rtt =
      state.data_rtt > 0 ? state.data_rtt + DataRttWeight * (rtt - state.data_rtt) : rtt;
  if (flow.expected + 1 >= flow.packets) state.crediting = false;  // these are the last
}

}  // namespace ccbench::datacenter
