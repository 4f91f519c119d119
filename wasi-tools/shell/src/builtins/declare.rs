//! `declare`, `local`, `export`, `readonly`, `unset`.

#![expect(clippy::unnecessary_wraps, reason = "all builtins have one type")]

use std::rc::Rc;

use super::alias::show_function;
use crate::ast::{Assign, Bytes, Kind};
use crate::escape;
use crate::options::{opt, shopt};
use crate::parser::{Context, Parser, is_name};
use crate::shell::{Exec, Flow, Shell};
use crate::vars::{Value, Var, attr};

/// What the options of a declaration say.
#[derive(Debug, Default, Clone, Copy)]
struct Wish {
    on: u16,
    off: u16,
    functions: bool,
    names_only: bool,
    print: bool,
    global: bool,
    inherit: bool,
    local: bool,
}

const LETTERS: [(u8, u16); 10] = [
    (b'a', attr::INDEXED),
    (b'A', attr::ASSOC),
    (b'i', attr::INTEGER),
    (b'l', attr::LOWER),
    (b'n', attr::NAMEREF),
    (b'r', attr::READONLY),
    (b't', attr::TRACE),
    (b'u', attr::UPPER),
    (b'x', attr::EXPORT),
    (b'c', attr::CAPITAL),
];

impl Shell {
    /// `declare -x name="value"`, as `${x@A}` prints it.
    pub(crate) fn declaration(name: &[u8], var: &Var, whole: bool) -> Bytes {
        let letters = var.letters();
        let mut text = if letters.is_empty() {
            if whole || var.is_set() {
                Bytes::new()
            } else {
                b"declare -- ".to_vec()
            }
        } else {
            [b"declare -".as_slice(), &letters, b" "].concat()
        };
        text.extend_from_slice(name);
        match &var.value {
            Value::Unset => {}
            Value::Str(value) => {
                text.extend([b"=".as_slice(), &escape::transform_quote(value)].concat());
            }
            _ if !whole => {
                if let Some(value) = var.scalar() {
                    text.extend([b"=".as_slice(), &escape::transform_quote(value)].concat());
                }
            }
            _ => text.extend([b"=".as_slice(), &array_text(var)].concat()),
        }
        text
    }
}

/// `([0]="a" [1]="b")`
pub(crate) fn array_text(var: &Var) -> Bytes {
    let assoc = var.is_assoc();
    let mut text = b"(".to_vec();
    for (at, (key, value)) in var.keys().into_iter().zip(var.elements()).enumerate() {
        if at > 0 {
            text.push(b' ');
        }
        let key = if assoc { quote_key(&key) } else { key };
        text.extend([b"[".as_slice(), &key, b"]=", &escape::double_quote(&value)].concat());
    }
    if assoc && text.len() > 1 {
        text.push(b' ');
    }
    text.push(b')');
    text
}

fn quote_key(key: &[u8]) -> Bytes {
    let plain = !key.is_empty()
        && key.iter().all(|b| {
            b.is_ascii_alphanumeric()
                || matches!(
                    b,
                    b'_' | b'-' | b'.' | b'/' | b',' | b':' | b'%' | b'+' | b'@' | b'=' | b'#'
                )
                || *b >= 0x80
        });
    if plain {
        key.to_vec()
    } else {
        escape::double_quote(key)
    }
}

/// The line of `declare -p`.
fn declare_line(name: &[u8], var: &Var) -> Bytes {
    let letters = var.letters();
    let flags = if letters.is_empty() {
        b"--".to_vec()
    } else {
        [b"-".as_slice(), &letters].concat()
    };
    let mut text = [b"declare ".as_slice(), &flags, b" ", name].concat();
    match &var.value {
        Value::Unset => {}
        Value::Str(value) => text.extend([b"=".as_slice(), &escape::double_quote(value)].concat()),
        _ => text.extend([b"=".as_slice(), &array_text(var)].concat()),
    }
    text.push(b'\n');
    text
}

/// Reads `-x`, `+x` and bundles of them; the place of the first operand.
fn wishes(shell: &mut Shell, args: &[Bytes], allowed: &[u8]) -> Result<(Wish, usize), i32> {
    let mut wish = Wish::default();
    let mut next = 1;
    while let Some(arg) = args.get(next) {
        let (minus, letters) = match arg.as_slice() {
            b"--" => {
                next += 1;
                break;
            }
            [b'-', rest @ ..] if !rest.is_empty() => (true, rest),
            [b'+', rest @ ..] if !rest.is_empty() => (false, rest),
            _ => break,
        };
        for b in letters {
            if !allowed.contains(b) {
                let sign: &[u8] = if minus { b"-" } else { b"+" };
                shell.complain(&[sign, &[*b], b": invalid option"].concat());
                return Err(shell.usage());
            }
            match b {
                b'f' => wish.functions = minus,
                b'F' => {
                    wish.functions = true;
                    wish.names_only = true;
                }
                b'p' => wish.print = true,
                b'g' => wish.global = true,
                b'I' => wish.inherit = true,
                _ => {
                    let bit = LETTERS
                        .iter()
                        .find(|(have, _)| have == b)
                        .map_or(0, |(_, bit)| *bit);
                    if minus {
                        wish.on |= bit;
                    } else {
                        wish.off |= bit;
                    }
                }
            }
        }
        next += 1;
    }
    Ok((wish, next))
}

pub(super) fn declare(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let (mut wish, next) = match wishes(shell, args, b"aAfFgiIlnrtuxpc") {
        Ok(found) => found,
        Err(status) => return Ok(status),
    };
    wish.local = shell.st.vars.in_function() && !wish.global;
    let operands = &args[next..];
    if wish.functions {
        return functions(shell, wish, operands);
    }
    if operands.is_empty() || wish.print {
        return list(shell, wish, operands, args.len() == 1);
    }
    apply_all(shell, wish, args, next)
}

pub(super) fn local(shell: &mut Shell, args: &[Bytes]) -> Exec {
    if !shell.st.vars.in_function() {
        shell.complain(b"can only be used in a function");
        return Ok(1);
    }
    let (mut wish, next) = match wishes(shell, args, b"aAfFgiIlnrtuxpc") {
        Ok(found) => found,
        Err(status) => return Ok(status),
    };
    wish.local = true;
    if next >= args.len() {
        for name in shell.st.vars.locals() {
            if let Some(var) = shell.st.vars.get(&name).cloned() {
                let line = declare_line(&name, &var);
                shell.print(&line);
            }
        }
        return Ok(0);
    }
    if wish.print {
        let own: Vec<Bytes> = args[next..]
            .iter()
            .filter(|name| shell.st.vars.is_local(name))
            .cloned()
            .collect();
        return if own.is_empty() {
            Ok(0)
        } else {
            list(shell, wish, &own, false)
        };
    }
    apply_all(shell, wish, args, next)
}

fn functions(shell: &mut Shell, wish: Wish, operands: &[Bytes]) -> Exec {
    if operands.is_empty() {
        let mut names: Vec<Bytes> = shell
            .st
            .functions
            .keys()
            .map(|name| name.to_vec())
            .collect();
        names.sort_unstable();
        for name in names {
            let entry = shell.st.functions.get(name.as_slice()).cloned();
            let Some(entry) = entry.filter(|e| {
                (wish.on & attr::READONLY == 0 || e.readonly)
                    && (wish.on & attr::EXPORT == 0 || e.export)
            }) else {
                continue;
            };
            if !wish.names_only {
                show_function(shell, &name);
            }
            if wish.names_only || entry.readonly || entry.export || entry.trace {
                let mut flags = b"declare -f".to_vec();
                flags.extend(entry.readonly.then_some(b'r'));
                flags.extend(entry.trace.then_some(b't'));
                flags.extend(entry.export.then_some(b'x'));
                shell.print(&[flags.as_slice(), b" ", &name, b"\n"].concat());
            }
        }
        return Ok(0);
    }
    let mut status = 0;
    for name in operands {
        let Some(entry) = Rc::make_mut(&mut shell.st.functions).get_mut(name.as_slice()) else {
            status = 1;
            continue;
        };
        if wish.on | wish.off != 0 {
            if wish.off & attr::READONLY != 0 && entry.readonly {
                status = 1;
                continue;
            }
            entry.readonly |= wish.on & attr::READONLY != 0;
            entry.export =
                (entry.export || wish.on & attr::EXPORT != 0) && wish.off & attr::EXPORT == 0;
            entry.trace =
                (entry.trace || wish.on & attr::TRACE != 0) && wish.off & attr::TRACE == 0;
            continue;
        }
        if wish.names_only {
            let line = if shell.shopt(shopt::EXTDEBUG) {
                let function = shell.function(name);
                function.map_or_else(Bytes::new, |f| {
                    [
                        name.as_slice(),
                        format!(" {} ", f.line).as_bytes(),
                        &f.source,
                        b"\n",
                    ]
                    .concat()
                })
            } else {
                [name.as_slice(), b"\n"].concat()
            };
            shell.print(&line);
        } else {
            show_function(shell, name);
        }
    }
    Ok(status)
}

fn list(shell: &mut Shell, wish: Wish, operands: &[Bytes], plain: bool) -> Exec {
    let mut status = 0;
    if operands.is_empty() {
        for name in shell.st.vars.names() {
            let Some(var) = shell.st.vars.get(&name).cloned() else {
                continue;
            };
            if wish.on != 0
                && (var.attrs & wish.on == 0
                    && !(wish.on & attr::INDEXED != 0 && var.is_array() && !var.is_assoc()))
            {
                continue;
            }
            if !wish.print && wish.on == 0 && !var.is_set() {
                continue;
            }
            let line = if wish.print || !plain {
                declare_line(&name, &var)
            } else if var.is_array() {
                [&name, b"=".as_slice(), &array_text(&var), b"\n"].concat()
            } else {
                super::alias::assignment_line(&name, var.scalar().map_or(b"", Vec::as_slice))
            };
            shell.print(&line);
        }
        if plain && !shell.on(opt::POSIX) {
            functions(shell, Wish::default(), &[])?;
        }
        return Ok(0);
    }
    for name in operands {
        let direct = shell.st.vars.get(name).cloned();
        let found = match direct {
            Some(var) => Some(var),
            None => shell.dynamic(name),
        };
        if let Some(var) = found {
            shell.print(&declare_line(name, &var));
        } else {
            shell.complain_about(name, "not found");
            status = 1;
        }
    }
    Ok(status)
}

/// The parts of `name[index]+=value`.
struct Operand {
    name: Bytes,
    index: Option<Bytes>,
    append: bool,
    value: Option<Bytes>,
}

fn operand(text: &[u8]) -> Operand {
    let name_end = text
        .iter()
        .position(|b| !crate::parser::is_name_byte(*b))
        .unwrap_or(text.len());
    let mut at = name_end;
    let mut index = None;
    if text.get(at) == Some(&b'[') {
        let close = text[at..]
            .windows(2)
            .position(|pair| pair == b"]=" || pair == b"]+")
            .map(|n| n + at)
            .or_else(|| (text.last() == Some(&b']')).then(|| text.len() - 1));
        if let Some(close) = close {
            index = Some(text[at + 1..close].to_vec());
            at = close + 1;
        }
    }
    let append = text[at..].starts_with(b"+=");
    if append || text[at..].starts_with(b"=") {
        let value = text[at + 1 + usize::from(append)..].to_vec();
        return Operand {
            name: text[..name_end].to_vec(),
            index,
            append,
            value: Some(value),
        };
    }
    if at == text.len() {
        return Operand {
            name: text[..name_end].to_vec(),
            index,
            append: false,
            value: None,
        };
    }
    Operand {
        name: text.to_vec(),
        index: None,
        append: false,
        value: None,
    }
}

fn apply_all(shell: &mut Shell, wish: Wish, args: &[Bytes], next: usize) -> Exec {
    let arrays = std::mem::take(&mut shell.array_args);
    let mut status = 0;
    for (at, text) in args.iter().enumerate().skip(next) {
        let array = arrays
            .iter()
            .find(|(index, _)| *index == at)
            .map(|(_, assign)| Rc::clone(assign));
        match apply(shell, wish, text, array.as_deref()) {
            Ok(true) => {}
            Ok(false) => status = 1,
            Err(flow) => return Err(flow),
        }
    }
    Ok(status)
}

/// Applies attributes and value to one operand; `false` when it was refused with a message.
fn apply(shell: &mut Shell, wish: Wish, text: &[u8], array: Option<&Assign>) -> Result<bool, Flow> {
    if text == b"-" && wish.local {
        shell.st.vars.make_local(b"-", false);
        return Ok(true);
    }
    let mut operand = operand(text);
    if !is_name(&operand.name) {
        shell.complain(&[b"`", text, b"': not a valid identifier"].concat());
        return Ok(false);
    }
    // Attributes go to what a nameref refers to, unless the reference itself is meant.
    if (wish.on | wish.off) & attr::NAMEREF == 0 && !wish.local {
        let (target, index) = shell.resolve(&operand.name);
        if index.is_none() {
            operand.name = target;
        }
    }
    let name = operand.name.clone();
    if wish.local {
        if shell
            .st
            .vars
            .get(&name)
            .is_some_and(|var| var.has(attr::READONLY))
            && !shell.st.vars.is_local(&name)
        {
            shell.complain_about(&name, "readonly variable");
            return Ok(false);
        }
        let inherit = wish.inherit || shell.shopt(shopt::LOCALVAR_INHERIT);
        shell.st.vars.make_local(&name, inherit);
    }
    if wish.global && !shell.st.vars.scopes.is_empty() {
        return global(shell, wish, &operand, array);
    }
    let var = shell.st.vars.get(&name).cloned().unwrap_or_default();
    if var.has(attr::READONLY)
        && (operand.value.is_some() || array.is_some() || wish.off & attr::READONLY != 0)
    {
        shell.complain_about(&name, "readonly variable");
        return Ok(false);
    }
    if let Err(message) = compatible(&var, wish) {
        shell.complain_about(&name, message);
        return Ok(false);
    }
    {
        let entry = shell.st.vars.entry(&name);
        // The type comes before the value, read-only after it.
        set_attributes(entry, wish.on & !attr::READONLY & !attr::NAMEREF, wish.off);
        if operand.index.is_some() && operand.value.is_none() {
            entry.attrs |= attr::INDEXED;
        }
    }
    if let Some(assign) = array {
        shell.perform_array(&name, assign)?;
    } else if wish.on & attr::NAMEREF != 0 {
        if let Some(value) = operand.value {
            let base = value.split(|&b| b == b'[').next().unwrap_or(&value);
            if !is_name(base) && !value.is_empty() {
                shell.complain(
                    &[
                        b"`",
                        value.as_slice(),
                        b"': invalid variable name for name reference",
                    ]
                    .concat(),
                );
                return Ok(false);
            }
            if value == name {
                shell.complain_about(&name, "nameref variable self references not allowed");
                return Ok(false);
            }
            shell.st.vars.entry(&name).value = Value::Str(Rc::new(value));
        }
    } else if let Some(assign) = compound(shell, &operand, &name) {
        shell.perform_array(&name, &assign)?;
    } else if let Some(value) = operand.value {
        let key = match operand.index {
            Some(index) => Some(shell.key_of_text(&name, &index)?),
            None => None,
        };
        shell.assign(&name, key, value, operand.append)?;
    }
    let entry = shell.st.vars.entry(&name);
    entry.attrs |= wish.on & (attr::READONLY | attr::NAMEREF);
    Ok(true)
}

/// `declare -a "name=(…)"`: the value of an array, given as text.
fn compound(shell: &Shell, operand: &Operand, name: &[u8]) -> Option<Assign> {
    let value = operand.value.as_ref()?;
    if !value.starts_with(b"(")
        || !value.ends_with(b")")
        || operand.index.is_some()
        || !shell.st.vars.get(name)?.is_array()
    {
        return None;
    }
    let text = [name, if operand.append { b"+=" } else { b"=" }, value].concat();
    let script = Parser::of_text(&text, Context::plain(), 1).whole().ok()?;
    let command = script
        .items
        .into_iter()
        .next()?
        .and_or
        .first
        .stages
        .into_iter()
        .next()?;
    match command.kind {
        Kind::Simple(simple) => simple.assigns.into_iter().next(),
        _ => None,
    }
}

/// `declare -g`: the variable that functions hide.
fn global(
    shell: &mut Shell,
    wish: Wish,
    operand: &Operand,
    array: Option<&Assign>,
) -> Result<bool, Flow> {
    let name = operand.name.clone();
    let visible = shell.st.vars.get(&name).cloned();
    let current = shell.st.vars.global_mut(&name).clone();
    // The assignment is made on the visible name, and the result moved to where it belongs.
    shell.st.vars.insert(&name, current);
    let inner = Wish {
        global: false,
        ..wish
    };
    let scopes = std::mem::take(&mut shell.st.vars.scopes);
    let text = operand_text(operand);
    let result = apply(shell, inner, &text, array);
    shell.st.vars.scopes = scopes;
    let made = shell.st.vars.get(&name).cloned().unwrap_or_default();
    match visible {
        Some(var) => shell.st.vars.insert(&name, var),
        None => {
            shell.st.vars.map.remove(name.as_slice());
        }
    }
    *shell.st.vars.global_mut(&name) = made;
    result
}

fn operand_text(operand: &Operand) -> Bytes {
    let mut text = operand.name.clone();
    if let Some(index) = &operand.index {
        text.extend([b"[".as_slice(), index, b"]"].concat());
    }
    if let Some(value) = &operand.value {
        text.extend_from_slice(if operand.append { b"+=" } else { b"=" });
        text.extend_from_slice(value);
    }
    text
}

fn compatible(var: &Var, wish: Wish) -> Result<(), &'static str> {
    if wish.on & attr::ASSOC != 0 && matches!(var.value, Value::Indexed(_)) {
        return Err("cannot convert indexed to associative array");
    }
    if wish.on & attr::INDEXED != 0 && var.is_assoc() {
        return Err("cannot convert associative to indexed array");
    }
    if wish.off & (attr::INDEXED | attr::ASSOC) != 0 && var.is_array() {
        return Err("cannot destroy array variables in this way");
    }
    Ok(())
}

fn set_attributes(var: &mut Var, on: u16, off: u16) {
    if on & attr::ASSOC != 0 {
        if matches!(var.value, Value::Str(_)) {
            var.make_assoc();
        }
        var.attrs &= !attr::INDEXED;
    }
    if on & attr::INDEXED != 0 && matches!(var.value, Value::Str(_)) {
        var.make_indexed();
    }
    // The three changes of case exclude each other.
    if on & (attr::UPPER | attr::LOWER | attr::CAPITAL) != 0 {
        var.attrs &= !(attr::UPPER | attr::LOWER | attr::CAPITAL);
    }
    let both = attr::UPPER | attr::LOWER;
    let on = if on & both == both { on & !both } else { on };
    var.attrs |= on;
    var.attrs &= !(off & !attr::READONLY);
}

fn marked(shell: &mut Shell, args: &[Bytes], bit: u16, allowed: &[u8]) -> Exec {
    let (mut wish, next) = match wishes(shell, args, allowed) {
        Ok(found) => found,
        Err(status) => return Ok(status),
    };
    // `export -n` takes the attribute away; there the letter is no nameref.
    let remove = bit == attr::EXPORT && wish.on & attr::NAMEREF != 0;
    wish.on &= !attr::NAMEREF;
    let operands = &args[next..];
    if operands.is_empty() {
        wish.on |= bit;
        if wish.functions {
            return functions(shell, wish, &[]);
        }
        return list(
            shell,
            Wish {
                print: true,
                ..wish
            },
            &[],
            false,
        );
    }
    if remove {
        wish.off |= bit;
    } else {
        wish.on |= bit;
    }
    if let Some(bad) = operands
        .iter()
        .find(|text| !wish.functions && operand(text).index.is_some())
        .cloned()
    {
        shell.complain(&[b"`".as_slice(), &bad, b"': not a valid identifier"].concat());
        return Ok(1);
    }
    if wish.functions {
        let mut status = 0;
        for name in operands {
            if !shell.st.functions.contains_key(name.as_slice()) {
                shell.complain_about(name, "not a function");
                status = 1;
            }
        }
        functions(shell, wish, operands)?;
        return Ok(status);
    }
    apply_all(shell, wish, args, next)
}

pub(super) fn export(shell: &mut Shell, args: &[Bytes]) -> Exec {
    marked(shell, args, attr::EXPORT, b"fnp")
}

pub(super) fn readonly(shell: &mut Shell, args: &[Bytes]) -> Exec {
    marked(shell, args, attr::READONLY, b"aAfp")
}

/// Unsets a variable of the shell's own choosing.
pub(crate) fn unset_variable(shell: &mut Shell, name: &[u8]) {
    if shell
        .st
        .vars
        .get(name)
        .is_some_and(|var| !var.has(attr::READONLY))
    {
        shell.st.vars.unset(name);
    }
}

pub(super) fn unset(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "fvn") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    if parsed.has(b'f') && parsed.has(b'v') {
        shell.complain(b"cannot simultaneously unset a function and a variable");
        return Ok(1);
    }
    let mut status = 0;
    for text in &args[parsed.next..] {
        if parsed.has(b'f') {
            if !unset_function(shell, text) {
                status = 1;
            }
            continue;
        }
        if !unset_one(shell, text, parsed.has(b'n'), parsed.has(b'v'))? {
            status = 1;
        }
    }
    Ok(status)
}

fn unset_function(shell: &mut Shell, name: &[u8]) -> bool {
    if shell
        .st
        .functions
        .get(name)
        .is_some_and(|entry| entry.readonly)
    {
        shell.complain_about(name, "cannot unset: readonly function");
        return false;
    }
    Rc::make_mut(&mut shell.st.functions).remove(name);
    true
}

fn unset_one(
    shell: &mut Shell,
    text: &[u8],
    reference: bool,
    variable_only: bool,
) -> Result<bool, Flow> {
    let open = text
        .iter()
        .position(|&b| b == b'[')
        .filter(|_| text.ends_with(b"]"));
    let base = open.map_or(text, |at| &text[..at]);
    if !is_name(base) {
        // A function may have such a name.
        if !variable_only && shell.st.functions.contains_key(text) {
            return Ok(unset_function(shell, text));
        }
        if variable_only {
            shell.complain(&[b"`", text, b"': not a valid identifier"].concat());
            return Ok(false);
        }
        return Ok(true);
    }
    if reference && !shell.is_nameref(base) {
        return Ok(true);
    }
    let (name, index) = if reference {
        (base.to_vec(), None)
    } else {
        shell.resolve(base)
    };
    let index = open
        .map(|at| text[at + 1..text.len() - 1].to_vec())
        .or(index);
    let var = shell.st.vars.get(&name).cloned();
    let Some(var) = var else {
        shell.forget_dynamic(&name);
        if !variable_only && open.is_none() && shell.st.functions.contains_key(text) {
            return Ok(unset_function(shell, text));
        }
        return Ok(true);
    };
    if var.has(attr::READONLY) {
        shell.complain_about(&name, "cannot unset: readonly variable");
        return Ok(false);
    }
    let Some(index) = index else {
        shell.st.vars.unset(&name);
        return Ok(true);
    };
    unset_element(shell, &name, &var, &index)
}

fn unset_element(shell: &mut Shell, name: &[u8], var: &Var, index: &[u8]) -> Result<bool, Flow> {
    if matches!(index, b"@" | b"*") && !var.is_assoc() {
        shell.st.vars.unset(name);
        return Ok(true);
    }
    if var.is_assoc() {
        let key = if index.iter().any(|b| matches!(b, b'\'' | b'"' | b'$')) {
            shell.expand_subscript_text(index)?
        } else {
            index.to_vec()
        };
        shell.st.vars.entry(name).make_assoc().remove(&key);
        return Ok(true);
    }
    let text = shell.expand_subscript_text(index)?;
    let number = shell.arith_value(&text)?;
    if !var.is_set() && !var.is_array() {
        return Ok(true);
    }
    if !var.is_array() {
        if number == 0 {
            shell.st.vars.unset(name);
            return Ok(true);
        }
        shell.complain_about(name, "not an array variable");
        return Ok(false);
    }
    let map = shell.st.vars.entry(name).make_indexed();
    let at = if number < 0 {
        map.keys().next_back().map_or(-1, |last| last + 1 + number)
    } else {
        number
    };
    if at < 0 {
        shell.complain(&[b"[", index, b"]: bad array subscript"].concat());
        return Ok(false);
    }
    map.remove(&at);
    Ok(true)
}
