//! Sandbar's command line and MCP server, as a library so that tests drive the server in their own process.
//!
//! - [`main`]: the command line, from arguments to exit code.
//! - [`Server`]: the MCP server over one [`Session`], for any transport of `rmcp`.

mod cli;
mod config;
mod error;
mod limits;
mod printer;
mod server;
mod session;
mod signals;
mod text;
mod tools;
mod transport;

pub use self::cli::main;
pub use self::config::HostMount;
pub use self::error::Failure;
pub use self::server::Server;
pub use self::session::{Session, SessionConfig};
