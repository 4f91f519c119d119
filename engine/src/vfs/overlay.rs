//! A read-only file system with changes in memory on top: `/` of a sandbox.
//!
//! Owns: which inode numbers are whose. The rest is [`MemoryFs`], whose directories can show what lies below them: nothing is copied
//! or read until it is asked for, so that a new overlay costs one inode.
//!
//! What it promises beyond Linux's overlayfs: an inode keeps its number and its open descriptors see one file when it is first
//! changed; a lower directory can be renamed; only the chunks of a lower file that are written are copied and charged.

use std::sync::Arc;

use super::{FileSystem, ImageFs, Inode, MemoryFs, Quota, StatFs};
use crate::errno::SysResult;

/// Numbers of inodes made in the overlay; those of the image are below.
const FIRST_INO: u64 = 1 << 32;

/// A file system in memory that begins as an image.
#[derive(Debug)]
pub struct OverlayFs {
    upper: MemoryFs,
}

impl OverlayFs {
    /// Shows `lower`; what is changed is kept in memory and charged to `quota`.
    ///
    /// # Errors
    /// Those of reading the image's root.
    pub fn new(lower: &ImageFs, quota: Arc<Quota>) -> SysResult<Arc<Self>> {
        let upper = MemoryFs::over(lower.root(), quota, FIRST_INO, "overlay")?;
        Ok(Arc::new(Self { upper }))
    }
}

impl FileSystem for OverlayFs {
    fn root(&self) -> Arc<dyn Inode> {
        self.upper.root()
    }

    fn statfs(&self) -> SysResult<StatFs> {
        self.upper.statfs()
    }

    fn kind(&self) -> &'static str {
        self.upper.kind()
    }

    fn quota(&self) -> &Arc<Quota> {
        self.upper.quota()
    }
}
