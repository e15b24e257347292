//! The patch of a workspace: every file of it against the base commit (P-1, P-2).
//!
//! The index of the workspace is the agent's and is not looked at. An index of telic's own begins as the base
//! commit and takes up every file as it stands on the disk, untracked ones included, ignored ones not. All of
//! it happens in a [`Scratch`] git directory, so neither configuration nor attributes nor hooks of the
//! repository have a say, and no submodule is asked for its state.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::changes::{self, Change, Entry, Link};
use super::command::Call;
use super::repository::hex;
use super::scratch::Content;
use super::{Diff, GitError, Repository, Scratch, TreeId};
use crate::domain::{Commit, PatchStats, RepoPath};

/// How long taking up all files may take.
const TIME_LIMIT: Duration = Duration::from_secs(600);
/// How many bytes one changed file, and all untracked files together, may have.
const SIZE_LIMIT: u64 = 1 << 30;

/// Every setting that has a say in the diff's bytes, fixed (P-3).
const DIFF_SETTINGS: [&str; 16] = [
    "--cached",
    "--find-renames=50%",
    "-l4000",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
    "--full-index",
    "--binary",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=histogram",
    "--indent-heuristic",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// What a workspace changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The unified diff; whole, with binary content.
    pub diff: Arc<[u8]>,
    /// The tree of base and patch.
    pub tree: TreeId,
    /// The changed files, in the diff's order.
    pub changes: Vec<Change>,
    /// Files that git would not take because of their names (`.git` as a part, in any letter case). They are
    /// not in the patch; the boundary check lists them.
    pub unsafe_names: Vec<RepoPath>,
}

impl Capture {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.unsafe_names.is_empty()
    }

    /// The patch's sizes (P-3).
    #[must_use]
    pub fn stats(&self) -> PatchStats {
        changes::stats(&self.changes)
    }

    /// The diff as a model.
    ///
    /// # Errors
    /// [`GitError::Diff`], where git wrote what is not understood.
    pub fn model(&self) -> Result<Diff, GitError> {
        Ok(Diff::parse(Arc::clone(&self.diff))?)
    }
}

/// Computes the patch of the files below `workspace`, a worktree that telic made, against `base`. Temporary
/// files are made below `place`.
///
/// # Errors
/// The patch cannot be made whole; there is never a part of it or an empty one instead (P-10).
pub fn capture(
    repository: &Repository,
    workspace: &Path,
    base: &Commit,
    place: &Path,
) -> Result<Capture, GitError> {
    let workspace = workspace.canonicalize().map_err(GitError::io("open", workspace))?;
    let scratch = Scratch::create(repository, place)?;
    let index = scratch.index("capture");
    scratch.call_on(&workspace, "read-tree").index(&index).arg(hex(base)?).run()?;
    Stage { scratch: &scratch, workspace: &workspace, index: &index }.capture(base)
}

/// Computes the patch of the user's own checkout against `base`, for a run whose workspace it is. Files were
/// written there by the user's git: a copy of its index tells which of them are as they were checked out (also
/// where a filter made them), and line endings are converted as they are for the user. Marks that hide changes
/// (`assume-unchanged`, `skip-worktree` on a file that is there) are taken off the copy.
///
/// # Errors
/// As [`capture`].
pub fn capture_checkout(repository: &Repository, base: &Commit, place: &Path) -> Result<Capture, GitError> {
    let scratch = Scratch::create_for(repository, place, Content::Converted)?;
    let index = scratch.index("capture");
    if !copy_index(repository, &scratch, &index)? {
        scratch.call("read-tree").index(&index).arg(hex(base)?).run()?;
    }
    let stage = Stage { scratch: &scratch, workspace: repository.root(), index: &index };
    stage.take_marks_off()?;
    stage.capture(base)
}

/// Copies the checkout's index with its time, by which git tells what may have changed since it was written.
fn copy_index(repository: &Repository, scratch: &Scratch, to: &Path) -> Result<bool, GitError> {
    let from = repository.git_dir().join("index");
    let found = match from.metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(GitError::Io { action: "look at", path: from, source }),
    };
    let time = found.modified().map_err(GitError::io("look at", &from))?;
    std::fs::copy(&from, to).map_err(GitError::io("copy", &from))?;
    let copy = File::options().write(true).open(to).map_err(GitError::io("open", to))?;
    copy.set_modified(time).map_err(GitError::io("date", to))?;
    // A split index has its larger part beside it.
    let beside =
        std::fs::read_dir(repository.git_dir()).map_err(GitError::io("read", repository.git_dir()))?;
    for entry in beside.flatten() {
        if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
            let part = scratch.path().join(entry.file_name());
            std::fs::copy(entry.path(), part).map_err(GitError::io("copy", &entry.path()))?;
        }
    }
    Ok(true)
}

/// An index that takes up the files of a workspace.
struct Stage<'a> {
    scratch: &'a Scratch,
    workspace: &'a Path,
    index: &'a Path,
}

impl Stage<'_> {
    fn call(&self, subcommand: &str) -> Call {
        self.scratch.call_on(self.workspace, subcommand).index(self.index).within(TIME_LIMIT)
    }

    fn capture(&self, base: &Commit) -> Result<Capture, GitError> {
        let unsafe_names = self.take_up()?;
        let tree = TreeId::parse(&self.call("write-tree").run()?.line())?;
        let diff = self.call("diff-index").arg("-p").args(DIFF_SETTINGS).arg(hex(base)?).run()?.out.into();
        let changes = self.changes(base)?;
        Ok(Capture { diff, tree, changes, unsafe_names })
    }

    /// Takes off the marks by which git would not look at a file.
    fn take_marks_off(&self) -> Result<(), GitError> {
        let answer = self.call("ls-files").args(["--cached", "-v", "-z"]).run()?;
        let (mut unchanged, mut skipped) = (Vec::new(), Vec::new());
        for record in answer.records() {
            let (Some(tag), Some(path)) = (record.first(), record.get(2..)) else { continue };
            if tag.is_ascii_lowercase() {
                unchanged.push(path.to_vec());
            }
            // Sparse files are rightly absent.
            let there = || self.workspace.join(OsStr::from_bytes(path)).symlink_metadata().is_ok();
            if tag.eq_ignore_ascii_case(&b'S') && there() {
                skipped.push(path.to_vec());
            }
        }
        for (option, paths) in [("--no-assume-unchanged", unchanged), ("--no-skip-worktree", skipped)] {
            if !paths.is_empty() {
                let call = self.call("update-index").args([option, "-z", "--stdin"]);
                call.input(zero_ended(&paths)).run()?;
            }
        }
        Ok(())
    }

    /// The files that are absent because the checkout is sparse.
    fn sparse(&self) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let answer = self.call("ls-files").args(["--cached", "-t", "-z"]).run()?;
        Ok(answer
            .records()
            .iter()
            .filter_map(|record| record.strip_prefix(b"S "))
            .map(<[u8]>::to_vec)
            .collect())
    }

    fn entries(&self) -> Result<Vec<Entry>, GitError> {
        changes::parse_entries(&self.call("ls-files").args(["--stage", "-z"]).run()?.records())
    }

    /// Brings the index to what stands on the disk; answers with the names that cannot be taken up.
    fn take_up(&self) -> Result<Vec<RepoPath>, GitError> {
        let mut disk = Disk { root: self.workspace, folders: BTreeMap::new() };
        let (mut present, mut gone) = (Vec::new(), Vec::new());
        let sparse = self.sparse()?;
        for entry in self.entries()?.into_iter().filter(|entry| !sparse.contains(&entry.path)) {
            if disk.holds(&entry)? { present.push(entry.path) } else { gone.push(entry.path) }
        }
        if !gone.is_empty() {
            let call = self.call("update-index").args(["-z", "--force-remove", "--stdin"]);
            call.input(zero_ended(&gone)).run()?;
        }

        let answer = self.call("ls-files").args(["--others", "--exclude-standard", "-z"]).run()?;
        let (mut unsafe_names, mut embedded, mut size) = (Vec::new(), Vec::new(), 0);
        for path in answer.records() {
            if let Some(folder) = path.strip_suffix(b"/") {
                embedded.push(folder.to_vec());
            } else if path.split(|b| *b == b'/').any(|part| part.eq_ignore_ascii_case(b".git")) {
                unsafe_names.push(RepoPath::new(path));
            } else {
                size += disk.size(path);
                present.push(path.to_vec());
            }
        }
        let largest = present.iter().map(|path| disk.size(path)).max().unwrap_or(0);
        let bytes = largest.max(size);
        if bytes > SIZE_LIMIT {
            return Err(GitError::PatchTooLarge { bytes, limit: SIZE_LIMIT });
        }
        for folder in embedded {
            let added = self.update(std::slice::from_ref(&folder));
            if let Err(GitError::Failed { .. }) = added {
                return Err(GitError::EmbeddedRepository { path: RepoPath::new(folder) });
            }
            added?;
        }
        self.update(&present)?;
        Ok(unsafe_names)
    }

    fn update(&self, paths: &[Vec<u8>]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let call = self.call("update-index").args(["-z", "--add", "--remove", "--replace", "--stdin"]);
        call.input(zero_ended(paths)).run().map(drop)
    }

    fn changes(&self, base: &Commit) -> Result<Vec<Change>, GitError> {
        let text_only = ["--binary", "--full-index", "--unified=3"];
        let settings = DIFF_SETTINGS.iter().filter(|setting| !text_only.contains(*setting));
        let call = self.call("diff-index").args(["--raw", "--numstat", "-z", "--no-abbrev"]);
        let answer = call.args(settings).arg(hex(base)?).run()?;
        let mut changes = changes::parse(&answer.records())?;
        if changes.iter().any(is_link) {
            let links = self.links()?;
            for change in changes.iter_mut().filter(|change| is_link(change)) {
                let path = change.path.as_bytes();
                let target = links.get(path).cloned().unwrap_or_default();
                change.link = Some(Link { target, outside: changes::leads_outside(path, &links) });
            }
        }
        Ok(changes)
    }

    /// All links of the index with their targets.
    fn links(&self) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, GitError> {
        let entries: Vec<Entry> = self.entries()?.into_iter().filter(Entry::is_link).collect();
        let oids: String = entries.iter().map(|entry| format!("{}\n", entry.oid)).collect();
        let answer = self.call("cat-file").arg("--batch").input(oids.into_bytes()).run()?;
        let broken = || GitError::unexpected("cat-file", "a link's target that is cut short");
        let mut rest = &answer.out[..];
        let mut links = BTreeMap::new();
        for entry in entries {
            let line = rest.iter().position(|b| *b == b'\n').ok_or_else(broken)?;
            let head = String::from_utf8_lossy(&rest[..line]);
            let size =
                head.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok()).ok_or_else(broken)?;
            let (target, after) = rest[line + 1..].split_at_checked(size).ok_or_else(broken)?;
            links.insert(entry.path, target.to_vec());
            rest = after.get(1..).ok_or_else(broken)?;
        }
        Ok(links)
    }
}

fn is_link(change: &Change) -> bool {
    change.new_mode.as_deref() == Some("120000")
}

fn zero_ended(paths: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path);
        bytes.push(0);
    }
    bytes
}

/// What stands on the disk, links never followed.
struct Disk<'a> {
    root: &'a Path,
    /// Folders that were looked at, and whether each is a real one.
    folders: BTreeMap<Vec<u8>, bool>,
}

impl Disk<'_> {
    fn at(&self, path: &[u8]) -> std::path::PathBuf {
        self.root.join(OsStr::from_bytes(path))
    }

    /// Whether every folder above `path` is a real folder and no link.
    fn reachable(&mut self, path: &[u8]) -> bool {
        let Some(slash) = path.iter().rposition(|b| *b == b'/') else { return true };
        let folder = &path[..slash];
        if let Some(known) = self.folders.get(folder) {
            return *known;
        }
        let real =
            self.reachable(folder) && self.at(folder).symlink_metadata().is_ok_and(|found| found.is_dir());
        self.folders.insert(folder.to_vec(), real);
        real
    }

    /// Whether something is there that git would take up in place of the entry.
    fn holds(&mut self, entry: &Entry) -> Result<bool, GitError> {
        if !self.reachable(&entry.path) {
            return Ok(false);
        }
        let path = self.at(&entry.path);
        let found = match path.symlink_metadata() {
            Ok(found) => found.file_type(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(GitError::Io { action: "look at", path, source }),
        };
        if !entry.is_submodule() || !found.is_dir() {
            return Ok(found.is_file() || found.is_symlink());
        }
        // A submodule that is not checked out is an empty folder. Files without a repository in its place
        // would be hidden behind it.
        let mut inside = std::fs::read_dir(&path).map_err(GitError::io("read", &path))?;
        Ok(path.join(".git").symlink_metadata().is_ok() || inside.next().is_none())
    }

    fn size(&self, path: &[u8]) -> u64 {
        self.at(path).symlink_metadata().map_or(0, |found| if found.is_dir() { 0 } else { found.len() })
    }
}

/// The paths on which both sides of a list differ; for callers that compare two captures.
#[must_use]
pub fn paths_of(changes: &[Change]) -> BTreeSet<RepoPath> {
    changes.iter().flat_map(|change| std::iter::once(&change.path).chain(&change.old_path)).cloned().collect()
}
