// SPDX-License-Identifier: Apache-2.0
//
// The state of a flow at its sender, at its receiver and in the queues on its path. It exists from
// the flow's start until its last packets and timers are gone.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "packet.h"
#include "random.h"
#include "settings.h"
#include "topology.h"

namespace ccbench::datacenter {

struct DctcpState {
  double alpha;
  std::uint32_t window_end;  // must be acknowledged before the next update of alpha
  std::uint32_t cut_end;     // must be acknowledged before the next cut of the window
  std::uint32_t acked;
  std::uint32_t marked;
  bool slow_start;
};

struct DcqcnState {
  double target_mbps;
  double alpha;
  double counted_bytes;  // since the byte counter's last step
  std::uint32_t byte_steps;
  std::uint32_t time_steps;
  Time alpha_at;     // last update of alpha
  Time increase_at;  // next step of the timer
  bool notified;     // ever
};

struct HpccState {
  double reference_window;  // W^c
  double utilisation;       // U
  std::uint32_t stage;      // incStage
  std::uint32_t update_at;  // lastUpdateSeq
  bool known;               // there is telemetry to compare with
  Telemetries last;         // L
};

// A credit that a sender has not used yet.
struct Credit {
  std::uint32_t number;
  Time sent;
};

struct ExpressPassState {
  // The sender.
  std::deque<Credit> credits;
  Time request_sent;
  Time rtt;  // 0: unknown
  Time round_start;
  std::uint32_t round_credits;  // that arrived in this round trip
  bool stopped;                 // it has asked for no more credits
  // The receiver.
  bool crediting;
  double share;   // credit rate as a share of the largest
  double weight;  // w
  bool may_increase;
  double data_rtt;  // from a credit to its data; 0: unknown
  Time update_at;   // last update of the rate
  std::uint32_t next_credit;
  std::uint32_t expected_credit;
  std::uint32_t counted;  // credits since the last update
  std::uint32_t lost;     // of these
  Random random{0};
};

struct HomaState {
  std::uint32_t granted;      // sender: packets that it may send
  std::uint32_t unscheduled;  // packets that need no grant
  std::uint8_t level;         // sender: class of scheduled packets
  std::uint32_t promised;     // receiver: packets that it has granted
  bool inbound;               // receiver: in the list of messages to grant
};

// Timers of a flow; each is a source of events.
enum class Timer : std::uint8_t { pace, retransmission, increase, credit };
constexpr std::uint32_t TimersPerFlow = 4;

struct Flow {
  std::uint32_t id;    // index in the traffic
  std::uint32_t hash;  // of the flow's identifier
  std::uint32_t source;
  std::uint32_t destination;
  std::uint32_t packets;     // None: unlimited
  std::uint32_t last_bytes;  // payload of the last packet
  bool incast;
  std::uint8_t priority;  // class
  Time base_rtt;

  // The sender.
  std::uint32_t next_number;
  std::uint32_t acked;
  double window_bytes;  // on the wire
  double rate_mbps;     // 0: the link's rate
  Time next_send;
  Time progress;  // time of the last ACK that advanced it
  std::uint32_t next_ready;
  std::uint16_t nic_queue;
  bool in_nic_queue;
  bool ready;
  std::uint8_t timers;  // pending timers, one bit each
  std::vector<std::uint32_t> dropped;  // packets to send again after a drop notice

  // The receiver.
  std::uint32_t expected;  // where packets may overtake each other: the number of those received
  std::uint32_t refused;  // the packet last requested again
  Time last_notification;

  // The network.
  std::uint32_t live_packets;
  Path there;
  Path back;
  std::array<std::uint16_t, MaxHops> queue_at;
  std::array<std::uint32_t, MaxHops> queued_at;  // packets

  DctcpState dctcp;
  DcqcnState dcqcn;
  HomaState homa;
  HpccState* hpcc;
  ExpressPassState* express_pass;

  bool all_sent() const { return next_number >= packets && dropped.empty(); }
  bool all_acked() const { return acked >= packets; }
};

class FlowPool {
 public:
  // A flow whose state is all zeros.
  std::uint32_t take(Control control) {
    const bool hpcc = control == Control::hpcc;
    const bool express_pass = control == Control::express_pass;
    ++live_;
    if (free_.empty()) {
      flows_.emplace_back();
      if (hpcc) hpcc_.emplace_back();
      if (express_pass) express_pass_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(flows_.size() - 1));
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    flows_[slot] = Flow{};
    if (hpcc) {
      hpcc_[slot].known = false;
      flows_[slot].hpcc = &hpcc_[slot];
    }
    if (express_pass) {
      express_pass_[slot] = ExpressPassState{};
      flows_[slot].express_pass = &express_pass_[slot];
    }
    return slot;
  }

  void give_back(std::uint32_t slot) {
    --live_;
    free_.push_back(slot);
  }

  Flow& operator[](std::uint32_t slot) { return flows_[slot]; }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(flows_.size()); }
  std::uint64_t live() const { return live_; }

 private:
  std::vector<Flow> flows_;
  std::deque<HpccState> hpcc_;  // deques, as flows point into them
  std::deque<ExpressPassState> express_pass_;
  std::vector<std::uint32_t> free_;
  std::uint64_t live_ = 0;
};

}  // namespace ccbench::datacenter
