#!/bin/sh
# Gate "direction": a room includes only what tools/layers.txt allows. check_layers.sh ROOT
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cd "$1"
# shellcheck disable=SC2046 # file names of this project have no spaces
awk -f "$here/check_layers.awk" tools/layers.txt $("$here/tracked.sh" . '*.c' '*.h' '*.def')
