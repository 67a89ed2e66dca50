// SPDX-License-Identifier: Apache-2.0
//
// What a simulation is told: the network, the traffic, and how hosts and switches behave.

#pragma once

#include <cstdint>
#include <vector>

#include "time.h"

namespace ccbench::datacenter {

// How senders control their rate.
enum class Control : std::uint8_t { none, fixed_window, dctcp, dcqcn, hpcc, delay_window };
// How a switch chooses the queue of a packet: the only one; by a hash of the flow; one per flow;
// BFC's flow table. The last two know which queues are empty.
enum class Assignment : std::uint8_t { single, stochastic, per_flow, dynamic };

struct Settings {
  Time duration = 0;  // flows start before it
  Time drain = 0;     // time to finish after that
  Time sample_interval = 0;
  std::uint64_t seed = 0;
  bool queue_delays = false;

  std::uint32_t payload_bytes = 0;
  std::uint32_t header_bytes = 0;
  std::uint32_t telemetry_bytes = 0;  // on data and ACKs
  std::uint32_t ack_bytes = 0;
  std::uint32_t packets_per_ack = 1;
  bool queued_acks = false;  // switches queue ACKs with the data; only with Assignment::single
  Time retransmission_timeout = 0;

  std::int64_t buffer_bytes = 0;  // 0: without end
  bool pfc = false;
  double pfc_share = 0;  // of the free buffer that an ingress may take

  Assignment assignment = Assignment::single;
  std::uint32_t queues = 1;
  bool shortest_first = false;

  bool backpressure = false;
  bool nic_backpressure = false;
  std::uint32_t nic_queues = 0;  // 0: one for each flow that has something to send
  std::uint32_t table_entries = 0;  // per port
  bool skip_paused = false;  // give no flow an empty queue that is paused
  double pause_threshold_hops = 1;  // in 1-hop BDPs at the drain rate of a queue
  std::uint32_t pause_packets = 1;  // of a flow in the switch, from which on it is paused
  double sticky_hops = 2;           // in 1-hop RTTs
  double sampling = 1;
  bool incast_label = false;

  bool ecn = false;
  double ecn_min_bytes = 0;
  double ecn_max_bytes = 0;
  double ecn_max_probability = 1;

  Control control = Control::none;
  double window_bdp = 1;
  double dctcp_gain = 1.0 / 16;
  double dcqcn_gain = 1.0 / 256;
  Time dcqcn_notification_interval = 0;
  Time dcqcn_alpha_interval = 0;
  Time dcqcn_increase_interval = 0;
  double dcqcn_counter_bytes = 0;
  std::uint32_t dcqcn_recovery_steps = 5;
  double dcqcn_additive_mbps = 0;
  double dcqcn_hyper_mbps = 0;
  double hpcc_target = 0.95;
  std::uint32_t hpcc_stages = 5;
  double hpcc_additive_bytes = 80;
  double target_rtts = 2.5;
};

// A port sends over a link of its own to another node. Hosts come first among the nodes.
struct PortSpec {
  std::uint32_t from;
  std::uint32_t to;
  std::int64_t rate_mbps;
  Time delay;
};

struct FlowSpec {
  Time start;
  std::int64_t bytes;  // 0: it never ends
  std::uint32_t source;
  std::uint32_t destination;
  bool incast;
};

}  // namespace ccbench::datacenter
