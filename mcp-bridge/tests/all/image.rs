//! `sandbar image`.

use super::program::run;

fn json(args: &[&str]) -> serde_json::Value {
    let finished = run(args);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    serde_json::from_str(&finished.stdout).expect("JSON")
}

#[test]
fn every_program_has_a_version_a_licence_and_an_origin() {
    let image = json(&["image", "inspect", "--json"]);
    let digest = image["digest"].as_str().expect("a digest");
    assert!(
        digest.len() == 71 && digest.starts_with("sha256:"),
        "{digest}"
    );
    let programs = image["programs"].as_array().expect("programs");
    assert!(
        programs
            .iter()
            .any(|program| program["path"] == "/usr/bin/bash")
    );
    for program in programs {
        for field in ["name", "version", "license", "source"] {
            assert!(
                program[field].as_str().is_some_and(|text| !text.is_empty()),
                "{field} of {program}"
            );
        }
        assert_eq!(program["sha256"].as_str().map(str::len), Some(64));
    }
    assert_eq!(json(&["image", "list", "--json"]), image["programs"]);
}

#[test]
fn the_list_for_people_names_programs_and_commands() {
    let finished = run(&["image", "list"]);
    let mut lines = finished.stdout.lines();
    assert!(
        lines
            .next()
            .is_some_and(|title| title.starts_with("NAME") && title.ends_with("COMMANDS"))
    );
    assert!(finished.stdout.contains(" sort "), "{}", finished.stdout);
}

#[test]
fn preparing_reports_every_program() {
    let finished = run(&["image", "prepare", "--json"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let last: serde_json::Value =
        serde_json::from_str(finished.stdout.lines().last().expect("lines")).expect("JSON");
    assert_eq!(last["done"], last["total"]);
    assert_eq!(last["total"], finished.stdout.lines().count());
}
