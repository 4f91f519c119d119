//! Attempts to reach what was not granted.

use std::os::unix::fs::symlink;

use sandbar::{Errno, ErrorKind, MountMode, Sandbox};
use sandbar_test_support::{bash, engine, sandbox, stdout_of};

/// A sandbox whose workspace is `inside/project` of a temporary directory that also holds a secret.
fn beside_a_secret(mode: MountMode) -> (tempfile::TempDir, Sandbox) {
    let temp = tempfile::tempdir().expect("a directory");
    let project = temp.path().join("inside/project");
    std::fs::create_dir_all(&project).expect("made");
    std::fs::write(temp.path().join("secret"), "the secret").expect("written");
    std::fs::write(project.join("file"), "the file").expect("written");
    let sandbox = engine()
        .sandbox()
        .workspace(&project, mode)
        .create()
        .expect("a sandbox");
    (temp, sandbox)
}

#[test]
fn dot_dot_stops_at_the_root() {
    let (_temp, sandbox) = beside_a_secret(MountMode::ReadWrite);
    let script =
        "cat ../../secret ../../../../../../secret /../../secret; cd ../../../../..; pwd; ls -d ..";
    let output = bash(&sandbox, script);
    assert_eq!(output.stdout_text(), "/\n..\n");
    assert!(!output.stderr_text().contains("the secret"));
    assert_eq!(stdout_of(&sandbox, "cat ../workspace/file"), "the file");
}

#[test]
fn a_hosts_link_leads_through_the_sandbox_not_the_host() {
    let (temp, sandbox) = beside_a_secret(MountMode::ReadWrite);
    let project = temp.path().join("inside/project");
    symlink(temp.path().join("secret"), project.join("absolute")).expect("linked");
    symlink("../../secret", project.join("relative")).expect("linked");
    symlink("/etc/passwd", project.join("passwd")).expect("linked");
    symlink(temp.path(), project.join("directory")).expect("linked");
    for path in ["absolute", "relative", "directory/secret"] {
        let error = sandbox.files().read(path).expect_err("it leads nowhere");
        assert_eq!(error.errno(), Some(Errno::NotFound), "{path}");
    }
    // The image's file of that name, not the host's.
    let hosts = std::fs::read_to_string("/etc/passwd").expect("a host has one");
    let seen = stdout_of(&sandbox, "cat passwd");
    assert!(
        seen.contains("sandbox:x:65532") && seen.trim() != hosts.trim(),
        "{seen}"
    );
}

#[test]
fn a_guests_link_leads_through_the_sandbox_not_the_host() {
    let (temp, sandbox) = beside_a_secret(MountMode::ReadWrite);
    let target = temp.path().join("secret");
    let script = format!(
        "ln -s {} l; cat l; ln -s ../../secret m; cat m; echo x > l; ls -l l | wc -l",
        target.display()
    );
    let output = bash(&sandbox, &script);
    assert!(
        !output.stdout_text().contains("the secret"),
        "{}",
        output.stdout_text()
    );
    assert_eq!(
        std::fs::read_to_string(&target).expect("still there"),
        "the secret"
    );
}

#[test]
fn links_in_a_circle_are_too_many_levels() {
    let sandbox = sandbox();
    let output = bash(
        &sandbox,
        "ln -s b a; ln -s a b; cat a; ln -s self self; ls self/",
    );
    let text = output.stderr_text();
    assert_eq!(
        text.matches("Too many levels of symbolic links").count(),
        2,
        "{text}"
    );
}

#[test]
fn an_absolute_link_starts_at_the_sandboxs_root() {
    let sandbox = sandbox();
    assert_eq!(
        stdout_of(
            &sandbox,
            "echo x > /tmp/t; ln -s /tmp/t l; cat l; readlink l"
        ),
        "x\n/tmp/t"
    );
}

#[test]
fn a_read_only_mount_is_not_changed_by_any_call() {
    let (temp, sandbox) = beside_a_secret(MountMode::ReadOnly);
    let script = "echo x > file; echo x >> file; rm file; mv file other; ln file hard; ln -s x soft; mkdir d; chmod 777 file; \
                  touch file; truncate -s 0 file; cp /etc/passwd .; rmdir .; : > new";
    let output = bash(&sandbox, script);
    assert!(
        output
            .stderr_text()
            .matches("Read-only file system")
            .count()
            >= 10,
        "{}",
        output.stderr_text()
    );
    let left: Vec<_> = std::fs::read_dir(temp.path().join("inside/project"))
        .expect("listable")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left, ["file"]);
    assert_eq!(
        std::fs::read(temp.path().join("inside/project/file")).expect("read"),
        b"the file"
    );
}

#[test]
fn what_a_guest_writes_in_a_read_write_mount_is_on_the_host() {
    let (temp, sandbox) = beside_a_secret(MountMode::ReadWrite);
    assert_eq!(
        stdout_of(
            &sandbox,
            "mkdir d; echo new > d/f; chmod 4755 d/f; mv file d/; ls d"
        ),
        "f\nfile"
    );
    let file = temp.path().join("inside/project/d/f");
    assert_eq!(std::fs::read_to_string(&file).expect("read"), "new\n");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(&file).expect("stat").permissions(),
    );
    assert_eq!(mode & 0o7777, 0o755, "no set-user-id bit reaches the host");
}

#[test]
fn the_engines_own_directories_cannot_be_mounted_or_reached() {
    let temp = tempfile::tempdir().expect("a directory");
    let cache = temp.path().join("home/.cache/sandbar");
    let engine = sandbar::Engine::builder()
        .cache_dir(&cache)
        .build()
        .expect("an engine");
    let direct = engine
        .sandbox()
        .workspace(&cache, MountMode::ReadWrite)
        .create();
    assert!(matches!(
        direct.expect_err("refused").kind(),
        ErrorKind::HostDirectory { .. }
    ));
    let below = engine
        .sandbox()
        .workspace(cache.join("image"), MountMode::ReadOnly)
        .create();
    assert!(below.is_err());
    let above = engine
        .sandbox()
        .workspace(temp.path().join("home"), MountMode::ReadWrite)
        .create()
        .expect("a parent can be mounted");
    let error = above
        .files()
        .read_dir(".cache/sandbar")
        .expect_err("not entered");
    assert_eq!(error.errno(), Some(Errno::Access));
    let link = temp.path().join("home/link");
    symlink(".cache/sandbar", link).expect("linked");
    assert_eq!(
        above
            .files()
            .read_dir("link")
            .expect_err("not entered")
            .errno(),
        Some(Errno::Access)
    );
    let moved = above.files().rename(".cache/sandbar", "mine");
    assert!(moved.is_err() || above.files().read_dir("mine").is_err());
}

#[test]
#[cfg(target_os = "linux")]
fn the_hosts_proc_is_never_entered() {
    for path in ["/proc", "/proc/self", "/sys"] {
        let made = engine()
            .sandbox()
            .mount(path, "/mnt", MountMode::ReadOnly)
            .create();
        assert!(made.is_err(), "{path} was mounted");
    }
    let sandbox = engine()
        .sandbox()
        .mount("/", "/mnt", MountMode::ReadOnly)
        .create();
    if let Ok(sandbox) = sandbox {
        assert!(sandbox.files().read("/mnt/proc/self/environ").is_err());
        assert!(sandbox.files().read_dir("/mnt/proc").is_err());
    }
}

#[test]
fn the_hosts_environment_is_not_seen() {
    let sandbox = sandbox();
    let output = stdout_of(
        &sandbox,
        "env -i env; env | cut -d= -f1 | sort | tr '\\n' ' '; tr '\\0' '\\n' < /proc/self/environ | grep -c CARGO; true",
    );
    let expected = "HOME LANG LOGNAME";
    assert!(output.contains(expected), "{output}");
    assert!(
        !output.contains("CARGO") && output.ends_with('0'),
        "{output}"
    );
}

#[test]
fn processes_of_another_sandbox_are_not_there() {
    let (one, two) = (sandbox(), sandbox());
    let child = one.command("sleep").arg("100").spawn().expect("starts");
    let script = format!("kill -0 {}; ls /proc | grep -c '^[0-9]' ", child.id());
    let output = bash(&two, &script);
    let seen: u32 = output.stdout_text().trim().parse().expect("a number");
    assert!(seen <= 4, "{}", output.stdout_text());
    assert_eq!(stdout_of(&two, "ps -e | grep -c sleep; true"), "0");
    drop(child);
}
