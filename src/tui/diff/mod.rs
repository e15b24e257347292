//! The diff as the dashboard holds it: parsed once off the drawing thread, indexed so that any row is found in
//! logarithmic time, so a frame costs what it shows and not what the diff holds.

mod decor;
mod parse;
mod tree;

pub use decor::{Decor, Painter};
pub use parse::parse;
pub use tree::Node;

/// What a line of a hunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In both.
    Context,
    /// Only in the new file.
    Added,
    /// Only in the old file.
    Removed,
    /// The line before has no line feed.
    NoNewline,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it is.
    pub kind: Kind,
    /// Line number in the old file.
    pub old: Option<u32>,
    /// Line number in the new file.
    pub new: Option<u32>,
    /// Text without sign and line feed, as it came.
    pub text: String,
}

/// One hunk.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hunk {
    /// What git wrote after the second `@@`.
    pub heading: String,
    /// First line in the old file and number of lines.
    pub old: (u32, u32),
    /// First line in the new file and number of lines.
    pub new: (u32, u32),
    /// The lines.
    pub lines: Vec<Line>,
    /// Lines side by side: index of the old and of the new one.
    pub pairs: Vec<(Option<usize>, Option<usize>)>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct File {
    /// Path after the change, or before a deletion.
    pub path: String,
    /// Path before a rename or copy.
    pub old_path: Option<String>,
    /// What is to be said besides lines: new, deleted, modes, binary, renamed without change.
    pub notes: Vec<String>,
    /// The hunks.
    pub hunks: Vec<Hunk>,
    /// Lines added and removed.
    pub counts: (u64, u64),
}

/// What stands on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The heading of a file.
    File(usize),
    /// A note of a file.
    Note(usize, usize),
    /// The heading of a hunk.
    Hunk(usize, usize),
    /// A line of a hunk; a pair of lines in the side-by-side index.
    Line(usize, usize, usize),
    /// Between files.
    Gap(usize),
}

impl At {
    /// The file that the row belongs to.
    #[must_use]
    pub fn file(self) -> usize {
        match self {
            At::File(file) | At::Note(file, _) | At::Hunk(file, _) | At::Line(file, ..) | At::Gap(file) => {
                file
            }
        }
    }
}

/// A whole diff.
#[derive(Debug, PartialEq)]
pub struct Model {
    /// Digest of the patch.
    pub digest: String,
    /// The files in order.
    pub files: Vec<File>,
    /// The file tree, line by line.
    pub tree: Vec<Node>,
    /// Rows with old and new lines under each other.
    pub unified: Index,
    /// Rows with old and new lines side by side.
    pub paired: Index,
}

/// Where every file and hunk begins.
#[derive(Debug, PartialEq, Default)]
pub struct Index {
    starts: Vec<Start>,
    len: usize,
}

#[derive(Debug, PartialEq, Clone, Copy)]
struct Start {
    row: usize,
    file: usize,
    hunk: Option<usize>,
    rows: usize,
}

impl Index {
    fn build(files: &[File], rows_of: impl Fn(&Hunk) -> usize) -> Index {
        let mut index = Index::default();
        for (file, entry) in files.iter().enumerate() {
            let rows = 1 + entry.notes.len();
            index.starts.push(Start { row: index.len, file, hunk: None, rows });
            index.len += rows;
            for (hunk, entry) in entry.hunks.iter().enumerate() {
                let rows = 1 + rows_of(entry);
                index.starts.push(Start { row: index.len, file, hunk: Some(hunk), rows });
                index.len += rows;
            }
            index.len += 1;
        }
        index.len = index.len.saturating_sub(1);
        index
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What stands on a row.
    #[must_use]
    pub fn at(&self, row: usize) -> Option<At> {
        if row >= self.len {
            return None;
        }
        let after = self.starts.partition_point(|start| start.row <= row);
        let start = self.starts.get(after.checked_sub(1)?)?;
        let offset = row - start.row;
        Some(if offset >= start.rows {
            At::Gap(start.file)
        } else {
            match (start.hunk, offset) {
                (None, 0) => At::File(start.file),
                (None, note) => At::Note(start.file, note - 1),
                (Some(hunk), 0) => At::Hunk(start.file, hunk),
                (Some(hunk), line) => At::Line(start.file, hunk, line - 1),
            }
        })
    }

    /// The row of a file's heading.
    #[must_use]
    pub fn row_of(&self, file: usize) -> usize {
        let at = self.starts.partition_point(|start| start.file < file);
        self.starts.get(at).map_or(0, |start| start.row)
    }

    /// The row of the first hunk heading after a row.
    #[must_use]
    pub fn next_hunk(&self, row: usize) -> Option<usize> {
        let from = self.starts.partition_point(|start| start.row <= row);
        self.starts[from..].iter().find(|start| start.hunk.is_some()).map(|start| start.row)
    }

    /// The row of the last hunk heading before a row.
    #[must_use]
    pub fn previous_hunk(&self, row: usize) -> Option<usize> {
        let to = self.starts.partition_point(|start| start.row < row);
        self.starts[..to].iter().rev().find(|start| start.hunk.is_some()).map(|start| start.row)
    }
}

impl Model {
    /// Indexes files.
    #[must_use]
    pub fn new(digest: String, mut files: Vec<File>) -> Model {
        for hunk in files.iter_mut().flat_map(|file| &mut file.hunks) {
            hunk.pairs = pairs(&hunk.lines);
        }
        let unified = Index::build(&files, |hunk| hunk.lines.len());
        let paired = Index::build(&files, |hunk| hunk.pairs.len());
        let tree = tree::nodes(&files);
        Model { digest, files, tree, unified, paired }
    }

    /// The index for a layout.
    #[must_use]
    pub fn rows(&self, side_by_side: bool) -> &Index {
        if side_by_side { &self.paired } else { &self.unified }
    }
}

/// Pairs runs of removed lines with the added ones that follow.
fn pairs(lines: &[Line]) -> Vec<(Option<usize>, Option<usize>)> {
    let mut out = Vec::with_capacity(lines.len());
    let mut at = 0;
    while at < lines.len() {
        let run = |from: usize, kind: Kind| lines[from..].iter().take_while(|line| line.kind == kind).count();
        let removed = run(at, Kind::Removed);
        let added = run(at + removed, Kind::Added);
        if removed + added == 0 {
            out.push((Some(at), Some(at)));
            at += 1;
            continue;
        }
        for offset in 0..removed.max(added) {
            let old = (offset < removed).then_some(at + offset);
            let new = (offset < added).then_some(at + removed + offset);
            out.push((old, new));
        }
        at += removed + added;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: Kind) -> Line {
        Line { kind, old: None, new: None, text: String::new() }
    }

    fn hunk(kinds: &[Kind]) -> Hunk {
        Hunk { lines: kinds.iter().map(|kind| line(*kind)).collect(), ..Hunk::default() }
    }

    #[test]
    fn every_row_is_found_and_rows_meet_without_a_gap() {
        use Kind::{Added, Context, Removed};
        let files = vec![
            File {
                notes: vec!["new".into()],
                hunks: vec![hunk(&[Context, Added]), hunk(&[Removed])],
                ..File::default()
            },
            File::default(),
        ];
        let model = Model::new("d".into(), files);
        let rows: Vec<_> = (0..model.unified.len()).map(|row| model.unified.at(row).unwrap()).collect();
        assert_eq!(
            rows,
            [
                At::File(0),
                At::Note(0, 0),
                At::Hunk(0, 0),
                At::Line(0, 0, 0),
                At::Line(0, 0, 1),
                At::Hunk(0, 1),
                At::Line(0, 1, 0),
                At::Gap(0),
                At::File(1),
            ]
        );
        assert_eq!(model.unified.at(9), None);
        assert_eq!(model.unified.row_of(1), 8);
        assert_eq!(model.unified.next_hunk(2), Some(5));
        assert_eq!(model.unified.previous_hunk(5), Some(2));
    }

    #[test]
    fn removed_lines_stand_beside_the_added_ones_that_follow() {
        use Kind::{Added, Context, Removed};
        let lines = hunk(&[Context, Removed, Removed, Added, Context, Added]).lines;
        assert_eq!(
            pairs(&lines),
            [(Some(0), Some(0)), (Some(1), Some(3)), (Some(2), None), (Some(4), Some(4)), (None, Some(5)),]
        );
    }
}
