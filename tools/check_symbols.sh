#!/bin/sh
# Gates over the symbols of the built libraries:
#   check_symbols.sh purity LIST libgs_strategies.a libgs_base.a   refers to what LIST allows only
#   check_symbols.sh prefix LIST ARCHIVE...                        defines gs_ symbols only
#   check_symbols.sh hook   LIST ARCHIVE...                        refers to nothing LIST denies
#   check_symbols.sh shared LIST libgradsync_hook.so               shows and needs what LIST allows only
# Instrumented libraries (sanitizers, coverage, fuzzing) refer to their runtime: skipped, exit 77.
set -eu
gate=$1
list=$2
shift 2
dynamic=
if [ "$gate" = shared ]; then dynamic=-D; fi

# Symbols of archives, one a line: $1 is U (undefined) or D (defined globals).
symbols() {
    kind=$1
    shift
    case $kind in
    U) nm $dynamic -u "$@" | awk 'NF == 2 { print $2 }' ;;
    D) nm $dynamic -g --defined-only "$@" | awk 'NF == 3 { print $3 }' ;;
    esac | sed 's/@.*//' | sort -u
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
    symbols D "$@" | grep -vE '^(gs|gradsync_hook)_' | refuse "a global symbol without the prefix gs_"
    ;;
hook)
    symbols U "$@" | grep -E "$(pattern deny hook)" |
        refuse "base and strategies must not need it, the hook library takes them ($list)"
    ;;
shared)
    {
        symbols D "$@" | grep -v '^gradsync_hook_' |
            refuse "the hook library shows gradsync_hook_ symbols only"
    } && {
        symbols U "$@" | grep -vE "$(pattern allow strategies)|$(pattern allow shared)" |
            refuse "the hook library may not refer to it ($list)"
    }
    ;;
*)
    echo "unknown gate $gate: purity, prefix, hook or shared" >&2
    exit 2
    ;;
esac
