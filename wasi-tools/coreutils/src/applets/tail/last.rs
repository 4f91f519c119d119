//! The end of a file, or its rest from a place on.

use sandbar_guest::{Errno, Fd, fd::Whence, file};

use super::{Request, Unit};
use crate::applets::cli::Output;

const BLOCK: usize = 64 * 1024;

/// Shows what the request asks for and leaves the position at the end.
pub(super) fn show(fd: Fd, request: &Request, out: &mut Output) -> Result<(), Errno> {
    if file::stat_fd(fd)?.is_dir() {
        return Err(Errno::EISDIR);
    }
    if request.from_start {
        return from_start(fd, request, out);
    }
    let here = fd.seek(0, Whence::Current).ok();
    let size = fd
        .seek(0, Whence::End)
        .ok()
        .filter(|_| file::stat_fd(fd).is_ok_and(|stat| stat.is_file()));
    match (here, size) {
        (Some(here), Some(size)) => {
            let start = start_of_end(fd, request, here, size)?;
            fd.seek(i64::try_from(start).unwrap_or(i64::MAX), Whence::Start)?;
            copy(fd, out)
        }
        _ => end_of_stream(fd, request, out),
    }
}

fn read(fd: Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match fd.read(buffer) {
            Err(Errno::EINTR) => {}
            result => return result,
        }
    }
}

/// Shows everything from the position on.
pub(super) fn copy(fd: Fd, out: &mut Output) -> Result<(), Errno> {
    let mut buffer = vec![0; BLOCK];
    loop {
        match read(fd, &mut buffer)? {
            0 => return Ok(()),
            count => out.bytes(buffer.get(..count).unwrap_or(&buffer)),
        }
    }
}

fn from_start(fd: Fd, request: &Request, out: &mut Output) -> Result<(), Errno> {
    let mut skip = request.count.saturating_sub(1);
    let mut buffer = vec![0; BLOCK];
    while skip > 0 {
        let count = read(fd, &mut buffer)?;
        let bytes = buffer.get(..count).unwrap_or(&buffer);
        if bytes.is_empty() {
            return Ok(());
        }
        let mut at = 0;
        if request.unit == Unit::Bytes {
            at = usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len());
            skip -= u64::try_from(at).unwrap_or(skip);
        } else {
            for (index, _) in bytes
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte == request.line_end)
            {
                skip -= 1;
                at = index + 1;
                if skip == 0 {
                    break;
                }
            }
        }
        if skip == 0 {
            out.bytes(bytes.get(at..).unwrap_or_default());
        }
    }
    copy(fd, out)
}

/// Where in a file of `size` bytes the end that is wanted starts; nothing before `here` is looked at.
fn start_of_end(fd: Fd, request: &Request, here: u64, size: u64) -> Result<u64, Errno> {
    if request.unit == Unit::Bytes {
        return Ok(size.saturating_sub(request.count).max(here));
    }
    if request.count == 0 || size <= here {
        return Ok(size);
    }
    let mut wanted = request.count;
    let mut buffer = vec![0; BLOCK];
    let mut end = size;
    while end > here {
        let len = (end - here).min(u64::try_from(BLOCK).unwrap_or(1));
        let start = end - len;
        fd.seek(i64::try_from(start).unwrap_or(i64::MAX), Whence::Start)?;
        let block = buffer
            .get_mut(..usize::try_from(len).unwrap_or(BLOCK))
            .unwrap_or_default();
        let count = fill(fd, block)?;
        let block = block.get(..count).unwrap_or_default();
        for (index, _) in block
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, byte)| **byte == request.line_end)
        {
            let behind = start + u64::try_from(index).unwrap_or(0) + 1;
            // The last line ends with what would start another one.
            if behind == size {
                continue;
            }
            wanted -= 1;
            if wanted == 0 {
                return Ok(behind);
            }
        }
        end = start;
    }
    Ok(here)
}

fn fill(fd: Fd, block: &mut [u8]) -> Result<usize, Errno> {
    let mut filled = 0;
    while let Some(rest) = block.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match read(fd, rest)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// Reads a pipe to its end, keeping no more than its end needs.
fn end_of_stream(fd: Fd, request: &Request, out: &mut Output) -> Result<(), Errno> {
    let mut kept = Vec::new();
    let mut buffer = vec![0; BLOCK];
    let mut limit = 16 * BLOCK;
    loop {
        let count = read(fd, &mut buffer)?;
        kept.extend_from_slice(buffer.get(..count).unwrap_or(&buffer));
        let done = count == 0;
        if done || kept.len() > limit {
            let start = start_in(&kept, request);
            kept.drain(..start);
            // When long lines make up most of it, cutting after each block would copy it again and again.
            limit = (2 * kept.len()).max(16 * BLOCK);
        }
        if done {
            out.bytes(&kept);
            return Ok(());
        }
    }
}

/// Where the end that is wanted starts in a text.
fn start_in(text: &[u8], request: &Request) -> usize {
    let count = usize::try_from(request.count).unwrap_or(usize::MAX);
    if request.unit == Unit::Bytes {
        return text.len().saturating_sub(count);
    }
    if count == 0 {
        return text.len();
    }
    let inner = text.len().saturating_sub(1);
    let ends = text
        .iter()
        .enumerate()
        .take(inner)
        .rev()
        .filter(|(_, byte)| **byte == request.line_end);
    ends.map(|(at, _)| at + 1).nth(count - 1).unwrap_or(0)
}
