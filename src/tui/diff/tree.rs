//! The file tree of a diff: folders are folded where they hold one folder only. Made once, with the model.

use super::File;

/// A line of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// How deep it stands.
    pub depth: usize,
    /// Name of the file, or of the folded folders.
    pub name: String,
    /// The file; none for a folder.
    pub file: Option<usize>,
}

/// The tree of a diff's files, in the order of the diff.
pub(super) fn nodes(files: &[File]) -> Vec<Node> {
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut out = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for (file, path) in paths.iter().enumerate() {
        let (folder, name) = path.rsplit_once('/').map_or(("", *path), |(folder, name)| (folder, name));
        while open.last().is_some_and(|last| !inside(folder, last)) {
            open.pop();
        }
        if !folder.is_empty() && open.last() != Some(&folder) {
            // Opens the common folders that later files share, each once.
            for shared in shared_folders(folder, &paths[file..]) {
                if open.last().is_none_or(|last| *last != shared && inside(shared, last)) {
                    let above = open.last().map_or("", |last| *last);
                    let label = shared.strip_prefix(above).unwrap_or(shared).trim_start_matches('/');
                    out.push(Node { depth: open.len(), name: format!("{label}/"), file: None });
                    open.push(shared);
                }
            }
        }
        out.push(Node { depth: open.len(), name: name.to_owned(), file: Some(file) });
    }
    out
}

fn inside(folder: &str, of: &str) -> bool {
    folder == of || folder.strip_prefix(of).is_some_and(|rest| rest.starts_with('/'))
}

/// Prefixes of `folder` at which files branch off, and the folder itself.
fn shared_folders<'a>(folder: &'a str, rest: &[&str]) -> Vec<&'a str> {
    let mut out = Vec::new();
    for (at, _) in folder.match_indices('/') {
        let prefix = &folder[..at];
        let branches = rest.iter().take_while(|path| inside(path, prefix)).any(|path| {
            let own = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            !inside(own, &folder[..next_slash(folder, at)])
        });
        if branches {
            out.push(prefix);
        }
    }
    out.push(folder);
    out
}

fn next_slash(folder: &str, at: usize) -> usize {
    folder[at + 1..].find('/').map_or(folder.len(), |next| at + 1 + next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&str]) -> Vec<String> {
        let file = |path: &&str| File { path: (*path).to_owned(), ..File::default() };
        let files: Vec<File> = paths.iter().map(file).collect();
        nodes(&files).iter().map(|node| format!("{}{}", "  ".repeat(node.depth), node.name)).collect()
    }

    #[test]
    fn folders_with_one_child_are_folded() {
        assert_eq!(names(&["src/a/b/one.rs", "src/a/b/two.rs"]), ["src/a/b/", "  one.rs", "  two.rs"]);
        assert_eq!(names(&["README.md", "src/a.rs"]), ["README.md", "src/", "  a.rs"]);
    }

    #[test]
    fn folders_where_files_branch_off_stand_on_their_own() {
        assert_eq!(
            names(&["src/a/one.rs", "src/b/two.rs", "tests/x.rs"]),
            ["src/", "  a/", "    one.rs", "  b/", "    two.rs", "tests/", "  x.rs"]
        );
    }
}
