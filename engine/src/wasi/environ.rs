//! Arguments and environment.

use super::call::Call;
use crate::errno::{Errno, SysResult};

pub(super) fn args_get(call: &mut Call<'_>, list: u32, buffer: u32) -> SysResult<()> {
    let args = call.context.process().args();
    strings(call, &args, list, buffer)
}

pub(super) fn args_sizes_get(call: &mut Call<'_>, count: u32, size: u32) -> SysResult<()> {
    let args = call.context.process().args();
    sizes(call, &args, count, size)
}

pub(super) fn environ_get(call: &mut Call<'_>, list: u32, buffer: u32) -> SysResult<()> {
    let env = call.context.process().env();
    strings(call, &env, list, buffer)
}

pub(super) fn environ_sizes_get(call: &mut Call<'_>, count: u32, size: u32) -> SysResult<()> {
    let env = call.context.process().env();
    sizes(call, &env, count, size)
}

fn sizes(call: &mut Call<'_>, strings: &[Vec<u8>], count: u32, size: u32) -> SysResult<()> {
    let bytes = strings
        .iter()
        .try_fold(0_usize, |sum, string| {
            sum.checked_add(string.len())?.checked_add(1)
        })
        .ok_or(Errno::Overflow)?;
    let number = |value: usize| u32::try_from(value).map_err(|_| Errno::Overflow);
    call.memory.write_u32(count, number(strings.len())?)?;
    call.memory.write_u32(size, number(bytes)?)
}

/// Stores the strings one behind the other, each with a NUL, and a list of their addresses.
fn strings(call: &mut Call<'_>, strings: &[Vec<u8>], list: u32, buffer: u32) -> SysResult<()> {
    let mut entry = list;
    let mut at = buffer;
    for string in strings {
        let len = u32::try_from(string.len()).map_err(|_| Errno::Overflow)?;
        let end = at.checked_add(len).ok_or(Errno::Fault)?;
        call.memory.write_u32(entry, at)?;
        call.memory.write(at, string)?;
        call.memory.write(end, &[0])?;
        entry = entry.checked_add(4).ok_or(Errno::Fault)?;
        at = end.checked_add(1).ok_or(Errno::Fault)?;
    }
    Ok(())
}
