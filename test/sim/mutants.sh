#!/usr/bin/env bash
# Breaks the code on purpose, once for each patch in a folder, in a copy of the tree, and sees whether random histories notice.
#
#   mutants.sh [FOLDER]   test/sim/mutants: the simulation; reconciler/addresses/mutants: the histories of gateways;
#                         reconciler/gatewayapi/line/mutants: those of Gateways with listeners and routes, and histories of decisions
#                         reconciler/gatewayapi/allocate/mutants: those of the allocator
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${1:-test/sim/mutants}
histories=${HISTORIES:-10000}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
play() {
  cd "$copy/tree"
  case $folder in
    reconciler/addresses/*) go test -count=1 -timeout 0 ./reconciler/addresses -run TestPromises -rapid.checks="$histories" -rapid.nofailfile 2>&1 ;;
    reconciler/gatewayapi/allocate/*)
      go test -count=1 -timeout 0 ./reconciler/gatewayapi/allocate -run TestPromises -rapid.checks="$histories" -rapid.shrinktime=5s -rapid.nofailfile 2>&1
      ;;
    reconciler/gatewayapi/*)
      go test -count=1 -timeout 0 ./reconciler/gatewayapi/line -run TestPromises -rapid.checks="$histories" -rapid.shrinktime=5s -rapid.nofailfile 2>&1 &&
        go test -count=1 -timeout 0 ./reconciler/numbers/plan -run 'TestHistories$' -rapid.checks="$histories" -rapid.shrinktime=5s -rapid.nofailfile 2>&1
      ;;
    *) go test -count=1 -timeout 0 ./test/sim -run 'TestSim$|Seeds|Leader' -args -histories="$histories" -tries=0 2>&1 ;;
  esac
}
tree() {
  rm -rf "$copy/tree"
  mkdir "$copy/tree"
  cp -r go.mod go.sum internal reconciler validation certs webhook balancer test "$copy/tree"
}
tree
if ! out=$(play); then
  echo "the code breaks a promise as it is, before anything is broken on purpose:"
  tail -n 40 <<<"$out"
  exit 1
fi
missed=0
for patch in "$folder"/${MUTANT:-*}.patch; do
  name=$(basename "$patch" .patch)
  tree
  (cd "$copy/tree" && git apply) <"$patch"
  if out=$(play); then
    echo "$name: NOT CAUGHT in $histories histories"
    missed=1
    continue
  fi
  told=$(grep -E -m1 '^ +(one owner|it stays|claims|freeze|all or nothing|bounds|addresses|admission|backends|not ours, not touched|harm|quiet|at rest|seat|mux|gateway|listeners|routes|statuses|(reserve|publish|settle):|(hide|show) [^ ]+:|[^ ]+ is refused, though)( |\b)' <<<"$out" || true)
  if [[ -z $told ]]; then
    echo "$name: no promise was broken, but:"
    head -n 5 <<<"$out"
    missed=1
    continue
  fi
  echo "$name: caught: $(sed 's/^ *//' <<<"$told" | cut -c1-140)"
done
exit $missed
