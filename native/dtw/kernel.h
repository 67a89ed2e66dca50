// SPDX-License-Identifier: Apache-2.0
//
// Kernel of dynamic time warping: compares a query with several references, one per vector lane.
//
// Cumulative costs follow the recurrence of Sakoe and Chiba (1978), with unit weight for each step:
//
//   D(i, j) = |x_i - y_j| + min(D(i-1, j), D(i-1, j-1), D(i, j-1)),   |i - j| <= window
//
// Each instruction set has its own kernel. The kernels differ only in vector width and return
// bitwise identical distances: every cell takes one subtraction, one minimum and one addition in
// single precision. Without multiplications there are no fused operations, and a minimum does not
// round. The distance is therefore exactly symmetric, too.

#pragma once

#include <cstddef>
#include <vector>

namespace ccbench::dtw {

struct Kernel {
  const char* name;
  std::size_t lanes;

  // Compares a query of `n` points with `lanes` references of at most `m` points.
  //
  // Point j of the reference in lane l is references[j * lanes + l]. Shorter references are padded
  // with infinity. The band must reach the last column: window >= n - m. On return,
  // row[j * lanes + l] is D(n-1, j), so the distance of a reference is the value at its last point.
  // `references` and `row` are aligned to the vector.
  //
  // Returns false if the kernel stopped early because all distances exceed `bound`; the content of
  // `row` is then unspecified.
  bool (*run)(const float* query, std::size_t n, const float* references, std::size_t m,
              std::size_t window, float bound, float* row);
};

// Each kernel is defined in the file of its name, as a compile-time constant: no code of that file,
// including initialisation, executes before the processor's features have been checked.
extern const Kernel kAvx512;
extern const Kernel kAvx2;
extern const Kernel kPortable;

// Returns the kernels supported by this processor, fastest first. The portable kernel is last.
std::vector<Kernel> kernels();

}  // namespace ccbench::dtw
