//! What all applets share on the command line: options as GNU's `getopt_long` reads them, its messages, output.

use std::ffi::OsString;

use sandbar_guest::{Errno, Fd};

/// Whether an option takes a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// None.
    Nothing,
    /// One, in the same word or the next.
    Value,
    /// One in the same word only.
    Optional,
}

/// An option. It is known by its long name, or by its letter when it has none.
pub(super) struct Opt {
    letter: u8,
    long: &'static str,
    takes: Takes,
    /// What the program sees.
    id: &'static str,
}

impl Opt {
    /// An option without a value; `letter` 0 is none.
    pub(super) const fn flag(letter: u8, long: &'static str) -> Self {
        Self {
            letter,
            long,
            takes: Takes::Nothing,
            id: long,
        }
    }

    /// An option with a value.
    pub(super) const fn value(letter: u8, long: &'static str) -> Self {
        Self {
            letter,
            long,
            takes: Takes::Value,
            id: long,
        }
    }

    /// An option whose value can be left out.
    pub(super) const fn optional(letter: u8, long: &'static str) -> Self {
        Self {
            letter,
            long,
            takes: Takes::Optional,
            id: long,
        }
    }

    /// An option with a letter only, known as `id`.
    pub(super) const fn letter(letter: u8, takes: Takes, id: &'static str) -> Self {
        Self {
            letter,
            long: "",
            takes,
            id,
        }
    }
}

/// Whether options may stand behind operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Anywhere.
    Any,
    /// The first operand ends them: programs that run another program.
    OptionsFirst,
}

/// An applet's name and command line.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// What `--help` prints.
    pub(super) help: &'static str,
    pub(super) options: &'static [Opt],
    pub(super) order: Order,
    /// Exit status for a wrong command line.
    pub(super) usage_status: i32,
}

/// The program ends with this status; what there is to say has been said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop(pub(super) i32);

/// How an applet ends.
pub(super) type Outcome = Result<i32, Stop>;

/// The exit status of an outcome.
pub(super) fn status(outcome: Outcome) -> i32 {
    match outcome {
        Ok(status) | Err(Stop(status)) => status,
    }
}

impl Tool {
    /// Prints `NAME: text` on standard error. There is nobody to tell when even that fails.
    pub(super) fn warn(&self, text: impl AsRef<str>) {
        let line = format!("{}: {}\n", self.name, text.as_ref());
        let _unwritable = Fd::STDERR.write_all(line.as_bytes());
    }

    /// Reports a failure and ends with `status`.
    pub(super) fn fail(&self, status: i32, text: impl AsRef<str>) -> Stop {
        self.warn(text);
        Stop(status)
    }

    /// Reports a wrong command line.
    pub(super) fn usage(&self, text: impl AsRef<str>) -> Stop {
        self.warn(text);
        self.try_help()
    }

    /// Points to `--help`.
    pub(super) fn try_help(&self) -> Stop {
        let line = format!("Try '{} --help' for more information.\n", self.name);
        let _unwritable = Fd::STDERR.write_all(line.as_bytes());
        Stop(self.usage_status)
    }

    /// The rule and the wrong operand of almost every program without enough operands.
    pub(super) fn missing_operand(&self, after: Option<&[u8]>) -> Stop {
        match after {
            None => self.usage("missing operand"),
            Some(last) => self.usage(format!(
                "missing operand after {}",
                super::quote::quote_word(last)
            )),
        }
    }

    /// The rule and the operand of a program with too many.
    pub(super) fn extra_operand(&self, operand: &[u8]) -> Stop {
        self.usage(format!(
            "extra operand {}",
            super::quote::quote_word(operand)
        ))
    }

    /// Starts reading `args`, of which the first is the program's own name.
    pub(super) fn parse(&'static self, args: Vec<OsString>) -> Parser {
        let mut words = args
            .into_iter()
            .map(OsString::into_encoded_bytes)
            .collect::<Vec<_>>()
            .into_iter();
        words.next();
        Parser {
            tool: self,
            words,
            operands: Vec::new(),
            letters: Vec::new(),
            ended: false,
        }
    }

    fn help(&self) -> Stop {
        let mut out = Output::new();
        out.text(self.help);
        Stop(out.finish(self, 0))
    }

    fn version(&self) -> Stop {
        let mut out = Output::new();
        // Scripts look for "GNU" here to learn which options they may use.
        out.text(&format!(
            "{} (Sandbar, compatible with GNU) {}\n",
            self.name,
            env!("CARGO_PKG_VERSION")
        ));
        Stop(out.finish(self, 0))
    }
}

const HELP: Opt = Opt::flag(0, "help");
const VERSION: Opt = Opt::flag(0, "version");

/// Reads a command line one option at a time.
pub(super) struct Parser {
    tool: &'static Tool,
    words: std::vec::IntoIter<Vec<u8>>,
    operands: Vec<Vec<u8>>,
    /// The rest of a word of several letters.
    letters: Vec<u8>,
    ended: bool,
}

/// An option that was given: its id, and its value when it has one.
pub(super) type Given = (&'static str, Option<Vec<u8>>);

impl Parser {
    /// The next option; `None` after the last. `--help` and `--version` are answered here.
    pub(super) fn next(&mut self) -> Result<Option<Given>, Stop> {
        let given = self.next_given()?;
        match given {
            Some(("help", _)) => Err(self.tool.help()),
            Some(("version", _)) => Err(self.tool.version()),
            given => Ok(given),
        }
    }

    fn next_given(&mut self) -> Result<Option<Given>, Stop> {
        if !self.letters.is_empty() {
            return self.next_letter().map(Some);
        }
        while !self.ended
            && let Some(word) = self.words.next()
        {
            match word.as_slice() {
                b"--" => self.ended = true,
                [b'-', b'-', ..] => return self.long(&word).map(Some),
                [b'-', letters @ ..] if !letters.is_empty() => {
                    self.letters = letters.to_vec();
                    return self.next_letter().map(Some);
                }
                _ => {
                    self.operands.push(word);
                    self.ended = self.tool.order == Order::OptionsFirst;
                }
            }
        }
        Ok(None)
    }

    /// Puts words in front of those not read yet: `env -S` reads options from its value.
    pub(super) fn prepend(&mut self, mut words: Vec<Vec<u8>>) {
        words.extend(self.words.by_ref());
        self.words = words.into_iter();
    }

    fn next_letter(&mut self) -> Result<Given, Stop> {
        let letter = self.letters.remove(0);
        let Some(option) = self
            .tool
            .options
            .iter()
            .find(|option| option.letter == letter)
        else {
            let shown = char::from(letter);
            return Err(self.tool.usage(format!("invalid option -- '{shown}'")));
        };
        let rest = std::mem::take(&mut self.letters);
        match option.takes {
            Takes::Nothing => {
                self.letters = rest;
                Ok((option.id, None))
            }
            Takes::Optional => Ok((option.id, (!rest.is_empty()).then_some(rest))),
            Takes::Value if !rest.is_empty() => Ok((option.id, Some(rest))),
            Takes::Value => {
                let missing = || {
                    self.tool.usage(format!(
                        "option requires an argument -- '{}'",
                        char::from(letter)
                    ))
                };
                Ok((option.id, Some(self.words.next().ok_or_else(missing)?)))
            }
        }
    }

    fn long(&mut self, word: &[u8]) -> Result<Given, Stop> {
        let text = word.strip_prefix(b"--").unwrap_or(word);
        let equals = text.iter().position(|byte| *byte == b'=');
        let (name, value) = match equals {
            Some(at) => (
                text.get(..at).unwrap_or(text),
                text.get(at + 1..).map(<[u8]>::to_vec),
            ),
            None => (text, None),
        };
        let option = self.find_long(name, word)?;
        let long = option.long;
        match (option.takes, value) {
            (Takes::Nothing, Some(_)) => Err(self
                .tool
                .usage(format!("option '--{long}' doesn't allow an argument"))),
            (Takes::Value, None) => match self.words.next() {
                Some(value) => Ok((option.id, Some(value))),
                None => Err(self
                    .tool
                    .usage(format!("option '--{long}' requires an argument"))),
            },
            (_, value) => Ok((option.id, value)),
        }
    }

    /// The option with that name, or the only one whose name starts so.
    fn find_long(&self, name: &[u8], word: &[u8]) -> Result<&'static Opt, Stop> {
        let known = || {
            self.tool
                .options
                .iter()
                .chain([&HELP, &VERSION])
                .filter(|option| !option.long.is_empty())
        };
        let candidates: Vec<_> = known()
            .filter(|option| option.long.as_bytes().starts_with(name))
            .collect();
        let exact = candidates
            .iter()
            .find(|option| option.long.len() == name.len());
        let shown =
            String::from_utf8_lossy(word.split(|byte| *byte == b'=').next().unwrap_or(word))
                .into_owned();
        match (exact, candidates.as_slice()) {
            (Some(option), _) | (None, [option]) => Ok(option),
            (None, [first, rest @ ..]) if rest.iter().all(|option| option.id == first.id) => {
                Ok(first)
            }
            (None, []) => Err(self.tool.usage(format!("unrecognized option '{shown}'"))),
            (None, several) => {
                let names = several
                    .iter()
                    .map(|option| format!("'--{}'", option.long))
                    .collect::<Vec<_>>()
                    .join(" ");
                Err(self.tool.usage(format!(
                    "option '{shown}' is ambiguous; possibilities: {names}"
                )))
            }
        }
    }

    /// The operands, once [`Parser::next`] has returned `None`.
    pub(super) fn operands(mut self) -> Vec<Vec<u8>> {
        self.operands.extend(self.words);
        self.operands
    }
}

/// Buffered standard output that remembers its first failure.
pub(super) struct Output {
    buffer: Vec<u8>,
    failure: Option<Errno>,
}

/// Bytes kept before they are written.
const OUTPUT_BUFFER: usize = 32 * 1024;

impl Output {
    pub(super) const fn new() -> Self {
        Self {
            buffer: Vec::new(),
            failure: None,
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= OUTPUT_BUFFER {
            self.flush();
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Writes what is kept, so that it stands before what others write.
    pub(super) fn flush(&mut self) {
        let written = Fd::STDOUT.write_all(&self.buffer);
        self.buffer.clear();
        if let Err(errno) = written {
            self.failure.get_or_insert(errno);
        }
    }

    /// Writes the rest; the status is 1 when something could not be written, and 125 where 1 has another meaning.
    pub(super) fn finish(mut self, tool: &Tool, status: i32) -> i32 {
        self.flush();
        match self.failure {
            None => status,
            Some(errno) => {
                tool.warn(format!("write error: {errno}"));
                status.max(tool.usage_status.max(1))
            }
        }
    }
}
