// SPDX-License-Identifier: Apache-2.0
//
// The simulator's interface to Python: one function, and the digest of its sources. The caller
// validates all arguments and passes flat arrays and settings by name; it receives arrays.

#include "binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "datacenter_digest.h"
#include "network.h"

namespace nb = nanobind;

namespace ccbench::datacenter {

namespace {

template <typename T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// An array for Python that owns its memory.
template <typename T>
nb::object array(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// Settings by name; each must be read.
class Named {
 public:
  explicit Named(const nb::dict& values) : values_(values) {}

  template <typename T>
  void read(const char* name, T& into) {
    if (!values_.contains(name)) throw std::invalid_argument(std::string("no setting ") + name);
    ++read_;
    if constexpr (std::is_enum_v<T>) {
      into = static_cast<T>(nb::cast<int>(values_[name]));
    } else {
      into = nb::cast<T>(values_[name]);
    }
  }

  void done() const {
    if (read_ != values_.size()) throw std::invalid_argument("a setting is unknown");
  }

 private:
  const nb::dict& values_;
  std::size_t read_ = 0;
};

Settings settings(const nb::dict& values) {
  Settings s;
  Named named(values);
  named.read("duration_ps", s.duration);
  named.read("drain_ps", s.drain);
  named.read("sample_interval_ps", s.sample_interval);
  named.read("seed", s.seed);
  named.read("queue_delays", s.queue_delays);
  named.read("payload_bytes", s.payload_bytes);
  named.read("header_bytes", s.header_bytes);
  named.read("telemetry_bytes", s.telemetry_bytes);
  named.read("ack_bytes", s.ack_bytes);
  named.read("packets_per_ack", s.packets_per_ack);
  named.read("queued_acks", s.queued_acks);
  named.read("retransmission_timeout_ps", s.retransmission_timeout);
  named.read("buffer_bytes", s.buffer_bytes);
  named.read("drop_notices", s.drop_notices);
  named.read("pfc", s.pfc);
  named.read("pfc_share", s.pfc_share);
  named.read("assignment", s.assignment);
  named.read("queues", s.queues);
  named.read("classes", s.classes);
  named.read("shortest_first", s.shortest_first);
  named.read("spray", s.spray);
  named.read("backpressure", s.backpressure);
  named.read("nic_backpressure", s.nic_backpressure);
  named.read("nic_queues", s.nic_queues);
  named.read("table_entries", s.table_entries);
  named.read("skip_paused", s.skip_paused);
  named.read("pause_threshold_hops", s.pause_threshold_hops);
  named.read("pause_packets", s.pause_packets);
  named.read("sticky_hops", s.sticky_hops);
  named.read("sampling", s.sampling);
  named.read("incast_label", s.incast_label);
  named.read("ecn", s.ecn);
  named.read("ecn_min_bytes", s.ecn_min_bytes);
  named.read("ecn_max_bytes", s.ecn_max_bytes);
  named.read("ecn_max_probability", s.ecn_max_probability);
  named.read("control", s.control);
  named.read("pair_rtt", s.pair_rtt);
  named.read("window_bdp", s.window_bdp);
  named.read("slow_start_packets", s.slow_start_packets);
  named.read("dctcp_gain", s.dctcp_gain);
  named.read("dcqcn_gain", s.dcqcn_gain);
  named.read("dcqcn_notification_interval_ps", s.dcqcn_notification_interval);
  named.read("dcqcn_alpha_interval_ps", s.dcqcn_alpha_interval);
  named.read("dcqcn_increase_interval_ps", s.dcqcn_increase_interval);
  named.read("dcqcn_counter_bytes", s.dcqcn_counter_bytes);
  named.read("dcqcn_recovery_steps", s.dcqcn_recovery_steps);
  named.read("dcqcn_additive_mbps", s.dcqcn_additive_mbps);
  named.read("dcqcn_hyper_mbps", s.dcqcn_hyper_mbps);
  named.read("hpcc_target", s.hpcc_target);
  named.read("hpcc_stages", s.hpcc_stages);
  named.read("hpcc_additive_bytes", s.hpcc_additive_bytes);
  named.read("target_rtts", s.target_rtts);
  named.read("credit_bytes", s.credit_bytes);
  named.read("credit_queue", s.credit_queue);
  named.read("credit_alpha", s.credit_alpha);
  named.read("credit_weight", s.credit_weight);
  named.done();
  return s;
}

// A column of the port counts.
template <typename T>
nb::object column(const std::vector<PortCounts>& ports, T PortCounts::*member) {
  std::vector<T> values;
  for (const PortCounts& port : ports) values.push_back(port.*member);
  return array(std::move(values));
}

nb::dict document(Results& results) {
  nb::dict out;
  out["completion_ps"] = array(std::move(results.completion));
  out["ideal_ps"] = array(std::move(results.ideal));
  out["acknowledged_ps"] = array(std::move(results.acknowledged));
  out["ideal_acknowledged_ps"] = array(std::move(results.ideal_acknowledged));
  out["delivered_bytes"] = array(std::move(results.delivered_bytes));
  out["sent_bytes"] = column(results.ports, &PortCounts::sent_bytes);
  out["data_packets"] = column(results.ports, &PortCounts::data_packets);
  out["marked_packets"] = column(results.ports, &PortCounts::marked_packets);
  out["dropped_packets"] = column(results.ports, &PortCounts::dropped_packets);
  out["peak_queue_bytes"] = column(results.ports, &PortCounts::peak_queue_bytes);
  out["pauses"] = column(results.ports, &PortCounts::pauses);
  out["queue_pauses"] = column(results.ports, &PortCounts::queue_pauses);
  out["assignments"] = column(results.ports, &PortCounts::assignments);
  out["collisions"] = column(results.ports, &PortCounts::collisions);
  out["paused_ps"] = column(results.ports, &PortCounts::paused);
  std::vector<std::uint32_t> delays;
  for (const DelayHistogram& histogram : results.delays) {
    delays.insert(delays.end(), histogram.counts().begin(), histogram.counts().end());
    if (histogram.counts().empty()) delays.resize(delays.size() + DelayHistogram::Buckets);
  }
  out["delays"] = array(std::move(delays));
  out["sample_ps"] = array(std::move(results.sample_times));
  out["buffers"] = array(std::move(results.buffers));
  out["delivered"] = array(std::move(results.delivered));
  out["delivered_long"] = array(std::move(results.delivered_long));
  out["live_packets"] = array(std::move(results.live_packets));
  out["paused_so_far_ps"] = array(std::move(results.paused));
  out["active_sample"] = array(std::move(results.active_sample));
  out["active_flows"] = array(std::move(results.active_flows));
  out["active_ports"] = array(std::move(results.active_ports));
  out["peak_buffers"] = array(std::move(results.peak_buffers));
  nb::dict totals;
  totals["events"] = results.events;
  totals["created_packets"] = results.created_packets;
  totals["consumed_packets"] = results.consumed_packets;
  totals["dropped_packets"] = results.dropped_packets;
  totals["left_packets"] = results.left_packets;
  totals["dropped_credits"] = results.dropped_credits;
  totals["wasted_credits"] = results.wasted_credits;
  totals["sent_data_packets"] = results.sent_data_packets;
  totals["resent_data_packets"] = results.resent_data_packets;
  totals["peak_packets"] = results.peak_packets;
  totals["peak_flows"] = results.peak_flows;
  totals["end_ps"] = results.end;
  totals["base_rtt_ps"] = results.base_rtt;
  out["totals"] = totals;
  return out;
}

nb::dict simulate(const nb::dict& named, std::uint32_t hosts, std::uint32_t nodes,
                  const Array<std::int64_t>& port_from, const Array<std::int64_t>& port_to,
                  const Array<std::int64_t>& port_rate_mbps, const Array<std::int64_t>& port_delay_ps,
                  const Array<std::int64_t>& flow_start_ps, const Array<std::int64_t>& flow_bytes,
                  const Array<std::int32_t>& flow_source,
                  const Array<std::int32_t>& flow_destination, const Array<bool>& flow_incast,
                  const Array<std::uint8_t>& flow_priority,
                  const nb::object& progress) {
  std::vector<PortSpec> ports;
  for (std::size_t i = 0; i < port_from.size(); ++i) {
    ports.push_back({static_cast<std::uint32_t>(port_from(i)),
                     static_cast<std::uint32_t>(port_to(i)), port_rate_mbps(i), port_delay_ps(i)});
  }
  std::vector<FlowSpec> flows;
  flows.reserve(flow_start_ps.size());
  for (std::size_t i = 0; i < flow_start_ps.size(); ++i) {
    flows.push_back({flow_start_ps(i), flow_bytes(i), static_cast<std::uint32_t>(flow_source(i)),
                     static_cast<std::uint32_t>(flow_destination(i)), flow_incast(i),
                     flow_priority(i)});
  }
  Network network(settings(named), hosts, nodes, ports, std::move(flows));
  const auto poll = [&progress](Time now) {
    const nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!progress.is_none()) progress(now);
  };
  Results results;
  {
    const nb::gil_scoped_release unlock;
    results = network.run(poll);
  }
  return document(results);
}

}  // namespace

void bind(nb::module_& module) {
  using nb::arg;
  module.def("datacenter_simulate", &simulate, arg("settings"), arg("hosts"), arg("nodes"),
             arg("port_from"), arg("port_to"), arg("port_rate_mbps"), arg("port_delay_ps"),
             arg("flow_start_ps"), arg("flow_bytes"), arg("flow_source"), arg("flow_destination"),
             arg("flow_incast"), arg("flow_priority"), arg("progress").none());
  module.attr("datacenter_digest") = CCBENCH_DATACENTER_DIGEST;
}

}  // namespace ccbench::datacenter
