//! Linear memory and tables of one process against its limit and its sandbox's.
//!
//! SECURITY[SB-RT-005]: every page and table element of a guest is granted here, against its process's, its sandbox's and the
//! engine's limit.

use std::sync::Arc;

use wasmtime::ResourceLimiter;

use crate::process::{MemoryAccount, Process, Resource};

/// Elements of all tables of one process: 16 MiB of host memory.
const TABLE_ELEMENTS: usize = 2_000_000;

/// What one process has taken; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Limiter {
    process: Arc<Process>,
    account: Option<Arc<MemoryAccount>>,
    memory_bytes: u64,
    table_elements: usize,
    /// The request that was refused last, for the error of a program that cannot even start.
    pub(super) refused_bytes: Option<u64>,
}

impl Limiter {
    pub(super) fn new(process: Arc<Process>) -> Self {
        let account = process
            .table()
            .ok()
            .map(|table| Arc::clone(table.memory_account()));
        Self {
            process,
            account,
            memory_bytes: 0,
            table_elements: 0,
            refused_bytes: None,
        }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let more = desired.saturating_sub(current) as u64;
        let total = self.memory_bytes.saturating_add(more);
        let (limit, _) = self.process.limit(Resource::AddressSpace);
        let granted = total <= limit
            && self
                .account
                .as_ref()
                .is_some_and(|account| account.try_take(more));
        if granted {
            self.memory_bytes = total;
            self.process.set_memory_bytes(total);
        } else {
            self.refused_bytes = Some(total);
        }
        Ok(granted)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self
            .table_elements
            .saturating_add(desired.saturating_sub(current));
        if maximum.is_some_and(|maximum| desired > maximum) || total > TABLE_ELEMENTS {
            return Ok(false);
        }
        self.table_elements = total;
        Ok(true)
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        if let Some(account) = &self.account {
            account.give_back(self.memory_bytes);
        }
    }
}
