#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs Mahimahi, for `ccbench run --engine mahimahi`, and the recorded cellular links. As root:
#
#   scripts/mahimahi.sh
#
# Ubuntu and Debian 11 have the packages. Newer Debians have not: there apt is told to take these,
# and the two libraries that they need, from Debian 11, and nothing else, now or later. What is
# installed already stays as it is.
set -euo pipefail

packages=(mahimahi mahimahi-traces)
libraries=(libssl1.1 libprotobuf23)
beside=(gnuplot-nox iptables iproute2 dnsmasq-base)

say() { printf '[ccbench] %s\n' "$*"; }
stop() {
  printf '[ccbench] %s\n' "$*" >&2
  exit 1
}

knows() { LC_ALL=C apt-cache policy "$1" | grep -q 'Candidate: [^(]'; }

# The machine's own source of packages, for Debian 11 in place of its own release.
know_debian_11() {
  local own=/etc/apt/sources.list.d/debian.sources
  [ -f "$own" ] || stop "there is no $own: add a source of Debian 11 (bullseye) by hand"
  say "telling apt where Debian 11 is, for ${packages[*]} ${libraries[*]} only"
  sed '/^$/q' "$own" | sed 's/^Suites:.*/Suites: bullseye/' >/etc/apt/sources.list.d/bullseye.sources
  cat >/etc/apt/preferences.d/mahimahi <<END
Package: *
Pin: release n=bullseye
Pin-Priority: -10

Package: ${packages[*]} ${libraries[*]}
Pin: release n=bullseye
Pin-Priority: 500
END
  apt-get -q update
}

[ "$(id -u)" -eq 0 ] || stop "this installs packages: run it as root"
command -v apt-get >/dev/null || stop "this is for Debian and Ubuntu: build Mahimahi from its source"

knows mahimahi || apt-get -q update
knows mahimahi || know_debian_11
DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${packages[@]}" "${beside[@]}"
