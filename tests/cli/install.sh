#!/bin/sh
# The installed program finds its data, page and completions beside itself: install.sh BUILD-FOLDER
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --prefix "$work/usr" >"$work/log"
mv "$work/usr" "$work/moved"
gradsync=$work/moved/bin/gradsync
export HOME="$work" XDG_CONFIG_HOME="$work" XDG_STATE_HOME="$work" XDG_DATA_HOME="$work"
"$gradsync" list scenarios --csv | grep -q '^demo-ethernet,'
"$gradsync" doctor --csv | grep -q '^data,.*/moved/bin/../share/gradsync '
"$gradsync" sim -q demo-ethernet workload.budget.steps=2 --seeds 1 -s allreduce | grep -q '^allreduce: a step takes'
for file in share/man/man1/gradsync.1 share/man/man5/gradsync-scenario.5 share/bash-completion/completions/gradsync \
    share/zsh/site-functions/_gradsync share/fish/vendor_completions.d/gradsync.fish; do
    test -s "$work/moved/$file"
done
# A plug-in needs nothing but what is installed, and is loaded by what is installed.
if command -v cc >/dev/null; then
    cc -std=c17 -Wall -Wextra -Werror -shared -fPIC -I "$work/moved/include/gradsync" \
        "$work"/moved/share/doc/gradsync/plugin/every.c -o "$work/every.so"
    "$gradsync" list strategies --csv --plugin "$work/every.so" | grep -q '^every,'
fi
