#!/usr/bin/env bash
# Installs the Debian packages that the test cluster and the demo use, and says nothing when all of them are there.
# Where it may not install (no root, no Debian) it names what is missing and how to get it, and lets go on what can.
set -euo pipefail

# What each package is wanted for. A program that came another way (Docker's containerd.io, say) is as good, and
# installing Debian's over it could remove it: so look for the program, not for the package.
wanted=(
  nftables:nft
  iptables:iptables
  iproute2:ip
  containerd:containerd
  runc:runc
  containernetworking-plugins:/usr/lib/cni/ptp
  buildah:buildah
  conntrack:conntrack
  keepalived:keepalived
  strace:strace
  curl:curl
  chromium:chromium
  mount:mount
)
PATH=$PATH:/usr/sbin:/sbin # not on everyone's path, and half of these live there

missing=()
for pair in "${wanted[@]}"; do
  command -v "${pair#*:}" >/dev/null || missing+=("${pair%%:*}")
done
((${#missing[@]})) || exit 0

say() { echo "deps: $*" >&2; }
install=(apt-get install --yes --no-install-recommends --no-remove)

if ! command -v apt-get >/dev/null; then
  say "missing: ${missing[*]} (Debian's names), and there is no apt-get to install them with."
  say "Tests that need them are skipped. On Debian: ${install[*]} ${missing[*]}"
  exit 0
fi
if ((EUID != 0)); then
  say "missing: ${missing[*]}. Tests that need them are skipped. To install them:"
  say "  sudo apt-get update && sudo ${install[*]} ${missing[*]}"
  exit 0
fi

scratch=$(mktemp -d)
policy=/usr/sbin/policy-rc.d
placed=
cleanup() {
  rm -rf "$scratch"
  [[ -z $placed ]] || rm -f "$policy"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# containerd's package starts a service, but each test cluster starts a containerd of its own. A policy that is
# there already is its owner's, and stays.
if [[ ! -e $policy ]]; then
  placed=yes
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 0755 "$policy"
fi

run() {
  DEBIAN_FRONTEND=noninteractive "$@" -q -o DPkg::Lock::Timeout=300 </dev/null >>"$scratch/log" 2>&1
}
say "installing ${missing[*]}"
# Lists may be empty or old. Without a network they may still do, so let the installation decide.
run apt-get update || true
if ! run "${install[@]}" "${missing[@]}"; then
  cat "$scratch/log" >&2
  say "could not install ${missing[*]}; the lines above say why. By hand: apt-get update && ${install[*]} ${missing[*]}"
  exit 1
fi
