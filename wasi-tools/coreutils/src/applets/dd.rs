//! `dd`: copies a file in blocks. Upstream's counts time in a thread, which guests do not have.

mod operands;

use std::ffi::OsString;
use std::fmt::Write as _;

use sandbar_guest::{
    Errno, Fd,
    fd::Whence,
    file::{self, OpenFlags},
    time,
};

use self::operands::{Conversion, Request, Status};
use super::{
    cli::{self, Order, Outcome, Stop, Tool},
    quote::quote,
};

static TOOL: Tool = Tool {
    name: "dd",
    help: "\
Usage: dd [OPERAND]...
Copies standard input to standard output in blocks.

  bs=N            read and write up to N bytes at a time (default 512)
  ibs=N, obs=N    the same for reading, for writing
  if=FILE, of=FILE  instead of standard input, standard output
  count=N         copy only N input blocks
  skip=N, iseek=N  leave out N input blocks at the start
  seek=N, oseek=N  leave out N output blocks at the start
  conv=LIST       ucase, lcase, swab, sync, noerror, notrunc, nocreat, excl, fsync, fdatasync
  iflag=LIST      fullblock, count_bytes, skip_bytes
  oflag=LIST      append, seek_bytes
  status=LEVEL    none, noxfer, progress (taken as the default)

N may end in c, w, b, K, M, G, kB, MB, GB, or B for a count of bytes; N1xN2 is a product.
",
    options: &[],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut parser = TOOL.parse(args);
    while parser.next()?.is_some() {}
    let request = Request::parse(&TOOL, &parser.operands())?;
    let started = time::monotonic();
    let mut copy = Copy::open(&request)?;
    let failed = copy.run(&request).is_err();
    let failed = copy.end(&request).is_err() || failed;
    let seconds = time::monotonic().saturating_sub(started).as_secs_f64();
    copy.counts.report(request.status, seconds);
    Ok(i32::from(failed))
}

/// Whole and partial blocks that were read and written.
#[derive(Default)]
struct Counts {
    whole_in: u64,
    partial_in: u64,
    whole_out: u64,
    partial_out: u64,
    bytes: u64,
}

impl Counts {
    fn report(&self, status: Status, seconds: f64) {
        if status == Status::None {
            return;
        }
        let mut text = format!(
            "{}+{} records in\n{}+{} records out\n",
            self.whole_in, self.partial_in, self.whole_out, self.partial_out
        );
        if status == Status::Default {
            let plural = if self.bytes == 1 { "byte" } else { "bytes" };
            #[expect(
                clippy::cast_precision_loss,
                reason = "a rate for people, three digits of it"
            )]
            let rate = self.bytes as f64 / seconds.max(1e-9);
            let written = writeln!(
                text,
                "{} {plural} copied, {seconds:.6} s, {}/s",
                self.bytes,
                human(rate)
            );
            debug_assert!(written.is_ok(), "a string accepts every write");
        }
        let _unwritable = Fd::STDERR.write_all(text.as_bytes());
    }
}

/// A number of bytes in decimal units, as GNU's dd prints a rate.
fn human(mut bytes: f64) -> String {
    let mut unit = "B";
    for larger in ["kB", "MB", "GB", "TB"] {
        if bytes < 1000.0 {
            break;
        }
        bytes /= 1000.0;
        unit = larger;
    }
    format!("{bytes:.1} {unit}")
}

struct Copy {
    input: Fd,
    output: Fd,
    input_name: Vec<u8>,
    output_name: Vec<u8>,
    counts: Counts,
    /// Bytes that wait for a whole output block.
    pending: Vec<u8>,
}

impl Copy {
    fn open(request: &Request) -> Result<Self, Stop> {
        let failed = |path: &[u8]| {
            let shown = quote(path);
            move |errno: Errno| TOOL.fail(1, format!("failed to open {shown}: {errno}"))
        };
        let input = match &request.input {
            Some(path) => file::open(path, OpenFlags::RDONLY, 0).map_err(failed(path))?,
            None => Fd::STDIN,
        };
        let output = match &request.output {
            Some(path) => file::open(path, request.output_flags(), 0o666).map_err(failed(path))?,
            None => Fd::STDOUT,
        };
        let mut copy = Self {
            input,
            output,
            input_name: request
                .input
                .clone()
                .unwrap_or_else(|| b"standard input".to_vec()),
            output_name: request
                .output
                .clone()
                .unwrap_or_else(|| b"standard output".to_vec()),
            counts: Counts::default(),
            pending: Vec::new(),
        };
        copy.seek(request)?;
        Ok(copy)
    }

    /// Leaves out what `skip` and `seek` say. A file that is written anew ends where writing starts.
    fn seek(&mut self, request: &Request) -> Result<(), Stop> {
        if request.skip > 0
            && self
                .input
                .seek(offset(request.skip), Whence::Current)
                .is_err()
        {
            self.discard(request.skip)?;
        }
        if request.seek > 0 {
            let moved = self.output.seek(offset(request.seek), Whence::Current);
            moved.map_err(|errno| {
                let name = quote(&self.output_name);
                TOOL.fail(1, format!("{name}: cannot seek: {errno}"))
            })?;
            if request.truncates() {
                let cut = self.output.truncate(request.seek);
                cut.map_err(|errno| {
                    let name = quote(&self.output_name);
                    TOOL.fail(
                        1,
                        format!(
                            "failed to truncate to {} bytes in output file {name}: {errno}",
                            request.seek
                        ),
                    )
                })?;
            }
        }
        Ok(())
    }

    fn discard(&mut self, mut bytes: u64) -> Result<(), Stop> {
        let mut buffer = vec![0; 64 * 1024];
        while bytes > 0 {
            let most = usize::try_from(bytes)
                .unwrap_or(buffer.len())
                .min(buffer.len());
            let part = buffer.get_mut(..most).unwrap_or_default();
            match self.input.read(part) {
                Ok(0) => return Ok(()),
                Ok(count) => bytes = bytes.saturating_sub(count as u64),
                Err(errno) => return Err(self.read_failed(errno)),
            }
        }
        Ok(())
    }

    fn run(&mut self, request: &Request) -> Result<(), Stop> {
        let mut block = vec![0; request.input_block];
        let mut left = request.count;
        while left != Some(0) {
            let most = match left {
                Some(bytes) if request.count_is_bytes => usize::try_from(bytes)
                    .unwrap_or(block.len())
                    .min(block.len()),
                _ => block.len(),
            };
            let count = match self.read(block.get_mut(..most).unwrap_or_default(), request) {
                Ok(0) => break,
                Ok(count) => count,
                Err(errno) if request.has(Conversion::NoError) => {
                    self.read_failed(errno);
                    if self
                        .input
                        .seek(offset(request.input_block as u64), Whence::Current)
                        .is_err()
                    {
                        break;
                    }
                    0
                }
                Err(errno) => return Err(self.read_failed(errno)),
            };
            if count == block.len() {
                self.counts.whole_in += 1;
            } else {
                self.counts.partial_in += 1;
            }
            let taken = if request.count_is_bytes {
                count as u64
            } else {
                1
            };
            left = left.map(|left| left.saturating_sub(taken));
            let mut bytes = block.get(..count).unwrap_or_default().to_vec();
            if request.has(Conversion::Sync) {
                bytes.resize(block.len(), 0);
            }
            request.convert(&mut bytes);
            self.write(&bytes, request)?;
        }
        Ok(())
    }

    /// One block: what a single read gives, or with `fullblock` as much as there is.
    fn read(&self, block: &mut [u8], request: &Request) -> Result<usize, Errno> {
        let mut filled = 0;
        loop {
            match self.input.read(block.get_mut(filled..).unwrap_or_default()) {
                Ok(0) => return Ok(filled),
                Ok(count) => filled += count,
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
            if !request.full_blocks || filled == block.len() {
                return Ok(filled);
            }
        }
    }

    fn write(&mut self, bytes: &[u8], request: &Request) -> Result<(), Stop> {
        if request.output_block == request.input_block {
            return self.put(bytes, request.output_block);
        }
        self.pending.extend_from_slice(bytes);
        while self.pending.len() >= request.output_block {
            let rest = self.pending.split_off(request.output_block);
            let whole = std::mem::replace(&mut self.pending, rest);
            self.put(&whole, request.output_block)?;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8], block: usize) -> Result<(), Stop> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.output.write_all(bytes).map_err(|errno| {
            TOOL.fail(
                1,
                format!("error writing {}: {errno}", quote(&self.output_name)),
            )
        })?;
        self.counts.bytes += bytes.len() as u64;
        if bytes.len() == block {
            self.counts.whole_out += 1;
        } else {
            self.counts.partial_out += 1;
        }
        Ok(())
    }

    /// Writes the rest, and makes it durable when asked.
    fn end(&mut self, request: &Request) -> Result<(), Stop> {
        let rest = std::mem::take(&mut self.pending);
        self.put(&rest, request.output_block)?;
        let name = quote(&self.output_name);
        let failed = |errno| TOOL.fail(1, format!("error writing {name}: {errno}"));
        if request.has(Conversion::Durable) {
            self.output.sync().map_err(failed)?;
        }
        if request.output.is_some() {
            self.output.close().map_err(failed)?;
        }
        Ok(())
    }

    fn read_failed(&self, errno: Errno) -> Stop {
        TOOL.fail(
            1,
            format!("error reading {}: {errno}", quote(&self.input_name)),
        )
    }
}

fn offset(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
