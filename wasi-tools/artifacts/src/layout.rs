//! The image as an OCI image layout in `out/image`.
//!
//! Source: OCI Image Format Specification 1.1, "Image Layout" and "Image Manifest".

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::build::{hex, module_path, root};
use crate::programs::{PROGRAMS, Program};
use crate::progress;
use crate::rootfs::{self, RootFs};
use crate::wasm;

const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG_TYPE: &str = "application/vnd.sandbar.tools.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar";

/// The version of the system-call interface (`sandbar_v1`) that the programs are built for.
const ABI: u32 = 1;

/// A piece of content and what its descriptor says of it.
struct Blob {
    media_type: &'static str,
    content: Vec<u8>,
}

impl Blob {
    fn digest(&self) -> String {
        format!("sha256:{}", sha256(&self.content))
    }

    fn descriptor(&self) -> Value {
        json!({"mediaType": self.media_type, "digest": self.digest(), "size": self.content.len()})
    }
}

/// Packs the compiled programs into `out/image`, replacing what is there in one step.
///
/// # Errors
/// When a program isn't built, two claim the same name, or a file can't be written.
pub(crate) fn pack() -> Result<(), String> {
    let lock = read(&root().join("wasi-tools/Cargo.lock"))?;
    let lock = String::from_utf8_lossy(&lock);
    let mut tree = RootFs::default();
    rootfs::base(&mut tree);
    let mut programs = Vec::new();
    for program in PROGRAMS {
        programs.push(add_program(&mut tree, program, &lock)?);
    }
    let layer = Blob {
        media_type: LAYER_TYPE,
        content: tree.layer()?,
    };
    let config = json!({
        "architecture": "wasm32",
        "os": "wasip1",
        "sandbar": {"abi": ABI},
        "programs": programs,
        "rootfs": {"type": "layers", "diff_ids": [layer.digest()]},
    });
    let config = Blob {
        media_type: CONFIG_TYPE,
        content: config.to_string().into_bytes(),
    };
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": CONFIG_TYPE,
        "config": config.descriptor(),
        "layers": [layer.descriptor()],
    });
    let manifest = Blob {
        media_type: MANIFEST_TYPE,
        content: manifest.to_string().into_bytes(),
    };
    write(&root().join("out/image"), &manifest, &[&config, &layer])
}

/// Puts one program and its links into the tree, and describes it for the configuration.
fn add_program(tree: &mut RootFs, program: &Program, lock: &str) -> Result<Value, String> {
    let named = |error: String| format!("{}: {error}", program.binary);
    let module = read(&module_path(program.binary))?;
    let mut applets = wasm::applets(&module).map_err(named)?;
    applets.extend(program.aliases.iter().map(|&alias| alias.to_owned()));
    let version = version(lock, program.version_of).ok_or_else(|| {
        named(format!(
            "`{}` is not in the guest lock file",
            program.version_of
        ))
    })?;
    let path = format!("usr/bin/{}", program.binary);
    let digest = sha256(&module);
    let size = module.len();
    for taken in [path.clone()]
        .into_iter()
        .chain(applets.iter().map(|applet| format!("usr/bin/{applet}")))
    {
        if tree.has(&taken) {
            return Err(named(format!("`/{taken}` is another program's name too")));
        }
    }
    tree.file(&path, 0o755, module);
    for applet in &applets {
        tree.link(&format!("usr/bin/{applet}"), program.binary);
    }
    Ok(json!({
        "path": path, "sha256": digest, "size": size, "name": program.name, "version": version,
        "license": program.license, "source": program.source, "applets": applets,
    }))
}

/// The version of a crate in a lock file.
fn version<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let entry = lock
        .split("[[package]]")
        .find(|entry| entry.contains(&format!("\nname = \"{name}\"\n")))?;
    entry.split("\nversion = \"").nth(1)?.split('"').next()
}

/// Writes the layout beside its place and moves it there, so that a reader never sees half of one; and as one file,
/// `out/image.tar`, for the binary that embeds it.
fn write(place: &Path, manifest: &Blob, blobs: &[&Blob]) -> Result<(), String> {
    let mut descriptor = manifest.descriptor();
    if let Some(fields) = descriptor.as_object_mut() {
        fields.insert(
            "annotations".to_owned(),
            json!({"org.opencontainers.image.ref.name": "sandbar-tools"}),
        );
    }
    let index =
        json!({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [descriptor]}).to_string();
    let archive = place.with_extension("tar");
    let current = fs::read(place.join("index.json")).is_ok_and(|old| old == index.as_bytes());
    if current && archive.is_file() {
        progress::line(&format!("out/image is up to date ({})", manifest.digest()));
        return Ok(());
    }
    let mut files = RootFs::default();
    files.file("index.json", 0o644, index);
    files.file("oci-layout", 0o644, r#"{"imageLayoutVersion":"1.0.0"}"#);
    for blob in blobs.iter().chain([&manifest]) {
        let path = format!("blobs/sha256/{}", sha256(&blob.content));
        files.file(&path, 0o644, blob.content.as_slice());
    }
    let new = place.with_extension("new");
    remove(&new)?;
    for (path, content) in files.files() {
        save(&new.join(path), content)?;
    }
    remove(place)?;
    fs::rename(&new, place).map_err(|error| format!("{}: {error}", place.display()))?;
    save(&archive, &files.layer()?)?;
    let total: usize = blobs.iter().map(|blob| blob.content.len()).sum();
    let digest = manifest.digest();
    progress::line(&format!("packed out/image, {} KiB, {digest}", total / 1024));
    Ok(())
}

fn save(path: &Path, content: &[u8]) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", path.display());
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    fs::write(path, content).map_err(failed)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}

fn sha256(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_the_named_crates() {
        let lock = "version = 4\n\n[[package]]\nname = \"uu_catx\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"uu_cat\"\nversion = \"0.12.0\"\n";
        assert_eq!(version(lock, "uu_cat"), Some("0.12.0"));
        assert_eq!(version(lock, "uu_dog"), None);
    }

    #[test]
    fn digest_is_sha256() {
        // Source: FIPS 180-2, appendix B.1.
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
