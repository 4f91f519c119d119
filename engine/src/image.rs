//! Tools images: the programs and files that a sandbox starts with.
//!
//! An image is an OCI image layout in a folder, with one uncompressed layer: the manifest's digest is the image's. The layer is
//! indexed once and read in place; programs are known by the SHA-256 that the image's configuration gives them, which is checked
//! when a program is compiled.

mod layer;
mod layout;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::vfs::ImageFs;

pub use self::layout::{Digest, ImageProgram};
use self::layout::{Layout, LayoutSource};

/// A tools image. Cheap to clone; sandboxes share it.
#[derive(Clone, Debug)]
pub struct Image {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    digest: Digest,
    origin: String,
    host_dir: Option<PathBuf>,
    programs: Vec<ImageProgram>,
    fs: Arc<ImageFs>,
}

/// Name of the folder that holds an image beside the binary and in the user's data directory.
const FOLDER: &str = "sandbar-image";

impl Image {
    /// The default image: embedded (feature `default-image`), else from `SANDBAR_IMAGE`, else `sandbar-image` beside the running
    /// program, else `image` under the `out` folder of the checkout that the program was built in, else
    /// `sandbar/sandbar-image` in the user's data directory.
    ///
    /// # Errors
    /// `Image`, naming every place that was looked at.
    pub fn find() -> Result<Self> {
        if let Some(path) = crate::host::env_path("SANDBAR_IMAGE") {
            return Self::from_path(path);
        }
        if let Some(bytes) = Self::embedded() {
            return Self::from_bytes(bytes);
        }
        let candidates = crate::host::image_candidates(FOLDER);
        for candidate in &candidates {
            if candidate.join("oci-layout").is_file() {
                return Self::from_path(candidate);
            }
        }
        let places: Vec<_> = candidates
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        Err(ErrorKind::Image {
            origin: "default".into(),
            reason: format!(
                "there is none; looked at {}; `make image` builds one, SANDBAR_IMAGE names one",
                places.join(", ")
            ),
        }
        .into())
    }

    #[cfg(feature = "default-image")]
    fn embedded() -> Option<&'static [u8]> {
        Some(include_bytes!(env!("SANDBAR_EMBEDDED_IMAGE")))
    }

    #[cfg(not(feature = "default-image"))]
    fn embedded() -> Option<&'static [u8]> {
        None
    }

    /// An image in a folder.
    ///
    /// # Errors
    /// `Image` when the folder is not an image layout, a digest does not match, or it is no tools image.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let origin = path.display().to_string();
        let layout = Layout::open(LayoutSource::folder(path)?, &origin)?;
        Self::new(&layout, origin, Some(path.to_owned()))
    }

    /// An image in the bytes of an uncompressed tar of its folder.
    ///
    /// # Errors
    /// As [`Image::from_path`].
    pub fn from_bytes(bytes: &'static [u8]) -> Result<Self> {
        let origin = "embedded".to_owned();
        let layout = Layout::open(LayoutSource::tar(bytes, &origin)?, &origin)?;
        Self::new(&layout, origin, None)
    }

    fn new(layout: &Layout, origin: String, host_dir: Option<PathBuf>) -> Result<Self> {
        let fs = layer::index(layout, &origin)?;
        Ok(Self {
            inner: Arc::new(Inner {
                digest: layout.digest().clone(),
                origin,
                host_dir,
                programs: layout.programs().to_vec(),
                fs,
            }),
        })
    }

    /// Digest of its manifest, `sha256:…`.
    pub fn digest(&self) -> &Digest {
        &self.inner.digest
    }

    /// Where it came from: a path, or `embedded`.
    pub fn origin(&self) -> &str {
        &self.inner.origin
    }

    pub(crate) fn host_dir(&self) -> Option<&Path> {
        self.inner.host_dir.as_deref()
    }

    /// Its programs.
    pub fn programs(&self) -> &[ImageProgram] {
        &self.inner.programs
    }

    pub(crate) fn fs(&self) -> &Arc<ImageFs> {
        &self.inner.fs
    }
}
