//! Compiled programs: in memory, and on disk so that nothing is compiled twice.
//!
//! SECURITY[SB-RT-002]: compiled code is native code, and wasmtime does not notice damage to it. So the cache is a directory that only
//! this user can enter; an entry is written under another name, made durable, renamed, and never changed in place; its SHA-256
//! stands in an index together with the file's identity. An entry whose identity is not the index's is hashed again, and one whose
//! hash is not the index's is thrown away and compiled anew. The file that was checked is the file that is mapped.
#![expect(
    unsafe_code,
    reason = "loading compiled code is unsafe; the invariants above make it sound"
)]

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;
use wasmtime::{Engine, InstancePre, Linker, Module};

use super::cache_dir::{CacheDir, Entry};
use super::compile::{check_module, compile_in_child};
use super::config::{self, FlavourKind};
use super::executor::{Runtime, RuntimeOptions};
use super::guest::Guest;
use crate::error::{ErrorKind, Result};
use crate::limits::{GUEST_CACHE_BYTES, GUEST_MODULES_LOADED, ModuleLimits};
use crate::process::Program;
use crate::vfs::OpenFile;
use crate::wasi::{self, Personality};

/// The key of compiled code: SHA-256 over the module, the engine's settings and wasmtime's version.
pub(super) type ModuleKey = [u8; 32];

/// A program that is ready to be instantiated.
pub(super) struct Loaded {
    pub(super) pre: InstancePre<Guest>,
    pub(super) personality: Personality,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("personality", &self.personality)
            .finish_non_exhaustive()
    }
}

/// What the cache has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Modules compiled.
    pub compiled: u64,
    /// Modules taken from disk.
    pub from_disk: u64,
    /// Entries on disk that were thrown away.
    pub rejected: u64,
}

type Cell = Arc<OnceCell<std::result::Result<Arc<Loaded>, Arc<str>>>>;

#[derive(Default)]
struct LoadedModules {
    image: HashMap<[u8; 32], Cell>,
    /// Guests' own, the most recently used last.
    guests: Vec<([u8; 32], Cell)>,
}

/// Compiled programs of one engine flavour.
pub(super) struct ModuleCache {
    engine: Engine,
    linker: Linker<Guest>,
    kind: FlavourKind,
    settings: Vec<u8>,
    image_dir: Option<CacheDir>,
    guest_dir: Option<CacheDir>,
    compiler: Option<PathBuf>,
    loaded: Mutex<LoadedModules>,
    compiled: AtomicU64,
    from_disk: AtomicU64,
    rejected: AtomicU64,
}

impl ModuleCache {
    pub(super) fn new(kind: FlavourKind, options: &RuntimeOptions) -> Result<Self> {
        let (engine, _) = config::engine(kind, options.processes)?;
        let mut linker = Linker::new(&engine);
        wasi::add_to_linker(&mut linker).map_err(|error| ErrorKind::Runtime {
            what: "define the system calls",
            reason: format!("{error:#}"),
        })?;
        let open = |name: &str| match &options.cache_dir {
            Some(dir) => CacheDir::open(&dir.join(name)).map(Some),
            None => Ok(None),
        };
        let (image_dir, guest_dir) = (open("image")?, open("guest")?);
        let mut settings = Settings::default();
        engine.precompile_compatibility_hash().hash(&mut settings);
        Ok(Self {
            engine,
            linker,
            kind,
            settings: settings.0,
            image_dir,
            guest_dir,
            compiler: options.compiler.clone(),
            loaded: Mutex::default(),
            compiled: AtomicU64::new(0),
            from_disk: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
        })
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn stats(&self) -> CacheStats {
        CacheStats {
            compiled: self.compiled.load(Ordering::Relaxed),
            from_disk: self.from_disk.load(Ordering::Relaxed),
            rejected: self.rejected.load(Ordering::Relaxed),
        }
    }

    /// Key of a module's compiled code.
    fn key(&self, digest: &[u8; 32]) -> ModuleKey {
        let mut hasher = Sha256::new();
        hasher.update(digest);
        hasher.update(&self.settings);
        hasher.update(b"wasmtime 48");
        hasher.finalize().into()
    }

    /// The program ready to run, compiled at most once however many ask for it.
    pub(super) async fn load(
        &self,
        runtime: &Arc<Runtime>,
        program: &Program,
    ) -> std::result::Result<Arc<Loaded>, Arc<str>> {
        let Program::Module { inode, file, .. } = program else {
            return Err("not a module".into());
        };
        let from_image = inode.content_digest();
        let (digest, wasm) = if let Some(digest) = from_image {
            (digest, None)
        } else {
            let wasm = read_whole(&**file, ModuleLimits::IN_CHILD.module_bytes)?;
            (Sha256::digest(&wasm).into(), Some(wasm))
        };
        let cell = self.cell(digest, from_image.is_some());
        if let Some(done) = cell.get() {
            return done.clone();
        }
        let job = Job {
            digest,
            wasm,
            file: Arc::clone(file),
        };
        cell.get_or_init(|| async {
            let runtime = Arc::clone(runtime);
            let kind = self.kind;
            let work = move || match runtime.modules(kind) {
                Ok(cache) => cache.prepare(&job),
                Err(error) => Err(error.as_str().into()),
            };
            match tokio::task::spawn_blocking(work).await {
                Ok(result) => result.map(Arc::new),
                Err(_) => {
                    Err("the compiler failed; this is a bug of Sandbar's or wasmtime's".into())
                }
            }
        })
        .await
        .clone()
    }

    fn cell(&self, digest: [u8; 32], from_image: bool) -> Cell {
        let mut loaded = self.loaded.lock();
        if from_image {
            return Arc::clone(loaded.image.entry(digest).or_default());
        }
        let cell = match loaded.guests.iter().position(|(known, _)| *known == digest) {
            Some(index) => loaded.guests.remove(index).1,
            None => Cell::default(),
        };
        loaded.guests.push((digest, Arc::clone(&cell)));
        if loaded.guests.len() > GUEST_MODULES_LOADED {
            loaded.guests.remove(0);
        }
        cell
    }

    fn prepare(&self, job: &Job) -> std::result::Result<Loaded, Arc<str>> {
        let key = self.key(&job.digest);
        let dir = if job.wasm.is_none() {
            &self.image_dir
        } else {
            &self.guest_dir
        };
        // Held until the entry is there: another process that wants it waits instead of compiling it too.
        let lock = dir.as_ref().map(|dir| dir.lock(&key));
        let module = match dir.as_ref().and_then(|dir| self.load_from_disk(dir, &key)) {
            Some(module) => module,
            None => self.compile(job, dir.as_ref(), &key)?,
        };
        drop(lock);
        let personality = wasi::personality_of(&module);
        if module.get_export("_start").is_none() {
            return Err("it has no `_start`: a library, not a program".into());
        }
        let pre = self.linker.instantiate_pre(&module).map_err(|error| {
            Arc::from(format!(
                "{error:#}; WASI preview 1 and sandbar_v1 are provided"
            ))
        })?;
        Ok(Loaded { pre, personality })
    }

    fn load_from_disk(&self, dir: &CacheDir, key: &ModuleKey) -> Option<Module> {
        match dir.get(key) {
            Entry::Good(file) => {
                // SAFETY: the open file's identity or hash is the index's, so it holds what this user's Sandbar wrote for these very
                // settings, and nobody changes an entry in place.
                let module = unsafe { Module::deserialize_open_file(&self.engine, file) };
                match module {
                    Ok(module) => {
                        self.from_disk.fetch_add(1, Ordering::Relaxed);
                        return Some(module);
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a cache entry was refused and is compiled anew");
                    }
                }
            }
            Entry::Missing => return None,
            Entry::Damaged => tracing::warn!("a damaged cache entry is compiled anew"),
        }
        self.rejected.fetch_add(1, Ordering::Relaxed);
        dir.remove(key);
        None
    }

    fn compile(
        &self,
        job: &Job,
        dir: Option<&CacheDir>,
        key: &ModuleKey,
    ) -> std::result::Result<Module, Arc<str>> {
        let (code, dir_limit) = match &job.wasm {
            None => {
                let wasm = read_whole(&*job.file, usize::MAX)?;
                // SECURITY[SB-IMG-001]: the layer is a file that something else may have changed.
                if Sha256::digest(&wasm)[..] != job.digest {
                    return Err("the image's program is not what its manifest says".into());
                }
                (self.compile_here(&wasm)?, u64::MAX)
            }
            Some(wasm) => (self.compile_guest(wasm)?, GUEST_CACHE_BYTES),
        };
        self.compiled.fetch_add(1, Ordering::Relaxed);
        let stored = dir.map(|dir| dir.put(key, &code, dir_limit));
        match stored {
            // From the file: the mapping is shared with every other process that runs it.
            Some(Ok(file)) => {
                // SAFETY: it was just written by this process from what its own compiler gave.
                unsafe { Module::deserialize_open_file(&self.engine, file) }
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "compiled code cannot be kept on disk");
                // SAFETY: the bytes come from this process's own compiler.
                unsafe { Module::deserialize(&self.engine, &code) }
            }
            None => {
                // SAFETY: the bytes come from this process's own compiler.
                unsafe { Module::deserialize(&self.engine, &code) }
            }
        }
        .map_err(|error| Arc::from(format!("{error:#}")))
    }

    fn compile_guest(&self, wasm: &[u8]) -> std::result::Result<Vec<u8>, Arc<str>> {
        let Some(compiler) = &self.compiler else {
            check_module(wasm, &ModuleLimits::IN_PROCESS)?;
            return self.compile_here(wasm);
        };
        check_module(wasm, &ModuleLimits::IN_CHILD)?;
        let flavour = match self.kind {
            FlavourKind::Epoch => "epoch",
            FlavourKind::Fuel => "fuel",
        };
        Ok(compile_in_child(compiler, flavour, wasm)?)
    }

    fn compile_here(&self, wasm: &[u8]) -> std::result::Result<Vec<u8>, Arc<str>> {
        self.engine
            .precompile_module(wasm)
            .map_err(|error| Arc::from(format!("{error:#}")))
    }
}

/// Compiles a module from bytes: what `compile-module` does in the child.
///
/// # Errors
/// A sentence of Cranelift's.
pub fn compile_module(flavour: &str, wasm: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let kind = match flavour {
        "epoch" => FlavourKind::Epoch,
        "fuel" => FlavourKind::Fuel,
        other => return Err(format!("no such flavour: {other}")),
    };
    check_module(wasm, &ModuleLimits::IN_CHILD)?;
    let engine = config::compiler(kind).map_err(|error| error.to_string())?;
    engine
        .precompile_module(wasm)
        .map_err(|error| format!("{error:#}"))
}

struct Job {
    digest: [u8; 32],
    /// The module's bytes where it is a guest's own; the image's are read when they must be compiled.
    wasm: Option<Vec<u8>>,
    file: Arc<dyn OpenFile>,
}

fn read_whole(file: &dyn OpenFile, limit: usize) -> std::result::Result<Vec<u8>, Arc<str>> {
    let size = file
        .stat()
        .map_err(|errno| Arc::from(errno.message()))?
        .size;
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if size > limit {
        return Err(format!("the module has {size} bytes, at most {limit} are allowed").into());
    }
    let mut bytes = vec![0; size];
    let mut done = 0;
    while done < size {
        match file.read_at(&mut bytes[done..], done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(errno) => return Err(errno.message().into()),
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}

/// Collects what wasmtime hashes, so that the key is a cryptographic hash of it.
#[derive(Default)]
struct Settings(Vec<u8>);

impl Hasher for Settings {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}
