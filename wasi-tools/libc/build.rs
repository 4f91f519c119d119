//! Compiles the C sources into `libsandbar.a` and puts it on the link line of whoever depends on this crate.

use std::{env, fs, path::PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed=include");
    // Host builds (rust-analyzer, doc tests) only check the Rust side.
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("wasi") {
        return;
    }
    let mut sources: Vec<PathBuf> = fs::read_dir("src")
        .expect("the folder of C sources is beside this script")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    cc::Build::new()
        .files(sources)
        .include("include")
        .std("gnu11")
        .define("_GNU_SOURCE", None)
        .opt_level(2)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("sandbar");
}
