//! The back end for development: the host's C library, with Linux's numbers translated where the host has others.

mod fd;
mod file;
mod process;
mod signal;
mod spawn;
mod time;

pub(crate) use fd::*;
pub(crate) use file::*;
pub(crate) use process::*;
pub(crate) use signal::*;
pub(crate) use spawn::*;
pub(crate) use time::*;

use std::ffi::CString;

use crate::{Errno, Result};

/// A path for the C library.
fn c_path(path: &[u8]) -> Result<CString> {
    CString::new(path).map_err(|_| Errno::EINVAL)
}

/// The result of a C call that reports failure as -1.
fn check(result: libc::c_int) -> Result<libc::c_int> {
    if result < 0 {
        Err(Errno::last())
    } else {
        Ok(result)
    }
}

/// The same for calls that return a size.
fn check_size(result: libc::ssize_t) -> Result<usize> {
    usize::try_from(result).map_err(|_| Errno::last())
}
