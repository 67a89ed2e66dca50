// SPDX-License-Identifier: Apache-2.0
//
// Distance matrices and nearest-neighbour search.
//
// The lengths of compared series differ by at most the window.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernel.h"
#include "series.h"

namespace ccbench::dtw {

// Kernel, number of threads and `poll` of for_each_task(). Results do not depend on them.
struct Execution {
  Kernel kernel;
  unsigned threads;
  std::function<void()> poll;
};

// Computes the distances from every query to every reference; `out` has one row per query.
void distances(const SeriesSet& queries, const SeriesSet& references, std::size_t window,
               const Execution& execution, float* out);

// Computes the symmetric matrix of distances between all series. Each distance is computed once,
// except between series of the same vector, where the second computation has no cost.
void pairwise(const SeriesSet& series, std::size_t window, const Execution& execution, float* out);

// Finds the k nearest references of every query, sorted by distance and then by index. `distances`
// and `indices` have one row of k values per query.
void nearest(const SeriesSet& queries, const SeriesSet& references, std::size_t k,
             std::size_t window, const Execution& execution, float* distances,
             std::int64_t* indices);

}  // namespace ccbench::dtw
