// SPDX-License-Identifier: Apache-2.0
//
// A lower bound of the distance, in time proportional to the length.
//
// Every path passes through every row, where it costs at least what lies between the query's point
// and the range of the reference's points that the band lets it meet (Keogh and Ratanamahatana
// 2005). In the first and the last row the path is known to begin and to end in the corners, which
// cost what they cost (Kim, Park and Chu 2001).
//
// The bound is below the distance as the kernels compute it, and not only below the exact one:
// whoever skips a reference because of it loses nothing. A sum of positive numbers in single
// precision is off by at most 2^-24 of itself for each addition, and so is each number by the
// subtraction it comes from. A path has fewer than n + m cells and the bound fewer, so taking
// 4 (n + m) 2^-24 of it away is more than both can be off together.

#pragma once

#include <cstddef>
#include <vector>

#include "series.h"

namespace ccbench::dtw {

// The range of a series around every position: from lower[i] to upper[i] within the window.
struct Envelope {
  std::vector<float> lower;
  std::vector<float> upper;
};

// The envelope of a series at positions 0 to `length` - 1, which may lie beyond its end; the window
// reaches back to it from everywhere.
Envelope envelope(const Series& series, std::size_t length, std::size_t window);

// The bound from the rows of `x` and the envelope of `y`, which has at least as many positions.
float lower_bound(const Series& x, const Series& y, const Envelope& envelope_of_y);

}  // namespace ccbench::dtw
