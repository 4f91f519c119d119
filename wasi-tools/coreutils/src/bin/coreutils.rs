//! `coreutils`: start-up only.

fn main() {
    std::process::exit(sandbar_coreutils::run("coreutils", sandbar_coreutils::FULL));
}
