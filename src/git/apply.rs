//! Applying a patch where nobody sees it: to its own base, and to the tip of the base ref.

use std::path::Path;

use super::repository::{commit, hex};
use super::{GitError, Repository, Scratch, TreeId};
use crate::domain::{ApplyState, Commit, RepoPath};

/// Whether a patch applies to a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyCheck {
    /// [`ApplyState::Clean`] or [`ApplyState::Conflict`].
    pub state: ApplyState,
    /// The paths that conflict.
    pub conflicts: Vec<RepoPath>,
}

impl Scratch {
    /// The tree that `diff` makes of `base`, written into this git directory.
    ///
    /// # Errors
    /// The diff does not apply to its base, or it makes another tree than `expected`.
    pub fn apply(&self, base: &Commit, diff: &[u8], expected: Option<&TreeId>) -> Result<TreeId, GitError> {
        let index = self.index("apply");
        self.call("read-tree").index(&index).arg(hex(base)?).run()?;
        if !diff.is_empty() {
            let call = self.call_on(self.path(), "apply").index(&index);
            call.args(["--cached", "--binary", "--whitespace=nowarn", "-p1", "-"])
                .input(diff.to_vec())
                .run()?;
        }
        let tree = TreeId::parse(&self.call("write-tree").index(&index).run()?.line())?;
        match expected {
            Some(expected) if *expected != tree => Err(GitError::TreeMismatch {
                expected: expected.as_str().to_owned(),
                actual: tree.as_str().to_owned(),
            }),
            _ => Ok(tree),
        }
    }

    /// Writes a commit that is only used to try things.
    pub(super) fn trial_commit(&self, tree: &TreeId, parent: &Commit) -> Result<Commit, GitError> {
        let call = self
            .call("commit-tree")
            .env("GIT_AUTHOR_NAME", "telic")
            .env("GIT_AUTHOR_EMAIL", "telic@localhost")
            .env("GIT_AUTHOR_DATE", "@0 +0000")
            .env("GIT_COMMITTER_NAME", "telic")
            .env("GIT_COMMITTER_EMAIL", "telic@localhost")
            .env("GIT_COMMITTER_DATE", "@0 +0000");
        commit("commit-tree", call.args(["-p", hex(parent)?, "-m", "trial", tree.as_str()]).run()?.line())
    }
}

/// Looks whether a patch of `base` merges into `tip` without a conflict (P-7), as a forge would merge it.
/// Nothing of the repository or of any checkout changes.
///
/// # Errors
/// The patch does not apply to its own base, or git fails; that is not a conflict.
pub fn check_apply(
    repository: &Repository,
    base: &Commit,
    diff: &[u8],
    tip: &Commit,
    place: &Path,
) -> Result<ApplyCheck, GitError> {
    let scratch = Scratch::create(repository, place)?;
    let tree = scratch.apply(base, diff, None)?;
    let clean = ApplyCheck { state: ApplyState::Clean, conflicts: Vec::new() };
    if base == tip {
        return Ok(clean);
    }
    let patch = scratch.trial_commit(&tree, base)?;
    let call = scratch.call("merge-tree").args(["--write-tree", "--name-only", "--no-messages", "-z"]);
    let answer = call.args([hex(tip)?, hex(&patch)?]).accept(1).run()?;
    if answer.exit == 0 {
        return Ok(clean);
    }
    // The first record is the tree with its conflict marks.
    let mut conflicts: Vec<RepoPath> = answer.records().into_iter().skip(1).map(RepoPath::new).collect();
    conflicts.dedup();
    if conflicts.is_empty() {
        return Err(GitError::unexpected("merge-tree", "a conflict without a path"));
    }
    Ok(ApplyCheck { state: ApplyState::Conflict, conflicts })
}
