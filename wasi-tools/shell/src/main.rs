//! `bash`, and `sh` when it is started by that name.

fn main() {
    let args: Vec<Vec<u8>> = std::env::args_os()
        .map(std::ffi::OsString::into_encoded_bytes)
        .collect();
    std::process::exit(sandbar_shell::run(&args));
}
