// SPDX-License-Identifier: Apache-2.0
//
// The kernel of dynamic time warping: one query against several references at once, one in each
// lane of a vector.
//
// Cumulated costs follow the recurrence of Sakoe and Chiba (1978), with every step counted once:
//
//   D(i, j) = |x_i - y_j| + min(D(i-1, j), D(i-1, j-1), D(i, j-1)),   |i - j| <= window
//
// There is one kernel for each kind of processor. They differ in the width of their vectors and in
// nothing that can be seen: for every cell all do the same three operations in single precision, a
// subtraction, a minimum and an addition. None multiplies, so there is nothing to fuse, and a
// minimum does not round: the distances are the same to the last bit. For the same reason the
// distance from x to y is that from y to x.

#pragma once

#include <cstddef>
#include <vector>

namespace ccbench::dtw {

struct Kernel {
  const char* name;
  std::size_t lanes;

  // Compares a query of `n` points with `lanes` references of at most `m` points.
  //
  // Point j of the reference in lane l is references[j * lanes + l]. A reference with fewer points
  // has infinity in place of the others. The band must reach the last column: window >= n - m.
  // Afterwards row[j * lanes + l] is D(n-1, j): the distance of a reference is the value at its last
  // point. Both are aligned to the vector.
  //
  // The answer is false, and the content of row means nothing, if the kernel has given up because
  // all distances are certain to be above `bound`.
  bool (*run)(const float* query, std::size_t n, const float* references, std::size_t m,
              std::size_t window, float bound, float* row);
};

// Each in the file of its name. They are constants: no code of those files runs, not even to set
// them up, before the processor has been asked whether it can.
extern const Kernel kAvx512;
extern const Kernel kAvx2;
extern const Kernel kPortable;

// The kernels that this processor can run, the fastest first. The last is the portable one.
std::vector<Kernel> kernels();

}  // namespace ccbench::dtw
