//! Following files: what is added is shown, until nothing is left to follow.

use sandbar_guest::{Errno, Fd, fd, fd::Whence, file, process};

use super::{Follow, Request, Source, TOOL, heading, last};
use crate::applets::{cli::Output, proc};

/// A file that is followed.
struct Followed {
    source: Source,
    /// Device and number of what is open.
    id: (u64, u64),
    /// It was told that the name leads nowhere.
    missing: bool,
    /// It is not looked at any more.
    given_up: bool,
}

/// Follows the sources; whether something failed. Ends when the process of `--pid` does, or when nothing is left.
pub(super) fn follow(
    request: &Request,
    sources: Vec<Source>,
    shown: Option<usize>,
    out: &mut Output,
) -> bool {
    let mut files: Vec<_> = sources
        .into_iter()
        .map(|source| Followed::new(source, request))
        .collect();
    let mut shown = shown;
    if files.iter().all(|file| file.given_up) {
        // A pipe has been read to its end; there can't be more.
        let only_pipes = files.iter().all(|file| file.source.fd.is_some());
        if !only_pipes {
            TOOL.warn("no files remaining");
        }
        return !only_pipes;
    }
    loop {
        let ended = request.pid.is_some_and(has_ended);
        for (index, file) in files
            .iter_mut()
            .enumerate()
            .filter(|(_, file)| !file.given_up)
        {
            if request.follow == Follow::Name {
                file.look_up(request);
            }
            file.show_more(request, index, &mut shown, out);
        }
        out.flush();
        if ended {
            return false;
        }
        if files.iter().all(|file| file.given_up) {
            TOOL.warn("no files remaining");
            return true;
        }
        let _interrupted = fd::poll(&mut [], Some(request.interval));
    }
}

/// Whether a process has ended, waited for by its parent or not.
fn has_ended(pid: i32) -> bool {
    process::kill(pid, None) == Err(Errno::ESRCH)
        || proc::one(pid).is_some_and(|process| process.state == 'Z')
}

impl Followed {
    fn new(source: Source, request: &Request) -> Self {
        let stat = source.fd.and_then(|fd| file::stat_fd(fd).ok());
        let is_pipe = stat.is_some_and(|stat| !stat.is_file() && source.is_stdin());
        let id = stat.map_or((0, 0), |stat| (stat.dev, stat.ino));
        let missing = source.fd.is_none();
        let given_up = is_pipe || (missing && !(request.retry && request.follow == Follow::Name));
        Self {
            source,
            id,
            missing,
            given_up,
        }
    }

    /// Looks whether the name leads to another file by now.
    fn look_up(&mut self, request: &Request) {
        if self.source.is_stdin() {
            return;
        }
        let quoted = self.source.quoted();
        match file::stat(&self.source.path, file::Follow::Follow) {
            Ok(stat) if self.source.fd.is_some() && (stat.dev, stat.ino) == self.id => {
                self.missing = false;
            }
            Ok(stat) => {
                let text = if self.missing {
                    "has appeared"
                } else {
                    "has been replaced"
                };
                self.close();
                if self.source.open().is_ok() {
                    TOOL.warn(format!("{quoted} {text};  following new file"));
                    (self.id, self.missing) = ((stat.dev, stat.ino), false);
                }
            }
            Err(errno) if !self.missing => {
                self.missing = true;
                TOOL.warn(format!("{quoted} has become inaccessible: {errno}"));
                self.close();
                self.given_up = !request.retry;
            }
            Err(_) => {}
        }
    }

    fn close(&mut self) {
        if let Some(fd) = self.source.fd.take().filter(|fd| *fd != Fd::STDIN) {
            let _read_only = fd.close();
        }
    }

    fn show_more(
        &mut self,
        request: &Request,
        index: usize,
        shown: &mut Option<usize>,
        out: &mut Output,
    ) {
        let Some(fd) = self.source.fd else { return };
        let position = fd.seek(0, Whence::Current).ok();
        let size = file::stat_fd(fd)
            .ok()
            .filter(file::Stat::is_file)
            .map(|stat| stat.len);
        if let (Some(position), Some(size)) = (position, size) {
            if size == position {
                return;
            }
            if size < position {
                out.flush();
                TOOL.warn(format!(
                    "{}: file truncated",
                    String::from_utf8_lossy(&self.source.path)
                ));
                let _from_start = fd.seek(0, Whence::Start);
            }
        }
        if request.headings && *shown != Some(index) {
            heading(&self.source.title(), shown.is_some(), out);
        }
        *shown = Some(index);
        if let Err(errno) = last::copy(fd, out) {
            out.flush();
            TOOL.warn(format!("error reading {}: {errno}", self.source.quoted()));
            self.given_up = true;
        }
    }
}
