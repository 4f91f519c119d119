//! End-to-end tests: real guests in real sandboxes.

mod process;
