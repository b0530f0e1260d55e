#!/bin/sh
# Gate "format": clang-format 14 would change nothing. check_format.sh ROOT
# Another version formats other lines, so without 14 the gate is skipped (exit 77).
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cd "$1"
for program in clang-format-14 clang-format ''; do
    if [ -z "$program" ]; then
        echo "format: SKIPPED, clang-format 14 is not installed (Debian package clang-format)" >&2
        exit 77
    fi
    case $("$program" --version 2>/dev/null || true) in
    *'version 14.'*) break ;;
    esac
done
# shellcheck disable=SC2046 # file names of this project have no spaces
"$program" --dry-run -Werror $("$here/tracked.sh" . '*.c' '*.h')
