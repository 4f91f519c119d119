//! Which programs the image has, and where they come from.

/// One wasm module of the image.
#[derive(Debug)]
pub(crate) struct Program {
    /// The binary's name in the guest workspace, and of its file in `/usr/bin`.
    pub(crate) binary: &'static str,
    /// The crate whose version, in the guest lock file, is the program's.
    pub(crate) version_of: &'static str,
    /// What people call the software.
    pub(crate) name: &'static str,
    /// Its licence, as an SPDX expression.
    pub(crate) license: &'static str,
    /// Where its source is kept.
    pub(crate) source: &'static str,
    /// Names it is also called by, as links, beyond those that the module lists itself (see `wasm::applets`).
    pub(crate) aliases: &'static [&'static str],
}

/// All programs, in the order in which the image's configuration names them.
pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        binary: "bash",
        version_of: "sandbar-shell",
        name: "Sandbar shell",
        license: "MIT OR Apache-2.0",
        source: "https://github.com/sandbar/sandbar",
        aliases: &["sh"],
    },
    Program {
        binary: "coreutils",
        version_of: "uu_sort",
        name: "uutils coreutils",
        license: "MIT",
        source: "https://github.com/uutils/coreutils",
        aliases: &[],
    },
    Program {
        binary: "coreutils-base",
        version_of: "uu_cat",
        name: "uutils coreutils, the small ones",
        license: "MIT",
        source: "https://github.com/uutils/coreutils",
        aliases: &[],
    },
    Program {
        binary: "grep",
        version_of: "uu_grep",
        name: "uutils grep",
        license: "MIT",
        source: "https://github.com/uutils/grep",
        aliases: &["egrep", "fgrep"],
    },
    Program {
        binary: "sed",
        version_of: "sed",
        name: "uutils sed",
        license: "MIT",
        source: "https://github.com/uutils/sed",
        aliases: &[],
    },
];
