//! Sandbar's C library for guests, as a Rust crate.
//!
//! The code is C (see `src/*.c`): overrides of and additions to wasi-libc, over the `sandbar_v1` system calls. Depending on
//! this crate puts the archive on the link line before wasi-libc, so that its functions win, for `std` too.
