// SPDX-License-Identifier: Apache-2.0
//
// The input of a simulation: network, traffic, and behaviour of hosts and switches.

#pragma once

#include <cstdint>
#include <vector>

#include "time.h"

namespace ccbench::datacenter {

// Senders' rate control.
enum class Control : std::uint8_t {
  none,
  fixed_window,
  dctcp,
  dcqcn,
  hpcc,
  delay_window,
  express_pass,
  homa,
};
// A switch's queue assignment: a single queue; by hash of the flow; one queue per flow; BFC's flow
// table. The last two track empty queues.
enum class Assignment : std::uint8_t { single, stochastic, per_flow, dynamic };

struct Settings {
  Time duration = 0;  // period of flow starts
  Time drain = 0;     // additional time to complete
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

  std::int64_t buffer_bytes = 0;  // 0: unlimited
  bool drop_notices = false;  // a switch notifies the sender of a dropped packet, which resends it
  bool pfc = false;
  double pfc_share = 0;  // maximum share of the free buffer for an ingress port

  Assignment assignment = Assignment::single;
  std::uint32_t queues = 1;
  std::uint32_t classes = 1;  // served by strict priority, 0 first; each has queues / classes queues
  bool shortest_first = false;
  bool spray = false;  // each packet chooses among equal paths, instead of each flow

  bool backpressure = false;
  bool nic_backpressure = false;
  std::uint32_t nic_queues = 0;  // 0: one for each flow with data to send
  std::uint32_t table_entries = 0;  // per port
  bool skip_paused = false;  // assign no empty but paused queue to a flow
  double pause_threshold_hops = 1;  // in 1-hop BDPs at the drain rate of a queue
  std::uint32_t pause_packets = 1;  // minimum of a flow's packets in the switch to pause it
  double sticky_hops = 2;           // in 1-hop RTTs
  double sampling = 1;
  bool incast_label = false;

  bool ecn = false;
  double ecn_min_bytes = 0;
  double ecn_max_bytes = 0;
  double ecn_max_probability = 1;

  Control control = Control::none;
  bool pair_rtt = false;  // a flow's base RTT is that of its path, instead of the longest
  double window_bdp = 1;
  std::uint32_t slow_start_packets = 0;  // 0: no slow start
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
  std::uint32_t credit_bytes = 84;  // ExpressPass
  std::uint32_t credit_queue = 16;  // credits
  double credit_alpha = 0.5;        // initial share of the largest rate
  double credit_weight = 1.0 / 16;  // w_init
};

// A port sends over its own link to another node. Hosts are the first nodes.
struct PortSpec {
  std::uint32_t from;
  std::uint32_t to;
  std::int64_t rate_mbps;
  Time delay;
};

struct FlowSpec {
  Time start;
  std::int64_t bytes;  // 0: unlimited
  std::uint32_t source;
  std::uint32_t destination;
  bool incast;
  std::uint8_t priority;  // its class
};

}  // namespace ccbench::datacenter
