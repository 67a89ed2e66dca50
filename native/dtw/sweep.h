// SPDX-License-Identifier: Apache-2.0
//
// Kernel template for any vector type. One source file per instruction set includes it and is
// compiled for that instruction set. All code is in an anonymous namespace and calls no external
// functions: otherwise the linker could merge functions compiled for different instruction sets.
//
// A vector type V has V::kLanes lanes, processes V::kRows rows at once (limited by the number of
// registers), and has the operations load, store, fill, add, min (of non-negative numbers) and
// distance (absolute difference).

#pragma once

#include <cstddef>
#include <limits>

namespace ccbench::dtw {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// First and last column of a row within the band.
inline std::size_t first_column(std::size_t row, std::size_t window) {
  return row > window ? row - window : 0;
}
inline std::size_t last_column(std::size_t row, std::size_t window, std::size_t m) {
  return row + window < m ? row + window : m - 1;
}

// Processes several rows at once, from left to right. Memory holds one row of cumulative costs,
// read and written once per sweep; the rows in between stay in registers.
//
// In step s, row r is at column s - r. A cell depends only on the two previous steps, so the cells
// of a step are independent.
template <class V, int kRows>
class Sweep {
 public:
  Sweep(const float* query, std::size_t first_row, const float* references, std::size_t m,
        std::size_t window, float* row)
      : first_row_(first_row), references_(references), m_(m), window_(window), row_(row) {
    const std::size_t begin = first_column(first_row, window);
    diagonal_ = begin > 0 ? V::load(row + (begin - 1) * V::kLanes)
                          : V::fill(first_row == 0 ? 0.0F : kInfinity);
    for (int r = 0; r < kRows; ++r) {
      points_[r] = V::fill(query[r]);
      left_[r] = V::fill(kInfinity);
      above_[r] = V::fill(kInfinity);
    }
  }

  void run() {
    const std::size_t last_row = first_row_ + kRows - 1;
    const std::size_t end = last_column(last_row, window_, m_) + kRows;
    // Every row is within the band from step all_begun to step one_ended - 1.
    const std::size_t all_begun = first_column(last_row, window_) + kRows - 1;
    const std::size_t one_ended = last_column(first_row_, window_, m_) + 1;
    std::size_t s = first_column(first_row_, window_);
    for (; s < all_begun && s < end; ++s) step<true>(s);
    for (; s < one_ended; ++s) step<false>(s);
    for (; s < end; ++s) step<true>(s);
  }

 private:
  using Vector = typename V::Vector;

  // If kAtEdge, some rows may be outside the band.
  template <bool kAtEdge>
  void step(std::size_t s) {
    Vector up = V::fill(kInfinity);
    if (!kAtEdge || s < m_) up = V::load(row_ + s * V::kLanes);
    const Vector above_first = V::min(up, diagonal_);
    diagonal_ = up;
    // From the last row to the first: each row needs its predecessor's value of the previous step.
    for (int r = kRows - 1; r >= 0; --r) {
      Vector cell = V::fill(kInfinity);
      if (!kAtEdge || is_inside(s, r)) {
        const Vector cost = V::distance(points_[r], V::load(references_ + (s - r) * V::kLanes));
        cell = V::add(V::min(left_[r], r > 0 ? above_[r - 1] : above_first), cost);
        if (r == kRows - 1) V::store(row_ + (s - r) * V::kLanes, cell);
      }
      above_[r] = V::min(left_[r], cell);
      left_[r] = cell;
    }
  }

  bool is_inside(std::size_t s, std::size_t r) const {
    const std::size_t row = first_row_ + r;
    return s >= first_column(row, window_) + r && s <= last_column(row, window_, m_) + r;
  }

  std::size_t first_row_;
  const float* references_;
  std::size_t m_;
  std::size_t window_;
  float* row_;
  Vector diagonal_;        // D(first_row - 1, s - 1)
  Vector points_[kRows];   // of the query
  Vector left_[kRows];     // cell of the previous step
  Vector above_[kRows];    // minimum of the cells of the two previous steps
};

// Returns true if every cell of a row is above the bound. All distances are then above it, because
// costs are non-negative and every path passes through every row.
template <class V>
bool is_above(float bound, const float* row, std::size_t begin, std::size_t end) {
  typename V::Vector least = V::load(row + begin * V::kLanes);
  for (std::size_t j = begin + 1; j < end; ++j) {
    least = V::min(least, V::load(row + j * V::kLanes));
  }
  alignas(64) float lanes[V::kLanes];
  V::store(lanes, least);
  for (const float lane : lanes) {
    if (!(lane > bound)) return false;
  }
  return true;
}

template <class V>
bool run(const float* query, std::size_t n, const float* references, std::size_t m,
         std::size_t window, float bound, float* row) {
  // Rows between checks for stopping early, whose cost is negligible at this interval.
  constexpr std::size_t kCheckedRows = 32;
  static_assert(kCheckedRows % V::kRows == 0);

  for (std::size_t j = 0; j < m; ++j) V::store(row + j * V::kLanes, V::fill(kInfinity));
  std::size_t i = 0;
  for (; i + V::kRows <= n; i += V::kRows) {
    if (bound < kInfinity && i > 0 && i % kCheckedRows == 0 &&
        is_above<V>(bound, row, first_column(i - 1, window), last_column(i - 1, window, m) + 1)) {
      return false;
    }
    Sweep<V, V::kRows>(query + i, i, references, m, window, row).run();
  }
  for (; i < n; ++i) Sweep<V, 1>(query + i, i, references, m, window, row).run();
  return true;
}

}  // namespace
}  // namespace ccbench::dtw
