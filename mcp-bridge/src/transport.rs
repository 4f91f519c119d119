//! How clients reach the server.

pub(crate) mod stdio;
