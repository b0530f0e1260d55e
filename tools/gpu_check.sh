#!/bin/sh
# The check on a machine with GPUs, in under four minutes: builds and runs tests/gpu (every kernel
# against the processor's bits, NCCL of one rank and of up to four, what forgetting to wait for the
# device measures), prints a table for docs/measured/gpu.md, then builds the preset cuda.
#   gpu_check.sh [BUILD-FOLDER]
# The check needs a C compiler, nvcc and NCCL; where CMake or a library of gradsync is missing, the
# preset is left out, which is said.
# Exit: 0 everything is as it should be, 1 it is not, 77 there is no device (then all is built).
set -eu
cd "$(dirname -- "$0")/.."
folder=${1-build/cuda}
started=$(date +%s)
mkdir -p "$folder"
log=$folder/gpu_check.log

say() {
    echo "gpu_check: $*" >&2
}

find_nvcc() {
    for place in nvcc "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" "${CUDA_PATH:+$CUDA_PATH/bin/nvcc}" \
        /usr/local/cuda/bin/nvcc; do
        if [ -n "$place" ] && command -v "$place" >/dev/null 2>&1; then
            command -v "$place"
            return 0
        fi
    done
    say "no nvcc: set CUDA_HOME to the CUDA toolkit"
    exit 1
}

# Kernels for the device that is here; where there is none, for all.
architecture() {
    if command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L >/dev/null 2>&1; then
        echo native
    else
        echo all-major
    fi
}

# The module and the program that loads it; the tests too where their framework is.
build_preset() {
    command -v cmake >/dev/null 2>&1 || return 1
    tests=OFF
    if command -v pkg-config >/dev/null 2>&1 && pkg-config --exists criterion; then
        tests=ON
    fi
    cmake -S . -B "$folder" -DCMAKE_BUILD_TYPE=Release -DGS_CUDA=ON -DGS_TESTS=$tests \
        -DGS_CUDA_ARCHITECTURE="$arch" >>"$log" 2>&1 &&
        cmake --build "$folder" --parallel "$(nproc)" --target gradsync_cuda gradsync \
            >>"$log" 2>&1
}

# nccl.h and the library stand by the toolkit, where NCCL_HOME says, or where the system looks.
build_check() {
    toolkit=$(dirname -- "$(dirname -- "$nvcc")")
    set -- -I. "-I$toolkit/include" "-L$toolkit/lib64" "-L$toolkit/lib"
    if [ -n "${NCCL_HOME-}" ]; then
        set -- "$@" "-I$NCCL_HOME/include" "-L$NCCL_HOME/lib" "-Wl,-rpath,$NCCL_HOME/lib"
    fi
    "$nvcc" -arch="$arch" -O3 -std=c++17 -fmad=false -Xcompiler=-fno-threadsafe-statics -I. -c models/cuda/kernels.cu \
        -o "$folder/kernels.o" >>"$log" 2>&1 &&
        ${CC:-cc} -std=c17 -O2 -ffp-contract=off -fno-math-errno -D_POSIX_C_SOURCE=200809L \
            tests/gpu/*.c tests/fake_cuda/thread_carrier.c live/carriers/nccl/*.c \
            models/cuda/cuda.c models/kernels.c models/halves.c base/status.c \
            "$folder/kernels.o" "$@" "-Wl,-rpath,$toolkit/lib64" -lnccl -lcudart_static \
            -lpthread -ldl -lrt -lm -o "$folder/check" >>"$log" 2>&1
}

nvcc=$(find_nvcc)
arch=$(architecture)
: >"$log"
if ! build_check; then
    tail -n 20 "$log" >&2
    say "the check does not build: $log"
    exit 1
fi
say "built in $(($(date +%s) - started)) s"

if command -v nvidia-smi >/dev/null 2>&1; then
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sort | uniq -c |
        sed 's/^ */GPUs: /' || true
fi
release=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
echo "CUDA $release, commit $commit"
echo
status=0
"$folder/check" || status=$?
if [ "$status" = 77 ]; then
    say "no device here: what needs none is built"
fi
say "checked after $(($(date +%s) - started)) s"

if ! build_preset; then
    say "the preset cuda does not build here ($log); the table above does not need it"
elif ! "$folder/gradsync" --version >/dev/null; then
    say "gradsync does not start"
    status=1
fi
say "$(($(date +%s) - started)) s in all"
exit "$status"
