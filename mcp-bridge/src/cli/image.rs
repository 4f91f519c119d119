//! `sandbar image`: which programs a sandbox has, and getting them ready.

use std::time::Instant;

use sandbar::{Image as ToolsImage, ImageProgram};
use serde::Serialize;

use crate::config;
use crate::error::Failure;
use crate::printer::{Printer, Style};

const EXAMPLES: &str = "\
Examples:
  sandbar image list
  sandbar image inspect --json | jq -r .digest
  sandbar image prepare";

/// Show the tools image, or compile its programs ahead of their first use.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Image {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the programs with their versions and licences
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the image's digest, where it came from, and all that is known of each program
    Inspect {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Compile every program that is not compiled yet; without it each is compiled when it is first run
    Prepare {
        /// Print a line of JSON for each program
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Serialize)]
struct JsonProgram<'a> {
    name: &'a str,
    version: &'a str,
    license: &'a str,
    path: String,
    sha256: &'a str,
    size: u64,
    source: &'a str,
    applets: &'a [String],
}

impl<'a> From<&'a ImageProgram> for JsonProgram<'a> {
    fn from(program: &'a ImageProgram) -> Self {
        Self {
            name: &program.name,
            version: &program.version,
            license: &program.license,
            path: format!("/{}", program.path),
            sha256: &program.sha256,
            size: program.size,
            source: &program.source,
            applets: &program.applets,
        }
    }
}

#[derive(Debug, Serialize)]
struct JsonImage<'a> {
    digest: &'a str,
    origin: &'a str,
    programs: Vec<JsonProgram<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonPrepared<'a> {
    done: usize,
    total: usize,
    program: &'a str,
    seconds: f64,
}

fn json<T: Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(|error| Failure::Usage(error.to_string()))
}

impl Image {
    pub(super) fn run(self, printer: Printer) -> Result<u8, Failure> {
        match self.action {
            Action::List { json } => list(printer, &ToolsImage::find()?, json)?,
            Action::Inspect { json } => inspect(printer, &ToolsImage::find()?, json)?,
            Action::Prepare { json } => prepare(printer, json)?,
        }
        Ok(0)
    }
}

fn programs(image: &ToolsImage) -> Vec<JsonProgram<'_>> {
    image.programs().iter().map(JsonProgram::from).collect()
}

fn list(printer: Printer, image: &ToolsImage, as_json: bool) -> Result<(), Failure> {
    let programs = programs(image);
    if as_json {
        printer.line(&json(&programs)?);
        return Ok(());
    }
    let width = |of: fn(&JsonProgram<'_>) -> usize, title: &str| {
        programs.iter().map(of).max().unwrap_or(0).max(title.len())
    };
    let name = width(|program| program.name.len(), "NAME");
    let version = width(|program| program.version.len(), "VERSION");
    let license = width(|program| program.license.len(), "LICENSE");
    let title = format!(
        "{:name$}  {:version$}  {:license$}  COMMANDS",
        "NAME", "VERSION", "LICENSE"
    );
    printer.line(&printer.styled(Style::Bold, &title));
    for program in &programs {
        let commands = match program.applets {
            [] => program.path.clone(),
            applets => applets.join(" "),
        };
        printer.line(&format!(
            "{:name$}  {:version$}  {:license$}  {commands}",
            program.name, program.version, program.license
        ));
    }
    Ok(())
}

fn inspect(printer: Printer, image: &ToolsImage, as_json: bool) -> Result<(), Failure> {
    let programs = programs(image);
    if as_json {
        let image = JsonImage {
            digest: image.digest().as_str(),
            origin: image.origin(),
            programs,
        };
        printer.line(&json(&image)?);
        return Ok(());
    }
    printer.line(&format!("digest  {}", image.digest()));
    printer.line(&format!("origin  {}", image.origin()));
    for program in &programs {
        printer.line("");
        printer.line(&printer.styled(
            Style::Bold,
            &format!("{} {}", program.name, program.version),
        ));
        printer.line(&format!(
            "  path      {} ({} KiB)",
            program.path,
            program.size / 1024
        ));
        printer.line(&format!("  sha256    {}", program.sha256));
        printer.line(&format!("  licence   {}", program.license));
        printer.line(&format!("  source    {}", program.source));
        if !program.applets.is_empty() {
            printer.line(&format!("  commands  {}", program.applets.join(" ")));
        }
    }
    Ok(())
}

fn prepare(printer: Printer, as_json: bool) -> Result<(), Failure> {
    let engine = config::engine(1)?;
    let runtime = super::runtime()?;
    let started = Instant::now();
    let mut failed = Ok(());
    runtime.block_on(engine.prepare(|progress| {
        let seconds = started.elapsed().as_secs_f64();
        if as_json {
            let line = JsonPrepared {
                done: progress.done,
                total: progress.total,
                program: &progress.program,
                seconds,
            };
            match serde_json::to_string(&line) {
                Ok(line) => printer.line(&line),
                Err(error) => failed = Err(Failure::Usage(error.to_string())),
            }
        } else {
            printer.line(&format!(
                "[{}/{}] {:7.2} s  {}",
                progress.done, progress.total, seconds, progress.program
            ));
        }
    }))?;
    failed
}
