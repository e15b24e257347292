//! The state of the user's own checkout, to be compared before and after a run (P-9).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

use serde::{Deserialize, Serialize};

use super::{GitError, Repository};
use crate::domain::{Commit, RepoPath};

/// The state of a checkout at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckoutState {
    /// The commit that is checked out.
    pub head: Option<Commit>,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// All refs with what they point to.
    pub refs: BTreeMap<String, String>,
    /// Files that differ from the head, untracked ones included, each with what tells its content apart.
    pub files: Vec<(RepoPath, String)>,
}

/// What differs between two states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckoutChanges {
    /// Whether another commit or branch is checked out.
    pub head: bool,
    /// Refs that were made, moved or removed. A fetch moves those below `refs/remotes/`.
    pub refs: Vec<String>,
    /// Files that changed.
    pub files: Vec<RepoPath>,
}

impl CheckoutChanges {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.head && self.refs.is_empty() && self.files.is_empty()
    }
}

impl Repository {
    /// Takes down the state of the user's checkout. Reads only: no lock is taken, no index is refreshed.
    ///
    /// # Errors
    /// git cannot be run, or takes too long.
    pub fn checkout_state(&self) -> Result<CheckoutState, GitError> {
        let call = self.call("status").user_settings().set(self.without_filters()?).args([
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--ignored=no",
            "--no-renames",
            // Asking a submodule would run git with the submodule's own configuration.
            "--ignore-submodules=dirty",
        ]);
        let mut files = Vec::new();
        for record in call.run()?.records() {
            let fields = match record.first() {
                Some(b'1') => 8,
                Some(b'u') => 10,
                Some(b'?') => 1,
                _ => continue,
            };
            let Some(path) = record.splitn(fields + 1, |b| *b == b' ').nth(fields) else {
                return Err(GitError::unexpected("status", "an entry that is cut short"));
            };
            let told = &record[..record.len() - path.len()];
            let on_disk = match self.root().join(OsStr::from_bytes(path)).symlink_metadata() {
                Ok(found) => format!(
                    "{} {} {}.{:09}",
                    found.mode(),
                    if found.is_dir() { 0 } else { found.len() },
                    found.mtime(),
                    found.mtime_nsec()
                ),
                Err(_) => "absent".to_owned(),
            };
            files.push((RepoPath::new(path), format!("{}{on_disk}", String::from_utf8_lossy(told))));
        }
        files.sort();
        Ok(CheckoutState {
            head: self.head()?,
            branch: self.current_branch()?,
            refs: self.refs("")?.into_iter().collect(),
            files,
        })
    }
}

impl CheckoutState {
    /// What differs from an earlier state.
    #[must_use]
    pub fn changes_since(&self, before: &Self) -> CheckoutChanges {
        let files = |state: &Self| state.files.iter().cloned().collect::<BTreeMap<_, _>>();
        CheckoutChanges {
            head: (&self.head, &self.branch) != (&before.head, &before.branch),
            refs: differing(&before.refs, &self.refs),
            files: differing(&files(before), &files(self)),
        }
    }

    /// A SHA-256 over the whole state, as 64 hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        use sha2::{Digest as _, Sha256};
        let mut hasher = Sha256::new();
        let mut take = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_be_bytes());
            hasher.update(bytes);
        };
        take(self.head.as_ref().map_or("", Commit::as_str).as_bytes());
        take(self.branch.as_deref().unwrap_or_default().as_bytes());
        for (name, oid) in &self.refs {
            take(name.as_bytes());
            take(oid.as_bytes());
        }
        for (path, state) in &self.files {
            take(path.as_bytes());
            take(state.as_bytes());
        }
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn differing<K: Ord + Clone>(before: &BTreeMap<K, String>, after: &BTreeMap<K, String>) -> Vec<K> {
    let lost = before.keys().filter(|key| !after.contains_key(*key));
    let made = after.iter().filter(|(key, value)| before.get(*key) != Some(value)).map(|(key, _)| key);
    let mut keys: Vec<K> = lost.chain(made).cloned().collect();
    keys.sort();
    keys
}
