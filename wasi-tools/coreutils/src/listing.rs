//! The names of a module's utilities, as a section of the module, where packing finds them.

use crate::Utility;

/// How many bytes the names of a module take, each with a NUL behind it.
pub const fn length(own: &[&str], upstream: &[Utility]) -> usize {
    let mut bytes = 0;
    let mut index = 0;
    while index < own.len() {
        bytes += own[index].len() + 1;
        index += 1;
    }
    index = 0;
    while index < upstream.len() {
        if !has(own, upstream[index].name) {
            bytes += upstream[index].name.len() + 1;
        }
        index += 1;
    }
    bytes
}

/// The names of a module, each with a NUL behind it: our own utilities and those from upstream that these do not replace.
/// `N` is [`length`] of the same lists.
pub const fn names<const N: usize>(own: &[&str], upstream: &[Utility]) -> [u8; N] {
    let mut list = ([0; N], 0);
    let mut index = 0;
    while index < own.len() {
        list = append(list, own[index]);
        index += 1;
    }
    index = 0;
    while index < upstream.len() {
        if !has(own, upstream[index].name) {
            list = append(list, upstream[index].name);
        }
        index += 1;
    }
    list.0
}

const fn append<const N: usize>(
    (mut bytes, mut end): ([u8; N], usize),
    name: &str,
) -> ([u8; N], usize) {
    let letters = name.as_bytes();
    let mut index = 0;
    while index < letters.len() {
        bytes[end] = letters[index];
        end += 1;
        index += 1;
    }
    (bytes, end + 1)
}

const fn has(names: &[&str], wanted: &str) -> bool {
    let mut index = 0;
    while index < names.len() {
        if same(names[index].as_bytes(), wanted.as_bytes()) {
            return true;
        }
        index += 1;
    }
    false
}

const fn same(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let mut index = 0;
    while index < left.len() {
        if left[index] != right[index] {
            return false;
        }
        index += 1;
    }
    true
}
