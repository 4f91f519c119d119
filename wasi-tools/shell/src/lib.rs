//! The shell of Sandbar: bash as a guest program.
//!
//! Lines come from an [input](input), the [parser](parser) turns them into a [tree](ast) one complete command at a time, and
//! the evaluator walks it ([exec](exec), [simple](simple), [process](process)), expanding words ([expand](expand)) on the way.
//! What bash does by `fork` is described in [process](process). The same code runs natively over the host's system calls,
//! where the real bash is its oracle.

mod arith;
mod arith_eval;
mod ast;
mod brace;
mod builtins;
mod datetime;
mod escape;
mod exec;
mod expand;
mod expand_param;
mod glob;
mod handover;
mod input;
mod invoke;
mod job;
mod options;
mod parser;
mod pattern;
mod printer;
mod process;
mod prompt;
mod redirect;
mod regex;
mod shell;
mod shell_vars;
mod simple;
mod sys;
mod vars;

pub use invoke::run;
