//! Many tenants on one engine: each has files, limits and processes of its own, and none sees or starves another.

use std::time::Duration;

use sandbar::{Ended, Engine, Limits, Sandbox};

const TENANTS: usize = 24;

/// A sandbox with the limits of a small plan.
fn tenant(engine: &Engine, number: usize) -> sandbar::Result<Sandbox> {
    let mut limits = Limits::default();
    limits.processes = 16;
    limits.process_memory_bytes = 64 << 20;
    limits.memory_bytes = 256 << 20;
    limits.disk_bytes = 1 << 20;
    let sandbox = engine
        .sandbox()
        .limits(limits)
        .env("TENANT", number.to_string())
        .create()?;
    sandbox
        .files()
        .write("secret.txt", format!("of tenant {number}\n"))?;
    Ok(sandbox)
}

fn main() -> sandbar::Result<()> {
    let engine = Engine::builder().build()?;
    let tenants = (0..TENANTS)
        .map(|number| tenant(&engine, number))
        .collect::<Result<Vec<_>, _>>()?;
    assert_eq!(engine.sandboxes(), TENANTS);

    // All at once; each reads its own file under the same name, and its own variable.
    let children = tenants
        .iter()
        .map(|sandbox| sandbox.bash("cat secret.txt; echo $TENANT").spawn());
    let children = children.collect::<Result<Vec<_>, _>>()?;
    for (number, child) in children.into_iter().enumerate() {
        let output = child.wait_blocking();
        assert_eq!(
            output.stdout_text(),
            format!("of tenant {number}\n{number}\n")
        );
    }

    // One fills its disk: it gets an error, its neighbour writes on.
    let full = tenants[0]
        .bash("head -c 4000000 /dev/zero > big")
        .output_blocking()?;
    assert!(!full.status.success());
    assert!(tenants[0].files().metadata("big")?.size <= 1 << 20);
    tenants[1].files().write("note.txt", "room enough")?;

    // One spins on every processor: it is stopped at its limit, and its neighbour answers meanwhile.
    let spin = "for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait";
    let spinning = tenants[2]
        .bash(spin)
        .timeout(Duration::from_secs(3))
        .spawn()?;
    let answer = tenants[3].bash("echo here").output_blocking()?;
    assert_eq!(answer.stdout_text(), "here\n");
    let stopped = spinning.wait_blocking();
    assert_eq!(stopped.report.ended, Ended::TimeLimit);
    assert!(
        answer.report.wall < stopped.report.wall,
        "the neighbour waited {:?}",
        answer.report.wall
    );

    // A tenant that goes takes its processes and its scratch files along.
    drop(tenants);
    assert_eq!(engine.sandboxes(), 0);
    Ok(())
}
