//! The job itself, step by step.

use std::time::Duration;

use serde_json::json;

use super::agent::Agent;
use super::sales::Sales;

/// Rows of the data.
const ROWS: u32 = 4000;

const SCRIPT: &str = "\
#!/bin/bash
# What was paid in one region.
region=north
total=0
while IFS=, read -r id place amount state; do
    if [ \"$place\" = \"$region\" ] && [ \"$state\" = paid ]; then
        total=$((total + amount))
    fi
done < sales.csv
echo \"$region: $total\"
";

/// Does the job. Gives the number of checks, or what was wrong.
pub(super) async fn run(agent: &mut Agent) -> Result<usize, String> {
    let sales = Sales::new(ROWS);
    list_tools(agent).await?;
    write_data(agent, &sales).await?;
    pipeline(agent, &sales).await?;
    keep_state(agent).await?;
    edit_and_run(agent, &sales).await?;
    read_back(agent).await?;
    second_sandbox(agent).await?;
    failing_command(agent).await?;
    time_limit(agent).await?;
    Ok(agent.checks())
}

async fn list_tools(agent: &mut Agent) -> Result<(), String> {
    agent.begin("list the tools");
    let tools = agent.tools().await?;
    let all = ["Bash", "Read", "Write", "Edit"]
        .iter()
        .all(|name| tools.iter().any(|tool| tool == name));
    agent.check(all, "Bash, Read, Write and Edit among the tools")
}

async fn write_data(agent: &mut Agent, sales: &Sales) -> Result<(), String> {
    agent.begin("write a CSV file");
    let csv = sales.csv();
    let answer = agent
        .call("Write", json!({"file_path": "sales.csv", "content": csv}))
        .await?;
    agent.check(!answer.is_error, "the file to be written")?;
    let answer = agent
        .call(
            "Bash",
            json!({"command": "wc -l < sales.csv; wc -c < sales.csv"}),
        )
        .await?;
    let numbers: Vec<&str> = answer.text.lines().take(2).map(str::trim).collect();
    let expected = [(ROWS + 1).to_string(), csv.len().to_string()];
    agent.check(
        numbers == expected,
        &format!(
            "{} lines and {} bytes in the sandbox",
            expected[0], expected[1]
        ),
    )
}

async fn pipeline(agent: &mut Agent, sales: &Sales) -> Result<(), String> {
    agent.begin("count with a pipeline of seven programs");
    let command = "tail -n +2 sales.csv | grep -v ',cancelled$' | cut -d, -f2 | sort | uniq -c | sort -k1,1nr -k2 | \
                   tee by-region.txt";
    let answer = agent.call("Bash", json!({"command": command})).await?;
    let found: Vec<(u32, String)> = answer
        .text
        .lines()
        .filter_map(|line| {
            let (count, region) = line.trim().split_once(' ')?;
            Some((count.parse().ok()?, region.to_owned()))
        })
        .collect();
    let expected: Vec<(u32, String)> = sales
        .paid_by_region()
        .into_iter()
        .map(|(count, region)| (count, region.to_owned()))
        .collect();
    let shown: Vec<String> = expected
        .iter()
        .map(|(count, region)| format!("{region} {count}"))
        .collect();
    agent.check(
        found == expected,
        &format!("the paid sales by region: {}", shown.join(", ")),
    )
}

async fn keep_state(agent: &mut Agent) -> Result<(), String> {
    agent.begin("keep directory and variables from call to call");
    agent
        .call(
            "Bash",
            json!({"command": "mkdir -p reports && cd reports && export QUARTER=q3"}),
        )
        .await?;
    let answer = agent
        .call(
            "Bash",
            json!({"command": "echo \"$QUARTER in $PWD\"; cd .."}),
        )
        .await?;
    agent.check(
        answer.text.starts_with("q3 in /data/workspace/reports\n"),
        "the directory and the variable of the call before",
    )
}

async fn edit_and_run(agent: &mut Agent, sales: &Sales) -> Result<(), String> {
    agent.begin("write a script, edit it, run it");
    agent
        .call("Write", json!({"file_path": "total.sh", "content": SCRIPT}))
        .await?;
    let change = json!({"file_path": "total.sh", "old_string": "region=north", "new_string": "region=south"});
    let answer = agent.call("Edit", change).await?;
    agent.check(!answer.is_error, "the edit to be made")?;
    let answer = agent
        .call(
            "Bash",
            json!({"command": "chmod +x total.sh && ./total.sh | tee total.txt"}),
        )
        .await?;
    let expected = format!("south: {}", sales.total("south"));
    agent.check(
        answer.text.starts_with(&format!("{expected}\n")),
        &format!("“{expected}” from the edited script"),
    )
}

async fn read_back(agent: &mut Agent) -> Result<(), String> {
    agent.begin("read the result");
    let answer = agent
        .call(
            "Read",
            json!({"file_path": "total.sh", "offset": 2, "limit": 2}),
        )
        .await?;
    let lines: Vec<&str> = answer.text.lines().take(2).map(str::trim_start).collect();
    agent.check(
        lines == ["2\t# What was paid in one region.", "3\tregion=south"],
        "lines 2 and 3 with their numbers and the edited text",
    )
}

async fn second_sandbox(agent: &mut Agent) -> Result<(), String> {
    agent.begin("open a second sandbox");
    let command = "echo \"files: $(ls | wc -l | tr -d ' '), quarter: ${QUARTER:-none}\"";
    let answer = agent
        .call("Bash", json!({"command": command, "sandbox": "other"}))
        .await?;
    agent.check(
        answer.text.contains("sandbox `other` opened"),
        "an answer that says it was opened",
    )?;
    agent.check(
        answer.text.contains("\nfiles: 0, quarter: none\n"),
        "no file and no variable of the first sandbox in it",
    )?;
    let answer = agent.call("Bash", json!({"command": "ls"})).await?;
    agent.check(
        answer.text.contains("sales.csv\n"),
        "the first sandbox to have its files still",
    )
}

async fn failing_command(agent: &mut Agent) -> Result<(), String> {
    agent.begin("run a command that fails");
    let answer = agent
        .call("Bash", json!({"command": "cat no-such-file.csv"}))
        .await?;
    let closing = answer.text.lines().last().unwrap_or_default();
    agent.check(
        answer.text.contains("No such file or directory") && closing.starts_with("[exit 1 "),
        "the program's own message and exit code 1",
    )
}

async fn time_limit(agent: &mut Agent) -> Result<(), String> {
    agent.begin("stop a command at its time limit");
    let command = "echo started; while :; do :; done";
    let answer = agent
        .call("Bash", json!({"command": command, "timeout": 1}))
        .await?;
    agent.check(
        answer.is_error
            && answer.text.starts_with("started\n")
            && answer.text.contains("; stopped at its time limit of 1 s")
            && answer.took < Duration::from_secs(3),
        "it to be stopped after one second, with its output so far",
    )?;
    let answer = agent.call("Bash", json!({"command": "echo alive"})).await?;
    agent.check(answer.text.starts_with("alive\n"), "the sandbox to work on")
}
