#!/bin/sh
# tools/packages.sh against a machine made of links and a false apt-get: setup.sh TOOLS-DIR
# shellcheck disable=SC2317 # functions are called by name, through check
set -u
tools=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# A PATH with the programs the script itself uses, and nothing it could find missing.
mkdir "$work/bin"
for program in sh cut tr id env cat gcc as ld cc1; do
    found=$(command -v "$program") && ln -s "$found" "$work/bin/$program"
done

# The script over a table of one present and one absent thing. stdout and stderr in $work/out.
run() { # sets
    PATH="$work/bin" sh -c '. "$1/packages.sh"
        packages_table() {
            echo "build present-package command:cut cuts"
            echo "build absent-package command:gs-absent does what nobody needs"
            echo "oracle other-package command:gs-other is of another set"
        }
        shift
        packages_install "$@"' sh "$tools" "$@" >"$work/out" 2>&1
}

check() { # name, then a command that must hold
    name=$1
    shift
    if ! "$@"; then
        echo "setup: $name; the script said:"
        cat "$work/out"
        failed=1
    fi
}
says() { grep -qF -- "$1" "$work/out"; }
silent() { [ ! -s "$work/out" ]; }
fails() { ! "$@"; }

check 'fails without apt-get' fails run build
check 'tells that the system is not Debian' says 'not a Debian system'
check 'names the package and its purpose' says 'absent-package     does what nobody needs'
check 'leaves out what is there' fails says 'present-package'
check 'leaves out the other sets' fails says 'other-package'

# A false apt-get that notes its words and "installs" the program.
cat >"$work/bin/apt-get" <<END
#!/bin/sh
echo "\$*" >>"$work/apt"
case "\$*" in *install*) : >"$work/bin/gs-absent"; PATH=/bin:/usr/bin chmod +x "$work/bin/gs-absent" ;; esac
END
chmod +x "$work/bin/apt-get"
cat >"$work/bin/sudo" <<'END'
#!/bin/sh
exec "$@"
END
chmod +x "$work/bin/sudo"
check 'installs what is missing' run build
check 'installs that package only' \
    grep -qx -- '-q install -y --no-install-recommends absent-package' "$work/apt"
check 'refreshes the list first' [ "$(head -n 1 "$work/apt")" = '-q update' ]
rm "$work/apt"
check 'is content afterwards' run build
check 'says nothing then' silent
check 'asks nothing of the network then' [ ! -e "$work/apt" ]

printf '#!/bin/sh\nexit 100\n' >"$work/bin/apt-get"
rm "$work/bin/gs-absent"
check 'fails when apt-get does' fails run build
check 'says what to run later' says 'apt-get install absent-package'
exit $failed
