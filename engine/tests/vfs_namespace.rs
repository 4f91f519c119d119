//! The rules of the virtual file system, one a test.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;
use std::sync::Arc;

use sandbar::errno::{Errno, SysResult};
use sandbar::vfs::{
    Access, AccessMode, At, Caller, Confine, DeviceFs, FileStat, FileSystem, FileType, Follow,
    ImageFile, ImageFsBuilder, MemoryFs, MountFlags, Namespace, OpenFlags, Opened, OverlayFs,
    Place, ProcFs, ProcessSummary, ProcessView, Quota, RenameFlags, SetAttributes, StatTarget,
    Writable,
};

const CALLER: Caller = Caller { pid: 7 };

/// A namespace with short names for its calls; paths start at `/`.
struct Fs {
    namespace: Arc<Namespace>,
    root: Place,
}

impl Fs {
    fn over(root: Arc<dyn FileSystem>) -> Self {
        let namespace = Namespace::new(root, MountFlags::empty());
        let root = namespace.root();
        Self { namespace, root }
    }

    fn memory() -> Self {
        Self::over(MemoryFs::new(Quota::unlimited(), 0o755))
    }

    fn at<'a>(&'a self, path: &'a str) -> At<'a> {
        At {
            caller: CALLER,
            base: &self.root,
            path: path.as_bytes(),
            confine: Confine::Namespace,
        }
    }

    fn open(&self, path: &str, access: AccessMode, flags: OpenFlags) -> SysResult<Opened> {
        self.namespace.open(self.at(path), access, flags, 0o644)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> SysResult<usize> {
        match self.open(
            path,
            AccessMode::Write,
            OpenFlags::CREATE | OpenFlags::TRUNCATE,
        )? {
            Opened::File { file, mount, .. } => {
                file.write_at(&Writable::of_open_file(&mount)?, bytes, 0)
            }
            other => panic!("{path} is {other:?}"),
        }
    }

    fn read(&self, path: &str) -> SysResult<Vec<u8>> {
        match self.open(path, AccessMode::Read, OpenFlags::empty())? {
            Opened::File { file, .. } => {
                let mut buffer = vec![0; 4096];
                let count = file.read_at(&mut buffer, 0)?;
                buffer.truncate(count);
                Ok(buffer)
            }
            other => panic!("{path} is {other:?}"),
        }
    }

    fn mkdir(&self, path: &str) -> SysResult<()> {
        self.namespace.make_directory(self.at(path), 0o755)
    }

    fn symlink(&self, target: &str, path: &str) -> SysResult<()> {
        self.namespace.symlink(target.as_bytes(), self.at(path))
    }

    fn stat(&self, path: &str) -> SysResult<FileStat> {
        match self.namespace.stat(self.at(path), Follow::Yes)? {
            StatTarget::Inode(stat) => Ok(stat),
            descriptor @ StatTarget::Descriptor { .. } => panic!("{path} is {descriptor:?}"),
        }
    }

    fn chmod(&self, path: &str, mode: u32) -> SysResult<()> {
        let change = SetAttributes {
            mode: Some(mode),
            ..SetAttributes::default()
        };
        self.namespace
            .set_attributes(self.at(path), Follow::Yes, &change)
    }

    fn place(&self, path: &str) -> Place {
        self.namespace.directory(self.at(path)).unwrap()
    }

    fn names(&self, path: &str) -> Vec<String> {
        let entries = self.place(path).read_directory(0, usize::MAX).unwrap();
        entries
            .into_iter()
            .map(|(_, entry)| String::from_utf8(entry.name.into()).unwrap())
            .collect()
    }
}

fn error<T>(result: SysResult<T>) -> Option<Errno> {
    result.err()
}

#[test]
fn absolute_links_mean_what_they_mean_in_a_chroot() {
    let fs = Fs::memory();
    fs.mkdir("/a").unwrap();
    fs.write("/target", b"x").unwrap();
    fs.symlink("/target", "/a/link").unwrap();
    assert_eq!(fs.read("/a/link").unwrap(), b"x");
    assert_eq!(fs.read("/../../a/../target").unwrap(), b"x");
}

#[test]
fn a_chain_of_40_links_is_followed_and_one_of_41_is_a_loop() {
    let fs = Fs::memory();
    fs.write("/0", b"x").unwrap();
    for n in 1..=41 {
        fs.symlink(&format!("{}", n - 1), &format!("/{n}")).unwrap();
    }
    assert_eq!(fs.read("/40").unwrap(), b"x");
    assert_eq!(error(fs.read("/41")), Some(Errno::Loop));
}

#[test]
fn limits_of_names_paths_and_depth_are_named_errors() {
    let fs = Fs::memory();
    fs.mkdir(&format!("/{}", "n".repeat(255))).unwrap();
    assert_eq!(
        error(fs.mkdir(&format!("/{}", "n".repeat(256)))),
        Some(Errno::NameTooLong)
    );
    assert_eq!(error(fs.stat(&"/".repeat(4096))), Some(Errno::NameTooLong));
    fs.stat(&"/".repeat(4095)).unwrap();
    let mut place = fs.root.clone();
    let mut depth = 0;
    let error = loop {
        let at = At {
            base: &place,
            ..fs.at("d")
        };
        match fs
            .namespace
            .make_directory(at, 0o755)
            .and_then(|()| fs.namespace.directory(at))
        {
            Ok(deeper) => place = deeper,
            Err(error) => break error,
        }
        depth += 1;
    };
    assert_eq!((error, depth), (Errno::NameTooLong, 4096));
    assert_eq!(place.path().unwrap().len(), 2 * depth);
}

#[test]
fn a_tree_of_any_depth_is_dropped_without_the_stack() {
    let fs = Fs::memory();
    // Deeper than a walk: trees are put into trees.
    for round in 0..6 {
        let mut base = fs.root.clone();
        for _ in 0..4000 {
            let at = At {
                base: &base,
                ..fs.at("d")
            };
            fs.namespace.make_directory(at, 0o755).unwrap();
            base = fs.namespace.directory(at).unwrap();
        }
        if round > 0 {
            let to = At {
                base: &base,
                ..fs.at("d")
            };
            fs.namespace
                .rename(fs.at("/old"), to, RenameFlags::empty())
                .unwrap();
        }
        fs.namespace
            .rename(fs.at("/d"), fs.at("/old"), RenameFlags::empty())
            .unwrap();
    }
}

#[test]
fn owner_bits_are_enforced() {
    let fs = Fs::memory();
    fs.mkdir("/d").unwrap();
    fs.write("/d/f", b"x").unwrap();
    fs.chmod("/d/f", 0o400).unwrap();
    assert_eq!(
        error(fs.open("/d/f", AccessMode::Write, OpenFlags::empty())),
        Some(Errno::Access)
    );
    assert_eq!(
        error(fs.open("/d/f", AccessMode::Read, OpenFlags::TRUNCATE)),
        Some(Errno::Access)
    );
    assert_eq!(fs.read("/d/f").unwrap(), b"x");
    fs.chmod("/d/f", 0o077).unwrap();
    assert_eq!(error(fs.read("/d/f")), Some(Errno::Access));
    // Search without reading, reading without search, and neither write without both.
    fs.chmod("/d", 0o300).unwrap();
    fs.stat("/d/f").unwrap();
    assert_eq!(
        error(fs.open("/d", AccessMode::Read, OpenFlags::empty())),
        Some(Errno::Access)
    );
    fs.chmod("/d", 0o600).unwrap();
    for path in ["/d/f", "/d/.", "/d/..", "/d/missing"] {
        assert_eq!(error(fs.stat(path)), Some(Errno::Access), "{path}");
    }
    assert_eq!(
        error(fs.namespace.directory(fs.at("/d"))),
        Some(Errno::Access)
    );
    fs.chmod("/d", 0o500).unwrap();
    assert_eq!(error(fs.write("/d/new", b"")), Some(Errno::Access));
    assert_eq!(
        error(fs.namespace.unlink(fs.at("/d/f"))),
        Some(Errno::Access)
    );
    assert_eq!(error(fs.mkdir("/d/f")), Some(Errno::Exists));
    assert_eq!(
        error(
            fs.namespace
                .rename(fs.at("/d/f"), fs.at("/f"), RenameFlags::empty())
        ),
        Some(Errno::Access)
    );
}

#[test]
fn a_new_file_is_open_whatever_its_mode() {
    let fs = Fs::memory();
    let opened = fs
        .namespace
        .open(fs.at("/f"), AccessMode::Write, OpenFlags::CREATE, 0o444)
        .unwrap();
    let Opened::File { file, mount, .. } = opened else {
        panic!("a file")
    };
    assert_eq!(
        file.write_at(&Writable::of_open_file(&mount).unwrap(), b"x", 0),
        Ok(1)
    );
    assert_eq!(
        error(fs.open("/f", AccessMode::Write, OpenFlags::empty())),
        Some(Errno::Access)
    );
}

#[test]
fn access_tells_what_opening_would() {
    let fs = Fs::memory();
    fs.write("/f", b"").unwrap();
    let access = |wanted| fs.namespace.access(fs.at("/f"), Follow::Yes, wanted);
    assert_eq!(access(Access::READ | Access::WRITE), Ok(()));
    assert_eq!(access(Access::EXECUTE), Err(Errno::Access));
    fs.chmod("/f", 0o755).unwrap();
    assert_eq!(access(Access::EXECUTE), Ok(()));
    assert_eq!(
        fs.namespace
            .access(fs.at("/g"), Follow::Yes, Access::empty()),
        Err(Errno::NotFound)
    );
}

#[test]
fn nothing_changes_through_a_read_only_mount() {
    let fs = Fs::memory();
    let inner = MemoryFs::new(Quota::unlimited(), 0o755);
    let outside = Fs::over(inner.clone());
    outside.write("/f", b"x").unwrap();
    outside.mkdir("/d").unwrap();
    fs.namespace
        .mount(b"/m", inner, MountFlags::READ_ONLY | MountFlags::NO_EXEC)
        .unwrap();
    let read_only = Some(Errno::ReadOnly);
    assert_eq!(fs.read("/m/f").unwrap(), b"x");
    assert_eq!(error(fs.write("/m/f", b"y")), read_only);
    assert_eq!(error(fs.write("/m/new", b"y")), read_only);
    assert_eq!(error(fs.mkdir("/m/new")), read_only);
    assert_eq!(error(fs.mkdir("/m/d")), Some(Errno::Exists));
    assert_eq!(error(fs.symlink("x", "/m/new")), read_only);
    assert_eq!(error(fs.chmod("/m/f", 0o700)), read_only);
    assert_eq!(error(fs.namespace.unlink(fs.at("/m/f"))), read_only);
    assert_eq!(
        error(fs.namespace.remove_directory(fs.at("/m/d"))),
        read_only
    );
    assert_eq!(
        error(fs.namespace.link(fs.at("/m/f"), Follow::No, fs.at("/m/g"))),
        read_only
    );
    assert_eq!(
        error(
            fs.namespace
                .rename(fs.at("/m/f"), fs.at("/m/g"), RenameFlags::empty())
        ),
        read_only
    );
    assert_eq!(
        error(
            fs.namespace
                .access(fs.at("/m/f"), Follow::Yes, Access::WRITE)
        ),
        read_only
    );
    assert!(fs.namespace.statfs(fs.at("/m/f")).unwrap().read_only);
    assert_eq!(outside.read("/f").unwrap(), b"x");
    outside.chmod("/f", 0o755).unwrap();
    assert_eq!(
        error(
            fs.namespace
                .access(fs.at("/m/f"), Follow::Yes, Access::EXECUTE)
        ),
        Some(Errno::Access)
    );
}

#[test]
fn a_mount_covers_its_directory_and_two_dots_lead_out_of_it() {
    let fs = Fs::memory();
    fs.mkdir("/a").unwrap();
    fs.write("/a/hidden", b"").unwrap();
    let inner = MemoryFs::new(Quota::unlimited(), 0o700);
    fs.namespace
        .mount(b"/a/b/c", inner.clone(), MountFlags::empty())
        .unwrap();
    fs.write("/a/b/c/f", b"x").unwrap();
    let (inside, above) = (fs.stat("/a/b/c").unwrap(), fs.stat("/a/b").unwrap());
    assert_ne!(inside.dev, above.dev);
    assert_eq!(fs.stat("/a/b/c/..").unwrap(), above);
    assert_eq!(fs.place("/a/b/c").path().unwrap(), b"/a/b/c");
    // A mount point stays; what is above it may move.
    assert_eq!(
        error(fs.namespace.remove_directory(fs.at("/a/b/c"))),
        Some(Errno::Busy)
    );
    let rename = |from: &str, to: &str| {
        fs.namespace
            .rename(fs.at(from), fs.at(to), RenameFlags::empty())
    };
    assert_eq!(rename("/a/b/c", "/a/b/d"), Err(Errno::Busy));
    assert_eq!(rename("/a/b/c/f", "/a/f"), Err(Errno::CrossDevice));
    assert_eq!(
        fs.namespace
            .link(fs.at("/a/b/c/f"), Follow::No, fs.at("/f")),
        Err(Errno::CrossDevice)
    );
    rename("/a", "/z").unwrap();
    assert_eq!(fs.read("/z/b/c/f").unwrap(), b"x");
    let mounts: Vec<_> = fs
        .namespace
        .mounts()
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(mounts, [b"/".to_vec(), b"/z/b/c".to_vec()]);
    // Once on one place, and one file system once.
    let other = MemoryFs::new(Quota::unlimited(), 0o700);
    assert_eq!(
        fs.namespace
            .mount(b"/z/b/c", other.clone(), MountFlags::empty()),
        Err(Errno::Busy)
    );
    assert_eq!(
        fs.namespace.mount(b"/y", inner, MountFlags::empty()),
        Err(Errno::Busy)
    );
    assert_eq!(
        fs.namespace.mount(b"/", other, MountFlags::empty()),
        Err(Errno::Busy)
    );
}

#[test]
fn who_stands_in_a_directory_moves_with_it() {
    let fs = Fs::memory();
    for path in ["/a", "/a/b", "/c"] {
        fs.mkdir(path).unwrap();
    }
    let place = fs.place("/a/b");
    fs.namespace
        .rename(fs.at("/a/b"), fs.at("/c/d"), RenameFlags::empty())
        .unwrap();
    assert_eq!(place.path().unwrap(), b"/c/d");
    fs.namespace
        .rename(fs.at("/c"), fs.at("/e"), RenameFlags::empty())
        .unwrap();
    assert_eq!(place.path().unwrap(), b"/e/d");
    let up = At {
        base: &place,
        ..fs.at("..")
    };
    assert_eq!(fs.namespace.directory(up).unwrap().path().unwrap(), b"/e");
    fs.namespace.remove_directory(fs.at("/e/d")).unwrap();
    assert_eq!(place.path(), Err(Errno::NotFound));
    assert_eq!(
        fs.namespace.make_directory(
            At {
                base: &place,
                ..fs.at("x")
            },
            0o755
        ),
        Err(Errno::NotFound)
    );
}

#[test]
fn rename_over_an_open_file_keeps_the_old_handle() {
    let fs = Fs::memory();
    fs.write("/old", b"old").unwrap();
    fs.write("/new", b"new").unwrap();
    let Opened::File { file, .. } = fs
        .open("/old", AccessMode::Read, OpenFlags::empty())
        .unwrap()
    else {
        panic!("a file")
    };
    fs.namespace
        .rename(fs.at("/new"), fs.at("/old"), RenameFlags::empty())
        .unwrap();
    let mut buffer = [0; 3];
    file.read_at(&mut buffer, 0).unwrap();
    assert_eq!((&buffer, file.stat().unwrap().nlink), (b"old", 0));
    assert_eq!(fs.read("/old").unwrap(), b"new");
}

#[test]
fn space_of_an_unlinked_open_file_comes_back_when_it_is_closed() {
    let quota = Quota::new(1 << 20, 10);
    let fs = Fs::over(MemoryFs::new(Arc::clone(&quota), 0o755));
    fs.write("/f", &vec![1; 100_000]).unwrap();
    let opened = fs.open("/f", AccessMode::Read, OpenFlags::empty()).unwrap();
    fs.namespace.unlink(fs.at("/f")).unwrap();
    assert!(quota.bytes_used() >= 100_000);
    drop(opened);
    assert_eq!((quota.bytes_used(), quota.files_used()), (0, 0));
}

#[test]
fn names_count_as_files_so_that_links_are_bounded() {
    let quota = Quota::new(1 << 20, 3);
    let fs = Fs::over(MemoryFs::new(Arc::clone(&quota), 0o755));
    let link = |to: &str| fs.namespace.link(fs.at("/f"), Follow::No, fs.at(to));
    fs.write("/f", b"").unwrap();
    link("/g").unwrap();
    link("/h").unwrap();
    assert_eq!(link("/i"), Err(Errno::NoSpace));
    assert_eq!(error(fs.mkdir("/d")), Some(Errno::NoSpace));
    for path in ["/f", "/h", "/g"] {
        fs.namespace.unlink(fs.at(path)).unwrap();
    }
    assert_eq!(quota.files_used(), 0);
}

#[test]
fn several_file_systems_share_one_budget() {
    let budget = Quota::new(100_000, 100);
    let one = Fs::over(MemoryFs::new(
        Quota::below(&budget, u64::MAX, u64::MAX),
        0o755,
    ));
    let two = Fs::over(MemoryFs::new(
        Quota::below(&budget, u64::MAX, u64::MAX),
        0o755,
    ));
    one.write("/f", &vec![1; 60_000]).unwrap();
    assert!(two.write("/f", &vec![1; 60_000]).unwrap() < 60_000);
    let stat = two.namespace.statfs(two.at("/")).unwrap();
    assert!(stat.blocks_free < 10, "{stat:?}");
    one.namespace.unlink(one.at("/f")).unwrap();
    assert_eq!(two.write("/f", &vec![1; 60_000]), Ok(60_000));
}

#[test]
fn a_listing_tells_what_stays_exactly_once() {
    let fs = Fs::memory();
    fs.mkdir("/d").unwrap();
    for n in 0..50 {
        fs.write(&format!("/d/stays{n}"), b"").unwrap();
        fs.write(&format!("/d/goes{n}"), b"").unwrap();
    }
    let listing = fs.place("/d");
    let mut told = Vec::new();
    let (mut cookie, mut round) = (0, 0);
    loop {
        let batch = listing.read_directory(cookie, 3).unwrap();
        let Some(&(last, _)) = batch.last() else {
            break;
        };
        cookie = last;
        told.extend(batch.into_iter().map(|(_, entry)| entry.name));
        if round < 50 {
            fs.namespace
                .unlink(fs.at(&format!("/d/goes{round}")))
                .unwrap();
            fs.write(&format!("/d/comes{round}"), b"").unwrap();
            let over = fs.at("/d/stays49");
            fs.write("/d/tmp", b"").unwrap();
            fs.namespace
                .rename(fs.at("/d/tmp"), over, RenameFlags::empty())
                .unwrap();
        }
        round += 1;
    }
    let stays = told
        .iter()
        .filter(|name| name.starts_with(b"stays"))
        .count();
    let once: BTreeSet<_> = told.iter().collect();
    assert_eq!((stays, once.len()), (50, told.len()));
    assert_eq!(told.first().map(|name| &**name), Some(&b"."[..]));
    assert_eq!(told.get(1).map(|name| &**name), Some(&b".."[..]));
}

#[test]
fn a_confined_path_does_not_leave_its_directory() {
    let fs = Fs::memory();
    for path in ["/d", "/d/e", "/d/e/f"] {
        fs.mkdir(path).unwrap();
    }
    fs.write("/secret", b"").unwrap();
    fs.write("/d/e/x", b"x").unwrap();
    fs.symlink("/d/e/x", "/d/absolute").unwrap();
    fs.symlink("../secret", "/d/up").unwrap();
    fs.symlink("e/f/../x", "/d/inside").unwrap();
    let place = fs.place("/d");
    let at = |path: &'static str| At {
        caller: CALLER,
        base: &place,
        path: path.as_bytes(),
        confine: Confine::Dirfd,
    };
    let stat = |path| fs.namespace.stat(at(path), Follow::Yes).map(drop);
    for path in ["e/x", "e/f/../../e/x", "inside", "e/..", "./e/f/.."] {
        assert_eq!(stat(path), Ok(()), "{path}");
    }
    for path in [
        "..",
        "../d",
        "/d",
        "/",
        "absolute",
        "up",
        "e/../../d/e",
        "e/f/../../../secret",
    ] {
        assert_eq!(stat(path), Err(Errno::NotCapable), "{path}");
    }
    assert_eq!(
        fs.namespace.stat(at("absolute"), Follow::No).map(drop),
        Ok(())
    );
    assert_eq!(
        fs.namespace.make_directory(at(".."), 0o755),
        Err(Errno::NotCapable)
    );
    assert_eq!(
        fs.namespace.symlink(b"/x", at("new")),
        Err(Errno::NotCapable)
    );
    fs.namespace.symlink(b"../x", at("new")).unwrap();
}

#[test]
fn a_confined_walk_stays_inside_when_its_directory_is_moved_out() {
    let fs = Fs::memory();
    for path in ["/d", "/d/e", "/elsewhere"] {
        fs.mkdir(path).unwrap();
    }
    fs.write("/elsewhere/secret", b"").unwrap();
    let place = fs.place("/d");
    fs.namespace
        .rename(fs.at("/d/e"), fs.at("/elsewhere/e"), RenameFlags::empty())
        .unwrap();
    fs.namespace
        .rename(fs.at("/elsewhere/e"), fs.at("/d/e"), RenameFlags::empty())
        .unwrap();
    let at = At {
        caller: CALLER,
        base: &place,
        path: b"e/../secret",
        confine: Confine::Dirfd,
    };
    assert_eq!(
        error(fs.namespace.stat(at, Follow::Yes)),
        Some(Errno::NotFound)
    );
}

fn image() -> ImageFsBuilder {
    let mut image = ImageFsBuilder::new();
    let program = ImageFile {
        digest: Some([7; 32]),
        ..ImageFile::from_bytes("program", 0o755)
    };
    image.file(b"bin/tool", program).unwrap();
    image
        .file(b"etc/motd", ImageFile::from_bytes("hello", 0o644))
        .unwrap();
    image.symlink(b"bin/alias", b"tool", 0).unwrap();
    image.hard_link(b"bin/twin", b"bin/tool").unwrap();
    image.directory(b"tmp", 0o777, 5).unwrap();
    image
}

#[test]
fn an_image_is_read_only_and_knows_its_programs() {
    let fs = Fs::over(image().build());
    assert_eq!(fs.read("/bin/alias").unwrap(), b"program");
    assert_eq!(error(fs.write("/etc/motd", b"x")), Some(Errno::ReadOnly));
    assert_eq!(error(fs.mkdir("/new")), Some(Errno::ReadOnly));
    let Opened::File { inode, .. } = fs
        .open("/bin/twin", AccessMode::Read, OpenFlags::empty())
        .unwrap()
    else {
        panic!("a file")
    };
    assert_eq!(inode.content_digest(), Some([7; 32]));
    assert_ne!(
        fs.stat("/bin/twin").unwrap().ino,
        fs.stat("/bin/tool").unwrap().ino
    );
    assert_eq!(fs.names("/"), [".", "..", "bin", "etc", "tmp"]);
    assert_eq!(
        (fs.stat("/").unwrap().nlink, fs.stat("/tmp").unwrap().mtime),
        (5, 5)
    );
}

#[test]
fn later_layers_replace_remove_and_clear() {
    let mut image = image();
    image
        .file(b"/etc/motd", ImageFile::from_bytes("bye", 0o600))
        .unwrap();
    image.remove(b"./bin/tool").unwrap();
    image.clear(b"tmp").unwrap();
    assert_eq!(
        error(image.file(b"../x", ImageFile::from_bytes("", 0o600))),
        Some(Errno::Invalid)
    );
    assert_eq!(error(image.hard_link(b"x", b"gone")), Some(Errno::NotFound));
    let fs = Fs::over(image.build());
    assert_eq!(fs.read("/etc/motd").unwrap(), b"bye");
    assert_eq!(fs.names("/bin"), [".", "..", "alias", "twin"]);
    assert_eq!(error(fs.read("/bin/alias")), Some(Errno::NotFound));
}

#[test]
fn an_overlay_changes_only_itself() {
    let image = image().build();
    let quota = Quota::new(1 << 20, 100);
    let fs = Fs::over(OverlayFs::new(&image, Arc::clone(&quota)).unwrap());
    let twin = Fs::over(OverlayFs::new(&image, Quota::unlimited()).unwrap());
    assert_eq!((quota.bytes_used(), quota.files_used()), (0, 0));
    fs.write("/etc/motd", b"changed").unwrap();
    fs.namespace.unlink(fs.at("/bin/tool")).unwrap();
    fs.namespace
        .rename(fs.at("/bin"), fs.at("/sbin"), RenameFlags::empty())
        .unwrap();
    fs.mkdir("/bin").unwrap();
    assert_eq!(fs.read("/etc/motd").unwrap(), b"changed");
    assert_eq!(fs.names("/sbin"), [".", "..", "alias", "twin"]);
    assert_eq!(fs.names("/bin"), [".", ".."]);
    assert_eq!(fs.read("/sbin/twin").unwrap(), b"program");
    assert_eq!(twin.read("/etc/motd").unwrap(), b"hello");
    assert_eq!(twin.names("/bin"), [".", "..", "alias", "tool", "twin"]);
}

#[test]
fn an_overlay_keeps_the_inode_and_its_readers_over_the_first_change() {
    let fs = Fs::over(OverlayFs::new(&image().build(), Quota::unlimited()).unwrap());
    let before = fs.stat("/etc/motd").unwrap();
    let Opened::File { file, .. } = fs
        .open("/etc/motd", AccessMode::Read, OpenFlags::empty())
        .unwrap()
    else {
        panic!("a file")
    };
    fs.write("/etc/motd", b"HELLO again").unwrap();
    let mut buffer = [0; 11];
    assert_eq!(file.read_at(&mut buffer, 0), Ok(11));
    assert_eq!(&buffer, b"HELLO again");
    assert_eq!(fs.stat("/etc/motd").unwrap().ino, before.ino);
    drop(file);
    assert_eq!(fs.read("/etc/motd").unwrap(), b"HELLO again");
}

#[test]
fn a_changed_program_has_no_digest() {
    let fs = Fs::over(OverlayFs::new(&image().build(), Quota::unlimited()).unwrap());
    let digest = |path| match fs.open(path, AccessMode::Read, OpenFlags::empty()).unwrap() {
        Opened::File { inode, .. } => inode.content_digest(),
        other => panic!("{other:?}"),
    };
    assert_eq!(digest("/bin/tool"), Some([7; 32]));
    fs.chmod("/bin/tool", 0o700).unwrap();
    assert_eq!(digest("/bin/tool"), Some([7; 32]));
    assert_eq!(fs.stat("/bin/tool").unwrap().mode, 0o700);
    fs.write("/bin/tool", b"other").unwrap();
    assert_eq!(digest("/bin/tool"), None);
    assert_eq!(digest("/bin/twin"), Some([7; 32]));
}

#[test]
fn an_emptied_image_directory_can_be_removed_and_made_anew() {
    let fs = Fs::over(OverlayFs::new(&image().build(), Quota::unlimited()).unwrap());
    assert_eq!(
        error(fs.namespace.remove_directory(fs.at("/etc"))),
        Some(Errno::NotEmpty)
    );
    fs.namespace.unlink(fs.at("/etc/motd")).unwrap();
    fs.namespace.remove_directory(fs.at("/etc")).unwrap();
    assert_eq!(error(fs.stat("/etc")), Some(Errno::NotFound));
    fs.mkdir("/etc").unwrap();
    assert_eq!(fs.names("/etc"), [".", ".."]);
}

#[test]
fn a_listing_of_an_overlay_survives_its_own_removal() {
    // What `rm -r` does: it removes while it reads.
    let mut image = ImageFsBuilder::new();
    for n in 0..300 {
        image
            .file(
                format!("d/{n}").as_bytes(),
                ImageFile::from_bytes("", 0o644),
            )
            .unwrap();
    }
    let fs = Fs::over(OverlayFs::new(&image.build(), Quota::unlimited()).unwrap());
    let listing = fs.place("/d");
    let (mut cookie, mut removed) = (0, 0);
    loop {
        let batch = listing.read_directory(cookie, 7).unwrap();
        let Some(&(last, _)) = batch.last() else {
            break;
        };
        cookie = last;
        for (_, entry) in batch
            .into_iter()
            .filter(|(_, entry)| !entry.name.starts_with(b"."))
        {
            let path = format!("/d/{}", String::from_utf8_lossy(&entry.name));
            fs.namespace.unlink(fs.at(&path)).unwrap();
            removed += 1;
        }
    }
    assert_eq!(removed, 300);
    fs.namespace.remove_directory(fs.at("/d")).unwrap();
}

#[derive(Debug)]
struct Processes;

impl ProcessView for Processes {
    fn pids(&self) -> Vec<u32> {
        vec![1, 7]
    }
    fn summary(&self, pid: u32) -> Option<ProcessSummary> {
        [1, 7].contains(&pid).then(|| ProcessSummary {
            pid,
            ppid: 1,
            pgid: pid,
            sid: 1,
            state: 'R',
            comm: b"bash".to_vec(),
            args: vec![b"bash".to_vec(), b"-c".to_vec()],
            env: vec![b"A=b".to_vec()],
            memory_bytes: 1 << 20,
            cpu_ns: 2_000_000_000,
            start_ns: 0,
            exe: b"/bin/bash".to_vec(),
            cwd: b"/dev".to_vec(),
            signals: [0; 4],
            umask: 0o22,
        })
    }
    fn descriptors(&self, pid: u32) -> Option<Vec<(u32, Vec<u8>)>> {
        (pid == 7).then(|| vec![(0, b"pipe:[3]".to_vec()), (3, b"/dev".to_vec())])
    }
    fn memory(&self) -> (u64, u64) {
        (512 << 20, 1 << 20)
    }
    fn cpus(&self) -> u32 {
        2
    }
    fn uptime_ns(&self) -> u64 {
        12_340_000_000
    }
    fn mounts(&self) -> Vec<u8> {
        b"overlay / overlay rw 0 0\n".to_vec()
    }
}

fn with_kernel_mounts() -> Fs {
    let fs = Fs::memory();
    fs.namespace
        .mount(b"/dev", DeviceFs::new(), MountFlags::empty())
        .unwrap();
    let proc = ProcFs::new(Arc::new(Processes), "sandbox").unwrap();
    fs.namespace
        .mount(b"/proc", proc, MountFlags::empty())
        .unwrap();
    fs
}

#[test]
fn devices_are_the_usual_ones() {
    let fs = with_kernel_mounts();
    assert_eq!(fs.write("/dev/null", b"x"), Ok(1));
    assert_eq!(fs.read("/dev/null").unwrap(), b"");
    assert_eq!(fs.read("/dev/zero").unwrap(), [0; 4096]);
    assert_eq!(error(fs.write("/dev/full", b"x")), Some(Errno::NoSpace));
    assert_ne!(
        fs.read("/dev/urandom").unwrap(),
        fs.read("/dev/urandom").unwrap()
    );
    let null = fs.stat("/dev/null").unwrap();
    assert_eq!(
        (null.file_type, null.rdev, null.mode),
        (FileType::CharDevice, 0x103, 0o666)
    );
    assert_eq!(error(fs.read("/dev/tty")), Some(Errno::NoDeviceOrAddress));
    assert_eq!(error(fs.write("/dev/new", b"")), Some(Errno::NotPermitted));
    let Opened::File { file, .. } = fs
        .open("/dev/null", AccessMode::Read, OpenFlags::empty())
        .unwrap()
    else {
        panic!("a device")
    };
    // Or a C library takes it for a terminal.
    assert!(file.is_seekable());
}

#[test]
fn descriptor_links_lead_to_the_askers_descriptors() {
    let fs = with_kernel_mounts();
    for (path, expected) in [
        ("/dev/stdin", 0),
        ("/dev/fd/0", 0),
        ("/proc/self/fd/3", 3),
        ("/proc/7/fd/3", 3),
    ] {
        match fs.open(path, AccessMode::Read, OpenFlags::empty()) {
            Ok(Opened::Descriptor { pid: 7, fd }) => assert_eq!(fd, expected, "{path}"),
            other => panic!("{path}: {other:?}"),
        }
    }
    assert_eq!(
        error(fs.open("/dev/fd/9", AccessMode::Read, OpenFlags::empty())),
        Some(Errno::NotFound)
    );
    assert!(matches!(
        fs.namespace.stat(fs.at("/dev/stdout"), Follow::Yes),
        Ok(StatTarget::Descriptor { pid: 7, fd: 1 })
    ));
    assert_eq!(
        fs.namespace.read_link(fs.at("/proc/self/fd/0")).unwrap(),
        b"pipe:[3]"
    );
    assert_eq!(fs.namespace.read_link(fs.at("/proc/self")).unwrap(), b"7");
    // An open directory is as good as its path.
    assert_eq!(fs.read("/proc/self/fd/3/null").unwrap(), b"");
    let host = At {
        caller: Caller { pid: 0 },
        ..fs.at("/proc/self")
    };
    assert_eq!(
        error(fs.namespace.stat(host, Follow::Yes)),
        Some(Errno::NotFound)
    );
}

#[test]
fn proc_shows_the_sandbox() {
    let fs = with_kernel_mounts();
    let text = |path| String::from_utf8(fs.read(path).unwrap()).unwrap();
    assert!(text("/proc/self/status").contains("Umask:\t0022"));
    assert_eq!(text("/proc/7/stat").split_whitespace().count(), 52);
    assert_eq!(text("/proc/self/cmdline"), "bash\0-c\0");
    assert_eq!(text("/proc/mounts"), "overlay / overlay rw 0 0\n");
    assert_eq!(text("/proc/uptime"), "12.34 12.34\n");
    assert!(
        text("/proc/meminfo").contains("MemTotal:         524288 kB"),
        "{}",
        text("/proc/meminfo")
    );
    assert_eq!(text("/proc/cpuinfo").matches("processor").count(), 2);
    assert_eq!(text("/proc/sys/kernel/hostname"), "sandbox\n");
    let (boot, uuid) = (
        text("/proc/sys/kernel/random/boot_id"),
        text("/proc/sys/kernel/random/uuid"),
    );
    assert_eq!(
        (boot.len(), boot == text("/proc/sys/kernel/random/boot_id")),
        (37, true)
    );
    assert_ne!(uuid, text("/proc/sys/kernel/random/uuid"));
    assert!(fs.names("/proc").contains(&"7".to_owned()));
    assert_eq!(fs.names("/proc/self/fd"), [".", "..", "0", "3"]);
    assert_eq!(
        fs.namespace.read_link(fs.at("/proc/self/exe")).unwrap(),
        b"/bin/bash"
    );
    assert_eq!(
        fs.stat("/proc/self/cwd").unwrap().dev,
        fs.stat("/dev").unwrap().dev
    );
    assert_eq!(error(fs.stat("/proc/8")), Some(Errno::NotFound));
    assert_eq!(error(fs.stat("/proc/07")), Some(Errno::NotFound));
    assert_eq!(error(fs.write("/proc/uptime", b"")), Some(Errno::Access));
}
