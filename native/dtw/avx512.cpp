// SPDX-License-Identifier: Apache-2.0
//
// Kernel for processors with AVX-512.

#include <immintrin.h>

#include "kernel.h"
#include "sweep.h"

namespace ccbench::dtw {
namespace {

struct Avx512 {
  using Vector = __m512;
  static constexpr std::size_t kLanes = 16;
  static constexpr int kRows = 8;  // each needs three of 32 registers

  static Vector load(const float* from) { return _mm512_load_ps(from); }
  static void store(float* to, Vector a) { _mm512_store_ps(to, a); }
  static Vector fill(float value) { return _mm512_set1_ps(value); }
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  // Non-negative floating-point numbers have the same order as integers with the same bits. On some
  // processors, integer operations can use execution units that floating-point additions cannot.
  static Vector min(Vector a, Vector b) {
    return _mm512_castsi512_ps(
        _mm512_min_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
  }
  static Vector distance(Vector a, Vector b) { return _mm512_abs_ps(_mm512_sub_ps(a, b)); }
};

}  // namespace

constexpr Kernel kAvx512{"avx512", Avx512::kLanes, run<Avx512>};

}  // namespace ccbench::dtw
