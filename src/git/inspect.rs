//! Reading history and applying a patch for the mediated tools (`telic_git`, `telic_apply_patch`).
//!
//! All of it runs in a [`Scratch`] git directory. Which paths a patch may touch is decided before it comes here.

use std::path::Path;

use super::repository::hex;
use super::{GitError, Repository, Scratch};
use crate::domain::Commit;

/// How large an answer may be, in bytes; the tools show less.
const LIMIT: u64 = 32 * 1024 * 1024;

impl Scratch {
    /// The last `count` commits that lead to `tip`, newest first, as git prints them. It is outside text.
    ///
    /// # Errors
    /// The commit is unknown, or git fails.
    pub fn log(&self, tip: &Commit, count: u32) -> Result<Vec<u8>, GitError> {
        let call = self.call("log").args(["--no-color", "--no-decorate", "--format=medium"]).limited(LIMIT);
        Ok(call.arg(format!("--max-count={count}")).args([hex(tip)?, "--"]).run()?.out)
    }

    /// One commit with its diff, as git prints it. It is outside text.
    ///
    /// # Errors
    /// The commit is unknown, or git fails.
    pub fn show(&self, commit: &Commit) -> Result<Vec<u8>, GitError> {
        let call =
            self.call("show").args(["--no-color", "--no-decorate", "--format=medium", "--no-ext-diff"]);
        Ok(call.args(["--no-textconv", hex(commit)?, "--"]).limited(LIMIT).run()?.out)
    }
}

/// Applies a diff to the files below `folder`, all of it or nothing. git refuses paths that leave the folder or
/// lie behind a link. Temporary files are made below `place`.
///
/// # Errors
/// [`GitError::Failed`] with git's words where the diff does not apply; then no file has changed.
pub fn apply_to_files(
    repository: &Repository,
    folder: &Path,
    diff: &[u8],
    place: &Path,
) -> Result<(), GitError> {
    let folder = folder.canonicalize().map_err(GitError::io("open", folder))?;
    let scratch = Scratch::create(repository, place)?;
    let call = scratch.call_on(&folder, "apply").args(["--whitespace=nowarn", "-p1", "-"]);
    call.input(diff.to_vec()).run().map(drop)
}
