#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles native/ with AddressSanitizer and UndefinedBehaviorSanitizer, in build/sanitize, and runs
# its tests with the result in place of the package's compiled cores. Needs g++, cmake and the
# packages of `make unit`. Arguments go to pytest; without any, the tests of all compiled cores run.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-.venv/bin/python}
build=build/sanitize
tests=(
  tests/unit/classify/test_dtw.py
  tests/unit/datacenter/test_network.py
  tests/unit/datacenter/test_congestion_controls.py
  tests/unit/datacenter/test_backpressure.py
  tests/unit/datacenter/test_workload.py
  tests/unit/datacenter/test_simulation.py
  tests/unit/datacenter/test_simulated.py
  tests/unit/datacenter/test_store.py
  tests/unit/classify/test_classifier.py
)
[ $# -eq 0 ] || tests=("$@")

cmake -S native -B "$build" -DCMAKE_BUILD_TYPE=Release -DCCBENCH_SANITIZE=ON \
  -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" -DPython_EXECUTABLE="$(command -v "$python")"
cmake --build "$build" --parallel

# The interpreter itself is not sanitized: it must find the sanitizers loaded, and it leaks by design.
preload="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)"
ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 LD_PRELOAD=$preload \
  "$python" - "$build"/_native.*.so -p no:cacheprovider "${tests[@]}" <<'PYTHON'
import importlib.util
import sys

import ccbench

path = sys.argv.pop(1)
specification = importlib.util.spec_from_file_location("ccbench._native", path)
ccbench._native = importlib.util.module_from_spec(specification)
specification.loader.exec_module(ccbench._native)
sys.modules["ccbench._native"] = ccbench._native

import pytest

sys.exit(pytest.main(sys.argv[1:]))
PYTHON
