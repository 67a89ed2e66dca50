// SPDX-License-Identifier: Apache-2.0
//
// State of a BFC switch (Goyal, chapter 3): the queue of each flow with packets, and for each
// upstream queue the number of its packets that arrived at a queue above the threshold.

#pragma once

#include <cstdint>
#include <vector>

#include "queue_bitmap.h"
#include "random.h"
#include "time.h"

namespace ccbench::datacenter {

// An egress port's part of the flow table (3.3.3.1).
class FlowTable {
 public:
  FlowTable() = default;
  FlowTable(std::uint32_t entries, Time sticky) : entries_(entries), sticky_(sticky) {}

  // Returns the queue of an arriving packet. `counted`: its departure will be recorded. The
  // assignment holds while the flow has packets here, and for the sticky time after that.
  std::uint16_t enqueue(std::uint32_t hash, Time now, bool counted, QueueBitmap& empty,
                        std::uint32_t first_queue, std::uint32_t queues, Random& random) {
    Entry& entry = entries_[place(hash)];
    if (entry.size == 0 && now - entry.touched > sticky_) {
      const std::uint32_t found = empty.find();
      entry.queue = static_cast<std::uint16_t>(
          found != None ? found : first_queue + random.below(queues - first_queue));
    }
    entry.size += counted;
    entry.touched = now;
    return entry.queue;
  }

  void dequeue(std::uint32_t hash, Time now) {
    Entry& entry = entries_[place(hash)];
    --entry.size;
    entry.touched = now;
  }

  // Total number of packets recorded in all entries.
  std::uint64_t size() const {
    std::uint64_t total = 0;
    for (const Entry& entry : entries_) total += entry.size;
    return total;
  }

 private:
  struct Entry {
    Time touched = -1'000'000'000'000;  // long ago
    std::uint32_t size = 0;
    std::uint16_t queue = 0;
  };

  std::uint32_t place(std::uint32_t hash) const {
    return reduce(hash, static_cast<std::uint32_t>(entries_.size()));
  }

  std::vector<Entry> entries_;
  Time sticky_ = 0;
};

// The pause counters of the queues at the other end of a link (3.3.3.2).
class PauseCounters {
 public:
  // Each returns whether the queue must now be paused, or resumed.
  bool increment(std::uint32_t queue) {
    if (queue >= counters_.size()) counters_.resize(queue + 1);
    return ++counters_[queue] == 1;
  }
  bool decrement(std::uint32_t queue) { return --counters_[queue] == 0; }

  std::uint64_t sum() const {
    std::uint64_t total = 0;
    for (const std::uint32_t counter : counters_) total += counter;
    return total;
  }

 private:
  std::vector<std::uint32_t> counters_;
};

}  // namespace ccbench::datacenter
