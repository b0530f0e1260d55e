#!/bin/sh
# Gate "one includer": each library is included by its listed files only (tools/includers.txt).
# check_includers.sh ROOT
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cd "$1"
# shellcheck disable=SC2046 # file names of this project have no spaces
awk '
FILENAME == ARGV[1] {
    if ($0 ~ /^#/ || NF == 0) next
    pattern[++count] = $1
    for (i = 2; i <= NF; i++) allowed[count, $i] = 1
    next
}
/^[ \t]*#[ \t]*include[ \t]*[<"]/ && FILENAME !~ /^tests\// {
    split($0, quoted, /[<>"]/)
    for (i = 1; i <= count; i++) {
        if (quoted[2] ~ pattern[i] && !((i, FILENAME) in allowed)) {
            print FILENAME ":" FNR ": includes <" quoted[2] ">, which is kept to " \
                "the files of tools/includers.txt"
            failed = 1
        }
    }
}
END { exit failed }' tools/includers.txt $("$here/tracked.sh" . '*.c' '*.h')
