#!/bin/sh
# What mpirun takes for rsh: agent.sh HOST COMMAND... runs the command, a line for sh as rsh has it,
# in the namespace of that name and under that host name.
set -eu
host=$1
shift
# shellcheck disable=SC2016 # the inner shell expands it
exec ip netns exec "$host" unshare --uts sh -c '
    echo "$1" >/proc/sys/kernel/hostname
    exec sh -c "$2"' sh "$host" "$*"
