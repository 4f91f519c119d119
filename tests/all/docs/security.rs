//! Threats and limitations have ids, and every id leads to what it names.

use std::collections::{BTreeMap, BTreeSet};

use super::{documents, sources, text};

/// A row of the table of threats: its id, the files of its mitigation, its tests.
struct Threat {
    files: Vec<String>,
    tests: Vec<String>,
}

fn quoted(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[expect(clippy::panic, reason = "a table that cannot be read is a failed test")]
fn threats() -> BTreeMap<String, Threat> {
    let mut threats = BTreeMap::new();
    for line in text("docs/security.md")
        .lines()
        .filter(|line| line.starts_with("| SB-"))
    {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [id, _threat, files, tests] = cells.as_slice() else {
            panic!("not four cells: {line}")
        };
        let threat = Threat {
            files: quoted(files),
            tests: quoted(tests),
        };
        assert!(
            threats.insert((*id).to_owned(), threat).is_none(),
            "{id} stands twice in docs/security.md"
        );
    }
    threats
}

/// Ids at mitigations, with the files they stand in.
fn mitigations() -> BTreeMap<String, BTreeSet<String>> {
    let mark = concat!("SECURITY", "[");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources() {
        for part in text(&path).split(mark).skip(1) {
            let id = part.split(']').next().unwrap_or_default().to_owned();
            found.entry(id).or_default().insert(path.clone());
        }
    }
    found
}

#[test]
fn every_mitigation_in_the_code_has_its_threat_and_every_threat_its_mitigation() {
    let documented: BTreeMap<String, BTreeSet<String>> = threats()
        .into_iter()
        .map(|(id, threat)| (id, threat.files.into_iter().collect()))
        .collect();
    assert_eq!(
        documented,
        mitigations(),
        "left: docs/security.md, right: the code"
    );
}

#[test]
fn every_threat_has_tests_that_exist() {
    let sources: Vec<String> = sources().iter().map(|path| text(path)).collect();
    for (id, threat) in threats() {
        assert!(!threat.tests.is_empty(), "{id} has no test");
        for test in threat.tests {
            let function = format!("fn {test}(");
            assert!(
                sources.iter().any(|source| source.contains(&function)),
                "{id}: there is no test `{test}`"
            );
        }
    }
}

#[test]
fn limitations_are_numbered_without_gaps_and_every_mention_is_of_one() {
    let limitations = text("docs/limitations.md");
    let heading = |line: &str| {
        line.strip_prefix("### SB-LIM-")?
            .get(..3)?
            .parse::<usize>()
            .ok()
    };
    let numbers: Vec<usize> = limitations.lines().filter_map(heading).collect();
    let expected: Vec<usize> = (1..=numbers.len()).collect();
    assert_eq!(
        numbers, expected,
        "a number is never used again, and new ones go to the end"
    );
    let this = "tests/all/docs/security.rs";
    for path in documents()
        .into_iter()
        .chain(sources())
        .filter(|path| path != this)
    {
        for part in text(&path).split("SB-LIM-").skip(1) {
            let digits = part.get(..3).unwrap_or(part);
            let known = digits
                .parse()
                .is_ok_and(|number: usize| numbers.contains(&number));
            assert!(known, "{path}: SB-LIM-{digits}");
        }
    }
}
