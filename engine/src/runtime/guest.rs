//! What a store carries for one process.

use std::sync::Arc;

use super::limiter::Limiter;
use crate::process::Process;
use crate::wasi::{Context, HasContext};

/// The data of a process's store.
#[derive(Debug)]
pub(super) struct Guest {
    context: Context,
    pub(super) limiter: Limiter,
}

impl Guest {
    pub(super) fn new(context: Context, process: Arc<Process>) -> Self {
        Self {
            context,
            limiter: Limiter::new(process),
        }
    }
}

impl HasContext for Guest {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    fn context_ref(&self) -> &Context {
        &self.context
    }
}
