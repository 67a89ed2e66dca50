// SPDX-License-Identifier: Apache-2.0
//
// The empty queues of a port.

#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "packet.h"

namespace ccbench::datacenter {

class QueueBitmap {
 public:
  QueueBitmap() = default;
  // All of `size` queues are empty, except the first `reserved`, which are never returned.
  QueueBitmap(std::uint32_t size, std::uint32_t reserved) : words_((size + 63) / 64) {
    for (std::uint32_t queue = reserved; queue < size; ++queue) set(queue);
  }

  // Increases the number of queues to `size`.
  void grow(std::uint32_t size) {
    if (size > 64 * words_.size()) words_.resize((size + 63) / 64);
  }

  void set(std::uint32_t queue) { words_[queue / 64] |= 1ULL << queue % 64; }
  void clear(std::uint32_t queue) { words_[queue / 64] &= ~(1ULL << queue % 64); }

  // Returns an empty queue, or None: the next one after the queue returned last, for round robin.
  std::uint32_t find() {
    const std::uint32_t count = static_cast<std::uint32_t>(words_.size());
    if (count == 0) return None;
    const std::uint32_t start = after_ / 64 % count;
    std::uint64_t mask = ~0ULL << after_ % 64;
    for (std::uint32_t i = 0; i <= count; ++i) {
      const std::uint32_t word = (start + i) % count;
      const std::uint64_t bits = words_[word] & mask;
      mask = ~0ULL;
      if (bits == 0) continue;
      const auto queue = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      after_ = (queue + 1) % (count * 64);
      return queue;
    }
    return None;
  }

 private:
  std::vector<std::uint64_t> words_;
  std::uint32_t after_ = 0;
};

}  // namespace ccbench::datacenter
