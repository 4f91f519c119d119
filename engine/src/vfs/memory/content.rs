//! The bytes of a file in memory.
//!
//! Small files are one buffer, larger ones chunks, so that a hole costs nothing and a write at the end copies nothing. A file may
//! begin as a view of a file of another back end (an image's): chunks are copied when they are first written.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::{OpenFile, Quota};
use crate::errno::{Errno, SysResult};

/// Bytes in a chunk, and the largest small file. A write of one byte into a hole is charged this much.
const CHUNK: usize = 16 * 1024;
/// The longest file: offsets are signed 64-bit numbers in every interface.
const LEN_MAX: u64 = i64::MAX as u64;
/// The smallest buffer of a small file: what is charged is a multiple of it.
const SMALL_MIN: usize = 512;

/// Contents, and what they are charged with.
#[derive(Debug)]
pub(super) struct Content {
    len: u64,
    data: Data,
    lower: Option<Lower>,
    charged: u64,
}

#[derive(Debug)]
enum Data {
    /// The beginning of the file, at most [`CHUNK`] bytes; zeros follow up to the length.
    Small(Vec<u8>),
    /// Chunks by index; those that are missing show the lower file, or zeros.
    Chunks(BTreeMap<u64, Box<[u8]>>),
}

/// The file whose bytes are seen where nothing was written.
#[derive(Debug)]
struct Lower {
    file: Arc<dyn OpenFile>,
    /// Bytes of it that are still seen: the shortest length this file ever had.
    len: u64,
}

/// The parts of a range of a file, by chunk.
struct Pieces {
    offset: u64,
    done: usize,
    len: usize,
}

/// One chunk's part of a range.
struct Piece {
    index: u64,
    /// First byte in the chunk, and in the buffer.
    in_chunk: usize,
    in_buffer: usize,
    len: usize,
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.done >= self.len {
            return None;
        }
        let at = self.offset + self.done as u64;
        let in_chunk = usize::try_from(at % CHUNK as u64).expect("less than a chunk");
        let len = (CHUNK - in_chunk).min(self.len - self.done);
        let piece = Piece {
            index: at / CHUNK as u64,
            in_chunk,
            in_buffer: self.done,
            len,
        };
        self.done += len;
        Some(piece)
    }
}

fn zeroed() -> Box<[u8]> {
    vec![0; CHUNK].into_boxed_slice()
}

impl Content {
    pub(super) fn empty() -> Self {
        Self {
            len: 0,
            data: Data::Small(Vec::new()),
            lower: None,
            charged: 0,
        }
    }

    /// The contents of a file of another back end, `len` bytes.
    pub(super) fn over(file: Arc<dyn OpenFile>, len: u64) -> Self {
        let lower = (len > 0).then_some(Lower { file, len });
        let data = if lower.is_some() {
            Data::Chunks(BTreeMap::new())
        } else {
            Data::Small(Vec::new())
        };
        Self {
            len,
            data,
            lower,
            charged: 0,
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes charged to the quota.
    pub(super) fn charged(&self) -> u64 {
        self.charged
    }

    /// Bytes of storage, the lower file's included.
    pub(super) fn stored(&self) -> u64 {
        self.charged
            .max(self.lower.as_ref().map_or(0, |lower| lower.len))
    }

    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        let available = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = available.min(buffer.len());
        let buffer = &mut buffer[..count];
        match &self.data {
            Data::Small(bytes) => {
                let start = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                let stored = (bytes.len() - start).min(count);
                buffer[..stored].copy_from_slice(&bytes[start..start + stored]);
                buffer[stored..].fill(0);
            }
            Data::Chunks(chunks) if chunks.is_empty() => self.read_below(buffer, offset)?,
            Data::Chunks(chunks) => {
                for piece in (Pieces {
                    offset,
                    done: 0,
                    len: count,
                }) {
                    let part = &mut buffer[piece.in_buffer..][..piece.len];
                    match chunks.get(&piece.index) {
                        Some(chunk) => part.copy_from_slice(&chunk[piece.in_chunk..][..piece.len]),
                        None => self.read_below(part, offset + piece.in_buffer as u64)?,
                    }
                }
            }
        }
        Ok(count)
    }

    /// Fills a buffer with what is seen where nothing was written.
    fn read_below(&self, buffer: &mut [u8], offset: u64) -> SysResult<()> {
        let mut filled = 0;
        if let Some(lower) = &self.lower {
            let left = usize::try_from(lower.len.saturating_sub(offset)).unwrap_or(usize::MAX);
            let wanted = left.min(buffer.len());
            while filled < wanted {
                match lower
                    .file
                    .read_at(&mut buffer[filled..wanted], offset + filled as u64)?
                {
                    0 => break,
                    count => filled += count,
                }
            }
        }
        buffer[filled..].fill(0);
        Ok(())
    }

    pub(super) fn write(&mut self, quota: &Quota, buffer: &[u8], offset: u64) -> SysResult<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if offset >= LEN_MAX {
            return Err(Errno::FileTooBig);
        }
        let count = usize::try_from(LEN_MAX - offset)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let end = offset + count as u64;
        self.make_small(quota, end)?;
        let written = if end <= CHUNK as u64 && matches!(self.data, Data::Small(_)) {
            self.write_small(quota, &buffer[..count], offset)?
        } else {
            self.write_chunks(quota, &buffer[..count], offset)?
        };
        self.len = self.len.max(offset + written as u64);
        Ok(written)
    }

    /// Copies a lower file that fits into one buffer, so that small configuration files stay small.
    fn make_small(&mut self, quota: &Quota, end: u64) -> SysResult<()> {
        let Some(lower) = &self.lower else {
            return Ok(());
        };
        let untouched = matches!(&self.data, Data::Chunks(chunks) if chunks.is_empty());
        if !untouched || lower.len.max(end) > CHUNK as u64 {
            return Ok(());
        }
        let len = usize::try_from(lower.len).expect("less than a chunk");
        let capacity = small_capacity(len.max(usize::try_from(end).unwrap_or(len)));
        let charge = quota.reserve(capacity as u64, 0)?;
        let mut bytes = Vec::with_capacity(capacity);
        bytes.resize(len, 0);
        self.read_below(&mut bytes, 0)?;
        charge.keep();
        self.charged += capacity as u64;
        self.data = Data::Small(bytes);
        self.lower = None;
        Ok(())
    }

    fn write_small(&mut self, quota: &Quota, buffer: &[u8], offset: u64) -> SysResult<usize> {
        let Data::Small(bytes) = &mut self.data else {
            return Err(Errno::Io);
        };
        let start = usize::try_from(offset).map_err(|_| Errno::FileTooBig)?;
        let end = start + buffer.len();
        grow_small(bytes, &mut self.charged, quota, end)?;
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[start..end].copy_from_slice(buffer);
        Ok(buffer.len())
    }

    /// Turns a small file's buffer into the first chunk.
    fn make_chunks(&mut self, quota: &Quota) -> SysResult<&mut BTreeMap<u64, Box<[u8]>>> {
        if let Data::Small(bytes) = &mut self.data {
            let mut chunks = BTreeMap::new();
            if !bytes.is_empty() {
                grow_small(bytes, &mut self.charged, quota, CHUNK)?;
                let mut chunk = std::mem::take(bytes);
                chunk.resize(CHUNK, 0);
                chunks.insert(0, chunk.into_boxed_slice());
            }
            self.data = Data::Chunks(chunks);
            if self.is_without_chunks() {
                quota.release(self.charged, 0);
                self.charged = 0;
            }
        }
        match &mut self.data {
            Data::Chunks(chunks) => Ok(chunks),
            Data::Small(_) => Err(Errno::Io),
        }
    }

    fn is_without_chunks(&self) -> bool {
        matches!(&self.data, Data::Chunks(chunks) if chunks.is_empty())
    }

    fn write_chunks(&mut self, quota: &Quota, buffer: &[u8], offset: u64) -> SysResult<usize> {
        self.make_chunks(quota)?;
        let mut written = 0;
        for piece in (Pieces {
            offset,
            done: 0,
            len: buffer.len(),
        }) {
            let part = &buffer[piece.in_buffer..][..piece.len];
            match self.write_chunk(quota, &piece, part) {
                Ok(()) => written += piece.len,
                // What was written before the limit was met is told; the next call gets the error.
                Err(_) if written > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }

    fn write_chunk(&mut self, quota: &Quota, piece: &Piece, part: &[u8]) -> SysResult<()> {
        let Data::Chunks(chunks) = &mut self.data else {
            return Err(Errno::Io);
        };
        if let Some(chunk) = chunks.get_mut(&piece.index) {
            chunk[piece.in_chunk..][..piece.len].copy_from_slice(part);
            return Ok(());
        }
        let charge = quota.reserve(CHUNK as u64, 0)?;
        let chunk = if part.len() == CHUNK {
            part.into()
        } else {
            let mut chunk = zeroed();
            if self.lower.is_some() {
                self.read_below(&mut chunk, piece.index * CHUNK as u64)?;
            }
            chunk[piece.in_chunk..][..piece.len].copy_from_slice(part);
            chunk
        };
        charge.keep();
        self.charged += CHUNK as u64;
        if let Data::Chunks(chunks) = &mut self.data {
            chunks.insert(piece.index, chunk);
        }
        Ok(())
    }

    pub(super) fn set_len(&mut self, quota: &Quota, len: u64) -> SysResult<()> {
        if len > LEN_MAX {
            return Err(Errno::FileTooBig);
        }
        if len < self.len {
            self.cut(quota, len);
        }
        self.len = len;
        Ok(())
    }

    fn cut(&mut self, quota: &Quota, len: u64) {
        if let Some(lower) = &mut self.lower {
            lower.len = lower.len.min(len);
            if len == 0 {
                self.lower = None;
            }
        }
        let freed = match &mut self.data {
            _ if len == 0 => {
                self.data = Data::Small(Vec::new());
                self.charged
            }
            Data::Small(bytes) => {
                bytes.truncate(usize::try_from(len).unwrap_or(usize::MAX));
                0
            }
            Data::Chunks(chunks) => {
                let dropped = chunks.split_off(&len.div_ceil(CHUNK as u64));
                let in_chunk = usize::try_from(len % CHUNK as u64).expect("less than a chunk");
                if in_chunk > 0
                    && let Some(chunk) = chunks.get_mut(&(len / CHUNK as u64))
                {
                    // What is behind the end is seen again when the file grows.
                    chunk[in_chunk..].fill(0);
                }
                dropped.len() as u64 * CHUNK as u64
            }
        };
        self.charged -= freed;
        quota.release(freed, 0);
    }

    /// Gives `[offset, offset + len)` storage, growing the file.
    pub(super) fn allocate(&mut self, quota: &Quota, offset: u64, len: u64) -> SysResult<()> {
        if len == 0 {
            return Err(Errno::Invalid);
        }
        let end = offset
            .checked_add(len)
            .filter(|&end| end <= LEN_MAX)
            .ok_or(Errno::FileTooBig)?;
        let chunk_len = CHUNK as u64;
        let wanted = offset / chunk_len..end.div_ceil(chunk_len);
        let present = match self.make_chunks(quota) {
            Ok(chunks) => chunks.range(wanted.clone()).count() as u64,
            Err(error) => return Err(error),
        };
        let missing = (wanted.end - wanted.start - present)
            .checked_mul(chunk_len)
            .ok_or(Errno::NoSpace)?;
        // Charged at once, so that a refusal leaves nothing half done.
        quota.reserve(missing, 0)?.keep();
        self.charged += missing;
        for index in wanted {
            let Data::Chunks(chunks) = &self.data else {
                return Err(Errno::Io);
            };
            if chunks.contains_key(&index) {
                continue;
            }
            let mut chunk = zeroed();
            if self.lower.is_some() {
                self.read_below(&mut chunk, index * chunk_len)?;
            }
            if let Data::Chunks(chunks) = &mut self.data {
                chunks.insert(index, chunk);
            }
        }
        self.len = self.len.max(end);
        Ok(())
    }
}

/// Storage of a small file of `len` bytes: doubling, so that appends are cheap.
fn small_capacity(len: usize) -> usize {
    len.next_power_of_two().clamp(SMALL_MIN, CHUNK)
}

/// Charges and reserves storage for a small file that grows to `len` bytes.
fn grow_small(bytes: &mut Vec<u8>, charged: &mut u64, quota: &Quota, len: usize) -> SysResult<()> {
    let capacity = small_capacity(len);
    let needed = (capacity as u64).saturating_sub(*charged);
    if needed > 0 {
        quota.reserve(needed, 0)?.keep();
        *charged += needed;
        bytes.reserve_exact(capacity - bytes.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unlimited() -> Arc<Quota> {
        Quota::unlimited()
    }

    fn all(content: &Content) -> Vec<u8> {
        let mut bytes = vec![0xff; usize::try_from(content.len()).unwrap()];
        assert_eq!(content.read(&mut bytes, 0), Ok(bytes.len()));
        bytes
    }

    #[test]
    fn what_was_written_is_read_at_every_size_and_offset() {
        let quota = unlimited();
        for (offset, len) in [
            (0, 5),
            (3, CHUNK),
            (CHUNK - 1, 2),
            (CHUNK, CHUNK),
            (2 * CHUNK + 7, 3 * CHUNK),
        ] {
            let mut content = Content::empty();
            let bytes: Vec<u8> = (0..len).map(|n| u8::try_from(n % 251).unwrap()).collect();
            assert_eq!(content.write(&quota, &bytes, offset as u64), Ok(len));
            let mut expected = vec![0; offset];
            expected.extend(&bytes);
            assert_eq!(all(&content), expected);
            quota.release(content.charged(), 0);
        }
        assert_eq!(quota.bytes_used(), 0);
    }

    #[test]
    fn a_hole_costs_nothing_and_reads_as_zeros() {
        let quota = Quota::new(2 * CHUNK as u64, 1);
        let mut content = Content::empty();
        content.set_len(&quota, 1 << 50).unwrap();
        assert_eq!(quota.bytes_used(), 0);
        content.write(&quota, b"x", 1 << 40).unwrap();
        assert_eq!(quota.bytes_used(), CHUNK as u64);
        let mut bytes = [0xff; 3];
        content.read(&mut bytes, (1 << 40) - 1).unwrap();
        assert_eq!(bytes, [0, b'x', 0]);
    }

    #[test]
    fn a_cut_end_does_not_come_back() {
        let quota = unlimited();
        for len in [10, 2 * CHUNK as u64] {
            let mut content = Content::empty();
            content
                .write(&quota, &vec![7; usize::try_from(len).unwrap()], 0)
                .unwrap();
            content.set_len(&quota, len - 3).unwrap();
            content.set_len(&quota, len).unwrap();
            assert_eq!(
                all(&content)[usize::try_from(len - 4).unwrap()..],
                [7, 0, 0, 0]
            );
        }
    }

    #[test]
    fn a_write_at_the_limit_fits_and_one_above_is_short_or_refused() {
        let quota = Quota::new(2 * CHUNK as u64, 1);
        let mut content = Content::empty();
        assert_eq!(content.write(&quota, &vec![1; 3 * CHUNK], 0), Ok(2 * CHUNK));
        assert_eq!(
            content.write(&quota, b"x", 2 * CHUNK as u64),
            Err(Errno::NoSpace)
        );
        assert_eq!(content.len(), 2 * CHUNK as u64);
        content.set_len(&quota, 0).unwrap();
        assert_eq!((quota.bytes_used(), content.charged()), (0, 0));
    }

    #[test]
    fn offsets_end_where_signed_numbers_do() {
        let quota = unlimited();
        let mut content = Content::empty();
        assert_eq!(content.write(&quota, b"xy", LEN_MAX - 1), Ok(1));
        assert_eq!(content.write(&quota, b"x", LEN_MAX), Err(Errno::FileTooBig));
        assert_eq!(content.set_len(&quota, LEN_MAX + 1), Err(Errno::FileTooBig));
        assert_eq!(content.allocate(&quota, LEN_MAX, 1), Err(Errno::FileTooBig));
    }

    #[test]
    fn allocation_is_charged_whole_or_not_at_all() {
        let quota = Quota::new(4 * CHUNK as u64, 1);
        let mut content = Content::empty();
        assert_eq!(content.allocate(&quota, 0, 1 << 60), Err(Errno::NoSpace));
        assert_eq!(quota.bytes_used(), 0);
        content.allocate(&quota, 10, 2 * CHUNK as u64).unwrap();
        assert_eq!(
            (content.len(), quota.bytes_used()),
            (10 + 2 * CHUNK as u64, 3 * CHUNK as u64)
        );
    }

    #[derive(Debug)]
    struct Bytes(Vec<u8>);

    impl OpenFile for Bytes {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
            let rest = &self.0[usize::try_from(offset).unwrap()..];
            // One byte less than asked, to see that short reads are continued.
            let count = rest.len().min(buffer.len()).min(buffer.len().max(2) - 1);
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        }
        fn write_at(
            &self,
            _: &super::super::super::Writable<'_>,
            _: &[u8],
            _: u64,
        ) -> SysResult<usize> {
            Err(Errno::ReadOnly)
        }
        fn append(
            &self,
            _: &super::super::super::Writable<'_>,
            _: &[u8],
        ) -> SysResult<(usize, u64)> {
            Err(Errno::ReadOnly)
        }
        fn set_len(&self, _: &super::super::super::Writable<'_>, _: u64) -> SysResult<()> {
            Err(Errno::ReadOnly)
        }
        fn allocate(&self, _: &super::super::super::Writable<'_>, _: u64, _: u64) -> SysResult<()> {
            Err(Errno::ReadOnly)
        }
        fn sync(&self, _: super::super::super::SyncScope) -> SysResult<()> {
            Ok(())
        }
        fn stat(&self) -> SysResult<super::super::super::FileStat> {
            Err(Errno::Io)
        }
        fn set_attributes(
            &self,
            _: &super::super::super::Writable<'_>,
            _: &super::super::super::SetAttributes,
        ) -> SysResult<()> {
            Err(Errno::ReadOnly)
        }
    }

    #[test]
    fn a_lower_file_is_seen_where_nothing_was_written() {
        let quota = unlimited();
        for len in [5, CHUNK, 3 * CHUNK + 9] {
            let mut expected: Vec<u8> = (0..len).map(|n| u8::try_from(n % 251).unwrap()).collect();
            let mut content = Content::over(Arc::new(Bytes(expected.clone())), len as u64);
            assert_eq!(all(&content), expected);
            content.write(&quota, b"abc", 2).unwrap();
            expected[2..5].copy_from_slice(b"abc");
            assert_eq!(all(&content), expected);
            content.set_len(&quota, len as u64 - 1).unwrap();
            content.set_len(&quota, len as u64 + 1).unwrap();
            expected[len - 1] = 0;
            expected.push(0);
            assert_eq!(all(&content), expected);
        }
    }
}
