#!/bin/sh
# Gate "shell": shellcheck finds nothing in the scripts. check_shell.sh ROOT
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cd "$1"
if ! command -v shellcheck >/dev/null 2>&1; then
    echo "shell: SKIPPED, shellcheck is not installed" >&2
    exit 77
fi
# shellcheck disable=SC2046 # file names of this project have no spaces
shellcheck -x $("$here/tracked.sh" . '*.sh' '.ci/*')
