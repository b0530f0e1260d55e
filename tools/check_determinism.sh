#!/bin/sh
# The same scenarios give the same hashes whatever built them: gcc and clang, -O0 and -O3.
# check_determinism.sh ROOT FLAG...   the flags are those that decide about floating point
# Takes two cores for about 20 s. Without one of the compilers the other's levels are compared.
set -eu
cd "$1"
shift
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
packages='libcjson openblas gsl yajl'
echo '#define GS_TEST_SOURCE_DIR "."' >"$out/place.h"
# shellcheck disable=SC2086 # a list
flags="-std=c17 -D_POSIX_C_SOURCE=200809L -I. -include $out/place.h $* $(pkg-config --cflags $packages)"
# shellcheck disable=SC2086 # a list
libraries="$(pkg-config --libs $packages) -lsqlite3 -lz -lpthread -lm"
sources=$(find base strategies models traces sim -name '*.c' ! -path 'models/cuda/*')

# build COMPILER: both levels, each run once; the lines go to COMPILER-LEVEL.txt.
build() {
    for level in O0 O3; do
        # shellcheck disable=SC2086 # lists
        "$1" $flags "-$level" $sources tests/small_job.c tests/determinism/main.c \
            -o "$out/$1-$level" $libraries || return 1
        "$out/$1-$level" >"$out/$1-$level.txt" || return 1
    done
}

jobs=''
for compiler in gcc clang; do
    if command -v "$compiler" >/dev/null 2>&1; then
        build "$compiler" &
        jobs="$jobs $!"
    else
        echo "determinism: $compiler is not installed, NOT COMPARED" >&2
    fi
done
for job in $jobs; do
    wait "$job"
done

first=''
for lines in "$out"/*.txt; do
    if [ -z "$first" ]; then
        first=$lines
        cat "$first"
        # Runs that differ must have hashes that differ, or equality says nothing.
        if [ "$(wc -l <"$first")" -ne "$(cut -d' ' -f3 "$first" | sort -u | wc -l)" ]; then
            echo "determinism: different scenarios have one hash" >&2
            exit 1
        fi
    elif ! diff "$first" "$lines"; then
        echo "determinism: $(basename "$first" .txt) and $(basename "$lines" .txt) differ" >&2
        exit 1
    fi
done
