// SPDX-License-Identifier: Apache-2.0
//
// A host's network card: the flows that may send, in queues that a switch can pause. Queues and the
// flows of a queue are served round robin; with SRF the flow with the least remaining data is next.

#pragma once

#include <cstdint>
#include <vector>

#include "flow.h"
#include "queue_bitmap.h"
#include "random.h"
#include "ring.h"

namespace ccbench::datacenter {

class Nic {
 public:
  // Without `queues`, their number is unlimited, and no flow is assigned a paused queue.
  Nic(std::uint32_t queues, bool shortest_first, Random random)
      : random_(random),
        queues_(queues),
        empty_(queues, 0),
        grows_(queues == 0),
        shortest_first_(shortest_first) {}

  bool idle() const { return ring_.size() == 0; }

  // Assigns a queue to a flow with data to send: an empty queue if there is one.
  void assign(Flow& flow) {
    std::uint32_t found = empty_.find();
    const auto count = static_cast<std::uint32_t>(queues_.size());
    if (found == None && grows_ && count <= MostQueues) {
      found = count;
      queues_.emplace_back();
      empty_.grow(count + 1);
    }
    flow.nic_queue = static_cast<std::uint16_t>(found != None ? found : random_.below(count));
    flow.in_nic_queue = true;
    if (++queues_[flow.nic_queue].flows == 1) empty_.clear(flow.nic_queue);
  }

  void release(Flow& flow) {
    flow.in_nic_queue = false;
    --queues_[flow.nic_queue].flows;
    note_empty(flow.nic_queue);
  }

  // The flow may send.
  void push(FlowPool& flows, std::uint32_t slot) {
    Flow& flow = flows[slot];
    Queue& queue = queues_[flow.nic_queue];
    flow.ready = true;
    flow.next_ready = None;
    if (queue.head != None) {
      flows[queue.tail].next_ready = slot;
      queue.tail = slot;
      return;
    }
    queue.head = queue.tail = slot;
    if (!queue.paused) ring_.join(queues_, flow.nic_queue);
  }

  // The next flow, which must be pushed again to be served again. The card must not be idle.
  std::uint32_t pop(FlowPool& flows) {
    if (shortest_first_) return pop_shortest(flows);
    const std::uint32_t index = ring_.first();
    Queue& queue = queues_[index];
    const std::uint32_t slot = queue.head;
    queue.head = flows[slot].next_ready;
    flows[slot].ready = false;
    if (queue.head == None) {
      ring_.leave(queues_, index);
    } else {
      ring_.rotate(queues_);
    }
    return slot;
  }

  // The flow may no longer send.
  void remove(FlowPool& flows, std::uint32_t slot) {
    const std::uint32_t index = flows[slot].nic_queue;
    std::uint32_t before = None;
    for (std::uint32_t other = queues_[index].head; other != slot; other = flows[other].next_ready) {
      before = other;
    }
    unlink(flows, index, before, slot);
  }

  void pause(std::uint32_t index) {
    if (queues_[index].paused) return;
    queues_[index].paused = true;
    if (queues_[index].head != None) ring_.leave(queues_, index);
    note_empty(index);
  }

  void resume(std::uint32_t index) {
    if (!queues_[index].paused) return;
    queues_[index].paused = false;
    if (queues_[index].head != None) ring_.join(queues_, index);
    note_empty(index);
  }

 private:
  static constexpr std::uint32_t MostQueues = 0xffff;  // limited by the 16 bits of a packet's queue

  struct Queue {
    std::uint32_t head = None;  // first flow that may send
    std::uint32_t tail = None;
    std::uint32_t flows = 0;  // flows assigned to it, whether they may send or not
    std::uint32_t next = None;
    std::uint32_t previous = None;
    bool paused = false;
  };

  void note_empty(std::uint32_t index) {
    if (queues_[index].flows > 0) return;
    grows_ && queues_[index].paused ? empty_.clear(index) : empty_.set(index);
  }

  std::uint32_t pop_shortest(FlowPool& flows) {
    std::uint32_t best = None;
    std::uint32_t before_best = None;
    std::uint32_t best_queue = None;
    std::uint32_t index = ring_.first();
    for (std::uint32_t i = 0; i < ring_.size(); ++i, index = queues_[index].next) {
      std::uint32_t before = None;
      for (std::uint32_t slot = queues_[index].head; slot != None; slot = flows[slot].next_ready) {
        if (best == None || left(flows[slot]) < left(flows[best])) {
          best = slot;
          before_best = before;
          best_queue = index;
        }
        before = slot;
      }
    }
    unlink(flows, best_queue, before_best, best);
    return best;
  }

  void unlink(FlowPool& flows, std::uint32_t index, std::uint32_t before, std::uint32_t slot) {
    Queue& queue = queues_[index];
    const std::uint32_t after = flows[slot].next_ready;
    (before == None ? queue.head : flows[before].next_ready) = after;
    if (after == None) queue.tail = before;
    flows[slot].ready = false;
    if (queue.head == None && !queue.paused) ring_.leave(queues_, index);
  }

  static std::uint32_t left(const Flow& flow) { return flow.packets - flow.next_number; }

  Random random_;
  std::vector<Queue> queues_;
  QueueBitmap empty_;
  Ring ring_;  // unpaused queues with flows that may send
  bool grows_;
  bool shortest_first_;
};

}  // namespace ccbench::datacenter
