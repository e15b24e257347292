//! A git directory of telic's own beside the user's repository, for everything that looks at or writes a run's
//! files.
//!
//! It reads the repository's objects through `alternates` and has nothing else of it: no configuration, no
//! hooks, no filters, no index that an agent could have prepared. Its `info/attributes` unsets every attribute
//! that changes content, so what is checked out and what is captured are the bytes of the files: a worktree
//! never differs from its commit through line endings, LFS or filters, and `.gitattributes` hides nothing from
//! a diff. New objects stay in it and vanish with it.
//!
//! The user's own checkout was written by the user's git, so there the conversions have to be known: see
//! [`Content::Converted`].

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::command::Call;
use super::diff::quote;
use super::{GitError, Repository};

/// How the folders are called.
pub(super) const PREFIX: &str = "telic-git-";

/// Attributes that change content, diffs or merges, all unset. This file stands above every `.gitattributes`.
const ATTRIBUTES: &str = "* !text !eol !crlf !ident !filter !working-tree-encoding !diff !merge !whitespace \
                          !delta !conflict-marker-size !binary !export-subst !export-ignore\n";

/// As [`ATTRIBUTES`], with those left alone that say how text is written to the disk.
const ATTRIBUTES_BUT_TEXT: &str = "* !filter !diff !merge !whitespace !delta !conflict-marker-size !binary \
                                   !export-subst !export-ignore\n";

/// How the files on the disk relate to what a commit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// They are the same bytes: a worktree that telic made.
    Bytes,
    /// Line endings and encodings are converted as the user's settings and `.gitattributes` say: the user's
    /// own checkout. Filter programs do not run all the same.
    Converted,
}

/// A git directory of telic's own; removed when it is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    /// Makes one for `repository` below the folder `place`, which is created when it is missing.
    ///
    /// # Errors
    /// Files cannot be written.
    pub fn create(repository: &Repository, place: &Path) -> Result<Self, GitError> {
        Self::create_for(repository, place, Content::Bytes)
    }

    pub(super) fn create_for(
        repository: &Repository,
        place: &Path,
        content: Content,
    ) -> Result<Self, GitError> {
        std::fs::create_dir_all(place).map_err(GitError::io("create", place))?;
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(place)
            .map_err(GitError::io("create a folder in", place))?;
        let scratch = Self { folder };
        for part in ["objects/info", "objects/pack", "refs/heads", "info", "index"] {
            let path = scratch.path().join(part);
            std::fs::create_dir_all(&path).map_err(GitError::io("create", &path))?;
        }
        scratch.write("HEAD", b"ref: refs/heads/none\n")?;
        let mut config = scratch.config(repository)?;
        let mut attributes = Vec::new();
        match content {
            Content::Bytes => {
                config.push_str("[core]\n\tautocrlf = false\n\tsafecrlf = false\n");
                attributes.extend_from_slice(ATTRIBUTES.as_bytes());
            }
            Content::Converted => {
                config.push_str(&conversions(repository)?);
                if let Ok(own) = std::fs::read(repository.common_dir().join("info/attributes")) {
                    attributes.extend_from_slice(&own);
                    attributes.push(b'\n');
                }
                attributes.extend_from_slice(ATTRIBUTES_BUT_TEXT.as_bytes());
            }
        }
        scratch.write("config", config.as_bytes())?;
        scratch.write("info/attributes", &attributes)?;
        scratch.write("info/exclude", &excluded(repository)?)?;
        scratch.write("objects/info/alternates", &alternates(repository))?;
        if let Ok(shallow) = std::fs::read(repository.common_dir().join("shallow")) {
            scratch.write("shallow", &shallow)?;
        }
        Ok(scratch)
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), GitError> {
        let path = self.path().join(name);
        std::fs::write(&path, bytes).map_err(GitError::io("write", &path))
    }

    fn config(&self, repository: &Repository) -> Result<String, GitError> {
        let format = match repository.object_format() {
            "sha1" => String::new(),
            other => format!("[extensions]\n\tobjectFormat = {other}\n"),
        };
        let version = u8::from(!format.is_empty());
        // Names in another letter case are the same file on some systems.
        let probe = self.path().join("probe");
        std::fs::write(&probe, b"").map_err(GitError::io("write", &probe))?;
        let ignores_case = self.path().join("PROBE").exists();
        Ok(format!(
            "[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n\tfileMode = true\n\tsymlinks = true\n\
             \tignoreCase = {ignores_case}\n\tprecomposeUnicode = true\n\tprotectHFS = false\n\
             \tprotectNTFS = false\n\texcludesFile = /dev/null\n\tlogAllRefUpdates = false\n{format}"
        ))
    }

    /// A call in this git directory without a work tree.
    pub(super) fn call(&self, subcommand: &str) -> Call {
        Call::new(self.path(), subcommand).git_dir(self.path())
    }

    /// A call in this git directory on the files of `tree`.
    pub(super) fn call_on(&self, tree: &Path, subcommand: &str) -> Call {
        Call::new(tree, subcommand).git_dir(self.path()).work_tree(tree)
    }

    /// A place for an index file.
    pub(super) fn index(&self, name: &str) -> PathBuf {
        self.path().join("index").join(name)
    }
}

/// The repository's object folders: its own and those it names itself, since relative ones mean something else
/// from here.
fn alternates(repository: &Repository) -> Vec<u8> {
    let own = repository.common_dir().join("objects");
    let mut folders = vec![own.clone()];
    if let Ok(text) = std::fs::read(own.join("info/alternates")) {
        let is_relative = |line: &&[u8]| line.first().is_some_and(|b| !matches!(b, b'/' | b'#' | b'"'));
        for line in text.split(|b| *b == b'\n').filter(is_relative) {
            folders.push(own.join(OsStr::from_bytes(line)));
        }
    }
    let mut lines = Vec::new();
    for folder in folders {
        lines.extend_from_slice(&quote::quoted(folder.as_os_str().as_bytes()));
        lines.push(b'\n');
    }
    lines
}

/// The user's settings for line endings; only words that git knows are taken over.
fn conversions(repository: &Repository) -> Result<String, GitError> {
    let mut lines = String::from("[core]\n\tsafecrlf = false\n");
    for (name, words) in
        [("autocrlf", &["true", "input", "false"][..]), ("eol", &["lf", "crlf", "native"][..])]
    {
        let call = repository.call("config").user_settings().args(["--get", &format!("core.{name}")]);
        let value = call.accept(1).run()?.line().to_ascii_lowercase();
        if words.contains(&value.as_str()) {
            lines.push_str(&format!("\t{name} = {value}\n"));
        }
    }
    Ok(lines)
}

/// What the user ignores everywhere, then what he ignores in this repository; the later counts more.
fn excluded(repository: &Repository) -> Result<Vec<u8>, GitError> {
    let call = Call::new(repository.root(), "config").git_dir(repository.git_dir()).user_settings();
    let answer = call.args(["--global", "--type=path", "--get", "core.excludesFile"]).accept(1).run()?;
    let global = match answer.line() {
        line if !line.is_empty() => Some(PathBuf::from(line)),
        _ => std::env::var_os("XDG_CONFIG_HOME")
            .filter(|folder| !folder.is_empty())
            .map(PathBuf::from)
            .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")))
            .map(|folder| folder.join("git/ignore")),
    };
    let mut lines = Vec::new();
    for file in global.into_iter().chain([repository.common_dir().join("info/exclude")]) {
        if let Ok(bytes) = std::fs::read(&file) {
            lines.extend_from_slice(&bytes);
            lines.push(b'\n');
        }
    }
    Ok(lines)
}
