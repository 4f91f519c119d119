//! Simple commands: assignments, functions, builtins and programs.

use std::rc::Rc;

use crate::ast::{Assign, AssignValue, Bytes, Redir, Simple, Word};
use crate::builtins::{self, Builtin};
use crate::options::{opt, shopt};
use crate::shell::{Exec, Flow, Frame, FrameKind, FunctionEntry, Shell, TrapKind};
use crate::shell_vars::Key;
use crate::sys::{self, Errno, Spawn};
use crate::vars::{ScopeKind, Value, Var, attr};
use crate::{escape, expand};

/// What a command name stands for.
pub(crate) enum Target {
    Function(FunctionEntry),
    Builtin(&'static Builtin),
    Program,
}

impl Shell {
    /// Runs a simple command.
    pub(crate) fn simple(&mut self, simple: &Simple, redirs: &[Redir]) -> Exec {
        let last = std::mem::take(&mut self.last_command);
        if self.trapping == 0 && !self.st.traps.is_empty() {
            self.set_command_text(simple);
            self.debug_trap()?;
        }
        self.substituted = None;
        let subs = self.process_fds.len();
        let saved_arrays = std::mem::take(&mut self.array_args);
        let result = match self.command_args(simple) {
            Ok(args) if args.is_empty() => self.assignments_only(simple, redirs),
            Ok(args) => self.invoke(simple, &args, redirs, last),
            Err(flow) => Err(flow),
        };
        self.array_args = saved_arrays;
        self.close_process_fds(subs);
        result
    }

    pub(crate) fn set_command_text(&mut self, simple: &Simple) {
        let mut text = Bytes::new();
        for assign in &simple.assigns {
            crate::printer::assign(assign, &mut text);
            text.push(b' ');
        }
        for word in &simple.words {
            text.extend_from_slice(&word.raw);
            text.push(b' ');
        }
        text.pop();
        self.command_text = text;
    }

    /// Expands the words; those of declaration builtins that are assignments are expanded as such.
    pub(crate) fn command_args(&mut self, simple: &Simple) -> Result<Vec<Bytes>, Flow> {
        if !simple.words.iter().any(|word| word.assign.is_some()) {
            return self.expand_words(&simple.words);
        }
        let mut args: Vec<Bytes> = Vec::new();
        let mut declaration = None;
        for word in &simple.words {
            match &word.assign {
                Some(assign)
                    if declaration == Some(true)
                        && (args.first().is_some_and(|name| is_declaration(name))
                            || matches!(assign.value, AssignValue::Array(_))) =>
                {
                    let text = self.assignment_arg(assign)?;
                    if matches!(assign.value, AssignValue::Array(_)) {
                        self.array_args.push((args.len(), Rc::clone(assign)));
                    }
                    args.push(text);
                }
                _ => self.expand_word(word, &mut args)?,
            }
            if declaration.is_none() {
                match args.last().map(Vec::as_slice) {
                    Some(b"command" | b"builtin" | b"--") | None => {}
                    Some(name) => declaration = Some(is_declaration(name)),
                }
            }
        }
        Ok(args)
    }

    /// `name=value` with the value expanded as in an assignment.
    fn assignment_arg(&mut self, assign: &Assign) -> Result<Bytes, Flow> {
        let mut text = assign.name.clone();
        if let Some(index) = &assign.index {
            text.push(b'[');
            text.extend(self.expand_single(index)?);
            text.push(b']');
        }
        if let AssignValue::Scalar(word) = &assign.value {
            text.extend_from_slice(if assign.append { b"+=" } else { b"=" });
            text.extend(self.expand_single(word)?);
        }
        Ok(text)
    }

    fn assignments_only(&mut self, simple: &Simple, redirs: &[Redir]) -> Exec {
        let mark = self.saved_fds.len();
        let mut status = 0;
        if !redirs.is_empty() {
            let result = self.redirect(redirs);
            self.restore_fds(mark);
            match result {
                Ok(()) => {}
                Err(Flow::Discard(code)) => status = code,
                Err(flow) => return Err(flow),
            }
        }
        for assign in &simple.assigns {
            self.perform(assign)?;
        }
        self.st.last_arg.clear();
        Ok(if status != 0 {
            status
        } else {
            self.substituted.take().unwrap_or(0)
        })
    }

    /// Performs an assignment in the current scope.
    pub(crate) fn perform(&mut self, assign: &Assign) -> Result<(), Flow> {
        match &assign.value {
            AssignValue::Scalar(word) => {
                let value = self.expand_single(word)?;
                if self.on(opt::XTRACE) {
                    let mut text = assign.name.clone();
                    if let Some(index) = &assign.index {
                        text.extend([b"[".as_slice(), &index.raw, b"]"].concat());
                    }
                    text.extend_from_slice(if assign.append { b"+=" } else { b"=" });
                    let shown = if value.is_empty() {
                        Bytes::new()
                    } else {
                        escape::trace_quote(&value)
                    };
                    self.trace_raw(&[text, shown].concat());
                }
                let key = match &assign.index {
                    Some(word) => {
                        let (name, _) = self.resolve(&assign.name);
                        Some(self.checked_key(&name, word)?)
                    }
                    None => None,
                };
                self.assign(&assign.name, key, value, assign.append)
            }
            AssignValue::Array(_) => {
                if self.on(opt::XTRACE) {
                    let mut text = Bytes::new();
                    crate::printer::assign(assign, &mut text);
                    self.trace_raw(&text);
                }
                self.perform_array(&assign.name, assign)
            }
        }
    }

    fn checked_key(&mut self, name: &[u8], word: &Word) -> Result<Key, Flow> {
        if word.raw.iter().all(u8::is_ascii_whitespace)
            || matches!(&*word.raw, b"@" | b"*") && !self.lookup(name).is_some_and(|v| v.is_assoc())
        {
            self.error(&[name, b"[", &*word.raw, b"]: bad array subscript"].concat());
            return Err(Flow::Discard(1));
        }
        self.key_of_word(name, word)
    }

    /// `name=(…)`
    pub(crate) fn perform_array(&mut self, name: &[u8], assign: &Assign) -> Result<(), Flow> {
        let AssignValue::Array(elements) = &assign.value else {
            return Ok(());
        };
        let (target, index) = self.resolve(name);
        if std::mem::take(&mut self.circular) {
            return Err(Flow::Discard(1));
        }
        if index.is_some() && self.is_nameref(name) {
            let shown = self
                .st
                .vars
                .get(name)
                .and_then(Var::scalar)
                .cloned()
                .unwrap_or_default();
            self.error(&[b"`", shown.as_slice(), b"': not a valid identifier"].concat());
            return Err(Flow::Discard(1));
        }
        let name = target.as_slice();
        let current = self.st.vars.get(name).cloned().unwrap_or_default();
        if current.has(attr::READONLY) {
            self.error(&[name, b": readonly variable"].concat());
            return Err(Flow::Discard(1));
        }
        let assoc = current.is_assoc();
        // Values are expanded before the variable changes, subscripts are evaluated when it does: `a=("${a[@]}" x)`.
        let mut pairs: Vec<(Option<Bytes>, Bytes, bool)> = Vec::new();
        let keyed = elements.iter().any(|element| element.index.is_some());
        if assoc && !keyed {
            let mut flat = Vec::new();
            for element in elements.iter() {
                self.expand_word(&element.value, &mut flat)?;
            }
            let mut flat = flat.into_iter();
            while let Some(key) = flat.next() {
                pairs.push((Some(key), flat.next().unwrap_or_default(), false));
            }
        } else {
            for element in elements.iter() {
                if let Some(index) = &element.index {
                    let key = self.expand_single(index)?;
                    let value = self.expand_single(&element.value)?;
                    pairs.push((Some(key), value, element.append));
                    continue;
                }
                let mut values = Vec::new();
                self.expand_word(&element.value, &mut values)?;
                if assoc {
                    for value in values {
                        self.error(
                            &[
                                name,
                                b": ",
                                &value,
                                b": must use subscript when assigning associative array",
                            ]
                            .concat(),
                        );
                    }
                    continue;
                }
                pairs.extend(values.into_iter().map(|value| (None, value, false)));
            }
        }
        self.store_array(name, pairs, assoc, assign.append)
    }

    fn store_array(
        &mut self,
        name: &[u8],
        pairs: Vec<(Option<Bytes>, Bytes, bool)>,
        assoc: bool,
        append: bool,
    ) -> Result<(), Flow> {
        let var = self.st.vars.entry(name);
        if !append {
            var.value = if assoc {
                Value::Assoc(Rc::default())
            } else {
                Value::Indexed(Rc::default())
            };
        }
        if assoc {
            var.make_assoc();
        } else {
            var.make_indexed();
        }
        let converted =
            var.attrs & (attr::INTEGER | attr::LOWER | attr::UPPER | attr::CAPITAL) != 0;
        let mut next = if let Value::Indexed(map) = &var.value {
            map.keys().next_back().map_or(0, |last| last + 1)
        } else {
            0
        };
        for (key, value, add) in pairs {
            let key = match key {
                None => Key::Index(next),
                Some(text) if assoc => Key::Text(text),
                Some(text) => Key::Index(self.arith_value(&text)?),
            };
            if let Key::Index(index) = key {
                next = index.wrapping_add(1);
            }
            match key {
                Key::Text(text) if !converted && !add => {
                    self.st.vars.entry(name).make_assoc().insert(text, value);
                }
                Key::Index(index) if !converted && !add && index >= 0 => {
                    self.st.vars.entry(name).make_indexed().insert(index, value);
                }
                key => self.assign(name, Some(key), value, add)?,
            }
        }
        Ok(())
    }

    // ---- running -----------------------------------------------------------------------------------------------

    /// What a name stands for as a command.
    pub(crate) fn target(&self, name: &[u8]) -> Target {
        if let Some(entry) = self.st.functions.get(name) {
            let special =
                self.on(opt::POSIX) && builtins::find(name).is_some_and(|builtin| builtin.special);
            if !special {
                return Target::Function(entry.clone());
            }
        }
        match builtins::find(name).filter(|_| !self.st.disabled.iter().any(|off| off == name)) {
            Some(builtin) => Target::Builtin(builtin),
            None => Target::Program,
        }
    }

    fn invoke(&mut self, simple: &Simple, args: &[Bytes], redirs: &[Redir], last: bool) -> Exec {
        if self.on(opt::XTRACE) {
            self.trace_command(simple, args)?;
        }
        let last_arg = args.last().cloned().unwrap_or_default();
        let target = self.target(&args[0]);
        let mark = self.saved_fds.len();
        if let Err(flow) = self.redirect(redirs) {
            self.restore_fds(mark);
            return match flow {
                Flow::Discard(status) => {
                    let fatal = matches!(&target, Target::Builtin(builtin) if builtin.special)
                        && self.on(opt::POSIX);
                    if fatal {
                        Err(Flow::Exit(status))
                    } else {
                        Ok(status)
                    }
                }
                // bash redirects a program in its child: the shell itself goes on.
                Flow::Exit(_) if matches!(target, Target::Program) => Ok(1),
                flow => Err(flow),
            };
        }
        let result = match target {
            Target::Program => self.program(simple, args, last && redirs.is_empty()),
            Target::Function(entry) => {
                self.with_assignments(simple, |shell| shell.call_function(&entry, args))
            }
            Target::Builtin(builtin) if builtin.name == "exec" => {
                let result =
                    self.with_assignments(simple, |shell| shell.run_builtin(builtin, args));
                if result == Ok(0) {
                    self.keep_fds(mark);
                }
                result
            }
            Target::Builtin(builtin) if builtin.special && self.on(opt::POSIX) => {
                for assign in &simple.assigns {
                    self.perform(assign)?;
                }
                self.run_builtin(builtin, args)
            }
            Target::Builtin(builtin) => {
                self.with_assignments(simple, |shell| shell.run_builtin(builtin, args))
            }
        };
        self.restore_fds(mark);
        self.st.last_arg = last_arg;
        result
    }

    fn trace_command(&mut self, simple: &Simple, args: &[Bytes]) -> Result<(), Flow> {
        for assign in &simple.assigns {
            if let AssignValue::Scalar(word) = &assign.value {
                let value = self.expand_single(word)?;
                self.trace_raw(
                    &[assign.name.as_slice(), b"=", &escape::set_quote(&value)].concat(),
                );
            }
        }
        let words: Vec<Bytes> = args.iter().map(|arg| escape::trace_quote(arg)).collect();
        self.trace_raw(&words.join(&b' '));
        Ok(())
    }

    /// Runs with the assignments in front of a command in force.
    fn with_assignments(&mut self, simple: &Simple, run: impl FnOnce(&mut Self) -> Exec) -> Exec {
        if simple.assigns.is_empty() {
            return run(self);
        }
        self.st.vars.push_scope(ScopeKind::Temporary);
        let depth = self.st.vars.scopes.len();
        let result = match self.temporary(simple) {
            Ok(()) => run(self),
            Err(flow) => Err(flow),
        };
        while self.st.vars.scopes.len() >= depth {
            self.st.vars.pop_scope();
        }
        result
    }

    fn temporary(&mut self, simple: &Simple) -> Result<(), Flow> {
        for assign in &simple.assigns {
            let old = self.st.vars.get(&assign.name).cloned();
            if old.as_ref().is_some_and(|var| var.has(attr::READONLY)) {
                // The command runs all the same, without it.
                self.error(&[assign.name.as_slice(), b": readonly variable"].concat());
                continue;
            }
            match &assign.value {
                AssignValue::Scalar(word) => {
                    let mut value = self.expand_single(word)?;
                    let mut attrs = attr::EXPORT;
                    if let Some(old) = &old {
                        attrs |=
                            old.attrs & (attr::INTEGER | attr::LOWER | attr::UPPER | attr::CAPITAL);
                        if assign.append {
                            value = [old.scalar().map_or(&b""[..], Vec::as_slice), &value].concat();
                        }
                    }
                    if attrs & attr::INTEGER != 0 {
                        value = self.arith_value(&value)?.to_string().into_bytes();
                    } else if attrs & (attr::LOWER | attr::UPPER | attr::CAPITAL) != 0 {
                        value = expand::change_case(&value, attrs);
                    }
                    let mut var = Var::string(value);
                    var.attrs = attrs;
                    self.st.vars.hide(&assign.name, var);
                }
                AssignValue::Array(_) => self.perform_array(&assign.name, assign)?,
            }
        }
        Ok(())
    }

    /// Runs a builtin and writes what it has printed.
    pub(crate) fn run_builtin(&mut self, builtin: &'static Builtin, args: &[Bytes]) -> Exec {
        let outer = self.builtin.replace(builtin.name);
        let result = (builtin.run)(self, args);
        self.builtin = Some(builtin.name);
        let failed = self.flush();
        self.builtin = outer;
        match result {
            Ok(status) if failed != 0 && status == 0 => Ok(failed),
            other => other,
        }
    }

    pub(crate) fn call_function(&mut self, entry: &FunctionEntry, args: &[Bytes]) -> Exec {
        let Some(def) = entry.function.def() else {
            self.error(&[args[0].as_slice(), b": function is damaged"].concat());
            return Ok(1);
        };
        let limit = self
            .get(b"FUNCNEST")
            .and_then(|text| std::str::from_utf8(&text).ok()?.parse::<usize>().ok())
            .filter(|n| *n > 0);
        if let Some(limit) = limit.filter(|limit| self.function_depth() >= *limit) {
            let text = format!(": maximum function nesting level exceeded ({limit})").into_bytes();
            self.error(&[args[0].as_slice(), &text].concat());
            return Err(Flow::Discard(1));
        }
        let line = self.st.line;
        self.st.frames.push(Frame {
            kind: FrameKind::Function,
            name: args[0].clone(),
            source: entry.function.source.clone(),
            line,
        });
        self.st.vars.push_scope(ScopeKind::Function);
        let scope_depth = self.st.vars.scopes.len();
        let params = std::mem::replace(&mut self.st.params, Rc::new(args[1..].to_vec()));
        let loops = std::mem::take(&mut self.loops);
        let builtin = self.builtin.take();
        let set_local = self.st.set;
        let result = match self.enter_function(entry.trace) {
            Ok(()) => self.command(&def.body),
            Err(flow) => Err(flow),
        };
        let result = match result {
            Err(Flow::Return(status)) => Ok(status),
            other => other,
        };
        if let Ok(status) = result
            && self.st.traps.contains_key(&TrapKind::Return)
        {
            self.st.status = status;
            self.run_trap(TrapKind::Return)?;
        }
        if self.st.vars.is_local(b"-") {
            self.st.set = set_local;
        }
        self.builtin = builtin;
        self.loops = loops;
        self.st.params = params;
        while self.st.vars.scopes.len() >= scope_depth {
            self.st.vars.pop_scope();
        }
        self.st.frames.pop();
        let gone = self.function_depth();
        self.st.trap_levels.retain(|_, level| *level <= gone);
        self.st.line = line;
        result
    }

    /// The DEBUG trap of a function that inherits it runs once more as the function is entered.
    fn enter_function(&mut self, trace: bool) -> Result<(), Flow> {
        if trace || self.on(opt::FUNCTRACE) {
            self.debug_trap()?;
        }
        Ok(())
    }

    // ---- programs ----------------------------------------------------------------------------------------------

    /// Where a program lies: as given when it has a slash, else on `PATH`.
    pub(crate) fn find_program(&mut self, name: &[u8]) -> Option<Bytes> {
        if name.contains(&b'/') {
            return Some(name.to_vec());
        }
        if let Some((path, _)) = self.st.hashed.get(name) {
            let path = path.clone();
            if let Some((_, hits)) = Rc::make_mut(&mut self.st.hashed).get_mut(name) {
                *hits += 1;
            }
            return Some(path);
        }
        let path = self.search_path(name, false).into_iter().next()?;
        if self.on(opt::HASHALL) {
            Rc::make_mut(&mut self.st.hashed).insert(name.to_vec(), (path.clone(), 1));
        }
        Some(path)
    }

    /// The programs called `name` on `PATH`, all of them or the first.
    pub(crate) fn search_path(&mut self, name: &[u8], all: bool) -> Vec<Bytes> {
        let path = self
            .get(b"PATH")
            .map(|path| path.to_vec())
            .unwrap_or_default();
        let mut found = Vec::new();
        let mut not_executable = None;
        for dir in path.split(|&b| b == b':') {
            let full = if dir.is_empty() {
                [b"./", name].concat()
            } else {
                [dir, b"/", name].concat()
            };
            match sys::stat(&full) {
                Ok(stat) if stat.is_file() => {
                    if sys::access(&full, sys::Access::EXECUTE) {
                        found.push(full);
                        if !all {
                            return found;
                        }
                    } else if not_executable.is_none() {
                        not_executable = Some(full);
                    }
                }
                _ => {}
            }
        }
        if found.is_empty() && !all {
            found.extend(not_executable);
        }
        found
    }

    /// The request to start a program; an error has been printed when there is none.
    pub(crate) fn prepare_program(&mut self, args: &[Bytes]) -> Result<Spawn, i32> {
        let Some(path) = self.find_program(&args[0]).filter(|_| !args[0].is_empty()) else {
            self.error(&[args[0].as_slice(), b": command not found"].concat());
            return Err(127);
        };
        let mut spawn = Spawn::new(&path);
        spawn.args(args).env(self.environment(&path)).all_fds(true);
        Ok(spawn)
    }

    /// The environment of a program: exported variables and functions, and the program's own path as `_`.
    pub(crate) fn environment(&self, path: &[u8]) -> Vec<Bytes> {
        let mut all = self.st.vars.environment();
        all.push([b"_=".as_slice(), path].concat());
        for (name, entry) in self.st.functions.iter().filter(|(_, entry)| entry.export) {
            if let Some(def) = entry.function.def() {
                let text = crate::printer::function_text(&def);
                let body = text
                    .strip_prefix(&**name)
                    .unwrap_or(&text)
                    .trim_ascii_start();
                let body: Bytes = body.strip_prefix(b"() \n{").map_or_else(
                    || body.to_vec(),
                    |rest| [b"() { ".as_slice(), rest].concat(),
                );
                all.push([b"BASH_FUNC_".as_slice(), name, b"%%=", &body].concat());
            }
        }
        all
    }

    /// Prints why a program could not be started; the status for it.
    pub(crate) fn spawn_failed(&mut self, name: &[u8], error: Errno) -> i32 {
        let path = self.find_program(name).unwrap_or_else(|| name.to_vec());
        Rc::make_mut(&mut self.st.hashed).remove(name);
        let stat = sys::stat(&path);
        if stat.as_ref().is_ok_and(sys::Stat::is_dir) {
            self.error(&[name, b": Is a directory"].concat());
            return 126;
        }
        if error == Errno::ENOENT && stat.is_ok() {
            self.error(&[name, b": cannot execute: required file not found"].concat());
            return 127;
        }
        let text = if error == Errno::ENOEXEC {
            "cannot execute binary file: Exec format error".to_owned()
        } else {
            sys::message(error)
        };
        self.error(&[name, b": ", text.as_bytes()].concat());
        if matches!(error, Errno::ENOENT | Errno::ENOTDIR)
            && stat.is_err()
            && error == Errno::ENOENT
        {
            127
        } else {
            126
        }
    }

    fn program(&mut self, simple: &Simple, args: &[Bytes], last: bool) -> Exec {
        if simple.assigns.is_empty() {
            return self.start_and_wait(args, last);
        }
        self.with_assignments(simple, |shell| shell.start_and_wait(args, false))
    }

    fn start_and_wait(&mut self, args: &[Bytes], last: bool) -> Exec {
        if let Some(entry) = self.not_found_handler(&args[0]) {
            let call: Vec<Bytes> = std::iter::once(b"command_not_found_handle".to_vec())
                .chain(args.iter().cloned())
                .collect();
            return self.call_function(&entry, &call);
        }
        let spawn = match self.prepare_program(args) {
            Ok(spawn) => spawn,
            Err(status) => return Ok(status),
        };
        if last && self.may_become(args) {
            let error = spawn.exec();
            if error == Errno::ENOEXEC {
                return self.run_as_script(args);
            }
            return Ok(self.spawn_failed(&args[0], error));
        }
        match self.spawn(spawn) {
            Ok(child) => self.wait_foreground(child),
            Err(Errno::ENOEXEC) => self.run_as_script(args),
            Err(error) => Ok(self.spawn_failed(&args[0], error)),
        }
    }

    fn not_found_handler(&mut self, name: &[u8]) -> Option<FunctionEntry> {
        let entry = self
            .st
            .functions
            .get(b"command_not_found_handle".as_slice())?
            .clone();
        self.find_program(name).is_none().then_some(entry)
    }

    /// Whether the shell has nothing left to do and may be replaced by the program.
    fn may_become(&self, args: &[Bytes]) -> bool {
        (self.st.traps.is_empty() || self.st.traps_shown_only)
            && self.captures.is_empty()
            && self.saved_fds.is_empty()
            && self.subshell_saves.is_empty()
            && self.process_fds.is_empty()
            && (self.st.subshell == 0 || self.handed_over)
            && !self.on(opt::MONITOR)
            && self.jobs.is_empty()
            && !args.is_empty()
            && !self.shopt(shopt::EXECFAIL)
    }

    /// A file without `#!` that is no program is a script of the shell.
    fn run_as_script(&mut self, args: &[Bytes]) -> Exec {
        let path = self
            .find_program(&args[0])
            .unwrap_or_else(|| args[0].clone());
        let head = sys::read_file(&path).unwrap_or_default();
        let first_line = head.split(|&b| b == b'\n').next().unwrap_or(&[]);
        if first_line.contains(&0) {
            return Ok(self.spawn_failed(&args[0], Errno::ENOEXEC));
        }
        let mut spawn = Spawn::new(self.own_program());
        let script_args: Vec<Bytes> = [b"bash".to_vec(), b"--".to_vec(), path.clone()]
            .into_iter()
            .chain(args[1..].iter().cloned())
            .collect();
        spawn
            .args(script_args)
            .env(self.environment(&path))
            .all_fds(true);
        match self.spawn(spawn) {
            Ok(child) => self.wait_foreground(child),
            Err(error) => Ok(self.spawn_failed(&args[0], error)),
        }
    }
}

/// Whether the arguments of this builtin are assignments.
pub(crate) fn is_declaration(name: &[u8]) -> bool {
    matches!(
        name,
        b"declare" | b"typeset" | b"local" | b"export" | b"readonly"
    )
}
