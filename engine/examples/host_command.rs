//! A host command: a function of this program that guests start like any other program, with pipes, redirections and limits.
//!
//! This is how a sandbox without a network reaches exactly the service that its host gives it.

use std::sync::Arc;

use sandbar::{CommandIo, Engine, Files};

/// What the host knows and the sandbox may ask for; imagine a search service or a database behind it.
const ARTICLES: &[(&str, &str)] = &[
    ("sandbar", "a ridge of sand that keeps the waves out"),
    ("shoal", "a shallow place in the water"),
    ("spit", "a sandbar with one end on the shore"),
];

/// `lookup [-i] [WORD...]`: prints the articles of these words, or of the words on standard input with `-i`.
async fn lookup(args: Vec<String>, io: CommandIo, files: Files) -> u8 {
    let mut words: Vec<String> = args.into_iter().skip(1).collect();
    if words.first().is_some_and(|flag| flag == "-i") {
        words.remove(0);
        let Ok(input) = io.read_to_end(64 << 10).await else {
            return 2;
        };
        words.extend(
            String::from_utf8_lossy(&input)
                .split_whitespace()
                .map(str::to_owned),
        );
    }
    // It works on the sandbox's files through the same namespace and limits as the guest that called it.
    if files
        .append("/tmp/lookups.log", format!("{}\n", words.join(" ")))
        .is_err()
    {
        return 2;
    }
    let mut code = 0;
    for word in &words {
        let article = ARTICLES.iter().find(|(name, _)| name == word);
        let written = if let Some((name, text)) = article {
            io.write(format!("{name}: {text}\n")).await
        } else {
            code = 1;
            let complaint = format!("lookup: nothing about `{word}`\n");
            io.write_error(complaint).await
        };
        // Nobody reads any more: a guest would end by SIGPIPE.
        if written.is_err() {
            return 141;
        }
    }
    code
}

fn main() -> sandbar::Result<()> {
    let engine = Engine::builder().build()?;
    // State of the host's is captured, as for any closure.
    let greeting = Arc::new("hello from the host\n".to_owned());
    let greet = move |_: Vec<String>, io: CommandIo, _: Files| {
        let greeting = Arc::clone(&greeting);
        async move { u8::from(io.write(greeting.as_bytes()).await.is_err()) }
    };
    let sandbox = engine
        .sandbox()
        .command("lookup", lookup)
        .command("greet", greet)
        .create()?;

    let script = "greet; echo sandbar spit | lookup -i | grep -o 'sand[a-z]*' | sort | uniq -c > found.txt; cat found.txt";
    let output = sandbox.bash(script).output_blocking()?;
    let counts: Vec<_> = output
        .stdout_text()
        .lines()
        .map(|line| line.trim().to_owned())
        .collect();
    assert_eq!(
        counts,
        ["hello from the host", "1 sand", "2 sandbar"],
        "{}",
        output.stderr_text()
    );

    let missing = sandbox
        .command("lookup")
        .args(["shoal", "reef"])
        .output_blocking()?;
    assert_eq!(missing.status.code(), 1);
    assert_eq!(
        missing.stdout_text(),
        "shoal: a shallow place in the water\n"
    );
    assert_eq!(missing.stderr_text(), "lookup: nothing about `reef`\n");
    assert_eq!(
        sandbox.files().read_to_string("/tmp/lookups.log")?,
        "sandbar spit\nshoal reef\n"
    );
    Ok(())
}
