//! The only writer to standard output and standard error.
//!
//! A reader that has gone away (`sandbar image list | head -1`) is no failure: what cannot be written is dropped.

use std::io::{IsTerminal, Write};

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// A style of text on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Bold,
    Dim,
    Good,
    Bad,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Bad => "1;31",
        }
    }
}

/// Writes for people and scripts. Whoever writes was given it, also where nothing of it is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    color_out: bool,
    color_error: bool,
}

#[expect(clippy::unused_self, reason = "the printer is the right to write")]
impl Printer {
    /// Decides once whether colours are used.
    pub(crate) fn new(choice: ColorChoice) -> Self {
        let wanted = |terminal: bool| match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        };
        Self {
            color_out: wanted(std::io::stdout().is_terminal()),
            color_error: wanted(std::io::stderr().is_terminal()),
        }
    }

    /// Text in a style, for standard output.
    pub(crate) fn styled(self, style: Style, text: &str) -> String {
        paint(self.color_out, style, text)
    }

    /// Writes a line to standard output.
    pub(crate) fn line(self, text: &str) {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).ok();
    }

    /// Writes an error to standard error, with what to do about it.
    pub(crate) fn error(self, text: &str, hint: Option<&str>) {
        let mut out = std::io::stderr().lock();
        let label = paint(self.color_error, Style::Bad, "sandbar:");
        writeln!(out, "{label} {text}").ok();
        if let Some(hint) = hint {
            let label = paint(self.color_error, Style::Bold, "sandbar: hint:");
            writeln!(out, "{label} {hint}").ok();
        }
    }

    /// Writes a line to standard error.
    pub(crate) fn note(self, text: &str) {
        writeln!(std::io::stderr().lock(), "sandbar: {text}").ok();
    }

    /// Writes bytes to standard output as they are: what `compile-module` made.
    pub(crate) fn bytes(self, bytes: &[u8]) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Writes what clap has to say, where it says it.
    pub(crate) fn usage(self, error: &clap::Error) {
        let text = error.render();
        let write = |out: &mut dyn Write, color: bool| {
            if color {
                write!(out, "{}", text.ansi())
            } else {
                write!(out, "{text}")
            }
        };
        let written = if error.use_stderr() {
            write(&mut std::io::stderr().lock(), self.color_error)
        } else {
            write(&mut std::io::stdout().lock(), self.color_out)
        };
        written.ok();
    }
}

fn paint(color: bool, style: Style, text: &str) -> String {
    if color {
        format!("\x1b[{}m{text}\x1b[0m", style.code())
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_nothing_is_added() {
        let plain = Printer::new(ColorChoice::Never);
        assert_eq!(plain.styled(Style::Good, "ok"), "ok");
        let coloured = Printer::new(ColorChoice::Always);
        assert_eq!(coloured.styled(Style::Good, "ok"), "\x1b[32mok\x1b[0m");
    }
}
