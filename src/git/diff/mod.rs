//! Unified diffs as a model: files, hunks, lines with their numbers on both sides.
//!
//! Pure: bytes in, model out. The model keeps the bytes once and points into them, so that a diff of 100,000
//! lines costs little more than its text. [`parse`] reads, [`quote`] knows how git writes odd names.

mod parse;
pub(super) mod quote;

use std::ops::Range;
use std::sync::Arc;

use crate::domain::{ChangeType, PatchStats, RepoPath};

pub use parse::ParseError;

/// A diff that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    bytes: Arc<[u8]>,
    files: Vec<FileDiff>,
}

/// One file of a diff. A file that became another type (a link, a submodule) has two in a row: one that
/// deletes and one that adds, as git writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// The path before; none for an added file.
    pub old_path: Option<RepoPath>,
    /// The path after; none for a deleted file.
    pub new_path: Option<RepoPath>,
    /// What happened to it.
    pub kind: ChangeType,
    /// The mode before, where the diff names it.
    pub old_mode: Option<String>,
    /// The mode after, where the diff names it.
    pub new_mode: Option<String>,
    /// The id of the content before; zeros or none where there was none.
    pub old_oid: Option<String>,
    /// The id of the content after.
    pub new_oid: Option<String>,
    /// How alike both sides of a rename or copy are, in percent.
    pub similarity: Option<u8>,
    /// Set for content that is shown as binary.
    pub binary: Option<Binary>,
    /// The changed places, in order.
    pub hunks: Vec<Hunk>,
    /// Where the file's part of the diff stands in its bytes; its digest tells whether the part changed.
    pub span: Range<usize>,
}

/// What a diff says about binary content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Binary {
    /// Size before in bytes, where the diff holds the whole content.
    pub old_size: Option<u64>,
    /// Size after in bytes, where the diff holds the whole content.
    pub new_size: Option<u64>,
}

/// One changed place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// First line before; 0 for an empty file.
    pub old_start: u64,
    /// Lines before.
    pub old_count: u64,
    /// First line after; 0 for an empty file.
    pub new_start: u64,
    /// Lines after.
    pub new_count: u64,
    /// Where the heading stands that git found above the place; see [`Diff::slice`].
    pub heading: Range<usize>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// On both sides.
    Context,
    /// After only.
    Added,
    /// Before only.
    Removed,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub kind: LineKind,
    /// Its number before, from 1.
    pub old_no: Option<u64>,
    /// Its number after, from 1.
    pub new_no: Option<u64>,
    /// Where its text stands, without mark and line feed; see [`Diff::text`].
    pub text: Range<usize>,
    /// Whether the file ends here without a line feed.
    pub no_newline: bool,
}

/// An added line and where it will stand (P-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedLine<'a> {
    /// The file after the change.
    pub path: &'a RepoPath,
    /// The line's number after the change, from 1.
    pub line: u64,
    /// Its text without the line feed.
    pub text: &'a [u8],
}

impl Diff {
    /// Reads a diff as `git diff` writes it. Never panics, whatever the bytes are.
    ///
    /// # Errors
    /// The bytes are no whole diff: the error names the line. Nothing is left out silently (P-10).
    pub fn parse(bytes: impl Into<Arc<[u8]>>) -> Result<Self, ParseError> {
        let bytes = bytes.into();
        let files = parse::files(&bytes)?;
        Ok(Self { bytes, files })
    }

    /// The files, in the diff's order.
    #[must_use]
    pub fn files(&self) -> &[FileDiff] {
        &self.files
    }

    /// The bytes that were read.
    #[must_use]
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// The bytes of a range that this diff gave.
    #[must_use]
    pub fn slice(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// The text of a line, without mark and line feed.
    #[must_use]
    pub fn text(&self, line: &Line) -> &[u8] {
        self.slice(&line.text)
    }

    /// The diff's sizes (P-3). Binary content has no lines, also where it takes the place of a link.
    #[must_use]
    pub fn stats(&self) -> PatchStats {
        let mut stats = PatchStats::default();
        let mut files = self.files.iter().peekable();
        while let Some(file) = files.next() {
            // A changed type is one file although it stands there twice.
            let other = files.next_if(|next| next.completes(file));
            stats.files += 1;
            if file.binary.is_none() && other.is_none_or(|other| other.binary.is_none()) {
                for (additions, deletions) in std::iter::once(file).chain(other).map(FileDiff::counts) {
                    stats.additions += additions;
                    stats.deletions += deletions;
                }
            }
        }
        stats
    }

    /// The added lines with their places, in order.
    pub fn added_lines(&self) -> impl Iterator<Item = AddedLine<'_>> {
        self.files.iter().filter_map(|file| Some((file.new_path.as_ref()?, file))).flat_map(
            move |(path, file)| {
                let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
                lines.filter(|line| line.kind == LineKind::Added).filter_map(move |line| {
                    Some(AddedLine { path, line: line.new_no?, text: self.text(line) })
                })
            },
        )
    }
}

impl FileDiff {
    /// The path after the change, or before it for a deleted file.
    #[must_use]
    pub fn path(&self) -> Option<&RepoPath> {
        self.new_path.as_ref().or(self.old_path.as_ref())
    }

    /// Lines added and deleted.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let of = |kind| lines().filter(|line| line.kind == kind).count() as u64;
        (of(LineKind::Added), of(LineKind::Removed))
    }

    /// Whether one side is a symbolic link.
    #[must_use]
    pub fn is_symlink(&self) -> bool {
        [&self.old_mode, &self.new_mode].into_iter().any(|mode| mode.as_deref() == Some("120000"))
    }

    /// Whether one side is a submodule.
    #[must_use]
    pub fn is_submodule(&self) -> bool {
        [&self.old_mode, &self.new_mode].into_iter().any(|mode| mode.as_deref() == Some("160000"))
    }

    /// Whether this adds what the file before it deleted: both are one file that changed its type.
    #[must_use]
    pub fn completes(&self, before: &FileDiff) -> bool {
        before.kind == ChangeType::Deleted
            && self.kind == ChangeType::Added
            && before.old_path == self.new_path
    }
}

#[cfg(test)]
mod tests;
