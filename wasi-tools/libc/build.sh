#!/bin/sh
# Builds out/libc/libsandbar.a for C guests; Rust guests get the same code through this folder's crate.
#
# A C guest is compiled with $GUEST_CC $GUEST_CFLAGS and linked with $GUEST_LDFLAGS, all from out/toolchain/env.sh; the
# library must come before wasi-libc on the line, which the compiler adds last.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/../toolchain.sh"
. "$here/../../out/toolchain/env.sh"
out=$here/../../out/libc
mkdir -p "$out"
cd "$here"
if [ -f "$out/libsandbar.a" ] && [ -z "$(find src include build.sh ../../out/toolchain/env.sh -newer "$out/libsandbar.a")" ]; then
    exit 0
fi
objects=
for source in src/*.c; do
    object=$out/$(basename "$source" .c).o
    # shellcheck disable=SC2086 # lists of words
    "$GUEST_CC" $GUEST_CFLAGS -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -c "$source" -o "$object"
    objects="$objects $object"
done
rm -f "$out/libsandbar.a"
# shellcheck disable=SC2086 # a list of words
"$GUEST_AR" crsD "$out/libsandbar.a" $objects
