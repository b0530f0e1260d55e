#!/bin/sh
# Checks the test bed itself: check_bed.sh wire openmpi|mpich, schedule, cleanup, or two. It needs
# root and some seconds without other load; 77, with the reason, where the machine lacks something.
# shellcheck disable=SC2317 # functions are called by name, through check and trap
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d)
a=check${$}a
b=check${$}b
failed=0

bed() {
    name=$1
    shift
    sh "$here/bed.sh" --bed "$name" "$@"
}
cleanup() {
    bed "$a" down
    bed "$b" down
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

check() { # what, then a command that must hold
    what=$1
    shift
    if "$@"; then
        echo "ok: $what"
    else
        echo "FAILED: $what"
        failed=1
    fi
}
fails() { ! "$@"; }

# Polls for up to ten seconds.
soon() { # command...
    for _ in $(seq 100); do
        if "$@"; then return 0; fi
        sleep 0.1
    done
    return 1
}

build_wire() { # openmpi|mpich
    for compiler in "mpicc.$1" mpicc; do
        if command -v "$compiler" >/dev/null; then
            # gcc 12 warns of MPICH's own constant for "no statuses".
            "$compiler" -std=gnu17 -O2 -Wall -Wextra -Werror -Wno-stringop-overflow \
                -o "$work/wire-$1" "$here/wire.c"
            return
        fi
    done
    echo "SKIPPED, there is no mpicc (package lib$1-dev)" >&2
    exit 77
}

# A frame of 9000 bytes carries 8948 of payload and costs 9014 on the wire.
within() { # WHAT NOMINAL_MBIT, a line of wire on standard input
    awk -v nominal="$2" -v what="$1" '
    /^bytes / {
        error = $6 / (0.992 * nominal) - 1
        printf "%-45s %9.3f Mbit/s of %.1f: %+.2f %%\n", what, $6, nominal, 100 * error
        good = error > -0.02 && error < 0.02
    }
    END { exit !good }'
}

measure() { # BED MPI NOMINAL_MBIT, then words for wire
    on=$1 mpi=$2 nominal=$3
    shift 3
    bed "$on" run --mpi "$mpi" -- "$work/wire-$mpi" "$@" >"$work/said" 2>"$work/errors" || {
        code=$?
        cat "$work/errors"
        [ $code -ne 77 ] || exit 77
        return 1
    }
    within "$mpi, $*" "$nominal" <"$work/said"
}

check_wire() { # openmpi|mpich
    build_wire "$1"
    bed "$a" up 4 200mbit
    check 'a message of 256 KiB has the rate of the card' measure "$a" "$1" 200 stream 262144 31
    check 'a message of 2 MiB has it' measure "$a" "$1" 200 stream 2097152 11
    check 'three senders share the card of one receiver' measure "$a" "$1" 200 incast 2097152 11
    bed "$a" rate 0 50mbit
    check 'a slower sender is as slow as its card' measure "$a" "$1" 50 stream 524288 15
    bed "$a" rate 0 200mbit
    bed "$a" rate 1 100mbit
    check 'a slower receiver is as slow as its card' measure "$a" "$1" 100 stream 1048576 15
    bed "$a" rate all 200mbit
    check 'what was slow has its rate again' measure "$a" "$1" 200 stream 2097152 11
}

rate_is() { # HOST RATE, on both sides of the card
    tc -n "gsbed-$a-$1" qdisc show dev eth0 | grep -q " rate $2 " &&
        tc -n "gsbed-$a-switch" qdisc show dev "port$1" | grep -q " rate $2 "
}

sleep_to() { # UNIX_SECONDS SECONDS
    sleep "$(awk -v now="$(date +%s.%N)" -v to="$2" -v from="$1" \
        'BEGIN { left = from + to - now; print (left > 0 ? left : 0) }')"
}

no_changers() { [ -z "$(ip netns pids "gsbed-$a-0")$(ip netns pids "gsbed-$a-switch")" ]; }

check_schedule() {
    bed "$a" up 2 200mbit
    start=$(date +%s)
    printf '# both ways\nat 0.5 1 50mbit\nat 1 all 100mbit\nrepeat 1.5\n' >"$work/rates"
    sh "$here/bed.sh" --bed "$a" schedule --start "$((start + 1))" "$work/rates" &
    schedule=$!
    sleep_to "$start" 1.3
    check 'nothing changes before its time' rate_is 1 200Mbit
    sleep_to "$start" 1.75
    check 'one host changes at its time' rate_is 1 50Mbit
    check 'and no other' rate_is 0 200Mbit
    sleep_to "$start" 2.25
    check 'all hosts change' rate_is 0 100Mbit
    check 'also those that had changed' rate_is 1 100Mbit
    sleep_to "$start" 3.25
    check 'and it starts again' rate_is 1 50Mbit
    kill $schedule
    wait $schedule || true
    check 'it takes its helpers along' soon no_changers

    start=$(date +%s)
    printf 'at 0 all 200mbit\nat 0.5 all 50mbit\n' >"$work/rates"
    (
        echo "$start"
        sleep_to "$start" 1.25
        rate_is 0 50Mbit && : >"$work/first_played"
        echo "$((start + 2))"
        sleep_to "$start" 2.25
        rate_is 0 200Mbit && : >"$work/second_began"
        sleep_to "$start" 2.75
        rate_is 0 50Mbit && : >"$work/second_played"
    ) | bed "$a" schedule --each "$work/rates"
    check 'each line plays it' test -e "$work/first_played"
    check 'the next one anew' test -e "$work/second_began" -a -e "$work/second_played"
    check 'until the lines end' soon no_changers
    for wrong in 'at 1 2 50mbit' 'at 1 0 50' 'at 1 0 50mbit x' 'at x 0 50mbit' 'repeat 0' '# none'; do
        echo "$wrong" >"$work/rates"
        check "\"$wrong\" is refused" fails bed "$a" schedule "$work/rates"
    done
    printf 'at 2 0 50mbit\nat 1 0 50mbit\n' >"$work/rates"
    check 'times that fall are refused' fails bed "$a" schedule "$work/rates"
}

processes_of() { # BED: those that run started, wherever they are now
    for environment in /proc/[0-9]*/environ; do
        if grep -qz "^GSBED_RUN=$1\$" "$environment" 2>/dev/null; then echo "$environment"; fi
    done
}
no_ranks() { [ -z "$(processes_of "$a")" ]; }
nothing_left() {
    no_ranks && [ ! -e "/run/gsbed-$a" ] && ! ip netns list | grep -q "^gsbed-$a-"
}
ranks_ready() { [ -s "$work/ready.0" ] && [ -s "$work/ready.1" ]; }

check_lost_rank() { # openmpi|mpich
    rm -f "$work"/ready.*
    bed "$a" run --mpi "$1" -- "$work/wire-$1" ready "$work/ready" >/dev/null 2>&1 &
    run=$!
    check "$1: ranks start" soon ranks_ready
    kill -KILL "$(cat "$work/ready.1")"
    code=0
    wait $run || code=$?
    check "$1: a killed rank ends the run with an error" test $code -ne 0 -a $code -ne 77
    check "$1: and leaves no rank" no_ranks
}

check_cleanup() {
    build_wire openmpi
    build_wire mpich
    bed "$a" up 2 100mbit
    check 'a second bed of one name is refused' fails bed "$a" up 2 100mbit
    check_lost_rank openmpi
    check_lost_rank mpich

    for signal in TERM KILL; do
        rm -f "$work"/ready.*
        sh "$here/bed.sh" --bed "$a" run -- "$work/wire-openmpi" ready "$work/ready" >/dev/null 2>&1 &
        run=$!
        check "ranks start before $signal" soon ranks_ready
        kill -$signal $run
        wait $run 2>/dev/null || true
        if [ $signal = TERM ]; then check 'a run that ends by TERM leaves no rank' no_ranks; fi
    done
    check 'a run that was killed leaves ranks' fails no_ranks
    bed "$a" down
    check 'which go with the bed, as all of it does' nothing_left
    check 'what is down can be taken down' bed "$a" down

    sh "$here/bed.sh" --bed "$a" up 64 100mbit &
    up=$!
    soon test -e "/run/gsbed-$a"
    sleep 0.3
    kill -TERM $up
    code=0
    wait $up || code=$?
    check 'a half made bed goes at TERM' nothing_left
    check 'which is told' test $code -eq 143

    # shellcheck disable=SC2016 # the inner shell expands it
    sh -c 'sh "$1" --bed "$2" up --owner $$ 2 100mbit && : >"$3" && sleep 100' \
        sh "$here/bed.sh" "$a" "$work/is_up" &
    owner=$!
    check 'a bed with an owner is made' soon test -e "$work/is_up"
    check 'and is there while its owner is' test -e "/run/gsbed-$a"
    kill -KILL $owner
    wait $owner 2>/dev/null || true
    check 'and goes when that is killed' soon nothing_left
}

check_two() {
    build_wire openmpi
    bed "$a" up 2 100mbit
    bed "$b" up 2 50mbit
    measure "$b" openmpi 50 stream 1048576 9 >"$work/second" &
    second=$!
    # Each in a file of its own: measure writes its others into the work folder.
    bed "$a" run -- "$work/wire-openmpi" stream 1048576 15 2>/dev/null >"$work/first"
    code=0
    wait $second || code=$?
    cat "$work/second"
    check 'the second of two beds has its rate' test $code -eq 0
    check 'and so has the first' within 'first bed' 100 <"$work/first"
    bed "$a" down
    check 'one is there when the other has gone' measure "$b" openmpi 50 stream 1048576 5
}

case ${1:-} in
wire) check_wire "$2" ;;
schedule) check_schedule ;;
cleanup) check_cleanup ;;
two) check_two ;;
*)
    echo "usage: check_bed.sh wire openmpi|mpich, schedule, cleanup or two" >&2
    exit 2
    ;;
esac
exit $failed
