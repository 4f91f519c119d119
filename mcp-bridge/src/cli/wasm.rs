//! `sandbar wasm`: one WASI preview 1 module with just the directories it is given.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sandbar::{MountMode, SandboxBuilder, Stdio};

use super::run::{exit_code, follow};
use crate::config::{self, EnvVar};
use crate::error::Failure;
use crate::printer::Printer;
use crate::signals::Interrupts;

const EXAMPLES: &str = "\
Examples:
  sandbar wasm hello.wasm
  sandbar wasm --dir . convert.wasm in.csv out.json
  sandbar wasm --dir ~/photos::/in:ro --dir out::/out --env SIZE=640 resize.wasm

Exit codes are those of `sandbar run`.";

/// Where the module lies in its sandbox.
const MODULE_AT: &str = "/run/module.wasm";
/// Where the given directories lie; a module sees them under their own names.
const DIRECTORIES_AT: &str = "/mnt";

/// Run a WASI preview 1 module with the directories it is given and nothing else.
///
/// The flags are wasmtime's. The module finds the given directories opened under the names they are given, and beside them /dev and
/// /proc, and only the variables that are given.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Wasm {
    /// A directory, under the name GUEST or else under its own; `:ro` makes it read-only
    #[arg(long = "dir", value_name = "HOST[::GUEST][:ro]", value_parser = parse_dir)]
    dirs: Vec<GuestDir>,

    /// A variable of the environment; `NAME` alone takes its value from here
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = config::parse_env)]
    env: Vec<EnvVar>,

    /// What the module finds as its own name; the file's name otherwise
    #[arg(long, value_name = "NAME")]
    argv0: Option<OsString>,

    /// The module's file and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "MODULE"
    )]
    module: Vec<OsString>,
}

/// A directory that a module is given.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GuestDir {
    host: PathBuf,
    name: String,
    mode: MountMode,
}

fn parse_dir(text: &str) -> Result<GuestDir, String> {
    // `a::ro` gives a directory the name `ro`.
    let (rest, mode) = match text.strip_suffix(":ro") {
        Some(rest) if !rest.ends_with(':') => (rest, MountMode::ReadOnly),
        _ => (text, MountMode::ReadWrite),
    };
    let (host, name) = rest.split_once("::").unwrap_or((rest, rest));
    if host.is_empty() || name.is_empty() {
        return Err(format!("`{text}` must be `HOST` or `HOST::GUEST`"));
    }
    Ok(GuestDir {
        host: PathBuf::from(host),
        name: name.to_owned(),
        mode,
    })
}

impl Wasm {
    pub(super) fn run(self, printer: Printer) -> Result<u8, Failure> {
        config::raise_open_files();
        let [module, args @ ..] = self.module.as_slice() else {
            return Err(Failure::Usage("no module was given".into()));
        };
        let bytes = std::fs::read(module).map_err(Failure::io(format!(
            "read `{}`",
            Path::new(module).display()
        )))?;
        let engine = config::engine(1)?;
        let sandbox = self.give_dirs(engine.sandbox()).create()?;
        let files = sandbox.files();
        files.write(MODULE_AT, bytes)?;
        files.set_mode(MODULE_AT, 0o755)?;
        let own_name = Path::new(module).file_name().unwrap_or(module).to_owned();
        let argv0 = self.argv0.unwrap_or(own_name);
        let mut command = sandbox
            .command(MODULE_AT)
            .argv0(argv0.as_bytes())
            .args(args.iter().map(|arg| arg.as_bytes()))
            .env_clear()
            .stdin(Stdio::Inherit)
            .stdout(Stdio::Inherit)
            .stderr(Stdio::Inherit);
        for EnvVar { name, value } in &self.env {
            command = command.env(name, value);
        }
        let (output, interrupt) = super::runtime()?.block_on(async {
            let interrupts = Interrupts::new()?;
            Ok::<_, Failure>(follow(command.spawn()?, interrupts).await)
        })?;
        tracing::debug!(report = ?output.report, "the module has ended");
        let _ = printer;
        Ok(interrupt.map_or_else(|| exit_code(&output), |signal| 128 + signal))
    }

    /// Mounts the directories and says under which names a module finds them.
    fn give_dirs(&self, mut builder: SandboxBuilder) -> SandboxBuilder {
        let mut preopens = Vec::new();
        for (index, dir) in self.dirs.iter().enumerate() {
            let at = format!("{DIRECTORIES_AT}/{index}");
            builder = builder.mount(&dir.host, &at, dir.mode);
            preopens.push((dir.name.clone().into_bytes(), at.into_bytes()));
        }
        // A module without directories finds nothing opened, as with wasmtime.
        for own in ["/dev", "/proc"]
            .into_iter()
            .filter(|_| !self.dirs.is_empty())
        {
            if !self.dirs.iter().any(|dir| dir.name == own) {
                preopens.push((own.into(), own.into()));
            }
        }
        builder.plain_preopens(preopens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_named_as_wasmtime_names_them() {
        let dir = |host: &str, name: &str, mode| GuestDir {
            host: host.into(),
            name: name.into(),
            mode,
        };
        let (ro, rw) = (MountMode::ReadOnly, MountMode::ReadWrite);
        assert_eq!(parse_dir("."), Ok(dir(".", ".", rw)));
        assert_eq!(parse_dir("a/b:ro"), Ok(dir("a/b", "a/b", ro)));
        assert_eq!(parse_dir("a::/in"), Ok(dir("a", "/in", rw)));
        assert_eq!(parse_dir("a::/in:ro"), Ok(dir("a", "/in", ro)));
        assert_eq!(parse_dir("a::ro"), Ok(dir("a", "ro", rw)));
        assert!(parse_dir("").is_err());
        assert!(parse_dir("a::").is_err());
        assert!(parse_dir("::b").is_err());
    }
}
