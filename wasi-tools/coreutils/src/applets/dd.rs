//! `dd`: copies blocks, changing them on the way.

mod operands;

use std::{ffi::OsString, time::Duration};

use sandbar_guest::{
    Errno, Fd,
    fd::Whence,
    file::{self, OpenFlags},
    time,
};

use super::{
    cli::{self, Order, Outcome, Stop, Tool},
    quote::quote,
    size::BlockSize,
};
use operands::{Operands, Status};

static TOOL: Tool = Tool {
    name: "dd",
    help: "\
Usage: dd [OPERAND]...
  or:  dd OPTION
Copies a file in blocks.

  if=FILE of=FILE    read from and write to these, not standard input and output
  bs=N ibs=N obs=N   read and write so many bytes at a time (default 512)
  count=N            copy only N blocks of input
  skip=N seek=N      skip N blocks of input or output first
  conv=LIST          lcase, ucase, swab; sync: fill short blocks; noerror: go on after read errors; notrunc: keep what
                     follows; excl, nocreat: the output must be new or there; fsync, fdatasync: wait for the disk
  iflag=LIST         fullblock, skip_bytes, count_bytes, nofollow, nonblock
  oflag=LIST         append, seek_bytes, nofollow, nonblock
  status=LEVEL       none: say nothing; noxfer: no speed; progress: tell each second
N may have c 1, w 2, b 512, kB 1000, K 1024, MB, M, ... behind it, and x for times.
      --help         show this text
      --version      show the version
",
    options: &[],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// Whole and partial blocks, and bytes.
#[derive(Default)]
struct Count {
    whole: u64,
    partial: u64,
}

impl Count {
    fn add(&mut self, len: usize, size: usize) {
        if len == size {
            self.whole += 1;
        } else {
            self.partial += 1;
        }
    }
}

struct Copy {
    operands: Operands,
    input: Fd,
    output: Fd,
    read: Count,
    written: Count,
    bytes: u64,
    start: Duration,
    told: Duration,
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut parser = TOOL.parse(args);
    while parser.next()?.is_some() {}
    let operands = Operands::read(parser.operands())?;
    let input = match &operands.input {
        None => Fd::STDIN,
        Some(path) => file::open(path, operands.input_flags | OpenFlags::CLOEXEC, 0)
            .map_err(|errno| TOOL.fail(1, format!("failed to open {}: {errno}", quote(path))))?,
    };
    let output = open_output(&operands)?;
    let start = time::monotonic();
    let mut copy = Copy {
        operands,
        input,
        output,
        read: Count::default(),
        written: Count::default(),
        bytes: 0,
        start,
        told: start,
    };
    let copied = copy.position().and_then(|()| copy.copy());
    let synced = copied.and_then(|()| copy.sync());
    copy.tell();
    synced.map(|()| 0)
}

fn open_output(operands: &Operands) -> Result<Fd, Stop> {
    let Some(path) = &operands.output else {
        return Ok(Fd::STDOUT);
    };
    let fail = |errno| TOOL.fail(1, format!("failed to open {}: {errno}", quote(path)));
    let mut flags = OpenFlags::WRONLY | OpenFlags::CLOEXEC | operands.output_flags;
    if !operands.no_create {
        flags |= OpenFlags::CREAT;
    }
    if operands.exclusive {
        flags |= OpenFlags::EXCL;
    }
    // With a seek only what follows is cut off, which is done below.
    if !operands.no_truncate && operands.seek_bytes() == 0 {
        flags |= OpenFlags::TRUNC;
    }
    let fd = file::open(path, flags, 0o666).map_err(fail)?;
    let seek = operands.seek_bytes();
    if !operands.no_truncate && seek > 0 && file::stat_fd(fd).is_ok_and(|stat| stat.is_file()) {
        let cut = fd.truncate(seek);
        cut.map_err(|errno| {
            TOOL.fail(
                1,
                format!(
                    "failed to truncate to {seek} bytes in output file {}: {errno}",
                    quote(path)
                ),
            )
        })?;
    }
    Ok(fd)
}

impl Copy {
    fn input_name(&self) -> String {
        self.operands
            .input
            .as_deref()
            .map_or_else(|| String::from("'standard input'"), quote)
    }

    fn output_name(&self) -> String {
        self.operands
            .output
            .as_deref()
            .map_or_else(|| String::from("'standard output'"), quote)
    }

    /// Skips input and output; a pipe is read and thrown away.
    fn position(&mut self) -> Result<(), Stop> {
        let skip = self.operands.skip_bytes();
        if skip > 0 && self.skip(skip).is_err() {
            TOOL.warn(format!(
                "{}: cannot skip to specified offset",
                self.input_name()
            ));
        }
        let seek = self.operands.seek_bytes();
        if seek > 0 {
            let offset = i64::try_from(seek).unwrap_or(i64::MAX);
            let moved = self.output.seek(offset, Whence::Current);
            moved.map_err(|errno| {
                TOOL.fail(1, format!("{}: cannot seek: {errno}", self.output_name()))
            })?;
        }
        Ok(())
    }

    fn skip(&mut self, mut left: u64) -> Result<(), ()> {
        let offset = i64::try_from(left).unwrap_or(i64::MAX);
        let size = file::stat_fd(self.input)
            .ok()
            .filter(sandbar_guest::file::Stat::is_file)
            .map(|stat| stat.len);
        if self.input.seek(offset, Whence::Current).is_ok() {
            return if size.is_some_and(|size| left > size) {
                Err(())
            } else {
                Ok(())
            };
        }
        let mut buffer = vec![0; self.operands.input_size];
        while left > 0 {
            let want = usize::try_from(left)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            match self.input.read(buffer.get_mut(..want).unwrap_or_default()) {
                Ok(0) => return Err(()),
                Ok(count) => left = left.saturating_sub(u64::try_from(count).unwrap_or(0)),
                Err(Errno::EINTR) => {}
                Err(_) => return Err(()),
            }
        }
        Ok(())
    }

    fn copy(&mut self) -> Result<(), Stop> {
        let mut block = vec![0; self.operands.input_size];
        let mut pending = Vec::new();
        let mut blocks = 0;
        let mut taken = 0_u64;
        loop {
            let want = match (self.operands.count, self.operands.count_is_bytes) {
                (Some(count), true) => usize::try_from(count - taken.min(count))
                    .unwrap_or(usize::MAX)
                    .min(block.len()),
                (Some(count), false) if blocks >= count => 0,
                _ => block.len(),
            };
            if want == 0 {
                break;
            }
            let count = match self.read(block.get_mut(..want).unwrap_or_default()) {
                Ok(0) => break,
                Ok(count) => count,
                Err(errno) => {
                    TOOL.warn(format!("error reading {}: {errno}", self.input_name()));
                    if !self.operands.no_error {
                        self.flush(&mut pending)?;
                        return Err(Stop(1));
                    }
                    0
                }
            };
            blocks += 1;
            taken += u64::try_from(count).unwrap_or(0);
            self.read.add(count, self.operands.input_size);
            let mut len = count;
            if self.operands.fill && count < block.len() {
                block.get_mut(count..).unwrap_or_default().fill(0);
                len = block.len();
            }
            let bytes = block.get_mut(..len).unwrap_or_default();
            self.operands.convert(bytes);
            self.put(bytes, &mut pending)?;
            self.tell_progress();
        }
        self.flush(&mut pending)
    }

    /// Reads a block, a whole one if `fullblock` asks for it.
    fn read(&self, block: &mut [u8]) -> Result<usize, Errno> {
        let mut filled = 0;
        while let Some(rest) = block.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.input.read(rest) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(errno),
            }
            if !self.operands.full_block {
                break;
            }
        }
        Ok(filled)
    }

    /// Writes a block as it is when input and output blocks are the same (`bs=`), else in blocks of the output's size.
    fn put(&mut self, bytes: &[u8], pending: &mut Vec<u8>) -> Result<(), Stop> {
        if self.operands.same_size {
            return self.write(bytes);
        }
        pending.extend_from_slice(bytes);
        while pending.len() >= self.operands.output_size {
            let rest = pending.split_off(self.operands.output_size);
            self.write(pending)?;
            *pending = rest;
        }
        Ok(())
    }

    fn flush(&mut self, pending: &mut Vec<u8>) -> Result<(), Stop> {
        if pending.is_empty() {
            Ok(())
        } else {
            self.write(&std::mem::take(pending))
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let written = self.output.write_all(bytes);
        written.map_err(|errno| {
            let name = self.output_name();
            TOOL.fail(1, format!("error writing {name}: {errno}"))
        })?;
        self.written.add(bytes.len(), self.operands.output_size);
        self.bytes += u64::try_from(bytes.len()).unwrap_or(0);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Stop> {
        if !self.operands.sync_output {
            return Ok(());
        }
        let synced = self.output.sync();
        synced.map_err(|errno| {
            TOOL.fail(
                1,
                format!("fsync failed for {}: {errno}", self.output_name()),
            )
        })
    }

    fn tell_progress(&mut self) {
        let now = time::monotonic();
        if self.operands.status == Status::Progress
            && now.saturating_sub(self.told) >= Duration::from_secs(1)
        {
            self.told = now;
            let line = format!("\r{}", self.speed());
            let _unwritable = Fd::STDERR.write_all(line.as_bytes());
        }
    }

    /// Says what was copied.
    fn tell(&self) {
        if self.operands.status == Status::None {
            return;
        }
        let (read, written) = (&self.read, &self.written);
        let mut text = format!(
            "{}+{} records in\n{}+{} records out\n",
            read.whole, read.partial, written.whole, written.partial
        );
        if self.operands.status != Status::NoTransfer {
            text.push_str(&self.speed());
            text.push('\n');
        }
        let _unwritable = Fd::STDERR.write_all(text.as_bytes());
    }

    fn speed(&self) -> String {
        let elapsed = time::monotonic().saturating_sub(self.start).as_secs_f64();
        let bytes = self.bytes;
        let plural = if bytes == 1 { "byte" } else { "bytes" };
        let units = match bytes {
            ..1000 => String::new(),
            1000..1024 => format!(" ({})", spaced(&BlockSize::SI.show(bytes), "B")),
            _ => format!(
                " ({}, {})",
                spaced(&BlockSize::SI.show(bytes), "B"),
                spaced(&BlockSize::HUMAN.show(bytes), "iB")
            ),
        };
        let rate = if elapsed > 0.0 {
            rate(bytes, elapsed)
        } else {
            String::from("Infinity B")
        };
        format!(
            "{bytes} {plural}{units} copied, {} s, {rate}/s",
            significant(elapsed)
        )
    }
}

/// `1.5k` as `1.5 kB`.
fn spaced(size: &str, unit: &str) -> String {
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let letter = size.strip_prefix(digits).unwrap_or_default();
    format!("{digits} {letter}{unit}")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a speed is shown with two digits"
)]
fn rate(bytes: u64, elapsed: f64) -> String {
    let per_second = bytes as f64 / elapsed;
    spaced(&BlockSize::SI.show(per_second.min(1e18) as u64), "B")
}

/// Six significant digits, without zeros at the end, as C's `%g` has it.
fn significant(seconds: f64) -> String {
    let digits = match seconds {
        ..1.0 => 9,
        ..10.0 => 5,
        ..100.0 => 4,
        ..1000.0 => 3,
        _ => 1,
    };
    if seconds > 0.0 && seconds < 1e-4 {
        let exponent = seconds.log10().floor();
        let mantissa = format!("{:.5}", seconds / 10_f64.powf(exponent));
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        return format!("{mantissa}e-{:02}", exponent.abs());
    }
    let text = format!("{seconds:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    text.to_owned()
}
