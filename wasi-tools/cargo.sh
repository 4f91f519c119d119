#!/bin/sh
# Runs cargo on the guest workspace with the guest toolchain: `wasi-tools/cargo.sh build --release -p sandbar-shell`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/toolchain.sh"
. "$here/../out/toolchain/env.sh"
# They would replace the flags that env.sh sets for the target.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
# cargo takes its subcommands (clippy) from PATH, but from its own home first unless that is on PATH, too: those of another
# toolchain do not fit this compiler.
case $GUEST_CARGO in
/*) PATH=$(dirname "$GUEST_CARGO"):$PATH:${CARGO_HOME:-$HOME/.cargo}/bin ;;
esac
command=$1
shift
case $command in
clippy)
    set -- --manifest-path "$here/Cargo.toml" $GUEST_CARGO_FLAGS "$@"
    if [ -n "${GUEST_CLIPPY:-}" ]; then
        CARGO=$GUEST_CARGO exec "$GUEST_CLIPPY" clippy "$@"
    fi
    exec "$GUEST_CARGO" clippy "$@"
    ;;
build | check | rustc | doc)
    # shellcheck disable=SC2086 # a list of words
    exec "$GUEST_CARGO" "$command" --manifest-path "$here/Cargo.toml" $GUEST_CARGO_FLAGS "$@"
    ;;
*) exec "$GUEST_CARGO" "$command" --manifest-path "$here/Cargo.toml" "$@" ;;
esac
