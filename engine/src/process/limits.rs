//! Resource limits of one process, as `getrlimit` shows them.

use crate::errno::{Errno, SysResult};

/// A limited resource, by Linux's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Resource {
    /// CPU time in seconds.
    Cpu = 0,
    /// Bytes in a file that it writes.
    FileSize = 1,
    /// Bytes of data: shown as the memory limit.
    Data = 2,
    /// Bytes of stack.
    Stack = 3,
    /// Bytes of a core file: always 0.
    Core = 4,
    /// Processes of the sandbox.
    Processes = 6,
    /// Open descriptors.
    OpenFiles = 7,
    /// Bytes of linear memory.
    AddressSpace = 9,
}

impl Resource {
    /// By Linux's number.
    ///
    /// # Errors
    /// `Invalid` for a number that is not kept here.
    pub fn from_number(number: u32) -> SysResult<Self> {
        Ok(match number {
            0 => Self::Cpu,
            1 => Self::FileSize,
            2 => Self::Data,
            3 => Self::Stack,
            4 => Self::Core,
            6 => Self::Processes,
            7 => Self::OpenFiles,
            9 => Self::AddressSpace,
            _ => return Err(Errno::Invalid),
        })
    }
}

/// Soft and hard values; `u64::MAX` is none.
#[derive(Clone, Debug)]
pub struct ResourceLimits {
    values: [(u64, u64); 10],
}

impl ResourceLimits {
    /// The values a sandbox's first process starts with.
    pub fn new(memory_bytes: u64, processes: u64, open_files: u64, stack_bytes: u64) -> Self {
        let mut values = [(u64::MAX, u64::MAX); 10];
        values[Resource::Data as usize] = (memory_bytes, memory_bytes);
        values[Resource::AddressSpace as usize] = (memory_bytes, memory_bytes);
        values[Resource::Stack as usize] = (stack_bytes, stack_bytes);
        values[Resource::Core as usize] = (0, 0);
        values[Resource::Processes as usize] = (processes, processes);
        values[Resource::OpenFiles as usize] = (open_files, open_files);
        Self { values }
    }

    /// Soft and hard value.
    pub fn get(&self, resource: Resource) -> (u64, u64) {
        self.values[resource as usize]
    }

    pub(super) fn set(&mut self, resource: Resource, soft: u64, hard: u64) -> SysResult<()> {
        let value = &mut self.values[resource as usize];
        if soft > hard {
            return Err(Errno::Invalid);
        }
        if hard > value.1 {
            return Err(Errno::NotPermitted);
        }
        *value = (soft, hard);
        Ok(())
    }
}
