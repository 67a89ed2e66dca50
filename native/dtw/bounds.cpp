// SPDX-License-Identifier: Apache-2.0

#include "bounds.h"

#include <cmath>

namespace ccbench::dtw {
namespace {

// The most extreme value of a series within a window that slides over it. A value that comes later
// and is more extreme makes those before it irrelevant: what remains is sorted both ways.
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
  float sum = std::fabs(x.front() - y.front());
  for (std::size_t i = 1; i + 1 < x.length; ++i) {
    const float above = x[i] - envelope_of_y.upper[i];
    const float below = envelope_of_y.lower[i] - x[i];
    sum += std::max(0.0F, std::max(above, below));
  }
  if (x.length > 1 || y.length > 1) sum += std::fabs(x.back() - y.back());
  return sum;
}

}  // namespace ccbench::dtw
