// SPDX-License-Identifier: Apache-2.0
//
// Pending events in order of time, and of their sources at equal times.
//
// A source (one end of a link, a timer of a flow) has at most one pending event. An event is
// therefore just its source's number, stored in a node at that index, and nothing is allocated.
// Links create nearly all events, at most their delay ahead. These go into a wheel of slots, each a
// sorted list with rarely more than one event, found through a bitmap; the rare events beyond the
// wheel's horizon go into a heap.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "time.h"

namespace ccbench::datacenter {

class EventQueue {
  static constexpr std::uint32_t None = 0xffffffff;

 public:
  struct Event {
    Time time = Never;
    std::uint32_t source = None;
  };

  // `horizon`: how far ahead most events are scheduled.
  EventQueue(std::uint32_t sources, Time horizon) : nodes_(sources), heads_(Slots, None) {
    while ((static_cast<Time>(Slots - 1) << shift_) < horizon) ++shift_;
  }

  void add_sources(std::uint32_t count) {
    if (count > nodes_.size()) nodes_.resize(count);
  }

  // `source` has no pending event, and `time` is not before the last event taken.
  void schedule(std::uint32_t source, Time time) {
    const Event event{time, source};
    if (before(event, next_)) next_ = event;
    if ((time >> shift_) - (now_ >> shift_) >= Slots) {
      far_.push_back(event);
      std::push_heap(far_.begin(), far_.end(), later);
      return;
    }
    const std::uint32_t slot = static_cast<std::uint32_t>(time >> shift_) % Slots;
    nodes_[source].time = time;
    std::uint32_t* link = &heads_[slot];
    while (*link != None && before({nodes_[*link].time, *link}, event)) {
      link = &nodes_[*link].next;
    }
    nodes_[source].next = *link;
    *link = source;
    words_[slot / 64] |= 1ULL << slot % 64;
    summary_[slot / 4096] |= 1ULL << slot / 64 % 64;
  }

  // The next event; Never if there is none.
  const Event& next() const { return next_; }

  // Removes the next event.
  void take() {
    now_ = next_.time;
    if (!far_.empty() && far_.front().source == next_.source) {
      std::pop_heap(far_.begin(), far_.end(), later);
      far_.pop_back();
    } else {
      const std::uint32_t slot = static_cast<std::uint32_t>(now_ >> shift_) % Slots;
      heads_[slot] = nodes_[next_.source].next;
      if (heads_[slot] == None) {
        words_[slot / 64] &= ~(1ULL << slot % 64);
        if (words_[slot / 64] == 0) summary_[slot / 4096] &= ~(1ULL << slot / 64 % 64);
      }
    }
    next_ = near_event();
    if (!far_.empty() && before(far_.front(), next_)) next_ = far_.front();
  }

  // Advances the time without an event.
  void advance(Time now) { now_ = now; }

 private:
  struct Node {
    Time time = 0;
    std::uint32_t next = None;
  };

  static constexpr std::uint32_t Slots = 32768;

  static bool before(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.source < b.source;
  }
  static bool later(const Event& a, const Event& b) { return before(b, a); }

  // The next event of the wheel.
  Event near_event() const {
    const std::uint32_t slot = first_slot();
    if (slot == None) return {};
    return {nodes_[heads_[slot]].time, heads_[slot]};
  }

  // The first slot with events from now on, once around the wheel.
  std::uint32_t first_slot() const {
    const std::uint32_t start = static_cast<std::uint32_t>(now_ >> shift_) % Slots;
    const std::uint64_t here = words_[start / 64] >> start % 64;
    if (here != 0) return start + static_cast<std::uint32_t>(std::countr_zero(here));
    const std::uint32_t word = first_word(start / 64 + 1);
    if (word == None) return None;
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[word]));
  }

  // The first word with events at or after `start`, or else before it.
  std::uint32_t first_word(std::uint32_t start) const {
    for (std::uint32_t i = start / 64; i < summary_.size(); ++i) {
      const std::uint64_t bits = i == start / 64 ? summary_[i] & (~0ULL << start % 64) : summary_[i];
      if (bits != 0) return i * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
    }
    for (std::uint32_t i = 0; i < summary_.size(); ++i) {
      if (summary_[i] != 0) return i * 64 + static_cast<std::uint32_t>(std::countr_zero(summary_[i]));
    }
    return None;
  }

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> heads_;
  std::array<std::uint64_t, Slots / 64> words_{};
  std::array<std::uint64_t, Slots / 4096> summary_{};
  std::vector<Event> far_;
  Time now_ = 0;
  int shift_ = 6;
  Event next_;
};

}  // namespace ccbench::datacenter
