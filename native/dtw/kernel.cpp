// SPDX-License-Identifier: Apache-2.0

#include "kernel.h"

namespace ccbench::dtw {

using Run = bool(const float*, std::size_t, const float*, std::size_t, std::size_t, float, float*);

Run run_avx512, run_avx2, run_portable;  // each in the file of its name

std::vector<Kernel> kernels() {
  std::vector<Kernel> result;
#ifdef CCBENCH_X86
  if (__builtin_cpu_supports("avx512f")) result.push_back({"avx512", 16, run_avx512});
  if (__builtin_cpu_supports("avx2")) result.push_back({"avx2", 8, run_avx2});
#endif
  result.push_back({"portable", 32, run_portable});
  return result;
}

}  // namespace ccbench::dtw
