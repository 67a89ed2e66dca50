// SPDX-License-Identifier: Apache-2.0
//
// Kernel for processors with AVX2.

#include <immintrin.h>

#include "kernel.h"
#include "sweep.h"

namespace ccbench::dtw {
namespace {

struct Avx2 {
  using Vector = __m256;
  static constexpr std::size_t kLanes = 8;
  static constexpr int kRows = 4;  // each needs three of 16 registers

  static Vector load(const float* from) { return _mm256_load_ps(from); }
  static void store(float* to, Vector a) { _mm256_store_ps(to, a); }
  static Vector fill(float value) { return _mm256_set1_ps(value); }
  static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  // As integers; see avx512.cpp.
  static Vector min(Vector a, Vector b) {
    return _mm256_castsi256_ps(
        _mm256_min_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
  }
  static Vector distance(Vector a, Vector b) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), _mm256_sub_ps(a, b));
  }
};

}  // namespace

constexpr Kernel kAvx2{"avx2", Avx2::kLanes, run<Avx2>};

}  // namespace ccbench::dtw
