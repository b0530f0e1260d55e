# A made-up synchronous job of 4 ranks as CSV: awk -v steps=N -v when=always|periodic|since|never
# -v part=compute|input|network. Rank 2 is the slow one, by 20 ms. Parts vary by up to 3 ms.
function noise() {
    state = (state * 1103515245 + 12345) % 2147483648
    return int(state / 65536) % 4
}
BEGIN {
    state = 7
    print "step,rank,time_ms,compute_ms,input_ms,wait_ms"
    for (s = 0; s < steps; s++) {
        is_late = when == "always" || (when == "periodic" && s % 5 == 1) ||
            (when == "since" && s >= steps / 2)
        most = 0
        for (r = 0; r < 4; r++) {
            late = is_late && r == 2 ? 20 : 0
            compute[r] = 60 + noise() + (part == "compute" ? late : 0)
            input[r] = 10 + (part == "input" ? late : 0)
            own[r] = compute[r] + input[r] + 10 + (part == "network" ? late : 0)
            most = own[r] > most ? own[r] : most
        }
        for (r = 0; r < 4; r++) {
            print s "," r "," most "," compute[r] "," input[r] "," most - own[r]
        }
    }
}
