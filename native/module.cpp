// SPDX-License-Identifier: Apache-2.0
//
// The extension module ccbench._native: Python bindings of the compiled cores. Callers validate all
// arguments and pass flat arrays, including arrays for the results.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "datacenter/binding.h"
#include "dtw/bounds.h"
#include "dtw/search.h"

namespace nb = nanobind;

namespace {

using namespace ccbench::dtw;

using Values = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Starts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Distances = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

SeriesSet series_set(const Values& values, const Starts& starts) {
  return {values.data(), starts.data(), starts.size() - 1};
}

Execution execution_on(const std::string& path, unsigned threads) {
  for (const Kernel& kernel : kernels()) {
    // Lets Ctrl-C interrupt a computation. Python checks signals only on the calling thread.
    const auto poll = [] {
      const nb::gil_scoped_acquire lock;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    };
    if (kernel.name == path) return {kernel, threads, poll};
  }
  throw std::invalid_argument("this processor has no path " + path);
}

std::vector<std::string> dtw_paths() {
  std::vector<std::string> names;
  for (const Kernel& kernel : kernels()) names.emplace_back(kernel.name);
  return names;
}

void dtw_distances(const Values& queries, const Starts& query_starts, const Values& references,
                   const Starts& reference_starts, std::size_t window, const std::string& path,
                   unsigned threads, const Distances& out) {
  const Execution execution = execution_on(path, threads);
  const nb::gil_scoped_release unlock;
  distances(series_set(queries, query_starts), series_set(references, reference_starts), window,
            execution, out.data());
}

void dtw_pairwise(const Values& series, const Starts& starts, std::size_t window,
                  const std::string& path, unsigned threads, const Distances& out) {
  const Execution execution = execution_on(path, threads);
  const nb::gil_scoped_release unlock;
  pairwise(series_set(series, starts), window, execution, out.data());
}

void dtw_nearest(const Values& queries, const Starts& query_starts, const Values& references,
                 const Starts& reference_starts, std::size_t window, const std::string& path,
                 unsigned threads, const Distances& out, const Indices& indices) {
  const Execution execution = execution_on(path, threads);
  const nb::gil_scoped_release unlock;
  nearest(series_set(queries, query_starts), series_set(references, reference_starts),
          out.shape(1), window, execution, out.data(), indices.data());
}

float dtw_lower_bound(const Values& x, const Values& y, std::size_t window) {
  const Series of_x{x.data(), x.size()};
  const Series of_y{y.data(), y.size()};
  return lower_bound(of_x, of_y, envelope(of_y, of_x.length, window));
}

}  // namespace

NB_MODULE(_native, module) {
  using nb::arg;
  module.def("dtw_paths", &dtw_paths);
  module.def("dtw_distances", &dtw_distances, arg("queries"), arg("query_starts"),
             arg("references"), arg("reference_starts"), arg("window"), arg("path"),
             arg("threads"), arg("out").noconvert());
  module.def("dtw_pairwise", &dtw_pairwise, arg("series"), arg("starts"), arg("window"),
             arg("path"), arg("threads"), arg("out").noconvert());
  module.def("dtw_nearest", &dtw_nearest, arg("queries"), arg("query_starts"), arg("references"),
             arg("reference_starts"), arg("window"), arg("path"), arg("threads"),
             arg("out").noconvert(), arg("indices").noconvert());
  module.def("dtw_lower_bound", &dtw_lower_bound, arg("x"), arg("y"), arg("window"));
  ccbench::datacenter::bind(module);
  ccbench::datacenter::bind_probe(module);
}
