//! Placeholder.

/// A directory of the host.
#[derive(Debug)]
pub struct HostDir {}
/// Options.
#[derive(Debug, Clone, Default)]
pub struct HostDirOptions {}
