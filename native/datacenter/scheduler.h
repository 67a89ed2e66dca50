// SPDX-License-Identifier: Apache-2.0
//
// The queues of a port and the selection of the next one: deficit round robin, or the queue whose
// first packet belongs to the flow with the least remaining data (SRF).

#pragma once

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
  // `quantum` is at least the size of the largest packet.
  Scheduler(std::uint32_t queues, std::int32_t quantum, bool shortest_first)
      : queues_(queues), quantum_(quantum), shortest_first_(shortest_first) {}

  // Number of unpaused queues with packets.
  std::uint32_t active() const { return ring_.size(); }
  bool idle() const { return ring_.size() == 0; }
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
    while (true) {
      Queue& queue = queues_[ring_.first()];
      if (queue.deficit >= pool[queue.packets.head].bytes) return ring_.first();
      queue.deficit += quantum_;
      ring_.rotate(queues_);
    }
  }

  std::uint32_t shortest(PacketPool& pool) const {
    std::uint32_t best = ring_.first();
    std::uint32_t index = best;
    for (std::uint32_t i = 0; i < ring_.size(); ++i, index = queues_[index].next) {
      if (pool[queues_[index].packets.head].remaining <
          pool[queues_[best].packets.head].remaining) {
        best = index;
      }
    }
    return best;
  }

  void join(std::uint32_t index) {
    queues_[index].deficit = quantum_;
    ring_.join(queues_, index);
  }

  void leave(std::uint32_t index) { ring_.leave(queues_, index); }

  std::vector<Queue> queues_;
  std::int32_t quantum_ = 0;
  std::uint32_t bytes_ = 0;
  Ring ring_;  // queues that may send
  bool shortest_first_ = false;
};

}  // namespace ccbench::datacenter
