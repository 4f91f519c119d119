//! One line of a listing: a name and what there is behind it.

use sandbar_guest::{
    Errno,
    file::{self, FileType, Follow, Stat},
};

use super::options::{Indicators, Links, Options};

pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    /// `None` when it can't be asked about.
    pub(super) stat: Option<Stat>,
    /// The text of a symbolic link.
    pub(super) target: Option<Vec<u8>>,
    /// What a symbolic link leads to.
    pub(super) target_stat: Option<Stat>,
    /// It is a link that was to be followed and leads nowhere.
    pub(super) is_link_problem: bool,
}

pub(super) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    match dir {
        b"." => name.to_vec(),
        dir if dir.ends_with(b"/") => [dir, name].concat(),
        dir => [dir, b"/", name].concat(),
    }
}

impl Entry {
    /// A name from the command line.
    pub(super) fn of_operand(path: &[u8], options: &Options) -> Result<Self, Errno> {
        let stat = match options.links {
            Links::All | Links::Given => file::stat(path, Follow::Follow),
            Links::Never => file::stat(path, Follow::NoFollow),
            // A link that leads nowhere is shown itself.
            Links::GivenToDirectories => match file::stat(path, Follow::Follow) {
                Ok(stat) if stat.is_dir() => Ok(stat),
                Ok(_) | Err(Errno::ENOENT) => file::stat(path, Follow::NoFollow),
                Err(errno) => Err(errno),
            },
        };
        Ok(Self::complete(path.to_vec(), path, stat?, options))
    }

    /// A name in a directory, and why no more than that is known.
    pub(super) fn of_name(dir: &[u8], name: Vec<u8>, options: &Options) -> (Self, Option<Errno>) {
        if options.names_only() {
            let entry = Self {
                name,
                stat: None,
                target: None,
                target_stat: None,
                is_link_problem: false,
            };
            return (entry, None);
        }
        let path = join(dir, &name);
        let follow = if options.links == Links::All {
            Follow::Follow
        } else {
            Follow::NoFollow
        };
        match file::stat(&path, follow) {
            Ok(stat) => (Self::complete(name, &path, stat, options), None),
            Err(errno) => {
                let is_link_problem =
                    follow == Follow::Follow && file::stat(&path, Follow::NoFollow).is_ok();
                (
                    Self {
                        name,
                        stat: None,
                        target: None,
                        target_stat: None,
                        is_link_problem,
                    },
                    Some(errno),
                )
            }
        }
    }

    fn complete(name: Vec<u8>, path: &[u8], stat: Stat, options: &Options) -> Self {
        let mut entry = Self {
            name,
            stat: Some(stat),
            target: None,
            target_stat: None,
            is_link_problem: false,
        };
        if stat.is_symlink() {
            entry.target = file::read_link(path).ok();
            let wants_target = options.colors.is_some()
                || options.directories_first
                || options.indicators >= Indicators::FileType;
            entry.target_stat = if wants_target {
                file::stat(path, Follow::Follow).ok()
            } else {
                None
            };
        }
        entry
    }

    pub(super) fn is_dir(&self) -> bool {
        self.stat.is_some_and(|stat| stat.is_dir())
    }

    /// A directory, or a link to one.
    pub(super) fn leads_to_dir(&self) -> bool {
        self.is_dir() || self.target_stat.is_some_and(|stat| stat.is_dir())
    }

    /// Blocks of 512 bytes.
    pub(super) fn blocks(&self) -> u64 {
        self.stat.map_or(0, |stat| stat.blocks)
    }

    /// The letter that shows the type.
    pub(super) fn indicator(&self, options: &Options) -> &'static str {
        self.stat
            .map_or("", |stat| indicator(&stat, options.indicators))
    }
}

/// The letter that shows the type of a file.
pub(super) fn indicator(stat: &Stat, indicators: Indicators) -> &'static str {
    match (stat.file_type(), indicators) {
        (_, Indicators::None) => "",
        (FileType::Directory, _) => "/",
        (_, Indicators::Slash) => "",
        (FileType::Symlink, _) => "@",
        (FileType::Fifo, _) => "|",
        (FileType::Socket, _) => "=",
        (FileType::Regular, Indicators::Classify) if stat.mode & 0o111 != 0 => "*",
        _ => "",
    }
}
