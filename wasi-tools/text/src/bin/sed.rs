//! `sed`: start-up only.

use sandbar_guest as _;

fn main() {
    std::process::exit(sed::sed::uumain(std::env::args_os()));
}
