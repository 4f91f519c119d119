//! Directories: walking through them, making their copies, and setting what they get at the end.

use sandbar_guest::{
    Errno,
    file::{self, Follow, Stat},
};

use super::{Copy, Reported, follow_at};
use crate::applets::quote::quote;

/// A step of the walk.
enum Step {
    Copy {
        source: Vec<u8>,
        target: Vec<u8>,
        given: bool,
    },
    /// A directory whose contents have been copied.
    Finish {
        stat: Stat,
        target: Vec<u8>,
        is_new: bool,
    },
}

impl Copy {
    /// Copies what was given, with everything below it.
    pub(super) fn operand(&mut self, source: Vec<u8>, target: Vec<u8>) {
        if self.options.parents && self.make_parents(&source, &target).is_err() {
            return;
        }
        self.top = (source.clone(), target.clone());
        let mut device = None;
        // A stack instead of recursion: depth is the file system's to choose.
        let mut steps = vec![Step::Copy {
            source,
            target,
            given: true,
        }];
        while let Some(step) = steps.pop() {
            match step {
                Step::Copy {
                    source,
                    target,
                    given,
                } => {
                    let _reported = self.step(&source, &target, given, &mut device, &mut steps);
                }
                Step::Finish {
                    stat,
                    target,
                    is_new,
                } => {
                    let _reported = self.finish(&stat, &target, is_new);
                }
            }
        }
    }

    fn step(
        &mut self,
        source: &[u8],
        target: &[u8],
        given: bool,
        device: &mut Option<u64>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Reported> {
        let stat = file::stat(source, follow_at(&self.options, given));
        let stat =
            stat.map_err(|errno| self.fail(format!("cannot stat {}: {errno}", quote(source))))?;
        if self.options.one_system && *device.get_or_insert(stat.dev) != stat.dev {
            return Ok(());
        }
        if !stat.is_dir() {
            return self.copy_one(source, &stat, target);
        }
        if !self.options.recursive {
            return Err(self.fail(format!(
                "-r not specified; omitting directory {}",
                quote(source)
            )));
        }
        if self.made.contains(&(stat.dev, stat.ino)) {
            let (source, target) = (quote(&self.top.0), quote(&self.top.1));
            let text = format!("cannot copy a directory, {source}, into itself, {target}");
            return Err(self.fail(text));
        }
        let is_new = self.make_dir(source, &stat, target)?;
        let entries = file::read_dir(source);
        let entries = entries
            .map_err(|errno| self.fail(format!("cannot access {}: {errno}", quote(source))))?;
        steps.push(Step::Finish {
            stat,
            target: target.to_vec(),
            is_new,
        });
        let join = |dir: &[u8], name: &[u8]| {
            let slash: &[u8] = if dir.ends_with(b"/") { b"" } else { b"/" };
            [dir, slash, name].concat()
        };
        steps.extend(entries.iter().rev().map(|entry| Step::Copy {
            source: join(source, &entry.name),
            target: join(target, &entry.name),
            given: false,
        }));
        Ok(())
    }

    /// Makes the copy of a directory unless there is one; whether it is new.
    fn make_dir(&mut self, source: &[u8], stat: &Stat, target: &[u8]) -> Result<bool, Reported> {
        match file::stat(target, Follow::NoFollow) {
            Ok(existing) => {
                let is_dir = existing.is_dir()
                    || file::stat(target, Follow::Follow).is_ok_and(|stat| stat.is_dir());
                if !is_dir {
                    let (target, source) = (quote(target), quote(source));
                    return Err(self.fail(format!(
                        "cannot overwrite non-directory {target} with directory {source}"
                    )));
                }
                return Ok(false);
            }
            Err(Errno::ENOENT) => {}
            Err(errno) => {
                return Err(self.fail(format!("cannot access {}: {errno}", quote(target))));
            }
        }
        // The owner must get into it while it is filled.
        let made = file::make_dir(target, (stat.permissions() & 0o777 & !self.umask) | 0o700);
        made.map_err(|errno| {
            self.fail(format!(
                "cannot create directory {}: {errno}",
                quote(target)
            ))
        })?;
        if let Ok(made) = file::stat(target, Follow::NoFollow) {
            self.made.insert((made.dev, made.ino));
        }
        self.say_copy(source, target);
        Ok(true)
    }

    fn finish(&mut self, stat: &Stat, target: &[u8], is_new: bool) -> Result<(), Reported> {
        let wanted = if self.options.preserve.no_mode {
            0o777
        } else {
            stat.permissions() & 0o777
        } & !self.umask;
        if is_new && !self.options.preserve.mode && wanted & 0o700 != 0o700 {
            let set = file::set_mode(target, wanted);
            set.map_err(|errno| {
                self.fail(format!(
                    "setting permissions for {}: {errno}",
                    quote(target)
                ))
            })?;
        }
        self.set_attributes(stat, target)
    }

    /// Makes the directories of `--parents`, each with the mode of its original.
    fn make_parents(&mut self, source: &[u8], target: &[u8]) -> Result<(), Reported> {
        let Some(base) = target.len().checked_sub(source.len()) else {
            return Ok(());
        };
        let slashes = source
            .iter()
            .enumerate()
            .filter(|(at, byte)| **byte == b'/' && *at > 0);
        for end in slashes.map(|(at, _)| at).collect::<Vec<_>>() {
            let (from, to) = (
                source.get(..end).unwrap_or(source),
                target.get(..base + end).unwrap_or(target),
            );
            if to.ends_with(b"/") || file::stat(to, Follow::Follow).is_ok() {
                continue;
            }
            let stat = file::stat(from, Follow::Follow);
            let stat = stat.map_err(|errno| {
                self.fail(format!(
                    "failed to get attributes of {}: {errno}",
                    quote(from)
                ))
            })?;
            self.make_dir(from, &stat, to)?;
            self.finish(&stat, to, true)?;
        }
        Ok(())
    }
}
