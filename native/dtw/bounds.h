// SPDX-License-Identifier: Apache-2.0
//
// Lower bound of the distance, computed in linear time.
//
// Every warping path passes through every row. Its cost in a row is at least the distance from the
// query's point to the range of the reference's points within the band (Keogh and Ratanamahatana
// 2005). The path begins and ends in the corners of the matrix, whose costs are exact (Kim, Park
// and Chu 2001).
//
// The bound holds for the distance as computed by the kernels, not only for the exact distance, so
// pruning with it never changes a result. In single precision, each addition of positive numbers
// has a relative error of at most 2^-24, as has each subtraction. A path has fewer than n + m cells
// and the bound has fewer terms. Reducing the bound by the fraction 4 (n + m) 2^-24 exceeds the
// total error of both.

#pragma once

#include <cstddef>
#include <vector>

#include "series.h"

namespace ccbench::dtw {

// Minimum (lower[i]) and maximum (upper[i]) of a series within the window around position i.
struct Envelope {
  std::vector<float> lower;
  std::vector<float> upper;
};

// Returns the envelope of a series at positions 0 to `length` - 1. Positions may exceed the end of
// the series by at most the window.
Envelope envelope(const Series& series, std::size_t length, std::size_t window);

// Returns the bound computed from the rows of `x` and the envelope of `y`, which has at least as
// many positions.
float lower_bound(const Series& x, const Series& y, const Envelope& envelope_of_y);

}  // namespace ccbench::dtw
