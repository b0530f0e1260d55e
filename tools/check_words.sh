#!/bin/sh
# Gate "words": what does not belong in a source file, and how long files and functions may be.
# check_words.sh ROOT
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cd "$1"
failed=0

# shellcheck disable=SC2046 # file names of this project have no spaces
awk '
function refuse(line, text) {
    print FILENAME ":" line ": " text
    failed = 1
}
function end_file() {
    if (last_line <= 800) return
    print last_file ": " last_line " lines; a file has at most 800: split it by noun"
    failed = 1
}
FNR == 1 {
    end_file()
    last_file = FILENAME
    body = signature = 0
    split(FILENAME, part, "/")
    room = part[1]
    is_quiet = room != "tools" && room != "tests" && room != "docs" && FILENAME != "base/assert.c"
}
{ last_line = FNR }

# A function starts at the first line of its signature and ends at a brace in the first column.
/^$/ || /^[#}]/ || /;$/ { if (!body) signature = 0 }
/^[A-Za-z_]/ { if (!body && !signature) signature = FNR }
/^\{/ { body = signature ? signature : FNR }
/^\}/ {
    if (body && FNR - body + 1 > 70) {
        refuse(body, (FNR - body + 1) " lines in a function; allowed are 70")
    }
    body = signature = 0
}

/(^|[^A-Za-z_])(TODO|FIXME|XXX)([^A-Za-z_]|$)/ && !/TODO ?\(?#[0-9]+/ { refuse(FNR, "TODO without an issue number") }
/^[ \t]*extern[ \t]/ && FILENAME ~ /\.c$/ { refuse(FNR, "extern in a .c file: include the header") }
is_quiet && /(^|[^A-Za-z0-9_])(printf|vprintf|puts|putchar|perror)[ \t]*\(/ {
    refuse(FNR, "a library prints: return an error or use GS_LOG")
}
is_quiet && /(^|[^A-Za-z0-9_])(stdout|stderr)([^A-Za-z0-9_]|$)/ && !/^[ \t]*(\*|\/[*\/])/ {
    refuse(FNR, "a library prints: return an error or use GS_LOG")
}
END {
    end_file()
    exit failed
}' $("$here/tracked.sh" . '*.c' '*.h' '*.def') || failed=1

# Nothing committed may depend on the machine it was written on ("/home/u" is a name in tests).
# shellcheck disable=SC2046 # file names of this project have no spaces
if grep -nE '(^|[^[:alnum:]_.])/(home/[a-tv-z]|home/u[a-z]|root/|work/|Users/)' /dev/null \
    $("$here/tracked.sh" . '*.c' '*.h' '*.def' '*.cmake' '*.txt' '*.md' '*.sh' '*.awk' '*.json'); then
    echo "words: a path of one machine" >&2
    failed=1
fi
exit $failed
