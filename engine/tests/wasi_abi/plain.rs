//! Plain preview 1 modules: preopens, and WASI's walls.

use sandbar::errno::Errno::{BadFd, IsDirectory, NameTooLong, NotCapable, NotPermitted};
use sandbar::process::{Description, pipe};
use sandbar::vfs::AccessMode;
use sandbar::wasi::Personality;

use crate::harness::{CWD_FD, Guest, IDLE, Kernel, ROOT_FD, args, e};

const READ: u64 = 1 << 1;
const WRITE: u64 = 1 << 6;

/// Names of the preopens, from descriptor 3 to the first that is none: as wasi-libc walks.
async fn preopens(guest: &mut Guest) -> Vec<String> {
    let mut names = Vec::new();
    let at = guest.room(64);
    for fd in 3..99_u32 {
        match guest.p1("fd_prestat_get", &args![fd, at]).await {
            0 => {
                let len = guest.u32(at + 4);
                assert_eq!(
                    guest.p1("fd_prestat_dir_name", &args![fd, at, len]).await,
                    0
                );
                names.push(String::from_utf8(guest.bytes(at, len as usize)).unwrap());
            }
            error => {
                assert_eq!(error, e(BadFd));
                break;
            }
        }
    }
    names
}

#[tokio::test]
async fn preopens_are_what_wasi_libc_zig_and_go_look_for() {
    let kernel = Kernel::new();
    kernel.mkdir("/data/workspace/tmp");
    let mut guest = kernel.guest_in(Personality::Plain, "/data/workspace");
    let names = preopens(&mut guest).await;
    assert_eq!(names[..2], [".", "/"]);
    assert_eq!(names.last().unwrap(), ".");
    for name in ["/bin", "/data", "/dev", "/proc"] {
        assert!(names.contains(&name.to_owned()), "{name} is in {names:?}");
    }
    assert!(
        !names.contains(&"/tmp".to_owned()),
        "there is a `tmp` in the current directory"
    );
    assert!(guest.p1_open(3, "tmp", 2, READ).await.is_ok());
    assert!(guest.p1_open(4, "data/workspace", 2, READ).await.is_ok());
}

#[tokio::test]
async fn named_preopens_replace_the_list() {
    let kernel = Kernel::new();
    kernel.write("/data/workspace/file", b"x", 0o644);
    let named = vec![
        (b"/".to_vec(), b"/data/workspace".to_vec()),
        (b"t".to_vec(), b"/tmp".to_vec()),
    ];
    kernel.table.set_plain_preopens(named);
    let mut guest = kernel.guest(Personality::Plain);
    assert_eq!(preopens(&mut guest).await, ["/", "t"]);
    assert!(guest.p1_open(3, "file", 0, READ).await.is_ok());
    let at = guest.room(8);
    assert_eq!(
        guest.p1("fd_prestat_dir_name", &args![3, at, 0]).await,
        e(NameTooLong)
    );
    for fd in [ROOT_FD, CWD_FD] {
        assert_eq!(guest.p1("fd_prestat_get", &args![fd, at]).await, e(BadFd));
        assert_eq!(guest.p1_open(fd, "x", 0, READ).await, Err(e(BadFd)));
    }
}

#[tokio::test]
async fn only_the_three_streams_are_inherited() {
    let kernel = Kernel::new();
    let (reader, writer) = pipe();
    let reader = Description::stream(std::sync::Arc::new(reader), AccessMode::Read);
    let writer = Description::stream(std::sync::Arc::new(writer), AccessMode::Write);
    let process = kernel.spawn(
        &[IDLE],
        "/data",
        vec![(1, writer), (3, reader.clone()), (7, reader)],
    );
    sandbar::wasi::Context::new(process.clone(), Personality::Plain).unwrap();
    assert!(process.fd(1).is_ok());
    assert!(process.fd(3).unwrap().place().is_ok());
    assert!(
        process.fd(7).unwrap().place().is_ok(),
        "a preopen, not the pipe"
    );
}

#[tokio::test]
async fn a_directory_descriptor_is_a_wall() {
    let kernel = Kernel::new();
    kernel.write("/data/file", b"x", 0o644);
    kernel.symlink("/data/file", "/data/workspace/absolute");
    kernel.symlink("../file", "/data/workspace/out");
    let mut guest = kernel.guest_in(Personality::Plain, "/data/workspace");
    assert!(guest.p1_open(3, "new", 1, READ | WRITE).await.is_ok());
    let follow = |guest: &mut Guest, path: &str| (guest.put(path.as_bytes()), path.len());
    for path in [
        "/data/file",
        "../file",
        "absolute",
        "out",
        "./../workspace/new",
    ] {
        let (at, len) = follow(&mut guest, path);
        let result = guest.room(4);
        let open = args![3, 1, at, len, 0, READ, 0_u64, 0, result];
        let error = guest.p1("path_open", &open).await;
        assert!(
            [e(NotCapable), e(NotPermitted)].contains(&error),
            "{path}: {error}"
        );
    }
    let (target, len) = follow(&mut guest, "/");
    let (path, _) = follow(&mut guest, "link");
    let symlink = args![target, len, 3, path, 4];
    assert_eq!(guest.p1("path_symlink", &symlink).await, e(NotCapable));
}

#[tokio::test]
async fn rights_that_were_given_up_are_gone() {
    let kernel = Kernel::new();
    kernel.write("/data/file", b"contents", 0o644);
    let mut guest = kernel.guest(Personality::Plain);
    let fd = guest.p1_open(3, "file", 0, READ | WRITE).await.unwrap();
    let stat = guest.room(24);
    assert_eq!(guest.p1("fd_fdstat_get", &args![fd, stat]).await, 0);
    let (base, inheriting) = (guest.u64(stat + 8), guest.u64(stat + 16));
    assert_eq!(base & (READ | WRITE), READ | WRITE);
    let less = base & !WRITE;
    assert_eq!(
        guest
            .p1("fd_fdstat_set_rights", &args![fd, less, inheriting])
            .await,
        0
    );
    assert_eq!(guest.write(fd, b"x").await, Err(e(NotCapable)));
    assert_eq!(guest.read(fd, 3).await.unwrap(), b"con");
    let back = guest
        .p1("fd_fdstat_set_rights", &args![fd, base, inheriting])
        .await;
    assert_eq!(back, e(NotCapable));

    // The directory loses truncation: opening with it fails, and so does what its files could do.
    assert_eq!(guest.p1("fd_fdstat_get", &args![3, stat]).await, 0);
    let (base, inheriting) = (guest.u64(stat + 8), guest.u64(stat + 16));
    let set = args![3, base & !(1 << 19), inheriting & !WRITE];
    assert_eq!(guest.p1("fd_fdstat_set_rights", &set).await, 0);
    assert_eq!(guest.p1_open(3, "file", 8, READ).await, Err(e(NotCapable)));
    assert_eq!(guest.p1_open(3, "file", 0, WRITE).await, Err(e(NotCapable)));
    assert!(guest.p1_open(3, "file", 0, READ).await.is_ok());
    assert_eq!(kernel.read("/data/file"), b"contents");
}

#[tokio::test]
async fn a_file_opened_without_read_cannot_be_read() {
    let kernel = Kernel::new();
    kernel.write("/data/file", b"contents", 0o644);
    let mut guest = kernel.guest(Personality::Plain);
    let fd = guest.p1_open(3, "file", 0, 0).await.unwrap();
    assert_eq!(guest.read(fd, 3).await, Err(e(NotCapable)));
}

#[tokio::test]
async fn directories_have_no_position_and_preopens_can_be_moved() {
    let kernel = Kernel::new();
    let mut guest = kernel.guest(Personality::Plain);
    let at = guest.room(64);
    assert_eq!(
        guest.p1("fd_seek", &args![3, 0_i64, 0, at]).await,
        e(IsDirectory)
    );
    assert_eq!(guest.p1("fd_tell", &args![3, at]).await, e(IsDirectory));
    assert_eq!(guest.p1("fd_renumber", &args![4, 3]).await, 0);
    assert_eq!(guest.p1("fd_prestat_get", &args![4, at]).await, e(BadFd));
    assert_eq!(guest.p1("fd_prestat_dir_name", &args![3, at, 1]).await, 0);
    assert_eq!(guest.bytes(at, 1), b"/");
    assert_eq!(guest.p1("fd_close", &args![3]).await, 0);
    assert_eq!(guest.p1("fd_prestat_get", &args![3, at]).await, e(BadFd));
}
