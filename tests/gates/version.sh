#!/bin/sh
# version.sh CMAKE SOURCE: builds of one commit that differ by their sanitizers alone differ in the line that
# --version prints and recordings hold.
set -eu
cmake=$1
source=$2
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
build_type() {
    "$cmake" "-DOUT=$made/gs_version.h" -DVERSION=1.2.3 "-DSOURCE=$source" -DTYPE=Debug "-DSANITIZE=$1" \
        -P "$source/cmake/version.cmake"
    sed -n 's/^#define GS_BUILD_TYPE //p' "$made/gs_version.h"
}
expect() {
    got=$(build_type "$1")
    test "$got" = "$2" || {
        echo "sanitizers \"$1\": the build type is $got, and $2 was expected" >&2
        exit 1
    }
}
expect '' '"Debug"'
expect address,undefined '"Debug, sanitizers address,undefined"'
expect thread '"Debug, sanitizers thread"'
