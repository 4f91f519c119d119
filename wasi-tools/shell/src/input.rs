//! Where the parser gets its lines from.

use crate::ast::Bytes;
use crate::sys;

/// A source of script text, read a line at a time so that a command acts on the lines after it.
pub(crate) trait Input {
    /// Appends the next line, newline included, to `buffer`; `false` at the end.
    fn line(&mut self, buffer: &mut Bytes) -> bool;

    /// Whether it is known that nothing but blanks is left.
    fn is_empty(&self) -> bool {
        false
    }
}

/// Text held in memory.
#[derive(Debug)]
pub(crate) struct TextInput {
    text: Bytes,
    position: usize,
    /// The last line gets a newline if it has none, as the lines of a script do.
    complete: bool,
}

impl TextInput {
    /// The lines of a script.
    pub(crate) fn new(text: Bytes) -> Self {
        Self {
            text,
            position: 0,
            complete: true,
        }
    }

    /// Text that is taken as it is.
    pub(crate) fn exact(text: Bytes) -> Self {
        Self {
            text,
            position: 0,
            complete: false,
        }
    }
}

impl Input for TextInput {
    fn line(&mut self, buffer: &mut Bytes) -> bool {
        let rest = &self.text[self.position..];
        if rest.is_empty() {
            return false;
        }
        let length = rest
            .iter()
            .position(|&b| b == b'\n')
            .map_or(rest.len(), |at| at + 1);
        buffer.extend_from_slice(&rest[..length]);
        self.position += length;
        let open = buffer.iter().rev().take_while(|&&b| b == b'\\').count() % 2 == 1;
        if self.complete && buffer.last() != Some(&b'\n') && !open {
            buffer.push(b'\n');
        }
        true
    }

    fn is_empty(&self) -> bool {
        self.text[self.position..]
            .iter()
            .all(u8::is_ascii_whitespace)
    }
}

/// A descriptor whose offset children share: exactly what was parsed has been consumed from it.
#[derive(Debug)]
pub(crate) struct SharedInput {
    fd: i32,
    seekable: Option<bool>,
}

impl SharedInput {
    pub(crate) fn new(fd: i32) -> Self {
        Self { fd, seekable: None }
    }
}

impl Input for SharedInput {
    fn line(&mut self, buffer: &mut Bytes) -> bool {
        let seekable = *self
            .seekable
            .get_or_insert_with(|| sys::tell(self.fd).is_ok());
        if !seekable {
            let before = buffer.len();
            let mut byte = [0];
            while let Ok(1) = sys::read(self.fd, &mut byte) {
                if byte[0] != 0 {
                    buffer.push(byte[0]);
                }
                if byte[0] == b'\n' {
                    break;
                }
            }
            return complete(buffer, before);
        }
        let mut block = [0; 1024];
        let before = buffer.len();
        loop {
            let count = match sys::read(self.fd, &mut block) {
                Ok(0) | Err(_) => break,
                Ok(count) => count,
            };
            if let Some(at) = block[..count].iter().position(|&b| b == b'\n') {
                buffer.extend_from_slice(&block[..=at]);
                let back = i64::try_from(count - at - 1).unwrap_or(0);
                if back > 0 {
                    // The bytes after the line belong to whoever reads next.
                    let _unseekable = sys::seek_relative(self.fd, -back);
                }
                return true;
            }
            buffer.extend_from_slice(&block[..count]);
        }
        complete(buffer, before)
    }
}

/// Ends the last line of a file; `false` when nothing was read.
fn complete(buffer: &mut Bytes, before: usize) -> bool {
    if buffer.len() == before {
        return false;
    }
    if buffer.last() != Some(&b'\n') {
        buffer.push(b'\n');
    }
    true
}
