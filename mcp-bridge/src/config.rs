//! Arguments and environment → typed settings; text only up to here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbar::{Ceilings, Engine, Limits, MountMode, SandboxBuilder, WORKSPACE};

use crate::error::Failure;

/// A host directory that a sandbox sees.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostMount {
    /// The directory, absolute and with every link resolved.
    pub host: PathBuf,
    /// Where it is in the sandbox, absolute.
    pub at: String,
    /// Whether guests change it.
    pub mode: MountMode,
}

/// A variable of a sandbox's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnvVar {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// `500ms`, `2s`, `1.5m`, `1h`; a number alone is in seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration; write `500ms`, `2s`, `1m` or `1h`");
    let unit_at = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// A duration above zero.
pub(crate) fn parse_limit(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("a limit must be more than 0".into()),
        limit => Ok(limit),
    }
}

/// `65536`, `64K`, `64M`, `1G`, also `64MiB`; units are powers of 1,024.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size; write bytes or `512K`, `64M`, `1G`");
    let unit_at = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let factor: u64 = match unit {
        "" => 1,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    match number.checked_mul(factor) {
        Some(size) if size > 0 => Ok(size),
        _ => Err(wrong()),
    }
}

/// `NAME=VALUE`; a name alone takes the value that the caller's environment has.
pub(crate) fn parse_env(text: &str) -> Result<EnvVar, String> {
    let Some((name, value)) = text.split_once('=') else {
        let value = std::env::var(text)
            .map_err(|_| format!("`{text}` is not set here; write `{text}=VALUE`"))?;
        return Ok(EnvVar {
            name: text.to_owned(),
            value,
        });
    };
    if name.is_empty() {
        return Err(format!("`{text}` has no name before `=`"));
    }
    Ok(EnvVar {
        name: name.to_owned(),
        value: value.to_owned(),
    })
}

fn split_mode(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((rest, mode @ ("ro" | "rw" | "overlay"))) => (rest, Some(mode)),
        _ => (text, None),
    }
}

fn mode(text: Option<&str>) -> Result<MountMode, String> {
    match text {
        // Until there are durable overlays: the mode in which nothing on the host changes.
        None | Some("ro") => Ok(MountMode::ReadOnly),
        Some("rw") => Ok(MountMode::ReadWrite),
        Some(other) => Err(format!("mode `{other}` is not supported; use `ro` or `rw`")),
    }
}

fn host_directory(text: &str) -> Result<PathBuf, String> {
    let path =
        std::fs::canonicalize(text).map_err(|error| format!("directory `{text}`: {error}"))?;
    if path.is_dir() {
        Ok(path)
    } else {
        Err(format!("`{text}` is not a directory"))
    }
}

/// `DIR[:ro|:rw]`, mounted as the workspace. Without a mode it is read-only.
pub(crate) fn parse_workspace(text: &str) -> Result<HostMount, String> {
    let (dir, given) = split_mode(text);
    let host = host_directory(dir)?;
    let home = std::env::var_os("HOME").and_then(|home| std::fs::canonicalize(home).ok());
    refuse_too_much(&host, home.as_deref())?;
    Ok(HostMount {
        host,
        at: WORKSPACE.to_owned(),
        mode: mode(given)?,
    })
}

// SECURITY[SB-MCP-001]: a slip of a flag must not hand over a whole machine or a home directory.
fn refuse_too_much(host: &Path, home: Option<&Path>) -> Result<(), String> {
    if host.parent().is_none() || Some(host) == home {
        return Err(format!(
            "`{}` is more than one project; name the project's directory",
            host.display()
        ));
    }
    Ok(())
}

/// `HOST:SANDBOX[:ro|:rw]`. Without a mode it is read-only.
pub(crate) fn parse_mount(text: &str) -> Result<HostMount, String> {
    let (rest, given) = split_mode(text);
    let Some((host, at)) = rest.rsplit_once(':') else {
        return Err(format!(
            "`{text}` must be `HOST:SANDBOX`, with `:ro` or `:rw` behind it if wanted"
        ));
    };
    if !at.starts_with('/') {
        return Err(format!("`{at}` must be an absolute path in the sandbox"));
    }
    Ok(HostMount {
        host: host_directory(host)?,
        at: at.to_owned(),
        mode: mode(given)?,
    })
}

/// What `run` and `mcp` take to set a sandbox up.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SandboxArgs {
    /// A project's directory as /data/workspace; read-only unless `:rw` stands behind it. Without one the workspace is an empty
    /// scratch directory
    #[arg(long, value_name = "DIR[:ro|:rw]", value_parser = parse_workspace)]
    pub(crate) workspace: Option<HostMount>,

    /// Another host directory, at an absolute path of the sandbox; read-only unless `:rw` stands behind it
    #[arg(long = "mount", value_name = "HOST:SANDBOX[:ro|:rw]", value_parser = parse_mount)]
    pub(crate) mounts: Vec<HostMount>,

    /// A variable of the environment; `NAME` alone takes its value from here
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = parse_env)]
    pub(crate) env: Vec<EnvVar>,
}

impl SandboxArgs {
    /// All host directories, the workspace first.
    pub(crate) fn all_mounts(&self) -> Vec<HostMount> {
        self.workspace.iter().chain(&self.mounts).cloned().collect()
    }

    /// The environment as pairs.
    pub(crate) fn env_pairs(&self) -> Vec<(String, String)> {
        self.env
            .iter()
            .map(|var| (var.name.clone(), var.value.clone()))
            .collect()
    }
}

/// Adds host directories and variables to a sandbox.
pub(crate) fn furnish(
    mut builder: SandboxBuilder,
    mounts: &[HostMount],
    env: &[(String, String)],
) -> SandboxBuilder {
    for mount in mounts {
        builder = builder.mount(&mount.host, &mount.at, mount.mode);
    }
    for (name, value) in env {
        builder = builder.env(name, value);
    }
    builder
}

/// Where this program keeps what must outlive it: `SANDBAR_STATE_DIR`, else `sandbar` in the user's directory for such things.
pub(crate) fn state_dir() -> Option<PathBuf> {
    let set = |variable: &str| {
        std::env::var_os(variable)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let base = || {
        let folder = if cfg!(target_os = "macos") {
            "Library/Application Support"
        } else {
            ".local/state"
        };
        set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(folder)))
    };
    set("SANDBAR_STATE_DIR").or_else(|| Some(base()?.join("sandbar")))
}

/// The engine of this program: default image and cache, this program as the compiler of guests' own modules. No mount reaches
/// what this program keeps.
///
/// `sandboxes` is how many it holds at a time. Places for processes cost time at start, a millisecond for some hundred, so there are
/// no more than those can use, up to the engine's own default.
pub(crate) fn engine(sandboxes: usize) -> Result<Engine, Failure> {
    let mut ceilings = Ceilings::default();
    let wanted = Limits::default()
        .processes
        .saturating_mul(u32::try_from(sandboxes).unwrap_or(u32::MAX));
    ceilings.processes = ceilings.processes.min(wanted);
    let mut builder = Engine::builder().ceilings(ceilings);
    if let Some(dir) = state_dir() {
        builder = builder.protect(dir);
    }
    match std::env::current_exe() {
        Ok(program) => builder = builder.compiler(program),
        Err(error) => tracing::warn!(%error, "guests' own modules are compiled in this process"),
    }
    Ok(builder.build()?)
}

/// Raises the number of files that this process may have open to what the system allows: a sandbox's mounts and its guests' files
/// are open here, and the usual soft limit is 1,024.
pub(crate) fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    if let Err(error) = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    ) {
        tracing::debug!(%error, ?maximum, "the limit of open files stays as it is");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_a_bare_number_is_seconds() {
        let cases = [
            ("500ms", 500),
            ("2s", 2000),
            ("1.5m", 90_000),
            ("1h", 3_600_000),
            ("7", 7000),
            ("0", 0),
        ];
        for (text, millis) in cases {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
        for text in ["", "s", "2d", "-1s", "1e400s", "2 s", "NaN", "inf"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert!(parse_limit("0ms").is_err());
    }

    #[test]
    fn sizes_are_powers_of_1024_and_never_zero() {
        let cases = [
            ("1", 1),
            ("512K", 512 << 10),
            ("64M", 64 << 20),
            ("1G", 1 << 30),
            ("2MiB", 2 << 20),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "M", "1MB", "-1", "1.5G", "99999999999T"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_variable_needs_a_name_and_may_have_an_empty_value() {
        let var = |name: &str, value: &str| EnvVar {
            name: name.into(),
            value: value.into(),
        };
        assert_eq!(parse_env("A=b=c"), Ok(var("A", "b=c")));
        assert_eq!(parse_env("A="), Ok(var("A", "")));
        assert!(parse_env("=x").is_err());
        assert!(
            parse_env("SANDBAR_TEST_NOT_SET_ANYWHERE").is_err_and(|text| text.contains("not set"))
        );
    }

    #[test]
    fn mounts_name_an_existing_directory_and_an_absolute_place() {
        let dir = tempfile::tempdir().expect("a directory");
        let host = std::fs::canonicalize(dir.path()).expect("a path");
        let text = |suffix: &str| format!("{}{suffix}", host.display());
        let mount = |at: &str, mode| HostMount {
            host: host.clone(),
            at: at.into(),
            mode,
        };
        assert_eq!(
            parse_mount(&text(":/src")),
            Ok(mount("/src", MountMode::ReadOnly))
        );
        assert_eq!(
            parse_mount(&text(":/src:ro")),
            Ok(mount("/src", MountMode::ReadOnly))
        );
        assert_eq!(
            parse_mount(&text(":/src:rw")),
            Ok(mount("/src", MountMode::ReadWrite))
        );
        assert!(parse_mount(&text(":src")).is_err_and(|text| text.contains("absolute")));
        assert!(parse_mount(&text("")).is_err_and(|text| text.contains("HOST:SANDBOX")));
        assert!(parse_mount(&text(":/src:overlay")).is_err_and(|text| text.contains("overlay")));
        assert!(parse_mount(&text("/missing:/src")).is_err_and(|text| text.contains("missing")));
        assert_eq!(
            parse_workspace(&text("")),
            Ok(mount(WORKSPACE, MountMode::ReadOnly))
        );
        assert_eq!(
            parse_workspace(&text(":rw")),
            Ok(mount(WORKSPACE, MountMode::ReadWrite))
        );
    }

    #[test]
    fn the_whole_machine_and_the_home_directory_are_no_workspace() {
        let home = Path::new("/home/someone");
        assert!(refuse_too_much(Path::new("/"), Some(home)).is_err());
        assert!(refuse_too_much(home, Some(home)).is_err());
        assert_eq!(
            refuse_too_much(Path::new("/home/someone/project"), Some(home)),
            Ok(())
        );
    }
}
