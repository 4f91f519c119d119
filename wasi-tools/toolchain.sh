#!/bin/sh
# Makes Rust and C guests (wasm32-wasip1) buildable, and writes how to out/toolchain/env.sh, which every guest build sources.
#
# The ordinary way is rustup's target and a wasi-sdk. Where one of them can't be had (no network for rustup, no wasi-sdk) the
# Debian way is taken: a compiler with library sources, clang and lld from the distribution, and a current wasi-libc unpacked
# into a private folder. It prints which way it took and why. A second run finds its own env.sh and does nothing.
#
# Settings: WASI_SDK_PATH       an unpacked wasi-sdk
#           SANDBAR_TOOLCHAIN   ordinary | debian: take this way or fail
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/out/toolchain
env_file=$out/env.sh
version=7 # raise it when this script writes something else, so that old results are made again
target=wasm32-wasip1
llvm=19
debian_packages="rustc-web cargo-web rust-web-src rust-web-clippy lld-22 clang-$llvm llvm-$llvm libclang-rt-$llvm-dev-wasm32"

say() { printf 'toolchain: %s\n' "$*"; }
fail() { printf 'toolchain: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Runs a command for at most $1 seconds; not every system has timeout(1).
within() {
    seconds=$1
    shift
    if have timeout; then timeout "$seconds" "$@"; else "$@"; fi
}

# Networks fail for a moment; three tries with a pause.
retried() {
    for pause in 3 10 0; do
        if "$@"; then return 0; fi
        if [ "$pause" != 0 ]; then
            say "\`$*\` failed, trying again in $pause s"
            sleep "$pause"
        fi
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif have sudo && sudo -n true 2>/dev/null; then sudo -n "$@"
    elif have sudo && [ -t 0 ]; then sudo "$@"
    else fail "\`$*\` needs root: run it yourself, or run \`make toolchain\` once as root"
    fi
}

# ---- which way -------------------------------------------------------------------------------------------------------

# Sets rust_reason when rustup can't give us the target.
ordinary_rust() {
    if ! have rustup; then
        rust_reason="there is no rustup"
        return 1
    fi
    if rustup target list --installed 2>/dev/null | grep -qx "$target"; then return 0; fi
    say "asking rustup for $target"
    if within 120 rustup target add "$target" >"$out/rustup.log" 2>&1; then return 0; fi
    rust_reason="\`rustup target add $target\` failed ($(tail -n 1 "$out/rustup.log" | cut -c 1-120))"
    return 1
}

# Prints the first wasi-sdk found.
wasi_sdk() {
    for folder in "${WASI_SDK_PATH:-}" /opt/wasi-sdk /usr/local/wasi-sdk /usr/share/wasi-sdk "${HOME:-/root}/wasi-sdk"; do
        if [ -n "$folder" ] && [ -x "$folder/bin/clang" ] && [ -d "$folder/share/wasi-sysroot" ]; then
            printf '%s\n' "$folder"
            return 0
        fi
    done
    return 1
}

advice() {
    case $(uname -s) in
    Darwin) fail "$1. Set WASI_SDK_PATH to an unpacked wasi-sdk (releases of WebAssembly/wasi-sdk on GitHub), and install Rust by rustup" ;;
    *) fail "$1. Set WASI_SDK_PATH to an unpacked wasi-sdk (releases of WebAssembly/wasi-sdk on GitHub), install Rust by rustup, and run this again; on Debian everything is installed by this script" ;;
    esac
}

# ---- the Debian way --------------------------------------------------------------------------------------------------

install_debian_packages() {
    missing=
    for package in $debian_packages; do
        if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
            missing="$missing $package"
        fi
    done
    if [ -z "$missing" ]; then return 0; fi
    say "installing:$missing"
    retried as_root apt-get -q -o Acquire::Retries=3 update >"$out/apt.log" 2>&1 ||
        fail "apt-get update failed: $(tail -n 1 "$out/apt.log")"
    # shellcheck disable=SC2086 # a list of words
    retried as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 install --no-install-recommends \
        $missing </dev/null >>"$out/apt.log" 2>&1 ||
        fail "apt-get install$missing failed: $(tail -n 3 "$out/apt.log")"
}

# The distribution's own wasi-libc is too old for this compiler's library; sid's is one file for every architecture. It comes
# through an apt of its own (own sources, lists, cache), so that the system's packages and sources stay as they are.
fetch_wasi_libc() {
    if [ -f "$out/wasi-libc/usr/lib/wasm32-wasi/libc.a" ]; then return 0; fi
    say "fetching a current wasi-libc into out/toolchain"
    apt=$out/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep '/debian/*$' | head -n 1)
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s sid main\n' \
        "${mirror:-http://deb.debian.org/debian}" >"$apt/sources.list"
    cat >"$apt/apt.conf" <<CONF
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::State::Lists "$apt/lists";
Dir::Cache "$apt/cache";
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::Retries "3";
APT::Architecture "$(dpkg --print-architecture)";
APT::Sandbox::User "$(id -un)";
CONF
    retried env APT_CONFIG="$apt/apt.conf" apt-get -q update >"$out/apt-sid.log" 2>&1 ||
        fail "the list of sid's packages could not be fetched: $(tail -n 1 "$out/apt-sid.log")"
    (cd "$apt" && retried env APT_CONFIG="$apt/apt.conf" apt-get -q download wasi-libc >>"$out/apt-sid.log" 2>&1) ||
        fail "sid's wasi-libc could not be fetched: $(tail -n 1 "$out/apt-sid.log")"
    rm -rf "$out/wasi-libc" "$out/wasi-libc.new"
    for file in "$apt"/wasi-libc_*.deb; do dpkg-deb -x "$file" "$out/wasi-libc.new"; done
    mv "$out/wasi-libc.new" "$out/wasi-libc"
    rm -rf "$apt"
}

# ---- what a guest build needs ----------------------------------------------------------------------------------------

# An 8 MiB stack below the data (an overflow traps instead of overwriting), our C library's functions win over wasi-libc's
# (it is linked first, and two of one name are allowed), and every guest imports sandbar_v1 (libc/src/aware.c).
link_flags="-zstack-size=8388608 --stack-first --allow-multiple-definition --undefined=sandbar_aware"

# write_env WAY CARGO RUSTC CARGO_FLAGS RUSTFLAGS CC AR CFLAGS LDFLAGS
write_env() {
    rust_link=
    c_link=
    for flag in $link_flags; do
        rust_link="$rust_link -Clink-arg=$flag"
        c_link="$c_link -Wl,$flag"
    done
    {
        printf '# Written by wasi-tools/toolchain.sh; version %s\n' "$version"
        printf 'export SANDBAR_TOOLCHAIN_WAY="%s"\n' "$1"
        printf 'export GUEST_CARGO="%s"\n' "$2"
        printf 'export GUEST_CARGO_FLAGS="--target %s %s"\n' "$target" "$4"
        if [ -n "$3" ]; then
            # The distribution's compiler is a stable one; building its library needs an unstable flag.
            printf 'export RUSTC="%s" RUSTDOC="%s" RUSTC_BOOTSTRAP=1\n' "$3" "$(dirname "$3")/rustdoc"
            # Named, because cargo would take rustup's, which belongs to another compiler.
            printf 'export GUEST_CLIPPY="%s"\n' "$(dirname "$3")/cargo-clippy"
        fi
        # Panic messages name source files: the same names on every machine, so that the same sources give the same bytes.
        remap="--remap-path-prefix=${CARGO_HOME:-${HOME:-/root}/.cargo}/registry/src=crates --remap-path-prefix=$root=sandbar"
        printf 'export CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="%s"\n' "${5:+$5 }$remap$rust_link"
        printf 'export CC_wasm32_wasip1="%s" AR_wasm32_wasip1="%s"\n' "$6" "$7"
        printf 'export CFLAGS_wasm32_wasip1="%s"\n' "$8"
        printf 'export GUEST_CC="%s" GUEST_AR="%s"\n' "$6" "$7"
        # wasi-libc marks what it lacks as deprecated; our library has it.
        printf 'export GUEST_CFLAGS="%s"\n' "-isystem $root/wasi-tools/libc/include $8 -Wno-deprecated-declarations"
        printf 'export GUEST_LDFLAGS="%s"\n' "$9$c_link $root/out/libc/libsandbar.a"
        # Messages are embedded at build time for this language (uucore); the same on every machine.
        printf 'export LANG=en_US.UTF-8\n'
    } >"$env_file.new"
    mv "$env_file.new" "$env_file"
}

take_ordinary() {
    sdk=$1
    say "ordinary way: rustup's $target, wasi-sdk in $sdk"
    write_env ordinary "$(command -v cargo)" "" "" "" "$sdk/bin/clang" "$sdk/bin/llvm-ar" \
        "--target=$target --sysroot=$sdk/share/wasi-sysroot" "--target=$target --sysroot=$sdk/share/wasi-sysroot"
}

take_debian() {
    say "Debian way: $1"
    install_debian_packages
    fetch_wasi_libc
    sysroot=$out/wasi-libc/usr
    flags="--target=wasm32-wasi --sysroot=$sysroot -isystem $sysroot/include/wasm32-wasi"
    write_env debian /usr/bin/cargo /usr/bin/rustc "-Zbuild-std=std,panic_abort" "-Lnative=$sysroot/lib/wasm32-wasi" \
        "clang-$llvm" "llvm-ar-$llvm" "$flags" "$flags -fuse-ld=/usr/bin/wasm-ld-22"
}

main() {
    if [ -f "$env_file" ] && head -n 1 "$env_file" | grep -qx ".*; version $version" &&
        sh -c '. "$1" && command -v "$GUEST_CARGO" "$GUEST_CC"' sh "$env_file" >/dev/null 2>&1; then
        return 0
    fi
    mkdir -p "$out"
    wanted=${SANDBAR_TOOLCHAIN:-}
    sdk_reason="no wasi-sdk was found (WASI_SDK_PATH is unset or has none)"
    rust_reason=
    if [ "$wanted" != debian ]; then
        if sdk=$(wasi_sdk) && ordinary_rust; then
            take_ordinary "$sdk"
            return 0
        fi
    fi
    reason=${rust_reason:-$sdk_reason}
    if [ "$wanted" = ordinary ]; then advice "$reason"; fi
    if have apt-get && have dpkg-deb; then
        if [ "$wanted" = debian ]; then reason="SANDBAR_TOOLCHAIN asks for it"; fi
        take_debian "$reason"
    else
        advice "$reason"
    fi
    say "written: out/toolchain/env.sh"
}

main
