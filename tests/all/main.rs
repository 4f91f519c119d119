//! End-to-end tests: real guests in real sandboxes.

mod library;
mod limits;
mod process;
