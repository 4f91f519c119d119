//! Colours by type and ending, as `LS_COLORS` names them.

use sandbar_guest::file::{FileType, Stat};

use super::entry::Entry;

pub(super) struct Colors {
    /// Two letters of a type and its codes.
    types: Vec<(String, String)>,
    /// The end of a name and its codes.
    endings: Vec<(Vec<u8>, String)>,
}

/// What holds without `LS_COLORS`.
const DEFAULTS: &str = "di=01;34:ln=01;36:pi=33:so=01;35:bd=01;33:cd=01;33:su=37;41:sg=30;43:st=37;44:ow=34;42:tw=30;42:ex=01;32";

/// The beginnings of the names of terminals with colours, besides names with "color" in them.
const TERMINALS: [&str; 14] = [
    "xterm",
    "screen",
    "tmux",
    "linux",
    "vt100",
    "vt220",
    "ansi",
    "rxvt",
    "cygwin",
    "konsole",
    "kitty",
    "alacritty",
    "st",
    "Eterm",
];

impl Colors {
    /// Those of `LS_COLORS`; without it the defaults, if the terminal is one that has colours.
    pub(super) fn from_environment() -> Option<Self> {
        let mut colors = Self {
            types: Vec::new(),
            endings: Vec::new(),
        };
        colors.read(DEFAULTS);
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        match variable("LS_COLORS") {
            Some(text) => colors.read(&text),
            None if variable("COLORTERM").is_some() => {}
            None => {
                let term = variable("TERM")?;
                let known =
                    TERMINALS.iter().any(|known| term.starts_with(known)) || term.contains("color");
                known.then_some(())?;
            }
        }
        Some(colors)
    }

    fn read(&mut self, text: &str) {
        for (name, codes) in text.split(':').filter_map(|entry| entry.split_once('=')) {
            match name.strip_prefix('*') {
                Some(ending) => self
                    .endings
                    .push((ending.as_bytes().to_vec(), codes.to_owned())),
                None => self.types.push((name.to_owned(), codes.to_owned())),
            }
        }
    }

    /// The codes of a type; a later entry counts more, and 0 is none.
    fn of_type(&self, name: &str) -> Option<&str> {
        let codes = self
            .types
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, codes)| codes.as_str());
        codes.filter(|codes| !matches!(*codes, "" | "0" | "00" | "target"))
    }

    /// The codes for an entry.
    pub(super) fn of(&self, entry: &Entry) -> Option<&str> {
        let Some(stat) = entry.stat else {
            return self.of_type("mi").or_else(|| self.of_type("or"));
        };
        if stat.is_symlink() {
            let orphan = entry
                .target_stat
                .is_none()
                .then(|| self.of_type("or"))
                .flatten();
            return orphan.or_else(|| self.of_type("ln"));
        }
        self.of_file(&entry.name, &stat)
    }

    /// The codes for what a link leads to.
    ///
    /// NOTE: GNU looks there only when links that lead nowhere have a colour of their own.
    pub(super) fn of_target(&self, entry: &Entry) -> Option<&str> {
        self.of_type("or").or_else(|| self.of_type("mi"))?;
        match &entry.target_stat {
            Some(stat) => self.of_file(entry.target.as_deref().unwrap_or_default(), stat),
            None => self.of_type("mi").or_else(|| self.of_type("or")),
        }
    }

    fn of_file(&self, name: &[u8], stat: &Stat) -> Option<&str> {
        let has = |bits: u32| stat.mode & bits == bits;
        let kind = match stat.file_type() {
            FileType::Regular => {
                let special = [(0o4000, "su"), (0o2000, "sg")];
                let special = special
                    .iter()
                    .find(|(bit, name)| has(*bit) && self.of_type(name).is_some());
                match special {
                    Some((_, name)) => name,
                    None if stat.mode & 0o111 != 0 && self.of_type("ex").is_some() => "ex",
                    None => "fi",
                }
            }
            FileType::Directory if has(0o1002) && self.of_type("tw").is_some() => "tw",
            FileType::Directory if has(0o002) && self.of_type("ow").is_some() => "ow",
            FileType::Directory if has(0o1000) && self.of_type("st").is_some() => "st",
            FileType::Directory => "di",
            FileType::Symlink => "ln",
            FileType::Fifo => "pi",
            FileType::Socket => "so",
            FileType::BlockDevice => "bd",
            FileType::CharDevice => "cd",
            FileType::Unknown => "or",
        };
        if kind == "fi" {
            let ending = self
                .endings
                .iter()
                .rev()
                .find(|(ending, _)| name.ends_with(ending));
            if let Some((_, codes)) = ending {
                return Some(codes);
            }
        }
        self.of_type(kind)
    }
}
