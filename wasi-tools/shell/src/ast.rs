//! The shell's syntax tree: what the parser makes and the evaluator walks.
//!
//! Words are parsed once, here; nothing is looked at again as text when it is expanded. Leaves are reference counted, so that
//! copying a word (brace expansion, functions kept by several scopes) costs a pointer.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use crate::arith::Expr;

/// A byte string; shells do not promise UTF-8.
pub(crate) type Bytes = Vec<u8>;

/// A list of commands, as between `{` and `}`.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) items: Vec<Item>,
    /// As a subshell it needs a process of its own.
    pub(crate) own_process: bool,
}

/// One and-or list and how it ends.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) and_or: AndOr,
    pub(crate) background: bool,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(crate) struct AndOr {
    pub(crate) first: Pipeline,
    /// `true` stands for `&&`.
    pub(crate) rest: Vec<(bool, Pipeline)>,
}

/// Commands joined by `|`.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) negate: bool,
    pub(crate) time: Option<TimeStyle>,
    pub(crate) stages: Vec<Command>,
}

/// The report of the `time` keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeStyle {
    Bash,
    Posix,
}

/// A command with its redirections.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) kind: Kind,
    pub(crate) redirs: Vec<Redir>,
    pub(crate) line: u32,
}

/// The command proper.
#[derive(Debug)]
pub(crate) enum Kind {
    Simple(Simple),
    Subshell(Script),
    Group(Script),
    If {
        arms: Vec<(Script, Script)>,
        otherwise: Option<Script>,
    },
    While {
        until: bool,
        condition: Script,
        body: Script,
    },
    For {
        name: Bytes,
        words: Option<Vec<Word>>,
        body: Script,
    },
    ForArith {
        init: ArithText,
        condition: ArithText,
        step: ArithText,
        body: Script,
    },
    Select {
        name: Bytes,
        words: Option<Vec<Word>>,
        body: Script,
    },
    Case {
        word: Word,
        arms: Vec<CaseArm>,
    },
    Cond(Cond),
    Arith(ArithText),
    Function(Rc<FunctionDef>),
    Coproc {
        name: Option<Bytes>,
        body: Box<Command>,
    },
}

/// `name=value… word…`
#[derive(Debug, Default)]
pub(crate) struct Simple {
    pub(crate) assigns: Vec<Assign>,
    pub(crate) words: Vec<Word>,
}

/// `name[index]+=value`
#[derive(Debug, Clone)]
pub(crate) struct Assign {
    pub(crate) name: Bytes,
    pub(crate) index: Option<Word>,
    pub(crate) append: bool,
    pub(crate) value: AssignValue,
}

/// The right-hand side of an assignment.
#[derive(Debug, Clone)]
pub(crate) enum AssignValue {
    Scalar(Word),
    Array(Rc<[Element]>),
}

/// One element of `name=(…)`.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) index: Option<Word>,
    pub(crate) append: bool,
    pub(crate) value: Word,
}

/// One pattern list of `case` with what follows it.
#[derive(Debug)]
pub(crate) struct CaseArm {
    pub(crate) patterns: Vec<Word>,
    pub(crate) body: Script,
    pub(crate) end: ArmEnd,
}

/// How an arm of `case` ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArmEnd {
    /// `;;`
    Break,
    /// `;&`
    FallThrough,
    /// `;;&`
    TestNext,
}

/// An expression of `[[ … ]]`.
#[derive(Debug)]
pub(crate) enum Cond {
    Word(Word),
    Unary(u8, Word),
    /// The operator as written, e.g. `==`, `-nt`, `=~`.
    Binary(Bytes, Word, Word),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Paren(Box<Self>),
}

/// A function definition.
#[derive(Debug)]
pub(crate) struct FunctionDef {
    pub(crate) name: Bytes,
    pub(crate) body: Command,
    pub(crate) line: u32,
}

/// A redirection.
#[derive(Debug)]
pub(crate) struct Redir {
    pub(crate) fd: RedirFd,
    pub(crate) op: RedirOp,
    pub(crate) target: Word,
    pub(crate) heredoc: Option<Rc<HereDoc>>,
}

/// What stands before a redirection operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RedirFd {
    Default,
    Number(i32),
    /// `{name}`
    Variable(Bytes),
}

/// The redirection operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirOp {
    Read,
    Write,
    Append,
    Clobber,
    ReadWrite,
    DupIn,
    DupOut,
    /// `&>`
    Both,
    /// `&>>`
    BothAppend,
    HereDoc,
    HereString,
}

/// A here-document; its body is read when the line with the operator ends.
#[derive(Debug)]
pub(crate) struct HereDoc {
    pub(crate) delimiter: Bytes,
    pub(crate) quoted: bool,
    pub(crate) strip_tabs: bool,
    pub(crate) body: RefCell<Word>,
}

/// A word.
#[derive(Debug, Clone, Default)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
    /// The source text.
    pub(crate) raw: Rc<[u8]>,
    /// It holds an unquoted `{` and so may be subject to brace expansion.
    pub(crate) brace: bool,
    /// The word read as an assignment, which the declaration builtins use.
    pub(crate) assign: Option<Rc<Assign>>,
}

/// A piece of a word.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// Unquoted text: pattern characters are active.
    Lit(Rc<[u8]>),
    /// Text that was quoted.
    Quoted(Rc<[u8]>),
    /// `"…"`
    Double(Rc<[Self]>),
    /// `~name`, only where the tilde is special.
    Tilde(Rc<[u8]>),
    Param(Rc<Param>),
    Command(Rc<CommandSub>),
    Arith(Rc<ArithText>),
    Process(Rc<ProcessSub>),
}

/// `$(…)` or `` `…` ``; the text of the latter is parsed when it is first run.
#[derive(Debug)]
pub(crate) struct CommandSub {
    pub(crate) body: OnceCell<Rc<Script>>,
    /// Source of a backquoted command, empty for `$(…)`.
    pub(crate) text: Bytes,
    pub(crate) line: u32,
}

/// `<(…)` or `>(…)`
#[derive(Debug)]
pub(crate) struct ProcessSub {
    pub(crate) input: bool,
    pub(crate) body: Rc<Script>,
}

/// Arithmetic text with its expansions; parsed into an [`Expr`] once when it holds nothing but plain variables.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArithText {
    pub(crate) parts: Vec<Part>,
    pub(crate) raw: Rc<[u8]>,
    pub(crate) cache: OnceCell<Option<Rc<Expr>>>,
}

/// `${…}` and `$name`
#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) name: ParamName,
    pub(crate) index: Option<Index>,
    /// `${!name…}`
    pub(crate) indirect: bool,
    pub(crate) op: ParamOp,
    /// The source text, for messages.
    pub(crate) raw: Rc<[u8]>,
}

/// What a parameter expansion names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ParamName {
    Variable(Bytes),
    Positional(usize),
    /// One of `@ * # ? - $ !`.
    Special(u8),
}

/// A subscript.
#[derive(Debug)]
pub(crate) enum Index {
    At,
    Star,
    Expr(Word),
}

/// The four operators that look whether a parameter is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Default,
    Assign,
    Error,
    Alternative,
}

/// Where `${x/pattern/text}` looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubstKind {
    First,
    All,
    Prefix,
    Suffix,
}

/// The operators of `${…}`.
#[derive(Debug)]
pub(crate) enum ParamOp {
    None,
    Length,
    Presence {
        kind: Presence,
        colon: bool,
        word: Word,
    },
    RemovePrefix {
        longest: bool,
        pattern: Word,
    },
    RemoveSuffix {
        longest: bool,
        pattern: Word,
    },
    Subst {
        kind: SubstKind,
        pattern: Word,
        with: Word,
    },
    /// `^`, `,` or `~`; `all` when doubled.
    Case {
        op: u8,
        all: bool,
        pattern: Word,
    },
    Slice {
        offset: ArithText,
        length: Option<ArithText>,
    },
    Transform(u8),
    /// `${!prefix@}` and `${!prefix*}`
    Names {
        star: bool,
    },
    /// `${!name[@]}` and `${!name[*]}`
    Keys {
        star: bool,
    },
    /// Not a parameter expansion at all: an error when it is expanded.
    Bad,
}

impl Word {
    /// A word that stands for exactly `text`, quoted.
    pub(crate) fn literal(text: &[u8]) -> Self {
        let text: Rc<[u8]> = text.into();
        Self {
            parts: vec![Part::Quoted(text.clone())],
            raw: text,
            brace: false,
            assign: None,
        }
    }

    /// The text, if the word is one piece of unquoted text.
    pub(crate) fn as_lit(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [Part::Lit(text)] => Some(text),
            _ => None,
        }
    }

    /// The text, if nothing in the word is subject to expansion.
    pub(crate) fn as_static(&self) -> Option<Bytes> {
        let mut out = Bytes::new();
        for part in &self.parts {
            match part {
                Part::Lit(t) | Part::Quoted(t) => out.extend_from_slice(t),
                Part::Double(inner) => {
                    for p in inner.iter() {
                        match p {
                            Part::Lit(t) | Part::Quoted(t) => out.extend_from_slice(t),
                            _ => return None,
                        }
                    }
                }
                _ => return None,
            }
        }
        Some(out)
    }
}
