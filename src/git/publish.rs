//! A branch with the patch as its one commit, made beside the user's checkout and pushed without force.
//!
//! Owns the commit, the checks before a push, the push itself and what went wrong with it. Whether anything may
//! be published, what the plan shows, and the pull request are decided elsewhere.

use std::path::{Path, PathBuf};

use super::command::Call;
use super::remote::redact;
use super::repository::{commit, hex, is_oid};
use super::{GitError, Repository, Scratch, TreeId};
use crate::domain::Commit;

/// Who stands in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name.
    pub name: String,
    /// Mail address.
    pub email: String,
}

/// What a commit says beside its content. The same text, base and patch give the same commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitText {
    /// Title, empty line, text, trailers.
    pub message: String,
    /// Who wrote the change.
    pub author: Identity,
    /// Who made the commit.
    pub committer: Identity,
    /// When, in seconds since 1970; in UTC.
    pub seconds: i64,
}

/// What became of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The branch was made.
    Created,
    /// The branch was there with the same content already; nothing was sent.
    AlreadyThere,
}

/// Why nothing was pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The branch is the one the change is for.
    #[error("nothing is pushed to {branch}: it is the base branch, or the main branch of the remote")]
    BaseBranch {
        /// The branch.
        branch: String,
    },
    /// The branch is there with something else in it; it is never overwritten.
    #[error("the remote has a branch {branch} already, at {commit}, with other content")]
    BranchExists {
        /// The branch.
        branch: String,
        /// What it points to.
        commit: String,
    },
    /// The remote does not know who is pushing, or refuses him.
    #[error("the remote asks for a login that git does not have: {message}")]
    Login {
        /// What git said.
        message: String,
    },
    /// The remote was reached and said no.
    #[error("the remote rejected the push: {message}")]
    Rejected {
        /// What it said.
        message: String,
    },
    /// The remote was not reached.
    #[error("the remote cannot be reached: {message}")]
    Unreachable {
        /// What git said.
        message: String,
    },
}

impl PushError {
    /// A stable name of the kind of failure.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::BaseBranch { .. } => "push_to_base_branch",
            Self::BranchExists { .. } => "branch_exists",
            Self::Login { .. } => "push_login_needed",
            Self::Rejected { .. } => "push_rejected",
            Self::Unreachable { .. } => "remote_unreachable",
        }
    }
}

/// The commit that would be published; nothing of the user's repository has changed yet.
#[derive(Debug)]
pub struct Publication {
    scratch: Scratch,
    root: PathBuf,
    commit: Commit,
    tree: TreeId,
}

impl Publication {
    /// Makes the commit: its parent is `base`, its tree is base and patch. Temporary files are made below
    /// `place`.
    ///
    /// # Errors
    /// The patch does not apply to its base, or makes another tree than `expected`.
    pub fn prepare(
        repository: &Repository,
        base: &Commit,
        diff: &[u8],
        expected: Option<&TreeId>,
        text: &CommitText,
        place: &Path,
    ) -> Result<Self, GitError> {
        let scratch = Scratch::create(repository, place)?;
        let tree = scratch.apply(base, diff, expected)?;
        let date = format!("@{} +0000", text.seconds);
        let call = scratch
            .call("commit-tree")
            .env("GIT_AUTHOR_NAME", &text.author.name)
            .env("GIT_AUTHOR_EMAIL", &text.author.email)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_NAME", &text.committer.name)
            .env("GIT_COMMITTER_EMAIL", &text.committer.email)
            .env("GIT_COMMITTER_DATE", &date)
            .args(["-p", hex(base)?, "-F", "-", tree.as_str()])
            .input(text.message.clone().into_bytes());
        let commit = commit("commit-tree", call.run()?.line())?;
        Ok(Self { scratch, root: repository.root().to_owned(), commit, tree })
    }

    /// The commit.
    #[must_use]
    pub fn commit(&self) -> &Commit {
        &self.commit
    }

    /// Its tree.
    #[must_use]
    pub fn tree(&self) -> &TreeId {
        &self.tree
    }

    /// Pushes the commit to a new branch of the remote at `address`, without force. A branch that is there with
    /// the same content is a success; any other one is left alone.
    ///
    /// # Errors
    /// [`GitError::Push`] says why the remote has no such branch now.
    pub fn push(&self, address: &str, branch: &str, base_branch: Option<&str>) -> Result<Pushed, GitError> {
        self.check_branch(branch)?;
        if address.is_empty() || address.starts_with('-') || address.contains(|c: char| c.is_control()) {
            let name = crate::text::visible(&redact(address));
            return Err(GitError::InvalidName { kind: "address of a remote", name });
        }
        let full = format!("refs/heads/{branch}");
        let forbidden = || PushError::BaseBranch { branch: crate::text::visible(branch) };
        if base_branch.is_some_and(|base| base.strip_prefix("refs/heads/").unwrap_or(base) == branch) {
            return Err(forbidden().into());
        }
        let heads = self.network("ls-remote").args(["--symref", "--", address, "HEAD", &full]);
        let heads = heads.run().map_err(classified)?.lines();
        if heads.contains(&format!("ref: {full}\tHEAD")) {
            return Err(forbidden().into());
        }
        let there = heads.iter().filter_map(|line| line.split_once('\t')).find(|(_, name)| *name == full);
        if let Some((oid, _)) = there {
            return if self.has_same_content(address, &full, oid)? {
                Ok(Pushed::AlreadyThere)
            } else {
                Err(PushError::BranchExists { branch: crate::text::visible(branch), commit: oid.to_owned() }
                    .into())
            };
        }
        let call = self.network("push").args([
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--recurse-submodules=no",
            "--",
            address,
            &format!("{}:{full}", hex(&self.commit)?),
        ]);
        let answer = call.accept(1).run().map_err(classified)?;
        if answer.exit == 0 {
            return Ok(Pushed::Created);
        }
        let told =
            answer.lines().into_iter().filter(|line| line.starts_with('!')).collect::<Vec<_>>().join("; ");
        let message = crate::text::visible(&redact(&told.replace('\t', " ")));
        Err(PushError::Rejected { message: format!("{message} {}", answer.message).trim().to_owned() }.into())
    }

    /// Makes a local branch in the user's repository that holds the commit; no checkout changes.
    ///
    /// # Errors
    /// The branch exists with another commit, or git fails.
    pub fn keep_locally(&self, repository: &Repository, branch: &str) -> Result<(), GitError> {
        self.check_branch(branch)?;
        let full = format!("refs/heads/{branch}");
        let there = repository.refs(&full)?.into_iter().find(|(name, _)| *name == full);
        if let Some((_, oid)) = there {
            if oid == self.commit.as_str() {
                return Ok(());
            }
            return Err(PushError::BranchExists { branch: crate::text::visible(branch), commit: oid }.into());
        }
        self.scratch.call("update-ref").args([&full, hex(&self.commit)?]).run()?;
        let call = repository.call("fetch").files().args([
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--",
        ]);
        call.arg(self.scratch.path()).arg(format!("{full}:{full}")).run().map(drop)
    }

    fn network(&self, subcommand: &str) -> Call {
        // An address may be a path relative to the repository.
        Call::new(&self.root, subcommand).git_dir(self.scratch.path()).network()
    }

    fn check_branch(&self, branch: &str) -> Result<(), GitError> {
        let answer =
            self.scratch.call("check-ref-format").arg(format!("refs/heads/{branch}")).accept(1).run()?;
        if answer.exit != 0 || branch.starts_with('-') || branch == "HEAD" {
            return Err(GitError::InvalidName { kind: "branch name", name: crate::text::visible(branch) });
        }
        Ok(())
    }

    fn has_same_content(&self, address: &str, full: &str, oid: &str) -> Result<bool, GitError> {
        if oid == self.commit.as_str() {
            return Ok(true);
        }
        let fetched = "refs/telic/there";
        let call = self.network("fetch").args([
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--",
            address,
            &format!("+{full}:{fetched}"),
        ]);
        call.run().map_err(classified)?;
        let call = self.scratch.call("rev-parse").args(["--verify", "--end-of-options"]);
        let tree = call.arg(format!("{fetched}^{{tree}}")).run()?.line();
        Ok(is_oid(&tree) && tree == self.tree.as_str())
    }
}

/// A failed call to a remote, by what git said about it.
fn classified(error: GitError) -> GitError {
    let GitError::Failed { subcommand, exit, message } = error else { return error };
    let said = message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if has(&[
        "could not read username",
        "could not read password",
        "authentication failed",
        "permission denied",
        "terminal prompts disabled",
        "host key verification failed",
        "invalid credentials",
        "returned error: 401",
        "returned error: 403",
    ]) {
        return PushError::Login { message }.into();
    }
    if has(&["rejected", "hook declined", "protected branch"]) {
        return PushError::Rejected { message }.into();
    }
    if has(&[
        "could not resolve host",
        "unable to access",
        "connection refused",
        "connection timed out",
        "network is unreachable",
        "does not appear to be a git repository",
        "repository not found",
        "could not read from remote repository",
        "the remote end hung up",
        "not allowed",
    ]) {
        return PushError::Unreachable { message }.into();
    }
    GitError::Failed { subcommand, exit, message }
}
