// SPDX-License-Identifier: Apache-2.0

#include "probe.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "binding.h"

namespace nb = nanobind;

namespace ccbench::datacenter {

namespace {

Settings only_bfc(std::uint32_t queues, std::uint32_t table_entries, double sticky_hops,
                  double sampling, bool skip_paused) {
  Settings settings;
  settings.payload_bytes = 1000;  // the scheduler's quantum, irrelevant here
  settings.assignment = Assignment::dynamic;
  settings.backpressure = true;
  settings.queues = queues;
  settings.table_entries = table_entries;
  settings.sticky_hops = sticky_hops;
  settings.sampling = sampling;
  settings.skip_paused = skip_paused;
  return settings;
}

}  // namespace

void bind_probe(nb::module_& module) {
  using nb::arg;
  nb::class_<Probe>(module, "DatacenterSwitch")
      .def("__init__",
           [](Probe* self, std::uint32_t queues, std::uint32_t table_entries, double sticky_hops,
              double sampling, bool skip_paused, const std::vector<std::int64_t>& rates_mbps,
              Time delay_ps) {
             new (self) Probe(only_bfc(queues, table_entries, sticky_hops, sampling, skip_paused),
                              rates_mbps, delay_ps);
           },
           arg("queues"), arg("table_entries"), arg("sticky_hops"), arg("sampling"),
           arg("skip_paused"), arg("rates_mbps"), arg("delay_ps"))
      .def("enqueue",
           [](Probe& self, Time now_ps, std::uint32_t hash, std::uint32_t ingress,
              std::uint32_t egress, std::uint16_t bytes, std::uint16_t upstream_queue, bool sampled,
              std::uint32_t random_queue) {
             const PacketId id =
                 self.enqueue(now_ps, {hash, ingress, egress, bytes, upstream_queue},
                              {sampled, random_queue});
             return std::tuple(id, self.queue(id));
           },
           arg("now_ps"), arg("flow_hash"), arg("ingress"), arg("egress"),
           arg("length_bytes"), arg("upstream_queue"), arg("sampled"), arg("random_queue"))
      .def("dequeue", &Probe::dequeue, arg("now_ps"), arg("packet"))
      .def("receive",
           [](Probe& self, Time now_ps, bool pause, std::uint32_t port, std::uint32_t queue) {
             self.receive(now_ps, {pause, port, queue});
           },
           arg("now_ps"), arg("pause"), arg("port"), arg("queue"))
      .def("paused", &Probe::paused, arg("port"))
      .def("sent", [](Probe& self) {
        std::vector<std::tuple<bool, std::uint32_t, std::uint32_t>> frames;
        for (const Frame& frame : self.sent()) {
          frames.emplace_back(frame.pause, frame.port, frame.queue);
        }
        return frames;
      });
}

}  // namespace ccbench::datacenter
