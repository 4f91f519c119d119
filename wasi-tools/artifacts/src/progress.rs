//! The only writer to the terminal.

use std::io::{self, Write};

/// Tells a person what is happening. Nobody is left to tell when standard error is closed.
pub(crate) fn line(text: &str) {
    writeln!(io::stderr(), "image: {text}").ok();
}

/// Tells what went wrong.
pub(crate) fn error(text: &str) {
    writeln!(io::stderr(), "image: error: {text}").ok();
}
