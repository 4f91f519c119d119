//! The back end for `wasm32-wasip1`: imports from `sandbar_v1` and preview 1. Each function is one call and its conversion.

mod abi;
mod fd;
mod file;
mod process;
mod signal;
mod time;

pub(crate) use fd::*;
pub(crate) use file::*;
pub(crate) use process::*;
pub(crate) use signal::*;
pub(crate) use time::*;

use crate::{Errno, Result};

/// The length of a guest's byte string as the interface counts it.
fn len(bytes: &[u8]) -> Result<u32> {
    u32::try_from(bytes.len()).map_err(|_| Errno::EINVAL)
}
