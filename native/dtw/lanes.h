// SPDX-License-Identifier: Apache-2.0
//
// References in the interleaved layout of kernels.

#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "kernel.h"
#include "series.h"

namespace ccbench::dtw {

// At most `kernel.lanes` references, one per lane.
class Lanes {
 public:
  Lanes(const Kernel& kernel, std::vector<Series> references)
      : width_(kernel.lanes), references_(std::move(references)) {
    for (const Series& series : references_) length_ = std::max(length_, series.length);
    values_ = AlignedFloats(length_ * width_);
    for (std::size_t j = 0; j < length_; ++j) {
      float* point = values_.get() + j * width_;
      for (std::size_t lane = 0; lane < width_; ++lane) {
        const bool exists = lane < references_.size() && j < references_[lane].length;
        point[lane] = exists ? references_[lane][j] : std::numeric_limits<float>::infinity();
      }
    }
  }

  std::size_t count() const { return references_.size(); }
  std::size_t length() const { return length_; }
  const float* values() const { return values_.get(); }

  // Returns the distance of the reference in a lane from the kernel's output row.
  float distance(std::size_t lane, const float* row) const {
    return row[(references_[lane].length - 1) * width_ + lane];
  }

 private:
  std::size_t width_;
  std::vector<Series> references_;
  std::size_t length_ = 0;
  AlignedFloats values_;
};

}  // namespace ccbench::dtw
