//! Variables: values, attributes and dynamic scopes.
//!
//! The table holds what is visible now; a scope remembers what it hides. So a look-up is one probe however deep the calls are,
//! and leaving a function puts the hidden variables back. Values are shared, so that a copy for a subshell is cheap.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use crate::ast::Bytes;

/// A small multiplicative hash: names are short and come from the script itself.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct NameHasher(u64);

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = (self.0.rotate_left(5) ^ u64::from(b)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
}

/// A map keyed by names.
pub(crate) type NameMap<V> = HashMap<Rc<[u8]>, V, BuildHasherDefault<NameHasher>>;

/// Attribute bits of a variable.
pub(crate) mod attr {
    pub(crate) const EXPORT: u16 = 1;
    pub(crate) const READONLY: u16 = 2;
    pub(crate) const INTEGER: u16 = 4;
    pub(crate) const LOWER: u16 = 8;
    pub(crate) const UPPER: u16 = 16;
    pub(crate) const CAPITAL: u16 = 32;
    pub(crate) const NAMEREF: u16 = 64;
    pub(crate) const TRACE: u16 = 128;
    /// Declared an indexed array, perhaps without a value.
    pub(crate) const INDEXED: u16 = 256;
    /// Declared an associative array.
    pub(crate) const ASSOC: u16 = 512;
}

/// A value.
#[derive(Debug, Clone, Default)]
pub(crate) enum Value {
    #[default]
    Unset,
    Str(Rc<Bytes>),
    Indexed(Rc<BTreeMap<i64, Bytes>>),
    Assoc(Rc<Assoc>),
}

/// An associative array; it is listed in the order of bash's hash table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Assoc {
    map: BTreeMap<Bytes, (u64, Bytes)>,
    next: u64,
}

/// Buckets of bash's table for an associative array.
const BUCKETS: u32 = 1024;

fn bucket(key: &[u8]) -> u32 {
    // FNV-1 as in bash's hashlib.c, which decides the order in which keys are listed.
    let hash = key.iter().fold(2_166_136_261_u32, |hash, &b| {
        hash.wrapping_mul(16_777_619) ^ u32::from(b)
    });
    hash & (BUCKETS - 1)
}

impl Assoc {
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Bytes> {
        self.map.get(key).map(|(_, value)| value)
    }

    pub(crate) fn insert(&mut self, key: Bytes, value: Bytes) {
        if let Some(slot) = self.map.get_mut(&key) {
            slot.1 = value;
        } else {
            self.map.insert(key, (self.next, value));
            self.next += 1;
        }
    }

    pub(crate) fn remove(&mut self, key: &[u8]) {
        self.map.remove(key);
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    /// Keys and values in bash's order: by bucket, the newest of a bucket first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Bytes, &Bytes)> {
        let mut all: Vec<_> = self
            .map
            .iter()
            .map(|(key, (age, value))| (bucket(key), u64::MAX - age, key, value))
            .collect();
        all.sort_unstable();
        all.into_iter().map(|(_, _, key, value)| (key, value))
    }
}

/// The letters of the attributes besides the array ones, in the order shown.
const LETTERS: [(u16, u8); 8] = [
    (attr::INTEGER, b'i'),
    (attr::NAMEREF, b'n'),
    (attr::READONLY, b'r'),
    (attr::TRACE, b't'),
    (attr::EXPORT, b'x'),
    (attr::CAPITAL, b'c'),
    (attr::LOWER, b'l'),
    (attr::UPPER, b'u'),
];

/// A variable.
#[derive(Debug, Clone, Default)]
pub(crate) struct Var {
    pub(crate) value: Value,
    pub(crate) attrs: u16,
}

impl Var {
    pub(crate) fn string(text: Bytes) -> Self {
        Self {
            value: Value::Str(Rc::new(text)),
            attrs: 0,
        }
    }

    pub(crate) fn has(&self, bits: u16) -> bool {
        self.attrs & bits != 0
    }

    pub(crate) fn is_array(&self) -> bool {
        matches!(self.value, Value::Indexed(_) | Value::Assoc(_))
            || self.has(attr::INDEXED | attr::ASSOC)
    }

    pub(crate) fn is_assoc(&self) -> bool {
        matches!(self.value, Value::Assoc(_)) || self.has(attr::ASSOC)
    }

    pub(crate) fn is_set(&self) -> bool {
        !matches!(self.value, Value::Unset)
    }

    /// The value as a scalar: of an array, element 0.
    pub(crate) fn scalar(&self) -> Option<&Bytes> {
        match &self.value {
            Value::Unset => None,
            Value::Str(text) => Some(text),
            Value::Indexed(map) => map.get(&0),
            Value::Assoc(map) => map.get(b"0"),
        }
    }

    /// The elements in order; a scalar is one.
    pub(crate) fn elements(&self) -> Vec<Bytes> {
        match &self.value {
            Value::Unset => Vec::new(),
            Value::Str(text) => vec![text.to_vec()],
            Value::Indexed(map) => map.values().cloned().collect(),
            Value::Assoc(map) => map.iter().map(|(_, value)| value.clone()).collect(),
        }
    }

    /// The subscripts in order.
    pub(crate) fn keys(&self) -> Vec<Bytes> {
        match &self.value {
            Value::Unset => Vec::new(),
            Value::Str(_) => vec![b"0".to_vec()],
            Value::Indexed(map) => map.keys().map(|key| key.to_string().into_bytes()).collect(),
            Value::Assoc(map) => map.iter().map(|(key, _)| key.clone()).collect(),
        }
    }

    /// The indexed array, made from what is there.
    pub(crate) fn make_indexed(&mut self) -> &mut BTreeMap<i64, Bytes> {
        if !matches!(self.value, Value::Indexed(_)) {
            let mut map = BTreeMap::new();
            if let Value::Str(text) = &self.value {
                map.insert(0, text.to_vec());
            }
            self.value = Value::Indexed(Rc::new(map));
        }
        self.attrs |= attr::INDEXED;
        match &mut self.value {
            Value::Indexed(map) => Rc::make_mut(map),
            _ => unreachable!("made one just above"),
        }
    }

    /// The associative array, made from what is there.
    pub(crate) fn make_assoc(&mut self) -> &mut Assoc {
        if !matches!(self.value, Value::Assoc(_)) {
            let mut map = Assoc::default();
            if let Value::Str(text) = &self.value {
                map.insert(b"0".to_vec(), text.to_vec());
            }
            self.value = Value::Assoc(Rc::new(map));
        }
        self.attrs |= attr::ASSOC;
        match &mut self.value {
            Value::Assoc(map) => Rc::make_mut(map),
            _ => unreachable!("made one just above"),
        }
    }

    /// The letters that `declare -p` and `${x@a}` show.
    pub(crate) fn letters(&self) -> Bytes {
        let mut out = Bytes::new();
        if self.is_assoc() {
            out.push(b'A');
        } else if self.is_array() {
            out.push(b'a');
        }
        out.extend(
            LETTERS
                .iter()
                .filter(|(bit, _)| self.has(*bit))
                .map(|(_, letter)| letter),
        );
        out
    }
}

/// What opened a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    Function,
    /// The assignments in front of a command.
    Temporary,
}

/// What a scope hides.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) kind: ScopeKind,
    pub(crate) hidden: Vec<(Rc<[u8]>, Option<Var>)>,
}

impl Scope {
    fn hides(&self, name: &[u8]) -> bool {
        self.hidden.iter().any(|(hidden, _)| &**hidden == name)
    }
}

/// All variables.
#[derive(Debug, Clone, Default)]
pub(crate) struct Vars {
    pub(crate) map: NameMap<Var>,
    pub(crate) scopes: Vec<Scope>,
}

impl Vars {
    pub(crate) fn get(&self, name: &[u8]) -> Option<&Var> {
        self.map.get(name)
    }

    pub(crate) fn get_mut(&mut self, name: &[u8]) -> Option<&mut Var> {
        self.map.get_mut(name)
    }

    /// The variable, created without a value if there is none.
    pub(crate) fn entry(&mut self, name: &[u8]) -> &mut Var {
        if !self.map.contains_key(name) {
            self.map.insert(name.into(), Var::default());
        }
        self.map
            .get_mut(name)
            .unwrap_or_else(|| unreachable!("inserted just above"))
    }

    pub(crate) fn insert(&mut self, name: &[u8], var: Var) {
        *self.entry(name) = var;
    }

    pub(crate) fn push_scope(&mut self, kind: ScopeKind) {
        self.scopes.push(Scope {
            kind,
            hidden: Vec::new(),
        });
    }

    pub(crate) fn pop_scope(&mut self) {
        let Some(scope) = self.scopes.pop() else {
            return;
        };
        for (name, var) in scope.hidden.into_iter().rev() {
            match var {
                Some(var) => {
                    self.map.insert(name, var);
                }
                None => {
                    self.map.remove(&name);
                }
            }
        }
    }

    pub(crate) fn in_function(&self) -> bool {
        self.scopes
            .iter()
            .any(|scope| scope.kind == ScopeKind::Function)
    }

    /// Hides `name` in the innermost scope and gives it the variable `var`.
    pub(crate) fn hide(&mut self, name: &[u8], var: Var) {
        let key: Rc<[u8]> = name.into();
        let old = self.map.insert(Rc::clone(&key), var);
        if let Some(scope) = self.scopes.last_mut()
            && !scope.hides(name)
        {
            scope.hidden.push((key, old));
        }
    }

    /// Makes `name` local to the innermost function; `true` when it was not yet.
    pub(crate) fn make_local(&mut self, name: &[u8], inherit: bool) -> bool {
        let Some(at) = self
            .scopes
            .iter()
            .rposition(|scope| scope.kind == ScopeKind::Function)
        else {
            return false;
        };
        if self.scopes[at].hides(name) {
            return false;
        }
        // An assignment in front of the call, or in front of `local` itself, gives the first value.
        let temporary = at > 0
            && self.scopes[at - 1].kind == ScopeKind::Temporary
            && self.scopes[at - 1].hides(name)
            || self.scopes[at + 1..].iter().any(|scope| scope.hides(name));
        let old = self.map.get(name).cloned();
        let fresh = match &old {
            Some(old) if temporary || inherit => Var {
                value: old.value.clone(),
                attrs: old.attrs & !attr::NAMEREF,
            },
            // An exported name stays exported.
            Some(old) => Var {
                value: Value::Unset,
                attrs: old.attrs & attr::EXPORT,
            },
            None => Var::default(),
        };
        let key: Rc<[u8]> = name.into();
        // A later temporary scope hides the same name: what it hides is the local's predecessor.
        let hidden = self.scopes[at + 1..]
            .iter()
            .find_map(|scope| scope.hidden.iter().find(|(n, _)| **n == *name))
            .map_or(old, |(_, var)| var.clone());
        self.scopes[at].hidden.push((Rc::clone(&key), hidden));
        for scope in &mut self.scopes[at + 1..] {
            scope.hidden.retain(|(n, _)| **n != *name);
        }
        self.map.insert(key, fresh);
        true
    }

    /// Whether `name` is a local of the innermost function.
    pub(crate) fn is_local(&self, name: &[u8]) -> bool {
        self.scopes
            .iter()
            .rev()
            .find(|scope| scope.kind == ScopeKind::Function)
            .is_some_and(|scope| scope.hides(name))
    }

    /// Names of the locals of the innermost function.
    pub(crate) fn locals(&self) -> Vec<Bytes> {
        let scope = self
            .scopes
            .iter()
            .rev()
            .find(|scope| scope.kind == ScopeKind::Function);
        let mut names: Vec<Bytes> = scope.map_or_else(Vec::new, |s| {
            s.hidden.iter().map(|(name, _)| name.to_vec()).collect()
        });
        names.sort_unstable();
        names
    }

    /// The variable as the global scope sees it.
    pub(crate) fn global_mut(&mut self, name: &[u8]) -> &mut Var {
        let hidden = self.scopes.iter().position(|scope| scope.hides(name));
        match hidden {
            Some(at) => {
                let slot = self.scopes[at]
                    .hidden
                    .iter_mut()
                    .find(|(n, _)| **n == *name);
                match slot {
                    Some((_, var)) => var.get_or_insert_with(Var::default),
                    None => unreachable!("the scope hides it"),
                }
            }
            None => self.entry(name),
        }
    }

    /// Removes `name`: a local stays unset in its function; one of a caller uncovers what it hid.
    pub(crate) fn unset(&mut self, name: &[u8]) {
        match self.scopes.iter().rposition(|scope| scope.hides(name)) {
            Some(at) => {
                let innermost = self
                    .scopes
                    .iter()
                    .rposition(|scope| scope.kind == ScopeKind::Function);
                if innermost == Some(at) {
                    self.map.insert(name.into(), Var::default());
                } else {
                    let hidden = &mut self.scopes[at].hidden;
                    if let Some(slot) = hidden.iter().position(|(n, _)| **n == *name) {
                        match hidden.remove(slot).1 {
                            Some(var) => self.map.insert(name.into(), var),
                            None => self.map.remove(name),
                        };
                    }
                }
            }
            None => {
                self.map.remove(name);
            }
        }
    }

    /// All names that have a variable, sorted.
    pub(crate) fn names(&self) -> Vec<Rc<[u8]>> {
        let mut names: Vec<_> = self.map.keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// `NAME=value` of each exported variable with a value.
    pub(crate) fn environment(&self) -> Vec<Bytes> {
        let mut all: Vec<Bytes> = self
            .map
            .iter()
            .filter(|(_, var)| var.has(attr::EXPORT) && !var.is_array())
            .filter_map(|(name, var)| {
                var.scalar()
                    .map(|value| [name, b"=".as_slice(), value].concat())
            })
            .collect();
        all.sort_unstable();
        all
    }
}
