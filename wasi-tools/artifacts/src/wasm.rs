//! The little of the WebAssembly binary format that packing needs.
//!
//! Source: WebAssembly core specification, "Modules" in the binary format.

/// The custom section in which a multi-call module lists the names it can be called by, each ended by a NUL.
const APPLETS_SECTION: &[u8] = b"sandbar.applets";

const HEADER: &[u8] = b"\0asm\x01\0\0\0";
const CUSTOM_SECTION: u8 = 0;

/// The names that a multi-call module can be called by; none for other modules.
///
/// # Errors
/// When `module` isn't a WebAssembly module, or is cut short.
pub(crate) fn applets(module: &[u8]) -> Result<Vec<String>, String> {
    let mut rest = module
        .strip_prefix(HEADER)
        .ok_or("not a WebAssembly module of version 1")?;
    let mut names = Vec::new();
    while let Some((&id, after_id)) = rest.split_first() {
        let (size, after_size) = leb128(after_id)?;
        let (section, next) = after_size
            .split_at_checked(size)
            .ok_or("a section ends beyond the file")?;
        rest = next;
        if id != CUSTOM_SECTION {
            continue;
        }
        let (length, named) = leb128(section)?;
        let (name, payload) = named
            .split_at_checked(length)
            .ok_or("a section's name ends beyond it")?;
        if name == APPLETS_SECTION {
            let texts = payload
                .split(|&byte| byte == 0)
                .filter(|text| !text.is_empty());
            names.extend(texts.map(|text| String::from_utf8_lossy(text).into_owned()));
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Reads an unsigned LEB128 number of at most 32 bits.
fn leb128(bytes: &[u8]) -> Result<(usize, &[u8]), String> {
    let mut value = 0_usize;
    for (index, &byte) in bytes.iter().enumerate().take(5) {
        value |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Ok((value, bytes.get(index + 1..).unwrap_or_default()));
        }
    }
    Err("a number has no end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(sections: &[(u8, &[u8])]) -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        for (id, payload) in sections {
            bytes.push(*id);
            bytes.push(u8::try_from(payload.len()).expect("short test sections"));
            bytes.extend_from_slice(payload);
        }
        bytes
    }

    #[test]
    fn applets_are_sorted_and_named_once() {
        let bytes = module(&[
            (1, b"ignored"),
            (0, b"\x0fsandbar.appletsls\0cat\0"),
            (0, b"\x04nameX"),
            (0, b"\x0fsandbar.appletsls\0"),
        ]);
        assert_eq!(applets(&bytes), Ok(vec!["cat".to_owned(), "ls".to_owned()]));
    }

    #[test]
    fn a_cut_module_is_an_error() {
        let bytes = module(&[(0, b"\x0fsandbar.appletsls\0")]);
        assert!(applets(&bytes[..bytes.len() - 1]).is_err());
        assert!(applets(b"#!/bin/sh\n").is_err());
    }
}
