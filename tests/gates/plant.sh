#!/bin/sh
# A gate that cannot fail is a defect: each gate passes over a small clean tree, and names what is
# planted there, one violation at a time. plant.sh TOOLS-DIR GATE [COMPILER]
set -u
tools=$1
gate=$2
compiler=${3:-cc}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0
planted=0

# The gate over the tree; output in $tree.log, so that it is no part of the tree.
run() {
    case $gate in
    headers) sh "$tools/check_headers.sh" "$tree" "$compiler" ;;
    purity) sh "$tools/check_symbols.sh" purity "$tools/symbols.txt" "$tree/lib.a" "$tree/base.a" ;;
    shared)
        "$compiler" -shared -o "$tree/lib.so" -Wl,--whole-archive "$tree/lib.a" -Wl,--no-whole-archive &&
            sh "$tools/check_symbols.sh" shared "$tools/symbols.txt" "$tree/lib.so"
        ;;
    prefix | hook) sh "$tools/check_symbols.sh" "$gate" "$tools/symbols.txt" "$tree/lib.a" ;;
    *) sh "$tools/check_$gate.sh" "$tree" ;;
    esac >"$tree/log" 2>&1
}

# An archive from C on standard input.
archive() {
    rm -f "$tree/$1.a"
    "$compiler" -std=c17 -O1 -fPIC -x c -c -o "$tree/$1.o" - && ar rc "$tree/$1.a" "$tree/$1.o"
}

# The library with one reference to the symbol $1, of a function $2. The name goes by an assembler label, since
# compilers know the types of malloc and log.
refer_to() {
    archive lib <<END
extern char planted[] __asm__("$1");
char *${2:-gs_a}(void);
char *${2:-gs_a}(void)
{
    return planted;
}
END
}

clean_library() {
    if [ "$gate" = shared ]; then
        printf 'double gradsync_hook_a(void);\ndouble gradsync_hook_a(void)\n{\n    return 1;\n}\n' | archive lib
        return
    fi
    printf 'int gs_base(void);\nint gs_base(void)\n{\n    return 1;\n}\n' | archive base
    cat <<'END' | archive lib
#include <string.h>
int gs_base(void);
int gs_lib(char *a, const char *b, unsigned long n);
int gs_lib(char *a, const char *b, unsigned long n)
{
    memcpy(a, b, n);
    return gs_base();
}
END
}

clean_tree() {
    case $gate in purity | prefix | hook | shared)
        if [ ! -f "$tree/lib.a" ]; then clean_library; fi
        return
        ;;
    esac
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/base" "$tree/strategies" "$tree/models" "$tree/sim" "$tree/live" "$tree/tools"
    cp "$tools/layers.txt" "$tools/includers.txt" "$tree/tools/"
    cp "$tools/../.clang-format" "$tree/"
    cat >"$tree/base/clean.h" <<'END'
#ifndef GS_BASE_CLEAN_H
#define GS_BASE_CLEAN_H

int gs_clean(int value);

#endif
END
    echo '#!/bin/sh' >"$tree/tools/clean.sh"
    cat >"$tree/base/clean.c" <<'END'
#include "base/clean.h"

int gs_clean(int value)
{
    return value + 1; /* TODO #12: an issue has a number */
}
END
}

# expect NAME TEXT: the gate fails over the tree as it is now and says TEXT; then the tree is clean
# (a library stays until the next one takes its place).
expect() {
    planted=$((planted + 1))
    if run; then
        echo "$gate: did not catch $1"
        failed=1
    elif ! grep -qF -- "$2" "$tree/log"; then
        echo "$gate: failed over $1, but did not say \"$2\":"
        cat "$tree/log"
        failed=1
    fi
    clean_tree
}

# A function of $1 lines, written to $2.
long_function() {
    {
        printf 'int gs_long(void);\n\nint gs_long(void)\n{\n'
        i=4
        while [ "$i" -le "$1" ]; do
            echo '    ;'
            i=$((i + 1))
        done
        echo '}'
    } >"$2"
}

clean_tree
run
case $? in
0) ;;
77)
    cat "$tree/log"
    exit 77
    ;;
*)
    echo "$gate: fails over a clean tree:"
    cat "$tree/log"
    exit 1
    ;;
esac

case $gate in
layers)
    echo '#include "sim/x.h"' >>"$tree/live/a.c"
    expect 'live reading sim' 'live/a.c:1: live may not include "sim/x.h"'
    echo '# include  "live/x.h"' >>"$tree/sim/a.c"
    expect 'sim reading live' 'sim/a.c:1: sim may not include "live/x.h"'
    echo '#include "models/x.h"' >>"$tree/strategies/a.h"
    expect 'strategies reading models' 'strategies/a.h:1: strategies may not include "models/x.h"'
    echo '#include "strategies/x.def"' >>"$tree/models/a.c"
    expect 'models reading strategies' 'models/a.c:1: models may not include "strategies/x.def"'
    echo '#include "strategies/x.h"' >>"$tree/base/a.c"
    expect 'an arrow up' 'base/a.c:1: base may not include "strategies/x.h"'
    echo '#include "../base/clean.h"' >>"$tree/sim/a.c"
    expect 'a relative include' 'sim/a.c:1: relative include "../base/clean.h"'
    echo '#include "sim/../base/clean.h"' >>"$tree/sim/a.c"
    expect 'a detour' 'sim/a.c:1: relative include'
    echo '#include "clean.h"' >>"$tree/base/a.c"
    expect 'a room-less include' 'base/a.c:1: include without a room "clean.h"'
    echo '#include <base/clean.h>' >>"$tree/base/a.c"
    expect 'angle brackets' 'base/a.c:1: own header in angle brackets'
    sed -i 's/^base:/base: strategies/' "$tree/tools/layers.txt"
    expect 'a cycle of rooms' 'layers.txt:3: base names strategies, which is not declared above'
    ;;
format)
    echo 'int  gs_two_spaces(void);' >>"$tree/base/a.h"
    expect 'two spaces' 'base/a.h:1:4'
    ;;
headers)
    echo 'int gs_a(size_t count);' >>"$tree/base/a.h"
    expect 'a missing include' 'base/a.h: does not compile alone'
    echo 'typedef struct { int a; } gs_a;' >>"$tree/base/a.h"
    expect 'a missing guard' 'base/a.h: does not compile alone'
    ;;
includers)
    for header in sqlite3.h cjson/cJSON.h cblas.h openblas/cblas.h yajl/yajl_parse.h zlib.h \
        xxhash.h Random123/philox.h gsl/gsl_cdf.h mpi.h nccl.h cuda_runtime.h; do
        echo "#include <$header>" >>"$tree/sim/a.c"
        expect "$header" "sim/a.c:1: includes <$header>"
    done
    ;;
words)
    echo '/* TODO: some day */' >>"$tree/base/a.c"
    expect 'a TODO' 'base/a.c:1: TODO without an issue number'
    echo '    printf("hello");' >>"$tree/base/a.c"
    expect 'printf' 'base/a.c:1: a library prints'
    echo '    fputs("hello", stderr);' >>"$tree/sim/a.c"
    expect 'stderr' 'sim/a.c:1: a library prints'
    echo 'extern int gs_a;' >>"$tree/base/a.c"
    expect 'extern' 'base/a.c:1: extern in a .c file'
    long_function 70 "$tree/base/a.c"
    run || {
        echo "words: refuses a function of 70 lines:"
        cat "$tree/log"
        failed=1
    }
    long_function 71 "$tree/base/a.c"
    expect 'a function of 71 lines' 'base/a.c:3: 71 lines in a function'
    yes 'int gs_a(void);' | head -n 801 >"$tree/base/a.h"
    expect 'a file of 801 lines' 'base/a.h: 801 lines'
    # Split, so that this file does not hold such a path.
    printf '/* see %s */\n' "/ro""ot/notes" >>"$tree/base/a.c"
    expect 'a path of one machine' 'base/a.c:1:'
    ;;
shell)
    # shellcheck disable=SC2016 # the violation is the unquoted variable
    echo 'rm $1' >>"$tree/tools/clean.sh"
    expect 'an unquoted variable' 'tools/clean.sh'
    ;;
purity)
    for name in malloc time fopen pthread_self rand getenv clock_gettime gs_elsewhere MPI_Send log; do
        refer_to "$name"
        expect "$name" "$name: strategies may not refer to it"
    done
    ;;
prefix)
    printf 'int leaked(void);\nint leaked(void)\n{\n    return 1;\n}\n' | archive lib
    expect 'a name without prefix' 'leaked: a global symbol without the prefix'
    ;;
hook)
    for name in gsl_cdf_gaussian_P MPI_Send cudaMalloc cuInit ncclSend sqlite3_open; do
        refer_to "$name"
        expect "$name" "$name: base and strategies must not need it"
    done
    ;;
shared)
    for name in malloc time fopen log pthread_self gs_elsewhere MPI_Send; do
        refer_to "$name" gradsync_hook_a
        expect "$name" "$name: the hook library may not refer to it"
    done
    printf 'int leaked(void);\nint leaked(void)\n{\n    return 1;\n}\n' | archive lib
    expect 'a name of its own' 'leaked: the hook library shows gradsync_hook_ symbols only'
    ;;
*)
    echo "no violations are known for $gate"
    exit 1
    ;;
esac
echo "$gate: $planted planted violations"
if [ "$planted" -eq 0 ]; then failed=1; fi
exit "$failed"
