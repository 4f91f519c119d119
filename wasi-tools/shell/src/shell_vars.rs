//! Reading and setting variables through the shell: namerefs, attributes and the variables that compute themselves.

use std::rc::Rc;

use crate::ast::Bytes;
use crate::options::{SET_OPTIONS, opt, shopts};
use crate::parser::is_name;
use crate::shell::{Flow, FrameKind, Shell};
use crate::sys;
use crate::vars::{Value, Var, attr};

/// The variables that compute themselves.
pub(crate) const DYNAMIC: [&str; 28] = [
    "BASH",
    "BASHOPTS",
    "BASHPID",
    "BASH_ALIASES",
    "BASH_ARGV0",
    "BASH_CMDS",
    "BASH_COMMAND",
    "BASH_LINENO",
    "BASH_SOURCE",
    "BASH_SUBSHELL",
    "BASH_VERSINFO",
    "BASH_VERSION",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HOSTNAME",
    "HOSTTYPE",
    "LINENO",
    "MACHTYPE",
    "OSTYPE",
    "PIPESTATUS",
    "PPID",
    "RANDOM",
    "SECONDS",
    "UID",
];

/// A subscript after expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Index(i64),
    Text(Bytes),
}

/// Version of bash whose behaviour is followed.
pub(crate) const BASH_VERSION: &str = "5.2.37(1)-release";
pub(crate) const MACHINE: &str = "wasm32-unknown-wasi";

impl Shell {
    /// What a nameref leads to: a name, perhaps with a subscript.
    pub(crate) fn resolve(&mut self, name: &[u8]) -> (Bytes, Option<Bytes>) {
        let mut current = name.to_vec();
        // As many as bash follows (NAMEREF_MAX).
        for _ in 0..8 {
            match self.st.vars.get(&current) {
                Some(var) if var.has(attr::NAMEREF) => {
                    let Some(target) = var.scalar().filter(|text| !text.is_empty()) else {
                        return (current, None);
                    };
                    let target = target.clone();
                    if target == current {
                        break;
                    }
                    // What names no variable is the reference's own value.
                    let base = target.split(|&b| b == b'[').next().unwrap_or(&target);
                    if !is_name(base) {
                        return (current, None);
                    }
                    if let Some(open) = target
                        .iter()
                        .position(|&b| b == b'[')
                        .filter(|_| target.ends_with(b"]"))
                    {
                        return (
                            target[..open].to_vec(),
                            Some(target[open + 1..target.len() - 1].to_vec()),
                        );
                    }
                    current = target;
                }
                _ => return (current, None),
            }
        }
        self.error(&[b"warning: ", name, b": circular name reference"].concat());
        self.circular = true;
        (name.to_vec(), None)
    }

    pub(crate) fn is_nameref(&self, name: &[u8]) -> bool {
        self.st
            .vars
            .get(name)
            .is_some_and(|var| var.has(attr::NAMEREF))
    }

    /// The scalar value of a variable.
    pub(crate) fn get(&mut self, name: &[u8]) -> Option<Rc<Bytes>> {
        match self.st.vars.get(name) {
            Some(Var {
                value: Value::Str(text),
                attrs,
            }) if attrs & attr::NAMEREF == 0 => Some(Rc::clone(text)),
            Some(var) if !var.has(attr::NAMEREF) => var.scalar().cloned().map(Rc::new),
            Some(_) => {
                let (target, index) = self.resolve(name);
                match index {
                    Some(index) => self.get_element_text(&target, &index).map(Rc::new),
                    None if self.is_nameref(&target) => self
                        .st
                        .vars
                        .get(&target)
                        .and_then(Var::scalar)
                        .filter(|text| !is_name(text))
                        .cloned()
                        .map(Rc::new),
                    None => self.get(&target),
                }
            }
            None => self
                .dynamic(name)
                .and_then(|var| var.scalar().cloned())
                .map(Rc::new),
        }
    }

    /// A copy of the variable with all its elements, namerefs followed.
    pub(crate) fn lookup(&mut self, name: &[u8]) -> Option<Var> {
        match self.st.vars.get(name) {
            Some(var) if !var.has(attr::NAMEREF) => Some(var.clone()),
            Some(_) => {
                let (target, index) = self.resolve(name);
                match index {
                    Some(index) if index == b"@" || index == b"*" => self.lookup(&target),
                    Some(index) => self.get_element_text(&target, &index).map(Var::string),
                    None if self.is_nameref(&target) => None,
                    None => self.lookup(&target),
                }
            }
            None => self.dynamic(name),
        }
    }

    fn get_element_text(&mut self, name: &[u8], index: &[u8]) -> Option<Bytes> {
        let key = self.key_of_text(name, index).ok()?;
        self.get_element(name, &key)
    }

    pub(crate) fn get_element(&mut self, name: &[u8], key: &Key) -> Option<Bytes> {
        let var = self.lookup(name)?;
        match (&var.value, key) {
            (Value::Assoc(map), Key::Text(text)) => map.get(text).cloned(),
            (Value::Indexed(map), Key::Index(index)) => {
                let index = if *index < 0 {
                    map.keys().next_back().map_or(-1, |last| last + 1 + index)
                } else {
                    *index
                };
                map.get(&index).cloned()
            }
            (Value::Str(text), Key::Index(0 | -1)) => Some(text.to_vec()),
            _ => None,
        }
    }

    /// Sets a scalar (or element 0), as `name=value` does. Readonly variables are refused with a message.
    pub(crate) fn set(&mut self, name: &[u8], value: Bytes) -> Result<(), Flow> {
        self.assign(name, None, value, false)
    }

    /// [`Shell::set`] for values that the shell itself gives to names it chose.
    pub(crate) fn set_quietly(&mut self, name: &[u8], value: Bytes) {
        // Only a readonly variable can refuse, and then it says so.
        let _refused = self.set(name, value);
    }

    /// Sets a variable or an element.
    pub(crate) fn assign(
        &mut self,
        name: &[u8],
        key: Option<Key>,
        value: Bytes,
        append: bool,
    ) -> Result<(), Flow> {
        if self.is_nameref(name) {
            let (target, index) = self.resolve(name);
            if std::mem::take(&mut self.circular) {
                return Err(Flow::Discard(1));
            }
            if let Some(index) = index {
                let key = self.key_of_text(&target, &index)?;
                return self.assign(&target, Some(key), value, append);
            }
            if target != name {
                return self.assign(&target, key, value, append);
            }
            if !is_name(&value) && !value.contains(&b'[') && !value.is_empty() {
                self.complain(
                    &[
                        b"`",
                        value.as_slice(),
                        b"': invalid variable name for name reference",
                    ]
                    .concat(),
                );
                return Err(Flow::Discard(1));
            }
        }
        let allexport = self.on(opt::ALLEXPORT);
        let attrs = self.st.vars.get(name).map_or(0, |var| var.attrs);
        if attrs & attr::READONLY != 0 {
            self.error(&[name, b": readonly variable"].concat());
            return Err(Flow::Discard(1));
        }
        if matches!(
            name,
            b"SHELLOPTS" | b"BASHOPTS" | b"BASH_VERSINFO" | b"UID" | b"EUID" | b"PPID"
        ) && self.st.vars.get(name).is_none()
        {
            self.error(&[name, b": readonly variable"].concat());
            return Err(if self.on(opt::POSIX) {
                Flow::Exit(1)
            } else {
                Flow::Discard(1)
            });
        }
        if self.st.vars.get(name).is_none() && self.set_dynamic(name, &value) {
            return Ok(());
        }
        let value = if attrs & (attr::INTEGER | attr::LOWER | attr::UPPER | attr::CAPITAL) != 0 {
            self.converted(name, key.as_ref(), &value, append, attrs)?
        } else {
            value
        };
        let append =
            append && attrs & (attr::INTEGER | attr::LOWER | attr::UPPER | attr::CAPITAL) == 0;
        let var = self.st.vars.entry(name);
        if allexport && key.is_none() && !var.is_array() {
            var.attrs |= attr::EXPORT;
        }
        let bad_subscript = store(var, key, value, append);
        if let Some(index) = bad_subscript {
            let text = [
                name,
                b"[",
                index.to_string().as_bytes(),
                b"]: bad array subscript",
            ]
            .concat();
            self.error(&text);
            return Err(Flow::Discard(1));
        }
        if name == b"PATH" && !self.st.hashed.is_empty() {
            self.st.hashed = Rc::default();
        }
        if name == b"OPTIND" {
            self.st.getopts_at = 0;
        }
        Ok(())
    }

    /// The value after the attributes `-i`, `-l`, `-u` and `-c`.
    fn converted(
        &mut self,
        name: &[u8],
        key: Option<&Key>,
        value: &[u8],
        append: bool,
        attrs: u16,
    ) -> Result<Bytes, Flow> {
        if attrs & attr::INTEGER != 0 {
            let mut number = self.arith_value(value)?;
            if append {
                let old = match key {
                    Some(key) => self.get_element(name, key),
                    None => self.get(name).map(|text| text.to_vec()),
                };
                number = number.wrapping_add(self.arith_value(&old.unwrap_or_default())?);
            }
            return Ok(number.to_string().into_bytes());
        }
        let old = match key {
            _ if !append => None,
            Some(key) => self.get_element(name, key),
            None => self.get(name).map(|text| text.to_vec()),
        };
        let whole = [old.unwrap_or_default().as_slice(), value].concat();
        Ok(crate::expand::change_case(&whole, attrs))
    }

    /// Replaces the whole of an array.
    pub(crate) fn set_array(&mut self, name: &[u8], values: Vec<Bytes>) -> Result<(), Flow> {
        let (name, _) = self.resolve(name);
        if self
            .st
            .vars
            .get(&name)
            .is_some_and(|var| var.has(attr::READONLY))
        {
            self.error(&[name.as_slice(), b": readonly variable"].concat());
            return Err(Flow::Discard(1));
        }
        let var = self.st.vars.entry(&name);
        var.value = Value::Indexed(Rc::new((0..).zip(values).collect()));
        var.attrs |= attr::INDEXED;
        var.attrs &= !attr::ASSOC;
        Ok(())
    }

    /// The subscript for a name: text for associative arrays, an expression for all others.
    pub(crate) fn key_of_text(&mut self, name: &[u8], text: &[u8]) -> Result<Key, Flow> {
        if self.lookup(name).is_some_and(|var| var.is_assoc()) {
            if text
                .iter()
                .any(|b| matches!(b, b'$' | b'`' | b'"' | b'\'' | b'\\'))
            {
                return Ok(Key::Text(self.expand_subscript_text(text)?));
            }
            return Ok(Key::Text(text.to_vec()));
        }
        if text.iter().any(|b| matches!(b, b'$' | b'`')) {
            let text = self.expand_subscript_text(text)?;
            return Ok(Key::Index(self.arith_value(&text)?));
        }
        Ok(Key::Index(self.arith_value(text)?))
    }

    // ---- variables that compute themselves ---------------------------------------------------------------------

    /// The value of a special variable that has no entry in the table.
    pub(crate) fn dynamic(&mut self, name: &[u8]) -> Option<Var> {
        if !name.first().is_some_and(u8::is_ascii_uppercase)
            || self.st.plain.iter().any(|plain| plain == name)
        {
            return None;
        }
        let number = |n: i64| Some(Var::string(n.to_string().into_bytes()));
        let text = |t: &str| Some(Var::string(t.as_bytes().to_vec()));
        match name {
            b"RANDOM" => {
                let value = i64::from(self.random());
                number(value)
            }
            b"SRANDOM" => {
                let value = i64::from(self.random()) << 16 | i64::from(self.random());
                number(value)
            }
            b"LINENO" => number(i64::from(self.st.line)),
            b"SECONDS" => number(self.seconds()),
            b"BASHPID" => number(i64::from(sys::pid())),
            b"PPID" => {
                number(sandbar_guest::process::ids(None).map_or(1, |ids| i64::from(ids.ppid.0)))
            }
            b"UID" | b"EUID" => {
                number(sandbar_guest::process::ids(None).map_or(0, |ids| i64::from(ids.uid)))
            }
            b"EPOCHSECONDS" => number(sandbar_guest::time::realtime_ns() / 1_000_000_000),
            b"EPOCHREALTIME" => {
                let ns = sandbar_guest::time::realtime_ns();
                text(&format!(
                    "{}.{:06}",
                    ns / 1_000_000_000,
                    ns % 1_000_000_000 / 1000
                ))
            }
            b"BASH_VERSION" => text(BASH_VERSION),
            b"BASH_SUBSHELL" => number(i64::from(self.st.subshell)),
            b"BASH_COMMAND" => Some(Var::string(self.command_text.clone())),
            b"BASH_ARGV0" => Some(Var::string(self.st.name.clone())),
            b"BASH" => text("/usr/bin/bash"),
            b"OSTYPE" => text("linux-gnu"),
            b"HOSTTYPE" => text("wasm32"),
            b"MACHTYPE" => text(MACHINE),
            b"HOSTNAME" => Some(Var::string(hostname())),
            b"SHELLOPTS" => Some(Var::string(self.shellopts())),
            b"BASHOPTS" => Some(Var::string(self.bashopts())),
            b"BASH_VERSINFO" => {
                let parts = ["5", "2", "37", "1", "release", MACHINE];
                let mut var = indexed(parts.iter().map(|part| part.as_bytes().to_vec()));
                var.attrs |= attr::READONLY;
                Some(var)
            }
            b"PIPESTATUS" => Some(indexed(
                self.st
                    .pipestatus
                    .iter()
                    .map(|status| status.to_string().into_bytes()),
            )),
            b"GROUPS" => {
                let gid = sandbar_guest::process::ids(None).map_or(0, |ids| ids.gid);
                Some(indexed([gid.to_string().into_bytes()].into_iter()))
            }
            b"DIRSTACK" => Some(indexed(self.dir_stack().into_iter())),
            b"FUNCNAME" => self.funcname(),
            b"BASH_SOURCE" => Some(indexed(self.source_stack().into_iter())),
            b"BASH_ARGV" | b"BASH_ARGC" => Some(indexed(std::iter::empty())),
            b"BASH_LINENO" => {
                let mut lines: Vec<Bytes> = self
                    .st
                    .frames
                    .iter()
                    .rev()
                    .map(|f| f.line.to_string().into_bytes())
                    .collect();
                if !self.command_string && !self.reads_stdin {
                    lines.push(b"0".to_vec());
                }
                Some(indexed(lines.into_iter()))
            }
            b"BASH_ALIASES" | b"BASH_CMDS" => {
                let mut var = Var::default();
                let map = var.make_assoc();
                if name == b"BASH_ALIASES" {
                    self.st
                        .aliases
                        .iter()
                        .for_each(|(key, value)| map.insert(key.clone(), value.clone()));
                } else {
                    self.st
                        .hashed
                        .iter()
                        .for_each(|(key, (path, _))| map.insert(key.clone(), path.clone()));
                }
                Some(var)
            }
            _ => None,
        }
    }

    /// Assignment to a special variable without an entry; `true` when it was one.
    fn set_dynamic(&mut self, name: &[u8], value: &[u8]) -> bool {
        if self.st.plain.iter().any(|plain| plain == name) {
            return false;
        }
        let number = || {
            std::str::from_utf8(value)
                .ok()
                .and_then(|text| text.trim().parse::<i64>().ok())
                .unwrap_or(0)
        };
        match name {
            b"RANDOM" => self.st.random = u32::try_from(number() & 0xffff_ffff).unwrap_or(0),
            b"SECONDS" => {
                self.st.seconds = number() - i64::try_from(self.elapsed().as_secs()).unwrap_or(0);
            }
            b"LINENO" => self.st.line = u32::try_from(number()).unwrap_or(0),
            b"BASH_ARGV0" => self.st.name = value.to_vec(),
            b"SRANDOM" | b"BASHPID" | b"EPOCHSECONDS" | b"EPOCHREALTIME" | b"BASH_SUBSHELL"
            | b"BASH_COMMAND" | b"PIPESTATUS" | b"FUNCNAME" | b"GROUPS" | b"DIRSTACK"
            | b"BASH_SOURCE" | b"BASH_LINENO" => {}
            _ => return false,
        }
        true
    }

    /// Forgets the special meaning of a variable that was unset.
    pub(crate) fn forget_dynamic(&mut self, name: &[u8]) {
        if self.st.vars.get(name).is_none() && self.dynamic(name).is_some() {
            self.st.plain.push(name.to_vec());
        }
    }

    fn random(&mut self) -> u32 {
        // The generator of bash (Park and Miller's minimal standard), so that a seed gives the same numbers.
        let seed = if self.st.random == 0 {
            123_459_876
        } else {
            i64::from(self.st.random)
        };
        let (high, low) = (seed / 127_773, seed % 127_773);
        let mut next = 16_807 * low - 2_836 * high;
        if next < 0 {
            next += 0x7fff_ffff;
        }
        self.st.random = u32::try_from(next & 0xffff_ffff).unwrap_or(0);
        ((self.st.random >> 16) ^ (self.st.random & 0xffff)) & 0x7fff
    }

    /// Time since the shell's start.
    pub(crate) fn elapsed(&self) -> std::time::Duration {
        sandbar_guest::time::monotonic().saturating_sub(self.started)
    }

    fn seconds(&self) -> i64 {
        i64::try_from(self.elapsed().as_secs()).unwrap_or(0) + self.st.seconds
    }

    fn funcname(&self) -> Option<Var> {
        if !self
            .st
            .frames
            .iter()
            .any(|frame| frame.kind == FrameKind::Function)
        {
            return None;
        }
        let mut names: Vec<Bytes> = self
            .st
            .frames
            .iter()
            .rev()
            .map(|frame| {
                if frame.kind == FrameKind::Source {
                    b"source".to_vec()
                } else {
                    frame.name.clone()
                }
            })
            .collect();
        if !self.command_string && !self.reads_stdin {
            names.push(b"main".to_vec());
        }
        Some(indexed(names.into_iter()))
    }

    fn source_stack(&self) -> Vec<Bytes> {
        let mut all: Vec<Bytes> = self
            .st
            .frames
            .iter()
            .rev()
            .map(|frame| frame.source.clone())
            .collect();
        if !self.command_string && !self.reads_stdin {
            all.push(self.st.name.clone());
        }
        all
    }

    pub(crate) fn shellopts(&self) -> Bytes {
        let names: Vec<&str> = SET_OPTIONS
            .iter()
            .filter(|(.., bit)| self.on(*bit))
            .map(|(name, ..)| *name)
            .collect();
        names.join(":").into_bytes()
    }

    fn bashopts(&self) -> Bytes {
        let names: Vec<&str> = shopts()
            .filter(|(_, bit)| self.shopt(*bit))
            .map(|(name, _)| name)
            .collect();
        names.join(":").into_bytes()
    }

    /// The home directory, for `~` and `cd`.
    pub(crate) fn home(&mut self) -> Option<Bytes> {
        self.get(b"HOME").map(|home| home.to_vec())
    }
}

/// Puts a value into a variable; gives back a negative subscript that is out of range.
fn store(var: &mut Var, key: Option<Key>, value: Bytes, append: bool) -> Option<i64> {
    let slot = |old: Option<&Bytes>, value: Bytes| match old {
        Some(old) if append => [old.as_slice(), &value].concat(),
        _ => value,
    };
    match key {
        None if var.is_assoc() => {
            let map = var.make_assoc();
            let value = slot(map.get(b"0"), value);
            map.insert(b"0".to_vec(), value);
        }
        None if var.is_array() => {
            let map = var.make_indexed();
            let value = slot(map.get(&0), value);
            map.insert(0, value);
        }
        None => match &mut var.value {
            Value::Str(old) if append => Rc::make_mut(old).extend_from_slice(&value),
            place => *place = Value::Str(Rc::new(value)),
        },
        Some(Key::Text(text)) => {
            let map = var.make_assoc();
            let value = slot(map.get(&text), value);
            map.insert(text, value);
        }
        Some(Key::Index(index)) => {
            let map = var.make_indexed();
            let at = if index < 0 {
                map.keys().next_back().map_or(-1, |last| last + 1 + index)
            } else {
                index
            };
            if at < 0 {
                return Some(index);
            }
            let value = slot(map.get(&at), value);
            map.insert(at, value);
        }
    }
    None
}

fn indexed(values: impl Iterator<Item = Bytes>) -> Var {
    Var {
        value: Value::Indexed(Rc::new((0..).zip(values).collect())),
        attrs: attr::INDEXED,
    }
}

fn hostname() -> Bytes {
    let mut name = sys::read_file(b"/proc/sys/kernel/hostname")
        .or_else(|_| sys::read_file(b"/etc/hostname"))
        .unwrap_or_default();
    while name.last().is_some_and(u8::is_ascii_whitespace) {
        name.pop();
    }
    if name.is_empty() {
        b"localhost".to_vec()
    } else {
        name
    }
}
