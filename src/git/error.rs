//! What can go wrong with git, as typed errors with stable codes.

use std::path::{Path, PathBuf};

use crate::domain::RepoPath;

/// A failure around the `git` program. Texts are safe for a terminal: controls are shown as symbols and
/// credentials in addresses are left out.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no `git` on the PATH.
    #[error("git is not installed, or not on the PATH")]
    NotInstalled,
    /// The system refused to start git.
    #[error("git {subcommand} could not be started: {source}")]
    Start {
        /// The subcommand.
        subcommand: String,
        /// Why.
        source: std::io::Error,
    },
    /// git ended with an exit code that is not success.
    #[error("git {subcommand} failed with exit code {exit}: {message}")]
    Failed {
        /// The subcommand.
        subcommand: String,
        /// Its exit code; 128 and the signal's number where a signal ended it.
        exit: i32,
        /// The end of what it said.
        message: String,
    },
    /// git took too long and was ended with its whole group.
    #[error("git {subcommand} did not end within {seconds} s and was stopped")]
    TimedOut {
        /// The subcommand.
        subcommand: String,
        /// The limit in seconds.
        seconds: u64,
    },
    /// git wrote more than is read, and was ended.
    #[error("git {subcommand} wrote more than {limit} bytes and was stopped")]
    OutputLimit {
        /// The subcommand.
        subcommand: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// git answered with something that is not understood.
    #[error("git {subcommand} answered with something unexpected: {what}")]
    Unexpected {
        /// The subcommand.
        subcommand: String,
        /// What was not understood.
        what: String,
    },
    /// A folder is not in a repository, or the repository has no work tree.
    #[error("{} is not inside the work tree of a git repository: {message}", path.display())]
    NotARepository {
        /// The folder.
        path: PathBuf,
        /// What git said.
        message: String,
    },
    /// A name leads to no commit.
    #[error("{name} names no commit of this repository")]
    UnknownRevision {
        /// The name that was asked for.
        name: String,
    },
    /// A name that git would not take, or that could be read as an option.
    #[error("{name} is no valid {kind}")]
    InvalidName {
        /// What it should have been.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A file could not be read, written or removed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A new worktree differs from its commit.
    #[error("the new worktree differs from its commit in {} places, the first is {}", paths.len(), first(paths))]
    DirtyAtBirth {
        /// The paths.
        paths: Vec<RepoPath>,
    },
    /// A folder is not the worktree that was recorded, so it is left alone.
    #[error("{} is left alone: {reason}", path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// What does not fit.
        reason: &'static str,
    },
    /// A repository without a commit lies inside the worktree; git cannot say what is in it.
    #[error("{path} is a repository of its own without a commit, so its files cannot be part of the patch")]
    EmbeddedRepository {
        /// Its folder.
        path: RepoPath,
    },
    /// The changed files are larger than a patch may be.
    #[error("the changed files hold {bytes} bytes, a patch may hold {limit}")]
    PatchTooLarge {
        /// Their size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The patch does not make the tree that was recorded for it.
    #[error("base and patch make the tree {actual}, not {expected}")]
    TreeMismatch {
        /// The recorded tree.
        expected: String,
        /// The tree that came out.
        actual: String,
    },
    /// A diff that cannot be read.
    #[error(transparent)]
    Diff(#[from] super::diff::ParseError),
    /// A push that did not happen.
    #[error(transparent)]
    Push(#[from] super::publish::PushError),
}

fn first(paths: &[RepoPath]) -> String {
    paths.first().map(|path| crate::text::visible(&path.to_string())).unwrap_or_default()
}

impl GitError {
    /// A stable name of the kind of failure.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotInstalled => "git_not_installed",
            Self::Start { .. } => "git_start_failed",
            Self::Failed { .. } => "git_failed",
            Self::TimedOut { .. } => "git_timed_out",
            Self::OutputLimit { .. } => "git_output_limit",
            Self::Unexpected { .. } => "git_unexpected_output",
            Self::NotARepository { .. } => "not_a_repository",
            Self::UnknownRevision { .. } => "unknown_revision",
            Self::InvalidName { .. } => "invalid_git_name",
            Self::Io { .. } => "git_io_failed",
            Self::DirtyAtBirth { .. } => "worktree_dirty_at_birth",
            Self::NotOurs { .. } => "worktree_not_ours",
            Self::EmbeddedRepository { .. } => "embedded_repository",
            Self::PatchTooLarge { .. } => "patch_too_large",
            Self::TreeMismatch { .. } => "patch_tree_mismatch",
            Self::Diff(_) => "diff_unreadable",
            Self::Push(error) => error.code(),
        }
    }

    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    pub(super) fn unexpected(subcommand: &str, what: impl Into<String>) -> Self {
        Self::Unexpected { subcommand: subcommand.to_owned(), what: what.into() }
    }
}
