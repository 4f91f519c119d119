//! Links lead somewhere, and nothing of the machine that a file was written on is in it.

use std::path::Path;

use super::{documents, prose, root, sources, text, tracked};

/// Targets of the links in a line.
fn links(line: &str) -> Vec<&str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next())
        .collect()
}

/// A heading's anchor, as GitHub makes it.
fn anchor(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn has_anchor(document: &str, wanted: &str) -> bool {
    prose(document)
        .iter()
        .any(|(_, line)| line.starts_with('#') && anchor(line) == wanted)
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for document in documents() {
        let markdown = text(&document);
        for (number, line) in prose(&markdown) {
            for link in links(line)
                .into_iter()
                .filter(|link| !link.contains("://") && !link.starts_with("mailto:"))
            {
                let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
                let folder = Path::new(&document).parent().unwrap_or(Path::new(""));
                let target = if path.is_empty() {
                    Path::new(&document).to_owned()
                } else {
                    folder.join(path)
                };
                let found = root().join(&target).exists()
                    && (fragment.is_empty()
                        || has_anchor(&text(&target.to_string_lossy()), fragment));
                if !found {
                    broken.push(format!("{document}:{number}: {link}"));
                }
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn every_document_is_in_the_index() {
    let index = text("docs/README.md");
    let listed: Vec<&str> = index.lines().flat_map(links).collect();
    for document in documents() {
        let Some(path) = document
            .strip_prefix("docs/")
            .filter(|path| *path != "README.md")
        else {
            continue;
        };
        assert!(
            listed.contains(&path),
            "docs/README.md does not lead to {path}"
        );
    }
}

/// Folders of somebody's machine. Put together here, or this file would hold them.
fn machine_paths() -> [String; 5] {
    ["work/", "root/", "tmp/wt", "tmp/sb", "tmp/bash_jobs"].map(|rest| format!("/{rest}"))
}

/// Whether a URL's host is one that anybody can reach, or this machine.
fn is_public(host: &str) -> bool {
    let name = host.split(':').next().unwrap_or_default();
    let private = [".internal", ".local", ".lan", ".corp", ".intranet"];
    let number = name.split('.').all(|part| part.parse::<u8>().is_ok());
    matches!(name, "localhost" | "127.0.0.1" | "0.0.0.0" | "[")
        || (name.contains('.')
            && !number
            && !host.contains('@')
            && !private.iter().any(|end| name.ends_with(end)))
}

fn hosts(line: &str) -> Vec<&str> {
    let stops = [
        '/', '"', '\'', '`', '>', ')', ']', ' ', '<', '\\', '{', ',', '}',
    ];
    line.split("://")
        .skip(1)
        .filter_map(|rest| rest.split(stops).next())
        .collect()
}

#[test]
fn no_file_tells_of_the_machine_it_was_written_on() {
    let mut found = Vec::new();
    let sources = sources();
    for path in tracked() {
        let bytes = std::fs::read(root().join(&path)).expect("a file of the checkout");
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        for (index, line) in text.lines().enumerate() {
            let at = || format!("{path}:{}: {line}", index + 1);
            // A path begins where no other path goes on.
            let goes_on =
                |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '}' | '/' | ')');
            let starts = |needle: &str| {
                let mut before = line.split(needle).collect::<Vec<_>>();
                before.pop();
                before.iter().any(|before| !before.ends_with(goes_on))
            };
            if machine_paths().iter().any(|needle| starts(needle)) {
                found.push(at());
            }
            let url = line.contains("http") && !sources.contains(&path);
            if url
                && hosts(line)
                    .iter()
                    .any(|host| !host.is_empty() && !host.starts_with('$') && !is_public(host))
            {
                found.push(at());
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_crate_comes_from_the_public_registry() {
    for lock in tracked()
        .into_iter()
        .filter(|path| path.ends_with("Cargo.lock"))
    {
        for line in text(&lock)
            .lines()
            .filter(|line| line.starts_with("source = "))
        {
            let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
            assert_eq!(line, public, "in {lock}");
        }
    }
}

#[test]
fn hosts_and_anchors_are_told_apart() {
    assert_eq!(
        hosts("see https://docs.rs/x and http://10.0.0.1:80/y"),
        ["docs.rs", "10.0.0.1:80"]
    );
    assert!(is_public("docs.rs") && is_public("127.0.0.1:8080") && is_public("localhost"));
    assert!(
        !is_public("10.0.0.1:80")
            && !is_public("mirror.lan")
            && !is_public("builder")
            && !is_public("a@b.c")
    );
    assert_eq!(
        anchor("## Life of a command, in `order`"),
        "life-of-a-command-in-order"
    );
    assert_eq!(links("[a](b.md#c) and [d](e)"), ["b.md#c", "e"]);
}
