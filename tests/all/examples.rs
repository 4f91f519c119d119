//! The examples of the library run and end well; each checks its own results.

use std::process::Command;

use super::docs::{built, root};

#[track_caller]
fn run(name: &str) {
    let output = Command::new(built(&format!("examples/{name}")))
        .output()
        .expect("the example starts");
    assert!(
        output.status.success(),
        "{name} ended with {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn agent_loop() {
    run("agent_loop");
}

#[test]
fn many_tenants() {
    run("many_tenants");
}

#[test]
fn host_command() {
    run("host_command");
}

#[test]
fn no_example_is_forgotten() {
    let this = std::fs::read_to_string(root().join("tests/all/examples.rs")).expect("this file");
    for entry in std::fs::read_dir(root().join("engine/examples")).expect("the examples") {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("UTF-8");
        let example = name.trim_end_matches(".rs");
        assert!(
            this.contains(&format!("run(\"{example}\")")),
            "engine/examples/{name} is not run by any test"
        );
    }
}
