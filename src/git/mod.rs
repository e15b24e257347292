//! A hardened wrapper over the `git` program, and diffs as a model.
//!
//! Everything here is synchronous and may take as long as git does: callers run it on threads of their own. No
//! call runs a program that the repository's configuration names, reads the environment's `GIT_*`, asks a
//! terminal, or changes the user's checkout.
//!
//! - [`Repository`]: facts about the user's repository; [`CheckoutState`]: whether a run touched it (P-9).
//! - [`Worktree`]: the folder of a run, from its making to its removal.
//! - [`capture`]: the patch of a worktree against the base commit; [`capture_checkout`]: of the user's own
//!   checkout; [`Diff`]: a patch as a model.
//! - [`check_apply`]: whether a patch merges into the tip; [`Publication`]: the branch that is pushed.
//!
//! Patterns, policy, secrets and verdicts are judged elsewhere.

mod apply;
mod capture;
mod changes;
mod checkout;
mod command;
mod diff;
mod error;
mod inspect;
mod publish;
mod remote;
mod repository;
mod scratch;
mod worktree;

pub use apply::{ApplyCheck, check_apply};
pub use capture::{Capture, capture, capture_checkout, paths_of};
pub use changes::{Change, Link, stats};
pub use checkout::{CheckoutChanges, CheckoutState};
pub use diff::{AddedLine, Binary, Diff, FileDiff, Hunk, Line, LineKind, ParseError};
pub use error::GitError;
pub use inspect::apply_to_files;
pub use publish::{CommitText, Identity, Publication, PushError, Pushed};
pub use remote::{Forge, ForgeKind, Remote, program_on_path, redact};
pub use repository::{OLDEST_GIT, Repository, git_version};
pub use scratch::Scratch;
pub use worktree::{Losses, Worktree, sweep};

/// The id of a tree: what a commit's files are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct TreeId(String);

#[cfg(test)]
mod tests;
