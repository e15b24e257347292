//! Tests on real temporary repositories.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::domain::{ChangeType, Commit, RepoPath};

mod capturing;
mod facts;
mod history;
mod hostile;
mod publishing;
mod worktrees;

/// A folder with a repository in it and room beside it.
struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    /// A repository without a commit.
    fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let fixture = Self { folder };
        fs::create_dir(fixture.root()).expect("a folder");
        fixture.git(["init", "--quiet", "--initial-branch=main", "."]);
        fixture
    }

    /// A repository with one commit of `a.txt`, `b.txt` and `dir/c.txt`.
    fn new() -> Self {
        let fixture = Self::empty();
        fixture.write("a.txt", "one\ntwo\nthree\n");
        fixture.write("b.txt", "b\n");
        fixture.write("dir/c.txt", "c\n");
        fixture.commit("first");
        fixture
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder").join("repo")
    }

    /// Where worktrees and temporary files go.
    fn place(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder").join("state")
    }

    fn repository(&self) -> Repository {
        Repository::discover(&self.root()).expect("a repository")
    }

    fn git<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> String {
        git_in(&self.root(), arguments)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        write(&self.root(), name.as_bytes(), content.as_ref());
    }

    fn commit(&self, message: &str) -> Commit {
        self.git(["add", "-A"]);
        self.git(["commit", "--quiet", "--allow-empty", "-m", message]);
        self.head()
    }

    fn head(&self) -> Commit {
        Commit::from(self.git(["rev-parse", "HEAD"]))
    }

    fn worktree(&self, name: &str) -> Worktree {
        Worktree::create(&self.repository(), &self.place(), name, &self.head()).expect("a worktree")
    }
}

/// git as a user runs it who has an identity and nothing else.
fn git_in<A: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = A>) -> String {
    let output = Command::new("git")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("LC_ALL", "C")
        .args(["-c", "user.name=Some One", "-c", "user.email=some@one.example", "-c", "commit.gpgSign=false"])
        .args(["-c", "core.quotePath=false", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("git runs");
    let text = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    assert!(output.status.success(), "git failed: {}", String::from_utf8_lossy(&output.stderr));
    text
}

fn write(folder: &Path, name: &[u8], content: &[u8]) {
    let path = folder.join(OsStr::from_bytes(name));
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    fs::write(path, content).expect("a file");
}

fn path(name: impl AsRef<[u8]>) -> RepoPath {
    RepoPath::new(name.as_ref())
}

/// What a capture says in a few words per file: status letter and path.
fn told(capture: &Capture) -> Vec<String> {
    capture
        .changes
        .iter()
        .map(|change| {
            let letter = match change.change_type {
                ChangeType::Added => "A",
                ChangeType::Modified => "M",
                ChangeType::Deleted => "D",
                ChangeType::Renamed => "R",
                ChangeType::Copied => "C",
            };
            match &change.old_path {
                Some(old) => format!("{letter} {old} > {}", change.path),
                None => format!("{letter} {}", change.path),
            }
        })
        .collect()
}
