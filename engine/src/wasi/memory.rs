//! The one way to a guest's memory: every address and length in it was chosen by the guest.
//!
//! Invariants: no access outside the memory, no arithmetic that wraps, no allocation whose size a guest chose without a limit.
//! Integers are little-endian and need no alignment.
//!
//! SECURITY[SB-ABI-001]: every pointer and length of a guest goes through here.

use crate::errno::{Errno, SysResult};
use crate::vfs::PATH_MAX;

/// Buffers that one call gathers or scatters. Source: Linux `IOV_MAX` (`UIO_MAXIOV`), <limits.h>.
pub(super) const IOV_MAX: u32 = 1024;

/// Bytes of one iovec or byte-string entry: pointer and length.
const PAIR: u32 = 8;

/// A guest's linear memory for the time of one call.
#[derive(Debug)]
pub(super) struct GuestMemory<'a>(&'a mut [u8]);

impl<'a> GuestMemory<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self(bytes)
    }

    fn range(at: u32, len: u32) -> SysResult<std::ops::Range<usize>> {
        let start = usize::try_from(at).map_err(|_| Errno::Fault)?;
        let len = usize::try_from(len).map_err(|_| Errno::Fault)?;
        Ok(start..start.checked_add(len).ok_or(Errno::Fault)?)
    }

    /// `len` bytes at `at`.
    ///
    /// # Errors
    /// `Fault` when any of them lies outside the memory.
    pub(super) fn bytes(&self, at: u32, len: u32) -> SysResult<&[u8]> {
        self.0.get(Self::range(at, len)?).ok_or(Errno::Fault)
    }

    /// `len` bytes at `at`, to be filled.
    ///
    /// # Errors
    /// As [`GuestMemory::bytes`].
    pub(super) fn bytes_mut(&mut self, at: u32, len: u32) -> SysResult<&mut [u8]> {
        self.0.get_mut(Self::range(at, len)?).ok_or(Errno::Fault)
    }

    /// Says before a call changes anything whether its result can be stored.
    ///
    /// # Errors
    /// As [`GuestMemory::bytes`].
    pub(super) fn check(&self, at: u32, len: u32) -> SysResult<()> {
        self.bytes(at, len).map(|_| ())
    }

    fn array<const N: usize>(&self, at: u32) -> SysResult<[u8; N]> {
        let len = u32::try_from(N).map_err(|_| Errno::Fault)?;
        self.bytes(at, len)?.try_into().map_err(|_| Errno::Fault)
    }

    pub(super) fn u32(&self, at: u32) -> SysResult<u32> {
        Ok(u32::from_le_bytes(self.array(at)?))
    }

    /// Stores bytes.
    ///
    /// # Errors
    /// As [`GuestMemory::bytes`].
    pub(super) fn write(&mut self, at: u32, bytes: &[u8]) -> SysResult<()> {
        let len = u32::try_from(bytes.len()).map_err(|_| Errno::Fault)?;
        self.bytes_mut(at, len)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn write_u32(&mut self, at: u32, value: u32) -> SysResult<()> {
        self.write(at, &value.to_le_bytes())
    }

    pub(super) fn write_u64(&mut self, at: u32, value: u64) -> SysResult<()> {
        self.write(at, &value.to_le_bytes())
    }

    /// Stores a result that the guest may not want: address 0 is "no".
    ///
    /// # Errors
    /// As [`GuestMemory::bytes`].
    pub(super) fn write_wanted_u32(&mut self, at: u32, value: u32) -> SysResult<()> {
        if at == 0 {
            return Ok(());
        }
        self.write_u32(at, value)
    }

    /// A path.
    ///
    /// # Errors
    /// `NameTooLong` above [`PATH_MAX`] bytes, `Fault`.
    pub(super) fn path(&self, at: u32, len: u32) -> SysResult<&[u8]> {
        let bytes = self.bytes(at, len)?;
        if bytes.len() > PATH_MAX {
            return Err(Errno::NameTooLong);
        }
        Ok(bytes)
    }

    /// A list of `(address, length)` pairs: iovecs, byte strings. Nothing is allocated: entries are read as they are asked for.
    ///
    /// # Errors
    /// `Fault` when the list itself is not in memory; the buffers are checked when they are used.
    pub(super) fn pairs(&self, at: u32, count: u32) -> SysResult<Pairs> {
        let len = count.checked_mul(PAIR).ok_or(Errno::Fault)?;
        self.check(at, len)?;
        Ok(Pairs { at, left: count })
    }

    /// As [`GuestMemory::pairs`], for the buffers of a read or write.
    ///
    /// # Errors
    /// `Invalid` above [`IOV_MAX`] (readv(2)), `Fault`.
    pub(super) fn buffers(&self, at: u32, count: u32) -> SysResult<Pairs> {
        if count > IOV_MAX {
            return Err(Errno::Invalid);
        }
        self.pairs(at, count)
    }

    /// The first `N` bytes of a struct that begins with its own size.
    ///
    /// # Errors
    /// `Invalid` when the size is below `N`, `Fault`.
    pub(super) fn sized<const N: usize>(&self, at: u32) -> SysResult<Reader<'_>> {
        self.check_sized::<N>(at)?;
        let len = u32::try_from(N).map_err(|_| Errno::Fault)?;
        let mut reader = Reader::new(self.bytes(at, len)?);
        reader.u32()?;
        Ok(reader)
    }

    /// Says whether a struct that begins with its own size has room for `N` bytes.
    ///
    /// # Errors
    /// As [`GuestMemory::sized`].
    pub(super) fn check_sized<const N: usize>(&self, at: u32) -> SysResult<()> {
        let size = self.u32(at)?;
        if usize::try_from(size).is_ok_and(|size| size < N) {
            return Err(Errno::Invalid);
        }
        self.check(at, u32::try_from(N).map_err(|_| Errno::Fault)?)
    }
}

/// Walks a list of `(address, length)` pairs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pairs {
    at: u32,
    left: u32,
}

impl Pairs {
    /// The next pair whose length is not 0.
    ///
    /// # Errors
    /// `Fault`.
    pub(super) fn next_filled(
        &mut self,
        memory: &GuestMemory<'_>,
    ) -> SysResult<Option<(u32, u32)>> {
        while let Some(pair) = self.next(memory)? {
            if pair.1 > 0 {
                return Ok(Some(pair));
            }
        }
        Ok(None)
    }

    /// The next pair.
    ///
    /// # Errors
    /// `Fault`.
    pub(super) fn next(&mut self, memory: &GuestMemory<'_>) -> SysResult<Option<(u32, u32)>> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        let mut reader = Reader::new(memory.bytes(self.at, PAIR)?);
        let pair = (reader.u32()?, reader.u32()?);
        self.left = left;
        self.at = self.at.saturating_add(PAIR);
        Ok(Some(pair))
    }

    /// Bytes of all buffers together.
    ///
    /// # Errors
    /// `Fault` when a buffer is not in memory, `Invalid` when the sum is above `i32::MAX` (readv(2)).
    pub(super) fn total(mut self, memory: &GuestMemory<'_>) -> SysResult<u32> {
        let mut total: u32 = 0;
        while let Some((at, len)) = self.next(memory)? {
            memory.check(at, len)?;
            total = total
                .checked_add(len)
                .filter(|total| i32::try_from(*total).is_ok())
                .ok_or(Errno::Invalid)?;
        }
        Ok(total)
    }
}

/// Takes a struct apart, field by field.
#[derive(Debug)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take<const N: usize>(&mut self) -> SysResult<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk().ok_or(Errno::Fault)?;
        self.0 = tail;
        Ok(*head)
    }

    pub(super) fn skip<const N: usize>(&mut self) -> SysResult<()> {
        self.take::<N>().map(|_| ())
    }

    pub(super) fn u8(&mut self) -> SysResult<u8> {
        Ok(u8::from_le_bytes(self.take()?))
    }

    pub(super) fn u16(&mut self) -> SysResult<u16> {
        Ok(u16::from_le_bytes(self.take()?))
    }

    pub(super) fn u32(&mut self) -> SysResult<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    pub(super) fn i32(&mut self) -> SysResult<i32> {
        Ok(i32::from_le_bytes(self.take()?))
    }

    pub(super) fn u64(&mut self) -> SysResult<u64> {
        Ok(u64::from_le_bytes(self.take()?))
    }
}

/// Puts a struct of `N` bytes together, field by field; what is not put is 0.
#[derive(Debug)]
pub(super) struct Writer<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Writer<N> {
    pub(super) fn new() -> Self {
        Self {
            bytes: [0; N],
            at: 0,
        }
    }

    /// One that begins with its own size.
    pub(super) fn sized() -> Self {
        Self::new().u32(u32::try_from(N).unwrap_or(u32::MAX))
    }

    fn put(mut self, field: &[u8]) -> Self {
        let end = self.at.saturating_add(field.len());
        debug_assert!(end <= N, "the fields need {end} bytes, the struct has {N}");
        if let Some(room) = self.bytes.get_mut(self.at..end) {
            room.copy_from_slice(field);
        }
        self.at = end;
        self
    }

    pub(super) fn pad<const M: usize>(self) -> Self {
        self.put(&[0; M])
    }

    pub(super) fn u8(self, value: u8) -> Self {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn u16(self, value: u16) -> Self {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn u32(self, value: u32) -> Self {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn u64(self, value: u64) -> Self {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn i64(self, value: i64) -> Self {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn bytes(self) -> [u8; N] {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_the_memory_can_be_named() {
        let mut bytes = [0; 16];
        let mut memory = GuestMemory::new(&mut bytes);
        assert!(memory.bytes(16, 0).is_ok());
        assert_eq!(memory.bytes(17, 0), Err(Errno::Fault));
        assert_eq!(memory.bytes(12, 5), Err(Errno::Fault));
        assert_eq!(memory.bytes(u32::MAX, u32::MAX), Err(Errno::Fault));
        assert_eq!(memory.bytes_mut(8, u32::MAX - 4), Err(Errno::Fault));
        assert_eq!(memory.u32(13), Err(Errno::Fault));
        assert_eq!(memory.write_u64(9, 1), Err(Errno::Fault));
    }

    #[test]
    fn a_list_whose_length_wraps_is_refused() {
        let mut bytes = [0; 64];
        let memory = GuestMemory::new(&mut bytes);
        assert!(memory.pairs(0, u32::MAX).is_err());
        assert!(memory.pairs(0, 1 << 29).is_err());
        assert_eq!(memory.buffers(0, IOV_MAX + 1).err(), Some(Errno::Invalid));
        assert!(memory.buffers(0, 8).is_ok());
    }

    #[test]
    fn a_total_above_the_largest_count_is_refused() {
        let mut bytes = vec![0; 64];
        let mut memory = GuestMemory::new(&mut bytes);
        memory.write(0, &[8, 0, 0, 0, 8, 0, 0, 0]).unwrap();
        memory.write(8, &[0, 0, 0, 0, 9, 0, 0, 0]).unwrap();
        let total = memory.pairs(0, 2).unwrap().total(&memory);
        assert_eq!(total, Ok(17));
        memory
            .write(8, &[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])
            .unwrap();
        let total = memory.pairs(0, 2).unwrap().total(&memory);
        assert_eq!(total, Err(Errno::Fault));
    }

    #[test]
    fn a_struct_says_how_long_it_is() {
        let mut bytes = [0; 32];
        let mut memory = GuestMemory::new(&mut bytes);
        memory.write_u32(4, 11).unwrap();
        assert_eq!(memory.check_sized::<12>(4), Err(Errno::Invalid));
        memory.write_u32(4, 400).unwrap();
        assert_eq!(memory.check_sized::<12>(4), Ok(()));
        assert_eq!(memory.check_sized::<32>(4), Err(Errno::Fault));
    }
}
