#!/bin/sh
# Gates over the symbols of the built libraries:
#   check_symbols.sh purity LIST libgs_strategies.a libgs_base.a   refers to what LIST allows only
#   check_symbols.sh prefix LIST ARCHIVE...                        defines gs_ symbols only
#   check_symbols.sh hook   LIST ARCHIVE...                        refers to nothing LIST denies
# Instrumented libraries (sanitizers, coverage, fuzzing) refer to their runtime: skipped, exit 77.
set -eu
gate=$1
list=$2
shift 2

# Symbols of archives, one a line: $1 is U (undefined) or D (defined globals).
symbols() {
    kind=$1
    shift
    case $kind in
    U) nm -u "$@" | awk 'NF == 2 { print $2 }' ;;
    D) nm -g --defined-only "$@" | awk 'NF == 3 { print $3 }' ;;
    esac | sort -u
}

# The entries of the list as one extended regular expression for whole symbols.
pattern() {
    awk -v kind="$1" -v what="$2:" '
        $1 == kind && $2 == what {
            for (i = 3; i <= NF; i++) {
                gsub(/\*/, ".*", $i)
                text = text (text == "" ? "" : "|") $i
            }
        }
        END { print "^(" text ")$" }' "$list"
}

refuse() { # text; symbols on standard input
    awk -v text="$1" '{ print $1 ": " text; failed = 1 } END { exit failed }'
}

for archive; do
    if [ ! -f "$archive" ]; then
        echo "$archive: not built" >&2
        exit 1
    fi
done
if symbols U "$@" | grep -qE '^__(asan|ubsan|tsan|msan|gcov|sanitizer)_|^__llvm_gcov'; then
    echo "$gate: SKIPPED, the libraries are instrumented" >&2
    exit 77
fi
if [ "$(symbols D "$@" | wc -l)" -eq 0 ]; then
    echo "$gate: no symbols in $*" >&2
    exit 1
fi

case $gate in
purity)
    defined=$(mktemp)
    trap 'rm -f "$defined"' EXIT
    symbols D "$@" >"$defined"
    symbols U "$1" | grep -vxFf "$defined" | grep -vE "$(pattern allow strategies)" |
        refuse "strategies may not refer to it ($list)"
    ;;
prefix)
    symbols D "$@" | grep -v '^gs_' | refuse "a global symbol without the prefix gs_"
    ;;
hook)
    symbols U "$@" | grep -E "$(pattern deny hook)" |
        refuse "base and strategies must not need it, the hook library takes them ($list)"
    ;;
*)
    echo "unknown gate $gate: purity, prefix or hook" >&2
    exit 2
    ;;
esac
