//! Placeholder of the vfs part.

/// See the vfs part.
#[derive(Debug)]
pub struct DeviceFs {}
