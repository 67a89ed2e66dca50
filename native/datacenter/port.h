// SPDX-License-Identifier: Apache-2.0
//
// A port with its outgoing link, and the state at the other end of the link for arriving packets.

#pragma once

#include <cstdint>
#include <vector>

#include "bfc.h"
#include "packet.h"
#include "queue_bitmap.h"
#include "random.h"
#include "results.h"
#include "scheduler.h"
#include "settings.h"
#include "time.h"

namespace ccbench::datacenter {

struct Port {
  // Its random streams are derived from `seed`.
  Port(const PortSpec& spec, std::uint64_t seed)
      : to(spec.to),
        from(spec.from),
        rate_mbps(spec.rate_mbps),
        delay(spec.delay),
        byte_time(8'000'000 % spec.rate_mbps == 0 ? 8'000'000 / spec.rate_mbps : 0),
        sampling(derived(seed, Purpose::sampling)),
        queue_choice(derived(seed, Purpose::queue)),
        marking(derived(seed, Purpose::marking)) {}

  Time serialisation(std::int64_t bytes) const {
    return byte_time > 0 ? bytes * byte_time : datacenter::serialisation(bytes, rate_mbps);
  }

  // Time for which PFC has stopped this port so far.
  Time paused(Time now) const { return counts.paused + (stopped ? now - stopped_at : 0); }

  Time free_at = 0;      // end of the current transmission
  bool awake = false;    // there is an event at that time
  bool stopped = false;  // by PFC
  std::uint32_t to;
  std::uint32_t from;
  std::uint32_t reverse = None;
  std::int64_t rate_mbps;
  Time delay;
  Time byte_time;  // 0 if not a whole number

  PacketList flying;  // on the link
  PacketList urgent;  // pause and resume
  PacketList acks;  // and other control packets
  PacketList credits;
  std::uint32_t queued_credits = 0;
  Time credit_at = 0;         // when the next credit is due at the largest rate of credits
  Time credit_interval = 0;   // between credits at that rate
  bool credit_awake = false;  // there is an event for the next credit
  Scheduler data;  // of a switch

  std::uint32_t active_flows = 0;  // flows with packets in `data`
  // Of each class.
  std::vector<FlowTable> tables;
  std::vector<QueueBitmap> empty;

  Random sampling;
  Random queue_choice;
  Random marking;

  // State at the other end, if that is a switch.
  std::int64_t buffered = 0;  // bytes that arrived over this link
  bool asked_to_stop = false;
  PauseCounters pause_counters;

  Time stopped_at = 0;
  PortCounts counts;
};

}  // namespace ccbench::datacenter
