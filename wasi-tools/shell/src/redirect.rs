//! Redirections inside the shell: descriptors are changed, remembered and put back.

use crate::ast::{Bytes, Redir, RedirFd, RedirOp};
use crate::options::opt;
use crate::parser::is_name;
use crate::shell::{Flow, Shell};
use crate::sys::{self, Errno, OpenFlags, PRIVATE_FD};

/// What a descriptor was before a redirection.
#[derive(Debug)]
pub(crate) struct Saved {
    fd: i32,
    /// A private copy; `None` when the descriptor was closed.
    copy: Option<i32>,
    /// The capture it stood for.
    sink: Option<usize>,
}

/// Here-documents up to this size go through a pipe, which holds them whole; longer ones through a file.
const PIPE_CAPACITY: usize = 1 << 16;

impl Shell {
    /// Remembers a descriptor until [`Shell::restore_fds`].
    pub(crate) fn save_fd(&mut self, fd: i32) {
        let copy = sys::dup_private(fd, PRIVATE_FD).ok();
        let sink = self.sink(fd);
        self.saved_fds.push(Saved { fd, copy, sink });
    }

    /// Puts everything back that was saved after `mark`.
    pub(crate) fn restore_fds(&mut self, mark: usize) {
        while self.saved_fds.len() > mark {
            if let Some(saved) = self.saved_fds.pop() {
                self.restore(&saved);
            }
        }
    }

    pub(crate) fn restore(&mut self, saved: &Saved) {
        match saved.copy {
            Some(copy) => {
                let _restored = sys::dup2(copy, saved.fd);
                sys::close(copy);
            }
            None => sys::close(saved.fd),
        }
        self.sinks.retain(|(fd, _)| *fd != saved.fd);
        if let Some(capture) = saved.sink {
            self.sinks.push((saved.fd, capture));
        }
    }

    /// Makes the redirections since `mark` permanent, as `exec` does: until the end of the subshell, if there is one.
    pub(crate) fn keep_fds(&mut self, mark: usize) {
        let kept = self.saved_fds.split_off(mark.min(self.saved_fds.len()));
        for saved in kept {
            match self.subshell_saves.last_mut() {
                Some(list) if !list.iter().any(|have| have.fd == saved.fd) => list.push(saved),
                _ => {
                    if let Some(copy) = saved.copy {
                        sys::close(copy);
                    }
                }
            }
        }
    }

    /// Makes `fd` the same as `from`.
    pub(crate) fn point_fd(&mut self, fd: i32, from: i32) -> sys::Sys<()> {
        sys::dup2(from, fd)?;
        self.sinks.retain(|(number, _)| *number != fd);
        Ok(())
    }

    /// Applies redirections in order. The caller restores with the mark it took before, on failure, too.
    pub(crate) fn redirect(&mut self, redirs: &[Redir]) -> Result<(), Flow> {
        for redir in redirs {
            self.redirect_one(redir)?;
        }
        Ok(())
    }

    fn redirect_one(&mut self, redir: &Redir) -> Result<(), Flow> {
        let default = match redir.op {
            RedirOp::Read
            | RedirOp::ReadWrite
            | RedirOp::DupIn
            | RedirOp::HereDoc
            | RedirOp::HereString => 0,
            _ => 1,
        };
        match redir.op {
            RedirOp::DupIn | RedirOp::DupOut => self.redirect_dup(redir, default),
            RedirOp::HereDoc | RedirOp::HereString => {
                let text = if let Some(doc) = &redir.heredoc {
                    let body = doc.body.borrow();
                    self.expand_single(&body)?
                } else {
                    let mut text = self.expand_single(&redir.target)?;
                    text.push(b'\n');
                    text
                };
                let source = Self::text_descriptor(&text)
                    .map_err(|error| self.redirect_failed(b"here-document", error))?;
                self.install(redir, default, source)
            }
            _ => {
                let path = self.redirect_target(redir)?;
                if let Some(number) = self.sink_path(&path) {
                    return self.duplicate(redir, default, number);
                }
                let source = self.open_target(redir.op, &path)?;
                if matches!(redir.op, RedirOp::Both | RedirOp::BothAppend) {
                    return self.install_both(source);
                }
                self.install(redir, default, source)
            }
        }
    }

    /// The descriptor behind `/dev/stdout` and the like, when it stands for a capture.
    fn sink_path(&self, path: &[u8]) -> Option<i32> {
        let number = match path {
            b"/dev/stdout" => 1,
            b"/dev/stderr" => 2,
            _ => {
                let digits = path
                    .strip_prefix(b"/dev/fd/")
                    .or_else(|| path.strip_prefix(b"/proc/self/fd/"))?;
                std::str::from_utf8(digits).ok()?.parse().ok()?
            }
        };
        self.sink(number).map(|_| number)
    }

    fn redirect_target(&mut self, redir: &Redir) -> Result<Bytes, Flow> {
        let mut words = Vec::new();
        self.expand_word(&redir.target, &mut words)?;
        if let [only] = words.as_mut_slice() {
            Ok(std::mem::take(only))
        } else {
            self.error(&[&redir.target.raw, b": ambiguous redirect".as_slice()].concat());
            Err(Flow::Discard(1))
        }
    }

    fn open_target(&mut self, op: RedirOp, path: &[u8]) -> Result<i32, Flow> {
        let write = OpenFlags::WRONLY | OpenFlags::CREAT;
        let mut flags = match op {
            RedirOp::Read => OpenFlags::RDONLY,
            RedirOp::ReadWrite => OpenFlags::RDWR | OpenFlags::CREAT,
            RedirOp::Append | RedirOp::BothAppend => write | OpenFlags::APPEND,
            _ => write | OpenFlags::TRUNC,
        };
        if self.on(opt::NOCLOBBER) && matches!(op, RedirOp::Write | RedirOp::Both) {
            match sys::stat(path) {
                Ok(stat) if stat.is_file() => {
                    self.error(&[path, b": cannot overwrite existing file"].concat());
                    return Err(Flow::Discard(1));
                }
                Ok(_) => {}
                // Nobody may make the file between the look and the open.
                Err(_) => flags |= OpenFlags::EXCL,
            }
        }
        sys::open(path, flags | OpenFlags::CLOEXEC, 0o666)
            .map_err(|error| self.redirect_failed(path, error))
    }

    fn redirect_failed(&mut self, what: &[u8], error: Errno) -> Flow {
        self.error(&[what, b": ", sys::message(error).as_bytes()].concat());
        Flow::Discard(1)
    }

    /// A descriptor from which `text` can be read.
    pub(crate) fn text_descriptor(text: &[u8]) -> sys::Sys<i32> {
        if text.len() <= PIPE_CAPACITY {
            let (read, write) = sys::private_pipe()?;
            let written = sys::write_all(write, text);
            sys::close(write);
            written?;
            return Ok(read);
        }
        let flags = OpenFlags::RDWR | OpenFlags::CREAT | OpenFlags::EXCL | OpenFlags::CLOEXEC;
        let now = sandbar_guest::time::realtime_ns();
        let path = format!("/tmp/.sh-here-{}-{now}", sys::pid()).into_bytes();
        let fd = sys::open(&path, flags, 0o600)?;
        let _unlinked = sandbar_guest::file::unlink(&path);
        sys::write_all(fd, text)?;
        sandbar_guest::Fd(fd).seek(0, sys::Whence::Start)?;
        Ok(fd)
    }

    /// Gives `source`, which is closed afterwards, the number that the redirection names.
    fn install(&mut self, redir: &Redir, default: i32, source: i32) -> Result<(), Flow> {
        let result = match &redir.fd {
            RedirFd::Variable(name) => {
                let number = sandbar_guest::Fd(source).dup(PRIVATE_FD, sys::OnExec::Keep);
                match number {
                    Ok(number) => self.set(name, number.0.to_string().into_bytes()),
                    Err(error) => Err(self.redirect_failed(name, error)),
                }
            }
            RedirFd::Number(fd) => return self.install_number(*fd, source),
            RedirFd::Default => return self.install_number(default, source),
        };
        sys::close(source);
        result
    }

    fn install_number(&mut self, fd: i32, source: i32) -> Result<(), Flow> {
        if fd == source {
            // It was closed and so was the lowest free number.
            self.saved_fds.push(Saved {
                fd,
                copy: None,
                sink: self.sink(fd),
            });
            self.sinks.retain(|(number, _)| *number != fd);
            let kept = sandbar_guest::Fd(fd).set_on_exec(sys::OnExec::Keep);
            return kept.map_err(|error| self.redirect_failed(fd.to_string().as_bytes(), error));
        }
        self.save_fd(fd);
        let result = self
            .point_fd(fd, source)
            .map_err(|error| self.redirect_failed(fd.to_string().as_bytes(), error));
        sys::close(source);
        result
    }

    /// Standard output and standard error.
    fn install_both(&mut self, source: i32) -> Result<(), Flow> {
        self.install_number(1, source)?;
        self.save_fd(2);
        self.point_fd(2, 1)
            .map_err(|error| self.redirect_failed(b"2", error))
    }

    fn redirect_dup(&mut self, redir: &Redir, default: i32) -> Result<(), Flow> {
        let target = self.redirect_target(redir)?;
        let (digits, close_source) = match target.strip_suffix(b"-") {
            Some(rest) => (rest, true),
            None => (target.as_slice(), false),
        };
        if digits.is_empty() {
            return self.redirect_close(redir, default);
        }
        let number = std::str::from_utf8(digits)
            .ok()
            .filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|text| text.parse::<i32>().ok());
        let Some(number) = number else {
            // `>&word` with a file name stands for `&>word`.
            if redir.op == RedirOp::DupOut
                && matches!(redir.fd, RedirFd::Default | RedirFd::Number(1))
                && !is_number(digits)
            {
                let source = self.open_target(RedirOp::Both, &target)?;
                return self.install_both(source);
            }
            self.error(&[&redir.target.raw, b": ambiguous redirect".as_slice()].concat());
            return Err(Flow::Discard(1));
        };
        self.duplicate(redir, default, number)?;
        if close_source && Self::redir_number(redir, default) != Some(number) {
            self.save_fd(number);
            sys::close(number);
        }
        Ok(())
    }

    fn redir_number(redir: &Redir, default: i32) -> Option<i32> {
        match redir.fd {
            RedirFd::Default => Some(default),
            RedirFd::Number(fd) => Some(fd),
            RedirFd::Variable(_) => None,
        }
    }

    fn duplicate(&mut self, redir: &Redir, default: i32, number: i32) -> Result<(), Flow> {
        let capture = self.sink(number);
        if capture.is_none() && (!sys::is_open(number) || self.is_private(number)) {
            return Err(self.redirect_failed(number.to_string().as_bytes(), Errno::EBADF));
        }
        match Self::redir_number(redir, default) {
            Some(fd) if fd == number => Ok(()),
            Some(fd) => {
                self.save_fd(fd);
                match capture {
                    Some(capture) => {
                        // What the number was is of no more use; programs get a pipe in its place.
                        self.sinks.retain(|(have, _)| *have != fd);
                        self.sinks.push((fd, capture));
                        Ok(())
                    }
                    None => self.point_fd(fd, number).map_err(|error| {
                        self.redirect_failed(number.to_string().as_bytes(), error)
                    }),
                }
            }
            None => {
                let RedirFd::Variable(name) = &redir.fd else {
                    return Ok(());
                };
                let copy = sandbar_guest::Fd(number).dup(PRIVATE_FD, sys::OnExec::Keep);
                let copy = copy.map_err(|error| self.redirect_failed(name, error))?;
                if let Some(capture) = capture {
                    self.sinks.push((copy.0, capture));
                }
                self.set(name, copy.0.to_string().into_bytes())
            }
        }
    }

    /// Whether the shell keeps this descriptor for itself.
    fn is_private(&self, number: i32) -> bool {
        self.saved_fds
            .iter()
            .chain(self.subshell_saves.iter().flatten())
            .any(|saved| saved.copy == Some(number))
    }

    fn redirect_close(&mut self, redir: &Redir, default: i32) -> Result<(), Flow> {
        let fd = match &redir.fd {
            RedirFd::Variable(name) => {
                let value = self.get(name).map(|text| text.to_vec()).unwrap_or_default();
                if let Some(fd) = std::str::from_utf8(&value)
                    .ok()
                    .and_then(|text| text.parse::<i32>().ok())
                {
                    // `{name}>&-` is not undone.
                    sys::close(fd);
                    return Ok(());
                }
                let shown = if is_name(name) { name.as_slice() } else { b"" };
                self.error(&[shown, b": ambiguous redirect"].concat());
                return Err(Flow::Discard(1));
            }
            RedirFd::Number(fd) => *fd,
            RedirFd::Default => default,
        };
        self.save_fd(fd);
        sys::close(fd);
        self.sinks.retain(|(number, _)| *number != fd);
        Ok(())
    }
}

fn is_number(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_digit)
}
