//! What is generated from the code, or must agree with it. With `UPDATE_DOCS=1` it is written instead of compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use sandbar::{Ceilings, Limits};

use super::{root, text};

const GENERATED: &str =
    "<!-- Generated: `UPDATE_DOCS=1 cargo test --workspace docs` writes this file. -->\n";

/// Compares a generated document with what is kept, or writes it.
#[track_caller]
fn check(path: &str, fresh: &str) {
    let place = root().join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(place.parent().expect("a folder"))
            .expect("the folder of the document");
        std::fs::write(&place, fresh).expect("the document can be written");
        return;
    }
    let kept = std::fs::read_to_string(&place).unwrap_or_default();
    assert!(
        kept == fresh,
        "{path} is not what the code says; `UPDATE_DOCS=1 cargo test --workspace docs` writes it"
    );
}

/// Something that has a doc comment: a struct, its fields, a constant with its value.
#[derive(Debug, PartialEq)]
enum Item {
    Struct {
        name: String,
        doc: String,
    },
    Field {
        name: String,
        doc: String,
    },
    Constant {
        name: String,
        doc: String,
        value: String,
    },
}

/// Documented items of a source file, in its order.
fn items(source: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut doc = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            doc.push_str(text);
            continue;
        }
        if line.starts_with("#[") || line.starts_with("// ") {
            continue;
        }
        let doc = std::mem::take(&mut doc)
            .trim()
            .replace("[`", "`")
            .replace("`]", "`");
        let public = line
            .strip_prefix("pub(crate) ")
            .or_else(|| line.strip_prefix("pub "))
            .unwrap_or_default();
        if let Some(rest) = public.strip_prefix("struct ") {
            items.push(Item::Struct {
                name: rest.trim_end_matches(" {").to_owned(),
                doc,
            });
        } else if let Some(rest) = public.strip_prefix("const ") {
            let (name, rest) = rest.split_once(':').expect("a type");
            let mut value = rest
                .split_once("= ")
                .map_or("", |(_, value)| value)
                .to_owned();
            while !value.ends_with(';') {
                value.push(' ');
                value.push_str(lines.next().expect("the constant's end").trim());
            }
            let value = value
                .trim_end_matches(';')
                .replace("Self { ", "")
                .replace(", }", "");
            items.push(Item::Constant {
                name: name.to_owned(),
                doc,
                value,
            });
        } else if let (Some((name, _)), false) = (public.split_once(':'), public.contains('(')) {
            items.push(Item::Field {
                name: name.to_owned(),
                doc,
            });
        }
    }
    items
}

fn limits_section(out: &mut String, source: &str) {
    let mut table = "";
    for item in items(source) {
        match item {
            Item::Struct { name, doc } => {
                write!(out, "\n### `{name}`\n\n{doc}\n").expect("a string takes all");
                table = "";
            }
            Item::Field { name, doc } => {
                if table != "fields" {
                    out.push_str("\n| field | what it limits |\n| --- | --- |\n");
                    table = "fields";
                }
                writeln!(out, "| `{name}` | {doc} |").expect("a string takes all");
            }
            Item::Constant { name, doc, value } => {
                if table != "constants" {
                    out.push_str("\n| constant | value | what it limits |\n| --- | --- | --- |\n");
                    table = "constants";
                }
                writeln!(out, "| `{name}` | `{value}` | {doc} |").expect("a string takes all");
            }
        }
    }
}

#[test]
fn the_reference_of_limits_is_what_the_code_says() {
    let mut out = format!("{GENERATED}# Limits\n");
    out.push_str(
        "\nA limit that is hit is an ordinary failure of the guest, named in its error.\n",
    );
    out.push_str("\n## Engine\n\nFrom [`engine/src/limits.rs`](../../engine/src/limits.rs).\n");
    limits_section(&mut out, &text("engine/src/limits.rs"));
    out.push_str("\n## MCP server and command line\n\nFrom [`mcp-bridge/src/limits.rs`](../../mcp-bridge/src/limits.rs).\n");
    limits_section(&mut out, &text("mcp-bridge/src/limits.rs"));
    check("docs/reference/limits.md", &out);
}

/// The number after `Default ` in a doc comment.
fn default_in(doc: &str) -> Option<u64> {
    let mut words = doc.split("Default ").nth(1)?.split(' ');
    let number: u64 = words
        .next()?
        .trim_end_matches(['.', ':', ','])
        .replace(',', "")
        .parse()
        .ok()?;
    Some(match words.next().unwrap_or_default().get(..3) {
        Some("KiB") => number << 10,
        Some("MiB") => number << 20,
        Some("GiB") => number << 30,
        _ => number,
    })
}

#[test]
fn documented_defaults_are_the_real_ones() {
    let (limits, ceilings) = (Limits::default(), Ceilings::default());
    let real: BTreeMap<&str, u64> = [
        ("process_memory_bytes", limits.process_memory_bytes),
        ("memory_bytes", limits.memory_bytes),
        ("processes", u64::from(limits.processes)),
        ("open_files", u64::from(limits.open_files)),
        ("disk_bytes", limits.disk_bytes),
        ("disk_files", limits.disk_files),
        ("memory_fs_bytes", limits.memory_fs_bytes),
        ("memory_fs_files", limits.memory_fs_files),
        ("output_bytes", limits.output_bytes),
        ("Ceilings sandboxes", ceilings.sandboxes as u64),
        ("Ceilings processes", u64::from(ceilings.processes)),
    ]
    .into();
    let mut prefix = "";
    let mut checked = 0;
    for item in items(&text("engine/src/limits.rs")) {
        match item {
            Item::Struct { name, .. } => prefix = if name == "Ceilings" { "Ceilings " } else { "" },
            Item::Field { name, doc } => {
                let name = format!("{prefix}{name}");
                let Some(documented) = default_in(&doc) else {
                    continue;
                };
                assert_eq!(real.get(name.as_str()), Some(&documented), "{name}: {doc}");
                checked += 1;
            }
            Item::Constant { .. } => {}
        }
    }
    assert_eq!(checked, real.len());
}

#[test]
fn items_are_read_with_their_comments() {
    let source = "/// A thing.\n#[derive(Debug)]\npub struct Thing {\n    /// Its [`Size`]\n    /// in bytes. Default 2 KiB.\n    pub size: u64,\n}\n\
                  /// Most.\npub const MOST: usize = 8 * 2;\n";
    let doc = "Its `Size` in bytes. Default 2 KiB.".to_owned();
    assert_eq!(default_in(&doc), Some(2048));
    let expected = [
        Item::Struct {
            name: "Thing".into(),
            doc: "A thing.".into(),
        },
        Item::Field {
            name: "size".into(),
            doc,
        },
        Item::Constant {
            name: "MOST".into(),
            doc: "Most.".into(),
            value: "8 * 2".into(),
        },
    ];
    assert_eq!(items(source), expected);
}

/// Strings in quotes on lines of a table in the source.
fn first_quoted(line: &str) -> Option<&str> {
    line.split('"').nth(1)
}

/// Commands of the image by name, with the program that runs each and where that comes from, from the sources of the image.
fn commands() -> BTreeMap<String, (String, String)> {
    let mut commands = BTreeMap::new();
    let coreutils = "wasi-tools/coreutils/src";
    let upstream = text(&format!("{coreutils}/upstream.rs"));
    let (base, full) = upstream.split_once("const FULL").expect("two modules");
    for (table, program) in [(base, "coreutils-base"), (full, "coreutils")] {
        for line in table.lines().filter(|line| line.contains(" => uu_")) {
            let name = first_quoted(line).expect("a name");
            let origin = format!(
                "uutils `uu_{}`, as it is",
                line.split("uu_")
                    .nth(1)
                    .expect("a crate")
                    .trim_end_matches(',')
            );
            commands.insert(name.to_owned(), (program.to_owned(), origin));
        }
    }
    let own = text(&format!("{coreutils}/applets.rs"));
    for line in own.lines().filter(|line| line.starts_with("    (\"")) {
        let name = first_quoted(line).expect("a name");
        let module = line.split([',', ':']).nth(1).expect("a module").trim();
        let file = format!("{coreutils}/applets/{module}.rs");
        assert!(root().join(&file).is_file(), "{file}");
        commands.insert(
            name.to_owned(),
            (
                "coreutils-base".to_owned(),
                format!("ours: [`{module}.rs`](../../{file})"),
            ),
        );
    }
    for program in text("wasi-tools/artifacts/src/programs.rs")
        .split("Program {")
        .skip(2)
    {
        let field = |name: &str| {
            program
                .lines()
                .find(|line| line.trim().starts_with(name))
                .unwrap_or_default()
        };
        let binary = first_quoted(field("binary:")).expect("a binary");
        let source = first_quoted(field("source:")).expect("a source");
        let origin = match source {
            source if source.ends_with("/sandbar") => {
                "ours: [`wasi-tools/shell`](../../wasi-tools/shell/src/lib.rs)".to_owned()
            }
            _ => format!(
                "{}, as it is",
                first_quoted(field("name:")).expect("a name")
            ),
        };
        let origin = if binary.starts_with("coreutils") {
            "all of its utilities, by their names as first argument".to_owned()
        } else {
            origin
        };
        let aliases = field("aliases:").split('"').skip(1).step_by(2);
        for name in [binary].into_iter().chain(aliases) {
            commands.insert(name.to_owned(), (binary.to_owned(), origin.clone()));
        }
    }
    commands
}

#[test]
fn the_reference_of_commands_is_what_the_image_is_made_of() {
    let mut out = format!("{GENERATED}# Commands of the tools image\n\n");
    out.push_str("Built into the shell: what `help` in it lists. Everything else is a WebAssembly program in `/usr/bin`.\n\n");
    out.push_str("| command | program | where it comes from |\n| --- | --- | --- |\n");
    for (name, (program, origin)) in commands() {
        writeln!(out, "| `{name}` | `{program}` | {origin} |").expect("a string takes all");
    }
    check("docs/reference/applets.md", &out);
}

#[test]
fn the_image_has_the_commands_of_the_reference() {
    let sandbox = sandbar_test_support::sandbox();
    let entries = sandbox
        .files()
        .read_dir("/usr/bin")
        .expect("the image's programs");
    let there: BTreeSet<String> = entries
        .into_iter()
        .map(|entry| String::from_utf8(entry.name).expect("a plain name"))
        .collect();
    let documented: BTreeSet<String> = commands().into_keys().collect();
    let (missing, extra): (Vec<_>, Vec<_>) = (
        documented.difference(&there).collect(),
        there.difference(&documented).collect(),
    );
    assert!(
        missing.is_empty() && extra.is_empty(),
        "missing in the image: {missing:?}; not documented: {extra:?}"
    );
}

/// The newest report of the benches, as its lines.
fn newest_report() -> Option<String> {
    let results = std::fs::read_dir(root().join("benches/results")).ok()?;
    let mut folders: Vec<_> = results
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    let newest = folders.pop()?;
    std::fs::read_to_string(newest.join("report.md")).ok()
}

#[test]
fn figures_of_the_readme_are_the_newest_report_s() {
    let readme = text("README.md");
    let (before, rest) = readme
        .split_once("<!-- figures -->\n")
        .expect("the mark before the figures");
    let (_, after) = rest
        .split_once("<!-- /figures -->")
        .expect("the mark behind the figures");
    let report = newest_report().unwrap_or_default();
    let rows = report.lines().filter(|line| line.starts_with('|')).skip(2);
    let head = [
        "| what | bar | measured | | behind it |",
        "| --- | --- | --- | --- | --- |",
    ];
    let table = head
        .into_iter()
        .chain(rows)
        .fold(String::new(), |table, row| table + row + "\n");
    check(
        "README.md",
        &format!("{before}<!-- figures -->\n{table}<!-- /figures -->{after}"),
    );
}
