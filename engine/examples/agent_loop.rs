//! An agent's loop: a model asks for shell commands, a sandbox runs them, and what they printed goes back to the model.
//!
//! The model here is a fixed list of turns, so that this runs without any service; put your own call in `Model::next`.

use std::time::Duration;

use sandbar::{Ended, Engine, Output, Sandbox};

/// What a model wants next.
enum Turn {
    /// Run this and show me the answer.
    Run(&'static str),
    /// I am done; this is the answer.
    Answer(String),
}

/// A stand-in for a model: it plans four commands and reads the answers.
#[derive(Default)]
struct Model {
    seen: Vec<String>,
}

impl Model {
    fn next(&mut self, last: Option<String>) -> Turn {
        self.seen.extend(last);
        match self.seen.len() {
            0 => Turn::Run("cut -d, -f2 orders.csv | sort | uniq -c | sort -rn"),
            1 => Turn::Run("grep -c pear orders.csv > count.txt; cat count.txt"),
            2 => Turn::Run("cat missing.txt"),
            3 => Turn::Run("while :; do :; done"),
            _ => Turn::Answer(format!(
                "pears: {}",
                self.seen[1].lines().next().unwrap_or("?")
            )),
        }
    }
}

/// What a model is told of a command: its output, and in one line how it ended.
fn told(output: &Output) -> String {
    let end = match output.report.ended {
        Ended::Exited => format!("exit code {}", output.status.code()),
        Ended::TimeLimit => "stopped at its time limit".to_owned(),
        Ended::FuelLimit => "stopped at its fuel limit".to_owned(),
    };
    format!("{}{}[{end}]", output.stdout_text(), output.stderr_text())
}

/// Runs the loop and gives the model's answer with all that it was told.
async fn work(sandbox: &Sandbox) -> sandbar::Result<(String, Vec<String>)> {
    let mut model = Model::default();
    let mut last = None;
    loop {
        match model.next(last.take()) {
            Turn::Answer(answer) => return Ok((answer, model.seen)),
            Turn::Run(script) => {
                let command = sandbox.bash(script).timeout(Duration::from_secs(2));
                last = Some(told(&command.output().await?));
            }
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> sandbar::Result<()> {
    let engine = Engine::builder().build()?;
    // The first command of a fresh machine would spend its time limit on compiling.
    engine.prepare(|_| {}).await?;
    let sandbox = engine.sandbox().create()?;
    sandbox
        .files()
        .write("orders.csv", "1,pear\n2,apple\n3,pear\n")?;

    let (answer, seen) = work(&sandbox).await?;

    assert_eq!(answer, "pears: 2");
    assert!(
        seen[0].contains("2 pear") && seen[0].ends_with("[exit code 0]"),
        "{}",
        seen[0]
    );
    assert!(
        seen[2].contains("No such file") && seen[2].ends_with("[exit code 1]"),
        "{}",
        seen[2]
    );
    assert_eq!(seen[3], "[stopped at its time limit]");
    assert_eq!(
        sandbox.files().read("count.txt")?,
        b"2\n",
        "files stay between commands"
    );
    Ok(())
}
