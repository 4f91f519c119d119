//! Fenced blocks of the documents that are marked `console run` are sessions: each command after `$ ` is run, and prints what
//! stands below it.
//!
//! All blocks of a document run in one empty directory. In what is expected, a line `...` stands for any lines, `[N]` as the last
//! line for the exit code N, and ` ...` at a line's end for the rest of the line. Standard error is printed, too.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{blocks, built, documents, text};

/// A command of a session and what it prints.
#[derive(Debug, PartialEq)]
struct Step<'a> {
    command: String,
    expected: Vec<&'a str>,
    code: i32,
}

fn steps<'a>(lines: &[&'a str]) -> Vec<Step<'a>> {
    let mut steps: Vec<Step<'a>> = Vec::new();
    for line in lines {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                expected: Vec::new(),
                code: 0,
            });
            continue;
        }
        let step = steps.last_mut().expect("a session begins with `$ `");
        if let (Some(more), true) = (line.strip_prefix("> "), step.expected.is_empty()) {
            step.command.push('\n');
            step.command.push_str(more);
        } else if let Some(code) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']')?.parse().ok())
        {
            step.code = code;
        } else {
            step.expected.push(line);
        }
    }
    steps
}

fn line_fits(expected: &str, line: &str) -> bool {
    match expected.strip_suffix(" ...") {
        Some(start) => line.starts_with(start),
        None => line.trim_end() == expected,
    }
}

fn fits(expected: &[&str], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((&"...", rest)) => (0..=lines.len()).any(|skipped| fits(rest, &lines[skipped..])),
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, lines)| line_fits(first, line) && fits(rest, lines)),
    }
}

/// Where compiled programs are kept, so that a session with another HOME need not compile them again.
fn cache_dir() -> PathBuf {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("SANDBAR_CACHE_DIR").unwrap_or_else(|| {
        let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
        base.unwrap_or_else(std::env::temp_dir).join("sandbar")
    })
}

/// A program with the binary on its PATH, a home of its own and the caches of this user.
fn command(program: &str, dir: &Path) -> Command {
    let bin = built("sandbar");
    let mut path = vec![bin.parent().expect("a folder").to_owned()];
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let mut command = Command::new(program);
    command
        .current_dir(dir)
        .env("PATH", std::env::join_paths(path).expect("a PATH"))
        .env("SANDBAR_CACHE_DIR", cache_dir())
        .env("HOME", dir)
        .env("XDG_STATE_HOME", dir.join("state"));
    command
}

#[track_caller]
fn run(document: &str, line: usize, step: &Step<'_>, dir: &Path) {
    let output = command("bash", dir)
        .args(["-c", &format!("exec 2>&1\n{}", step.command)])
        .stdin(Stdio::null())
        .output()
        .expect("bash starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(
        fits(&step.expected, &lines) && output.status.code() == Some(step.code),
        "{document}:{line}: `{}` ended with {} and printed\n{printed}instead of {} and\n{}",
        step.command,
        output.status,
        step.code,
        step.expected.join("\n"),
    );
}

#[test]
fn sessions_print_what_the_documents_show() {
    let mut sessions = 0;
    for document in documents() {
        let markdown = text(&document);
        let blocks = blocks(&markdown, "console run");
        if blocks.is_empty() {
            continue;
        }
        let dir = tempfile::tempdir().expect("a directory");
        for (line, body) in &blocks {
            for step in steps(body) {
                run(&document, *line, &step, dir.path());
            }
        }
        sessions += blocks.len();
    }
    assert!(sessions >= 5, "only {sessions} sessions were found");
}

#[test]
fn a_session_that_prints_something_else_does_not_fit() {
    let session = ["$ echo a", "> echo b", "a", "b", "$ false", "[1]"];
    let steps = steps(&session);
    assert_eq!(
        steps[0],
        Step {
            command: "echo a\necho b".into(),
            expected: vec!["a", "b"],
            code: 0
        }
    );
    assert_eq!(
        steps[1],
        Step {
            command: "false".into(),
            expected: vec![],
            code: 1
        }
    );
    assert!(fits(&["a", "...", "z ..."], &["a", "b", "c", "z 1"]));
    assert!(fits(&["..."], &[]));
    for (expected, lines) in [
        (vec!["a"], vec!["b"]),
        (vec!["a"], vec!["a", "b"]),
        (vec!["a", "b"], vec!["a"]),
    ] {
        assert!(!fits(&expected, &lines), "{expected:?} {lines:?}");
    }
}

/// Speaks MCP with a server as a client of the documents would start it, and gives the names of its tools.
fn tools_of(program: &str, args: &[String]) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a directory");
    let mut server = command(program, dir.path())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut stdin = server.stdin.take().expect("its input");
    let mut lines = BufReader::new(server.stdout.take().expect("its output")).lines();
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "docs", "version": "1"}});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ] {
        writeln!(stdin, "{message}").expect("the server reads");
    }
    let answer = lines
        .by_ref()
        .map(|line| serde_json::from_str::<Value>(&line.expect("a line")).expect("JSON"))
        .find(|message| message["id"] == 2)
        .expect("an answer");
    drop(stdin);
    assert!(
        server.wait().expect("it ends").success(),
        "the server ends well with its input"
    );
    let tools = answer["result"]["tools"]
        .as_array()
        .expect("a list of tools")
        .clone();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn every_json_block_is_json() {
    for document in documents() {
        for (line, body) in blocks(&text(&document), "json") {
            let parsed = serde_json::from_str::<Value>(&body.join("\n"));
            assert!(parsed.is_ok(), "{document}:{line}: {parsed:?}");
        }
    }
}

#[test]
fn the_readme_s_client_settings_start_a_server_with_tools() {
    let readme = text("README.md");
    let settings = blocks(&readme, "json");
    let (_, body) = settings.first().expect("a json block in README.md");
    let settings: Value = serde_json::from_str(&body.join("\n")).expect("JSON");
    let server = &settings["mcpServers"]["sandbar"];
    let args: Vec<String> = serde_json::from_value(server["args"].clone()).expect("arguments");
    let tools = tools_of(server["command"].as_str().expect("a command"), &args);
    assert!(
        ["Bash", "Read", "Write", "Edit"]
            .iter()
            .all(|name| tools.iter().any(|tool| tool == name)),
        "{tools:?}"
    );

    let line = readme
        .lines()
        .find(|line| line.contains("claude mcp add"))
        .expect("a line for Claude Code");
    let (_, started) = line.split_once(" -- ").expect("the server's command line");
    let started = started.split('`').next().unwrap_or_default();
    let words: Vec<String> = started.split_whitespace().map(str::to_owned).collect();
    let (program, args) = words.split_first().expect("a program");
    assert_eq!(tools_of(program, args), tools);
}
