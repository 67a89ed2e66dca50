// SPDX-License-Identifier: Apache-2.0
//
// A ring of some elements of a vector, with members `next` and `previous`.

#pragma once

#include <cstdint>
#include <vector>

#include "packet.h"

namespace ccbench::datacenter {

class Ring {
 public:
  std::uint32_t size() const { return size_; }
  // The ring must not be empty.
  std::uint32_t first() const { return first_; }

  // Adds at the end, before the first.
  template <typename Element>
  void join(std::vector<Element>& elements, std::uint32_t index) {
    Element& element = elements[index];
    if (size_++ == 0) {
      first_ = element.next = element.previous = index;
      return;
    }
    element.next = first_;
    element.previous = elements[first_].previous;
    elements[element.previous].next = index;
    elements[first_].previous = index;
  }

  template <typename Element>
  void leave(std::vector<Element>& elements, std::uint32_t index) {
    const Element& element = elements[index];
    elements[element.previous].next = element.next;
    elements[element.next].previous = element.previous;
    if (first_ == index) first_ = element.next;
    --size_;
  }

  // Makes the first element the last.
  template <typename Element>
  void rotate(const std::vector<Element>& elements) {
    first_ = elements[first_].next;
  }

 private:
  std::uint32_t size_ = 0;
  std::uint32_t first_ = None;
};

}  // namespace ccbench::datacenter
