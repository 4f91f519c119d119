//! Tools images that are not what they say.

use std::path::Path;

use sandbar::{Engine, Image};
use sandbar_test_support::engine;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("the image's folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// A copy of the tests' image, and the path of its largest blob, which is the layer.
fn copied() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    copy(Path::new(engine().image().origin()), dir.path());
    let blobs = std::fs::read_dir(dir.path().join("blobs/sha256")).expect("blobs");
    let layer = blobs
        .map(|blob| blob.expect("a blob").path())
        .max_by_key(|blob| blob.metadata().map_or(0, |metadata| metadata.len()));
    (dir, layer.expect("a layer"))
}

#[test]
fn a_program_that_is_not_the_one_of_the_configuration_does_not_run() {
    let (dir, layer) = copied();
    let mut bytes = std::fs::read(&layer).expect("the layer");
    let magic = b"\0asm\x01\0\0\0";
    let starts: Vec<usize> = (0..bytes.len())
        .step_by(512)
        .filter(|at| bytes[*at..].starts_with(magic))
        .collect();
    assert!(starts.len() > 3, "an image with programs");
    for start in starts {
        bytes[start + 64] ^= 1;
    }
    std::fs::write(&layer, bytes).expect("the layer can be changed");
    let image = Image::from_path(dir.path())
        .expect("its index, manifest and configuration are as they were");
    let engine = Engine::builder()
        .image(image)
        .without_cache()
        .build()
        .expect("an engine");
    let output = engine
        .sandbox()
        .create()
        .expect("a sandbox")
        .command("true")
        .output_blocking()
        .expect("it starts");
    assert_eq!(output.status.code(), 126);
    assert!(
        output.stderr_text().contains("true: cannot execute"),
        "{}",
        output.stderr_text()
    );
}

#[test]
fn a_manifest_that_is_not_the_one_of_the_index_is_refused() {
    let (dir, layer) = copied();
    for blob in std::fs::read_dir(dir.path().join("blobs/sha256")).expect("blobs") {
        let blob = blob.expect("a blob").path();
        if blob != layer {
            let text = std::fs::read_to_string(&blob).expect("JSON");
            std::fs::write(&blob, text + " ").expect("it can be changed");
        }
    }
    let error = Image::from_path(dir.path()).expect_err("it is not the image of its index");
    assert!(error.to_string().contains("sha256:"), "{error}");
}
