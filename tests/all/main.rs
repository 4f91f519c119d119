//! End-to-end tests: real guests in real sandboxes. One binary; each file of this folder is a module of it.

mod docs;
mod escape;
mod examples;
mod guests;
mod image;
mod library;
mod limits;
mod process;
mod tools;

#[test]
fn every_file_of_this_folder_is_a_module() {
    let folder = docs::root().join("tests/all");
    let main = std::fs::read_to_string(folder.join("main.rs")).expect("this file");
    for entry in std::fs::read_dir(&folder).expect("this folder") {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("UTF-8");
        let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") else {
            continue;
        };
        assert!(
            main.lines().any(|line| line == format!("mod {module};")),
            "tests/all/{name} is forgotten: add `mod {module};` to tests/all/main.rs"
        );
    }
}

#[test]
fn every_guest_program_has_a_test() {
    let read = |folder: &str| {
        std::fs::read_dir(docs::root().join(folder)).expect("a folder of the checkout")
    };
    let tests: String = read("tests/all")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| std::fs::read_to_string(path).expect("a source file"))
        .collect();
    for entry in read("tests/guests") {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("UTF-8");
        let program = name.split('.').next().unwrap_or_default();
        assert!(
            tests.contains(&format!("\"{program}\"")),
            "tests/guests/{name} is used by no file of tests/all"
        );
    }
}
