//! `sandbar wasm`, and a user's own module in a workspace.

use std::path::{Path, PathBuf};

use super::program::{run, run_with};

/// Copies the file `in.txt` of the first opened directory to standard output and ends with the number of arguments.
const COPY: &str = r#"(module
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "in.txt")
  (func (export "_start")
    (if (call $open (i32.const 3) (i32.const 1) (i32.const 0) (i32.const 6) (i32.const 0)
                    (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 16))
      (then (call $exit (i32.const 100))))
    (i32.store (i32.const 32) (i32.const 1024))
    (i32.store (i32.const 36) (i32.const 4096))
    (if (call $read (i32.load (i32.const 16)) (i32.const 32) (i32.const 1) (i32.const 20))
      (then (call $exit (i32.const 101))))
    (i32.store (i32.const 36) (i32.load (i32.const 20)))
    (if (call $write (i32.const 1) (i32.const 32) (i32.const 1) (i32.const 20))
      (then (call $exit (i32.const 102))))
    (drop (call $args (i32.const 40) (i32.const 44)))
    (call $exit (i32.load (i32.const 40)))))"#;

/// Writes the name of each opened directory, then the environment, to standard output.
const NAMES: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_prestat_get" (func $stat (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_dir_name" (func $name (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func $line (param $at i32) (param $len i32)
    (i32.store8 (i32.add (local.get $at) (local.get $len)) (i32.const 10))
    (i32.store (i32.const 32) (local.get $at))
    (i32.store (i32.const 36) (i32.add (local.get $len) (i32.const 1)))
    (drop (call $write (i32.const 1) (i32.const 32) (i32.const 1) (i32.const 20))))
  (func (export "_start") (local $fd i32)
    (local.set $fd (i32.const 3))
    (block $end
      (loop $next
        (br_if $end (call $stat (local.get $fd) (i32.const 0)))
        (drop (call $name (local.get $fd) (i32.const 1024) (i32.load (i32.const 4))))
        (call $line (i32.const 1024) (i32.load (i32.const 4)))
        (local.set $fd (i32.add (local.get $fd) (i32.const 1)))
        (br $next)))
    (drop (call $sizes (i32.const 40) (i32.const 44)))
    (drop (call $environ (i32.const 2048) (i32.const 4096)))
    (call $line (i32.const 4096) (i32.load (i32.const 44)))))"#;

fn module(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, wat::parse_str(text).expect("a module")).expect("a file");
    path
}

#[test]
fn a_module_reads_the_directory_it_is_given_and_its_exit_code_is_passed_on() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("in.txt"), "contents\n").expect("a file");
    let copy = module(dir.path(), "copy.wasm", COPY);
    let given = format!("{}::/in:ro", dir.path().display());
    let args = [
        "wasm",
        "--dir",
        &given,
        copy.to_str().expect("a path"),
        "--json",
        "b",
    ];
    let finished = run(&args);
    assert_eq!(
        (finished.code, finished.stdout.as_str()),
        (Some(3), "contents\n"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_module_without_directories_reaches_no_file() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("in.txt"), "contents\n").expect("a file");
    let copy = module(dir.path(), "copy.wasm", COPY);
    // Its descriptor 3 is /dev then, which has no such file.
    let finished = run_with(&["wasm", copy.to_str().expect("a path")], "", |command| {
        command.current_dir(dir.path())
    });
    assert_eq!(
        (finished.code, finished.stdout.as_str()),
        (Some(100), ""),
        "{}",
        finished.stderr
    );
}

#[test]
fn directories_have_the_names_that_are_given_and_the_environment_only_what_is_given() {
    let dir = tempfile::tempdir().expect("a directory");
    let names = module(dir.path(), "names.wasm", NAMES);
    let args = [
        "wasm",
        "--dir",
        ".",
        "--dir",
        ".::/work",
        "--env",
        "A=1",
        names.to_str().expect("a path"),
    ];
    let finished = run_with(&args, "", |command| command.current_dir(dir.path()));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(finished.stdout, ".\n/work\n/dev\n/proc\nA=1\0\n");
}

#[test]
fn a_module_in_the_workspace_runs_like_any_program() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a directory");
    let names = module(dir.path(), "names", NAMES);
    std::fs::set_permissions(&names, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let workspace = dir.path().to_str().expect("a path");
    let finished = run(&[
        "run",
        "--workspace",
        workspace,
        "--",
        "bash",
        "-c",
        "./names | wc -l",
    ]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(
        finished
            .stdout
            .trim()
            .parse::<u32>()
            .is_ok_and(|lines| lines >= 1),
        "{}",
        finished.stdout
    );
    std::fs::set_permissions(&names, std::fs::Permissions::from_mode(0o644)).expect("its mode");
    assert_eq!(
        run(&["run", "--workspace", workspace, "--", "./names"]).code,
        Some(126)
    );
}

#[test]
fn what_is_no_module_is_refused_with_a_reason() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("text.wasm");
    std::fs::write(&file, "not a module").expect("a file");
    let finished = run(&["wasm", file.to_str().expect("a path")]);
    assert_eq!(finished.code, Some(126), "{}", finished.stderr);
    let missing = run(&["wasm", "/no/such.wasm"]);
    assert_eq!(missing.code, Some(125));
    assert!(
        missing.stderr.contains("read `/no/such.wasm`"),
        "{}",
        missing.stderr
    );
}

#[test]
fn the_compiler_refuses_what_is_beyond_its_limits() {
    let finished = run_with(&["compile-module", "epoch"], "\0asm nonsense", |command| {
        command
    });
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(125), ""));
    assert!(
        finished.stderr.contains("not a WebAssembly module"),
        "{}",
        finished.stderr
    );
    let flavour = run(&["compile-module", "banana"]);
    assert!(
        flavour.stderr.contains("no such flavour: banana"),
        "{}",
        flavour.stderr
    );
}
