//! `Read`, `Write`, `Edit`.

use serde_json::json;

use super::client::Client;

#[tokio::test]
async fn a_file_is_written_read_and_edited() {
    let client = Client::start(&[]).await;
    let written = client
        .call(
            "Write",
            json!({"file_path": "src/a.txt", "content": "one\ntwo\nthree"}),
        )
        .await;
    assert_eq!(
        written.text(),
        "Wrote new file src/a.txt: 13 bytes, 3 lines"
    );
    let edited = client
        .call("Edit", json!({"file_path": "/data/workspace/src/a.txt", "old_string": "two", "new_string": "2\n2½"}))
        .await;
    assert_eq!(
        edited.text(),
        "Changed 1 place of /data/workspace/src/a.txt:\n     1\tone\n     2\t2\n     3\t2½\n     4\tthree"
    );
    let read = client
        .call("Read", json!({"file_path": "src/a.txt", "offset": 3}))
        .await;
    assert_eq!(read.text(), "     3\t2½\n     4\tthree\n");
    assert_eq!(
        client.bash("cat src/a.txt").await.output(),
        "one\n2\n2½\nthree\n"
    );
    client.stop().await;
}

#[tokio::test]
async fn a_file_that_changed_is_not_overwritten() {
    let client = Client::start(&[]).await;
    let edit = || json!({"file_path": "f", "old_string": "a", "new_string": "b"});
    client.bash("echo a > f").await.text();
    let unread = client.call("Edit", edit()).await;
    assert!(
        unread.is_error() && unread.text().contains("has not been read"),
        "{}",
        unread.text()
    );
    let unread = client
        .call("Write", json!({"file_path": "f", "content": "x"}))
        .await;
    assert!(
        unread.is_error() && unread.text().contains("has not been read"),
        "{}",
        unread.text()
    );
    client.call("Read", json!({"file_path": "f"})).await.text();
    // The same size, within the same instant, and other contents.
    client.bash("echo A > f").await.text();
    for (tool, arguments) in [
        ("Edit", edit()),
        ("Write", json!({"file_path": "f", "content": "x"})),
    ] {
        let stale = client.call(tool, arguments).await;
        assert!(
            stale.is_error() && stale.text().contains("has changed since"),
            "{}",
            stale.text()
        );
    }
    client.call("Read", json!({"file_path": "f"})).await.text();
    client.bash("touch f").await.text();
    let edited = client
        .call(
            "Edit",
            json!({"file_path": "f", "old_string": "A", "new_string": "c"}),
        )
        .await;
    assert!(!edited.is_error(), "{}", edited.text());
    assert_eq!(client.bash("cat f").await.output(), "c\n");
    client.stop().await;
}

#[tokio::test]
async fn edits_of_one_file_at_once_are_all_made() {
    let client = Client::start(&[]).await;
    let lines: Vec<String> = (0..20).map(|index| format!("<{index}>\n")).collect();
    let content = lines.concat();
    client
        .call("Write", json!({"file_path": "f", "content": content}))
        .await
        .text();
    let edits = (0..20).map(|index| {
        client.call(
            "Edit",
            json!({"file_path": "f", "old_string": format!("<{index}>"), "new_string": "x"}),
        )
    });
    let mut running = Vec::new();
    for edit in edits {
        running.push(edit);
    }
    for answer in join_all(running).await {
        assert!(!answer.is_error(), "{}", answer.text());
    }
    assert_eq!(
        client.bash("sort f | uniq -c").await.output().trim(),
        "20 x"
    );
    client.stop().await;
}

/// Polls all of them at once.
async fn join_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures
        .into_iter()
        .map(|future| (Box::pin(future), None))
        .collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for (future, output) in &mut futures {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *output = Some(value),
                    std::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
    futures
        .into_iter()
        .filter_map(|(_, output)| output)
        .collect()
}

#[tokio::test]
async fn reading_pages_and_refuses_with_the_way_out() {
    let client = Client::start(&["--max-output", "1000"]).await;
    client
        .bash(
            "seq 1 5000 > n; printf 'a\\0b' > binary; mkdir d; : > empty; printf '%3000d' 7 > long",
        )
        .await
        .text();
    let mut offset = 1;
    let mut numbers: Vec<u32> = Vec::new();
    while numbers.len() < 100 {
        let page = client
            .call("Read", json!({"file_path": "n", "offset": offset}))
            .await
            .text();
        assert!(page.chars().count() <= 1000, "{page}");
        numbers.extend(
            page.lines()
                .filter_map(|line| line.split_once('\t')?.1.parse::<u32>().ok()),
        );
        offset = numbers.len() + 1;
        assert!(
            page.ends_with(&format!("read on with offset {offset}]")),
            "{page}"
        );
    }
    assert!(
        numbers
            .iter()
            .copied()
            .eq(1..=u32::try_from(numbers.len()).expect("few"))
    );
    let last = client
        .call("Read", json!({"file_path": "n", "offset": 4999}))
        .await;
    assert_eq!(last.text(), "  4999\t4999\n  5000\t5000\n");
    let beyond = client
        .call("Read", json!({"file_path": "n", "offset": 5001}))
        .await;
    assert!(
        beyond.is_error() && beyond.text().contains("`n` has 5,000 lines"),
        "{}",
        beyond.text()
    );
    for (path, says) in [
        ("binary", "binary file of 3 bytes"),
        ("d", "Is a directory"),
        ("missing", "No such file or directory"),
        ("", "argument `file_path` is empty"),
    ] {
        let refused = client.call("Read", json!({"file_path": path})).await;
        assert!(
            refused.is_error() && refused.text().contains(says),
            "{path}: {}",
            refused.text()
        );
    }
    assert_eq!(
        client
            .call("Read", json!({"file_path": "empty"}))
            .await
            .text(),
        "[empty is empty]"
    );
    let long = client.call("Read", json!({"file_path": "long"})).await;
    assert!(
        long.text()
            .ends_with(" [… 1,000 more bytes in this line]\n"),
        "{}",
        long.text()
    );
    let generated = client
        .call("Read", json!({"file_path": "/proc/uptime"}))
        .await;
    assert!(
        generated.text().starts_with("     1\t"),
        "{}",
        generated.text()
    );
    client.stop().await;
}

#[tokio::test]
async fn an_image_comes_as_an_image() {
    let client = Client::start(&[]).await;
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    client
        .bash(&format!("echo {png} | base64 -d > dot.png"))
        .await
        .text();
    let answer = client.call("Read", json!({"file_path": "dot.png"})).await;
    let [content] = answer.result.content.as_slice() else {
        panic!("{answer:?}")
    };
    let image = content.as_image().expect("an image");
    assert_eq!(
        (image.mime_type.as_str(), image.data.as_str()),
        ("image/png", png)
    );
    client.stop().await;
}

#[tokio::test]
async fn host_paths_of_a_given_directory_are_understood_and_others_are_not_reached() {
    let dir = tempfile::tempdir().expect("a directory");
    let host = std::fs::canonicalize(dir.path()).expect("a path");
    std::fs::write(host.join("in.txt"), "from the host\n").expect("a file");
    let client = Client::start(&["--workspace", &format!("{}:rw", host.display())]).await;
    let path = host.join("in.txt").display().to_string();
    let read = client.call("Read", json!({"file_path": path})).await;
    assert_eq!(read.text(), "     1\tfrom the host\n");
    client
        .call(
            "Write",
            json!({"file_path": host.join("sub/out.txt").display().to_string(), "content": "x"}),
        )
        .await
        .text();
    assert_eq!(
        std::fs::read_to_string(host.join("sub/out.txt")).expect("a file"),
        "x"
    );
    let outside = client
        .call(
            "Read",
            json!({"file_path": "/etc/hostname/../../root/.bashrc"}),
        )
        .await;
    assert!(outside.is_error(), "{}", outside.text());
    let up = client
        .call(
            "Read",
            json!({"file_path": format!("{}/../../../../etc/shadow", host.display())}),
        )
        .await;
    assert!(up.is_error(), "{}", up.text());
    client.stop().await;
}
