#!/bin/sh
# What cmake installs works on its own: run.sh CMAKE BUILD-DIR
# The bundled scenarios must come from the new place, not from the source tree.
set -eu
cmake=$1
build=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export HOME="$place/home" XDG_STATE_HOME="$place/state" XDG_CONFIG_HOME="$place/config"
unset GRADSYNC_DB GRADSYNC_CONFIG || true

expect() { # text; what is searched on standard input
    if ! tee "$place/said" | grep -qF -- "$1"; then
        echo "expected: $1"
        cat "$place/said"
        exit 1
    fi
}

"$cmake" --install "$build" --prefix "$place/prefix" >"$place/log"
cd "$place"
gradsync="$place/prefix/bin/gradsync"
"$gradsync" doctor | expect "$place/prefix/bin/../share/gradsync"
"$gradsync" list scenarios | expect demo-ethernet
"$gradsync" --version | expect '(commit '
"$gradsync" sim demo-ethernet workload.budget.steps=3 evaluate.seeds=2 | expect 'allreduce:bucket=tensor'
