#!/bin/sh
# Prints the files of a source tree that match git pathspecs, one a line: tracked.sh ROOT PATTERN...
# In a checkout these are the tracked files; a tree without git (a release, a test) gives all.
set -eu
cd "$1"
shift
if [ -e .git ]; then
    git ls-files -- "$@" | while IFS= read -r file; do
        # A file may be gone from the working tree before its removal is committed.
        if [ -f "$file" ]; then printf '%s\n' "$file"; fi
    done
    exit
fi
for pattern; do
    # find's "*" crosses "/", as it does in a git pathspec.
    find . -type f -path "./$pattern" ! -path './build/*' | sed 's|^\./||'
done | sort -u
