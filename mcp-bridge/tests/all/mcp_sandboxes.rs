//! Several sandboxes in one session, and sessions that are kept.

use serde_json::json;

use super::client::Client;
use super::program::run_with;

#[tokio::test]
async fn a_new_name_opens_and_a_known_one_reaches() {
    let client = Client::start(&[]).await;
    let opened = client
        .bash_in("build", "echo x > f; export A=1; sleep 100 &")
        .await;
    assert!(
        opened
            .text()
            .starts_with("[sandbox `build` opened, new; 1 of at most 4 are open: build]\n"),
        "{}",
        opened.text()
    );
    let reached = client.bash_in("build", "cat f; echo $A").await;
    assert_eq!(reached.output(), "x\n1\n");
    let other = client.bash("ls; echo \"A=$A\"; ps | grep -c sleep").await;
    assert_eq!(other.output(), "A=\n0\n", "nothing of the other is seen");
    let read = client
        .call("Read", json!({"file_path": "f", "sandbox": "build"}))
        .await;
    assert_eq!(read.text(), "     1\tx\n");
    client.stop().await;
}

#[tokio::test]
async fn at_most_four_are_open_and_the_refusal_names_them() {
    let client = Client::start(&[]).await;
    for name in ["a", "b", "c", "d"] {
        assert!(!client.bash_in(name, "true").await.is_error());
    }
    let fifth = client.bash_in("e", "true").await;
    assert!(fifth.is_error());
    assert_eq!(
        fifth.text(),
        "Error: sandbox `e` was not opened: 4 are open, at most 4 are allowed.\nuse one of them: open are a, b, c, d"
    );
    assert!(
        client.bash("true").await.is_error(),
        "the default one counts too"
    );
    assert_eq!(client.bash_in("d", "echo still").await.output(), "still\n");
    client.stop().await;
}

#[tokio::test]
async fn names_follow_a_rule_and_an_id_is_no_new_name() {
    let client = Client::start(&[]).await;
    for name in ["", "A", "../x", "a b"] {
        let refused = client.bash_in(name, "true").await;
        assert!(
            refused.is_error() && refused.text().contains("is no name"),
            "{name}: {}",
            refused.text()
        );
    }
    let id = client
        .bash_in("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "true")
        .await;
    assert!(
        id.is_error() && id.text().contains("there is no sandbox with the id"),
        "{}",
        id.text()
    );
    client.stop().await;
}

async fn session(state: &std::path::Path) -> Result<Client, String> {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_sandbar"));
    command
        .args(["mcp", "--session", "notes"])
        .env("SANDBAR_STATE_DIR", state);
    Client::of(command).await
}

#[tokio::test]
async fn a_named_session_keeps_its_files_and_has_one_server_at_a_time() {
    let state = tempfile::tempdir().expect("a directory");
    let client = session(state.path()).await.expect("a server");
    client.bash("echo kept > f").await.text();
    client.bash_in("second", "echo too > g").await.text();
    assert!(
        session(state.path()).await.is_err(),
        "a second server of the same session"
    );
    client.stop().await;

    let client = session(state.path()).await.expect("a server");
    let reopened = client.bash("cat f").await;
    assert!(
        reopened
            .text()
            .starts_with("[sandbox `default` opened, with its files of an earlier session; "),
        "{}",
        reopened.text()
    );
    assert!(reopened.text().contains("\nkept\n"), "{}", reopened.text());
    assert!(
        client
            .bash_in("second", "cat g")
            .await
            .text()
            .contains("\ntoo\n")
    );
    client.stop().await;
}

#[test]
fn what_is_kept_of_sessions_cannot_be_mounted() {
    let home = tempfile::tempdir().expect("a directory");
    let state = home.path().join("state");
    std::fs::create_dir_all(state.join("sessions/notes")).expect("a directory");
    for mounted in [&state, home.path()] {
        let mount = format!("{}:/opt/state:rw", mounted.display());
        let finished = run_with(&["run", "--mount", &mount, "--", "true"], "", |command| {
            command.env("SANDBAR_STATE_DIR", &state)
        });
        if mounted == state {
            assert_eq!(finished.code, Some(125), "{}", finished.stdout);
        } else {
            let list = ["run", "--mount", &mount, "--", "ls", "/opt/state/state"];
            let inside = run_with(&list, "", |command| {
                command.env("SANDBAR_STATE_DIR", &state)
            });
            assert_eq!(inside.stdout, "", "{}", inside.stderr);
        }
    }
}
