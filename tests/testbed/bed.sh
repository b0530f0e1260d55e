#!/bin/sh
# A test bed: hosts of one Linux machine, each with a network card of its own rate, as network
# namespaces around one bridge (docs/testbed.md).
#
#   bed.sh [--bed NAME] up [--owner PID] HOSTS RATE   make it; with an owner it goes when that ends
#   bed.sh [--bed NAME] rate HOST RATE                change a card: a number from 0, or "all"
#   bed.sh [--bed NAME] schedule [--start UNIX_SECONDS | --each] FILE
#   bed.sh [--bed NAME] run [--mpi openmpi|mpich] [--hosts N] [--] COMMAND...
#       one rank on each host, or on the first N; before all else where bed.sh is nice below 0
#   bed.sh [--bed NAME] down                          remove all of it, whatever state it is in
#
# RATE is what tc reads: 200mbit. A schedule has lines "at SECONDS HOST RATE", times rising, and
# may end with "repeat SECONDS": it then starts again so long after its start. With --each it starts
# anew at every line of standard input, which is that time in UNIX seconds, and ends with the input.
# Exit codes: 77, with the reason, where the machine lacks the right or a tool; of run, the ranks'.
#
# The bridge and mpirun live in a namespace of the bed too, so that nothing but the bed sees its
# addresses, links and traffic: two beds can have the same. Whatever runs in a namespace of the bed
# is the bed's, which is how down finds it.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
subnet=10.77.0
die() {
    echo "bed: $*" >&2
    exit 1
}
skip() {
    echo "bed: SKIPPED, $*" >&2
    exit 77
}

bed=main
if [ "${1:-}" = --bed ]; then
    bed=${2:-}
    shift 2 || die "--bed needs a name"
fi
case $bed in
'' | *[!a-z0-9]*) die "bed \"$bed\": a name is of a-z and 0-9" ;;
esac
# Names of network interfaces are not: those are the same in every bed. Host names are these.
prefix=gsbed-$bed
switch=$prefix-switch
state=/run/$prefix

hosts_of_bed() { # prints 0 1 2 …
    [ -f "$state/hosts" ] || die "no bed \"$bed\"; make it with: bed.sh --bed $bed up HOSTS RATE"
    seq 0 $(($(cat "$state/hosts") - 1))
}

check_rate() {
    case $1 in
    [1-9]*[kmg]bit) rate_digits=${1%[kmg]bit} ;;
    *) rate_digits=none ;;
    esac
    case $rate_digits in
    *[!0-9]*) die "rate \"$1\": say a whole number and kbit, mbit or gbit, such as 200mbit" ;;
    esac
}

check_host() {
    if [ "$1" != all ] && ! hosts_of_bed | grep -qx -- "$1"; then
        die "host \"$1\": this bed has 0 to $(hosts_of_bed | tail -1), or all"
    fi
}

# ---- up and down

# Tries everything once in a namespace without a name, which leaves nothing behind.
check_machine() {
    for tool in ip tc unshare sysctl setsid seq; do
        command -v $tool >/dev/null || skip "there is no program $tool (ip and tc: package iproute2)"
    done
    # shellcheck disable=SC2016 # the inner shell expands it
    said=$(unshare --net sh -ec '
        ip link add trial type bridge
        ip link add eth0 type veth peer name port
        tc qdisc add dev eth0 root tbf rate 1mbit burst 10k limit 64mb
        ip addr add 10.0.0.1/24 dev eth0
        ip link set eth0 gso_max_segs 1 up
        ip route replace 10.0.0.0/24 dev eth0 congctl reno initcwnd 100' 2>&1) ||
        skip "this machine cannot make one: $said"
}

processes_of_bed() { # prints the processes in its namespaces
    for space in $(namespaces_of_bed); do
        ip netns pids "$space" 2>/dev/null || true
    done
}

namespaces_of_bed() {
    ip netns list | cut -d' ' -f1 | grep -xE "$prefix-(switch|[0-9]+)" || true
}

# Kills the processes that a command prints, until it prints none: what dies may have started more.
kill_all() { # command...
    rounds=0
    while pids=$("$@") && [ -n "$pids" ]; do
        # shellcheck disable=SC2086 # one word a process; some may be gone by now
        kill -KILL $pids 2>/dev/null || true
        rounds=$((rounds + 1))
        [ $rounds -lt 100 ] || die "these processes do not end: $pids"
        sleep 0.05
    done
}

# Whether a process is a shell with this script: a number may have gone to somebody else by now.
is_ours() { # PID
    [ "$1" != $$ ] && tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" | grep -q 'bed\.sh'
}

helpers_of_bed() { # prints the shells of this bed that work outside of its namespaces
    for file in "$state"/helper.*; do
        if is_ours "${file##*.}"; then echo "${file##*.}"; fi
    done
}

down() {
    if [ -d "$state" ]; then kill_all helpers_of_bed; fi
    kill_all processes_of_bed
    for space in $(namespaces_of_bed); do
        # The cards go with their namespace, but not before the last process has left it.
        for link in $(ip -n "$space" -o link show type veth | sed 's/^[0-9]*: \([^@:]*\).*/\1/'); do
            ip -n "$space" link del "$link" 2>/dev/null || true # its other end may have taken it along
        done
        ip netns del "$space"
    done
    rm -rf "$state"
}

# Takes the bed down when a process ends, however it ends.
guard() { # PID
    : >"$state/helper.$$"
    while kill -0 "$1" 2>/dev/null; do
        [ -d "$state" ] || exit 0
        sleep 0.2
    done
    down
}

add_host() { # HOST RATE
    space=$prefix-$1
    ip netns add "$space"
    ip -n "$space" link set lo up
    ip -n "$space" link add eth0 mtu 9000 type veth peer name "port$1" mtu 9000 netns "$switch"
    ip -n "$switch" link set "port$1" gso_max_segs 1 addrgenmode none master bridge up
    # Every card carries its own frames of 9000 bytes, and none that nobody asked for (IPv6).
    ip -n "$space" link set eth0 gso_max_segs 1 addrgenmode none up
    # Out of the host, and into it: without the second a server would hear everybody at once.
    tc -n "$space" qdisc add dev eth0 root handle 1: tbf rate "$2" burst 10k limit 64mb
    tc -n "$switch" qdisc add dev "port$1" root handle 1: tbf rate "$2" burst 10k limit 64mb
    ip -n "$space" addr add "$subnet.$(($1 + 1))/24" dev eth0
    ip -n "$space" route replace "$subnet.0/24" dev eth0 src "$subnet.$(($1 + 1))" \
        congctl reno initcwnd 100 initrwnd 100
    # Small buffers: a card's rate is felt by who sends, and not a second later.
    ip netns exec "$space" sysctl -qw net.ipv4.tcp_rmem='4096 131072 262144' \
        net.ipv4.tcp_wmem='4096 65536 262144' net.ipv4.tcp_slow_start_after_idle=0 \
        net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_limit_output_bytes=131072
}

up() {
    owner=
    if [ "${1:-}" = --owner ]; then
        owner=${2:-}
        kill -0 "$owner" 2>/dev/null || die "owner \"$owner\": no such process"
        shift 2
    fi
    [ $# -eq 2 ] || die "up needs HOSTS and RATE"
    hosts=$1
    case $hosts in
    [2-9] | [1-5][0-9] | 6[0-4]) ;;
    *) die "\"$hosts\" hosts: a bed has 2 to 64" ;;
    esac
    check_rate "$2"
    check_machine
    mkdir "$state" 2>/dev/null || die "there is a bed \"$bed\" ($state); remove it with: bed.sh --bed $bed down"
    trap 'down' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    if [ -n "$owner" ]; then
        setsid sh "$here/bed.sh" --bed "$bed" guard "$owner" </dev/null >/dev/null 2>&1 &
    fi
    ip netns add "$switch" || skip "namespaces cannot be named here"
    ip -n "$switch" link set lo up
    ip -n "$switch" link add bridge type bridge
    ip -n "$switch" link set bridge mtu 9000 gso_max_segs 1 addrgenmode none up
    ip -n "$switch" addr add "$subnet.254/24" dev bridge
    for host in $(seq 0 $((hosts - 1))); do
        add_host "$host" "$2"
    done
    mkdir "$state/tmp"
    echo "$hosts" >"$state/hosts"
    trap - EXIT INT TERM HUP
}

# ---- rates

tbf_change() { # INTERFACE RATE: words for tc
    echo "qdisc change dev $1 root handle 1: tbf rate $2 burst 10k limit 64mb"
}

rate() { # HOST RATE
    [ $# -eq 2 ] || die "rate needs HOST and RATE"
    check_host "$1"
    check_rate "$2"
    for host in $(hosts_of_bed); do
        if [ "$1" = all ] || [ "$1" = "$host" ]; then
            # shellcheck disable=SC2046 # words for tc
            tc -n "$prefix-$host" $(tbf_change eth0 "$2")
            # shellcheck disable=SC2046
            tc -n "$switch" $(tbf_change "port$host" "$2")
        fi
    done
}

# Prints "NANOSECONDS HOST RATE" or "NANOSECONDS repeat" for each line; dies at one it cannot read.
read_schedule() { # FILE
    awk '
    function refuse(what) {
        print "bed: " FILENAME ":" FNR ": " what > "/dev/stderr"
        failed = 1
        exit 1
    }
    /^[ \t]*(#|$)/ { next }
    ended { refuse("\"repeat\" is the last line") }
    $2 !~ /^[0-9]+(\.[0-9]+)?$/ { refuse("say \"at SECONDS HOST RATE\" or \"repeat SECONDS\"") }
    $1 == "at" && NF == 4 && $2 >= last + 0 { printf "%.0f %s %s\n", $2 * 1e9, $3, $4; last = $2; next }
    $1 == "repeat" && NF == 2 && $2 > last + 0 { printf "%.0f repeat\n", $2 * 1e9; ended = 1; next }
    { refuse("times rise; say \"at SECONDS HOST RATE\" or \"repeat SECONDS\"") }
    ' "$1"
}

sleep_until() { # UNIX_NANOSECONDS
    left=$(($1 - $(date +%s%N)))
    if [ $left -gt 0 ]; then
        sleep "$((left / 1000000000)).$(printf '%09d' $((left % 1000000000)))"
    fi
}

# One tc for each namespace waits for lines: to start one takes longer than the change.
open_changers() {
    pipes=$state/changers.$$
    mkdir "$pipes"
    changers=
    for space in "$switch" $(hosts_of_bed | sed "s/^/$prefix-/"); do
        mkfifo "$pipes/$space"
        tc -n "$space" -batch - 0<>"$pipes/$space" &
        changers="$changers $!"
    done
}

close_changers() {
    # shellcheck disable=SC2086 # one word a process
    kill $changers 2>/dev/null || true
    rm -rf "$pipes" "$state/helper.$$"
}

change() { # HOST RATE
    # shellcheck disable=SC2086 # one word a process
    kill -0 $changers 2>/dev/null || die "tc ended"
    for host in $(hosts_of_bed); do
        if [ "$1" = all ] || [ "$1" = "$host" ]; then
            tbf_change eth0 "$2" >"$pipes/$prefix-$host"
            tbf_change "port$host" "$2" >"$pipes/$switch"
        fi
    done
}

play() { # UNIX_NANOSECONDS: the schedule in $state/schedule.$$
    start=$1
    again=yes
    while [ -n "$again" ]; do
        again=
        while read -r after_ns host rate; do
            sleep_until $((start + after_ns))
            if [ "$host" = repeat ]; then
                again=yes
                start=$((start + after_ns))
            else
                change "$host" "$rate"
            fi
        done <"$state/schedule.$$"
    done
}

nanoseconds() { # SECONDS, to the microsecond
    awk -v seconds="$1" 'BEGIN { printf "%.0f", seconds * 1e6 }'
    echo 000
}

# A player for each line of standard input; the one before it ends where it is.
play_each() {
    player=
    while read -r seconds; do
        [ -z "$player" ] || kill "$player" 2>/dev/null || true
        (
            trap - EXIT
            trap 'exit 143' TERM # after the command under way: no change stays half done
            play "$(nanoseconds "$seconds")"
        ) &
        player=$!
    done
    [ -z "$player" ] || kill "$player" 2>/dev/null || true
}

schedule() {
    start=$(date +%s%N)
    each=
    case ${1:-} in
    --start)
        start=$(nanoseconds "${2:-}")
        shift 2
        ;;
    --each)
        each=yes
        shift
        ;;
    esac
    [ $# -eq 1 ] || die "schedule needs a FILE"
    lines=$(read_schedule "$1") || exit 1
    [ -n "$lines" ] || die "$1: no line \"at SECONDS HOST RATE\""
    printf '%s\n' "$lines" >"$state/schedule.$$"
    while read -r _ host rate; do
        [ "$host" = repeat ] && continue
        check_host "$host"
        check_rate "$rate"
    done <"$state/schedule.$$"
    trap close_changers EXIT
    trap 'exit 143' INT TERM HUP
    : >"$state/helper.$$"
    open_changers
    if [ -n "$each" ]; then
        play_each
    else
        play "$start"
    fi
    # What was written last has been read once tc has gone through its pipe; it says nothing.
    sleep 0.1
}

# ---- ranks

find_launcher() { # WORD, then programs: prints the first that says the word of itself
    word=$1
    shift
    for program; do
        if "$program" --version 2>/dev/null | grep -q "$word"; then
            echo "$program"
            return
        fi
    done
    return 1
}

processes_of_runs() {
    for pid in $(processes_of_bed); do
        if grep -qz '^GSBED_RUN=' "/proc/$pid/environ" 2>/dev/null; then echo "$pid"; fi
    done
}

# Only btl tcp: shared memory would go past the network.
run_openmpi() { # HOSTS COMMAND...
    launcher=$(find_launcher 'Open MPI' mpirun.openmpi mpirun) ||
        skip "there is no mpirun of Open MPI (package openmpi-bin)"
    list=$1
    shift
    exec ip netns exec "$switch" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        "$launcher" --host "$list" --map-by ppr:1:node --bind-to none \
        --mca plm rsh --mca plm_rsh_agent "$here/agent.sh" --mca plm_rsh_no_tree_spawn 1 \
        --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include "$subnet.0/24" \
        --mca oob_tcp_if_include "$subnet.0/24" "$@"
}

# UCX without rendezvous, whose answers cost more than the copies that it saves at such rates, and
# with a library of ours, without which MPI_Finalize hangs.
run_mpich() { # HOSTS COMMAND...
    launcher=$(find_launcher HYDRA mpiexec.hydra mpiexec.mpich mpiexec) ||
        skip "there is no mpiexec of MPICH (package mpich)"
    command -v cc >/dev/null || skip "there is no C compiler cc, which MPICH's ranks need here"
    cc -shared -fPIC -o "$state/leave_ucx.so" "$here/leave_ucx.c"
    list=$1
    shift
    exec ip netns exec "$switch" env UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 MPIR_CVAR_NOLOCAL=1 \
        UCX_RNDV_THRESH=inf UCX_TCP_TX_SEG_SIZE=64k UCX_TCP_RX_SEG_SIZE=128k \
        "$launcher" -launcher rsh -launcher-exec "$here/agent.sh" -iface bridge \
        -localhost "$subnet.254" -hosts "$list" -ppn 1 -n "$count" \
        -genv LD_PRELOAD "$state/leave_ucx.so" "$@"
}

run() {
    mpi=openmpi
    count=$(hosts_of_bed | wc -l)
    while [ $# -gt 0 ]; do
        case $1 in
        --mpi) mpi=${2:-} ;;
        --hosts) count=${2:-} ;;
        *) break ;;
        esac
        shift 2 || die "$1 needs a value"
    done
    if [ "${1:-}" = -- ]; then shift; fi
    [ $# -gt 0 ] || die "run needs a COMMAND"
    hosts_of_bed | grep -qx -- "$((count - 1))" ||
        die "$count hosts: this bed has 1 to $(hosts_of_bed | wc -l)"
    case $mpi in
    openmpi) list=$(hosts_of_bed | head -n "$count" | sed "s/.*/$prefix-&:1/" | tr '\n' ',') ;;
    mpich) list=$(hosts_of_bed | head -n "$count" | sed "s/.*/$prefix-&/" | tr '\n' ',') ;;
    *) die "MPI \"$mpi\": openmpi or mpich" ;;
    esac
    if [ -f "$state/running" ] && is_ours "$(cat "$state/running")"; then
        die "bed \"$bed\" is running something already"
    fi
    prefer=
    if [ "$(nice)" -lt 0 ]; then
        command -v cc >/dev/null || skip "there is no C compiler cc, which ranks before all else need"
        prefer=$state/prefer
        cc -O2 -o "$prefer" "$here/prefer.c"
    fi
    echo $$ >"$state/running"
    kill_all processes_of_runs # of a run that was killed itself
    # A signal must not wait until the ranks have ended, and no rank may stay behind.
    child=
    trap 'kill_all processes_of_runs; rm -f "$state/running"' EXIT
    trap 'kill $child; exit 130' INT
    trap 'kill $child; exit 143' TERM HUP
    (
        trap - INT TERM HUP EXIT
        export GSBED_RUN="$bed" TMPDIR="$state/tmp"
        "run_$mpi" "${list%,}" ${prefer:+"$prefer"} "$@"
    ) &
    child=$!
    code=0
    wait $child || code=$?
    exit $code
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in
up | rate | schedule | run | guard) "$verb" "$@" ;;
down)
    command -v ip >/dev/null || skip "there is no program ip (package iproute2)"
    down
    ;;
*) die "verb \"$verb\": up, down, rate, schedule or run (see the head of $0)" ;;
esac
