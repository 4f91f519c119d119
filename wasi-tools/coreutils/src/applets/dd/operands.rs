//! The operands of `dd`.

use sandbar_guest::file::OpenFlags;

use crate::applets::{
    cli::{Stop, Tool},
    quote::quote,
};

/// The largest block: a guest's memory is limited, and so is what one system call moves.
const LARGEST_BLOCK: u64 = 256 * 1024 * 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Default,
    NoTransfer,
    None,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversion {
    Upper,
    Lower,
    SwapBytes,
    Sync,
    NoError,
    NoTruncate,
    NoCreate,
    Exclusive,
    Durable,
}

pub(super) struct Request {
    pub(super) input: Option<Vec<u8>>,
    pub(super) output: Option<Vec<u8>>,
    pub(super) input_block: usize,
    pub(super) output_block: usize,
    /// In input blocks, or in bytes when `count_is_bytes`.
    pub(super) count: Option<u64>,
    pub(super) count_is_bytes: bool,
    /// In bytes.
    pub(super) skip: u64,
    /// In bytes.
    pub(super) seek: u64,
    pub(super) full_blocks: bool,
    pub(super) status: Status,
    append: bool,
    conversions: Vec<Conversion>,
}

/// A number, and whether it counts bytes instead of blocks.
#[derive(Clone, Copy, Default)]
struct Amount {
    number: u64,
    bytes: bool,
}

impl Request {
    pub(super) fn parse(tool: &Tool, operands: &[Vec<u8>]) -> Result<Self, Stop> {
        let mut request = Self {
            input: None,
            output: None,
            input_block: 512,
            output_block: 512,
            count: None,
            count_is_bytes: false,
            skip: 0,
            seek: 0,
            full_blocks: false,
            status: Status::Default,
            append: false,
            conversions: Vec::new(),
        };
        let (mut skip, mut seek) = (Amount::default(), Amount::default());
        for operand in operands {
            let (name, value) = split(operand)
                .ok_or_else(|| tool.usage(format!("unrecognized operand {}", quote(operand))))?;
            let number = || amount(value).ok_or_else(|| invalid(tool, value));
            match name {
                b"if" => request.input = Some(value.to_vec()),
                b"of" => request.output = Some(value.to_vec()),
                b"bs" => {
                    request.input_block = block(tool, value)?;
                    request.output_block = request.input_block;
                }
                b"ibs" => request.input_block = block(tool, value)?,
                b"obs" => request.output_block = block(tool, value)?,
                b"cbs" => {}
                b"count" => {
                    let count = number()?;
                    request.count = Some(count.number);
                    request.count_is_bytes |= count.bytes;
                }
                b"skip" | b"iseek" => skip = number()?,
                b"seek" | b"oseek" => seek = number()?,
                b"conv" => request.add_conversions(tool, value)?,
                b"iflag" | b"oflag" => {
                    for flag in value.split(|byte| *byte == b',') {
                        match flag {
                            b"fullblock" => request.full_blocks = true,
                            b"count_bytes" => request.count_is_bytes = true,
                            b"skip_bytes" => skip.bytes = true,
                            b"seek_bytes" => seek.bytes = true,
                            b"append" => request.append = true,
                            // They change how the kernel caches, not what is copied.
                            b"direct" | b"dsync" | b"sync" | b"nocache" | b"noatime" => {}
                            other => {
                                return Err(tool.usage(format!("invalid flag: {}", quote(other))));
                            }
                        }
                    }
                }
                b"status" => {
                    request.status = match value {
                        b"none" => Status::None,
                        b"noxfer" => Status::NoTransfer,
                        b"progress" => Status::Default,
                        other => {
                            return Err(
                                tool.usage(format!("invalid status level: {}", quote(other)))
                            );
                        }
                    }
                }
                _ => return Err(tool.usage(format!("unrecognized operand {}", quote(operand)))),
            }
        }
        request.skip = skip.in_bytes(request.input_block);
        request.seek = seek.in_bytes(request.output_block);
        Ok(request)
    }

    fn add_conversions(&mut self, tool: &Tool, list: &[u8]) -> Result<(), Stop> {
        for name in list.split(|byte| *byte == b',') {
            self.conversions.push(match name {
                b"ucase" => Conversion::Upper,
                b"lcase" => Conversion::Lower,
                b"swab" => Conversion::SwapBytes,
                b"sync" => Conversion::Sync,
                b"noerror" => Conversion::NoError,
                b"notrunc" => Conversion::NoTruncate,
                b"nocreat" => Conversion::NoCreate,
                b"excl" => Conversion::Exclusive,
                b"fsync" | b"fdatasync" => Conversion::Durable,
                other => return Err(tool.usage(format!("invalid conversion: {}", quote(other)))),
            });
        }
        Ok(())
    }

    pub(super) fn has(&self, conversion: Conversion) -> bool {
        self.conversions.contains(&conversion)
    }

    /// Whether the output loses what it had behind the place where writing starts.
    pub(super) fn truncates(&self) -> bool {
        self.output.is_some() && !self.append && !self.has(Conversion::NoTruncate)
    }

    pub(super) fn output_flags(&self) -> OpenFlags {
        let mut flags = OpenFlags::WRONLY;
        if !self.has(Conversion::NoCreate) {
            flags |= OpenFlags::CREAT;
        }
        if self.has(Conversion::Exclusive) {
            flags |= OpenFlags::EXCL;
        }
        if self.append {
            flags |= OpenFlags::APPEND;
        }
        // With `seek` the start is kept: the file is cut there once it is open.
        if self.truncates() && self.seek == 0 {
            flags |= OpenFlags::TRUNC;
        }
        flags
    }

    pub(super) fn convert(&self, bytes: &mut [u8]) {
        if self.has(Conversion::SwapBytes) {
            bytes.chunks_exact_mut(2).for_each(<[u8]>::reverse);
        }
        if self.has(Conversion::Upper) {
            bytes.make_ascii_uppercase();
        }
        if self.has(Conversion::Lower) {
            bytes.make_ascii_lowercase();
        }
    }
}

impl Amount {
    fn in_bytes(self, block: usize) -> u64 {
        if self.bytes {
            self.number
        } else {
            self.number.saturating_mul(block as u64)
        }
    }
}

fn split(operand: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = operand.iter().position(|byte| *byte == b'=')?;
    Some((operand.get(..equals)?, operand.get(equals + 1..)?))
}

fn invalid(tool: &Tool, value: &[u8]) -> Stop {
    tool.fail(1, format!("invalid number: {}", quote(value)))
}

fn block(tool: &Tool, value: &[u8]) -> Result<usize, Stop> {
    let number = amount(value)
        .filter(|amount| (1..=LARGEST_BLOCK).contains(&amount.number))
        .ok_or_else(|| invalid(tool, value))?;
    usize::try_from(number.number).map_err(|_| invalid(tool, value))
}

/// `N[UNIT][xN[UNIT]]…`.
fn amount(text: &[u8]) -> Option<Amount> {
    let mut product = Amount {
        number: 1,
        bytes: false,
    };
    for factor in text.split(|byte| *byte == b'x') {
        let digits = factor
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let number: u64 = std::str::from_utf8(factor.get(..digits)?)
            .ok()?
            .parse()
            .ok()?;
        let unit = factor.get(digits..)?;
        product.bytes |= unit.ends_with(b"B");
        product.number = product
            .number
            .checked_mul(number)?
            .checked_mul(scale(unit)?)?;
    }
    Some(product)
}

fn scale(unit: &[u8]) -> Option<u64> {
    let power = |base: u64, letter: u8| {
        let exponent = b"KMGTPE"
            .iter()
            .position(|known| *known == letter.to_ascii_uppercase())?;
        base.checked_pow(u32::try_from(exponent).ok()? + 1)
    };
    match unit {
        b"" | b"c" | b"B" => Some(1),
        b"w" => Some(2),
        b"b" => Some(512),
        [letter] | [letter, b'i', b'B'] => power(1024, *letter),
        [letter, b'B'] => power(1000, *letter),
        _ => None,
    }
}
