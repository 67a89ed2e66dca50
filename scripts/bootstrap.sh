#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the requirements of ccbench: missing system packages, and the virtual
# environment .venv with ccbench. Running it again changes nothing.
#
#   scripts/bootstrap.sh              to use ccbench
#   scripts/bootstrap.sh dev          to develop ccbench (pytest, ruff, mypy, sphinx, ...)
#   scripts/bootstrap.sh dev tests    the same, and as root the system packages of tests
#
# As root it installs system packages with apt-get; as an ordinary user it prints
# the command to run as root, and stops.
set -euo pipefail
cd "$(dirname "$0")/.."

extras=${1:-}
of_tests=${2:-}
venv=.venv

say() { printf '[ccbench] %s\n' "$*"; }
stop() {
  printf '[ccbench] %s\n' "$*" >&2
  exit 1
}

have() { command -v "$1" >/dev/null; }
apt_install() { DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@"; }
# Each check tries the actual use, wherever the tool comes from.
has_venv() { python3 -c 'import ensurepip, venv' 2>/dev/null; }
has_cxx() { printf '#include <bit>\nint main() { return std::has_single_bit(3u); }' | g++ -std=c++20 -x c++ -o /dev/null - 2>/dev/null; }
has_python_headers() {
  local folder
  folder=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null) &&
    [ -f "$folder/Python.h" ]
}
# The distribution ccbench-kernel: without it, the virtual kernel is compiled here.
has_kernels() { "$venv/bin/python" -c 'import ccbench_kernel' 2>/dev/null; }
has_static_libc() { echo 'int main(void) { return 0; }' | gcc -static -x c -o /dev/null - 2>/dev/null; }

missing=()
needs() { # PACKAGE REASON CHECK...
  local package=$1 reason=$2
  shift 2
  if ! "$@"; then
    missing+=("$package")
    say "missing: $package ($reason)"
  fi
}

check_system() {
  missing=()
  needs python3-venv "makes the virtual environment $venv" has_venv
  needs g++ "compiles ccbench's own cores" has_cxx
  needs python3-dev "ccbench's own cores are compiled with Python's header files" has_python_headers
  if [ -z "$extras" ] && has_kernels; then return; fi
  needs gcc "compiles the virtual kernel" have gcc
  needs libc6-dev "C library that the virtual kernel and its init are linked with" has_static_libc
  needs make "runs the kernel's build" have make
  needs flex "the kernel's build generates parsers with it" have flex
  needs bison "the kernel's build generates parsers with it" have bison
  needs bc "the kernel's build computes its time constants with it" have bc
  if [ "$of_tests" = tests ]; then needs git "applies patches of Linux" have git; fi
}

# Only tests of the report need a browser, which not every distribution has as a package: without it,
# those tests are skipped.
lacks_browser() {
  ! { { have chromium || have chromium-browser || have google-chrome; } && have chromedriver; } &&
    apt-cache show chromium-driver >/dev/null 2>&1
}

# `ccbench kernel build` downloads the kernel's source as a package, which apt must list.
knows_kernel_source() { [ -n "$(apt-cache --names-only search '^linux-source-[0-9.]+$' 2>/dev/null)" ]; }

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
  stop "this is $(uname -s) on $(uname -m); the virtual kernel needs Linux on x86-64"

if has_kernels; then say "the virtual kernels are those of ccbench-kernel in $venv"; fi
check_system
if [ "$(id -u)" -eq 0 ] && have apt-get; then
  if [ ${#missing[@]} -gt 0 ] || ! { has_kernels || knows_kernel_source; }; then
    say "updating apt's package lists"
    apt-get -q update
  fi
  if [ ${#missing[@]} -gt 0 ]; then
    say "installing ${missing[*]}"
    apt_install "${missing[@]}"
    check_system
    [ ${#missing[@]} -eq 0 ] || stop "still missing after the installation: ${missing[*]}"
  fi
  if [ "$of_tests" = tests ] && lacks_browser; then
    say "installing chromium and chromium-driver (the tests look at the report)"
    apt_install chromium chromium-driver ||
      say "they cannot be installed: the tests in a browser will be skipped"
  fi
  if [ "$of_tests" = tests ] && ! have ethtool; then
    say "installing ethtool (the tests of the engine bess need it)"
    apt_install ethtool ||
      say "it cannot be installed: these tests will be skipped"
  fi
  if [ "$of_tests" = tests ] && ! { have nginx && have h2load && have openssl; }; then
    say "installing nginx-light, nghttp2-client and openssl (tests classify real web servers)"
    apt_install nginx-light nghttp2-client openssl ||
      say "they cannot be installed: these tests will be skipped"
  fi
  if [ "$of_tests" = tests ] && ! { have iperf3 && have gtlsclient && have gtlsserver; }; then
    say "installing iperf3, ngtcp2-client and ngtcp2-server (tests run them on the virtual kernel)"
    apt_install iperf3 ngtcp2-client ngtcp2-server ||
      say "they cannot be installed: these tests will be skipped"
  fi
  if [ "$of_tests" = tests ] && ! ls /usr/src/linux-headers-*/Module.symvers >/dev/null 2>&1; then
    say "installing kernel headers (a test compiles modules for ordinary kernels)"
    apt_install linux-headers-amd64 ||
      apt_install linux-headers-generic ||
      say "they cannot be installed: this test will be skipped"
  fi
  if [ "$of_tests" = tests ] && ! have mm-link; then
    say "installing Mahimahi (the tests run scenarios on it)"
    scripts/mahimahi.sh || say "it cannot be installed: the tests of the engine mahimahi will be skipped"
  fi
elif [ ${#missing[@]} -gt 0 ]; then
  stop "run this once, then try again:  sudo apt-get update && sudo apt-get install -y ${missing[*]}"
fi

python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  stop "$(python3 --version) is too old: ccbench needs Python 3.10 or newer"

# Installation takes a while: repeated only when dependencies, compiled cores or packages change. An
# editable installation has the package folders of its creation.
packages=$(find ccbench -name __pycache__ -prune -o -type d -print | sort | cksum)
wanted="$(find native -type f -print0 | sort -z | xargs -0 cat pyproject.toml | cksum) $packages [$extras]"
stamp=$venv/.ccbench-installed
installed=$(cat "$stamp" 2>/dev/null || true)
# A development installation is also one for use.
if [ "$installed" != "$wanted" ] && [ "$installed" != "${wanted/"[]"/[dev]}" ]; then
  if ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
    say "creating the virtual environment $venv"
    python3 -m venv --clear "$venv"
  fi
  say "installing ccbench and the Python packages it needs into $venv (a minute or two)"
  # For developers, compiler warnings are errors.
  SKBUILD_CMAKE_DEFINE="CCBENCH_WERROR=${extras:+ON}" \
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".${extras:+[$extras]}"
  printf '%s' "$wanted" >"$stamp"
  say "done; to use ccbench:  . $venv/bin/activate && ccbench kernel build && ccbench doctor"
fi
