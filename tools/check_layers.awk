# The direction of includes: awk -f tools/check_layers.awk tools/layers.txt FILES (base/arena.c ...).
# Prints each violation as file:line: text, and exits 1 where there was one.

function refuse(text) {
    print FILENAME ":" FNR ": " text
    failed = 1
}

FILENAME == ARGV[1] {
    sub(/#.*/, "")
    if (NF == 0) next
    if ($1 == "generated:") {
        for (i = 2; i <= NF; i++) generated[$i] = 1
        next
    }
    room = $1
    sub(/:$/, "", room)
    if (room in known) refuse(room " is declared twice")
    for (i = 2; i <= NF; i++) {
        if (!($i in known)) refuse(room " names " $i ", which is not declared above it")
        allowed[room, $i] = 1
    }
    known[room] = 1
    allowed[room, room] = 1
    next
}

FNR == 1 {
    split(FILENAME, part, "/")
    room = part[1]
    if (!(room in known)) refuse("lies in no room of " ARGV[1])
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    target = quoted[2]
    split(target, part, "/")
    if (target in generated) next
    if (target ~ /(^|\/)\.\.?\//) refuse("relative include \"" target "\"; write \"room/file.h\"")
    else if (target !~ /\//) refuse("include without a room \"" target "\"; write \"room/file.h\"")
    else if (!(part[1] in known)) refuse("include of an unknown room \"" target "\"")
    else if (!((room, part[1]) in allowed)) refuse(room " may not include \"" target "\"")
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    split($0, quoted, /[<>]/)
    split(quoted[2], part, "/")
    if (part[1] in known) refuse("own header in angle brackets <" quoted[2] ">")
}

END { exit failed }
