//! How `ls` shows names.

use crate::applets::quote::{self, quote, quote_for_shell};

/// How names are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoting {
    Literal,
    /// `?` for what can't be seen.
    Hidden,
    Escape,
    C,
    Shell,
    ShellAlways,
}

impl Quoting {
    /// A name in this style.
    pub(super) fn show(self, name: &[u8]) -> Vec<u8> {
        match self {
            Self::Literal => name.to_vec(),
            Self::Hidden => hidden(name),
            Self::Escape => escaped(name, " "),
            Self::C => [b"\"".as_slice(), &escaped(name, "\""), b"\""].concat(),
            Self::Shell => quote_for_shell(name).into_bytes(),
            Self::ShellAlways => quote(name).into_bytes(),
        }
    }
}

fn hidden(name: &[u8]) -> Vec<u8> {
    let mut shown = Vec::new();
    for chunk in name.utf8_chunks() {
        let visible = chunk
            .valid()
            .chars()
            .map(|c| if c.is_control() { '?' } else { c });
        shown.extend_from_slice(visible.collect::<String>().as_bytes());
        shown.extend(chunk.invalid().iter().map(|_| b'?'));
    }
    shown
}

/// C's escapes, and a backslash before each of `also`.
fn escaped(name: &[u8], also: &str) -> Vec<u8> {
    let mut shown = Vec::new();
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '\\' || also.contains(character) {
                shown.push(b'\\');
            }
            let mut bytes = [0; 4];
            let bytes = character.encode_utf8(&mut bytes).bytes();
            if character.is_control() {
                bytes.for_each(|byte| push_escape(&mut shown, byte));
            } else {
                shown.extend(bytes);
            }
        }
        chunk
            .invalid()
            .iter()
            .for_each(|byte| push_escape(&mut shown, *byte));
    }
    shown
}

fn push_escape(shown: &mut Vec<u8>, byte: u8) {
    let mut text = String::new();
    quote::push_escape(&mut text, byte);
    shown.extend_from_slice(text.as_bytes());
}
