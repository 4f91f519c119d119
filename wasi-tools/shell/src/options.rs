//! The options of `set` and `shopt`.

/// Bits of `set -o`.
pub(crate) mod opt {
    pub(crate) const ALLEXPORT: u32 = 1;
    pub(crate) const BRACEEXPAND: u32 = 1 << 1;
    pub(crate) const EMACS: u32 = 1 << 2;
    pub(crate) const ERREXIT: u32 = 1 << 3;
    pub(crate) const ERRTRACE: u32 = 1 << 4;
    pub(crate) const FUNCTRACE: u32 = 1 << 5;
    pub(crate) const HASHALL: u32 = 1 << 6;
    pub(crate) const HISTEXPAND: u32 = 1 << 7;
    pub(crate) const HISTORY: u32 = 1 << 8;
    pub(crate) const IGNOREEOF: u32 = 1 << 9;
    pub(crate) const INTERACTIVE_COMMENTS: u32 = 1 << 10;
    pub(crate) const KEYWORD: u32 = 1 << 11;
    pub(crate) const MONITOR: u32 = 1 << 12;
    pub(crate) const NOCLOBBER: u32 = 1 << 13;
    pub(crate) const NOEXEC: u32 = 1 << 14;
    pub(crate) const NOGLOB: u32 = 1 << 15;
    pub(crate) const NOLOG: u32 = 1 << 16;
    pub(crate) const NOTIFY: u32 = 1 << 17;
    pub(crate) const NOUNSET: u32 = 1 << 18;
    pub(crate) const ONECMD: u32 = 1 << 19;
    pub(crate) const PHYSICAL: u32 = 1 << 20;
    pub(crate) const PIPEFAIL: u32 = 1 << 21;
    pub(crate) const POSIX: u32 = 1 << 22;
    pub(crate) const PRIVILEGED: u32 = 1 << 23;
    pub(crate) const VERBOSE: u32 = 1 << 24;
    pub(crate) const VI: u32 = 1 << 25;
    pub(crate) const XTRACE: u32 = 1 << 26;
    /// What a shell starts with.
    pub(crate) const DEFAULT: u32 = BRACEEXPAND | HASHALL | INTERACTIVE_COMMENTS;
}

/// Name, letter (0 for none) and bit, in the order of `set -o`.
pub(crate) const SET_OPTIONS: [(&str, u8, u32); 27] = [
    ("allexport", b'a', opt::ALLEXPORT),
    ("braceexpand", b'B', opt::BRACEEXPAND),
    ("emacs", 0, opt::EMACS),
    ("errexit", b'e', opt::ERREXIT),
    ("errtrace", b'E', opt::ERRTRACE),
    ("functrace", b'T', opt::FUNCTRACE),
    ("hashall", b'h', opt::HASHALL),
    ("histexpand", b'H', opt::HISTEXPAND),
    ("history", 0, opt::HISTORY),
    ("ignoreeof", 0, opt::IGNOREEOF),
    ("interactive-comments", 0, opt::INTERACTIVE_COMMENTS),
    ("keyword", b'k', opt::KEYWORD),
    ("monitor", b'm', opt::MONITOR),
    ("noclobber", b'C', opt::NOCLOBBER),
    ("noexec", b'n', opt::NOEXEC),
    ("noglob", b'f', opt::NOGLOB),
    ("nolog", 0, opt::NOLOG),
    ("notify", b'b', opt::NOTIFY),
    ("nounset", b'u', opt::NOUNSET),
    ("onecmd", b't', opt::ONECMD),
    ("physical", b'P', opt::PHYSICAL),
    ("pipefail", 0, opt::PIPEFAIL),
    ("posix", 0, opt::POSIX),
    ("privileged", b'p', opt::PRIVILEGED),
    ("verbose", b'v', opt::VERBOSE),
    ("vi", 0, opt::VI),
    ("xtrace", b'x', opt::XTRACE),
];

/// Names of `shopt`, in its order; a name's place is its bit. `+` marks those that start on.
pub(crate) const SHOPTS: [&str; 55] = [
    "autocd",
    "assoc_expand_once",
    "cdable_vars",
    "cdspell",
    "checkhash",
    "checkjobs",
    "+checkwinsize",
    "+cmdhist",
    "compat31",
    "compat32",
    "compat40",
    "compat41",
    "compat42",
    "compat43",
    "compat44",
    "+complete_fullquote",
    "direxpand",
    "dirspell",
    "dotglob",
    "execfail",
    "expand_aliases",
    "extdebug",
    "extglob",
    "+extquote",
    "failglob",
    "+force_fignore",
    "+globasciiranges",
    "+globskipdots",
    "globstar",
    "gnu_errfmt",
    "histappend",
    "histreedit",
    "histverify",
    "+hostcomplete",
    "huponexit",
    "inherit_errexit",
    "+interactive_comments",
    "lastpipe",
    "lithist",
    "localvar_inherit",
    "localvar_unset",
    "login_shell",
    "mailwarn",
    "no_empty_cmd_completion",
    "nocaseglob",
    "nocasematch",
    "noexpand_translation",
    "nullglob",
    "+patsub_replacement",
    "+progcomp",
    "progcomp_alias",
    "+promptvars",
    "restricted_shell",
    "shift_verbose",
    "+sourcepath",
];

/// `xpg_echo`, the last of `shopt`'s names.
pub(crate) const XPG_ECHO_NAME: &str = "xpg_echo";

const fn bit_of(name: &str) -> u64 {
    let mut at = 0;
    while at < SHOPTS.len() {
        let have = SHOPTS[at].as_bytes();
        let skip = if have[0] == b'+' { 1 } else { 0 };
        if have.len() - skip == name.len() {
            let mut i = 0;
            while i < name.len() && have[i + skip] == name.as_bytes()[i] {
                i += 1;
            }
            if i == name.len() {
                return 1 << at;
            }
        }
        at += 1;
    }
    0
}

/// Bits of `shopt` that the shell itself looks at.
pub(crate) mod shopt {
    use super::bit_of;
    pub(crate) const CDABLE_VARS: u64 = bit_of("cdable_vars");
    pub(crate) const DOTGLOB: u64 = bit_of("dotglob");
    pub(crate) const EXECFAIL: u64 = bit_of("execfail");
    pub(crate) const EXPAND_ALIASES: u64 = bit_of("expand_aliases");
    pub(crate) const EXTDEBUG: u64 = bit_of("extdebug");
    pub(crate) const EXTGLOB: u64 = bit_of("extglob");
    pub(crate) const FAILGLOB: u64 = bit_of("failglob");
    pub(crate) const GLOBSKIPDOTS: u64 = bit_of("globskipdots");
    pub(crate) const GLOBSTAR: u64 = bit_of("globstar");
    pub(crate) const INHERIT_ERREXIT: u64 = bit_of("inherit_errexit");
    pub(crate) const LASTPIPE: u64 = bit_of("lastpipe");
    pub(crate) const LOCALVAR_INHERIT: u64 = bit_of("localvar_inherit");
    pub(crate) const LOGIN_SHELL: u64 = bit_of("login_shell");
    pub(crate) const NOCASEGLOB: u64 = bit_of("nocaseglob");
    pub(crate) const NOCASEMATCH: u64 = bit_of("nocasematch");
    pub(crate) const NULLGLOB: u64 = bit_of("nullglob");
    pub(crate) const PATSUB_REPLACEMENT: u64 = bit_of("patsub_replacement");
    pub(crate) const SHIFT_VERBOSE: u64 = bit_of("shift_verbose");
    pub(crate) const SOURCEPATH: u64 = bit_of("sourcepath");
    pub(crate) const XPG_ECHO: u64 = 1 << 55;
}

/// What `shopt` starts with.
pub(crate) const SHOPT_DEFAULT: u64 = {
    let mut bits = 0;
    let mut at = 0;
    while at < SHOPTS.len() {
        if SHOPTS[at].as_bytes()[0] == b'+' {
            bits |= 1 << at;
        }
        at += 1;
    }
    bits
};

/// All `shopt` names with their bits, in order.
pub(crate) fn shopts() -> impl Iterator<Item = (&'static str, u64)> {
    let named = SHOPTS
        .iter()
        .enumerate()
        .map(|(at, name)| (name.strip_prefix('+').unwrap_or(name), 1 << at));
    named.chain([(XPG_ECHO_NAME, shopt::XPG_ECHO)])
}

/// The bit of a `shopt` name.
pub(crate) fn shopt_bit(name: &[u8]) -> Option<u64> {
    shopts()
        .find(|(have, _)| have.as_bytes() == name)
        .map(|(_, bit)| bit)
}

/// The bit of a `set -o` name.
pub(crate) fn set_bit(name: &[u8]) -> Option<u32> {
    SET_OPTIONS
        .iter()
        .find(|(have, ..)| have.as_bytes() == name)
        .map(|(.., bit)| *bit)
}

/// The bit of a `set` letter.
pub(crate) fn letter_bit(letter: u8) -> Option<u32> {
    SET_OPTIONS
        .iter()
        .find(|(_, have, _)| *have == letter && letter != 0)
        .map(|(.., bit)| *bit)
}
