#!/bin/sh
# All ranks of the example make as many averages, enough of them, and learn:
# mpi_loop.sh RANKS PROGRAM LAUNCHER...
set -eu
ranks=$1
program=$2
shift 2
"$@" -n "$ranks" "$program" | awk -v ranks="$ranks" '
    { print }
    !/^[0-9]+ averages, loss [0-9.]+$/ { bad = "prints something else" }
    NR > 1 && $1 != averages { bad = "averages on its own" }
    { averages = $1 }
    $1 < 7 { bad = "waits for longer than the longest period" } # 500 / 64
    $4 > 0.4 { bad = "does not learn: log 2 is the loss of a model of zeros" } # 0.69
    END {
        if (NR != ranks) bad = NR " ranks print"
        if (bad != "") { print "a rank " bad; exit 1 }
    }'
