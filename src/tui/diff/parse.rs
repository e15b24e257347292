//! From git's model of a diff to the dashboard's: text instead of byte ranges, notes instead of modes.

use super::{File, Hunk, Kind, Line, Model};
use crate::domain::ChangeType;
use crate::git::{Diff, FileDiff, LineKind};

/// Reads a patch.
///
/// # Errors
/// Says which line cannot be read.
pub fn parse(digest: &str, patch: &[u8]) -> Result<Model, String> {
    let diff = Diff::parse(patch).map_err(|error| error.to_string())?;
    let files = diff.files().iter().map(|entry| file(&diff, entry)).collect();
    Ok(Model::new(digest.to_owned(), files))
}

fn file(diff: &Diff, entry: &FileDiff) -> File {
    let moved = matches!(entry.kind, ChangeType::Renamed | ChangeType::Copied);
    let old_path = entry.old_path.as_ref().filter(|_| moved).map(ToString::to_string);
    File {
        path: entry.path().map(ToString::to_string).unwrap_or_default(),
        old_path,
        notes: notes(entry),
        hunks: entry.hunks.iter().map(|place| hunk(diff, place)).collect(),
        counts: entry.counts(),
    }
}

/// What is to be said besides lines.
fn notes(entry: &FileDiff) -> Vec<String> {
    let mut notes = Vec::new();
    match (entry.kind, &entry.old_mode, &entry.new_mode) {
        (ChangeType::Added, _, Some(mode)) => notes.push(format!("new file, mode {mode}")),
        (ChangeType::Deleted, Some(mode), _) => notes.push(format!("deleted file, mode {mode}")),
        (_, Some(old), Some(new)) if old != new => notes.push(format!("mode was {old}, is now {new}")),
        _ => {}
    }
    if let Some(share) = entry.similarity.filter(|share| *share < 100) {
        notes.push(format!("{share} % the same"));
    }
    if entry.is_symlink() {
        notes.push("a symbolic link: its line is the target".to_owned());
    }
    if entry.is_submodule() {
        notes.push("a submodule: its lines are commits".to_owned());
    }
    if let Some(binary) = &entry.binary {
        let size = |size: Option<u64>| size.map_or_else(|| "?".to_owned(), crate::tui::time::bytes);
        notes.push(format!("binary: {} before, {} after", size(binary.old_size), size(binary.new_size)));
    } else if entry.hunks.is_empty() && notes.is_empty() {
        notes.push(if entry.old_path.is_some() { "no line changed" } else { "an empty file" }.to_owned());
    }
    notes
}

fn hunk(diff: &Diff, place: &crate::git::Hunk) -> Hunk {
    let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut lines = Vec::with_capacity(place.lines.len());
    for line in &place.lines {
        lines.push(Line {
            kind: match line.kind {
                LineKind::Context => Kind::Context,
                LineKind::Added => Kind::Added,
                LineKind::Removed => Kind::Removed,
            },
            old: line.old_no.map(number),
            new: line.new_no.map(number),
            text: text(diff.text(line)),
        });
        if line.no_newline {
            let text = "no line feed at the end of the file".to_owned();
            lines.push(Line { kind: Kind::NoNewline, old: None, new: None, text });
        }
    }
    Hunk {
        heading: text(diff.slice(&place.heading)).trim_start().to_owned(),
        old: (number(place.old_start), number(place.old_count)),
        new: (number(place.new_start), number(place.new_count)),
        lines,
        pairs: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_text_numbers_and_missing_line_feed() {
        let patch = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn x()\n--- a\n-y\n+++ b\n+z\n\
                     \\ No newline at end of file\n";
        let model = parse("d", patch.as_bytes()).unwrap();
        let hunk = &model.files[0].hunks[0];
        assert_eq!(hunk.heading, "fn x()");
        let texts: Vec<_> = hunk.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["-- a", "y", "++ b", "z", "no line feed at the end of the file"]);
        assert_eq!((hunk.lines[1].old, hunk.lines[3].new), (Some(2), Some(2)));
        assert_eq!(model.files[0].counts, (2, 2));
    }

    #[test]
    fn renames_modes_and_binaries_are_said() {
        let patch = "diff --git a/a b.txt b/c\nsimilarity index 90%\nrename from a b.txt\nrename to c\n\
                     diff --git a/run b/run\nold mode 100644\nnew mode 100755\n\
                     diff --git a/p.png b/p.png\nnew file mode 100644\nindex 0000000..1111111\n\
                     Binary files /dev/null and b/p.png differ\n";
        let model = parse("d", patch.as_bytes()).unwrap();
        assert_eq!(
            (model.files[0].path.as_str(), model.files[0].old_path.as_deref()),
            ("c", Some("a b.txt"))
        );
        assert_eq!(model.files[0].notes, ["90 % the same"]);
        assert_eq!(model.files[1].notes, ["mode was 100644, is now 100755"]);
        assert_eq!(model.files[2].notes, ["new file, mode 100644", "binary: ? before, ? after"]);
    }

    #[test]
    fn a_cut_off_patch_is_refused() {
        assert!(parse("d", b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a").is_err());
        assert_eq!(parse("d", b"").unwrap().files.len(), 0);
    }
}
