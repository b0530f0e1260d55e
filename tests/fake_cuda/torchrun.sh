#!/bin/sh
# Four processes with torchrun's variables over NCCL on the fake runtime. torchrun.sh FOLDER CASE
#   strategies   with collectives, a server and gossip, with every codec: end with the simulator's
#                bytes
#   all          every strategy likewise
#   program      `gradsync live` learns the same over nccl as over tcp
#   spin         replayed durations keep the device busy for as long as they say
#   no_device    without a device it says so in one line and ends with 2
#   error        an error of the network ends all four of them
set -u
folder=$1
case=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 TORCHELASTIC_RUN_ID="$scratch"
# A port that nobody else is likely to have; process 0 takes the first free one of eight from there.
MASTER_PORT=$((20000 + $$ % 40000))
export MASTER_PORT

# The command on all four; exit codes and what they print are left in $scratch.
all() {
    pids=
    for rank in 0 1 2 3; do
        (
            RANK=$rank LOCAL_RANK=$rank timeout 250 "$@" --db "$scratch/$rank.db" \
                >"$scratch/out$rank" 2>"$scratch/err$rank"
            echo $? >"$scratch/code$rank"
        ) &
        pids="$pids $!"
    done
    # shellcheck disable=SC2086 # a list of process ids
    wait $pids
}

fail() {
    echo "torchrun $case: $*" >&2
    tail -n 5 "$scratch"/out? "$scratch"/err? >&2
    exit 1
}

codes() {
    cat "$scratch"/code? | tr '\n' ' '
}

train='workload.real_gradients=true workload.budget.steps=4 -s allreduce'

loss_over() {
    # shellcheck disable=SC2086 # a list of words
    all "$folder/fake_gradsync" live "$SCENARIO" $train --transport "$1" --json --seeds 1
    [ "$(codes)" = "0 0 0 0 " ] || fail "over $1: exit codes $(codes)"
    sed -n 's/.*"final_loss": \([0-9.e-]*\),.*/\1/p' "$scratch/out0"
}

# live_ranks on all four; process 0 prints and decides. ranks [ONLY]
ranks() {
    for rank in 1 2 3; do
        RANK=$rank LOCAL_RANK=$rank timeout 250 "$folder/fake_live_ranks" nccl "$@" &
    done
    RANK=0 LOCAL_RANK=0 timeout 250 "$folder/fake_live_ranks" nccl "$@"
    code=$?
    wait
    return $code
}

case $case in
strategies)
    for only in allreduce asp sgp; do
        ranks "$only" || fail "$only"
    done
    ;;
all)
    ranks || fail "exit code $?"
    ;;
program)
    nccl=$(loss_over nccl) || exit 1
    tcp=$(loss_over tcp) || exit 1
    if [ -z "$nccl" ] || [ "$nccl" != "$tcp" ]; then
        fail "the loss is $nccl over nccl, $tcp over tcp"
    fi
    ;;
spin)
    # 38.6 ms of kernels a step, as the profile says; the device's own events say how long it span.
    words='workload.real_gradients=false noise.compute.kind=none live.compute=replay live.pace=spin'
    # shellcheck disable=SC2086 # a list of words
    all "$folder/fake_gradsync" live demo-ethernet $words workload.budget.steps=4 -s allreduce \
        --transport nccl --json --seeds 1
    [ "$(codes)" = "0 0 0 0 " ] || fail "exit codes $(codes)"
    compute=$(sed -n 's/.*"compute_ns": \([0-9]*\).*/\1/p' "$scratch/out0")
    if [ "$compute" -lt 38000000 ] || [ "$compute" -gt 60000000 ]; then
        fail "computes for $compute ns"
    fi
    ;;
no_device)
    export FAKE_CUDA_DEVICES=0
    all "$folder/fake_gradsync" live "$SCENARIO" --transport nccl
    [ "$(codes)" = "2 2 2 2 " ] || fail "exit codes $(codes)"
    [ "$(grep -c 'no CUDA device on this host' "$scratch/err0")" = 1 ] || fail "says nothing of it"
    [ ! -s "$scratch/out0" ] || fail "prints a result"
    ;;
error)
    export FAKE_NCCL_FAIL_AFTER=60
    # shellcheck disable=SC2086 # a list of words
    all "$folder/fake_gradsync" live "$SCENARIO" $train --transport nccl --seeds 1
    for rank in 0 1 2 3; do
        [ "$(cat "$scratch/code$rank")" != 0 ] || fail "process $rank ends well"
        [ "$(cat "$scratch/code$rank")" != 124 ] || fail "process $rank hangs"
    done
    grep -q 'system error' "$scratch/out0" "$scratch/err0" || fail "process 0 does not say why"
    ;;
esac
