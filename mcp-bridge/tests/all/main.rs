//! The `sandbar` binary and its MCP server, driven from outside: real guests, real streams, a real client.
//!
//! They are here and not in the workspace's `tests/`, because only this package's tests are told where the binary is.

mod client;
mod demo;
mod image;
mod mcp_bash;
mod mcp_files;
mod mcp_protocol;
mod mcp_sandboxes;
mod program;
mod run;
mod wasm;
