//! The lists of imports: what the host registers, what the C header declares, what WASI has.

use std::collections::BTreeMap;

use sandbar::wasi::{self, Context};
use wasmtime::{Engine, Linker, Store, ValType};

const HEADER: &str = include_str!("../../../wasi-tools/libc/include/sandbar.h");
const RUST_CRATE: &str = include_str!("../../../wasi-tools/sdk/src/sys/wasi/abi.rs");

/// Preview 1: every function with its parameters, `i` for 32 and `I` for 64 bits.
/// Source: <https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md#functions>.
const PREVIEW_1: &str = "
    args_get ii, args_sizes_get ii, environ_get ii, environ_sizes_get ii, clock_res_get ii, clock_time_get iIi,
    fd_advise iIIi, fd_allocate iII, fd_close i, fd_datasync i, fd_fdstat_get ii, fd_fdstat_set_flags ii,
    fd_fdstat_set_rights iII, fd_filestat_get ii, fd_filestat_set_size iI, fd_filestat_set_times iIIi, fd_pread iiiIi,
    fd_prestat_get ii, fd_prestat_dir_name iii, fd_pwrite iiiIi, fd_read iiii, fd_readdir iiiIi, fd_renumber ii,
    fd_seek iIii, fd_sync i, fd_tell ii, fd_write iiii, path_create_directory iii, path_filestat_get iiiii,
    path_filestat_set_times iiiiIIi, path_link iiiiiii, path_open iiiiiIIii, path_readlink iiiiii,
    path_remove_directory iii, path_rename iiiiii, path_symlink iiiii, path_unlink_file iii, poll_oneoff iiii, proc_exit i,
    proc_raise i, sched_yield, random_get ii, sock_accept iii, sock_recv iiiiii, sock_send iiiii, sock_shutdown ii";

fn registered(module: &str) -> BTreeMap<String, String> {
    let engine = Engine::default();
    let mut linker = Linker::<Context>::new(&engine);
    wasi::add_to_linker(&mut linker).unwrap();
    list(&linker, &engine)
        .into_iter()
        .filter(|(of, ..)| of == module)
        .map(|(_, name, shape)| (name, shape))
        .collect()
}

/// Module, name and parameters of everything in a linker, which takes a store to say.
fn list(linker: &Linker<Context>, engine: &Engine) -> Vec<(String, String, String)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let kernel = crate::harness::Kernel::new();
        let process = kernel.spawn(&[crate::harness::IDLE], "/", Vec::new());
        let context = Context::new(process, wasi::Personality::Aware).unwrap();
        let mut store = Store::new(engine, context);
        let mut list = Vec::new();
        for (module, name, item) in linker.iter(&mut store) {
            list.push((
                module.to_owned(),
                name.to_owned(),
                item.into_func().unwrap(),
            ));
        }
        list.into_iter()
            .map(|(module, name, function)| {
                let kind = function.ty(&store);
                let shape = kind.params().map(|param| letter(&param)).collect();
                let results: String = kind.results().map(|result| letter(&result)).collect();
                assert_eq!(
                    results,
                    if name == "proc_exit" { "" } else { "i" },
                    "result of {name}"
                );
                (module, name, shape)
            })
            .collect()
    })
}

fn letter(kind: &ValType) -> char {
    match kind {
        ValType::I32 => 'i',
        ValType::I64 => 'I',
        other => panic!("no import has a {other}"),
    }
}

fn declared(header: &str) -> BTreeMap<String, String> {
    let mut declared = BTreeMap::new();
    for declaration in header.split("SANDBAR_IMPORT(").skip(1) {
        let Some((name, rest)) = declaration.split_once(')') else {
            continue;
        };
        // The macro's own definition has the parameter `name`, and its text follows.
        let Some((_, rest)) = rest.split_once(&format!("sandbar_{name}(")) else {
            assert_eq!(name, "name", "a declaration of {name} without its function");
            continue;
        };
        let (parameters, _) = rest.split_once(')').unwrap();
        let shape = parameters
            .split(',')
            .map(str::trim)
            .filter(|parameter| *parameter != "void")
            .map(|parameter| {
                let wide = parameter.starts_with("uint64_t") || parameter.starts_with("int64_t");
                if wide && !parameter.contains('*') {
                    'I'
                } else {
                    'i'
                }
            })
            .collect();
        declared.insert(name.to_owned(), shape);
    }
    declared
}

#[test]
fn the_header_declares_what_the_host_registers() {
    let declared = declared(HEADER);
    assert!(declared.len() > 30, "the header was not understood");
    assert_eq!(registered(wasi::SANDBAR), declared);
}

#[test]
fn preview_1_is_complete() {
    let expected: BTreeMap<String, String> = PREVIEW_1
        .split(',')
        .map(|line| {
            let (name, shape) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            (name.to_owned(), shape.to_owned())
        })
        .collect();
    assert_eq!(expected.len(), 46);
    assert_eq!(registered(wasi::PREVIEW_1), expected);
}

/// Functions of the Rust crate's `extern` block for a module.
fn declared_in_rust(source: &str, module: &str) -> BTreeMap<String, String> {
    let (_, block) = source
        .split_once(&format!("#[link(wasm_import_module = \"{module}\")]"))
        .unwrap();
    let (block, _) = block.split_once("\n}").unwrap();
    let mut declared = BTreeMap::new();
    for declaration in block.split("fn ").skip(1) {
        let (name, rest) = declaration.split_once('(').unwrap();
        let (parameters, _) = rest.split_once(')').unwrap();
        let shape = parameters
            .split(',')
            .filter_map(|parameter| parameter.split_once(':'))
            .map(|(_, kind)| match kind.trim() {
                "u64" | "i64" => 'I',
                _ => 'i',
            })
            .collect();
        declared.insert(name.to_owned(), shape);
    }
    declared
}

#[test]
fn the_rust_crate_declares_what_the_host_registers() {
    for module in [wasi::SANDBAR, wasi::PREVIEW_1] {
        let registered = registered(module);
        let declared = declared_in_rust(RUST_CRATE, module);
        assert!(!declared.is_empty(), "`{module}` was not understood");
        for (name, shape) in declared {
            assert_eq!(registered.get(&name), Some(&shape), "{name} of `{module}`");
        }
    }
}
