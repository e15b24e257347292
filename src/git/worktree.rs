//! A worktree of a run: made at the base commit, byte for byte what the commit holds, and removed only where
//! it is provably the one that was made.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::repository::hex;
use super::{Capture, GitError, Repository, Scratch, TreeId, capture};
use crate::domain::{Commit, RepoPath};

/// Below the worktrees' folder: where temporary files of git calls go.
const SCRATCH: &str = ".scratch";
/// How the folder of a worktree is called while it is removed.
const REMOVED: &str = ".removed-";

/// A worktree that telic made. The record is enough to find it again after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Worktree {
    path: PathBuf,
    repository: PathBuf,
    base: Commit,
    device: u64,
    inode: u64,
}

/// What would be lost with a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Files that differ from the base commit.
    pub files: Vec<RepoPath>,
    /// Commits that no branch, tag or remote branch holds.
    pub commits: u64,
}

impl Worktree {
    /// Makes a worktree `name` below `root`, detached at `base`, without submodules and LFS content. `root` is
    /// created when it is missing and must lie outside the repository.
    ///
    /// # Errors
    /// git fails, something is at that place already, or the new worktree differs from its commit; then
    /// nothing is left behind.
    pub fn create(repository: &Repository, root: &Path, name: &str, base: &Commit) -> Result<Self, GitError> {
        Self::make(repository, root, name, base, |scratch, worktree, index| {
            let call = scratch.call_on(&worktree.path, "read-tree").index(index);
            call.args(["--reset", "-u", hex(base)?]).run()?;
            worktree.check_clean(scratch, index)
        })
    }

    /// Makes a worktree of base and patch (V-2): the files hold the patch, the head is the base commit. Where
    /// `expected` is given, base and patch must make this tree.
    ///
    /// # Errors
    /// As [`Self::create`], or the patch does not apply to its base.
    pub fn create_with_patch(
        repository: &Repository,
        root: &Path,
        name: &str,
        base: &Commit,
        diff: &[u8],
        expected: Option<&TreeId>,
    ) -> Result<Self, GitError> {
        Self::make(repository, root, name, base, |scratch, worktree, index| {
            let tree = scratch.apply(base, diff, expected)?;
            let patched = scratch.index("patched");
            let call = scratch.call_on(&worktree.path, "read-tree").index(&patched);
            call.args(["--reset", "-u", tree.as_str()]).run()?;
            worktree.check_clean(scratch, &patched)?;
            // The worktree's own index stays at the base, whose objects the repository has.
            scratch.call_on(&worktree.path, "read-tree").index(index).arg(hex(base)?).run()?;
            let call = scratch.call_on(&worktree.path, "update-index").index(index);
            call.args(["-q", "--refresh"]).accept(1).run().map(drop)
        })
    }

    fn make(
        repository: &Repository,
        root: &Path,
        name: &str,
        base: &Commit,
        fill: impl FnOnce(&Scratch, &Self, &Path) -> Result<(), GitError>,
    ) -> Result<Self, GitError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(plain) {
            return Err(GitError::InvalidName { kind: "worktree name", name: crate::text::visible(name) });
        }
        fs::create_dir_all(root).map_err(GitError::io("create", root))?;
        let root = root.canonicalize().map_err(GitError::io("open", root))?;
        let path = root.join(name);
        let refused = |reason| GitError::NotOurs { path: path.clone(), reason };
        if root.starts_with(repository.root()) {
            return Err(refused("worktrees lie outside the repository"));
        }
        if path.symlink_metadata().is_ok() {
            return Err(refused("something is there already"));
        }
        let scratch = Scratch::create(repository, &root.join(SCRATCH))?;
        let call = repository.call("worktree").args(["add", "--quiet", "--detach", "--no-checkout", "--"]);
        let call = call.arg(&path).arg(hex(base)?);
        let turn = repository.worktrees_turn();
        call.run()?;
        drop(turn);
        let found = path.symlink_metadata().map_err(GitError::io("look at", &path))?;
        let worktree = Self {
            path,
            repository: repository.root().to_owned(),
            base: base.clone(),
            device: found.dev(),
            inode: found.ino(),
        };
        let filled = worktree.admin().and_then(|admin| fill(&scratch, &worktree, &admin.join("index")));
        if let Err(error) = filled {
            // What went wrong first is told; a folder that stays is found by the next clean-up.
            let _ = worktree.remove(&root);
            return Err(error);
        }
        Ok(worktree)
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The root of the repository it belongs to.
    #[must_use]
    pub fn repository(&self) -> &Path {
        &self.repository
    }

    /// The commit it was made at.
    #[must_use]
    pub fn base(&self) -> &Commit {
        &self.base
    }

    /// Where git keeps the worktree's own state. Asked for while nobody else has been in the worktree.
    fn admin(&self) -> Result<PathBuf, GitError> {
        let call = super::command::Call::new(&self.path, "rev-parse").user_settings();
        Ok(PathBuf::from(call.args(["--path-format=absolute", "--absolute-git-dir"]).run()?.line()))
    }

    /// Computes its patch against its base commit.
    ///
    /// # Errors
    /// It is not the worktree that was made, or the patch cannot be made whole.
    pub fn capture(&self, repository: &Repository) -> Result<Capture, GitError> {
        self.check_ours()?;
        let place = self.path.parent().unwrap_or(&self.path).join(SCRATCH);
        capture(repository, &self.path, &self.base, &place)
    }

    /// Looks whether the folder is the one that was made: no link, and the same folder on the disk.
    ///
    /// # Errors
    /// [`GitError::NotOurs`], or it cannot be looked at.
    pub fn check_ours(&self) -> Result<(), GitError> {
        self.check_at(&self.path)
    }

    fn check_at(&self, place: &Path) -> Result<(), GitError> {
        let refused = |reason| GitError::NotOurs { path: self.path.clone(), reason };
        let found = place.symlink_metadata().map_err(GitError::io("look at", place))?;
        if !found.is_dir() {
            return Err(refused("it is no folder"));
        }
        if (found.dev(), found.ino()) != (self.device, self.inode) {
            return Err(refused("it is another folder than the one that was made"));
        }
        Ok(())
    }

    fn check_clean(&self, scratch: &Scratch, index: &Path) -> Result<(), GitError> {
        let call = |subcommand| scratch.call_on(&self.path, subcommand).index(index);
        let changed = call("diff-files").args(["--name-only", "-z", "--ignore-submodules=all"]).run()?;
        let others = call("ls-files").args(["--others", "-z"]).run()?;
        let paths: Vec<RepoPath> =
            changed.records().into_iter().chain(others.records()).map(RepoPath::new).collect();
        if paths.is_empty() { Ok(()) } else { Err(GitError::DirtyAtBirth { paths }) }
    }

    /// What would be lost with it.
    ///
    /// # Errors
    /// It is not the worktree that was made, or its patch cannot be made.
    pub fn losses(&self, repository: &Repository) -> Result<Losses, GitError> {
        let capture = self.capture(repository)?;
        let mut files: Vec<RepoPath> = super::paths_of(&capture.changes).into_iter().collect();
        files.extend(capture.unsafe_names);
        let commits = match repository.head_of_worktree(&self.path)? {
            Some(head) => repository.commits_outside_refs(&head)?,
            None => 0,
        };
        Ok(Losses { files, commits })
    }

    /// Removes it with all that is in it, and what the repository knows of it. Nothing is removed but the
    /// folder that was made, and that only directly below `root`; links are never followed. Removing what is
    /// gone already is no failure.
    ///
    /// # Errors
    /// [`GitError::NotOurs`], or files cannot be removed.
    pub fn remove(&self, root: &Path) -> Result<(), GitError> {
        let root = root.canonicalize().map_err(GitError::io("open", root))?;
        let name = match (self.path.parent(), self.path.file_name()) {
            (Some(parent), Some(name)) if parent == root => name,
            _ => {
                let reason = "it does not lie directly below the folder of worktrees";
                return Err(GitError::NotOurs { path: self.path.clone(), reason });
            }
        };
        if self.path.symlink_metadata().is_ok() {
            self.check_ours()?;
            // It is moved away first: what is then looked at and removed can no longer be exchanged by name.
            // What an interrupted removal left of a worktree of this name is telic's as well.
            let mut gone = std::ffi::OsString::from(REMOVED);
            gone.push(name);
            let gone = root.join(gone);
            if gone.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                delete(&gone)?;
            }
            fs::rename(&self.path, &gone).map_err(GitError::io("move", &self.path))?;
            if let Err(error) = self.check_at(&gone) {
                fs::rename(&gone, &self.path).map_err(GitError::io("move back", &gone))?;
                return Err(error);
            }
            delete(&gone)?;
        }
        // With the folder gone this only forgets it. A repository that is gone has nothing to forget.
        if let Ok(repository) = Repository::discover(&self.repository) {
            let _turn = repository.worktrees_turn();
            let call = repository.call("worktree").args(["remove", "--force", "--force", "--"]);
            match call.arg(&self.path).run() {
                Ok(_) | Err(GitError::Failed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Removes what calls and removals left below the worktrees' folder `root` when they were cut off by a crash:
/// half-removed worktrees, and temporary files that nobody wrote to for a day. Answers with how many.
///
/// # Errors
/// Something is there that cannot be removed.
pub fn sweep(root: &Path) -> Result<usize, GitError> {
    const IDLE: Duration = Duration::from_secs(24 * 60 * 60);
    let entries = |folder: &Path| -> Vec<fs::DirEntry> {
        fs::read_dir(folder).map(|inside| inside.flatten().collect()).unwrap_or_default()
    };
    let begins = |entry: &fs::DirEntry, prefix: &[u8]| entry.file_name().as_bytes().starts_with(prefix);
    let removed = entries(root).into_iter().filter(|entry| begins(entry, REMOVED.as_bytes()));
    let scratch = root.join(SCRATCH);
    let real = scratch.symlink_metadata().is_ok_and(|found| found.is_dir());
    let left = if real { entries(&scratch) } else { Vec::new() };
    let left =
        left.into_iter().filter(|entry| begins(entry, super::scratch::PREFIX.as_bytes())).filter(|entry| {
            let idle = entry.metadata().ok().and_then(|found| found.modified().ok()?.elapsed().ok());
            idle.is_some_and(|idle| idle > IDLE)
        });
    let mut count = 0;
    for entry in removed.chain(left).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        delete(&entry.path())?;
        count += 1;
    }
    Ok(count)
}

/// Removes a folder. Folders without write permission, as package caches make them, get it first.
fn delete(folder: &Path) -> Result<(), GitError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            open_up(folder);
            fs::remove_dir_all(folder).map_err(GitError::io("remove", folder))
        }
        result => result.map_err(GitError::io("remove", folder)),
    }
}

fn open_up(folder: &Path) {
    // What cannot be changed is named by the removal that follows.
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    let Ok(inside) = fs::read_dir(folder) else { return };
    for entry in inside.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}
