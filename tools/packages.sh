# shellcheck shell=sh
# The programs and libraries that gradsync needs, and packages_install, which installs what is
# missing. Sourced by quickstart.sh and check.sh.
#
# A thing is missing when its probe fails, not when a package is absent: where everything is there,
# however it came, nothing is installed and no network is used. Columns: set, Debian package, probe,
# purpose. The set oracle is what other programs must agree about; tests skip, aloud, where one is
# missing. Probes: command:NAME, header:NAME, pkg:NAME (pkg-config).
packages_table() {
    cat <<'END'
build  gcc               command:gcc                 compiles
build  libc6-dev         header:math.h               the C library's headers
build  cmake             command:cmake               configures the build (3.25 or later)
build  ninja-build       command:ninja               runs the build
build  pkg-config        command:pkg-config          finds libraries
build  git               command:git                 names the commit that is built
build  libcjson-dev      pkg:libcjson                reads JSON
build  libgsl-dev        pkg:gsl                     statistics and distributions
build  libyajl-dev       pkg:yajl                    reads large traces as a stream
build  zlib1g-dev        header:zlib.h               reads compressed traces
build  libsqlite3-dev    header:sqlite3.h            keeps results
build  libopenblas-dev   pkg:openblas                trains the real models
build  librandom123-dev  header:Random123/philox.h   random numbers by counter
build  libxxhash-dev     header:xxhash.h             hashes results
test   libcriterion-dev  pkg:criterion               runs the tests
test   clang-format      command:clang-format        the format gate (version 14)
test   shellcheck        command:shellcheck          checks the scripts
test   jq                command:jq                  reads the program's JSON in tests
test   sqlite3           command:sqlite3             reads the program's database in tests
test   gnuplot-nox       command:gnuplot             draws figures; without it plot writes data and script
test   openmpi-bin       command:mpirun.openmpi      starts ranks of Open MPI
test   libopenmpi-dev    command:mpicc.openmpi       builds the MPI carrier and programs of the test bed
test   procps            command:pgrep               finds a test's processes
test   diffutils         command:cmp                 compares a test's files
oracle mpich             command:mpiexec.hydra       starts ranks of another MPI
oracle libmpich-dev      command:mpicc.mpich         builds the MPI carrier for it
oracle libsimgrid-dev    pkg:simgrid                 simulates the same flows and rings
oracle clang             command:clang               a second compiler must give the same bits
oracle r-base-core       command:Rscript             tests and intervals must agree with it
oracle mandoc            command:mandoc              reads the manual page
oracle zsh               command:zsh                 runs the completion for zsh
oracle fish              command:fish                runs the completion for fish
oracle chromium          command:chromium            opens a report
END
}

packages_has() { # probe
    case $1 in
    command:*) command -v "${1#*:}" >/dev/null 2>&1 ;;
    pkg:*) pkg-config --exists "${1#*:}" 2>/dev/null ;;
    header:*) printf '#include <%s>\n' "${1#*:}" | gcc -x c -fsyntax-only - 2>/dev/null ;;
    esac
}

# Lines of the table, of the sets named, whose probe fails.
packages_missing() {
    packages_table | while read -r set package probe purpose; do
        case " $* " in
        *" $set "*) packages_has "$probe" || echo "$package $purpose" ;;
        esac
    done
}

packages_apt() { # words for apt-get
    if [ "$(id -u)" -eq 0 ]; then
        DEBIAN_FRONTEND=noninteractive apt-get -q "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive apt-get -q "$@"
    fi
}

# Installs what is missing of the sets named (build, test, oracle). Returns 1, with what to do on
# standard error, where it cannot.
packages_install() {
    missing=$(packages_missing "$@")
    if [ -z "$missing" ]; then
        return 0
    fi
    names=$(printf '%s\n' "$missing" | cut -d' ' -f1 | tr '\n' ' ')
    echo "missing on this machine:"
    printf '%s\n' "$missing" | while read -r package purpose; do
        printf '  %-18s %s\n' "$package" "$purpose"
    done
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "this is not a Debian system: install these (names are Debian's), then run this again" >&2
        return 1
    fi
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null 2>&1; then
        echo "installing needs root, and sudo is not there; as root run: apt-get install $names" >&2
        return 1
    fi
    echo "installing with apt-get: $names"
    # shellcheck disable=SC2086 # one word a package
    if ! { packages_apt update && packages_apt install -y --no-install-recommends $names; }; then
        echo "apt-get failed; is there a network? Then run: apt-get install $names" >&2
        return 1
    fi
    # What could not be probed before (a header without a compiler) is probed now.
    missing=$(packages_missing "$@")
    if [ -n "$missing" ]; then
        echo "still missing after the installation:" >&2
        printf '%s\n' "$missing" >&2
        return 1
    fi
}
