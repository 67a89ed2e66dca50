#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Virtual kernels of several releases of Linux.
#
#   scripts/kernels.sh build RELEASE...   build them; say which the machine cannot get
#   scripts/kernels.sh test [RELEASE...]  build and test each, by default all that are offered
#
# Afterwards the default kernel is the same as before, or the first one built if there was none.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=.venv/bin
mode=$1
shift

used=$("$bin"/ccbench kernel info --json 2>/dev/null | "$bin"/python -c \
  'import json, sys; one = json.load(sys.stdin); print(one.get("kernel_name", one["release"]))' \
  2>/dev/null) || used=
restore() { [ -z "$used" ] || "$bin"/ccbench kernel use "$used" >/dev/null; }
trap restore EXIT

if [ "$mode" = test ] && [ $# -eq 0 ]; then
  mapfile -t offered < <("$bin"/ccbench kernel list --offered)
  set -- "${offered[@]}"
fi

failed=()
for release in "$@"; do
  if ! "$bin"/ccbench kernel build "$release" >/dev/null; then
    [ "$mode" = build ] || failed+=("$release (not built)")
    continue
  fi
  if [ "$mode" = test ]; then
    printf '\nLinux %s\n' "$release"
    "$bin"/ccbench kernel use "$release" >/dev/null
    "$bin"/pytest -n 3 --dist worksteal tests/kernel || failed+=("$release")
  fi
done
if [ ${#failed[@]} -gt 0 ]; then
  printf '[ccbench] failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
