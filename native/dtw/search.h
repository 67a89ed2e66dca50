// SPDX-License-Identifier: Apache-2.0
//
// What is done with a kernel: matrices of distances, and the search for nearest neighbours.
//
// Everywhere series differ in length by at most the window, and `poll` is that of for_each_task().

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernel.h"
#include "series.h"

namespace ccbench::dtw {

// How a search is carried out. The results do not depend on the kernel or the number of threads.
struct Means {
  Kernel kernel;
  unsigned threads;
  std::function<void()> poll;
};

// Distances from every query to every reference; `out` has a row for each query.
void distances(const SeriesSet& queries, const SeriesSet& references, std::size_t window,
               const Means& means, float* out);

// Distances between all series, as a symmetric square. Each is computed once, except between series
// that share a vector: there the second time costs nothing.
void pairwise(const SeriesSet& series, std::size_t window, const Means& means, float* out);

// The k nearest references of every query, the nearest first, equal ones by index. `distances` and
// `indices` have a row of k for each query.
void nearest(const SeriesSet& queries, const SeriesSet& references, std::size_t k,
             std::size_t window, const Means& means, float* distances, std::int64_t* indices);

}  // namespace ccbench::dtw
