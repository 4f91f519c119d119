//! `coreutils-base`: start-up only.

use sandbar_coreutils::{BASE as MODULE, listing};

/// What the image's packer makes links for.
#[cfg(target_family = "wasm")]
#[used]
#[unsafe(link_section = "sandbar.applets")]
static NAMES: [u8; listing::length(&MODULE)] = listing::names(&MODULE);

fn main() {
    std::process::exit(MODULE.run());
}
