// SPDX-License-Identifier: Apache-2.0

#include "bounds.h"

#include <cmath>

namespace ccbench::dtw {
namespace {

// Returns the extreme value of a series within a sliding window. Each value makes earlier, less
// extreme values irrelevant, so the indices of relevant values are sorted by position and by value.
template <class MoreExtreme>
std::vector<float> sliding(const Series& series, std::size_t length, std::size_t window,
                           MoreExtreme more_extreme) {
  std::vector<float> result(length);
  std::vector<std::size_t> relevant(series.length);
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < length; ++i) {
    for (; next < series.length && next <= i + window; ++next) {
      while (end > first && !more_extreme(series[relevant[end - 1]], series[next])) --end;
      relevant[end++] = next;
    }
    while (relevant[first] + window < i) ++first;
    result[i] = series[relevant[first]];
  }
  return result;
}

}  // namespace

Envelope envelope(const Series& series, std::size_t length, std::size_t window) {
  return {sliding(series, length, window, [](float a, float b) { return a < b; }),
          sliding(series, length, window, [](float a, float b) { return a > b; })};
}

float lower_bound(const Series& x, const Series& y, const Envelope& envelope_of_y) {
  const auto outside = [&](std::size_t i) {
    const float above = x[i] - envelope_of_y.upper[i];
    const float below = envelope_of_y.lower[i] - x[i];
    return std::max(0.0F, std::max(above, below));
  };
  // Independent sums, which compilers can vectorise.
  constexpr std::size_t kSums = 16;
  float sums[kSums] = {};
  std::size_t i = 1;
  for (; i + kSums < x.length; i += kSums) {
    for (std::size_t l = 0; l < kSums; ++l) sums[l] += outside(i + l);
  }
  for (; i + 1 < x.length; ++i) sums[0] += outside(i);

  float bound = std::fabs(x.front() - y.front());
  if (x.length > 1 || y.length > 1) bound += std::fabs(x.back() - y.back());
  for (const float sum : sums) bound += sum;
  const float off = 4 * static_cast<float>(x.length + y.length) * 0x1p-24F;
  return off < 1 ? bound * (1 - off) : 0;
}

}  // namespace ccbench::dtw
