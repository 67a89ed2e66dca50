#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs Mahimahi, for `ccbench run --engine mahimahi`, and the recorded cellular links. As root:
#
#   scripts/mahimahi.sh
#
# Ubuntu and Debian 11 have the packages. On newer Debians apt is configured to install only these
# and their two libraries from Debian 11, now and later. Installed packages stay unchanged.
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

# The machine's own package source, with Debian 11 as the release.
know_debian_11() {
  local own=/etc/apt/sources.list.d/debian.sources
  [ -f "$own" ] || stop "there is no $own: add a source of Debian 11 (bullseye) by hand"
  say "configuring apt to install ${packages[*]} ${libraries[*]} from Debian 11"
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
