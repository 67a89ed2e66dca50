// SPDX-License-Identifier: Apache-2.0
//
// Series of varying lengths and aligned memory for kernels.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace ccbench::dtw {

// Non-owning view of a series.
struct Series {
  const float* values;
  std::size_t length;  // at least 1

  float operator[](std::size_t i) const { return values[i]; }
  float front() const { return values[0]; }
  float back() const { return values[length - 1]; }
};

// Non-owning view of concatenated series. Series i occupies values[starts[i]] to
// values[starts[i + 1] - 1].
struct SeriesSet {
  const float* values;
  const std::int64_t* starts;
  std::size_t size;

  Series operator[](std::size_t i) const {
    return {values + starts[i], static_cast<std::size_t>(starts[i + 1] - starts[i])};
  }

  std::size_t longest() const {
    std::size_t result = 0;
    for (std::size_t i = 0; i < size; ++i) result = std::max(result, (*this)[i].length);
    return result;
  }
};

// Uninitialised array aligned to a cache line, which is also the size of the widest vector.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(std::size_t count)
      : values_(static_cast<float*>(::operator new(count * sizeof(float), kAlignment))) {}

  float* get() const { return values_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Delete {
    void operator()(float* values) const { ::operator delete(values, kAlignment); }
  };
  std::unique_ptr<float, Delete> values_;
};

}  // namespace ccbench::dtw
