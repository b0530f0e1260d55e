#!/bin/sh
# Opens a report in headless Chromium: the browser must have nothing to complain of, all figures and
# the command's own sentence, and a page to show in light and in dark.
#
#   report.sh PROGRAM SOURCE
#
# Skipped (77) where chromium or gnuplot is missing.
set -eu

program=$1
source_tree=$2
for tool in chromium gnuplot; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work" XDG_STATE_HOME="$work/state" XDG_CONFIG_HOME="$work/config"
cd "$work"

fail() {
    echo "failed: $*" >&2
    exit 1
}

browse() { # page, further words
    page=$1
    shift
    timeout 120 chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --hide-scrollbars --no-first-run --disable-background-networking \
        --user-data-dir="$work/profile" --enable-logging=stderr --window-size=1250,4200 "$@" \
        "file://$work/$page"
}

cp "$source_tree/tests/cli/data/learn.json" "a<b>&\"'.json"
"$program" sim "./a<b>&\"'.json" -q --seeds 2 -s allreduce -s local_sgd:period=4 --label '<i>"&' |
    tail -n 1 >said
"$program" report '<i>"&' -o report.html

browse report.html --dump-dom >dom.html 2>log || fail "chromium: $(tail -n 3 log)"
! grep CONSOLE log || fail "the console has messages"
# Figures of breakdown, learning, trade-off, tail and timeline.
[ "$(grep -c '<svg ' dom.html)" = 5 ] || fail "$(grep -c '<svg ' dom.html) figures, not 5"
! grep -qi '<script\|<i>' dom.html || fail "a name has become markup"
sed -n 's/^<p class="verdict">\(.*\)<\/p>$/\1/p' dom.html |
    sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >sentence
cmp sentence said || fail "the page says something else than the command"

# What the page asks for would be seen: its policy makes the browser say so.
sed 's|</main>|<img src="http://192.0.2.1/x.png" alt=""></main>|' report.html >asks.html
browse asks.html --dump-dom >/dev/null 2>log || fail "chromium: $(tail -n 3 log)"
grep -q 'CONSOLE.*192.0.2.1' log || fail "a request went unseen"

browse report.html --screenshot="$work/light.png" >/dev/null 2>&1 || fail "no light picture"
browse report.html --blink-settings=preferredColorScheme=0 --screenshot="$work/dark.png" \
    >/dev/null 2>&1 || fail "no dark picture"
printf '<!DOCTYPE html><title>empty</title>' >empty.html
browse empty.html --screenshot="$work/empty.png" >/dev/null 2>&1 || fail "no empty picture"
blank=$(wc -c <empty.png)
for picture in light dark; do
    # A page of text and figures is far from one colour: 10 times what that compresses to.
    [ "$(wc -c <$picture.png)" -gt $((10 * blank)) ] || fail "$picture.png is blank"
done
! cmp -s light.png dark.png || fail "dark is as light"
