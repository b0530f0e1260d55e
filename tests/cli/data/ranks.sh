# shellcheck shell=sh
# For cases of live: starts processes as torchrun does, over TCP, on a scenario of four ranks whose steps take
# 15 ms.
#   start RANK COUNT ARGUMENT...     one of them, in the background; its pid is then in $pid_RANK
#   start_all COUNT ARGUMENT...
#   under_way                        waits until a run goes on; of --log info
#   codes COUNT [FIRST]              waits for all, or those from FIRST on, and prints their exit codes
#   said                             what they said, without what is another one each time
export MASTER_ADDR=127.0.0.1
MASTER_PORT=$((10000 + $$ % 2500 * 8))
export MASTER_PORT

cat >job.json <<'EOF'
{
  "schema": "gradsync.scenario/1",
  "cluster": {
    "topology": {"kind": "nodes"},
    "nodes": [{"name": "host", "count": 4, "ranks": 1}],
    "links": {"nic": {"class": "tcp", "bandwidth": "10Gbit/s", "latency": "30us"}}
  },
  "workload": {"profile": "profile.json", "budget": {"steps": 20}},
  "live": {"deadline": "2s", "compute": "replay"},
  "strategies": [{"name": "allreduce"}],
  "evaluate": {"seeds": 1}
}
EOF
cat >profile.json <<'EOF'
{"schema": "gradsync.profile/1", "format": "gradsync_profile", "notes": [],
 "profile": {"source": "by hand", "world_size": 0, "element_bytes": 4, "blocking": [],
  "units": [{"name": "first", "elements": 20000, "wire_ns": 0}, {"name": "second", "elements": 30000, "wire_ns": 0}],
  "ranks": [{"rank": 0, "steps": [{"measured_ns": 0, "compute_ns": 0, "input_ns": 0, "wait_ns": 0, "wire_ns": 0,
   "hidden_ns": 0, "segments": [["forward", 5000000], ["backward", 5000000], ["gradient", 1], ["backward", 5000000],
    ["gradient", 0]]}]}]}}
EOF

start() {
    rank=$1 count=$2
    shift 2
    RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$count gradsync live job.json -q --transport tcp "$@" \
        >"out.$rank" 2>"err.$rank" &
    eval "pid_$rank=$!"
}

start_all() {
    all=$1
    shift
    for each in $(seq 0 $((all - 1))); do start "$each" "$all" "$@"; done
}

under_way() {
    until grep -qs 'run begins' err.0; do sleep 0.05; done
    sleep 0.3
}

codes() {
    list="exit"
    for each in $(seq "${2:-0}" $(($1 - 1))); do
        process=
        eval "process=\$pid_$each"
        code=0
        wait "$process" 2>/dev/null || code=$?
        list="$list $code"
    done
    echo "$list"
    MASTER_PORT=$((MASTER_PORT + 8))
}

said() {
    for file in err.*; do
        grep -v -e 'run begins' -e 'of the launcher$' -e gradsync_mpi_ "$file" | sed "s/^/${file#err.}: /; s/(host [^)]*)/(WHERE)/; s/is gone: .*; its pid was [0-9]*/is gone/
            s/:$((MASTER_PORT - 8))/:PORT/; s/ports [0-9]* to [0-9]*/ports PORTS/; s/, [0-9a-f]\{16\}/, HASH/g"
    done
    rm -f err.* out.*
}
