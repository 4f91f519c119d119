//! The shell's state as bytes: for a subshell in another process, and to be kept between calls.
//!
//! A flat sequence of fields, each a number or a length with bytes. Numbers are little-endian base-128. The reader checks
//! every length against what is there; damaged bytes are an error, not a panic.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::ast::Bytes;
use crate::job::Job;
use crate::printer;
use crate::shell::{Frame, FrameKind, Function, FunctionEntry, Shell, TrapKind};
use crate::sys;
use crate::vars::{Assoc, Scope, ScopeKind, Value, Var};

/// The descriptor from which a subshell reads its state.
pub(crate) const STATE_FD: i32 = 255;
/// The number for it that the limit of open files allows.
pub(crate) fn state_fd() -> i32 {
    let limit = sandbar_guest::process::limit(sandbar_guest::process::Resource::OpenFiles);
    let half = limit.map_or(u64::MAX, |limit| limit.soft / 2);
    i32::try_from(half).map_or(STATE_FD, |half| half.min(STATE_FD))
}

/// Version of the format; another one is refused.
const VERSION: u64 = 1;
/// Largest state that is read, in bytes.
pub(crate) const MAX_STATE: usize = 128 << 20;

struct Writer {
    out: Bytes,
}

impl Writer {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push(value.to_le_bytes()[0] & 0x7f | 0x80);
            value >>= 7;
        }
        self.out.push(value.to_le_bytes()[0]);
    }

    fn signed(&mut self, value: i64) {
        // The sign goes to the lowest bit, so that small negative numbers stay short.
        self.number(((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    fn size(&mut self, value: usize) {
        self.number(u64::try_from(value).unwrap_or(u64::MAX));
    }

    fn bytes(&mut self, value: &[u8]) {
        self.size(value.len());
        self.out.extend_from_slice(value);
    }

    fn list(&mut self, values: &[Bytes]) {
        self.size(values.len());
        for value in values {
            self.bytes(value);
        }
    }

    fn var(&mut self, var: &Var) {
        self.number(u64::from(var.attrs));
        match &var.value {
            Value::Unset => self.number(0),
            Value::Str(text) => {
                self.number(1);
                self.bytes(text);
            }
            Value::Indexed(map) => {
                self.number(2);
                self.size(map.len());
                for (index, value) in map.iter() {
                    self.signed(*index);
                    self.bytes(value);
                }
            }
            Value::Assoc(map) => {
                self.number(3);
                self.size(map.len());
                // Newest first, as bash lists them: the reader turns the order round.
                for (key, value) in map.iter() {
                    self.bytes(key);
                    self.bytes(value);
                }
            }
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&b, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(b & 0x7f).checked_shl(shift)?;
            if b & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    fn int(&mut self) -> Option<i32> {
        i32::try_from(self.signed()?).ok()
    }

    /// A count of things that take at least one byte each.
    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?)
            .ok()
            .filter(|count| *count <= self.rest.len())
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        let (value, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(value)
    }

    fn owned(&mut self) -> Option<Bytes> {
        self.bytes().map(<[u8]>::to_vec)
    }

    fn list(&mut self) -> Option<Vec<Bytes>> {
        let count = self.count()?;
        (0..count).map(|_| self.owned()).collect()
    }

    fn var(&mut self) -> Option<Var> {
        let attrs = u16::try_from(self.number()?).ok()?;
        let value = match self.number()? {
            0 => Value::Unset,
            1 => Value::Str(Rc::new(self.owned()?)),
            2 => {
                let count = self.count()?;
                let map: Option<BTreeMap<i64, Bytes>> = (0..count)
                    .map(|_| Some((self.signed()?, self.owned()?)))
                    .collect();
                Value::Indexed(Rc::new(map?))
            }
            3 => {
                let count = self.count()?;
                let pairs: Option<Vec<(Bytes, Bytes)>> = (0..count)
                    .map(|_| Some((self.owned()?, self.owned()?)))
                    .collect();
                let mut map = Assoc::default();
                for (key, value) in pairs?.into_iter().rev() {
                    map.insert(key, value);
                }
                Value::Assoc(Rc::new(map))
            }
            _ => return None,
        };
        Some(Var { value, attrs })
    }
}

/// The state of a shell and the text that the new one runs.
pub(crate) fn encode(shell: &Shell, text: &[u8]) -> Bytes {
    let mut w = Writer {
        out: Vec::with_capacity(4096),
    };
    let st = &shell.st;
    w.number(VERSION);
    w.bytes(text);
    w.signed(i64::from(shell.pid));
    let flags = [
        shell.interactive,
        shell.command_string,
        shell.reads_stdin,
        st.traps_shown_only,
        shell.guarded > 0,
    ];
    w.number(
        flags
            .iter()
            .enumerate()
            .fold(0, |bits, (at, on)| bits | u64::from(*on) << at),
    );
    w.number(u64::from(st.set));
    w.number(st.shopt);
    w.list(&st.params);
    w.bytes(&st.name);
    for value in [st.status, st.last_background] {
        w.signed(i64::from(value));
    }
    w.size(st.pipestatus.len());
    for status in &st.pipestatus {
        w.signed(i64::from(*status));
    }
    w.bytes(&st.last_arg);
    w.number(u64::from(st.subshell));
    w.list(&st.dirs);
    w.bytes(&st.cwd);
    w.number(u64::from(st.line));
    w.size(st.getopts_at);
    w.signed(st.getopts_index);
    w.number(u64::from(st.random));
    w.signed(st.seconds + i64::try_from(shell.elapsed().as_secs()).unwrap_or(0));
    w.list(&st.disabled);
    w.list(&st.plain);
    w.signed(st.umask.map_or(-1, i64::from));
    encode_tables(&mut w, shell);
    w.out
}

fn encode_tables(w: &mut Writer, shell: &Shell) {
    let st = &shell.st;
    w.size(st.vars.map.len());
    for (name, var) in &st.vars.map {
        w.bytes(name);
        w.var(var);
    }
    w.size(st.vars.scopes.len());
    for scope in &st.vars.scopes {
        w.number(u64::from(scope.kind == ScopeKind::Function));
        w.size(scope.hidden.len());
        for (name, var) in &scope.hidden {
            w.bytes(name);
            w.number(u64::from(var.is_some()));
            if let Some(var) = var {
                w.var(var);
            }
        }
    }
    w.size(st.functions.len());
    for (name, entry) in st.functions.iter() {
        w.bytes(name);
        let flags = [entry.export, entry.readonly, entry.trace];
        w.number(
            flags
                .iter()
                .enumerate()
                .fold(0, |bits, (at, on)| bits | u64::from(*on) << at),
        );
        let function = &entry.function;
        let text = function.text.get_or_init(|| {
            function
                .parsed
                .get()
                .map(|def| printer::function_source(def))
                .unwrap_or_default()
        });
        w.bytes(text);
        w.bytes(&function.source);
        w.number(u64::from(function.line));
    }
    w.size(st.frames.len());
    for frame in &st.frames {
        w.number(u64::from(frame.kind == FrameKind::Function));
        w.bytes(&frame.name);
        w.bytes(&frame.source);
        w.number(u64::from(frame.line));
    }
    w.size(st.traps.len());
    for (kind, text) in &st.traps {
        w.number(match kind {
            TrapKind::Exit => 0,
            TrapKind::Signal(number) => u64::from(*number),
            TrapKind::Debug => 64,
            TrapKind::Err => 65,
            TrapKind::Return => 66,
        });
        w.bytes(text);
    }
    w.size(st.aliases.len());
    for (name, text) in st.aliases.iter() {
        w.bytes(name);
        w.bytes(text);
    }
    w.size(st.hashed.len());
    for (name, (path, hits)) in st.hashed.iter() {
        w.bytes(name);
        w.bytes(path);
        w.number(u64::from(*hits));
    }
    w.size(shell.jobs.list.len());
    for job in &shell.jobs.list {
        w.size(job.number);
        w.signed(i64::from(job.pid()));
        w.bytes(&job.text);
    }
}

/// What a state is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// This process is a subshell of the one that wrote it.
    Subshell,
    /// This process goes on where another one ended.
    Resume,
}

/// Puts a state into `shell`; the text to run, or `None` when the bytes are damaged.
pub(crate) fn decode(shell: &mut Shell, bytes: &[u8], purpose: Purpose) -> Option<Bytes> {
    let mut r = Reader { rest: bytes };
    if r.number()? != VERSION {
        return None;
    }
    let text = r.owned()?;
    let pid = r.int()?;
    let flags = r.number()?;
    let flag = |at: u32| flags >> at & 1 == 1;
    let st = &mut shell.st;
    st.set = u32::try_from(r.number()?).ok()?;
    st.shopt = r.number()?;
    st.params = Rc::new(r.list()?);
    let name = r.owned()?;
    st.status = r.int()?;
    st.last_background = r.int()?;
    let count = r.count()?;
    st.pipestatus = (0..count).map(|_| r.int()).collect::<Option<_>>()?;
    st.last_arg = r.owned()?;
    st.subshell = u32::try_from(r.number()?).ok()?;
    st.dirs = r.list()?;
    st.cwd = r.owned()?;
    st.line = u32::try_from(r.number()?).ok()?;
    st.getopts_at = r.count().or(Some(0))?;
    st.getopts_index = r.signed()?;
    st.random = u32::try_from(r.number()?).ok()?;
    st.seconds = r.signed()?;
    st.disabled = r.list()?;
    st.plain = r.list()?;
    let umask = r.signed()?;
    decode_tables(&mut r, shell)?;
    if let Ok(mask) = u32::try_from(umask) {
        shell.st.umask = Some(mask);
    }
    match purpose {
        Purpose::Subshell => {
            shell.pid = pid;
            shell.interactive = flag(0);
            shell.command_string = flag(1);
            shell.reads_stdin = flag(2);
            shell.guarded = u32::from(flag(4));
            shell.st.name = name;
            shell.st.subshell += 1;
            shell.st.traps_shown_only = true;
            // Two subshells must not draw the same numbers.
            shell.st.random = shell
                .st
                .random
                .wrapping_add(u32::try_from(sys::pid()).unwrap_or(1));
        }
        Purpose::Resume => {
            shell.st.frames.clear();
            shell.st.vars.scopes.clear();
            shell.st.subshell = 0;
            shell.st.traps_shown_only = false;
            shell.st.line = 0;
        }
    }
    Some(text)
}

fn decode_tables(r: &mut Reader<'_>, shell: &mut Shell) -> Option<()> {
    let st = &mut shell.st;
    for _ in 0..r.count()? {
        let name: Rc<[u8]> = r.bytes()?.into();
        let var = r.var()?;
        st.vars.map.insert(name, var);
    }
    for _ in 0..r.count()? {
        let kind = if r.number()? == 1 {
            ScopeKind::Function
        } else {
            ScopeKind::Temporary
        };
        let mut hidden = Vec::new();
        for _ in 0..r.count()? {
            let name: Rc<[u8]> = r.bytes()?.into();
            let var = if r.number()? == 1 {
                Some(r.var()?)
            } else {
                None
            };
            hidden.push((name, var));
        }
        st.vars.scopes.push(Scope { kind, hidden });
    }
    let functions = Rc::make_mut(&mut st.functions);
    for _ in 0..r.count()? {
        let name: Rc<[u8]> = r.bytes()?.into();
        let flags = r.number()?;
        let text = OnceCell::from(r.owned()?);
        let source = r.owned()?;
        let line = u32::try_from(r.number()?).ok()?;
        let function = Rc::new(Function {
            parsed: OnceCell::new(),
            text,
            source,
            line,
        });
        let entry = FunctionEntry {
            function,
            export: flags & 1 != 0,
            readonly: flags & 2 != 0,
            trace: flags & 4 != 0,
        };
        functions.insert(name, entry);
    }
    for _ in 0..r.count()? {
        let kind = if r.number()? == 1 {
            FrameKind::Function
        } else {
            FrameKind::Source
        };
        st.frames.push(Frame {
            kind,
            name: r.owned()?,
            source: r.owned()?,
            line: u32::try_from(r.number()?).ok()?,
        });
    }
    for _ in 0..r.count()? {
        let kind = match r.number()? {
            0 => TrapKind::Exit,
            64 => TrapKind::Debug,
            65 => TrapKind::Err,
            66 => TrapKind::Return,
            number => TrapKind::Signal(u8::try_from(number).ok().filter(|n| *n < 32)?),
        };
        st.traps.insert(kind, r.owned()?);
    }
    let aliases = Rc::make_mut(&mut st.aliases);
    for _ in 0..r.count()? {
        let name = r.owned()?;
        aliases.insert(name, r.owned()?);
    }
    let hashed = Rc::make_mut(&mut st.hashed);
    for _ in 0..r.count()? {
        let name = r.owned()?;
        let path = r.owned()?;
        hashed.insert(name, (path, u32::try_from(r.number()?).ok()?));
    }
    for _ in 0..r.count()? {
        let number = usize::try_from(r.number()?).ok()?;
        let pid = r.int()?;
        let text = r.owned()?;
        shell.jobs.list.push(Job {
            number,
            processes: vec![(pid, None)],
            group: None,
            text,
            changed: false,
            no_hangup: false,
            stopped: false,
        });
    }
    Some(())
}
