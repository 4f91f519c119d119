//! The names of a module's utilities, as a section of the module, where packing finds them.

use crate::{Module, applets};

/// How many bytes the names of a module take, each with a NUL behind it.
pub const fn length(module: &Module) -> usize {
    let mut bytes = 0;
    let mut index = 0;
    while index < module.own.len() {
        bytes += module.own[index].len() + 1;
        index += 1;
    }
    index = 0;
    while index < module.upstream.len() {
        if !has(&applets::NAMES, module.upstream[index].name) {
            bytes += module.upstream[index].name.len() + 1;
        }
        index += 1;
    }
    bytes
}

/// The names of a module, each with a NUL behind it; `N` is their [`length`]. Upstream's utilities that ours replace, in
/// whichever module, are not among them.
pub const fn names<const N: usize>(module: &Module) -> [u8; N] {
    let mut list = ([0; N], 0);
    let mut index = 0;
    while index < module.own.len() {
        list = append(list, module.own[index]);
        index += 1;
    }
    index = 0;
    while index < module.upstream.len() {
        if !has(&applets::NAMES, module.upstream[index].name) {
            list = append(list, module.upstream[index].name);
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
