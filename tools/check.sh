#!/bin/sh
# Builds everything and runs the tests; the last line is ctest's count.
#   check.sh         installs what build and tests need, runs the tests without a label
#   check.sh --full  adds the oracles' packages and the tests with the label oracle; CI runs this
# Tests with the labels bench, long, testbed and gpu are run by hand: ctest --preset bench.
set -eu
cd "$(dirname -- "$0")/.."
sets='build test'
skipped='^(oracle|bench|long|testbed|gpu)$'
case ${1-} in
'') ;;
--full)
    sets='build test oracle'
    skipped='^(bench|long|testbed|gpu)$'
    ;;
*)
    echo "usage: sh tools/check.sh [--full]" >&2
    exit 2
    ;;
esac

. tools/packages.sh
# shellcheck disable=SC2086 # a list of sets
packages_install $sets
cmake --preset dev -DGS_CUDA=ON # compiled and linked where the toolkit is
cmake --build --preset dev --parallel 2
log=build/dev/check.log
status=0
ctest --test-dir build/dev --output-on-failure --no-tests=error --parallel 2 -LE "$skipped" \
    --output-log "$log" || status=$?
# Repeated, since lists of skipped or failed tests may have come after it.
grep -E '^[0-9]+% tests passed' "$log" || true
exit $status
