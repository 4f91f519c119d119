//! The commands of the default image.

use sandbar_test_support::{sandbox, stdout_of};

/// What a shell user and an agent expect without asking.
const EXPECTED: &str = "[ arch b2sum base32 base64 basename basenc bash cat chgrp chmod chown cksum comm cp csplit cut date dd df dir \
    dircolors dirname du echo egrep env expand expr factor false fgrep find fmt fold grep groups head hostname id install join kill \
    link ln ls md5sum mkdir mkfifo mktemp mv nice nl nohup nproc numfmt od paste pathchk pgrep pkill pr printenv printf ps ptx pwd \
    readlink realpath rm rmdir sed seq sh sha1sum sha224sum sha256sum sha384sum sha512sum shred shuf sleep sort split stat sum sync \
    tac tail tee test time timeout touch tr true truncate tsort tty uname unexpand uniq unlink vdir wc which whoami xargs yes";

#[test]
fn every_expected_command_is_on_the_path_and_says_its_version() {
    let sandbox = sandbox();
    let script = format!(
        "for name in {EXPECTED}; do \
           path=$(type -P -- \"$name\") || {{ echo \"$name is missing\"; continue; }}; \
           case $name in [|test|true|false|echo|printf|pwd|kill|time|yes) continue;; esac; \
           timeout 20 \"$path\" --version </dev/null >/tmp/version 2>&1 || echo \"$name --version: $?\"; \
           [ -s /tmp/version ] || echo \"$name --version says nothing\"; \
         done"
    );
    assert_eq!(stdout_of(&sandbox, &script), "");
}

#[test]
fn a_binary_file_survives_pipes_and_names_that_are_no_text() {
    let sandbox = sandbox();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    sandbox
        .files()
        .write(b"\xff\xfe name", &bytes)
        .expect("any bytes are a name");
    let script = "f=$(ls); cat \"$f\" | cat | cmp -s - \"$f\" 2>/dev/null; cat < \"$f\" | md5sum; md5sum < \"$f\"";
    let sums = stdout_of(&sandbox, script);
    let mut lines = sums.lines();
    let first = lines.next().expect("a sum");
    assert!(lines.all(|line| line == first), "{sums}");
    let copied = stdout_of(&sandbox, "cat * > copy; ls | wc -l");
    assert_eq!(copied.trim(), "2");
    assert_eq!(sandbox.files().read("copy").expect("read"), bytes);
}
