//! The virtual file system beside the host's: the same random calls, and no difference in answers, errors or the final tree.
//!
//! Every back end that a guest writes to is driven against a temporary directory of the host through its own system calls. Names come
//! from a tiny alphabet, so that calls meet: what one made another renames, links, loops or removes.
//!
//! `SANDBAR_SHADOW_OPS` sets the number of calls for each back end (default 30,000), `SANDBAR_SHADOW_SEED` runs one seed only. A
//! failure prints the seed and the calls that led to it.
//!
//! Permission bits that deny are left out, because the test may run as root, whom the host denies nothing; they are tested in
//! `vfs_namespace.rs`. Absolute paths are left out, because the host's root is not the sandbox's.
#![expect(
    clippy::disallowed_methods,
    reason = "the host is the oracle of these tests"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![cfg(target_os = "linux")]

#[path = "vfs_shadow/calls.rs"]
mod calls;
#[path = "vfs_shadow/host.rs"]
mod host;
#[path = "vfs_shadow/sandbox.rs"]
mod sandbox;

use std::fmt::Write as _;

use self::calls::{Call, Random};
use self::host::Host;
use self::sandbox::{BackEnd, Sandbox};

/// Directories above the one that the calls work in: more than all `..` of 40 links and a path together.
pub(crate) const NESTING: usize = 48;
/// Calls that one tree lives through.
const CALLS_PER_TREE: u64 = 600;

#[test]
fn memory_behaves_like_the_host() {
    compare(BackEnd::Memory);
}

#[test]
fn an_overlay_behaves_like_the_host() {
    compare(BackEnd::Overlay);
}

#[test]
fn a_host_directory_behaves_like_the_host() {
    compare(BackEnd::HostDir);
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

fn compare(back_end: BackEnd) {
    let calls = number("SANDBAR_SHADOW_OPS").unwrap_or(30_000);
    let seeds = match number("SANDBAR_SHADOW_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..calls.div_ceil(CALLS_PER_TREE),
    };
    rustix::process::umask(rustix::fs::Mode::empty());
    for seed in seeds {
        run(back_end, seed);
    }
}

fn run(back_end: BackEnd, seed: u64) {
    let mut random = Random::new(seed);
    let mut host = Host::new();
    let mut sandbox = Sandbox::new(back_end);
    let mut log = Vec::new();
    for _ in 0..CALLS_PER_TREE {
        let call = Call::any(&mut random);
        log.push(call.clone());
        let (expected, found) = (call.run(&mut host), call.run(&mut sandbox));
        if expected != found {
            let mut text = String::new();
            for call in log.iter().skip(log.len().saturating_sub(60)) {
                writeln!(text, "{call:?}").unwrap();
            }
            panic!(
                "{back_end:?}, seed {seed}, call {}: the host says {expected:?}, the sandbox {found:?} to the last of\n{text}",
                log.len(),
            );
        }
    }
    let (expected, found) = (calls::tree(&mut host), calls::tree(&mut sandbox));
    assert_eq!(
        expected, found,
        "{back_end:?}, seed {seed}: the trees differ in the end"
    );
}
