//! Placeholder.

/// Image fs.
#[derive(Debug)]
pub struct ImageFs {}
/// Builder.
#[derive(Debug)]
pub struct ImageFsBuilder {}
/// File.
#[derive(Debug)]
pub struct ImageFile {}
