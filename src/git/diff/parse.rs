//! Reads unified diffs.
//!
//! The counts in a hunk's header end it, never its text: a removed line `-- x` looks like a file header and is
//! none. Headers are read where headers can stand only, so the word `Binary` in a heading means nothing.

use std::ops::Range;

use super::quote::unquoted;
use super::{Binary, FileDiff, Hunk, Line, LineKind};
use crate::domain::{ChangeType, RepoPath};

/// Where and why a diff cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the diff cannot be read at line {line}: {what}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: &'static str,
}

type Parsed<T> = Result<T, ParseError>;

/// Walks the lines of the diff.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    number: usize,
}

impl<'a> Lines<'a> {
    /// Where the line stands that comes next, without its line feed.
    fn span(&self) -> Option<Range<usize>> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        Some(self.at..self.at + length)
    }

    fn peek(&self) -> Option<&'a [u8]> {
        self.span().map(|span| &self.bytes[span])
    }

    fn step(&mut self) -> Option<Range<usize>> {
        let span = self.span()?;
        self.at = (span.end + 1).min(self.bytes.len());
        self.number += 1;
        Some(span)
    }

    /// An error at the line that comes next.
    fn wrong<T>(&self, what: &'static str) -> Parsed<T> {
        Err(ParseError { line: self.number + 1, what })
    }
}

/// Reads all files of a diff.
pub(super) fn files(bytes: &[u8]) -> Parsed<Vec<FileDiff>> {
    let mut lines = Lines { bytes, at: 0, number: 0 };
    let mut files = Vec::new();
    while let Some(line) = lines.peek() {
        if line.starts_with(b"diff --git ") {
            files.push(git_file(&mut lines)?);
        } else if line.starts_with(b"--- ") {
            files.push(plain_file(&mut lines)?);
        } else if line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ") {
            return lines.wrong("diffs of merges are not read");
        } else if files.is_empty() && !line.starts_with(b"@@ ") {
            // A letter may stand before the first file.
            lines.step();
        } else {
            return lines.wrong("a file header is expected");
        }
    }
    if files.is_empty() && bytes.iter().any(|b| !b.is_ascii_whitespace()) {
        return Err(ParseError { line: 1, what: "there is no file header" });
    }
    Ok(files)
}

fn empty_file(at: usize) -> FileDiff {
    FileDiff {
        old_path: None,
        new_path: None,
        kind: ChangeType::Modified,
        old_mode: None,
        new_mode: None,
        old_oid: None,
        new_oid: None,
        similarity: None,
        binary: None,
        hunks: Vec::new(),
        span: at..at,
    }
}

/// A file that begins with `diff --git`.
fn git_file(lines: &mut Lines<'_>) -> Parsed<FileDiff> {
    let mut file = empty_file(lines.at);
    let header_line = lines.number + 1;
    let header = lines.step().map(|span| &lines.bytes[span]).unwrap_or_default();
    let names = header.strip_prefix(b"diff --git ").and_then(both_names);
    let (mut old, mut new) = names.map_or((None, None), |(old, new)| (Some(old), Some(new)));
    while let Some(line) = lines.peek() {
        if let Some(mode) = line.strip_prefix(b"old mode ") {
            file.old_mode = Some(mode_text(mode, lines)?);
        } else if let Some(mode) = line.strip_prefix(b"new mode ") {
            file.new_mode = Some(mode_text(mode, lines)?);
        } else if let Some(mode) = line.strip_prefix(b"deleted file mode ") {
            file.old_mode = Some(mode_text(mode, lines)?);
            file.kind = ChangeType::Deleted;
        } else if let Some(mode) = line.strip_prefix(b"new file mode ") {
            file.new_mode = Some(mode_text(mode, lines)?);
            file.kind = ChangeType::Added;
        } else if let Some(name) = line.strip_prefix(b"rename from ") {
            old = Some(whole_name(name, lines)?);
            file.kind = ChangeType::Renamed;
        } else if let Some(name) = line.strip_prefix(b"rename to ") {
            new = Some(whole_name(name, lines)?);
        } else if let Some(name) = line.strip_prefix(b"copy from ") {
            old = Some(whole_name(name, lines)?);
            file.kind = ChangeType::Copied;
        } else if let Some(name) = line.strip_prefix(b"copy to ") {
            new = Some(whole_name(name, lines)?);
        } else if let Some(rest) = line.strip_prefix(b"similarity index ") {
            file.similarity = percent(rest);
        } else if let Some(rest) = line.strip_prefix(b"index ") {
            index_line(rest, &mut file, lines)?;
        } else if !line.starts_with(b"dissimilarity index ") {
            break;
        }
        lines.step();
    }
    body(lines, &mut file, &mut old, &mut new)?;
    if old.is_none() || new.is_none() {
        return Err(ParseError { line: header_line, what: "the names of the file cannot be told apart" });
    }
    file.old_path = old.filter(|_| file.kind != ChangeType::Added).map(RepoPath::new);
    file.new_path = new.filter(|_| file.kind != ChangeType::Deleted).map(RepoPath::new);
    file.span.end = lines.at;
    Ok(file)
}

/// What follows the extended header: hunks, a binary patch, or nothing.
fn body(
    lines: &mut Lines<'_>,
    file: &mut FileDiff,
    old: &mut Option<Vec<u8>>,
    new: &mut Option<Vec<u8>>,
) -> Parsed<()> {
    match lines.peek() {
        Some(line) if line.starts_with(b"--- ") => {
            let (before, after) = name_lines(lines)?;
            *old = before.or(old.take());
            *new = after.or(new.take());
            hunks(lines, file)
        }
        Some(line) if line.starts_with(b"Binary files ") && line.ends_with(b" differ") => {
            file.binary = Some(Binary::default());
            lines.step();
            Ok(())
        }
        Some(b"GIT binary patch") => {
            lines.step();
            file.binary = Some(binary_patch(lines)?);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A file without `diff --git`, as other programs write it.
fn plain_file(lines: &mut Lines<'_>) -> Parsed<FileDiff> {
    let mut file = empty_file(lines.at);
    let (old, new) = name_lines(lines)?;
    file.kind = match (&old, &new) {
        (None, None) => return lines.wrong("both names are /dev/null"),
        (None, Some(_)) => ChangeType::Added,
        (Some(_), None) => ChangeType::Deleted,
        (Some(_), Some(_)) => ChangeType::Modified,
    };
    (file.old_path, file.new_path) = (old.map(RepoPath::new), new.map(RepoPath::new));
    hunks(lines, &mut file)?;
    if file.hunks.is_empty() {
        return lines.wrong("a hunk is expected");
    }
    file.span.end = lines.at;
    Ok(file)
}

type Name = Option<Vec<u8>>;

/// The two lines `--- ` and `+++ `; none stands for `/dev/null`.
fn name_lines(lines: &mut Lines<'_>) -> Parsed<(Name, Name)> {
    let mut read = |mark: &[u8], prefix: &[u8]| -> Parsed<Name> {
        let Some(name) = lines.peek().and_then(|line| line.strip_prefix(mark)) else {
            return lines.wrong("a line with the file's name is expected");
        };
        let name = match unquoted(name) {
            Some((name, _)) => name,
            // A tab follows a name that holds blanks; a name that holds a tab is quoted.
            None => name.split(|b| *b == b'\t').next().unwrap_or_default().to_vec(),
        };
        lines.step();
        Ok((name != b"/dev/null").then(|| without_prefix(&name, prefix)))
    };
    Ok((read(b"--- ", b"a/")?, read(b"+++ ", b"b/")?))
}

fn without_prefix(name: &[u8], prefix: &[u8]) -> Vec<u8> {
    name.strip_prefix(prefix).unwrap_or(name).to_vec()
}

/// The names of a `diff --git` line. Without quotes they can be told apart where both are the same only; where
/// they differ, further lines name them.
fn both_names(text: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    if text.starts_with(b"\"") {
        let (old, rest) = unquoted(text)?;
        let rest = rest.strip_prefix(b" ")?;
        let new = unquoted(rest).map_or_else(|| rest.to_vec(), |(new, _)| new);
        return Some((without_prefix(&old, b"a/"), without_prefix(&new, b"b/")));
    }
    if text.ends_with(b"\"") {
        let at = text.windows(2).position(|pair| pair == b" \"")?;
        let (new, _) = unquoted(&text[at + 1..])?;
        return Some((without_prefix(&text[..at], b"a/"), without_prefix(&new, b"b/")));
    }
    let half = text.len().checked_sub(1)? / 2;
    let (old, rest) = text.split_at_checked(half)?;
    let new = rest.strip_prefix(b" ")?;
    let (old, new) = (without_prefix(old, b"a/"), without_prefix(new, b"b/"));
    (old == new).then_some((old, new))
}

fn whole_name(text: &[u8], lines: &Lines<'_>) -> Parsed<Vec<u8>> {
    if !text.starts_with(b"\"") {
        return Ok(text.to_vec());
    }
    match unquoted(text) {
        Some((name, b"")) => Ok(name),
        _ => lines.wrong("a name in quotes is broken"),
    }
}

fn mode_text(text: &[u8], lines: &Lines<'_>) -> Parsed<String> {
    if text.len() == 6 && text.iter().all(u8::is_ascii_digit) {
        Ok(String::from_utf8_lossy(text).into_owned())
    } else {
        lines.wrong("a file mode has six digits")
    }
}

fn percent(text: &[u8]) -> Option<u8> {
    std::str::from_utf8(text.strip_suffix(b"%")?).ok()?.parse().ok()
}

/// `index <old>..<new>[ <mode>]`.
fn index_line(text: &[u8], file: &mut FileDiff, lines: &Lines<'_>) -> Parsed<()> {
    let text = String::from_utf8_lossy(text);
    let (oids, mode) = text.split_once(' ').map_or((&*text, None), |(oids, mode)| (oids, Some(mode)));
    let Some((old, new)) = oids.split_once("..") else {
        return lines.wrong("an index line names two contents");
    };
    if ![old, new].iter().all(|oid| !oid.is_empty() && oid.bytes().all(|b| b.is_ascii_hexdigit())) {
        return lines.wrong("an index line names two contents");
    }
    (file.old_oid, file.new_oid) = (Some(old.to_owned()), Some(new.to_owned()));
    if let Some(mode) = mode {
        let mode = mode_text(mode.as_bytes(), lines)?;
        file.old_mode.get_or_insert_with(|| mode.clone());
        file.new_mode.get_or_insert(mode);
    }
    Ok(())
}

/// The one or two parts of a binary patch: the content after, and the content before.
fn binary_patch(lines: &mut Lines<'_>) -> Parsed<Binary> {
    let mut sizes = [None; 2];
    for (part, size) in sizes.iter_mut().enumerate() {
        let Some(line) = lines.peek() else { break };
        let literal = line.strip_prefix(b"literal ");
        if literal.is_none() && !line.starts_with(b"delta ") {
            if part == 0 {
                return lines.wrong("a binary patch begins with its size");
            }
            break;
        }
        if let Some(text) = literal {
            *size = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        }
        lines.step();
        loop {
            match lines.step() {
                Some(span) if span.is_empty() => break,
                Some(_) => {}
                None => return lines.wrong("a binary patch ends with an empty line"),
            }
        }
    }
    Ok(Binary { new_size: sizes[0], old_size: sizes[1] })
}

fn hunks(lines: &mut Lines<'_>, file: &mut FileDiff) -> Parsed<()> {
    while lines.peek().is_some_and(|line| line.starts_with(b"@@ ")) {
        let hunk = hunk(lines)?;
        file.hunks.push(hunk);
    }
    Ok(())
}

fn hunk(lines: &mut Lines<'_>) -> Parsed<Hunk> {
    let Some(mut hunk) = lines.span().and_then(|span| hunk_header(lines.bytes, span)) else {
        return lines.wrong("a hunk header is broken");
    };
    lines.step();
    let (mut old_left, mut new_left) = (hunk.old_count, hunk.new_count);
    let (mut old_no, mut new_no) = (hunk.old_start, hunk.new_start);
    loop {
        let mark = lines.peek().map(|line| line.first().copied());
        if mark == Some(Some(b'\\')) {
            match hunk.lines.last_mut() {
                Some(last) => last.no_newline = true,
                None => return lines.wrong("there is no line before this mark"),
            }
            lines.step();
            continue;
        }
        if old_left == 0 && new_left == 0 {
            return Ok(hunk);
        }
        let kind = match mark {
            // Some programs cut the blank of an empty line.
            Some(Some(b' ') | None) => LineKind::Context,
            Some(Some(b'+')) => LineKind::Added,
            Some(Some(b'-')) => LineKind::Removed,
            Some(Some(_)) => return lines.wrong("a line of a hunk begins with a blank, + or -"),
            None => return lines.wrong("the diff ends within a hunk"),
        };
        let (in_old, in_new) = (kind != LineKind::Added, kind != LineKind::Removed);
        if (in_old && old_left == 0) || (in_new && new_left == 0) {
            return lines.wrong("the hunk has more lines than its header says");
        }
        let Some(span) = lines.step() else { return lines.wrong("the diff ends within a hunk") };
        let text = (span.start + 1).min(span.end)..span.end;
        hunk.lines.push(Line {
            kind,
            old_no: in_old.then_some(old_no),
            new_no: in_new.then_some(new_no),
            text,
            no_newline: false,
        });
        old_left -= u64::from(in_old);
        new_left -= u64::from(in_new);
        old_no = old_no.saturating_add(u64::from(in_old));
        new_no = new_no.saturating_add(u64::from(in_new));
    }
}

/// `@@ -a[,b] +c[,d] @@[ heading]`.
fn hunk_header(bytes: &[u8], span: Range<usize>) -> Option<Hunk> {
    let line = &bytes[span.clone()];
    let rest = line.strip_prefix(b"@@ -")?;
    let ranges_end = rest.windows(3).position(|three| three == b" @@")?;
    let ranges = std::str::from_utf8(&rest[..ranges_end]).ok()?;
    let (old, new) = ranges.split_once(" +")?;
    let ((old_start, old_count), (new_start, new_count)) = (range(old)?, range(new)?);
    let heading = span.start + 4 + ranges_end + 3;
    let heading = if bytes.get(heading) == Some(&b' ') && heading < span.end { heading + 1 } else { heading };
    Some(Hunk { old_start, old_count, new_start, new_count, heading: heading..span.end, lines: Vec::new() })
}

fn range(text: &str) -> Option<(u64, u64)> {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    match text.split_once(',') {
        Some((start, count)) => Some((number(start)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}
