//! The OCI image layout: index, manifest, configuration.
//!
//! Source: OCI image specification 1.1, <https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md>.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use sha2::Digest as _;

use crate::error::{Error, ErrorKind, Result};
use crate::vfs::{ImageHostFile, ImageSource};

/// Media type of a tools image's configuration.
const CONFIG_TYPE: &str = "application/vnd.sandbar.tools.config.v1+json";
/// The one kind of layer that is read in place.
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar";
/// Bytes of an index, a manifest or a configuration.
const JSON_MAX: u64 = 4 << 20;
/// The system-call interface that this engine has.
const ABI: u32 = 1;

/// A content digest, `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest(String);

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        let hex = text.strip_prefix("sha256:").unwrap_or_default();
        if hex.len() == 64
            && hex
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        {
            Ok(Self(text))
        } else {
            Err(format!(
                "`{text}` is not `sha256:` with 64 hexadecimal digits"
            ))
        }
    }
}

impl Digest {
    /// Of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("sha256:{:x}", sha2::Sha256::digest(bytes)))
    }

    /// The hexadecimal digits.
    pub fn hex(&self) -> &str {
        self.0.strip_prefix("sha256:").unwrap_or_default()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: Digest,
    size: u64,
}

#[derive(Debug, Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
struct Config {
    sandbar: Abi,
    programs: Vec<ImageProgram>,
}

#[derive(Debug, Deserialize)]
struct Abi {
    abi: u32,
}

/// A program of an image.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ImageProgram {
    /// Its path in the image, without a leading `/`.
    pub path: String,
    /// SHA-256 of the module, 64 hexadecimal digits.
    pub sha256: String,
    /// Bytes of the module.
    pub size: u64,
    /// What it is.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence, as an SPDX expression.
    pub license: String,
    /// Where its source comes from.
    pub source: String,
    /// Names under which it is also found.
    #[serde(default)]
    pub applets: Vec<String>,
}

/// Where the files of a layout are.
#[derive(Debug)]
pub(super) enum LayoutSource {
    Folder(cap_std::fs::Dir),
    Tar(&'static [u8], HashMap<String, (usize, usize)>),
}

fn bad(origin: &str, reason: impl Into<String>) -> Error {
    ErrorKind::Image {
        origin: origin.to_owned(),
        reason: reason.into(),
    }
    .into()
}

impl LayoutSource {
    pub(super) fn folder(path: &Path) -> Result<Self> {
        let dir = cap_std::fs::Dir::open_ambient_dir(path, cap_std::ambient_authority()).map_err(
            |error| {
                bad(
                    &path.display().to_string(),
                    format!("it cannot be opened: {error}"),
                )
            },
        )?;
        Ok(Self::Folder(dir))
    }

    pub(super) fn tar(bytes: &'static [u8], origin: &str) -> Result<Self> {
        let mut files = HashMap::new();
        let mut archive = tar::Archive::new(bytes);
        let entries = archive
            .entries()
            .map_err(|error| bad(origin, error.to_string()))?;
        for entry in entries {
            let entry = entry.map_err(|error| bad(origin, error.to_string()))?;
            let place = (|| {
                let start = usize::try_from(entry.raw_file_position()).ok()?;
                let len = usize::try_from(entry.size()).ok()?;
                let path = entry
                    .path()
                    .ok()?
                    .to_str()?
                    .trim_start_matches("./")
                    .to_owned();
                Some((path, (start, len)))
            })();
            files.extend(place);
        }
        Ok(Self::Tar(bytes, files))
    }

    fn small(&self, name: &str, origin: &str) -> Result<Vec<u8>> {
        let missing = || bad(origin, format!("`{name}` is missing"));
        match self {
            Self::Folder(dir) => {
                let mut bytes = Vec::new();
                let file = dir.open(name).map_err(|_| missing())?;
                file.take(JSON_MAX)
                    .read_to_end(&mut bytes)
                    .map_err(|error| bad(origin, format!("`{name}` cannot be read: {error}")))?;
                Ok(bytes)
            }
            Self::Tar(bytes, files) => {
                let (start, len) = files.get(name).ok_or_else(missing)?;
                Ok(bytes.get(*start..start + len).ok_or_else(missing)?.to_vec())
            }
        }
    }
}

/// A part of a blob that stands inside other bytes.
#[derive(Debug)]
struct Within {
    bytes: &'static [u8],
}

impl ImageSource for Within {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> crate::errno::SysResult<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.bytes.get(start..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) else {
            return Ok(0);
        };
        to.copy_from_slice(from);
        Ok(count)
    }
}

/// An opened layout.
#[derive(Debug)]
pub(super) struct Layout {
    source: LayoutSource,
    digest: Digest,
    layer: Descriptor,
    programs: Vec<ImageProgram>,
}

impl Layout {
    pub(super) fn open(source: LayoutSource, origin: &str) -> Result<Self> {
        let json = |error: serde_json::Error, what: &str| bad(origin, format!("{what}: {error}"));
        let index: Index = serde_json::from_slice(&source.small("index.json", origin)?)
            .map_err(|error| json(error, "index.json"))?;
        let [manifest] = index.manifests.as_slice() else {
            let count = index.manifests.len();
            return Err(bad(
                origin,
                format!("it holds {count} images, one is expected"),
            ));
        };
        let digest = manifest.digest.clone();
        let blob = |descriptor: &Descriptor| -> Result<Vec<u8>> {
            let bytes =
                source.small(&format!("blobs/sha256/{}", descriptor.digest.hex()), origin)?;
            let is = Digest::of(&bytes);
            if is != descriptor.digest {
                let should = &descriptor.digest;
                return Err(bad(
                    origin,
                    format!("a blob is {is} and should be {should}"),
                ));
            }
            Ok(bytes)
        };
        let manifest: Manifest =
            serde_json::from_slice(&blob(manifest)?).map_err(|error| json(error, "manifest"))?;
        if manifest.config.media_type != CONFIG_TYPE {
            let is = &manifest.config.media_type;
            return Err(bad(
                origin,
                format!(
                    "its configuration is `{is}`, a tools image has `{CONFIG_TYPE}`: a Linux image cannot run here"
                ),
            ));
        }
        let config: Config = serde_json::from_slice(&blob(&manifest.config)?)
            .map_err(|error| json(error, "config"))?;
        if config.sandbar.abi != ABI {
            let is = config.sandbar.abi;
            return Err(bad(
                origin,
                format!("it needs system calls of version {is}, this engine has {ABI}"),
            ));
        }
        let mut layers = manifest.layers;
        let layer = match (layers.pop(), layers.is_empty()) {
            (Some(layer), true) if layer.media_type == LAYER_TYPE => layer,
            _ => {
                return Err(bad(
                    origin,
                    format!("it needs exactly one layer of type `{LAYER_TYPE}`"),
                ));
            }
        };
        Ok(Self {
            source,
            digest,
            layer,
            programs: config.programs,
        })
    }

    pub(super) fn digest(&self) -> &Digest {
        &self.digest
    }

    pub(super) fn programs(&self) -> &[ImageProgram] {
        &self.programs
    }

    /// The layer as something to read in place, and its length.
    pub(super) fn layer(&self, origin: &str) -> Result<(Arc<dyn ImageSource>, u64)> {
        let name = format!("blobs/sha256/{}", self.layer.digest.hex());
        let (source, len): (Arc<dyn ImageSource>, u64) = match &self.source {
            LayoutSource::Folder(dir) => {
                let file = dir
                    .open(&name)
                    .map_err(|error| bad(origin, format!("`{name}`: {error}")))?;
                let len = file
                    .metadata()
                    .map_err(|error| bad(origin, error.to_string()))?
                    .len();
                (Arc::new(ImageHostFile::new(file)), len)
            }
            LayoutSource::Tar(bytes, files) => {
                let missing = || bad(origin, format!("`{name}` is missing"));
                let (start, len) = files.get(&name).ok_or_else(missing)?;
                let bytes = bytes.get(*start..start + len).ok_or_else(missing)?;
                (Arc::new(Within { bytes }), *len as u64)
            }
        };
        if len != self.layer.size {
            let should = self.layer.size;
            return Err(bad(
                origin,
                format!("its layer has {len} bytes and should have {should}"),
            ));
        }
        Ok((source, len))
    }
}
