#!/bin/sh
# From a fresh checkout to a first result: installs what is missing (Debian packages, said by name),
# builds into build/release and simulates the bundled scenario, whose results are kept in the user's
# database as those of every run. Run it again at will.
set -eu
cd "$(dirname -- "$0")/.."
. tools/packages.sh
packages_install build
cmake --preset release -DGS_TESTS=OFF
cmake --build --preset release
echo
echo "$ build/release/gradsync sim demo-ethernet"
exec build/release/gradsync sim demo-ethernet
