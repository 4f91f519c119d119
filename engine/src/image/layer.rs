//! A layer's tar archive as a read-only tree.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use super::layout::Layout;
use crate::error::{ErrorKind, Result};
use crate::vfs::{ImageFile, ImageFs, ImageFsBuilder, ImageSource};

/// The archive as `tar` reads it: headers only, contents are skipped.
struct Cursor {
    source: Arc<dyn ImageSource>,
    position: u64,
    len: u64,
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self
            .source
            .read_at(buffer, self.position)
            .map_err(std::io::Error::other)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(delta) => self.position.checked_add_signed(delta),
            SeekFrom::End(delta) => self.len.checked_add_signed(delta),
        };
        self.position = position.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// Indexes the layer of a layout.
pub(super) fn index(layout: &Layout, origin: &str) -> Result<Arc<ImageFs>> {
    let (source, len) = layout.layer(origin)?;
    let digests = layout
        .programs()
        .iter()
        .filter_map(|program| Some((program.path.clone(), bytes_of(&program.sha256)?)))
        .collect();
    let cursor = Cursor {
        source: Arc::clone(&source),
        position: 0,
        len,
    };
    build(cursor, &source, &digests).map_err(|error| {
        ErrorKind::Image {
            origin: origin.to_owned(),
            reason: format!("its layer: {error}"),
        }
        .into()
    })
}

fn bytes_of(hex: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if hex.len() != 64 {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

fn build(
    cursor: Cursor,
    source: &Arc<dyn ImageSource>,
    digests: &HashMap<String, [u8; 32]>,
) -> std::io::Result<Arc<ImageFs>> {
    let mut builder = ImageFsBuilder::new();
    let mut archive = tar::Archive::new(cursor);
    for entry in archive.entries_with_seek()? {
        let entry = entry?;
        let header = entry.header();
        let path = entry.path_bytes();
        let path = path.strip_prefix(b"./").unwrap_or(&path).to_vec();
        let path = path.strip_suffix(b"/").unwrap_or(&path);
        if path.is_empty() || path == b"." {
            continue;
        }
        let mode = header.mode()? & 0o7777;
        let mtime = i64::try_from(header.mtime()?)
            .unwrap_or(0)
            .saturating_mul(1_000_000_000);
        let target = || -> std::io::Result<Vec<u8>> {
            let link = entry.link_name()?.ok_or(std::io::ErrorKind::InvalidData)?;
            Ok(link.as_os_str().as_bytes().to_vec())
        };
        let added = match header.entry_type() {
            tar::EntryType::Directory => builder.directory(path, mode, mtime),
            tar::EntryType::Symlink => builder.symlink(path, &target()?, mtime),
            tar::EntryType::Link => builder.hard_link(path, &target()?),
            tar::EntryType::Regular => {
                let digest = std::str::from_utf8(path)
                    .ok()
                    .and_then(|path| digests.get(path))
                    .copied();
                let file = ImageFile {
                    mode,
                    mtime,
                    source: Arc::clone(source),
                    offset: entry.raw_file_position(),
                    len: entry.size(),
                    digest,
                };
                builder.file(path, file)
            }
            _ => continue,
        };
        added.map_err(|errno| {
            std::io::Error::other(format!("`{}`: {errno}", String::from_utf8_lossy(path)))
        })?;
    }
    Ok(builder.build())
}
