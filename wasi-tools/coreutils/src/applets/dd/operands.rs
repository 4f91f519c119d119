//! The operands of `dd`.

use sandbar_guest::file::OpenFlags;

use super::TOOL;
use crate::applets::{
    cli::Stop,
    quote::{quote, quote_word},
    size::number,
};

/// What is told at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Status {
    #[default]
    Everything,
    None,
    NoTransfer,
    Progress,
}

#[derive(Debug, Default)]
pub(super) struct Operands {
    pub(super) input: Option<Vec<u8>>,
    pub(super) output: Option<Vec<u8>>,
    pub(super) input_size: usize,
    pub(super) output_size: usize,
    /// Blocks are written as they are read.
    pub(super) same_size: bool,
    pub(super) count: Option<u64>,
    pub(super) count_is_bytes: bool,
    skip: u64,
    skip_is_bytes: bool,
    seek: u64,
    seek_is_bytes: bool,
    pub(super) input_flags: OpenFlags,
    pub(super) output_flags: OpenFlags,
    pub(super) full_block: bool,
    pub(super) status: Status,
    pub(super) fill: bool,
    pub(super) no_error: bool,
    pub(super) no_truncate: bool,
    pub(super) no_create: bool,
    pub(super) exclusive: bool,
    pub(super) sync_output: bool,
    lower: bool,
    upper: bool,
    swap: bool,
}

/// The largest block: it is kept in memory.
const LARGEST: u64 = 256 << 20;

impl Operands {
    pub(super) fn read(words: Vec<Vec<u8>>) -> Result<Self, Stop> {
        let mut operands = Self {
            input_size: 512,
            output_size: 512,
            ..Self::default()
        };
        let mut both = None;
        for word in words {
            let text = String::from_utf8_lossy(&word).into_owned();
            let unknown = || TOOL.usage(format!("unrecognized operand {}", quote_word(&word)));
            let (name, value) = text.split_once('=').ok_or_else(unknown)?;
            let bytes = word.get(name.len() + 1..).unwrap_or_default();
            match name {
                "if" => operands.input = Some(bytes.to_vec()),
                "of" => operands.output = Some(bytes.to_vec()),
                "bs" => both = Some(block_size(value)?),
                "ibs" => operands.input_size = block_size(value)?,
                "obs" => operands.output_size = block_size(value)?,
                "count" => {
                    let (count, in_bytes) = counted(value)?;
                    operands.count = Some(count);
                    operands.count_is_bytes |= in_bytes;
                }
                "skip" | "iseek" => {
                    let (skip, in_bytes) = counted(value)?;
                    operands.skip = skip;
                    operands.skip_is_bytes |= in_bytes;
                }
                "seek" | "oseek" => {
                    let (seek, in_bytes) = counted(value)?;
                    operands.seek = seek;
                    operands.seek_is_bytes |= in_bytes;
                }
                "status" => {
                    operands.status = match value {
                        "none" => Status::None,
                        "noxfer" => Status::NoTransfer,
                        "progress" => Status::Progress,
                        other => {
                            return Err(TOOL.usage(format!(
                                "invalid status level: {}",
                                quote_word(other.as_bytes())
                            )));
                        }
                    }
                }
                "conv" => value
                    .split(',')
                    .try_for_each(|item| operands.conversion(item))?,
                "iflag" => value
                    .split(',')
                    .try_for_each(|item| operands.input_flag(item))?,
                "oflag" => value
                    .split(',')
                    .try_for_each(|item| operands.output_flag(item))?,
                "cbs" => return Err(unsupported("cbs=")),
                _ => return Err(unknown()),
            }
        }
        if let Some(size) = both {
            (operands.input_size, operands.output_size) = (size, size);
            operands.same_size = !(operands.lower || operands.upper || operands.swap);
        }
        operands.check()?;
        Ok(operands)
    }

    fn check(&self) -> Result<(), Stop> {
        let both = |one: bool, other: bool, text: &str| {
            if one && other {
                Err(TOOL.fail(1, text))
            } else {
                Ok(())
            }
        };
        both(self.lower, self.upper, "cannot combine lcase and ucase")?;
        both(
            self.exclusive,
            self.no_create,
            "cannot combine excl and nocreat",
        )
    }

    fn conversion(&mut self, name: &str) -> Result<(), Stop> {
        match name {
            "lcase" => self.lower = true,
            "ucase" => self.upper = true,
            "swab" => self.swap = true,
            "sync" => self.fill = true,
            "noerror" => self.no_error = true,
            "notrunc" => self.no_truncate = true,
            "nocreat" => self.no_create = true,
            "excl" => self.exclusive = true,
            "fsync" | "fdatasync" => self.sync_output = true,
            // Holes are the file system's business here.
            "sparse" => {}
            "ascii" | "ebcdic" | "ibm" | "block" | "unblock" => return Err(unsupported(name)),
            other => {
                return Err(TOOL.usage(format!(
                    "invalid conversion: {}",
                    quote_word(other.as_bytes())
                )));
            }
        }
        Ok(())
    }

    fn input_flag(&mut self, name: &str) -> Result<(), Stop> {
        match name {
            "fullblock" => self.full_block = true,
            "skip_bytes" => self.skip_is_bytes = true,
            "count_bytes" => self.count_is_bytes = true,
            other => self.input_flags |= flag(other, "input")?,
        }
        Ok(())
    }

    fn output_flag(&mut self, name: &str) -> Result<(), Stop> {
        match name {
            "seek_bytes" => self.seek_is_bytes = true,
            other => self.output_flags |= flag(other, "output")?,
        }
        Ok(())
    }

    /// Bytes of input to skip.
    pub(super) fn skip_bytes(&self) -> u64 {
        let unit = if self.skip_is_bytes {
            1
        } else {
            self.input_size
        };
        self.skip.saturating_mul(u64::try_from(unit).unwrap_or(1))
    }

    /// Bytes of output to skip.
    pub(super) fn seek_bytes(&self) -> u64 {
        let unit = if self.seek_is_bytes {
            1
        } else {
            self.output_size
        };
        self.seek.saturating_mul(u64::try_from(unit).unwrap_or(1))
    }

    /// Changes the bytes of a block.
    pub(super) fn convert(&self, bytes: &mut [u8]) {
        if self.lower {
            bytes.make_ascii_lowercase();
        }
        if self.upper {
            bytes.make_ascii_uppercase();
        }
        if self.swap {
            for pair in bytes.chunks_exact_mut(2) {
                pair.swap(0, 1);
            }
        }
    }
}

fn unsupported(name: &str) -> Stop {
    TOOL.fail(1, format!("{} is not supported", quote(name.as_bytes())))
}

fn flag(name: &str, side: &str) -> Result<OpenFlags, Stop> {
    match name {
        "append" => Ok(OpenFlags::APPEND),
        "nonblock" => Ok(OpenFlags::NONBLOCK),
        "nofollow" => Ok(OpenFlags::NOFOLLOW),
        "directory" => Ok(OpenFlags::DIRECTORY),
        // How the disk is written and read is not the sandbox's to choose.
        "direct" | "dsync" | "sync" | "noatime" | "nocache" | "noctty" | "binary" | "text" => {
            Ok(OpenFlags::RDONLY)
        }
        other => Err(TOOL.usage(format!(
            "invalid {side} flag: {}",
            quote_word(other.as_bytes())
        ))),
    }
}

/// A count of blocks, or of bytes with a `B` behind it.
fn counted(text: &str) -> Result<(u64, bool), Stop> {
    let in_bytes = text.ends_with('B')
        && number(text).is_none_or(|_| {
            text.bytes()
                .rev()
                .nth(1)
                .is_some_and(|b| b.is_ascii_digit())
        });
    let digits = if in_bytes {
        text.strip_suffix('B').unwrap_or(text)
    } else {
        text
    };
    let value = number(digits).ok_or_else(|| {
        TOOL.fail(
            1,
            format!("invalid number: {}", quote_word(text.as_bytes())),
        )
    })?;
    Ok((value, in_bytes))
}

fn block_size(text: &str) -> Result<usize, Stop> {
    let wrong = || {
        TOOL.fail(
            1,
            format!("invalid number: {}", quote_word(text.as_bytes())),
        )
    };
    let size = number(text).filter(|size| *size > 0).ok_or_else(wrong)?;
    if size > LARGEST {
        return Err(TOOL.fail(
            1,
            format!("a block of {size} bytes is larger than {LARGEST}"),
        ));
    }
    usize::try_from(size).map_err(|_| wrong())
}
