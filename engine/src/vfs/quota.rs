//! Byte and file quotas of a back end.

/// What a file system may hold, and what it holds. Limits are bytes of storage and a number of inodes; `u64::MAX` is none.
#[derive(Debug)]
pub struct Quota {}

/// A reservation that is given back when it is dropped without being kept.
#[derive(Debug)]
pub struct Charge<'a> {
    _quota: &'a Quota,
}
