//! What a client sees of the server besides the tools' work.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequestParams, ErrorCode};
use rmcp::service::ServiceError;
use serde_json::{Value, json};

use super::client::Client;
use super::program::sandbar;

#[tokio::test]
async fn tools_are_described_within_limits_and_with_flat_schemas() {
    let client = Client::start(&[]).await;
    let tools = client.tools().await;
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(
        names,
        ["Bash", "BashOutput", "KillShell", "Read", "Write", "Edit"]
    );
    let json = serde_json::to_string(&tools).expect("JSON");
    assert!(json.len() <= 10 << 10, "{} bytes", json.len());
    for tool in &tools {
        let description = tool.description.as_deref().expect("a description");
        assert!(
            description.chars().count() <= 1000,
            "{}: {}",
            tool.name,
            description.chars().count()
        );
        assert_eq!(tool.output_schema, None);
        let hints = tool.annotations.as_ref().expect("annotations");
        assert_eq!(hints.open_world_hint, Some(false));
        assert_eq!(
            hints.destructive_hint,
            Some(false),
            "nothing of the host is given"
        );
        assert!(hints.read_only_hint.is_some() && hints.idempotent_hint.is_some());
        let schema = Value::Object((*tool.input_schema).clone());
        let allowed = ["type", "properties", "required", "additionalProperties"];
        assert!(
            schema
                .as_object()
                .expect("an object")
                .keys()
                .all(|key| allowed.contains(&key.as_str()))
        );
        assert_eq!(schema["additionalProperties"], false);
        let allowed = [
            "type",
            "description",
            "enum",
            "minimum",
            "maximum",
            "default",
        ];
        for (name, property) in schema["properties"].as_object().expect("properties") {
            let keys: Vec<_> = property.as_object().expect("an object").keys().collect();
            assert!(
                keys.iter().all(|key| allowed.contains(&key.as_str())),
                "{}.{name}: {keys:?}",
                tool.name
            );
        }
        assert!(schema["properties"]["sandbox"]["description"].is_string());
    }
    client.stop().await;
}

#[tokio::test]
async fn tools_that_change_a_given_directory_are_destructive() {
    let dir = tempfile::tempdir().expect("a directory");
    let client = Client::start(&["--workspace", &format!("{}:rw", dir.path().display())]).await;
    let hints: Vec<(String, Option<bool>)> = client
        .tools()
        .await
        .into_iter()
        .map(|tool| {
            (
                tool.name.into_owned(),
                tool.annotations.and_then(|hints| hints.destructive_hint),
            )
        })
        .collect();
    let destructive: Vec<&str> = hints
        .iter()
        .filter(|(_, hint)| *hint == Some(true))
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(destructive, ["Bash", "Write", "Edit"]);
    client.stop().await;
}

#[tokio::test]
async fn answers_are_content_only() {
    let client = Client::start(&[]).await;
    let answer = client.bash("echo x").await;
    assert_eq!(answer.result.structured_content, None);
    assert_eq!(answer.result.content.len(), 1);
    client.stop().await;
}

#[tokio::test]
async fn wrong_calls_get_clear_errors_and_leave_the_server_healthy() {
    let client = Client::start(&[]).await;
    let unknown = client
        .service()
        .call_tool(CallToolRequestParams::new("NoSuchTool"))
        .await;
    let Err(ServiceError::McpError(error)) = unknown else {
        panic!("{unknown:?}")
    };
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert_eq!(error.message, "unknown tool: NoSuchTool");
    for (tool, arguments, says) in [
        ("Bash", json!({}), "argument `command` is missing"),
        (
            "Bash",
            json!({"command": " "}),
            "argument `command` is empty",
        ),
        (
            "Bash",
            json!({"command": ["ls"]}),
            "argument `command` must be a string, not a list",
        ),
        (
            "Bash",
            json!({"command": "ls", "timeout": 601}),
            "argument `timeout` must be a number of seconds from 0.1 to 600, not 601",
        ),
        ("Bash", json!({"cmd": "ls"}), "there is no argument `cmd`"),
        (
            "Bash",
            json!({"command": "ls", "sandbox": 1}),
            "argument `sandbox` must be a string, not a number",
        ),
        (
            "Read",
            json!({"file_path": "f", "offset": 0}),
            "argument `offset` must be a whole number",
        ),
        (
            "Edit",
            json!({"file_path": "f", "old_string": "a"}),
            "argument `new_string` is missing",
        ),
        (
            "BashOutput",
            json!({"shell_id": "x"}),
            "there is no background command `x`",
        ),
    ] {
        let answer = client.call(tool, arguments.clone()).await;
        assert!(
            answer.is_error() && answer.text().contains(says),
            "{tool} {arguments}: {}",
            answer.text()
        );
    }
    assert_eq!(client.bash("echo healthy").await.output(), "healthy\n");
    client.stop().await;
}

/// A server that is spoken to line by line.
struct Raw {
    child: std::process::Child,
    stdin: Option<std::process::ChildStdin>,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Raw {
    fn start() -> Self {
        let mut child = sandbar()
            .arg("mcp")
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut raw = Self {
            child,
            stdin,
            stdout,
        };
        let client = json!({"name": "raw", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        raw.send(
            &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
                .to_string(),
        );
        assert_eq!(raw.receive()["result"]["serverInfo"]["name"], "sandbar");
        raw.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        raw
    }

    fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("it is open");
        writeln!(stdin, "{line}").expect("the server reads");
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("the server writes");
        serde_json::from_str(&line).expect("only the protocol is on standard output")
    }

    fn bash(&mut self, id: u32, command: &str) {
        let params = json!({"name": "Bash", "arguments": {"command": command}});
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
                .to_string(),
        );
    }
}

#[test]
fn malformed_lines_leave_the_server_healthy() {
    let mut raw = Raw::start();
    raw.send("{not json");
    raw.send("");
    raw.send("[1, 2, 3]");
    raw.send(&format!(
        "{{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"{}\"}}",
        "x".repeat(1 << 20)
    ));
    raw.bash(8, "echo alive");
    let answer = loop {
        let message = raw.receive();
        if message["id"] == 8 {
            break message;
        }
        assert!(message["error"].is_object(), "{message}");
    };
    assert!(
        answer["result"]["content"][0]["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("alive\n"))
    );
}

#[test]
fn the_end_of_input_ends_commands_and_server_at_once() {
    let mut raw = Raw::start();
    raw.bash(1, "while :; do :; done");
    std::thread::sleep(Duration::from_millis(300));
    let closed = Instant::now();
    raw.stdin = None;
    let status = raw.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0));
    assert!(
        closed.elapsed() < Duration::from_secs(2),
        "{:?}",
        closed.elapsed()
    );
}

#[test]
fn a_signal_ends_commands_and_server_at_once() {
    let mut raw = Raw::start();
    raw.bash(1, "while :; do :; done");
    std::thread::sleep(Duration::from_millis(300));
    let sent = Instant::now();
    let pid = rustix::process::Pid::from_child(&raw.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    let status = raw.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(143));
    assert!(
        sent.elapsed() < Duration::from_secs(2),
        "{:?}",
        sent.elapsed()
    );
}
