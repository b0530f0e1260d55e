#!/bin/sh
# Gate "headers alone": each header compiles as the only include of a file, and twice in a row.
# check_headers.sh ROOT COMPILER [FLAG...]
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cd "$1"
compiler=$2
shift 2
failed=0
for header in $("$here/tracked.sh" . '*.h'); do
    printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
        "$compiler" -std=c17 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -fsyntax-only \
            -DGS_TEST_SOURCE_DIR='"."' -I. "$@" -x c - || {
        echo "$header: does not compile alone" >&2
        failed=1
    }
done
exit $failed
