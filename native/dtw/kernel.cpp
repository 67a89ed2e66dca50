// SPDX-License-Identifier: Apache-2.0

#include "kernel.h"

namespace ccbench::dtw {

std::vector<Kernel> kernels() {
  std::vector<Kernel> result;
#ifdef CCBENCH_X86
  if (__builtin_cpu_supports("avx512f")) result.push_back(kAvx512);
  if (__builtin_cpu_supports("avx2")) result.push_back(kAvx2);
#endif
  result.push_back(kPortable);
  return result;
}

}  // namespace ccbench::dtw
