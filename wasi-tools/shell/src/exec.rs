//! Running commands.

use std::rc::Rc;

use crate::ast::{
    AndOr, ArithText, ArmEnd, Bytes, CaseArm, Command, Kind, Pipeline, Script, TimeStyle, Word,
};
use crate::options::opt;
use crate::parser::{ParseError, Parser, is_name};
use crate::shell::{Exec, Flow, Function, FunctionEntry, Shell, TrapKind};
use crate::sys;

/// Commands inside commands above which the shell stops, so that its stack never ends first.
const MAX_DEPTH: u32 = 6000;
/// Bytes of the stack in memory that may be used.
const MAX_STACK: usize = 6 << 20;

impl Shell {
    /// Runs all commands of a parser's input. At the top an error that discards a command does not end the rest.
    pub(crate) fn run_parser(&mut self, parser: &mut Parser, top: bool) -> Exec {
        let mut status = 0;
        loop {
            parser.context = self.parse_context();
            match parser.next_command() {
                Ok(None) => return Ok(status),
                Ok(Some(script)) => {
                    for (line, text) in std::mem::take(&mut parser.warnings) {
                        self.st.line = line;
                        self.error(&[b"warning: ", text.as_slice()].concat());
                    }
                    if self.on(opt::NOEXEC) && !self.interactive {
                        continue;
                    }
                    if top && (self.command_string || self.handed_over) && self.state_out.is_none()
                    {
                        self.last_command = parser.at_end();
                    }
                    match self.list(&script) {
                        Ok(code) => status = code,
                        Err(Flow::Discard(code)) if top => {
                            status = code;
                            self.st.status = code;
                            self.guarded = 0;
                            self.loops = 0;
                        }
                        Err(Flow::Break(_) | Flow::Continue(_)) if top => status = 0,
                        Err(flow) => return Err(flow),
                    }
                    if self.on(opt::ONECMD) && top {
                        return Err(Flow::Exit(status));
                    }
                }
                Err(error) => {
                    for (line, text) in std::mem::take(&mut parser.warnings) {
                        self.st.line = line;
                        self.error(&[b"warning: ", text.as_slice()].concat());
                    }
                    self.report_syntax(&error);
                    if !error.keep_status {
                        self.st.status = 2;
                    }
                    let status = self.st.status;
                    return if top {
                        Err(Flow::Exit(status))
                    } else {
                        Ok(status)
                    };
                }
            }
        }
    }

    /// Prints a syntax error as bash words it.
    pub(crate) fn report_syntax(&mut self, error: &ParseError) {
        let mut start = self.message_name();
        match self.parsing {
            Some(what) => start.extend(format!(": {what}: line {}: ", error.line).bytes()),
            None if self.command_string && self.st.frames.is_empty() => {
                start.extend(format!(": -c: line {}: ", error.line).bytes());
            }
            None => start.extend(format!(": line {}: ", error.line).bytes()),
        }
        let mut text = [start.as_slice(), &error.message, b"\n"].concat();
        if let Some(source) = &error.source {
            text.extend([start.as_slice(), b"`", source, b"'\n"].concat());
        }
        self.print_error(&text);
    }

    /// Parses and runs text in the current shell, as `eval` and traps do.
    pub(crate) fn eval_text(&mut self, text: &[u8], what: Option<&'static str>) -> Exec {
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(0);
        }
        let outer = std::mem::replace(&mut self.parsing, what);
        let line = self.st.line;
        let mut parser = Parser::of_text(text, self.parse_context(), 1);
        parser.set_line_base(line);
        let result = self.run_parser(&mut parser, false);
        self.parsing = outer;
        self.st.line = line;
        result
    }

    /// Runs a list.
    pub(crate) fn list(&mut self, script: &Script) -> Exec {
        let mut status = 0;
        let last = std::mem::take(&mut self.last_command);
        let count = script.items.len();
        for (at, item) in script.items.iter().enumerate() {
            if sandbar_guest::signal::pending().bits() != 0 {
                self.run_signal_traps()?;
            }
            if item.background {
                status = self.background(&item.and_or)?;
            } else {
                self.last_command = last && at + 1 == count;
                status = self.and_or(&item.and_or)?;
            }
            self.st.status = status;
            if sandbar_guest::signal::pending().bits() != 0 {
                self.run_signal_traps()?;
            }
            if self.on(opt::NOEXEC) && !self.interactive {
                break;
            }
        }
        Ok(status)
    }

    fn and_or(&mut self, and_or: &AndOr) -> Exec {
        if and_or.rest.is_empty() {
            return self.pipeline(&and_or.first);
        }
        self.last_command = false;
        let mut status = self.guarded(|shell| shell.pipeline(&and_or.first))?;
        let count = and_or.rest.len();
        for (at, (and, pipeline)) in and_or.rest.iter().enumerate() {
            self.st.status = status;
            if *and != (status == 0) {
                continue;
            }
            status = if at + 1 == count {
                self.pipeline(pipeline)?
            } else {
                self.guarded(|shell| shell.pipeline(pipeline))?
            };
        }
        Ok(status)
    }

    /// Runs something whose failure is looked at: `set -e` is off meanwhile.
    pub(crate) fn guarded(&mut self, run: impl FnOnce(&mut Self) -> Exec) -> Exec {
        self.guarded += 1;
        let result = run(self);
        self.guarded = self.guarded.saturating_sub(1);
        result
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Exec {
        if let Some(style) = pipeline.time {
            self.last_command = false;
            return self.timed(pipeline, style);
        }
        self.pipeline_untimed(pipeline)
    }

    fn pipeline_untimed(&mut self, pipeline: &Pipeline) -> Exec {
        if pipeline.negate {
            self.last_command = false;
            let status = self.guarded(|shell| shell.stages(pipeline))?;
            return Ok(i32::from(status == 0));
        }
        self.redirect_failed_now = false;
        let status = self.stages(pipeline)?;
        if status != 0 && self.guarded == 0 {
            let checked = pipeline.stages.len() > 1
                || std::mem::take(&mut self.redirect_failed_now)
                || matches!(
                    pipeline.stages.first().map(|command| &command.kind),
                    Some(
                        Kind::Simple(_)
                            | Kind::Subshell(_)
                            | Kind::Cond(_)
                            | Kind::Arith(_)
                            | Kind::Coproc { .. }
                    )
                );
            if checked {
                self.st.status = status;
                self.err_trap(status)?;
                if self.on(opt::ERREXIT) {
                    return Err(Flow::Exit(status));
                }
            }
        }
        Ok(status)
    }

    fn stages(&mut self, pipeline: &Pipeline) -> Exec {
        match pipeline.stages.as_slice() {
            [] => Ok(0),
            [only] => {
                let status = self.command(only)?;
                if !matches!(
                    only.kind,
                    Kind::If { .. }
                        | Kind::While { .. }
                        | Kind::For { .. }
                        | Kind::ForArith { .. }
                        | Kind::Case { .. }
                        | Kind::Group(_)
                        | Kind::Select { .. }
                ) {
                    self.st.pipestatus.clear();
                    self.st.pipestatus.push(status);
                }
                Ok(status)
            }
            stages => {
                self.last_command = false;
                self.run_pipeline(stages)
            }
        }
    }

    fn timed(&mut self, pipeline: &Pipeline, style: TimeStyle) -> Exec {
        let usage = || {
            let one = |who| {
                sandbar_guest::process::usage(who)
                    .map(|u| (u.user, u.system))
                    .unwrap_or_default()
            };
            let (mine, children) = (
                one(sandbar_guest::process::Who::Caller),
                one(sandbar_guest::process::Who::Children),
            );
            (mine.0 + children.0, mine.1 + children.1)
        };
        let start = sandbar_guest::time::monotonic();
        let before = usage();
        let result = self.pipeline_untimed(pipeline);
        let real = sandbar_guest::time::monotonic().saturating_sub(start);
        let after = usage();
        let times = [
            real,
            after.0.saturating_sub(before.0),
            after.1.saturating_sub(before.1),
        ];
        let format = if style == TimeStyle::Posix {
            b"real %2R\nuser %2U\nsys %2S".to_vec()
        } else {
            self.get(b"TIMEFORMAT").map_or_else(
                || b"\nreal\t%3lR\nuser\t%3lU\nsys\t%3lS".to_vec(),
                |text| text.to_vec(),
            )
        };
        if !format.is_empty() {
            let mut text = time_report(&format, times);
            text.push(b'\n');
            self.print_error(&text);
        }
        result
    }

    /// Whether one more level of commands would be too deep.
    fn too_deep(&self) -> bool {
        let here = 0_u8;
        self.depth > MAX_DEPTH
            || self.stack_base.abs_diff(std::ptr::from_ref(&here).addr()) > MAX_STACK
    }

    /// Runs a command with its redirections.
    pub(crate) fn command(&mut self, command: &Command) -> Exec {
        if self.too_deep() {
            let text = b"maximum command nesting level exceeded".as_slice();
            self.error(text);
            return Err(Flow::Exit(2));
        }
        self.depth += 1;
        let result = if let Kind::Simple(simple) = &command.kind {
            self.st.line = command.line;
            self.simple(simple, &command.redirs)
        } else {
            self.last_command = false;
            self.compound(command)
        };
        self.depth -= 1;
        result
    }

    fn compound(&mut self, command: &Command) -> Exec {
        if command.redirs.is_empty() || matches!(command.kind, Kind::Function(_)) {
            return self.compound_kind(command);
        }
        let mark = self.saved_fds.len();
        let subs = self.process_fds.len();
        self.st.line = command.line;
        let result = match self.redirect(&command.redirs) {
            Ok(()) => {
                let result = self.compound_kind(command);
                self.flush();
                result
            }
            // A redirection that fails is a failed command, not the end of the list.
            Err(Flow::Discard(status)) => {
                self.redirect_failed_now = true;
                Ok(status)
            }
            Err(flow) => Err(flow),
        };
        self.restore_fds(mark);
        self.close_process_fds(subs);
        result
    }

    fn compound_kind(&mut self, command: &Command) -> Exec {
        match &command.kind {
            Kind::Simple(simple) => self.simple(simple, &[]),
            Kind::Group(body) => self.list(body),
            Kind::Subshell(body) => {
                self.st.line = command.line;
                self.subshell(body)
            }
            Kind::If { arms, otherwise } => self.if_command(arms, otherwise.as_ref()),
            Kind::While {
                until,
                condition,
                body,
            } => self.while_command(*until, condition, body),
            Kind::For { name, words, body } => {
                self.st.line = command.line;
                self.for_command(name, words.as_deref(), body, command.line)
            }
            Kind::ForArith {
                init,
                condition,
                step,
                body,
            } => self.for_arith((init, condition, step), body, command.line),
            Kind::Select { name, words, body } => {
                self.st.line = command.line;
                self.select(name, words.as_deref(), body)
            }
            Kind::Case { word, arms } => {
                self.st.line = command.line;
                self.case_command(word, arms)
            }
            Kind::Cond(cond) => {
                self.st.line = command.line;
                self.debug_trap()?;
                self.conditional(cond)
            }
            Kind::Arith(text) => {
                self.st.line = command.line;
                self.debug_trap()?;
                if self.on(opt::XTRACE) {
                    let shown = self.expand_arith_text(&text.parts)?;
                    self.trace_raw(&[b"(( ", shown.as_slice(), b" ))"].concat());
                }
                match self.arith(text, Some("((")) {
                    Ok(value) => Ok(i32::from(value == 0)),
                    Err(Flow::Discard(_)) => Ok(1),
                    Err(flow) => Err(flow),
                }
            }
            Kind::Function(def) => self.define_function(
                Function {
                    parsed: Rc::clone(def).into(),
                    text: std::cell::OnceCell::new(),
                    source: self.current_source(),
                    line: def.line,
                },
                &def.name,
            ),
            Kind::Coproc { name, body } => self.coproc(name.as_deref(), body),
        }
    }

    /// Adds a function to the table.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "the arms of the caller have one type"
    )]
    pub(crate) fn define_function(&mut self, function: Function, name: &[u8]) -> Exec {
        let old = self.st.functions.get(name);
        if old.is_some_and(|entry| entry.readonly) {
            self.error(&[name, b": readonly function"].concat());
            return Ok(1);
        }
        if name.contains(&b'$') || name.contains(&b'`') || self.on(opt::POSIX) && !is_name(name) {
            self.error(&[b"`", name, b"': not a valid identifier"].concat());
            return Ok(1);
        }
        let export = old.is_some_and(|entry| entry.export);
        let trace = old.is_some_and(|entry| entry.trace);
        let entry = FunctionEntry {
            function: Rc::new(function),
            export,
            readonly: false,
            trace,
        };
        Rc::make_mut(&mut self.st.functions).insert(name.into(), entry);
        Ok(0)
    }

    fn if_command(&mut self, arms: &[(Script, Script)], otherwise: Option<&Script>) -> Exec {
        for (condition, body) in arms {
            if self.guarded(|shell| shell.list(condition))? == 0 {
                return self.list(body);
            }
        }
        match otherwise {
            Some(body) => self.list(body),
            None => Ok(0),
        }
    }

    fn while_command(&mut self, until: bool, condition: &Script, body: &Script) -> Exec {
        self.loops += 1;
        let result = self.while_loop(until, condition, body);
        self.loops = self.loops.saturating_sub(1);
        result
    }

    fn while_loop(&mut self, until: bool, condition: &Script, body: &Script) -> Exec {
        let mut status = 0;
        loop {
            let go_on = match self.guarded(|shell| shell.list(condition)) {
                Ok(code) => (code == 0) != until,
                Err(flow) => match after_loop(flow) {
                    Ok(true) => continue,
                    Ok(false) => return Ok(0),
                    Err(flow) => return Err(flow),
                },
            };
            if !go_on {
                return Ok(status);
            }
            match self.list(body) {
                Ok(code) => status = code,
                Err(flow) => {
                    status = 0;
                    if !after_loop(flow)? {
                        return Ok(0);
                    }
                }
            }
        }
    }

    fn loop_words(&mut self, words: Option<&[Word]>) -> Result<Vec<Bytes>, Flow> {
        match words {
            Some(words) => self.expand_words(words),
            None => Ok(self.st.params.to_vec()),
        }
    }

    fn valid_loop_name(&mut self, name: &[u8]) -> bool {
        let valid = is_name(name);
        if !valid {
            self.error(&[b"`", name, b"': not a valid identifier"].concat());
        }
        valid
    }

    fn for_command(
        &mut self,
        name: &[u8],
        words: Option<&[Word]>,
        body: &Script,
        line: u32,
    ) -> Exec {
        if !self.valid_loop_name(name) {
            return Ok(1);
        }
        let items = self.loop_words(words)?;
        let mut status = 0;
        self.loops += 1;
        for item in items {
            self.st.line = line;
            let step = self.for_step(name, item, words);
            let result = match step {
                Ok(()) => self.list(body),
                Err(flow) => Err(flow),
            };
            match result {
                Ok(code) => status = code,
                Err(flow) => {
                    status = 0;
                    match after_loop(flow) {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(flow) => {
                            self.loops = self.loops.saturating_sub(1);
                            return Err(flow);
                        }
                    }
                }
            }
        }
        self.loops = self.loops.saturating_sub(1);
        Ok(status)
    }

    fn for_step(&mut self, name: &[u8], item: Bytes, words: Option<&[Word]>) -> Result<(), Flow> {
        if self.on(opt::XTRACE) {
            let shown: Vec<&[u8]> = words.map_or_else(
                || vec![b"\"$@\"".as_slice()],
                |list| list.iter().map(|w| &*w.raw).collect(),
            );
            self.trace_raw(&[b"for ".as_slice(), name, b" in ", &shown.join(&b' ')].concat());
        }
        self.debug_trap()?;
        if self
            .st
            .vars
            .get(name)
            .is_some_and(|var| var.has(crate::vars::attr::NAMEREF))
        {
            // The loop variable is the reference itself, not what it refers to.
            self.st.vars.entry(name).value = crate::vars::Value::Str(Rc::new(item));
            return Ok(());
        }
        self.set(name, item)
    }

    fn for_arith(
        &mut self,
        head: (&ArithText, &ArithText, &ArithText),
        body: &Script,
        line: u32,
    ) -> Exec {
        self.loops += 1;
        let result = self.for_arith_loop(head, body, line);
        self.loops = self.loops.saturating_sub(1);
        match result {
            Err(Flow::Discard(_)) if self.nested_arith == 0 => Ok(1),
            other => other,
        }
    }

    fn for_arith_loop(
        &mut self,
        head: (&ArithText, &ArithText, &ArithText),
        body: &Script,
        line: u32,
    ) -> Exec {
        let (init, condition, step) = head;
        let empty = |text: &ArithText| text.raw.iter().all(u8::is_ascii_whitespace);
        self.st.line = line;
        self.debug_trap()?;
        if !empty(init) {
            self.arith(init, Some("(("))?;
        }
        let mut status = 0;
        loop {
            self.st.line = line;
            self.debug_trap()?;
            if !empty(condition) && self.arith(condition, Some("(("))? == 0 {
                return Ok(status);
            }
            match self.list(body) {
                Ok(code) => status = code,
                Err(flow) => {
                    status = 0;
                    if !after_loop(flow)? {
                        return Ok(0);
                    }
                }
            }
            self.st.line = line;
            self.debug_trap()?;
            if !empty(step) {
                self.arith(step, Some("(("))?;
            }
        }
    }

    fn select(&mut self, name: &[u8], words: Option<&[Word]>, body: &Script) -> Exec {
        if !self.valid_loop_name(name) {
            return Ok(1);
        }
        let items = self.loop_words(words)?;
        if items.is_empty() {
            return Ok(0);
        }
        self.loops += 1;
        let result = self.select_loop(name, &items, body);
        self.loops = self.loops.saturating_sub(1);
        result
    }

    fn select_loop(&mut self, name: &[u8], items: &[Bytes], body: &Script) -> Exec {
        let mut show = true;
        loop {
            if show {
                let mut menu = Bytes::new();
                let width = items.len().to_string().len();
                for (at, item) in items.iter().enumerate() {
                    menu.extend(format!("{:>width$}) ", at + 1).bytes());
                    menu.extend_from_slice(item);
                    menu.push(b'\n');
                }
                self.print_error(&menu);
            }
            let prompt = self
                .get(b"PS3")
                .map_or_else(|| b"#? ".to_vec(), |text| text.to_vec());
            self.print_error(&prompt);
            let Some(line) = self.read_plain_line(0) else {
                self.print_error(b"\n");
                return Ok(1);
            };
            self.set(b"REPLY", line.clone())?;
            show = line.is_empty();
            if show {
                continue;
            }
            let number = std::str::from_utf8(&line)
                .ok()
                .and_then(|text| text.trim().parse::<usize>().ok());
            let choice = number
                .and_then(|n| items.get(n.wrapping_sub(1)))
                .cloned()
                .unwrap_or_default();
            self.set(name, choice)?;
            if let Err(flow) = self.list(body)
                && !after_loop(flow)?
            {
                return Ok(0);
            }
        }
    }

    fn case_command(&mut self, word: &Word, arms: &[CaseArm]) -> Exec {
        self.debug_trap()?;
        let text = self.expand_single(word)?;
        if self.on(opt::XTRACE) {
            self.trace_raw(&[b"case ", &*word.raw, b" in"].concat());
        }
        let fold = self.shopt(crate::options::shopt::NOCASEMATCH);
        let mut status = 0;
        let mut falling = false;
        for arm in arms {
            let mut hit = falling;
            if !hit {
                for pattern in &arm.patterns {
                    if self.pattern_of(pattern, fold, false)?.matches(&text) {
                        hit = true;
                        break;
                    }
                }
            }
            if !hit {
                continue;
            }
            status = self.list(&arm.body)?;
            match arm.end {
                ArmEnd::Break => return Ok(status),
                ArmEnd::FallThrough => falling = true,
                ArmEnd::TestNext => falling = false,
            }
        }
        Ok(status)
    }

    // ---- traps -------------------------------------------------------------------------------------------------

    /// The command of a trap that is in force here.
    fn active_trap(&self, kind: TrapKind) -> Option<Bytes> {
        let text = self.st.traps.get(&kind).filter(|text| !text.is_empty())?;
        let inherited = match kind {
            TrapKind::Err => self.on(opt::ERRTRACE),
            TrapKind::Debug | TrapKind::Return => self.on(opt::FUNCTRACE),
            _ => true,
        };
        let called =
            self.st.vars.in_function() && self.st.traps_depth(kind) < self.function_depth();
        if matches!(kind, TrapKind::Err | TrapKind::Debug | TrapKind::Return) {
            if (self.st.traps_shown_only || called) && !inherited {
                return None;
            }
        } else if self.st.traps_shown_only {
            return None;
        }
        Some(text.clone())
    }

    pub(crate) fn function_depth(&self) -> usize {
        self.st
            .frames
            .iter()
            .filter(|frame| frame.kind == crate::shell::FrameKind::Function)
            .count()
    }

    pub(crate) fn run_trap(&mut self, kind: TrapKind) -> Result<(), Flow> {
        let Some(text) = self.active_trap(kind) else {
            return Ok(());
        };
        if self.trapping > 50 {
            return Ok(());
        }
        let status = self.st.status;
        let pipestatus = self.st.pipestatus.clone();
        let last_arg = self.st.last_arg.clone();
        let line = self.st.line;
        if matches!(kind, TrapKind::Signal(_)) {
            self.st.line = 1;
        }
        self.trapping += 1;
        let outer = self.trap_status.replace(status);
        let result = self.eval_text(&text, Some("trap"));
        self.trap_status = outer;
        self.trapping -= 1;
        self.st.line = line;
        if let Err(Flow::Exit(code)) = result {
            return Err(Flow::Exit(code));
        }
        self.st.status = status;
        self.st.pipestatus = pipestatus;
        self.st.last_arg = last_arg;
        result.map(|_| ())
    }

    fn err_trap(&mut self, status: i32) -> Result<(), Flow> {
        if self.st.traps.contains_key(&TrapKind::Err) && self.trapping == 0 {
            self.st.status = status;
            self.run_trap(TrapKind::Err)?;
        }
        Ok(())
    }

    pub(crate) fn debug_trap(&mut self) -> Result<(), Flow> {
        if self.st.traps.contains_key(&TrapKind::Debug) && self.trapping == 0 {
            self.run_trap(TrapKind::Debug)?;
        }
        Ok(())
    }

    /// Runs the traps of the signals that have arrived.
    pub(crate) fn run_signal_traps(&mut self) -> Result<(), Flow> {
        let pending = sandbar_guest::signal::take();
        for signal in pending.iter() {
            let number = u8::try_from(signal.number()).unwrap_or(0);
            self.run_trap(TrapKind::Signal(number))?;
        }
        Ok(())
    }

    /// Runs the EXIT trap and gives the status with which the shell ends.
    pub(crate) fn exit_trap(&mut self, status: i32) -> i32 {
        self.st.status = status;
        if self.st.traps_shown_only {
            return status;
        }
        let Some(text) = self.st.traps.remove(&TrapKind::Exit) else {
            return status;
        };
        self.guarded = 0;
        let outer = self.trap_status.replace(status);
        let result = self.eval_text(&text, Some("exit trap"));
        self.trap_status = outer;
        match result {
            Err(Flow::Exit(code)) => code,
            _ => status,
        }
    }

    // ---- trace -------------------------------------------------------------------------------------------------

    /// Prints a line of the trace of `set -x`.
    pub(crate) fn trace_raw(&mut self, text: &[u8]) {
        let ps4 = self
            .get(b"PS4")
            .map_or_else(|| b"+ ".to_vec(), |text| text.to_vec());
        let saved = self.st.set;
        let status = self.st.status;
        self.st.set &= !opt::XTRACE;
        let mut line = self.prompt(&ps4);
        self.st.set = saved;
        self.st.status = status;
        if let Some(&first) = line.first() {
            // The first character shows the nesting of evaluations.
            let depth = usize::try_from(self.st.subshell).unwrap_or(0).min(20);
            line.splice(0..0, std::iter::repeat_n(first, depth));
        }
        line.extend_from_slice(text);
        line.push(b'\n');
        let fd = self
            .get(b"BASH_XTRACEFD")
            .and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok())
            .unwrap_or(2);
        let _unreported = self.write_fd(fd, &line);
    }

    /// The expansion of a prompt string.
    pub(crate) fn prompt(&mut self, text: &[u8]) -> Bytes {
        let text = crate::prompt::decode(self, text);
        if !text.iter().any(|b| matches!(b, b'$' | b'`' | b'\\')) {
            return text;
        }
        match crate::parser::parse_double_quoted(&text, &self.parse_context()) {
            Ok(word) => self.expand_single(&word).unwrap_or(text),
            Err(_) => text,
        }
    }

    pub(crate) fn close_process_fds(&mut self, mark: usize) {
        while self.process_fds.len() > mark {
            if let Some(fd) = self.process_fds.pop() {
                sys::close(fd);
            }
        }
    }
}

/// What a loop does after its body stopped: `true` to go on, `false` to end, or further out.
fn after_loop(flow: Flow) -> Result<bool, Flow> {
    match flow {
        Flow::Break(0 | 1) => Ok(false),
        Flow::Break(levels) => Err(Flow::Break(levels - 1)),
        Flow::Continue(0 | 1) => Ok(true),
        Flow::Continue(levels) => Err(Flow::Continue(levels - 1)),
        other => Err(other),
    }
}

/// Expands `TIMEFORMAT`: real, user and system time.
fn time_report(format: &[u8], times: [std::time::Duration; 3]) -> Bytes {
    let mut out = Bytes::new();
    let mut at = 0;
    while at < format.len() {
        let b = format[at];
        at += 1;
        if b != b'%' || at >= format.len() {
            out.push(b);
            continue;
        }
        let mut precision = 3;
        if let Some(digit) = format.get(at).filter(|b| b.is_ascii_digit()) {
            precision = usize::from(digit - b'0').min(3);
            at += 1;
        }
        let long = format.get(at) == Some(&b'l');
        at += usize::from(long);
        let which = match format.get(at) {
            Some(b'R') => times[0],
            Some(b'U') => times[1],
            Some(b'S') => times[2],
            Some(b'P') => {
                let percent =
                    (times[1] + times[2]).as_secs_f64() / times[0].as_secs_f64().max(1e-9) * 100.0;
                out.extend(format!("{percent:.precision$}").bytes());
                at += 1;
                continue;
            }
            Some(b'%') => {
                out.push(b'%');
                at += 1;
                continue;
            }
            _ => continue,
        };
        at += 1;
        let seconds = which.as_secs_f64();
        if long {
            let minutes = which.as_secs() / 60;
            let rest = which
                .saturating_sub(std::time::Duration::from_secs(minutes * 60))
                .as_secs_f64();
            out.extend(format!("{minutes}m{rest:.precision$}s").bytes());
        } else {
            out.extend(format!("{seconds:.precision$}").bytes());
        }
    }
    out
}
