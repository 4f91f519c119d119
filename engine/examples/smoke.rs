//! Runs one command.
use std::time::Instant;
fn main() {
    let t=Instant::now();
    let engine = sandbar::Engine::builder().build().unwrap();
    eprintln!("engine {:?}", t.elapsed());
    let t=Instant::now();
    let sandbox = engine.sandbox().create().unwrap();
    eprintln!("sandbox {:?}", t.elapsed());
    let args: Vec<String> = std::env::args().skip(1).collect();
    for _ in 0..3 {
    let t=Instant::now();
    let o = sandbox.command(&args[0]).args(&args[1..]).output_blocking();
    eprintln!("run {:?}", t.elapsed());
    match o { Err(e) => eprintln!("{e}"), Ok(o) => { println!("{:?} {:?}\n{}--- {}", o.status, o.report, o.stdout_text(), o.stderr_text()); } }
    }
}
