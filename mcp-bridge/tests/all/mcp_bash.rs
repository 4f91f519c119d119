//! `Bash`, `BashOutput`, `KillShell`.

use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest};
use rmcp::service::PeerRequestOptions;
use serde_json::json;

use super::client::Client;

#[tokio::test]
async fn directory_variables_and_functions_stay_between_calls() {
    let client = Client::start(&[]).await;
    let first = client
        .bash("mkdir a && cd a && x='1 2' && f() { echo \"f $x $PWD\"; }")
        .await;
    assert!(
        first.text().starts_with("[exit 0 after "),
        "{}",
        first.text()
    );
    assert_eq!(client.bash("f").await.output(), "f 1 2 /data/workspace/a\n");
    // A command that is killed changes nothing.
    let killed = client.bash("x=lost; cd /; kill -KILL $$").await;
    assert!(
        killed.text().starts_with("[exit 137 (SIGKILL) after "),
        "{}",
        killed.text()
    );
    assert_eq!(client.bash("f").await.output(), "f 1 2 /data/workspace/a\n");
    // One that exits does.
    let exited = client.bash("x=new; exit 3").await;
    assert!(
        exited.text().starts_with("[exit 3 after "),
        "{}",
        exited.text()
    );
    assert_eq!(client.bash("f").await.output(), "f new /data/workspace/a\n");
    client.stop().await;
}

#[tokio::test]
async fn both_outputs_come_in_their_order_and_a_failure_is_no_error_of_the_tool() {
    let client = Client::start(&[]).await;
    let answer = client.bash("echo 1; echo 2 >&2; printf 3; exit 5").await;
    assert_eq!(answer.output(), "1\n2\n3\n");
    assert!(
        answer.closing().starts_with("[exit 5 after "),
        "{}",
        answer.closing()
    );
    assert!(!answer.is_error());
    client.stop().await;
}

#[tokio::test]
async fn long_output_keeps_head_and_tail_and_lies_whole_in_a_file() {
    let client = Client::start(&[]).await;
    let answer = client.bash("seq 1 3000000").await;
    let text = answer.text();
    assert!(
        text.chars().count() <= 30_000,
        "{} characters",
        text.chars().count()
    );
    assert!(text.starts_with("1\n2\n3\n"));
    let lines: Vec<&str> = text.lines().collect();
    let [.., last, closing] = lines.as_slice() else {
        panic!("{text}")
    };
    assert_eq!(*last, "3000000");
    // 9×2 + 90×3 + 900×4 + 9,000×5 + 90,000×6 + 900,000×7 + 2,000,001×8 bytes.
    assert!(closing.contains(" of 22,888,896 bytes ("), "{closing}");
    let file = closing
        .rsplit_once("all of it is in ")
        .expect("it names a file")
        .1
        .trim_end_matches(']');
    let gap = lines
        .iter()
        .position(|line| line.starts_with("[… "))
        .expect("a gap");
    let before: u64 = lines[gap - 1].parse().expect("a number");
    let after: u64 = lines[gap + 1].parse().expect("a number");
    let gap = lines[gap].replace(',', "");
    assert!(
        gap.contains(&format!("({} lines)", after - before - 1)),
        "{gap}"
    );
    let check = client
        .bash(&format!(
            "wc -lc < {file}; sha256sum < {file}; seq 1 3000000 | sha256sum"
        ))
        .await
        .output();
    let words: Vec<&str> = check.split_whitespace().collect();
    let [lines, bytes, kept, "-", expected, "-"] = words.as_slice() else {
        panic!("{check}")
    };
    assert_eq!((*lines, *bytes, *kept), ("3000000", "22888896", *expected));
    client.stop().await;
}

#[tokio::test]
async fn the_size_of_an_answer_can_be_set() {
    let client = Client::start(&["--max-output", "1000"]).await;
    let answer = client.bash("seq 1 10000").await;
    assert!(answer.text().chars().count() <= 1000, "{}", answer.text());
    assert!(
        answer
            .closing()
            .contains("all of it is in /data/.sandbar/output/1.txt]"),
        "{}",
        answer.closing()
    );
    client.stop().await;
}

#[tokio::test]
async fn a_time_limit_ends_everything_and_the_shell_goes_on() {
    let client = Client::start(&[]).await;
    client.bash("x=kept").await.text();
    let command = "echo begun; sleep 1000 & while :; do :; done";
    let answer = client
        .call("Bash", json!({"command": command, "timeout": 0.5}))
        .await;
    assert!(answer.is_error());
    assert!(
        answer
            .text()
            .starts_with("begun\n[exit 137 (SIGKILL) after "),
        "{}",
        answer.text()
    );
    assert!(
        answer
            .text()
            .ends_with("; stopped at its time limit of 0.500 s]"),
        "{}",
        answer.text()
    );
    assert_eq!(
        client.bash("echo $x; ps | grep -c sleep").await.output(),
        "kept\n0\n"
    );
    client.stop().await;
}

#[tokio::test]
async fn a_background_command_is_read_waited_for_and_killed() {
    let client = Client::start(&[]).await;
    let start = json!({"command": "echo one; sleep 0.3; echo two; exit 6", "foreground": 0});
    let started = client.call("Bash", start).await;
    assert!(
        started.closing().contains(" as bash_1; "),
        "{}",
        started.text()
    );
    let waited = client
        .call(
            "BashOutput",
            json!({"shell_id": "bash_1", "wait_seconds": 20}),
        )
        .await;
    assert!(waited.output().ends_with("two\n"), "{}", waited.text());
    assert!(
        waited.closing().starts_with("[exit 6 after "),
        "{}",
        waited.text()
    );
    let again = client
        .call("BashOutput", json!({"shell_id": "bash_1", "offset": 0}))
        .await;
    assert_eq!(again.output(), "one\ntwo\n");
    assert!(
        again.closing().ends_with("; bytes 0 to 8 of 8]"),
        "{}",
        again.text()
    );

    let forever = json!({"command": "while :; do :; done", "foreground": 0, "timeout": 600});
    client.call("Bash", forever).await.text();
    let killed = client
        .call("KillShell", json!({"shell_id": "bash_2"}))
        .await;
    assert!(
        killed.text().contains("[exit 137 (SIGKILL) after "),
        "{}",
        killed.text()
    );
    let unknown = client
        .call("KillShell", json!({"shell_id": "bash_9"}))
        .await;
    assert!(
        unknown.is_error() && unknown.text().contains("bash_1, bash_2"),
        "{}",
        unknown.text()
    );
    client.stop().await;
}

#[tokio::test]
async fn a_command_that_takes_longer_goes_on_in_the_background() {
    let client = Client::start(&[]).await;
    let command = json!({"command": "x=lost; echo begun; sleep 0.6; echo done", "foreground": 0.2});
    let answer = client.call("Bash", command).await;
    assert_eq!(answer.output(), "begun\n", "{}", answer.text());
    assert!(
        answer.closing().starts_with("[running for 0."),
        "{}",
        answer.text()
    );
    // The shell is free, and as it was before.
    assert_eq!(client.bash("echo \"x=$x\"").await.output(), "x=\n");
    let rest = client
        .call(
            "BashOutput",
            json!({"shell_id": "bash_1", "wait_seconds": 20}),
        )
        .await;
    assert_eq!(rest.output(), "done\n", "{}", rest.text());
    client.stop().await;
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_lives_on() {
    let client = Client::start(&[]).await;
    let answer = client
        .bash("(sleep 0.4; echo late; echo made > made.txt) & echo early")
        .await;
    assert_eq!(answer.output(), "early\n");
    let file = "/data/.sandbar/output/1.txt";
    assert!(
        answer.closing().contains("background process"),
        "{}",
        answer.text()
    );
    assert!(answer.closing().contains(file), "{}", answer.text());
    let wait = format!(
        "for i in 1 2 3 4 5 6 7 8 9; do [ -s made.txt ] && break; sleep 0.3; done; cat made.txt {file}"
    );
    assert_eq!(client.bash(&wait).await.output(), "made\nearly\nlate\n");
    client.stop().await;
}

#[tokio::test]
async fn calls_of_one_sandbox_run_in_order_and_others_do_not_wait() {
    let client = Client::start(&[]).await;
    client.bash_in("other", "true").await.text();
    let slow = client.bash("sleep 1; echo first >> order");
    let next = client.bash("echo second >> order; cat order");
    let other = client.bash_in("other", "echo quick");
    let (slow, next, other) = tokio::join!(slow, next, other);
    assert!(slow.took >= Duration::from_secs(1));
    assert_eq!(next.output(), "first\nsecond\n");
    assert_eq!(other.output(), "quick\n");
    assert!(other.took < Duration::from_millis(900), "{:?}", other.took);
    client.stop().await;
}

#[tokio::test]
async fn a_cancelled_call_ends_its_command() {
    let client = Client::start(&[]).await;
    client.bash("true").await.text();
    let arguments = json!({"command": "while :; do :; done"})
        .as_object()
        .cloned()
        .expect("an object");
    let params = CallToolRequestParams::new("Bash").with_arguments(arguments);
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let handle = client
        .service()
        .send_cancellable_request(request, PeerRequestOptions::no_options())
        .await
        .expect("it is sent");
    tokio::time::sleep(Duration::from_millis(300)).await;
    handle
        .cancel(Some("enough".into()))
        .await
        .expect("it is sent");
    let after = client.bash("ps -ef").await;
    assert!(
        after.took < Duration::from_secs(2),
        "the shell is free: {:?}",
        after.took
    );
    // A process that is just being run ends at its next tick, which a busy machine delays.
    let deadline = Instant::now() + Duration::from_secs(10);
    while client.bash("ps -ef").await.text().contains("while") {
        assert!(
            Instant::now() < deadline,
            "the cancelled command still runs"
        );
    }
    client.stop().await;
}

#[tokio::test]
async fn a_removed_workspace_is_made_again() {
    let client = Client::start(&[]).await;
    client.bash("cd / && rm -r /data/workspace").await.text();
    let answer = client.bash("cd /data/workspace && echo here").await;
    assert_eq!(answer.output(), "here\n", "{}", answer.text());
    client.stop().await;
}

#[tokio::test]
async fn a_full_quota_ends_the_file_and_not_the_command() {
    let client = Client::start(&["--max-output", "1000"]).await;
    let answer = client
        .bash("yes 0123456789abcdef | head -c 80000000; echo end")
        .await;
    assert!(
        answer.text().contains("end\n[exit 0 after "),
        "{}",
        answer.text()
    );
    assert!(
        answer.closing().contains("the first 67,108,864 bytes of it are in /data/.sandbar/output/1.txt, the most that is kept"),
        "{}",
        answer.closing()
    );
    client.stop().await;
}
