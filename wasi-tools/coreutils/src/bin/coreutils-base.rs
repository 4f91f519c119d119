//! `coreutils-base`: start-up only.

fn main() {
    std::process::exit(sandbar_coreutils::run("coreutils-base", sandbar_coreutils::BASE));
}
