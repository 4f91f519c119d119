//! What a hostile guest passes: no call may panic, hang, allocate without limit or touch what is not the guest's.

use sandbar::errno::Errno::{BadFd, Fault, Invalid, NameTooLong, TooBig};
use sandbar::wasi::{self, Personality};
use wasmtime::Val;

use crate::harness::{CWD_FD, Guest, Kernel, MEMORY, ROOT_FD, args, e};

/// Behind the memory, its last byte, a pointer that wraps with almost any length, and one that is not aligned.
const ADDRESSES: [u32; 5] = [MEMORY, MEMORY - 1, u32::MAX, u32::MAX - 7, 1025];

fn aware() -> (Kernel, Guest) {
    let kernel = Kernel::new();
    let guest = kernel.guest(Personality::Aware);
    (kernel, guest)
}

#[tokio::test]
async fn results_outside_the_memory_are_a_fault_and_change_nothing() {
    let (kernel, mut guest) = aware();
    let fd = guest.open("file", 0o100 | 2).await.unwrap();
    let path = guest.put(b"new");
    let open_before = guest.process.open_fds().len();
    for at in [MEMORY, MEMORY - 3, u32::MAX] {
        for (name, args) in [
            ("args_sizes_get", &args![at, at][..]),
            ("args_get", &args![at, at]),
            ("clock_time_get", &args![1, 0_u64, at]),
            ("clock_res_get", &args![1, at]),
            ("fd_fdstat_get", &args![fd, at]),
            ("fd_filestat_get", &args![fd, at]),
            ("fd_prestat_get", &args![ROOT_FD, at]),
            ("fd_prestat_dir_name", &args![ROOT_FD, MEMORY, 1]),
            ("fd_seek", &args![fd, 1_i64, 0, at]),
            ("fd_tell", &args![fd, at]),
            ("fd_read", &args![fd, path, 0, at]),
            ("fd_write", &args![fd, path, 0, at]),
            ("fd_readdir", &args![CWD_FD, path, 0, 0_u64, at]),
            ("fd_readdir", &args![CWD_FD, at, 64, 0_u64, path]),
            ("path_filestat_get", &args![CWD_FD, 0, path, 0, at]),
            (
                "path_open",
                &args![CWD_FD, 0, path, 3, 1, 2_u64, 0_u64, 0, at],
            ),
            ("poll_oneoff", &args![path, path, 1, at]),
            ("poll_oneoff", &args![path, at, 1, path]),
            ("poll_oneoff", &args![at, path, 1, path]),
            ("random_get", &args![at, 64]),
        ] {
            let error = guest.p1(name, args).await;
            let empty_path = name == "path_filestat_get";
            assert!(
                error == e(Fault) || empty_path && error != 0,
                "{name} at {at:#x}: {error}"
            );
        }
        for (name, args) in [
            ("path_open", &args![CWD_FD, path, 3, 0o100, 0o666, at][..]),
            ("fd_pipe", &args![0, at, path]),
            ("fd_pipe", &args![0, path, at]),
            ("fd_dup", &args![fd, 0, 0, at]),
            ("proc_spawn", &args![path, at]),
            ("proc_ids", &args![0, at]),
            ("sig_word", &args![at & !3]),
            ("sig_take", &args![at]),
            ("proc_umask", &args![0o777, at]),
            ("sig_mask", &args![2, u32::MAX, at]),
        ] {
            // The last whole word of the memory is a good one.
            if at & !3 == MEMORY - 4 && name == "sig_word" {
                continue;
            }
            assert_eq!(guest.sb(name, args).await, e(Fault), "{name} at {at:#x}");
        }
    }
    assert_eq!(
        guest.process.open_fds().len(),
        open_before,
        "no descriptor leaked"
    );
    assert_eq!(guest.process.umask(), 0o022);
    assert_eq!(guest.process.signals().blocked().0, 0);
    assert_eq!(
        guest.open("new", 0).await,
        Err(e(sandbar::errno::Errno::NotFound))
    );
    drop(kernel);
}

#[tokio::test]
async fn lists_that_do_not_fit_are_refused() {
    let (_kernel, mut guest) = aware();
    let fd = guest.open("file", 0o100 | 2).await.unwrap();
    let result = guest.room(4);
    for name in ["fd_read", "fd_write"] {
        assert_eq!(
            guest.p1(name, &args![fd, 1024, u32::MAX, result]).await,
            e(Invalid),
            "2^32 buffers"
        );
        assert_eq!(
            guest.p1(name, &args![fd, 1024, 1025, result]).await,
            e(Invalid)
        );
        assert_eq!(
            guest.p1(name, &args![fd, MEMORY - 8, 2, result]).await,
            e(Fault)
        );
        for (at, len) in [(0, u32::MAX), (MEMORY, 1), (u32::MAX, 1), (MEMORY - 4, 5)] {
            let list = guest.iovecs(&[(1024, 8), (at, len)]);
            assert_eq!(
                guest.p1(name, &args![fd, list, 2, result]).await,
                e(Fault),
                "{name} {at:#x} {len:#x}"
            );
        }
        let list = guest.iovecs(&[(0, MEMORY); 1024]);
        assert_eq!(
            guest.p1(name, &args![fd, list, 1024, result]).await,
            e(Invalid),
            "4 GiB in all"
        );
    }
    assert_eq!(guest.p1("fd_tell", &args![fd, result]).await, 0);
    assert_eq!(guest.u64(result), 0, "nothing was written");
    for count in [0, 8193, u32::MAX] {
        assert_eq!(
            guest.p1("poll_oneoff", &args![0, 0, count, result]).await,
            e(Invalid)
        );
    }
    let mut spawn = vec![0; 64];
    spawn[0] = 64;
    for (at, count) in [(20, u32::MAX), (36, u32::MAX), (20, 1 << 28), (36, 65_537)] {
        let mut bytes = spawn.clone();
        bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(count));
        let request = guest.put(&bytes);
        let error = guest.sb("proc_spawn", &args![request, result]).await;
        assert!(
            [e(Fault), e(Invalid), e(TooBig)].contains(&error),
            "{at} {count}: {error}"
        );
    }
    // As many arguments as memory holds pairs for, all the same long string: it must not be copied that often.
    let mut bytes = spawn;
    let text = guest.put(&[b'x'; 4096]);
    let list = guest.iovecs(&vec![(text, 4096); 100_000]);
    bytes[16..20].copy_from_slice(&list.to_le_bytes());
    bytes[20..24].copy_from_slice(&100_000_u32.to_le_bytes());
    let request = guest.put(&bytes);
    assert_eq!(
        guest.sb("proc_spawn", &args![request, result]).await,
        e(TooBig)
    );
}

#[tokio::test]
async fn paths_are_checked() {
    let (_kernel, mut guest) = aware();
    let long = guest.put(&[b'a'; 5000]);
    let nul = guest.put(b"a\0b");
    let deep = guest.put("a/".repeat(2048).as_bytes());
    for (name, tail) in [
        ("path_create_directory", &[][..]),
        ("path_unlink_file", &[]),
        ("path_remove_directory", &[]),
    ] {
        let call = |at: u32, len: u32| [&args![CWD_FD, at, len][..], tail].concat();
        assert_eq!(guest.p1(name, &call(long, 4096)).await, e(NameTooLong));
        assert_eq!(guest.p1(name, &call(long, 256)).await, e(NameTooLong));
        assert_eq!(guest.p1(name, &call(deep, 4096)).await, e(NameTooLong));
        assert_eq!(
            guest.p1(name, &call(nul, 3)).await,
            e(Invalid),
            "{name} with NUL"
        );
        assert_eq!(guest.p1(name, &call(nul, u32::MAX)).await, e(Fault));
        assert_eq!(guest.p1(name, &call(MEMORY, 1)).await, e(Fault));
        assert_ne!(
            guest.p1(name, &call(nul, 0)).await,
            0,
            "{name} with an empty path"
        );
    }
    assert_eq!(guest.open("a\0b", 0o100).await, Err(e(Invalid)));
    let result = guest.room(4);
    let symlink = args![nul, 3, CWD_FD, long, 3];
    assert_ne!(
        guest.p1("path_symlink", &symlink).await,
        0,
        "a target with NUL"
    );
    let links = args![CWD_FD, long, 3, MEMORY, 4, result];
    assert_ne!(guest.p1("path_readlink", &links).await, 0);
}

#[tokio::test]
async fn descriptors_that_are_none_are_bad() {
    let (_kernel, mut guest) = aware();
    let at = guest.room(96);
    guest.store_at(at, &96_u32.to_le_bytes());
    for fd in [
        0,
        3,
        63,
        64,
        65,
        u32::MAX,
        u32::MAX - 1,
        ROOT_FD - 1,
        CWD_FD + 1,
    ] {
        for (name, args) in [
            ("fd_close", &args![fd][..]),
            ("fd_read", &args![fd, at, 0, at]),
            ("fd_write", &args![fd, at, 0, at]),
            ("fd_seek", &args![fd, 0_i64, 0, at]),
            ("fd_fdstat_get", &args![fd, at]),
            ("fd_readdir", &args![fd, at, 8, 0_u64, at]),
            ("fd_renumber", &args![fd, fd]),
            ("fd_sync", &args![fd]),
            ("path_open", &args![fd, 0, at, 1, 0, 2_u64, 0_u64, 0, at]),
        ] {
            assert_eq!(guest.p1(name, args).await, e(BadFd), "{name} of {fd:#x}");
        }
        for (name, args) in [
            ("fd_getfd", &args![fd, at][..]),
            ("fd_setfd", &args![fd, 0]),
            ("fd_getfl", &args![fd, at]),
            ("fd_stat", &args![fd, at]),
            ("fd_chmod", &args![fd, 0]),
            ("fd_isatty", &args![fd, at]),
            ("fd_flock", &args![fd, 1]),
        ] {
            assert_eq!(guest.sb(name, args).await, e(BadFd), "{name} of {fd:#x}");
        }
    }
}

/// A small generator: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn pick(&mut self) -> u64 {
        let corners = [
            0,
            1,
            2,
            3,
            4,
            8,
            63,
            64,
            0x7fff_ffff,
            0x8000_0000,
            u64::MAX,
            i64::MAX as u64,
        ];
        match self.next() % 4 {
            0 => u64::from(ADDRESSES[usize::try_from(self.next() % 5).unwrap()]),
            1 => self.next(),
            2 => 1024 + self.next() % 4096,
            _ => corners[usize::try_from(self.next() % 12).unwrap()],
        }
    }
}

/// Calls that end or hold up the guest by design, whatever their arguments.
const NOT_TRIED: [&str; 6] = [
    "proc_exit",
    "proc_raise",
    "proc_kill",
    "proc_exec",
    "sig_pause",
    "sig_alarm",
];

#[tokio::test]
async fn random_arguments_harm_nobody() {
    for personality in [Personality::Aware, Personality::Plain] {
        let kernel = Kernel::new();
        let mut guest = kernel.guest(personality);
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        // Memory full of small numbers: structs with plausible sizes, descriptors and pointers.
        let noise: Vec<u8> = (0..8192_u32)
            .flat_map(|_| (numbers.next() % 128).to_le_bytes())
            .collect();
        guest.store_at(1024, &noise);
        let imports = guest.imports();
        for round in 0..6000 {
            let (module, name, shape) =
                &imports[usize::try_from(numbers.next()).unwrap_or(0) % imports.len()];
            if NOT_TRIED.contains(&name.as_str()) {
                continue;
            }
            let arguments: Vec<Val> = shape
                .iter()
                .map(|wide| {
                    let number = numbers.pick();
                    if *wide {
                        Val::I64(number.cast_signed())
                    } else {
                        Val::I32(u32::try_from(number & 0xffff_ffff).unwrap().cast_signed())
                    }
                })
                .collect();
            // Some wait by right: for a pipe that nobody fills, a child that nobody ends.
            let waited = tokio::time::timeout(
                std::time::Duration::from_millis(2),
                guest.call(module, name, &arguments),
            );
            if let Ok(errno) = waited.await {
                assert!(
                    (0..=76).contains(&errno),
                    "{round}: {name}{arguments:?} gives {errno}"
                );
            }
        }
        assert!(guest.process.exit_status().is_none());
    }
}

#[tokio::test]
async fn a_guest_without_memory_gets_faults() {
    let kernel = Kernel::new();
    let text = r#"(module
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (func (export "_start") (call $exit (call $random (i32.const 0) (i32.const 8)))))"#;
    let status = kernel.run(text).await;
    assert_eq!(status.code(), u8::try_from(e(Fault)).unwrap());
    assert_eq!(wasi::PREVIEW_1, "wasi_snapshot_preview1");
}
