//! Host directories: what a guest cannot reach, what it is charged, and what the host sees of it.
#![expect(
    clippy::disallowed_methods,
    reason = "the host is the other side of these tests"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![cfg(unix)]

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use sandbar::errno::{Errno, SysResult};
use sandbar::vfs::{
    AccessMode, At, Caller, Confine, FileSystem, Follow, HostDescriptors, HostDir, HostDirOptions,
    Mount, MountFlags, Namespace, OpenFile, OpenFlags, Opened, Place, Quota, RenameFlags,
    SetAttributes, StatTarget, Writable,
};

/// A namespace whose root is the directory `inside` of a temporary directory; `secret` is a file beside it.
struct Fs {
    directory: tempfile::TempDir,
    namespace: Arc<Namespace>,
    root: Place,
}

fn open_dir(path: &Path) -> Dir {
    Dir::open_ambient_dir(path, ambient_authority()).unwrap()
}

impl Fs {
    fn new(options: HostDirOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("inside")).unwrap();
        fs::write(directory.path().join("secret"), "secret").unwrap();
        let host = HostDir::new(open_dir(&directory.path().join("inside")), options).unwrap();
        let namespace = Namespace::new(host, MountFlags::empty());
        let root = namespace.root();
        Self {
            directory,
            namespace,
            root,
        }
    }

    fn plain() -> Self {
        Self::new(HostDirOptions::default())
    }

    fn with_quota(bytes: u64, files: u64) -> (Self, Arc<Quota>) {
        let quota = Quota::on_disk(None, bytes, files);
        let fs = Self::new(HostDirOptions {
            quota: Arc::clone(&quota),
            ..HostDirOptions::default()
        });
        (fs, quota)
    }

    /// A path on the host.
    fn host(&self, path: &str) -> std::path::PathBuf {
        self.directory.path().join("inside").join(path)
    }

    fn at<'a>(&'a self, path: &'a str) -> At<'a> {
        At {
            caller: Caller { pid: 1 },
            base: &self.root,
            path: path.as_bytes(),
            confine: Confine::Namespace,
        }
    }

    fn open(
        &self,
        path: &str,
        access: AccessMode,
        flags: OpenFlags,
    ) -> SysResult<(Arc<dyn OpenFile>, Arc<Mount>)> {
        match self.namespace.open(self.at(path), access, flags, 0o644)? {
            Opened::File { file, mount, .. } => Ok((file, mount)),
            other => panic!("{path} is {other:?}"),
        }
    }

    fn read(&self, path: &str) -> SysResult<Vec<u8>> {
        let (file, _) = self.open(path, AccessMode::Read, OpenFlags::empty())?;
        let mut buffer = vec![0; 1 << 16];
        let count = file.read_at(&mut buffer, 0)?;
        buffer.truncate(count);
        Ok(buffer)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> SysResult<usize> {
        let (file, mount) = self.open(path, AccessMode::Write, OpenFlags::CREATE)?;
        file.write_at(&Writable::of_open_file(&mount)?, bytes, 0)
    }

    fn stat(&self, path: &str) -> SysResult<StatTarget> {
        self.namespace.stat(self.at(path), Follow::Yes)
    }
}

#[test]
fn escape_by_two_dots_stays_at_the_root() {
    let fs = Fs::plain();
    for path in [
        "../secret",
        "/../secret",
        "../../../../etc/passwd",
        "/../../etc/passwd",
    ] {
        assert_eq!(fs.read(path), Err(Errno::NotFound), "{path}");
    }
}

#[test]
fn escape_by_an_absolute_link_is_resolved_inside() {
    let fs = Fs::plain();
    symlink(fs.directory.path().join("secret"), fs.host("link")).unwrap();
    symlink("/etc/passwd", fs.host("passwd")).unwrap();
    symlink("../secret", fs.host("up")).unwrap();
    for path in ["link", "passwd", "up"] {
        assert_eq!(fs.read(path), Err(Errno::NotFound), "{path}");
    }
    // A file is made inside, too.
    fs.namespace.make_directory(fs.at("etc"), 0o755).unwrap();
    fs.write("passwd", b"own").unwrap();
    assert_eq!(fs::read(fs.host("etc/passwd")).unwrap(), b"own");
}

#[test]
fn escape_by_a_linked_directory_is_resolved_inside() {
    let fs = Fs::plain();
    symlink(fs.directory.path(), fs.host("out")).unwrap();
    symlink("..", fs.host("above")).unwrap();
    assert_eq!(fs.read("out/secret"), Err(Errno::NotFound));
    assert_eq!(fs.read("above/secret"), Err(Errno::NotFound));
    let chmod = SetAttributes {
        mode: Some(0o777),
        ..SetAttributes::default()
    };
    assert_eq!(
        fs.namespace
            .set_attributes(fs.at("out"), Follow::Yes, &chmod),
        Err(Errno::NotFound)
    );
    assert_eq!(
        fs.namespace
            .link(fs.at("out/secret"), Follow::Yes, fs.at("own")),
        Err(Errno::NotFound)
    );
}

/// Ends the other thread, also when an assertion fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Swaps a directory for a link that leads out, again and again, while paths through it are walked.
#[test]
fn escape_by_a_link_swapped_during_resolution_finds_nothing() {
    let fs = Fs::plain();
    fs::create_dir(fs.host("d")).unwrap();
    fs::write(fs.host("d/secret"), "inside").unwrap();
    symlink(fs.directory.path(), fs.host("link")).unwrap();
    fs::write(fs.host("f"), "inside").unwrap();
    symlink(fs.directory.path().join("secret"), fs.host("g")).unwrap();
    let done = AtomicBool::new(false);
    let swap = |one: &str, other: &str| {
        let (one, other, middle) = (fs.host(one), fs.host(other), fs.host("middle"));
        fs::rename(&one, &middle).unwrap();
        fs::rename(&other, &one).unwrap();
        fs::rename(&middle, &other).unwrap();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap("d", "link");
                swap("f", "g");
            }
        });
        let _stop = Stop(&done);
        for round in 0..4000 {
            for path in ["d/secret", "f", "link/secret", "g"] {
                match fs.read(path) {
                    Ok(bytes) => assert_eq!(bytes, b"inside", "{path}, round {round}"),
                    Err(Errno::NotFound | Errno::NotDirectory | Errno::Stale | Errno::Loop) => {}
                    Err(error) => panic!("{path}: {error:?}"),
                }
            }
            let change = SetAttributes {
                mode: Some(0o600),
                ..SetAttributes::default()
            };
            let _ = fs
                .namespace
                .set_attributes(fs.at("f"), Follow::Yes, &change);
            let _ = fs.write("d/new", b"new");
            let _ = fs.namespace.unlink(fs.at("d/new"));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(
        fs::read_to_string(fs.directory.path().join("secret")).unwrap(),
        "secret"
    );
    assert!(!fs.directory.path().join("new").exists());
}

#[test]
fn a_protected_directory_is_not_entered_from_anywhere() {
    let outer = tempfile::tempdir().unwrap();
    let cache = outer.path().join("home/cache");
    fs::create_dir_all(cache.join("deep")).unwrap();
    fs::write(cache.join("code"), "native").unwrap();
    let protected = HashSet::from([HostDir::identity(&open_dir(&cache)).unwrap()]);
    let options = || HostDirOptions {
        protected: protected.clone(),
        ..HostDirOptions::default()
    };
    // A mount of a parent shows it and goes no further.
    let host = HostDir::new(open_dir(outer.path()), options()).unwrap();
    let namespace = Namespace::new(host, MountFlags::empty());
    let root = namespace.root();
    let at = |path: &'static str| At {
        caller: Caller { pid: 1 },
        base: &root,
        path: path.as_bytes(),
        confine: Confine::Namespace,
    };
    let stat = |path| namespace.stat(at(path), Follow::Yes).map(drop);
    assert_eq!(stat("home"), Ok(()));
    assert_eq!(stat("home/cache"), Err(Errno::Access));
    assert_eq!(stat("home/cache/code"), Err(Errno::Access));
    namespace.symlink(b"home/cache", at("link")).unwrap();
    assert_eq!(stat("link/code"), Err(Errno::Access));
    assert_eq!(
        namespace.rename(at("home/cache"), at("mine"), RenameFlags::empty()),
        Err(Errno::Access)
    );
    assert_eq!(
        namespace.remove_directory(at("home/cache")),
        Err(Errno::Access)
    );
    // Its parents may be renamed, which changes nothing.
    namespace
        .rename(at("home"), at("other"), RenameFlags::empty())
        .unwrap();
    assert_eq!(stat("other/cache/code"), Err(Errno::Access));
    // A mount of it, below it, or of a link to it, is refused at once.
    for path in ["other/cache", "other/cache/deep"] {
        let refused = HostDir::new(open_dir(&outer.path().join(path)), options());
        assert_eq!(refused.map(drop).err(), Some(Errno::Access), "{path}");
    }
    symlink(outer.path().join("other/cache"), outer.path().join("alias")).unwrap();
    let refused = HostDir::new(open_dir(&outer.path().join("alias")), options());
    assert_eq!(refused.map(drop).err(), Some(Errno::Access));
}

#[cfg(target_os = "linux")]
#[test]
fn escape_by_a_mount_of_proc_is_refused() {
    for path in ["/proc", "/proc/self", "/sys"] {
        let refused = HostDir::new(open_dir(Path::new(path)), HostDirOptions::default());
        assert_eq!(refused.map(drop).err(), Some(Errno::Access), "{path}");
    }
    // Nor is it entered from above, with or without leave to cross into other devices.
    for cross_devices in [false, true] {
        let options = HostDirOptions {
            cross_devices,
            ..HostDirOptions::default()
        };
        let host = HostDir::new(open_dir(Path::new("/")), options).unwrap();
        let namespace = Namespace::new(host, MountFlags::READ_ONLY);
        let root = namespace.root();
        let at = At {
            caller: Caller { pid: 1 },
            base: &root,
            path: b"/proc/self/environ",
            confine: Confine::Namespace,
        };
        assert_eq!(
            namespace.stat(at, Follow::Yes).map(drop),
            Err(Errno::Access)
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_or_device_of_the_host_is_never_opened() {
    let fs = Fs::plain();
    let mode = rustix::fs::Mode::from_bits_truncate(0o666);
    rustix::fs::mkfifoat(rustix::fs::CWD, fs.host("pipe"), mode).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(fs.host("socket")).unwrap();
    for path in ["pipe", "socket"] {
        for access in [AccessMode::Read, AccessMode::Write, AccessMode::ReadWrite] {
            let opened = fs
                .namespace
                .open(fs.at(path), access, OpenFlags::empty(), 0);
            assert_eq!(
                opened.map(drop).err(),
                Some(Errno::NoDeviceOrAddress),
                "{path}"
            );
        }
    }
    assert_eq!(
        fs.namespace.make_fifo(fs.at("own"), 0o600),
        Err(Errno::NotPermitted)
    );
    drop(socket);
}

#[test]
fn modes_are_kept_and_special_bits_neither_come_nor_go() {
    let fs = Fs::plain();
    let mode = |path: &str| fs::metadata(fs.host(path)).unwrap().mode() & 0o7777;
    let opened = fs
        .namespace
        .open(fs.at("f"), AccessMode::Write, OpenFlags::CREATE, 0o6755)
        .unwrap();
    drop(opened);
    fs.namespace.make_directory(fs.at("d"), 0o1777).unwrap();
    assert_eq!((mode("f"), mode("d")), (0o755, 0o777));
    let change = SetAttributes {
        mode: Some(0o4750),
        ..SetAttributes::default()
    };
    fs.namespace
        .set_attributes(fs.at("f"), Follow::Yes, &change)
        .unwrap();
    assert_eq!(mode("f"), 0o750);
    fs::set_permissions(fs.host("f"), fs::Permissions::from_mode(0o4755)).unwrap();
    let StatTarget::Inode(stat) = fs.stat("f").unwrap() else {
        panic!("an inode")
    };
    assert_eq!(
        (
            stat.mode,
            stat.dev == fs::metadata(fs.host("f")).unwrap().dev()
        ),
        (0o755, false)
    );
}

#[test]
fn growth_is_charged_up_to_the_limit_and_given_back() {
    let (fs, quota) = Fs::with_quota(1 << 20, 10);
    fs::write(fs.host("before"), vec![1; 1 << 20]).unwrap();
    assert_eq!((quota.bytes_used(), quota.files_used()), (0, 0));
    assert_eq!(fs.write("f", &vec![1; 512 << 10]), Ok(512 << 10));
    assert!(
        (512 << 10..600 << 10).contains(&quota.bytes_used()),
        "{}",
        quota.bytes_used()
    );
    // Over what is there nothing grows.
    let used = quota.bytes_used();
    fs.write("f", &vec![2; 512 << 10]).unwrap();
    fs.write("before", &vec![2; 1 << 20]).unwrap();
    assert_eq!(quota.bytes_used(), used);
    // What does not fit whole is written as far as it fits; then nothing is.
    let written = fs.write("g", &vec![1; 1 << 20]).unwrap();
    assert!((400 << 10..=512 << 10).contains(&written), "{written}");
    assert_eq!(fs.write("h", &vec![1; 1 << 20]), Err(Errno::Quota));
    assert!(quota.refusals() > 0 && quota.bytes_used() <= 1 << 20);
    // A full disk still takes what needs no more room, and lets go.
    assert_eq!(fs.write("f", b"x"), Ok(1));
    let (file, mount) = fs
        .open("g", AccessMode::Write, OpenFlags::TRUNCATE)
        .unwrap();
    fs.namespace.unlink(fs.at("f")).unwrap();
    assert!(quota.bytes_used() < 64 << 10, "{}", quota.bytes_used());
    file.write_at(
        &Writable::of_open_file(&mount).unwrap(),
        &vec![1; 100_000],
        0,
    )
    .unwrap();
    fs.namespace.unlink(fs.at("g")).unwrap();
    assert!(quota.bytes_used() >= 100_000);
    drop(file);
    assert!(quota.bytes_used() < 64 << 10, "{}", quota.bytes_used());
}

#[test]
fn files_are_counted_up_to_the_limit() {
    let (fs, quota) = Fs::with_quota(u64::MAX, 2);
    fs.write("a", b"").unwrap();
    fs.namespace.make_directory(fs.at("b"), 0o755).unwrap();
    assert_eq!(fs.write("c", b""), Err(Errno::Quota));
    assert_eq!(fs.namespace.symlink(b"x", fs.at("c")), Err(Errno::Quota));
    assert!(!fs.host("c").exists());
    fs.namespace.remove_directory(fs.at("b")).unwrap();
    fs.write("c", b"").unwrap();
    fs.namespace
        .rename(fs.at("c"), fs.at("a"), RenameFlags::empty())
        .unwrap();
    assert_eq!(quota.files_used(), 1);
}

#[test]
fn open_files_have_a_budget_and_directories_none() {
    let descriptors = HostDescriptors::new(16);
    let fs = Fs::new(HostDirOptions {
        descriptors: Arc::clone(&descriptors),
        ..HostDirOptions::default()
    });
    fs.write("f", b"x").unwrap();
    let open = || fs.open("f", AccessMode::Read, OpenFlags::empty());
    let files: Vec<_> = (0..descriptors.files_max())
        .map(|_| open().unwrap())
        .collect();
    assert_eq!(open().map(drop), Err(Errno::SystemFiles));
    drop(files);
    assert_eq!(descriptors.files_open(), 0);
    // Many directories are held at a time, few of them open; each still works, also after it was moved.
    let mut places = vec![fs.root.clone()];
    for n in 0..60 {
        let base = places.last().unwrap().clone();
        let at = At {
            base: &base,
            ..fs.at("d")
        };
        fs.namespace.make_directory(at, 0o755).unwrap();
        places.push(fs.namespace.directory(at).unwrap());
        fs::write(fs.host(&"d/".repeat(n + 1)).join("f"), n.to_string()).unwrap();
    }
    fs.namespace
        .rename(fs.at("d"), fs.at("e"), RenameFlags::empty())
        .unwrap();
    descriptors.close_idle();
    for (n, place) in places.iter().skip(1).enumerate() {
        let at = At {
            base: place,
            ..fs.at("f")
        };
        let opened = fs
            .namespace
            .open(at, AccessMode::Read, OpenFlags::empty(), 0)
            .unwrap();
        let Opened::File { file, path, .. } = opened else {
            panic!("a file")
        };
        let mut buffer = [0; 8];
        let count = file.read_at(&mut buffer, 0).unwrap();
        assert_eq!(&buffer[..count], n.to_string().as_bytes());
        assert!(path.starts_with(b"/e"));
    }
}

#[test]
fn many_idle_host_directories_share_one_descriptor() {
    let outer = tempfile::tempdir().unwrap();
    let parent = Arc::new(open_dir(outer.path()));
    let descriptors = HostDescriptors::new(64);
    let hosts: Vec<_> = (0..200)
        .map(|n| {
            fs::create_dir(outer.path().join(n.to_string())).unwrap();
            let options = HostDirOptions {
                descriptors: Arc::clone(&descriptors),
                ..HostDirOptions::default()
            };
            HostDir::in_directory(Arc::clone(&parent), n.to_string().as_bytes(), options).unwrap()
        })
        .collect();
    for (n, host) in hosts.into_iter().enumerate() {
        let namespace = Namespace::new(host, MountFlags::empty());
        let root = namespace.root();
        let at = At {
            caller: Caller { pid: 1 },
            base: &root,
            path: b"d",
            confine: Confine::Namespace,
        };
        namespace.make_directory(at, 0o755).unwrap();
        assert!(outer.path().join(n.to_string()).join("d").is_dir());
    }
    // Their namespaces are gone, and with them what was kept open.
    assert_eq!(
        (descriptors.directories_open(), descriptors.files_open()),
        (0, 0)
    );
    let refused = HostDir::in_directory(Arc::clone(&parent), b"../x", HostDirOptions::default());
    assert_eq!(refused.map(drop).err(), Some(Errno::Invalid));
}

#[test]
fn what_the_host_changes_is_seen_by_the_next_call() {
    let fs = Fs::plain();
    fs::write(fs.host("f"), "one").unwrap();
    assert_eq!(fs.read("f").unwrap(), b"one");
    fs::write(fs.host("g"), "two").unwrap();
    fs::rename(fs.host("g"), fs.host("f")).unwrap();
    assert_eq!(fs.read("f").unwrap(), b"two");
    fs::create_dir(fs.host("d")).unwrap();
    assert_eq!(fs.stat("d").map(drop), Ok(()));
    fs::remove_dir(fs.host("d")).unwrap();
    assert_eq!(fs.stat("d").map(drop), Err(Errno::NotFound));
}

#[test]
fn a_listing_of_a_host_directory_tells_what_stays_exactly_once() {
    let fs = Fs::plain();
    for n in 0..100 {
        fs::write(fs.host(&format!("stays{n}")), "").unwrap();
        fs::write(fs.host(&format!("goes{n}")), "").unwrap();
    }
    // Alone, and beside another reader of the same directory who begins again and again.
    for other_reader in [false, true] {
        let (mut told, mut cookie, mut round) = (Vec::new(), 0, 0);
        loop {
            let batch = fs.root.read_directory(cookie, 7).unwrap();
            let Some(&(last, _)) = batch.last() else {
                break;
            };
            cookie = last;
            told.extend(batch.into_iter().map(|(_, entry)| entry.name));
            fs::remove_file(fs.host(&format!("goes{round}"))).unwrap_or_default();
            fs::write(fs.host(&format!("comes{other_reader}{round}")), "").unwrap();
            if other_reader {
                fs.root.read_directory(0, 50).unwrap();
            }
            round += 1;
            assert!(round < 1000, "the listing ends");
        }
        let stays = told.iter().filter(|name| name.starts_with(b"stays"));
        let once: HashSet<_> = told.iter().collect();
        assert_eq!((stays.count(), once.len()), (100, told.len()));
    }
}

#[test]
fn appends_of_two_handles_do_not_overwrite_each_other() {
    let fs = Fs::plain();
    fs.write("f", b"").unwrap();
    std::thread::scope(|scope| {
        for byte in [b'a', b'b'] {
            let fs = &fs;
            scope.spawn(move || {
                let (file, mount) = fs.open("f", AccessMode::Write, OpenFlags::empty()).unwrap();
                for _ in 0..500 {
                    let writable = Writable::of_open_file(&mount).unwrap();
                    assert_eq!(
                        file.append(&writable, &[byte; 10]).map(|(count, _)| count),
                        Ok(10)
                    );
                }
            });
        }
    });
    let text = fs::read(fs.host("f")).unwrap();
    assert_eq!(text.len(), 10_000);
    assert!(
        text.chunks(10)
            .all(|chunk| chunk.iter().all(|byte| Some(byte) == chunk.first()))
    );
}

#[test]
fn space_is_the_lesser_of_disk_and_quota() {
    let (fs, _quota) = Fs::with_quota(1 << 20, 10);
    let stat = fs.namespace.statfs(fs.at("/")).unwrap();
    assert_eq!((stat.blocks * stat.block_size, stat.files), (1 << 20, 10));
    let read_only = HostDirOptions {
        read_only: true,
        ..HostDirOptions::default()
    };
    let fs = Fs::new(read_only);
    assert_eq!(fs.write("f", b""), Err(Errno::ReadOnly));
    let host = HostDir::new(open_dir(fs.directory.path()), HostDirOptions::default()).unwrap();
    host.sync().unwrap();
}
