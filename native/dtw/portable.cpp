// SPDX-License-Identifier: Apache-2.0
//
// Kernel in standard C++, for any processor.

#include <cmath>

#include "kernel.h"
#include "sweep.h"

namespace ccbench::dtw {
namespace {

struct Portable {
  // Enough lanes for compilers to vectorise the loops rather than generate scalar code.
  static constexpr std::size_t kLanes = 32;
  static constexpr int kRows = 4;

  struct Vector {
    float lanes[kLanes];
  };

  static Vector load(const float* from) {
    return each([&](std::size_t l) { return from[l]; });
  }
  static void store(float* to, const Vector& a) {
    for (std::size_t l = 0; l < kLanes; ++l) to[l] = a.lanes[l];
  }
  static Vector fill(float value) {
    return each([&](std::size_t) { return value; });
  }
  static Vector add(const Vector& a, const Vector& b) {
    return each([&](std::size_t l) { return a.lanes[l] + b.lanes[l]; });
  }
  static Vector min(const Vector& a, const Vector& b) {
    return each([&](std::size_t l) { return a.lanes[l] < b.lanes[l] ? a.lanes[l] : b.lanes[l]; });
  }
  static Vector distance(const Vector& a, const Vector& b) {
    return each([&](std::size_t l) { return std::fabs(a.lanes[l] - b.lanes[l]); });
  }

 private:
  template <class F>
  static Vector each(F value) {
    Vector result;
    for (std::size_t l = 0; l < kLanes; ++l) result.lanes[l] = value(l);
    return result;
  }
};

}  // namespace

constexpr Kernel kPortable{"portable", Portable::kLanes, run<Portable>};

}  // namespace ccbench::dtw
