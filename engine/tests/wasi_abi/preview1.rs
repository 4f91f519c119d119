//! Preview 1, call by call, as an aware guest: POSIX rules.

use sandbar::errno::Errno::{
    BadFd, Exists, IllegalSeek, Invalid, IsDirectory, NotDirectory, NotEmpty, NotFound, NotSocket,
    NotSupported,
};
use sandbar::wasi::Personality;

use crate::harness::{CWD_FD, Guest, Kernel, ROOT_FD, args, e};

const READ: u64 = 1 << 1;
const WRITE: u64 = 1 << 6;
const SEEK_AND_TELL: u64 = 1 << 2 | 1 << 5;
const CREATE: u32 = 1;
const O_CREAT: u32 = 0o100;
const O_RDWR: u32 = 2;

fn aware() -> (Kernel, Guest) {
    let kernel = Kernel::new();
    let guest = kernel.guest(Personality::Aware);
    (kernel, guest)
}

/// The times of a `filestat`: access and modification.
async fn times(guest: &mut Guest, fd: u32) -> (u64, u64) {
    let stat = guest.room(64);
    assert_eq!(guest.p1("fd_filestat_get", &args![fd, stat]).await, 0);
    (guest.u64(stat + 40), guest.u64(stat + 48))
}

async fn size(guest: &mut Guest, fd: u32) -> u64 {
    let stat = guest.room(64);
    assert_eq!(guest.p1("fd_filestat_get", &args![fd, stat]).await, 0);
    guest.u64(stat + 32)
}

/// A call on one path in the current directory.
async fn on_path(guest: &mut Guest, name: &str, path: &str) -> i32 {
    let at = guest.put(path.as_bytes());
    guest.p1(name, &args![CWD_FD, at, path.len()]).await
}

#[tokio::test]
async fn arguments_and_environment_come_as_c_strings() {
    let (_kernel, mut guest) = aware();
    let sizes = guest.room(8);
    let list = guest.room(16);
    let buffer = guest.room(64);
    assert_eq!(
        guest.p1("args_sizes_get", &args![sizes, sizes + 4]).await,
        0
    );
    assert_eq!((guest.u32(sizes), guest.u32(sizes + 4)), (3, 15));
    assert_eq!(guest.p1("args_get", &args![list, buffer]).await, 0);
    assert_eq!(guest.bytes(buffer, 15), b"/bin/idle\0one\0\0");
    let pointers = [guest.u32(list), guest.u32(list + 4), guest.u32(list + 8)];
    assert_eq!(pointers, [buffer, buffer + 10, buffer + 14]);

    assert_eq!(
        guest
            .p1("environ_sizes_get", &args![sizes, sizes + 4])
            .await,
        0
    );
    assert_eq!((guest.u32(sizes), guest.u32(sizes + 4)), (2, 14));
    assert_eq!(guest.p1("environ_get", &args![list, buffer]).await, 0);
    assert_eq!(guest.bytes(buffer, 14), b"HOME=/data\0A=\0");
}

#[tokio::test]
async fn clocks_run_and_unknown_ones_are_invalid() {
    let (_kernel, mut guest) = aware();
    let at = guest.room(8);
    for id in 0..4_u32 {
        assert_eq!(guest.p1("clock_res_get", &args![id, at]).await, 0);
        assert_eq!(guest.u64(at), 1);
        assert_eq!(guest.p1("clock_time_get", &args![id, 0_u64, at]).await, 0);
    }
    assert_eq!(guest.p1("clock_res_get", &args![4, at]).await, e(Invalid));
    assert_eq!(
        guest.p1("clock_time_get", &args![9, 0_u64, at]).await,
        e(Invalid)
    );
    assert_eq!(guest.p1("clock_time_get", &args![0, 0_u64, at]).await, 0);
    let year_2020 = 1_577_836_800_000_000_000;
    assert!(guest.u64(at) > year_2020);
    // Monotonic time begins with the sandbox: the host's uptime is nobody's business.
    assert_eq!(guest.p1("clock_time_get", &args![1, 0_u64, at]).await, 0);
    let first = guest.u64(at);
    assert!(first < 60_000_000_000);
    assert_eq!(guest.p1("clock_time_get", &args![1, 0_u64, at]).await, 0);
    assert!(guest.u64(at) >= first);
}

#[tokio::test]
async fn a_file_is_written_read_sought_and_told() {
    let (kernel, mut guest) = aware();
    let fd = guest
        .p1_open(CWD_FD, "file", CREATE, READ | WRITE)
        .await
        .unwrap();
    assert_eq!(fd, 0, "the lowest free number");
    assert_eq!(guest.write(fd, b"hello world").await, Ok(11));
    assert_eq!(kernel.read("/data/file"), b"hello world");
    let at = guest.room(8);
    assert_eq!(guest.p1("fd_tell", &args![fd, at]).await, 0);
    assert_eq!(guest.u64(at), 11);
    assert_eq!(guest.p1("fd_seek", &args![fd, -5_i64, 2, at]).await, 0);
    assert_eq!(guest.u64(at), 6);
    assert_eq!(guest.read(fd, 99).await.unwrap(), b"world");
    assert_eq!(guest.read(fd, 99).await.unwrap(), b"");
    assert_eq!(guest.p1("fd_seek", &args![fd, 2_i64, 0, at]).await, 0);
    assert_eq!(guest.p1("fd_seek", &args![fd, 1_i64, 1, at]).await, 0);
    assert_eq!(guest.read(fd, 2).await.unwrap(), b"lo");
    assert_eq!(
        guest.p1("fd_seek", &args![fd, -1_i64, 0, at]).await,
        e(Invalid)
    );
    assert_eq!(
        guest.p1("fd_seek", &args![fd, i64::MIN, 1, at]).await,
        e(Invalid)
    );
    assert_eq!(
        guest.p1("fd_seek", &args![fd, 0_i64, 3, at]).await,
        e(Invalid)
    );
}

#[tokio::test]
async fn several_buffers_are_one_transfer() {
    let (kernel, mut guest) = aware();
    let fd = guest.open("file", O_CREAT | O_RDWR).await.unwrap();
    let (one, two) = (guest.put(b"one "), guest.put(b"two"));
    let list = guest.iovecs(&[(one, 4), (0, 0), (two, 3)]);
    let count = guest.room(4);
    assert_eq!(guest.p1("fd_write", &args![fd, list, 3, count]).await, 0);
    assert_eq!(guest.u32(count), 7);
    assert_eq!(kernel.read("/data/file"), b"one two");
    assert_eq!(
        guest
            .p1("fd_pread", &args![fd, list, 3, 1_u64, count])
            .await,
        0
    );
    assert_eq!(guest.u32(count), 6);
    assert_eq!(
        (guest.bytes(one, 4), guest.bytes(two, 3)),
        (b"ne t".to_vec(), b"woo".to_vec())
    );
}

#[tokio::test]
async fn pread_and_pwrite_leave_the_offset() {
    let (kernel, mut guest) = aware();
    let fd = guest.open("file", O_CREAT | O_RDWR).await.unwrap();
    let buffer = guest.put(b"abcd");
    let list = guest.iovecs(&[(buffer, 4)]);
    let count = guest.room(4);
    assert_eq!(
        guest
            .p1("fd_pwrite", &args![fd, list, 1, 2_u64, count])
            .await,
        0
    );
    assert_eq!(kernel.read("/data/file"), b"\0\0abcd");
    assert_eq!(
        guest
            .p1("fd_pread", &args![fd, list, 1, 4_u64, count])
            .await,
        0
    );
    assert_eq!(
        (guest.u32(count), guest.bytes(buffer, 2)),
        (2, b"cd".to_vec())
    );
    assert_eq!(guest.p1("fd_tell", &args![fd, count]).await, 0);
    assert_eq!(guest.u64(count), 0);
    let far = u64::MAX;
    assert_eq!(
        guest.p1("fd_pwrite", &args![fd, list, 1, far, count]).await,
        e(Invalid)
    );
}

#[tokio::test]
async fn a_pipe_cannot_be_sought() {
    let (_kernel, mut guest) = aware();
    let ends = guest.room(8);
    assert_eq!(guest.sb("fd_pipe", &args![0, ends, ends + 4]).await, 0);
    let read = guest.u32(ends);
    assert_eq!(
        guest.p1("fd_seek", &args![read, 0_i64, 0, ends]).await,
        e(IllegalSeek)
    );
    assert_eq!(
        guest.p1("fd_tell", &args![read, ends]).await,
        e(IllegalSeek)
    );
    let list = guest.iovecs(&[(1024, 4)]);
    assert_eq!(
        guest
            .p1("fd_pread", &args![read, list, 1, 0_u64, ends])
            .await,
        e(IllegalSeek)
    );
    assert_eq!(guest.p1("fd_sync", &args![read]).await, e(Invalid));
    assert_eq!(
        guest.p1("fd_advise", &args![read, 0_u64, 0_u64, 0]).await,
        e(IllegalSeek)
    );
}

#[tokio::test]
async fn advise_allocate_and_sizes() {
    let (_kernel, mut guest) = aware();
    let fd = guest.open("file", O_CREAT | O_RDWR).await.unwrap();
    assert_eq!(guest.p1("fd_advise", &args![fd, 0_u64, 10_u64, 5]).await, 0);
    assert_eq!(
        guest.p1("fd_advise", &args![fd, 0_u64, 10_u64, 6]).await,
        e(Invalid)
    );
    assert_eq!(guest.p1("fd_allocate", &args![fd, 10_u64, 90_u64]).await, 0);
    assert_eq!(size(&mut guest, fd).await, 100);
    assert_eq!(
        guest.p1("fd_allocate", &args![fd, 0_u64, 0_u64]).await,
        e(Invalid)
    );
    assert_eq!(
        guest.p1("fd_allocate", &args![CWD_FD, 0_u64, 1_u64]).await,
        e(BadFd)
    );
    assert_eq!(guest.p1("fd_filestat_set_size", &args![fd, 7_u64]).await, 0);
    assert_eq!(size(&mut guest, fd).await, 7);
    assert_eq!(
        guest.p1("fd_filestat_set_size", &args![fd, u64::MAX]).await,
        e(Invalid)
    );
    assert_eq!(guest.p1("fd_datasync", &args![fd]).await, 0);
    assert_eq!(guest.p1("fd_sync", &args![fd]).await, 0);
    assert_eq!(guest.p1("fd_close", &args![fd]).await, 0);
    assert_eq!(guest.p1("fd_close", &args![fd]).await, e(BadFd));
}

#[tokio::test]
async fn times_are_set_to_a_value_or_to_now() {
    let (_kernel, mut guest) = aware();
    let fd = guest.open("file", O_CREAT | O_RDWR).await.unwrap();
    let set = |atime: u64, mtime: u64, flags: u32| args![fd, atime, mtime, flags];
    assert_eq!(
        guest.p1("fd_filestat_set_times", &set(11, 22, 1 | 4)).await,
        0
    );
    assert_eq!(times(&mut guest, fd).await, (11, 22));
    assert_eq!(guest.p1("fd_filestat_set_times", &set(99, 33, 4)).await, 0);
    assert_eq!(times(&mut guest, fd).await, (11, 33));
    assert_eq!(guest.p1("fd_filestat_set_times", &set(0, 0, 2)).await, 0);
    let (atime, mtime) = times(&mut guest, fd).await;
    assert!(atime > 1_577_836_800_000_000_000);
    assert_eq!(mtime, 33);
    for both in [1 | 2, 4 | 8, 16] {
        assert_eq!(
            guest.p1("fd_filestat_set_times", &set(0, 0, both)).await,
            e(Invalid)
        );
    }
    let path = guest.put(b"file");
    let set = args![CWD_FD, 1, path, 4, 5_u64, 6_u64, 5];
    assert_eq!(guest.p1("path_filestat_set_times", &set).await, 0);
    assert_eq!(times(&mut guest, fd).await, (5, 6));
}

#[tokio::test]
async fn descriptor_flags_and_types() {
    let (_kernel, mut guest) = aware();
    let fd = guest.open("file", O_CREAT | O_RDWR).await.unwrap();
    let stat = guest.room(24);
    assert_eq!(guest.p1("fd_fdstat_get", &args![fd, stat]).await, 0);
    assert_eq!((guest.bytes(stat, 1)[0], guest.u16(stat + 2)), (4, 0));
    assert_eq!(
        guest.u64(stat + 8) & (READ | WRITE | SEEK_AND_TELL),
        READ | WRITE | SEEK_AND_TELL
    );
    for flags in [1, 4, 1 | 4, 16, 0] {
        assert_eq!(guest.p1("fd_fdstat_set_flags", &args![fd, flags]).await, 0);
        assert_eq!(guest.p1("fd_fdstat_get", &args![fd, stat]).await, 0);
        assert_eq!(i32::from(guest.u16(stat + 2)), flags);
    }
    assert_eq!(
        guest.p1("fd_fdstat_set_flags", &args![fd, 32]).await,
        e(Invalid)
    );
    assert_eq!(guest.p1("fd_fdstat_set_flags", &args![fd, 1]).await, 0);
    guest.write(fd, b"one").await.unwrap();
    assert_eq!(guest.p1("fd_seek", &args![fd, 0_i64, 0, stat]).await, 0);
    guest.write(fd, b"two").await.unwrap();
    assert_eq!(
        size(&mut guest, fd).await,
        6,
        "an appending write goes to the end"
    );

    let null = guest.open("/dev/null", O_RDWR).await.unwrap();
    assert_eq!(guest.p1("fd_fdstat_get", &args![null, stat]).await, 0);
    assert_eq!(guest.bytes(stat, 1)[0], 2);
    assert_eq!(
        guest.u64(stat + 8) & SEEK_AND_TELL,
        SEEK_AND_TELL,
        "or it would be a terminal"
    );
    for directory in [CWD_FD, ROOT_FD] {
        assert_eq!(guest.p1("fd_fdstat_get", &args![directory, stat]).await, 0);
        assert_eq!(guest.bytes(stat, 1)[0], 3);
        assert_eq!(guest.u64(stat + 8) & SEEK_AND_TELL, 0);
    }
}

#[tokio::test]
async fn an_aware_guest_has_no_preopens_but_may_ask_for_the_root() {
    let (_kernel, mut guest) = aware();
    let at = guest.room(8);
    for fd in [0, 3, 4, CWD_FD] {
        assert_eq!(guest.p1("fd_prestat_get", &args![fd, at]).await, e(BadFd));
        assert_eq!(
            guest.p1("fd_prestat_dir_name", &args![fd, at, 8]).await,
            e(BadFd)
        );
    }
    assert_eq!(guest.p1("fd_prestat_get", &args![ROOT_FD, at]).await, 0);
    assert_eq!((guest.u32(at), guest.u32(at + 4)), (0, 1));
    assert_eq!(
        guest
            .p1("fd_prestat_dir_name", &args![ROOT_FD, at, 1])
            .await,
        0
    );
    assert_eq!(guest.bytes(at, 1), b"/");
    assert_eq!(guest.p1("fd_close", &args![ROOT_FD]).await, e(BadFd));
    assert_eq!(guest.p1("fd_close", &args![CWD_FD]).await, e(BadFd));
    assert_eq!(
        guest.p1("fd_renumber", &args![ROOT_FD, CWD_FD]).await,
        e(BadFd)
    );
}

#[tokio::test]
async fn renumbering_needs_two_open_descriptors() {
    let (_kernel, mut guest) = aware();
    let one = guest.open("one", O_CREAT | O_RDWR).await.unwrap();
    let two = guest.open("two", O_CREAT | O_RDWR).await.unwrap();
    guest.write(one, b"from one").await.unwrap();
    assert_eq!(guest.p1("fd_renumber", &args![one, 9]).await, e(BadFd));
    assert_eq!(guest.p1("fd_renumber", &args![9, one]).await, e(BadFd));
    assert_eq!(guest.p1("fd_renumber", &args![one, one]).await, 0);
    assert_eq!(guest.p1("fd_renumber", &args![one, two]).await, 0);
    assert_eq!(guest.p1("fd_close", &args![one]).await, e(BadFd));
    assert_eq!(size(&mut guest, two).await, 8);
}

/// Entries of a directory buffer: cookie, name, kind; and whether the last is cut.
fn entries(buffer: &[u8]) -> (Vec<(u64, String, u8)>, bool) {
    let mut list = Vec::new();
    let mut rest = buffer;
    while let Some((header, tail)) = rest.split_at_checked(24) {
        let cookie = u64::from_le_bytes(header[..8].try_into().unwrap());
        let len = u32::from_le_bytes(header[16..20].try_into().unwrap()) as usize;
        let Some((name, tail)) = tail.split_at_checked(len) else {
            return (list, true);
        };
        list.push((
            cookie,
            String::from_utf8(name.to_vec()).unwrap(),
            header[20],
        ));
        rest = tail;
    }
    (list, !rest.is_empty())
}

#[tokio::test]
async fn a_directory_is_listed_in_pieces_that_join() {
    let (kernel, mut guest) = aware();
    for index in 0..20 {
        kernel.write(&format!("/data/workspace/file-{index:02}"), b"", 0o644);
    }
    kernel.symlink("x", "/data/workspace/link");
    let fd = guest.p1_open(CWD_FD, "workspace", 2, READ).await.unwrap();
    let buffer = guest.room(4096);
    let used = guest.room(4);
    let mut names = Vec::new();
    let mut cookie = 0_u64;
    loop {
        // Room for three entries and a half.
        assert_eq!(
            guest
                .p1("fd_readdir", &args![fd, buffer, 110, cookie, used])
                .await,
            0
        );
        let count = guest.u32(used);
        let (list, cut) = entries(&guest.bytes(buffer, count as usize));
        cookie = list.last().map_or(cookie, |last| last.0);
        names.extend(list.into_iter().map(|(_, name, kind)| (name, kind)));
        if count < 110 {
            assert!(!cut, "a buffer that is not full ends with a whole entry");
            break;
        }
    }
    assert_eq!(names.len(), 23);
    assert_eq!(names[..2], [(".".to_owned(), 3), ("..".to_owned(), 3)]);
    assert!(names.contains(&("file-00".to_owned(), 4)));
    assert!(names.contains(&("link".to_owned(), 7)));
    assert_eq!(
        guest
            .p1("fd_readdir", &args![fd, buffer, 4096, cookie, used])
            .await,
        0
    );
    assert_eq!(guest.u32(used), 0, "behind the last entry");
    assert_eq!(
        guest
            .p1("fd_readdir", &args![fd, buffer, 0, 0_u64, used])
            .await,
        0
    );
    assert_eq!(guest.u32(used), 0, "no room");
    assert_eq!(
        guest
            .p1("fd_readdir", &args![fd, buffer, 10, 0_u64, used])
            .await,
        0
    );
    assert_eq!(guest.u32(used), 10, "not even a header");
    let file = guest.open("file", O_CREAT | O_RDWR).await.unwrap();
    let error = guest
        .p1("fd_readdir", &args![file, buffer, 10, 0_u64, used])
        .await;
    assert_eq!(error, e(NotDirectory));
}

#[tokio::test]
async fn directories_are_made_and_removed() {
    let (_kernel, mut guest) = aware();
    assert_eq!(on_path(&mut guest, "path_create_directory", "dir").await, 0);
    assert_eq!(
        on_path(&mut guest, "path_create_directory", "dir").await,
        e(Exists)
    );
    assert_eq!(
        on_path(&mut guest, "path_create_directory", "no/dir").await,
        e(NotFound)
    );
    assert_eq!(
        on_path(&mut guest, "path_unlink_file", "dir").await,
        e(IsDirectory)
    );
    guest.open("dir/file", O_CREAT | O_RDWR).await.unwrap();
    assert_eq!(
        on_path(&mut guest, "path_remove_directory", "dir").await,
        e(NotEmpty)
    );
    assert_eq!(
        on_path(&mut guest, "path_remove_directory", "dir/file").await,
        e(NotDirectory)
    );
    assert_eq!(on_path(&mut guest, "path_unlink_file", "dir/file").await, 0);
    assert_eq!(
        on_path(&mut guest, "path_unlink_file", "dir/file").await,
        e(NotFound)
    );
    assert_eq!(on_path(&mut guest, "path_remove_directory", "dir").await, 0);
}

#[tokio::test]
async fn links_of_both_kinds() {
    let (kernel, mut guest) = aware();
    kernel.write("/data/file", b"contents", 0o644);
    let file = guest.put(b"file");
    let hard = guest.put(b"hard");
    let soft = guest.put(b"soft");
    let target = guest.put(b"/data/file");
    let link = args![CWD_FD, 0, file, 4, CWD_FD, hard, 4];
    assert_eq!(guest.p1("path_link", &link).await, 0);
    assert_eq!(guest.p1("path_link", &link).await, e(Exists));
    assert_eq!(
        guest
            .p1("path_symlink", &args![target, 10, CWD_FD, soft, 4])
            .await,
        0
    );
    assert_eq!(
        guest
            .p1("path_symlink", &args![target, 10, CWD_FD, soft, 4])
            .await,
        e(Exists)
    );
    assert_eq!(
        kernel.read("/data/soft"),
        b"contents",
        "absolute, as in a chroot"
    );
    let stat = guest.room(64);
    assert_eq!(
        guest
            .p1("path_filestat_get", &args![CWD_FD, 1, soft, 4, stat])
            .await,
        0
    );
    assert_eq!((guest.bytes(stat + 16, 1)[0], guest.u64(stat + 24)), (4, 2));
    assert_eq!(
        guest
            .p1("path_filestat_get", &args![CWD_FD, 0, soft, 4, stat])
            .await,
        0
    );
    assert_eq!(
        (guest.bytes(stat + 16, 1)[0], guest.u64(stat + 32)),
        (7, 10)
    );
    assert_eq!(
        guest
            .p1("path_filestat_get", &args![CWD_FD, 2, soft, 4, stat])
            .await,
        e(Invalid)
    );
    let (buffer, used) = (guest.room(16), guest.room(4));
    let read = args![CWD_FD, soft, 4, buffer, 16, used];
    assert_eq!(guest.p1("path_readlink", &read).await, 0);
    assert_eq!(
        (guest.u32(used), guest.bytes(buffer, 10)),
        (10, b"/data/file".to_vec())
    );
    let short = args![CWD_FD, soft, 4, buffer, 3, used];
    assert_eq!(guest.p1("path_readlink", &short).await, 0);
    assert_eq!(guest.u32(used), 3, "cut off, as readlink(2)");
    let none = args![CWD_FD, hard, 4, buffer, 16, used];
    assert_eq!(guest.p1("path_readlink", &none).await, e(Invalid));
}

#[tokio::test]
async fn renaming_replaces() {
    let (kernel, mut guest) = aware();
    kernel.write("/data/a", b"a", 0o644);
    kernel.write("/data/workspace/b", b"b", 0o644);
    let (a, b) = (guest.put(b"a"), guest.put(b"/data/workspace/b"));
    let rename = args![CWD_FD, a, 1, ROOT_FD, b, 17];
    assert_eq!(guest.p1("path_rename", &rename).await, 0);
    assert_eq!(kernel.read("/data/workspace/b"), b"a");
    assert_eq!(guest.p1("path_rename", &rename).await, e(NotFound));
}

#[tokio::test]
async fn opening_follows_its_flags() {
    let (kernel, mut guest) = aware();
    kernel.write("/data/file", b"contents", 0o644);
    kernel.symlink("file", "/data/link");
    assert_eq!(
        guest.p1_open(CWD_FD, "file", CREATE | 4, READ).await,
        Err(e(Exists))
    );
    assert_eq!(
        guest.p1_open(CWD_FD, "file", 2, READ).await,
        Err(e(NotDirectory))
    );
    assert_eq!(
        guest.p1_open(CWD_FD, "none", 0, READ).await,
        Err(e(NotFound))
    );
    assert_eq!(
        guest.p1_open(CWD_FD, "workspace", 0, READ | WRITE).await,
        Err(e(IsDirectory))
    );
    assert_eq!(
        guest.p1_open(CWD_FD, "link", 0, READ).await,
        Err(e(sandbar::errno::Errno::Loop))
    );
    assert_eq!(
        guest.p1_open(CWD_FD, "file", 16, READ).await,
        Err(e(Invalid))
    );
    let fd = guest.p1_open(CWD_FD, "file", 8, WRITE).await.unwrap();
    assert_eq!(kernel.read("/data/file"), b"");
    assert_eq!(guest.read(fd, 1).await, Err(e(BadFd)));
    let file = guest.p1_open(fd, "x", CREATE, READ).await;
    assert_eq!(
        file,
        Err(e(NotDirectory)),
        "a file is no directory to start from"
    );
    let up = guest.p1_open(CWD_FD, "../../../../bin/idle", 0, READ).await;
    assert!(up.is_ok(), "`..` stops at the root");
}

#[tokio::test]
async fn randomness_fills_all_of_a_large_buffer() {
    let (_kernel, mut guest) = aware();
    let len = 3 * 1024 * 1024 / 2;
    let at = guest.room(len);
    assert_eq!(guest.p1("random_get", &args![at, len]).await, 0);
    for chunk in guest.bytes(at, len).chunks(4096) {
        assert!(chunk.iter().any(|byte| *byte != 0));
    }
    assert_eq!(guest.p1("random_get", &args![at, 0]).await, 0);
    assert_eq!(guest.p1("sched_yield", &[]).await, 0);
}

#[tokio::test]
async fn there_are_no_sockets() {
    let (_kernel, mut guest) = aware();
    let fd = guest.open("file", O_CREAT | O_RDWR).await.unwrap();
    for (name, args) in [
        ("sock_accept", &args![fd, 0, 0][..]),
        ("sock_recv", &args![fd, 0, 0, 0, 0, 0]),
        ("sock_send", &args![fd, 0, 0, 0, 0]),
        ("sock_shutdown", &args![fd, 0]),
    ] {
        assert_eq!(guest.p1(name, args).await, e(NotSocket), "{name}");
        let mut closed = args.to_vec();
        closed[0] = wasmtime::Val::I32(60);
        assert_eq!(guest.p1(name, &closed).await, e(BadFd), "{name}");
    }
}

/// A subscription to a clock, relative.
fn clock(userdata: u64, id: u32, ns: u64, flags: u16) -> Vec<u8> {
    let mut bytes = vec![0; 48];
    bytes[..8].copy_from_slice(&userdata.to_le_bytes());
    bytes[16..20].copy_from_slice(&id.to_le_bytes());
    bytes[24..32].copy_from_slice(&ns.to_le_bytes());
    bytes[40..42].copy_from_slice(&flags.to_le_bytes());
    bytes
}

/// A subscription to a descriptor: 1 to read, 2 to write.
fn descriptor(userdata: u64, kind: u8, fd: u32) -> Vec<u8> {
    let mut bytes = vec![0; 48];
    bytes[..8].copy_from_slice(&userdata.to_le_bytes());
    bytes[8] = kind;
    bytes[16..20].copy_from_slice(&fd.to_le_bytes());
    bytes
}

/// Polls and returns the events: userdata, error, kind, bytes, flags.
async fn poll(guest: &mut Guest, subscriptions: &[Vec<u8>]) -> Vec<(u64, u16, u8, u64, u16)> {
    let list = guest.put(&subscriptions.concat());
    let events = guest.room(32 * subscriptions.len());
    let told = guest.room(4);
    let count = subscriptions.len();
    assert_eq!(
        guest
            .p1("poll_oneoff", &args![list, events, count, told])
            .await,
        0
    );
    (0..guest.u32(told))
        .map(|index| {
            let at = events + 32 * index;
            let kind = guest.bytes(at + 10, 1)[0];
            (
                guest.u64(at),
                guest.u16(at + 8),
                kind,
                guest.u64(at + 16),
                guest.u16(at + 24),
            )
        })
        .collect()
}

#[tokio::test]
async fn polling_waits_for_clocks() {
    let (_kernel, mut guest) = aware();
    let started = std::time::Instant::now();
    let events = poll(
        &mut guest,
        &[clock(1, 1, 1 << 60, 0), clock(2, 0, 5_000_000, 0)],
    )
    .await;
    assert_eq!(events, [(2, 0, 0, 0, 0)]);
    assert!(started.elapsed().as_millis() >= 5);
    let events = poll(&mut guest, &[clock(3, 0, 1, 1)]).await;
    assert_eq!(
        events,
        [(3, 0, 0, 0, 0)],
        "an absolute time that has passed"
    );
    let events = poll(&mut guest, &[clock(4, 1, 0, 0)]).await;
    assert_eq!(events, [(4, 0, 0, 0, 0)], "no time at all");
    let events = poll(&mut guest, &[clock(5, 2, 1, 0), clock(6, 77, 1, 0)]).await;
    assert_eq!(events[0], (5, NotSupported.number(), 0, 0, 0));
    assert_eq!(events[1], (6, Invalid.number(), 0, 0, 0));
}

#[tokio::test]
async fn polling_waits_for_descriptors() {
    let (_kernel, mut guest) = aware();
    let ends = guest.room(8);
    assert_eq!(guest.sb("fd_pipe", &args![0, ends, ends + 4]).await, 0);
    let (read, write) = (guest.u32(ends), guest.u32(ends + 4));
    let both = [
        descriptor(1, 1, read),
        descriptor(2, 2, write),
        clock(3, 1, 5_000_000, 0),
    ];
    assert_eq!(
        poll(&mut guest, &both).await,
        [(2, 0, 2, 0, 0)],
        "only the write end is ready"
    );
    let only_read = [descriptor(1, 1, read), clock(3, 1, 2_000_000, 0)];
    assert_eq!(
        poll(&mut guest, &only_read).await,
        [(3, 0, 0, 0, 0)],
        "nothing to read"
    );
    guest.write(write, b"abc").await.unwrap();
    assert_eq!(poll(&mut guest, &only_read).await, [(1, 0, 1, 3, 0)]);
    guest.read(read, 3).await.unwrap();
    assert_eq!(guest.p1("fd_close", &args![write]).await, 0);
    assert_eq!(
        poll(&mut guest, &only_read).await,
        [(1, 0, 1, 0, 1)],
        "hung up"
    );
    let file = guest.open("file", O_CREAT | O_RDWR).await.unwrap();
    guest.write(file, b"12345").await.unwrap();
    guest.p1("fd_seek", &args![file, 1_i64, 0, ends]).await;
    let files = [
        descriptor(1, 1, file),
        descriptor(2, 2, file),
        descriptor(3, 1, 99),
    ];
    let events = poll(&mut guest, &files).await;
    assert_eq!(
        events,
        [
            (1, 0, 1, 4, 0),
            (2, 0, 2, 0, 0),
            (3, BadFd.number(), 1, 0, 0)
        ]
    );
}

#[tokio::test]
async fn rights_can_only_be_named_as_they_are() {
    let (_kernel, mut guest) = aware();
    let fd = guest.open("file", O_CREAT).await.unwrap();
    let not_capable = e(sandbar::errno::Errno::NotCapable);
    assert_eq!(
        guest
            .p1("fd_fdstat_set_rights", &args![fd, READ, 0_u64])
            .await,
        0
    );
    let more = guest
        .p1("fd_fdstat_set_rights", &args![fd, READ | WRITE, 0_u64])
        .await;
    assert_eq!(more, not_capable);
    let unknown = guest
        .p1("fd_fdstat_set_rights", &args![fd, 1_u64 << 60, 0_u64])
        .await;
    assert_eq!(unknown, not_capable);
    assert_eq!(
        guest.read(fd, 1).await.unwrap(),
        b"",
        "POSIX has nothing to give up"
    );
}
