//! `sandbar demo`, with the real server and with one whose `sort` is broken.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::program::run;

fn script(path: PathBuf, text: &str) -> PathBuf {
    std::fs::write(&path, text).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    path
}

/// A server that starts the real one with a program in front of the image's.
fn server_with(dir: &Path, program: &str, text: &str) -> String {
    let tools = dir.join("tools");
    std::fs::create_dir(&tools).expect("a directory");
    script(tools.join(program), text);
    let own = env!("CARGO_BIN_EXE_sandbar");
    let wrapper = format!(
        "#!/bin/sh\nexec '{own}' \"$@\" --mount '{}:/opt/tools' --env PATH=/opt/tools:/usr/bin:/bin\n",
        tools.display()
    );
    script(dir.join("server"), &wrapper).display().to_string()
}

#[test]
fn the_demo_passes_and_says_how_to_register_the_server() {
    let finished = run(&["demo"]);
    assert_eq!(
        finished.code,
        Some(0),
        "{}\n{}",
        finished.stdout,
        finished.stderr
    );
    assert!(
        finished.stdout.contains("All 14 checks passed"),
        "{}",
        finished.stdout
    );
    for client in [
        "claude mcp add sandbar --",
        "claude_desktop_config.json",
        ".cursor/mcp.json",
        ".vscode/mcp.json",
    ] {
        assert!(finished.stdout.contains(client), "{client}");
    }
    assert!(
        !finished.stdout.contains('\x1b'),
        "colours only on a terminal"
    );
}

#[test]
fn a_server_with_a_working_program_in_front_passes() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = server_with(
        dir.path(),
        "sort",
        "#!/bin/bash\nexec /usr/bin/sort \"$@\"\n",
    );
    let finished = run(&["demo", "--server", &server]);
    assert_eq!(
        finished.code,
        Some(0),
        "{}\n{}",
        finished.stdout,
        finished.stderr
    );
}

#[test]
fn a_broken_tool_is_noticed_and_its_step_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = server_with(dir.path(), "sort", "#!/bin/bash\nexec cat\n");
    let finished = run(&["demo", "--server", &server]);
    assert_eq!(finished.code, Some(1), "{}", finished.stdout);
    assert!(
        finished
            .stderr
            .contains("step “count with a pipeline of seven programs”: expected the paid sales"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_program_that_is_no_server_is_noticed() {
    let finished = run(&["demo", "--server", "/bin/true"]);
    assert_eq!(finished.code, Some(1));
    assert!(
        finished.stderr.contains("step “start the server”"),
        "{}",
        finished.stderr
    );
}
