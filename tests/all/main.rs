//! End-to-end tests: real guests in real sandboxes.

mod escape;
mod library;
mod limits;
mod process;
