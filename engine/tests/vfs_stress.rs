//! Many threads in one namespace: nothing deadlocks, nothing is lost, and every counter is right in the end.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use sandbar::errno::SysResult;
use sandbar::vfs::{
    AccessMode, At, Caller, Confine, FileSystem, Follow, HostDir, HostDirOptions, ImageFile,
    ImageFsBuilder, MemoryFs, MountFlags, Namespace, OpenFlags, Opened, OverlayFs, Place, Quota,
    RenameFlags, Writable,
};

const THREADS: u64 = 8;
const CALLS: u64 = 4000;

fn image() -> ImageFsBuilder {
    let mut image = ImageFsBuilder::new();
    for path in ["a/a/a", "a/b", "b/a", "c"] {
        image
            .file(path.as_bytes(), ImageFile::from_bytes("image", 0o644))
            .unwrap();
    }
    image
}

#[test]
fn threads_meet_in_memory() {
    let quota = Quota::new(1 << 24, 1 << 16);
    stress(MemoryFs::new(Arc::clone(&quota), 0o755), CALLS);
    assert_eq!((quota.bytes_used(), quota.files_used()), (0, 0));
}

#[test]
fn threads_meet_in_an_overlay() {
    let quota = Quota::new(1 << 24, 1 << 16);
    stress(
        OverlayFs::new(&image().build(), Arc::clone(&quota)).unwrap(),
        CALLS,
    );
    assert_eq!((quota.bytes_used(), quota.files_used()), (0, 0));
}

#[test]
fn threads_meet_in_a_host_directory() {
    let directory = tempfile::tempdir().unwrap();
    let dir = Dir::open_ambient_dir(directory.path(), ambient_authority()).unwrap();
    let quota = Quota::on_disk(None, 1 << 24, 1 << 16);
    let options = HostDirOptions {
        quota: Arc::clone(&quota),
        ..HostDirOptions::default()
    };
    stress(HostDir::new(dir, options).unwrap(), CALLS / 8);
    assert_eq!(quota.bytes_used(), 0);
}

fn stress(fs: Arc<dyn FileSystem>, calls: u64) {
    let namespace = Namespace::new(fs, MountFlags::empty());
    let root = namespace.root();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (namespace, root) = (&namespace, &root);
            scope.spawn(move || work(namespace, root, thread + 1, calls));
        }
    });
    // Whatever is left can be listed and removed: the tree is whole.
    empty(&namespace, &root);
    assert_eq!(root.read_directory(0, 10).unwrap().len(), 2);
}

fn at<'a>(base: &'a Place, path: &'a str) -> At<'a> {
    At {
        caller: Caller { pid: 1 },
        base,
        path: path.as_bytes(),
        confine: Confine::Namespace,
    }
}

fn work(namespace: &Namespace, root: &Place, mut state: u64, calls: u64) {
    let mut below = |end: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    for _ in 0..calls {
        let mut path = || {
            let names = ["a", "b", "c", ".."];
            let parts = 1 + below(3);
            let pick = (0..parts).map(|_| names[usize::try_from(below(4)).unwrap()]);
            pick.collect::<Vec<_>>().join("/")
        };
        let (one, other) = (path(), path());
        let (one, other) = (at(root, &one), at(root, &other));
        // Every outcome is right for somebody's order of events; what counts is that all of them come back.
        match below(9) {
            0 | 1 => ignore(namespace.make_directory(one, 0o755)),
            2 => ignore(namespace.remove_directory(one)),
            3 => ignore(namespace.unlink(one)),
            4 => ignore(namespace.rename(one, other, RenameFlags::empty())),
            5 => ignore(namespace.rename(one, other, RenameFlags::EXCHANGE)),
            6 => ignore(namespace.link(one, Follow::No, other)),
            7 => {
                if let Ok(place) = namespace.directory(one) {
                    ignore(place.read_directory(0, 100));
                    ignore(place.path());
                }
            }
            _ => {
                let flags = OpenFlags::CREATE;
                if let Ok(Opened::File { file, mount, .. }) =
                    namespace.open(one, AccessMode::ReadWrite, flags, 0o644)
                {
                    let writable = Writable::of_open_file(&mount).unwrap();
                    file.append(&writable, &[1; 300]).unwrap();
                    if below(3) == 0 {
                        file.set_len(&writable, below(40_000)).unwrap();
                    }
                    file.read_at(&mut [0; 512], 0).unwrap();
                }
            }
        }
    }
}

fn ignore<T>(_: SysResult<T>) {}

fn empty(namespace: &Namespace, place: &Place) {
    for (_, entry) in place.read_directory(0, usize::MAX).unwrap() {
        let name = String::from_utf8(entry.name.into()).unwrap();
        if name == "." || name == ".." {
            continue;
        }
        if let Ok(inner) = namespace.directory(at(place, &name)) {
            empty(namespace, &inner);
            namespace.remove_directory(at(place, &name)).unwrap();
        } else {
            namespace.unlink(at(place, &name)).unwrap();
        }
    }
}
