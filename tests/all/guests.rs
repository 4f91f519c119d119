//! Guests that are built with our C library: what they see is what the same program sees natively.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sandbar::Sandbox;
use sandbar_test_support::{sandbox, stdout_of};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Puts a compiled guest of `tests/guests` into the sandbox, where it can be run.
#[track_caller]
#[expect(clippy::panic, reason = "a test without its guest has failed")]
fn install(sandbox: &Sandbox, name: &str) {
    let path = root().join("out/guests").join(format!("{name}.wasm"));
    let module = fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; `make image` compiles it", path.display()));
    let place = format!("/data/{name}");
    sandbox
        .files()
        .write(&place, module)
        .expect("the program is stored");
    sandbox
        .files()
        .set_mode(&place, 0o755)
        .expect("it is made executable");
}

/// Compiles a guest's source for this machine and runs it in an empty directory; what it printed.
fn native_output(name: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let source = root().join("tests/guests").join(format!("{name}.c"));
    let program: PathBuf = folder.path().join("program");
    let compiled = Command::new("cc")
        .args(["-O1", "-w", "-o"])
        .args([&program, &source])
        .status()
        .expect("there is a C compiler: the linker of Rust programs");
    assert!(compiled.success(), "the native twin of {name} compiles");
    let work = folder.path().join("work");
    fs::create_dir(&work).expect("a directory to start in");
    let ran = Command::new(&program)
        .current_dir(work)
        .output()
        .expect("the twin runs");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// Linux only: the oracle prints Linux's numbers.
#[cfg(target_os = "linux")]
#[test]
fn a_c_program_sees_the_posix_that_it_sees_natively() {
    let sandbox = sandbox();
    install(&sandbox, "posix");
    let ours = stdout_of(
        &sandbox,
        "mkdir /tmp/work && cd /tmp/work && /data/posix 2>&1; test $? = 5",
    );
    assert_eq!(ours, native_output("posix").trim_end_matches('\n'));
}

#[test]
fn every_spelling_of_a_path_means_what_it_says_in_a_subdirectory_with_a_data_of_its_own() {
    let sandbox = sandbox();
    let script = "mkdir -p sub/data && cd sub && echo relative > data/x && echo absolute > /data/x
        cat data/x ./data/x ../sub/data/x \"$PWD/data/x\" /data/x /data/workspace/sub/data/x
        cd data && cat x && cd /data && cat x data/x 2>/dev/null; cat workspace/sub/data/x; rm x; ls /data/x 2>/dev/null; pwd";
    let expected = "relative\nrelative\nrelative\nrelative\nabsolute\nrelative\nrelative\nabsolute\nrelative\n/data";
    assert_eq!(stdout_of(&sandbox, script), expected);
}
