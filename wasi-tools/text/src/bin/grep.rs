//! `grep`, and called by those names `egrep` and `fgrep`: start-up only.

use std::ffi::OsString;
use std::path::Path;

use sandbar_guest as _;

fn main() {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let flag = match arguments
        .first()
        .and_then(|called| Path::new(called).file_name()?.to_str())
    {
        Some("egrep") => Some("-E"),
        Some("fgrep") => Some("-F"),
        _ => None,
    };
    if let Some(flag) = flag {
        arguments.insert(1, flag.into());
    }
    // Without its messages the program still works; it only speaks in message ids.
    uucore::locale::setup_localization("grep").ok();
    std::process::exit(uu_grep::uumain(arguments.into_iter()));
}
