#!/bin/sh
# Compiles the C guests of the tests (tests/guests/*.c) into out/guests.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/build.sh"
. "$here/../../out/toolchain/env.sh"
cd "$here/../.."
mkdir -p out/guests
for source in tests/guests/*.c; do
    module=out/guests/$(basename "$source" .c).wasm
    # shellcheck disable=SC2086 # lists of words
    "$GUEST_CC" $GUEST_CFLAGS -O2 -Wall -Wno-unused-result "$source" $GUEST_LDFLAGS -Wl,--strip-all -o "$module"
done
