//! The facts of changed files as git lists them (`--raw --numstat -z`), and where links lead.

use std::collections::BTreeMap;

use super::repository::is_oid;
use super::{GitError, TreeId};
use crate::domain::{ChangeType, FileChange, PatchStats, RepoPath};

/// What git says about one changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path after the change (before it, for a deletion).
    pub path: RepoPath,
    /// The path before a rename, or the source of a copy.
    pub old_path: Option<RepoPath>,
    /// What happened. A changed type (a file that became a link) is a modification with two modes.
    pub change_type: ChangeType,
    /// Mode before, as git writes it.
    pub old_mode: Option<String>,
    /// Mode after.
    pub new_mode: Option<String>,
    /// Id of the content before; of the commit, for a submodule.
    pub old_oid: Option<String>,
    /// Id of the content after.
    pub new_oid: Option<String>,
    /// Lines added; 0 for binary content.
    pub additions: u64,
    /// Lines deleted; 0 for binary content.
    pub deletions: u64,
    /// Whether git calls it binary.
    pub binary: bool,
    /// Where the link leads that is there after the change.
    pub link: Option<Link>,
}

/// Where a symbolic link leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its target as it is written in it.
    pub target: Vec<u8>,
    /// Whether following it leaves the repository or enters its `.git` (P-5). An absolute target always does.
    pub outside: bool,
}

const LINK: &str = "120000";
const SUBMODULE: &str = "160000";

impl Change {
    fn has_mode(&self, mode: &str) -> bool {
        [&self.old_mode, &self.new_mode].into_iter().any(|side| side.as_deref() == Some(mode))
    }
}

impl From<&Change> for FileChange {
    /// The record of a change. What depends on patterns (generated, lock file, test, forbidden) is not known
    /// here and left `false`.
    fn from(change: &Change) -> Self {
        Self {
            path: change.path.clone(),
            old_path: change.old_path.clone(),
            change_type: change.change_type,
            additions: change.additions,
            deletions: change.deletions,
            old_mode: change.old_mode.clone(),
            new_mode: change.new_mode.clone(),
            generated: false,
            binary: change.binary,
            lockfile: false,
            test_file: false,
            symlink: change.has_mode(LINK),
            submodule: change.has_mode(SUBMODULE),
            forbidden_by_policy: false,
        }
    }
}

/// The sizes of a patch (P-3).
#[must_use]
pub fn stats(changes: &[Change]) -> PatchStats {
    PatchStats {
        files: changes.len() as u64,
        additions: changes.iter().map(|change| change.additions).sum(),
        deletions: changes.iter().map(|change| change.deletions).sum(),
    }
}

/// Reads the records of `--raw --numstat -z`: all raw ones first, then the counts in the same order.
pub(super) fn parse(records: &[&[u8]]) -> Result<Vec<Change>, GitError> {
    let broken = || GitError::unexpected("diff-index", "a record of changed files that is cut short");
    let mut changes = Vec::new();
    let mut records = records.iter().copied().peekable();
    while let Some(head) = records.next_if(|record| record.starts_with(b":")) {
        let head = String::from_utf8_lossy(&head[1..]).into_owned();
        let words: Vec<&str> = head.split(' ').collect();
        let [old_mode, new_mode, old_oid, new_oid, status] = words[..] else { return Err(broken()) };
        let first = RepoPath::new(records.next().ok_or_else(broken)?);
        let change_type = match status.as_bytes().first() {
            Some(b'A') => ChangeType::Added,
            Some(b'M' | b'T') => ChangeType::Modified,
            Some(b'D') => ChangeType::Deleted,
            Some(b'R') => ChangeType::Renamed,
            Some(b'C') => ChangeType::Copied,
            _ => return Err(GitError::unexpected("diff-index", format!("the status {status}"))),
        };
        let two_names = matches!(change_type, ChangeType::Renamed | ChangeType::Copied);
        let (path, old_path) = if two_names {
            (RepoPath::new(records.next().ok_or_else(broken)?), Some(first))
        } else {
            (first, None)
        };
        let mode = |mode: &str| (mode != "000000").then(|| mode.to_owned());
        let oid = |oid: &str| (oid.bytes().any(|b| b != b'0')).then(|| oid.to_owned());
        changes.push(Change {
            path,
            old_path,
            change_type,
            old_mode: mode(old_mode),
            new_mode: mode(new_mode),
            old_oid: oid(old_oid),
            new_oid: oid(new_oid),
            additions: 0,
            deletions: 0,
            binary: false,
            link: None,
        });
    }
    for change in &mut changes {
        let record = records.next().ok_or_else(broken)?;
        let mut fields = record.splitn(3, |b| *b == b'\t');
        let (Some(added), Some(deleted), Some(name)) = (fields.next(), fields.next(), fields.next()) else {
            return Err(broken());
        };
        if name.is_empty() {
            // Both names of a rename follow as records of their own.
            records.next().ok_or_else(broken)?;
            let new = records.next().ok_or_else(broken)?;
            check_same(new, change)?;
        } else {
            check_same(name, change)?;
        }
        if added == b"-" {
            change.binary = true;
        } else {
            change.additions = number(added).ok_or_else(broken)?;
            change.deletions = number(deleted).ok_or_else(broken)?;
        }
    }
    if records.next().is_some() {
        return Err(GitError::unexpected("diff-index", "more counts than changed files"));
    }
    Ok(changes)
}

fn check_same(name: &[u8], change: &Change) -> Result<(), GitError> {
    if name == change.path.as_bytes() {
        return Ok(());
    }
    Err(GitError::unexpected("diff-index", "counts in another order than the changed files"))
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// One entry of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: String,
    pub(super) oid: String,
    pub(super) path: Vec<u8>,
}

impl Entry {
    pub(super) fn is_link(&self) -> bool {
        self.mode == LINK
    }

    pub(super) fn is_submodule(&self) -> bool {
        self.mode == SUBMODULE
    }
}

/// Reads `ls-files --stage -z`.
pub(super) fn parse_entries(records: &[&[u8]]) -> Result<Vec<Entry>, GitError> {
    records
        .iter()
        .map(|record| {
            let broken = || GitError::unexpected("ls-files", "an entry of the index that is cut short");
            let tab = record.iter().position(|b| *b == b'\t').ok_or_else(broken)?;
            let head = String::from_utf8_lossy(&record[..tab]).into_owned();
            let words: Vec<&str> = head.split(' ').collect();
            let [mode, oid, _stage] = words[..] else { return Err(broken()) };
            if !is_oid(oid) {
                return Err(broken());
            }
            Ok(Entry { mode: mode.to_owned(), oid: oid.to_owned(), path: record[tab + 1..].to_vec() })
        })
        .collect()
}

/// How many links are followed, as the kernel does.
const MOST_LINKS: usize = 40;

/// Whether following the link at `path` leaves the tree, with every other link of the tree followed as well.
pub(super) fn leads_outside(path: &[u8], links: &BTreeMap<Vec<u8>, Vec<u8>>) -> bool {
    let mut followed = 0;
    let mut at: Vec<Vec<u8>> = Vec::new();
    let mut ahead: Vec<Vec<u8>> = path.split(|b| *b == b'/').rev().map(<[u8]>::to_vec).collect();
    while let Some(part) = ahead.pop() {
        match &part[..] {
            b"" | b"." => continue,
            b".." => {
                if at.pop().is_none() {
                    return true;
                }
                continue;
            }
            name if name.eq_ignore_ascii_case(b".git") && at.is_empty() => return true,
            _ => at.push(part),
        }
        if let Some(target) = links.get(&at.join(&b'/')) {
            followed += 1;
            if followed > MOST_LINKS {
                // A circle leads nowhere.
                return false;
            }
            if target.first() == Some(&b'/') {
                return true;
            }
            at.pop();
            ahead.extend(target.split(|b| *b == b'/').rev().map(<[u8]>::to_vec));
        }
    }
    false
}

impl TreeId {
    /// Reads a tree's id.
    ///
    /// # Errors
    /// The text is no whole object id.
    pub fn parse(text: &str) -> Result<Self, GitError> {
        if is_oid(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(GitError::InvalidName { kind: "tree id", name: crate::text::visible(text) })
        }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(links: &[(&str, &str)]) -> bool {
        let map = links.iter().map(|(path, to)| (path.as_bytes().to_vec(), to.as_bytes().to_vec())).collect();
        leads_outside(links[0].0.as_bytes(), &map)
    }

    #[test]
    fn links_that_stay_inside_are_told_from_those_that_leave() {
        for (links, leaves) in [
            (&[("a", "b")][..], false),
            (&[("a", "/etc/passwd")], true),
            (&[("a", "..")], true),
            (&[("d/a", "../b")], false),
            (&[("d/a", "../../b")], true),
            (&[("d/a", "x/../../../b")], true),
            (&[("a", "./d/./e")], false),
            (&[("a", ".git/config")], true),
            (&[("a", "d/.git-like")], false),
            // The way out lies behind another link: `x` is `p/q`, so `x/../..` is the root.
            (&[("a", "x/../.."), ("x", "p/q")], false),
            (&[("a", "x/../../.."), ("x", "p/q")], true),
            (&[("a", "b"), ("b", "/tmp")], true),
            (&[("a", "b"), ("b", "a")], false),
        ] {
            assert_eq!(outside(links), leaves, "{links:?}");
        }
    }

    #[test]
    fn raw_and_counts_are_joined_in_order() {
        let old = "1".repeat(40);
        let new = "2".repeat(40);
        let head = |status: &str| format!(":100644 100755 {old} {new} {status}");
        let (modified, renamed) = (head("M"), head("R090"));
        let records: Vec<&[u8]> = vec![
            modified.as_bytes(),
            b"a -> b",
            renamed.as_bytes(),
            b"from",
            b"to\nx",
            b"3\t1\ta -> b",
            b"-\t-\t",
            b"from",
            b"to\nx",
        ];
        let changes = parse(&records).expect("whole records");
        assert_eq!(changes.len(), 2);
        assert_eq!((changes[0].additions, changes[0].deletions, changes[0].binary), (3, 1, false));
        assert_eq!(changes[0].path, RepoPath::from("a -> b"));
        assert_eq!(changes[1].old_path, Some(RepoPath::from("from")));
        assert_eq!(changes[1].path, RepoPath::from("to\nx"));
        assert!(changes[1].binary);
        assert!(parse(&records[..7]).is_err());
    }
}
