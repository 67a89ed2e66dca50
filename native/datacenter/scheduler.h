// SPDX-License-Identifier: Apache-2.0
//
// The queues of a port and the selection of the next one: the first class that has packets, and in
// it deficit round robin, or the queue whose first packet belongs to the flow with the least
// remaining data (SRF).

#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "packet.h"
#include "ring.h"

namespace ccbench::datacenter {

struct Queue {
  PacketList packets;
  std::uint32_t bytes = 0;
  std::uint32_t length = 0;
  std::int32_t deficit = 0;
  std::uint32_t next = None;  // in the ring
  std::uint32_t previous = None;
  bool paused = false;
};

class Scheduler {
 public:
  Scheduler() = default;
  // `quantum` is at least the size of the largest packet. Each of at most 64 classes has an equal
  // number of queues; a number that may grow needs a single class.
  Scheduler(std::uint32_t queues, std::uint32_t classes, std::int32_t quantum, bool shortest_first)
      : queues_(queues),
        quantum_(quantum),
        rings_(classes),
        class_queues_(queues / classes),
        shortest_first_(shortest_first) {}

  // Number of unpaused queues with packets.
  std::uint32_t active() const { return active_; }
  bool idle() const { return active_ == 0; }
  std::uint32_t bytes() const { return bytes_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(queues_.size()); }
  const Queue& operator[](std::uint32_t index) const { return queues_[index]; }

  std::uint32_t add_queue() {
    queues_.emplace_back();
    return size() - 1;
  }

  void push(PacketPool& pool, PacketId id, std::uint32_t index) {
    Queue& queue = queues_[index];
    queue.packets.push(pool, id);
    queue.bytes += pool[id].bytes;
    bytes_ += pool[id].bytes;
    if (++queue.length == 1 && !queue.paused) join(index);
  }

  // There must be a queue that may send.
  PacketId pop(PacketPool& pool) {
    const std::uint32_t index = shortest_first_ ? shortest(pool) : in_turn(pool);
    Queue& queue = queues_[index];
    const PacketId id = queue.packets.pop(pool);
    const std::uint32_t bytes = pool[id].bytes;
    queue.bytes -= bytes;
    bytes_ -= bytes;
    queue.deficit -= static_cast<std::int32_t>(bytes);
    if (--queue.length == 0) leave(index);
    return id;
  }

  void pause(std::uint32_t index) {
    if (queues_[index].paused) return;
    queues_[index].paused = true;
    if (queues_[index].length > 0) leave(index);
  }

  void resume(std::uint32_t index) {
    if (!queues_[index].paused) return;
    queues_[index].paused = false;
    if (queues_[index].length > 0) join(index);
  }

 private:
  // Returns the next queue; a queue with an exhausted quantum moves to the end, with a new quantum.
  std::uint32_t in_turn(PacketPool& pool) {
    Ring& ring = first_ring();
    while (true) {
      Queue& queue = queues_[ring.first()];
      if (queue.deficit >= pool[queue.packets.head].bytes) return ring.first();
      queue.deficit += quantum_;
      ring.rotate(queues_);
    }
  }

  std::uint32_t shortest(PacketPool& pool) {
    const Ring& ring = first_ring();
    std::uint32_t best = ring.first();
    std::uint32_t index = best;
    for (std::uint32_t i = 0; i < ring.size(); ++i, index = queues_[index].next) {
      if (pool[queues_[index].packets.head].remaining <
          pool[queues_[best].packets.head].remaining) {
        best = index;
      }
    }
    return best;
  }

  void join(std::uint32_t index) {
    queues_[index].deficit = quantum_;
    rings_[class_of(index)].join(queues_, index);
    backlogged_ |= 1ULL << class_of(index);
    ++active_;
  }

  void leave(std::uint32_t index) {
    Ring& ring = rings_[class_of(index)];
    ring.leave(queues_, index);
    if (ring.size() == 0) backlogged_ &= ~(1ULL << class_of(index));
    --active_;
  }

  Ring& first_ring() { return rings_[static_cast<std::uint32_t>(std::countr_zero(backlogged_))]; }

  std::uint32_t class_of(std::uint32_t index) const {
    return rings_.size() == 1 ? 0 : index / class_queues_;
  }

  std::vector<Queue> queues_;
  std::int32_t quantum_ = 0;
  std::uint32_t bytes_ = 0;
  std::vector<Ring> rings_;       // of each class, its queues that may send
  std::uint64_t backlogged_ = 0;  // classes with such queues, one bit each
  std::uint32_t active_ = 0;
  std::uint32_t class_queues_ = 0;
  bool shortest_first_ = false;
};

}  // namespace ccbench::datacenter
