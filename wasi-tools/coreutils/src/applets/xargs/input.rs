//! Takes arguments apart: by blanks with quotes, by one byte, or by lines.

use sandbar_guest::{Errno, Fd};

/// What ends an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Separator {
    /// Blanks and newlines; quotes and backslashes keep them.
    #[default]
    Blanks,
    /// This byte, and nothing else is special.
    Byte(u8),
}

/// An argument, and whether its line ends with it.
pub(super) struct Argument {
    pub(super) text: Vec<u8>,
    pub(super) ends_line: bool,
}

pub(super) struct Input {
    source: Fd,
    separator: Separator,
    /// The line that ends the input.
    end: Option<Vec<u8>>,
    buffer: Vec<u8>,
    at: usize,
    finished: bool,
}

const BUFFER: usize = 32 * 1024;

/// An argument longer than this can't be passed to any program.
const LONGEST: usize = 16 * 1024 * 1024;

impl Input {
    pub(super) fn new(source: Fd, separator: Separator, end: Option<Vec<u8>>) -> Self {
        // NOTE: the end is a line of its own only where lines mean something.
        let end = end.filter(|_| separator == Separator::Blanks);
        Self {
            source,
            separator,
            end,
            buffer: Vec::new(),
            at: 0,
            finished: false,
        }
    }

    fn next_byte(&mut self) -> Result<Option<u8>, String> {
        if self.at == self.buffer.len() {
            self.buffer.resize(BUFFER, 0);
            let count = loop {
                match self.source.read(&mut self.buffer) {
                    Err(Errno::EINTR) => {}
                    Err(errno) => return Err(format!("read error: {errno}")),
                    Ok(count) => break count,
                }
            };
            self.buffer.truncate(count);
            self.at = 0;
        }
        let byte = self.buffer.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        Ok(byte)
    }

    /// Looks at the next byte without taking it.
    fn peek(&mut self) -> Result<Option<u8>, String> {
        let byte = self.next_byte()?;
        self.at -= usize::from(byte.is_some());
        Ok(byte)
    }

    fn push(text: &mut Vec<u8>, byte: u8) -> Result<(), String> {
        if text.len() >= LONGEST {
            return Err(String::from("argument line too long"));
        }
        text.push(byte);
        Ok(())
    }

    /// The next argument, `None` at the end of the input.
    pub(super) fn next_argument(&mut self) -> Result<Option<Argument>, String> {
        if self.finished {
            return Ok(None);
        }
        let argument = match self.separator {
            Separator::Byte(byte) => self.until(byte)?.map(|text| Argument {
                text,
                ends_line: true,
            }),
            Separator::Blanks => self.word()?,
        };
        let is_end =
            |argument: &Argument| self.end.as_ref().is_some_and(|end| *end == argument.text);
        self.finished = argument.as_ref().is_none_or(is_end);
        Ok(argument.filter(|_| !self.finished))
    }

    /// The next line for `-I`: quotes count, leading blanks don't, and empty lines are left out.
    pub(super) fn next_line(&mut self) -> Result<Option<Vec<u8>>, String> {
        if let Separator::Byte(byte) = self.separator {
            return self.until(byte);
        }
        while !self.finished {
            let Some(line) = self.line()? else {
                return Ok(None);
            };
            self.finished = self.end.as_ref().is_some_and(|end| *end == line);
            if !line.is_empty() && !self.finished {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    fn until(&mut self, separator: u8) -> Result<Option<Vec<u8>>, String> {
        let mut text = Vec::new();
        let mut any = false;
        while let Some(byte) = self.next_byte()? {
            if byte == separator {
                return Ok(Some(text));
            }
            any = true;
            Self::push(&mut text, byte)?;
        }
        Ok(any.then_some(text))
    }

    fn word(&mut self) -> Result<Option<Argument>, String> {
        let mut text: Option<Vec<u8>> = None;
        loop {
            match self.next_byte()? {
                None => {
                    return Ok(text.map(|text| Argument {
                        text,
                        ends_line: true,
                    }));
                }
                Some(b'\n') => {
                    if let Some(text) = text {
                        return Ok(Some(Argument {
                            text,
                            ends_line: true,
                        }));
                    }
                }
                Some(b' ' | b'\t') => {
                    if let Some(text) = text {
                        // NOTE: a blank at the end of a line continues it on the next.
                        return Ok(Some(Argument {
                            text,
                            ends_line: false,
                        }));
                    }
                }
                Some(quote @ (b'\'' | b'"')) => self.quoted(quote, text.get_or_insert_default())?,
                // NOTE: a backslash before the end of the input stands for nothing.
                Some(b'\\') => {
                    if let Some(byte) = self.next_byte()? {
                        Self::push(text.get_or_insert_default(), byte)?;
                    }
                }
                Some(byte) => Self::push(text.get_or_insert_default(), byte)?,
            }
        }
    }

    fn quoted(&mut self, quote: u8, text: &mut Vec<u8>) -> Result<(), String> {
        let kind = if quote == b'"' { "double" } else { "single" };
        loop {
            match self.next_byte()? {
                Some(byte) if byte == quote => return Ok(()),
                None | Some(b'\n') => {
                    return Err(format!(
                        "unmatched {kind} quote; by default quotes are special to xargs unless you use the -0 option"
                    ));
                }
                Some(byte) => Self::push(text, byte)?,
            }
        }
    }

    fn line(&mut self) -> Result<Option<Vec<u8>>, String> {
        let mut text = Vec::new();
        if self.peek()?.is_none() {
            return Ok(None);
        }
        let mut leading = true;
        while let Some(byte) = self.next_byte()? {
            match byte {
                b'\n' => break,
                b' ' | b'\t' if leading => continue,
                quote @ (b'\'' | b'"') => self.quoted(quote, &mut text)?,
                b'\\' => {
                    if let Some(byte) = self.next_byte()? {
                        Self::push(&mut text, byte)?;
                    }
                }
                byte => Self::push(&mut text, byte)?,
            }
            leading = false;
        }
        Ok(Some(text))
    }
}
