#!/bin/sh
# From a fresh checkout to a first result: installs what is missing (Debian packages, said by name),
# builds into build/release and recommends a strategy for the bundled scenario; the runs that confirm
# it are kept in the user's database. Run it again at will.
set -eu
cd "$(dirname -- "$0")/.."
. tools/packages.sh
packages_install build
cmake --preset release -DGS_TESTS=OFF
cmake --build --preset release
echo
echo "$ build/release/gradsync recommend demo-ethernet"
exec build/release/gradsync recommend demo-ethernet
