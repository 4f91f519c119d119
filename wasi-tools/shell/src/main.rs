//! `bash`, and `sh` when it is started by that name.

fn main() {
    #[cfg(not(target_os = "wasi"))]
    {
        // Rust ignores SIGPIPE at its start natively, and programs would inherit that.
        let _unchanged = sandbar_guest::signal::action(
            sandbar_guest::Signal::PIPE,
            sandbar_guest::signal::Disposition::Default,
        );
    }
    let args: Vec<Vec<u8>> = std::env::args_os()
        .map(std::ffi::OsString::into_encoded_bytes)
        .collect();
    std::process::exit(sandbar_shell::run(&args));
}
