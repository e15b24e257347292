//! Facts about the user's repository: where it is, what its names lead to, what a commit holds.
//!
//! Reads only. What is written for a run is written by [`super::worktree`] and, into a place of its own, by
//! [`super::scratch`].

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::command::{Answer, Call};
use super::remote::Remote;
use super::{GitError, TreeId};
use crate::domain::{Commit, RepoPath};

/// A git repository with a work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    root: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    object_format: String,
}

impl Repository {
    /// Finds the repository whose work tree holds `folder`.
    ///
    /// # Errors
    /// [`GitError::NotARepository`] where there is none, or it is bare.
    pub fn discover(folder: &Path) -> Result<Self, GitError> {
        let folder = folder.canonicalize().map_err(GitError::io("open", folder))?;
        let not_one = |message: String| GitError::NotARepository { path: folder.clone(), message };
        let ask = |what: &str| -> Result<PathBuf, GitError> {
            // Whose repositories are to be trusted stands in the user's own configuration.
            let call = Call::new(&folder, "rev-parse").user_settings();
            let call = call.args(["--path-format=absolute", what]);
            match call.run() {
                Ok(answer) => path_line(&answer),
                Err(GitError::Failed { message, .. }) => Err(not_one(message)),
                Err(error) => Err(error),
            }
        };
        let (root, git_dir, common_dir) =
            (ask("--show-toplevel")?, ask("--absolute-git-dir")?, ask("--git-common-dir")?);
        let resolved = |path: PathBuf| path.canonicalize().map_err(GitError::io("open", &path));
        let (root, git_dir, common_dir) = (resolved(root)?, resolved(git_dir)?, resolved(common_dir)?);
        // The answer can come from `core.worktree`, which may name any folder.
        if !folder.starts_with(&root) {
            return Err(not_one("its configuration names another work tree".to_owned()));
        }
        let object_format = Call::new(&root, "rev-parse").arg("--show-object-format").run()?.line();
        Ok(Self { root, git_dir, common_dir, object_format })
    }

    /// The top folder of the work tree, with links resolved.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that all worktrees of the repository share (`.git`).
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Waits for its turn to change or list the worktrees, and holds it until the answer is dropped.
    ///
    /// git reads the records of all worktrees and fails on one that another git is just writing. The lock is on the
    /// folder itself, so it holds between processes and leaves no file; where a file system knows no locks, or the
    /// folder may not be read, there is none, and git says what it says.
    pub(super) fn worktrees_turn(&self) -> Option<std::fs::File> {
        let folder = std::fs::File::open(&self.common_dir).ok()?;
        folder.lock().ok()?;
        Some(folder)
    }

    /// The folder of this worktree's own state; the same as [`Self::common_dir`] in the main worktree.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// `sha1` or `sha256`.
    #[must_use]
    pub fn object_format(&self) -> &str {
        &self.object_format
    }

    /// A call on this repository, its directories named so that none is looked for.
    pub(super) fn call(&self, subcommand: &str) -> Call {
        Call::new(&self.root, subcommand).git_dir(&self.git_dir).work_tree(&self.root)
    }

    /// The commit that a branch, tag, commit id or other name leads to.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`] where it leads to no commit, [`GitError::InvalidName`] where it could be
    /// taken for an option.
    pub fn resolve(&self, name: &str) -> Result<Commit, GitError> {
        if name.is_empty() || name.starts_with('-') || name.contains(['\0', '\n', ':']) {
            return Err(GitError::InvalidName { kind: "revision", name: crate::text::visible(name) });
        }
        let call = self.call("rev-parse").args(["--verify", "--quiet", "--end-of-options"]);
        match call.arg(format!("{name}^{{commit}}")).run() {
            Ok(answer) => commit("rev-parse", answer.line()),
            Err(GitError::Failed { .. }) => {
                Err(GitError::UnknownRevision { name: crate::text::visible(name) })
            }
            Err(error) => Err(error),
        }
    }

    /// The commit that is checked out; none in a repository without a commit.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn head(&self) -> Result<Option<Commit>, GitError> {
        match self.resolve("HEAD") {
            Ok(head) => Ok(Some(head)),
            Err(GitError::UnknownRevision { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The branch that is checked out, without `refs/heads/`; none when the head is detached.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn current_branch(&self) -> Result<Option<String>, GitError> {
        let answer = self.call("symbolic-ref").args(["--quiet", "HEAD"]).accept(1).run()?;
        Ok(answer.line().strip_prefix("refs/heads/").map(ToOwned::to_owned))
    }

    /// The local branches with their tips, in the order of their names. Names are as git has them.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn branches(&self) -> Result<Vec<(String, Commit)>, GitError> {
        let refs = self.refs("refs/heads/")?;
        refs.into_iter()
            .map(|(name, oid)| {
                let name = name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned();
                Ok((name, commit("for-each-ref", oid)?))
            })
            .collect()
    }

    /// All refs below a prefix with what they point to, in the order of their names.
    pub(super) fn refs(&self, prefix: &str) -> Result<Vec<(String, String)>, GitError> {
        let call = self.call("for-each-ref").arg("--format=%(objectname) %(refname)");
        let answer = if prefix.is_empty() { call.run()? } else { call.arg(prefix).run()? };
        answer
            .lines()
            .into_iter()
            .map(|line| match line.split_once(' ') {
                Some((oid, name)) => Ok((name.to_owned(), oid.to_owned())),
                None => Err(GitError::unexpected("for-each-ref", line)),
            })
            .collect()
    }

    /// The remotes with the addresses that are fetched from and pushed to. The addresses may hold credentials:
    /// show them with [`Remote::shown`].
    ///
    /// # Errors
    /// git cannot be run.
    pub fn remotes(&self) -> Result<Vec<Remote>, GitError> {
        let call = self.call("config").args(["--null", "--get-regexp", r"^remote\..*\.(url|pushurl)$"]);
        let answer = call.accept(1).run()?;
        let mut remotes: Vec<Remote> = Vec::new();
        for record in answer.records() {
            let record = String::from_utf8_lossy(record);
            let Some((key, value)) = record.split_once('\n') else { continue };
            let Some((name, field)) = key.strip_prefix("remote.").and_then(|rest| rest.rsplit_once('.'))
            else {
                continue;
            };
            let at = remotes.iter().position(|remote| remote.name == name).unwrap_or_else(|| {
                remotes.push(Remote { name: name.to_owned(), url: String::new(), push_url: None });
                remotes.len() - 1
            });
            match field {
                // Of several addresses the first is the one that is fetched from.
                "url" if remotes[at].url.is_empty() => value.clone_into(&mut remotes[at].url),
                "pushurl" if remotes[at].push_url.is_none() => remotes[at].push_url = Some(value.to_owned()),
                _ => {}
            }
        }
        Ok(remotes)
    }

    /// What a file holds in a commit; nothing where there is no such file.
    ///
    /// # Errors
    /// The commit is unknown, or git cannot be run.
    pub fn file_at(&self, base: &Commit, path: &RepoPath) -> Result<Option<Vec<u8>>, GitError> {
        let base = hex(base)?;
        let call = self.call("ls-tree").args(["-z", "--full-tree", base, "--"]);
        let answer = call.arg(OsStr::from_bytes(path.as_bytes())).run()?;
        let Some(record) = answer.records().first().map(|record| record.to_vec()) else { return Ok(None) };
        let text = String::from_utf8_lossy(&record);
        let mut words = text.split([' ', '\t']);
        let (Some(mode), Some("blob"), Some(oid)) = (words.next(), words.next(), words.next()) else {
            return Ok(None);
        };
        // A link in place of the file is not followed: it says nothing about this commit.
        if mode == "120000" {
            return Ok(None);
        }
        Ok(Some(self.call("cat-file").args(["blob", oid]).run()?.out))
    }

    /// What a content id of a diff stands for, while the repository has it: the side before a patch always, the
    /// side after it once it was published. Context around a hunk is unfolded from it.
    ///
    /// # Errors
    /// The id is none, or git cannot be run.
    pub fn blob(&self, oid: &str) -> Result<Option<Vec<u8>>, GitError> {
        if !is_oid(oid) {
            return Err(GitError::InvalidName { kind: "content id", name: crate::text::visible(oid) });
        }
        match self.call("cat-file").args(["blob", oid]).run() {
            Ok(answer) => Ok(Some(answer.out)),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All files of a commit, in git's order.
    ///
    /// # Errors
    /// The commit is unknown, or git cannot be run.
    pub fn files_at(&self, base: &Commit) -> Result<Vec<RepoPath>, GitError> {
        let call = self.call("ls-tree").args(["-r", "-z", "--full-tree", "--name-only", hex(base)?]);
        Ok(call.run()?.records().into_iter().map(RepoPath::new).collect())
    }

    /// The tree of a commit.
    ///
    /// # Errors
    /// The commit is unknown, or git cannot be run.
    pub fn tree_of(&self, base: &Commit) -> Result<TreeId, GitError> {
        let call = self.call("rev-parse").args(["--verify", "--end-of-options"]);
        TreeId::parse(&call.arg(format!("{}^{{tree}}", hex(base)?)).run()?.line())
    }

    /// By how many commits `tip` is ahead of `base` (P-10).
    ///
    /// # Errors
    /// One of them is unknown, or git cannot be run.
    pub fn commits_between(&self, base: &Commit, tip: &Commit) -> Result<u64, GitError> {
        let call = self.call("rev-list").args(["--count", "--end-of-options"]);
        let line = call.arg(format!("{}..{}", hex(base)?, hex(tip)?)).run()?.line();
        line.parse().map_err(|_| GitError::unexpected("rev-list", line))
    }

    /// The commit that a worktree of this repository has checked out; none where the repository does not know
    /// the worktree.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn head_of_worktree(&self, path: &Path) -> Result<Option<Commit>, GitError> {
        let _turn = self.worktrees_turn();
        let answer = self.call("worktree").args(["list", "--porcelain", "-z"]).run()?;
        let mut wanted = b"worktree ".to_vec();
        wanted.extend_from_slice(path.as_os_str().as_bytes());
        let records = answer.records().into_iter().skip_while(|record| *record != wanted);
        let head =
            records.take_while(|record| !record.is_empty()).find_map(|record| record.strip_prefix(b"HEAD "));
        let head = head.map(|oid| String::from_utf8_lossy(oid).into_owned());
        head.filter(|oid| oid.bytes().any(|b| b != b'0')).map(|oid| commit("worktree", oid)).transpose()
    }

    /// How many commits lead to `head` that no branch, tag or remote branch holds.
    pub(super) fn commits_outside_refs(&self, head: &Commit) -> Result<u64, GitError> {
        let call = self.call("rev-list").args(["--count", hex(head)?]);
        let line = call.args(["--not", "--branches", "--tags", "--remotes"]).run()?.line();
        line.parse().map_err(|_| GitError::unexpected("rev-list", line))
    }

    /// The user's configured mail address (AP-5).
    ///
    /// # Errors
    /// git cannot be run.
    pub fn user_email(&self) -> Result<Option<String>, GitError> {
        self.user_value("user.email")
    }

    /// The user's configured name.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn user_name(&self) -> Result<Option<String>, GitError> {
        self.user_value("user.name")
    }

    fn user_value(&self, key: &str) -> Result<Option<String>, GitError> {
        let answer = self.call("config").user_settings().args(["--get", key]).accept(1).run()?;
        Ok(Some(answer.line()).filter(|line| !line.is_empty()))
    }

    /// Settings that keep the filter programs of the configuration from running, for calls that read or write
    /// the user's own work tree.
    pub(super) fn without_filters(&self) -> Result<Vec<(OsString, OsString)>, GitError> {
        let answer = self.call("config").user_settings().args(["--null", "--list", "--name-only"]).run()?;
        let mut settings = Vec::new();
        for key in answer.records() {
            let Some(rest) = key.strip_prefix(b"filter.") else { continue };
            let Some(dot) = rest.iter().rposition(|b| *b == b'.') else { continue };
            for (field, value) in [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")] {
                let mut name = key[..b"filter.".len() + dot].to_vec();
                name.extend_from_slice(format!(".{field}").as_bytes());
                settings.push((OsString::from_vec(name), OsString::from(value)));
            }
        }
        settings.sort();
        settings.dedup();
        Ok(settings)
    }
}

/// The oldest git that has all that is used here (`merge-tree --write-tree`).
pub const OLDEST_GIT: (u32, u32) = (2, 38);

/// The version of the `git` on the PATH, as it tells it, and whether it is new enough.
///
/// # Errors
/// There is no git.
pub fn git_version() -> Result<(String, bool), GitError> {
    let line = Call::new(Path::new("/"), "version").run()?.line();
    let text = line.strip_prefix("git version ").unwrap_or(&line).to_owned();
    let mut numbers = text.split('.').map_while(|part| part.parse::<u32>().ok());
    let new_enough = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= OLDEST_GIT;
    Ok((crate::text::visible(&text), new_enough))
}

fn path_line(answer: &Answer) -> Result<PathBuf, GitError> {
    let bytes = answer.out.strip_suffix(b"\n").unwrap_or(&answer.out);
    if bytes.first() != Some(&b'/') {
        return Err(GitError::unexpected("rev-parse", crate::text::visible(&String::from_utf8_lossy(bytes))));
    }
    Ok(PathBuf::from(OsStr::from_bytes(bytes)))
}

/// Whether a text is a whole object id.
pub(super) fn is_oid(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The id of a commit, after a look whether it is one: nothing else may reach git's arguments.
pub(super) fn hex(commit: &Commit) -> Result<&str, GitError> {
    if is_oid(commit.as_str()) {
        Ok(commit.as_str())
    } else {
        Err(GitError::InvalidName { kind: "commit id", name: crate::text::visible(commit.as_str()) })
    }
}

pub(super) fn commit(subcommand: &str, line: String) -> Result<Commit, GitError> {
    if is_oid(&line) { Ok(Commit::from(line)) } else { Err(GitError::unexpected(subcommand, line)) }
}
