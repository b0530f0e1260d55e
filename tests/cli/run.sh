#!/bin/sh
# Runs one case of the command line and compares what it prints with what the case says.
#
#   run.sh PROGRAM CASE
#
# A case is a text file. Lines before the first section say what it shows. Sections start with "-- ":
#   -- needs TOOL...     skipped (77) where one is missing; "shared" is the shared test data
#   -- file NAME         a file that the commands find
#   -- run               commands for sh; the exit code is that of the last one
#   -- exit N            default 0
#   -- stdout, -- stderr what must be printed, exactly; default: nothing
#   -- stdout~, -- stderr~   the same, each line an extended regular expression
# Commands run in an empty folder with an empty environment: HOME and the XDG folders lie in it.
# DATA is tests/cli/data, SOURCE the source tree, SHARED the shared test data.
set -eu

program=$1
case_file=$2
here=$(cd "$(dirname "$0")" && pwd)
source_tree=$(cd "$here/../.." && pwd)
shared=${GRADSYNC_TEST_DATA:-$source_tree/../shared}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/case" "$work/home" "$work/bin"
ln -s "$program" "$work/bin/gradsync"

awk -v out="$work" '
    /^-- needs / { for (i = 3; i <= NF; i++) print $i > (out "/needs"); to = ""; next }
    /^-- file /  { to = out "/case/" $3; printf "" > to; next }
    /^-- exit /  { print $3 > (out "/exit"); to = ""; next }
    /^-- (run|stdout|stderr|stdout~|stderr~)$/ { to = out "/" $2; printf "" > to; next }
    /^-- /       { print "unknown section: " $0 > "/dev/stderr"; exit 1 }
    to != ""     { print > to }
' "$case_file"

if [ -f "$work/needs" ]; then
    while read -r tool; do
        if [ "$tool" = shared ]; then
            [ -d "$shared/traces" ] || { echo "skipped: no shared test data at $shared"; exit 77; }
        elif ! command -v "$tool" >/dev/null; then
            echo "skipped: no $tool"
            exit 77
        fi
    done <"$work/needs"
fi

# A fixed user must be able to read it where the test runs as root and gives that up.
chmod 755 "$work"
code=0
(cd "$work/case" && exec env -i PATH="$work/bin:$PATH" HOME="$work/home" LC_ALL=C TZ=UTC \
    XDG_STATE_HOME="$work/home/state" XDG_CONFIG_HOME="$work/home/config" \
    XDG_DATA_HOME="$work/home/data" DATA="$here/data" SOURCE="$source_tree" SHARED="$shared" \
    PROGRAM="$program" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} \
    sh "$work/run") >"$work/stdout.got" 2>"$work/stderr.got" </dev/null || code=$?

failed=0
expected=0
[ ! -f "$work/exit" ] || expected=$(cat "$work/exit")
if [ "$code" != "$expected" ]; then
    echo "exit code $code, not $expected"
    failed=1
fi

# Each line of what was printed by the pattern on the same line of the case.
match_lines() {
    bad=0
    count=0
    exec 3<"$work/$1~" 4<"$work/$1.got"
    while IFS= read -r pattern <&3; do
        count=$((count + 1))
        if ! IFS= read -r line <&4; then
            echo "$1 line $count: expected /$pattern/, got no more lines"
            bad=1
        elif ! printf '%s\n' "$line" | grep -qxE -e "$pattern"; then
            echo "$1 line $count: expected /$pattern/, got: $line"
            bad=1
        fi
    done
    if IFS= read -r line <&4; then
        echo "$1: more lines than expected, the first: $line"
        bad=1
    fi
    exec 3<&- 4<&-
    return "$bad"
}

for stream in stdout stderr; do
    if [ -f "$work/$stream~" ]; then
        match_lines "$stream" || failed=1
    else
        [ -f "$work/$stream" ] || : >"$work/$stream"
        diff -u --label "expected $stream" --label "got $stream" "$work/$stream" \
            "$work/$stream.got" || failed=1
    fi
done
if [ "$failed" = 1 ]; then
    echo "--- all of stdout"
    cat "$work/stdout.got"
    echo "--- all of stderr"
    cat "$work/stderr.got"
fi
exit "$failed"
