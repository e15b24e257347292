//! The grounding root, what lies outside it, and the files below it (`grounding.md` 2, 3.4, 3.6, 6, 10.8).
//!
//! A file is opened in two steps that cannot be played against each other: its links are resolved and the
//! result must lie below the root; then every component of the result is opened without following links, from
//! the root's own descriptor on. What became a link in between fails to open. Type, size and content are then
//! taken from that one descriptor.

use super::error::GroundingError;
use super::git_source;
use super::paths::{is_at_or_below, normalize};
use super::process::Failure;
use super::watch::Watch;
use crate::text::{cut_units, units};
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// The longest root and active path, in UTF-16 code units.
const ABSOLUTE_LIMIT: usize = 4096;

/// The directory that is grounded.
#[derive(Debug)]
pub(super) struct Root {
    /// Its path, links resolved.
    pub(super) path: PathBuf,
    /// The path the caller gave, made absolute.
    given: PathBuf,
    /// The caller's path, links resolved.
    given_resolved: PathBuf,
    directory: OwnedFd,
    excluded: Vec<PathBuf>,
    /// Whether Git did not answer in time, so that it is not asked again.
    pub(super) git_hangs: bool,
}

/// Why a candidate cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    SymlinkEscape,
    PathEscape,
    Unreadable,
    NonRegular,
    Excluded,
}

impl Root {
    /// Resolves `given`; the top level of its Git work tree takes its place where there is one (2).
    pub(super) fn find(given: &Path, excluded: &[PathBuf], watch: &Watch) -> Result<Self, GroundingError> {
        let bad = |problem: &str| GroundingError::InvalidRoot {
            root: given.to_string_lossy().into_owned(),
            problem: problem.to_owned(),
        };
        if units(&given.to_string_lossy()) > ABSOLUTE_LIMIT {
            return Err(bad("is longer than 4,096"));
        }
        let given_resolved = given.canonicalize().map_err(|error| bad(&error.to_string()))?;
        if !given_resolved.is_dir() {
            return Err(bad("is not a directory"));
        }
        let (top, git_hangs) = match git_source::top_level(&given_resolved, watch)? {
            Ok(top) => (top.canonicalize().ok().filter(|top| given_resolved.starts_with(top)), false),
            Err(failure) => (None, failure == Failure::TimedOut),
        };
        let path = top.unwrap_or_else(|| given_resolved.clone());
        let directory = File::open(&path).map_err(|error| bad(&error.to_string()))?.into();
        let given = std::path::absolute(given).map_err(|error| bad(&error.to_string()))?;
        let excluded = excluded.iter().map(|root| Self::excluded_root(root)).collect::<Result<_, _>>()?;
        Ok(Self { path, given: lexical(&given), given_resolved, directory, excluded, git_hangs })
    }

    fn excluded_root(root: &Path) -> Result<PathBuf, GroundingError> {
        if !root.is_absolute() || units(&root.to_string_lossy()) > ABSOLUTE_LIMIT {
            return Err(GroundingError::InvalidInput {
                what: "excluded root",
                problem: format!("{} must be absolute and at most 4,096 long", root.display()),
            });
        }
        Ok(root.canonicalize().unwrap_or_else(|_| lexical(root)))
    }

    /// Whether a repository path equals or lies below an excluded root (3.4).
    pub(super) fn excludes(&self, path: &str) -> bool {
        self.excluded.iter().any(|excluded| match excluded.strip_prefix(&self.path) {
            Ok(inside) if inside.as_os_str().is_empty() => true,
            Ok(inside) => is_at_or_below(path, &inside.to_string_lossy()),
            Err(_) => self.path.starts_with(excluded),
        })
    }

    /// The repository path that an active path names (3.6).
    pub(super) fn active_path(&self, active: &str) -> Result<String, GroundingError> {
        let bad = |problem, remedy| GroundingError::InvalidActivePath {
            path: cut_units(active, 400).to_owned(),
            root: self.path.to_string_lossy().into_owned(),
            problem,
            remedy,
        };
        if active.is_empty() || units(active) > ABSOLUTE_LIMIT || active.contains('\0') {
            return Err(bad("is empty, longer than 4,096 or holds NUL", "name a file below the root"));
        }
        let outside = || bad("lies outside the root", "name a file below the root");
        let relative = if active.starts_with('/') {
            let absolute = lexical(Path::new(active));
            let inside = match absolute.strip_prefix(&self.path) {
                Ok(inside) => inside.to_path_buf(),
                // The caller may know the root by another name, through a link.
                Err(_) => {
                    let inside = absolute.strip_prefix(&self.given).map_err(|_| outside())?;
                    let absolute = self.given_resolved.join(inside);
                    absolute.strip_prefix(&self.path).map_err(|_| outside())?.to_path_buf()
                }
            };
            inside.to_string_lossy().into_owned()
        } else {
            active.to_owned()
        };
        let path = if relative.is_empty() {
            relative
        } else {
            normalize(&relative).map(std::borrow::Cow::into_owned).ok_or_else(|| {
                bad(
                    "is not a plain relative path",
                    "write it relative to the root with / between names, without ., .., a trailing slash or a backslash",
                )
            })?
        };
        if !self.contains_existing_part(&path) {
            return Err(bad("leads outside the root through a link", "name the file by its own path"));
        }
        Ok(path)
    }

    /// Whether the part of `path` that exists resolves to a place below the root.
    fn contains_existing_part(&self, path: &str) -> bool {
        let joined = self.path.join(path);
        joined
            .ancestors()
            .take_while(|ancestor| ancestor.starts_with(&self.path))
            .find_map(|ancestor| ancestor.canonicalize().ok())
            .is_none_or(|resolved| resolved.starts_with(&self.path))
    }

    /// Where a candidate really lies, relative to the root (rules 3 to 6 of section 6).
    pub(super) fn resolve(&self, path: &str) -> Result<PathBuf, Refusal> {
        let joined = self.path.join(path);
        let entry = joined.symlink_metadata().map_err(|_| Refusal::Unreadable)?;
        let resolved = joined.canonicalize().map_err(|_| Refusal::Unreadable)?;
        let Ok(inside) = resolved.strip_prefix(&self.path) else {
            return Err(if entry.is_symlink() { Refusal::SymlinkEscape } else { Refusal::PathEscape });
        };
        if !resolved.symlink_metadata().map_err(|_| Refusal::Unreadable)?.is_file() {
            return Err(Refusal::NonRegular);
        }
        if self.excluded.iter().any(|excluded| resolved.starts_with(excluded)) {
            return Err(Refusal::Excluded);
        }
        Ok(inside.to_path_buf())
    }

    /// The size of a resolved file, before it is opened.
    pub(super) fn size(&self, resolved: &Path) -> Result<u64, Refusal> {
        let metadata = self.path.join(resolved).symlink_metadata().map_err(|_| Refusal::Unreadable)?;
        Ok(metadata.len())
    }

    /// Opens a resolved file, following no link at any component.
    pub(super) fn open(&self, resolved: &Path) -> Result<File, Refusal> {
        let always = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut names = resolved.components().peekable();
        let mut directory: Option<OwnedFd> = None;
        while let Some(Component::Normal(name)) = names.next() {
            let last = names.peek().is_none();
            // Without O_NONBLOCK a pipe that took the file's place would be waited for.
            let flags = if last { OFlag::O_NONBLOCK | OFlag::O_NOCTTY } else { OFlag::O_DIRECTORY };
            let from = directory.as_ref().unwrap_or(&self.directory);
            let opened =
                openat(from, name, always | flags, Mode::empty()).map_err(|_| Refusal::Unreadable)?;
            if last {
                let file = File::from(opened);
                let regular = file.metadata().map_err(|_| Refusal::Unreadable)?.is_file();
                return if regular { Ok(file) } else { Err(Refusal::NonRegular) };
            }
            directory = Some(opened);
        }
        Err(Refusal::NonRegular)
    }
}

/// `path` with `.` and `..` removed by text alone.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
