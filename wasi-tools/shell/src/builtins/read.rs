//! `read`

use std::time::Duration;

use crate::ast::Bytes;
use crate::parser::is_name;
use crate::shell::{Exec, Flow, Shell};
use crate::sys::{self, Errno};

/// Bytes read at once from a file that can be sought in; what is not used is given back.
const BLOCK: usize = 4096;
/// Longest input of one `read`, in bytes.
const MAX_LINE: usize = 256 << 20;

/// How the end of the input is found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) delimiter: u8,
    /// Characters to read.
    pub(crate) chars: Option<usize>,
    /// `-N`: the delimiter is nothing special.
    pub(crate) exact: bool,
    /// A backslash quotes the character after it.
    pub(crate) escapes: bool,
    pub(crate) deadline: Option<Duration>,
}

/// Why reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Delimiter,
    Eof,
    Timeout,
    Failed(Errno),
    Interrupted,
}

/// Reads bytes from a descriptor that others share: no more than is used.
pub(crate) struct Source {
    fd: i32,
    block: Bytes,
    at: usize,
    seekable: bool,
}

impl Source {
    pub(crate) fn new(fd: i32) -> Self {
        Self {
            fd,
            block: Bytes::new(),
            at: 0,
            seekable: sys::tell(fd).is_ok(),
        }
    }

    pub(crate) fn byte(&mut self, deadline: Option<Duration>) -> Result<u8, Ended> {
        if let Some(&b) = self.block.get(self.at) {
            self.at += 1;
            return Ok(b);
        }
        if let Some(deadline) = deadline {
            let left = deadline.saturating_sub(sandbar_guest::time::monotonic());
            match sys::readable(self.fd, Some(left)) {
                Ok(true) => {}
                Ok(false) => return Err(Ended::Timeout),
                Err(Errno::EINTR) => return Err(Ended::Interrupted),
                Err(error) => return Err(Ended::Failed(error)),
            }
        }
        self.block.resize(if self.seekable { BLOCK } else { 1 }, 0);
        match sandbar_guest::Fd(self.fd).read(&mut self.block) {
            Ok(0) => {
                self.block.clear();
                Err(Ended::Eof)
            }
            Ok(count) => {
                self.block.truncate(count);
                self.at = 1;
                Ok(self.block[0])
            }
            Err(Errno::EINTR) => {
                self.block.clear();
                Err(Ended::Interrupted)
            }
            Err(error) => {
                self.block.clear();
                Err(Ended::Failed(error))
            }
        }
    }

    /// Gives back what was read ahead.
    pub(crate) fn finish(self) {
        let back = i64::try_from(self.block.len() - self.at.min(self.block.len())).unwrap_or(0);
        if back > 0 {
            let _unseekable = sys::seek_relative(self.fd, -back);
        }
    }
}

/// A line and, per byte, whether a backslash quoted it.
struct Line {
    text: Bytes,
    quoted: Vec<bool>,
    ended: Ended,
}

impl Shell {
    fn read_line(&mut self, fd: i32, limit: &Limit) -> Result<Line, Flow> {
        let mut source = Source::new(fd);
        let mut line = Line {
            text: Bytes::new(),
            quoted: Vec::new(),
            ended: Ended::Delimiter,
        };
        let mut escaped = false;
        let mut chars = 0;
        let mut pending = 0_usize;
        if limit.chars == Some(0) {
            return Ok(line);
        }
        loop {
            let b = match source.byte(limit.deadline) {
                Ok(b) => b,
                Err(Ended::Interrupted) => {
                    self.run_signal_traps()?;
                    continue;
                }
                Err(ended) => {
                    line.ended = ended;
                    break;
                }
            };
            if escaped {
                escaped = false;
                if b == b'\n' {
                    continue;
                }
                line.text.push(b);
                line.quoted.push(true);
            } else if b == b'\\' && limit.escapes {
                escaped = true;
                continue;
            } else if b == limit.delimiter && !limit.exact {
                break;
            } else if b == 0 {
                continue;
            } else {
                line.text.push(b);
                line.quoted.push(false);
            }
            // A character counts when its last byte is there.
            if pending > 0 {
                pending -= 1;
            } else {
                pending = match b {
                    0xc2..=0xdf => 1,
                    0xe0..=0xef => 2,
                    0xf0..=0xf4 => 3,
                    _ => 0,
                };
            }
            if pending == 0 {
                chars += 1;
            }
            if limit.chars.is_some_and(|max| chars >= max) || line.text.len() >= MAX_LINE {
                break;
            }
        }
        source.finish();
        Ok(line)
    }

    /// A line without its newline; `None` at the end of the input.
    pub(crate) fn read_plain_line(&mut self, fd: i32) -> Option<Bytes> {
        let limit = Limit {
            delimiter: b'\n',
            chars: None,
            exact: false,
            escapes: true,
            deadline: None,
        };
        let line = self.read_line(fd, &limit).ok()?;
        (line.ended == Ended::Delimiter || !line.text.is_empty()).then_some(line.text)
    }
}

#[expect(clippy::too_many_lines, reason = "the options one after another")]
pub(super) fn read(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "ersa:d:i:n:N:p:t:u:") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let number = |text: &Bytes| {
        std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<usize>().ok())
    };
    let mut limit = Limit {
        delimiter: b'\n',
        chars: None,
        exact: false,
        escapes: !parsed.has(b'r'),
        deadline: None,
    };
    let mut fd = 0;
    for (letter, value) in &parsed.options {
        match letter {
            b'd' => limit.delimiter = value.first().copied().unwrap_or(0),
            b'n' | b'N' => {
                if let Some(count) = number(value) {
                    limit.chars = Some(count);
                    limit.exact = *letter == b'N';
                } else {
                    shell.complain_about(value, "invalid number");
                    return Ok(1);
                }
            }
            b't' => {
                if let Some(seconds) = std::str::from_utf8(value)
                    .ok()
                    .and_then(|text| text.parse::<f64>().ok())
                    .filter(|seconds| *seconds >= 0.0)
                {
                    let wait = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
                    limit.deadline = Some(sandbar_guest::time::monotonic().saturating_add(wait));
                    if seconds == 0.0 {
                        limit.chars = Some(usize::MAX);
                    }
                } else {
                    shell.complain_about(value, "invalid timeout specification");
                    return Ok(1);
                }
            }
            b'u' => match number(value).and_then(|fd| i32::try_from(fd).ok()) {
                Some(number) if sys::is_open(number) => fd = number,
                Some(number) => {
                    shell.complain(
                        format!("{number}: invalid file descriptor: Bad file descriptor")
                            .as_bytes(),
                    );
                    return Ok(1);
                }
                None => {
                    shell.complain_about(value, "invalid file descriptor specification");
                    return Ok(1);
                }
            },
            _ => {}
        }
    }
    let names = &args[parsed.next..];
    for name in names.iter().chain(parsed.value(b'a')) {
        let base = name.split(|&b| b == b'[').next().unwrap_or(name);
        if !is_name(base) {
            shell.complain(&[b"`".as_slice(), name, b"': not a valid identifier"].concat());
            return Ok(1);
        }
    }
    if let Some(prompt) = parsed.value(b'p').filter(|_| sys::is_terminal(fd)) {
        let prompt = prompt.clone();
        shell.print_error(&prompt);
    }
    if limit.chars == Some(usize::MAX) {
        // `-t 0` only asks whether there is something to read.
        return Ok(i32::from(
            !sys::readable(fd, Some(Duration::ZERO)).unwrap_or(false),
        ));
    }
    let line = shell.read_line(fd, &limit)?;
    if let Ended::Failed(error) = line.ended
        && line.text.is_empty()
    {
        shell.complain(format!("read error: {fd}: {}", sys::message(error)).as_bytes());
        return Ok(1);
    }
    if let Some(name) = parsed.value(b'a') {
        let ifs = shell.ifs();
        let fields = all_fields(&line, &ifs);
        shell.set_array(name, fields)?;
    } else if names.is_empty() {
        shell.set(b"REPLY", line.text.clone())?;
    } else if limit.exact {
        assign(shell, &names[0], line.text.clone())?;
        for name in &names[1..] {
            assign(shell, name, Bytes::new())?;
        }
    } else {
        let ifs = shell.ifs();
        for (name, value) in names.iter().zip(fields_for(&line, &ifs, names.len())) {
            assign(shell, name, value)?;
        }
    }
    Ok(match line.ended {
        Ended::Delimiter => 0,
        Ended::Timeout => 142,
        _ => 1,
    })
}

fn assign(shell: &mut Shell, name: &[u8], value: Bytes) -> Result<(), Flow> {
    match name
        .iter()
        .position(|&b| b == b'[')
        .filter(|_| name.ends_with(b"]"))
    {
        Some(at) => {
            let key = shell.key_of_text(&name[..at], &name[at + 1..name.len() - 1])?;
            shell.assign(&name[..at], Some(key), value, false)
        }
        None => shell.set(name, value),
    }
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n')
}

/// The next field from `at`, and where the one after it starts.
fn field(line: &Line, ifs: &[u8], mut at: usize) -> (usize, usize, usize) {
    let separator = |at: usize| !line.quoted[at] && ifs.contains(&line.text[at]);
    while at < line.text.len() && separator(at) && is_space(line.text[at]) {
        at += 1;
    }
    let start = at;
    while at < line.text.len() && !separator(at) {
        at += 1;
    }
    let end = at;
    while at < line.text.len() && separator(at) && is_space(line.text[at]) {
        at += 1;
    }
    if at < line.text.len()
        && separator(at)
        && (at > end || !is_space(line.text[at]))
        && !is_space(line.text[at])
    {
        at += 1;
        while at < line.text.len() && separator(at) && is_space(line.text[at]) {
            at += 1;
        }
    }
    (start, end, at)
}

fn all_fields(line: &Line, ifs: &[u8]) -> Vec<Bytes> {
    let mut fields = Vec::new();
    let mut at = 0;
    while at < line.text.len() {
        let (start, end, next) = field(line, ifs, at);
        if start >= line.text.len() {
            break;
        }
        fields.push(line.text[start..end].to_vec());
        at = next;
    }
    fields
}

/// Values for `count` names: the last gets all that is left.
fn fields_for(line: &Line, ifs: &[u8], count: usize) -> Vec<Bytes> {
    let mut values = Vec::with_capacity(count);
    let mut at = 0;
    for index in 0..count {
        if index + 1 < count {
            let (start, end, next) = field(line, ifs, at);
            values.push(line.text[start.min(line.text.len())..end].to_vec());
            at = next;
            continue;
        }
        let separator = |at: usize| !line.quoted[at] && ifs.contains(&line.text[at]);
        let mut start = at;
        while start < line.text.len() && separator(start) && is_space(line.text[start]) {
            start += 1;
        }
        let mut end = line.text.len();
        while end > start && separator(end - 1) && is_space(line.text[end - 1]) {
            end -= 1;
        }
        // A single field does not keep the separator after it.
        let (first_start, first_end, next) = field(line, ifs, start);
        if next >= line.text.len() {
            start = first_start;
            end = first_end.max(first_start);
        }
        values.push(line.text[start..end].to_vec());
    }
    values
}
