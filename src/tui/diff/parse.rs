//! From the bytes of a unified diff, as `git diff` writes it, to the model.
//!
//! Counts end a hunk, never text: a removed line that begins with `-- ` is a line like any other.

use super::{File, Hunk, Kind, Line, Model};

/// Parses a patch.
///
/// # Errors
/// Says which line cannot be read.
pub fn parse(digest: &str, patch: &[u8]) -> Result<Model, String> {
    let text = String::from_utf8_lossy(patch);
    let mut files: Vec<File> = Vec::new();
    let mut left = (0u32, 0u32);
    let mut at = (0u32, 0u32);
    for (number, raw) in text.split('\n').enumerate() {
        if left.0 + left.1 > 0 {
            let file = files.last_mut().ok_or_else(|| format!("line {}: no file", number + 1))?;
            hunk_line(file, raw, &mut left, &mut at)
                .ok_or_else(|| format!("line {}: a hunk holds fewer lines than it says", number + 1))?;
        } else if let Some(rest) = raw.strip_prefix("diff --git ") {
            files.push(File { path: guess(rest), ..File::default() });
        } else if let Some(file) = files.last_mut() {
            if raw.starts_with("@@ ") {
                let hunk =
                    hunk_head(raw).ok_or_else(|| format!("line {}: not a hunk heading", number + 1))?;
                (left, at) = ((hunk.old.1, hunk.new.1), (hunk.old.0, hunk.new.0));
                file.hunks.push(hunk);
            } else if raw.starts_with("\\ ") {
                if let Some(hunk) = file.hunks.last_mut() {
                    hunk.lines.push(no_newline());
                }
            } else {
                header(file, raw);
            }
        }
    }
    if left.0 + left.1 > 0 {
        return Err("the last hunk is cut off".to_owned());
    }
    Ok(Model::new(digest.to_owned(), files))
}

fn no_newline() -> Line {
    Line {
        kind: Kind::NoNewline,
        old: None,
        new: None,
        text: "no line feed at the end of the file".to_owned(),
    }
}

fn hunk_line(file: &mut File, raw: &str, left: &mut (u32, u32), at: &mut (u32, u32)) -> Option<()> {
    let hunk = file.hunks.last_mut()?;
    let (kind, text) = match raw.as_bytes().first() {
        Some(b'+') => (Kind::Added, &raw[1..]),
        Some(b'-') => (Kind::Removed, &raw[1..]),
        Some(b' ') => (Kind::Context, &raw[1..]),
        None => (Kind::Context, raw),
        Some(b'\\') => {
            hunk.lines.push(no_newline());
            return Some(());
        }
        Some(_) => return None,
    };
    let mut line = Line { kind, old: None, new: None, text: text.to_owned() };
    if kind != Kind::Added {
        left.0 = left.0.checked_sub(1)?;
        line.old = Some(at.0);
        at.0 = at.0.saturating_add(1);
    }
    if kind != Kind::Removed {
        left.1 = left.1.checked_sub(1)?;
        line.new = Some(at.1);
        at.1 = at.1.saturating_add(1);
    }
    file.counts.0 += u64::from(kind == Kind::Added);
    file.counts.1 += u64::from(kind == Kind::Removed);
    hunk.lines.push(line);
    Some(())
}

fn hunk_head(raw: &str) -> Option<Hunk> {
    let (ranges, heading) = raw.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(u32, u32)> {
        match text.split_once(',') {
            Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    Some(Hunk {
        heading: heading.trim_start().to_owned(),
        old: range(old)?,
        new: range(new)?,
        ..Hunk::default()
    })
}

fn header(file: &mut File, raw: &str) {
    let path = |text: &str| (text != "/dev/null").then(|| unquote(text));
    if let Some(text) = raw.strip_prefix("+++ ") {
        if let Some(path) = path(text) {
            file.path = strip_side(&path, "b/");
        }
    } else if let Some(text) = raw.strip_prefix("--- ") {
        if let Some(path) = path(text) {
            file.path = strip_side(&path, "a/");
        }
    } else if let Some(text) = raw.strip_prefix("rename from ").or_else(|| raw.strip_prefix("copy from ")) {
        file.old_path = Some(unquote(text));
    } else if let Some(text) = raw.strip_prefix("rename to ").or_else(|| raw.strip_prefix("copy to ")) {
        file.path = unquote(text);
    } else if let Some(mode) = raw.strip_prefix("new file mode ") {
        file.notes.push(format!("new file, mode {mode}"));
    } else if let Some(mode) = raw.strip_prefix("deleted file mode ") {
        file.notes.push(format!("deleted file, mode {mode}"));
    } else if let Some(mode) = raw.strip_prefix("old mode ") {
        file.notes.push(format!("mode was {mode}"));
    } else if let Some(mode) = raw.strip_prefix("new mode ") {
        file.notes.push(format!("mode is now {mode}"));
    } else if raw.starts_with("Binary files ") || raw == "GIT binary patch" {
        file.notes.push("binary file: its lines cannot be shown".to_owned());
    } else if let Some(share) = raw.strip_prefix("similarity index ") {
        file.notes.push(format!("{share} the same"));
    }
}

fn strip_side(path: &str, side: &str) -> String {
    path.strip_prefix(side).unwrap_or(path).to_owned()
}

/// The path of a `diff --git a/x b/x` line whose two paths are the same.
fn guess(rest: &str) -> String {
    if rest.starts_with('"') {
        return strip_side(&unquote(rest.split_once("\" ").map_or(rest, |(first, _)| first)), "a/");
    }
    let half = rest.len() / 2;
    rest.get(half + 1..).and_then(|path| path.strip_prefix("b/")).unwrap_or(rest).to_owned()
}

/// A path as git quotes it when it holds special bytes.
fn unquote(text: &str) -> String {
    let text = text.strip_suffix('\t').unwrap_or(text);
    let Some(inner) = text.strip_prefix('"') else { return text.to_owned() };
    let inner = inner.strip_suffix('"').unwrap_or(inner).as_bytes();
    let mut out = Vec::with_capacity(inner.len());
    let mut at = 0;
    while let Some(&byte) = inner.get(at) {
        at += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let octal = inner.get(at..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(value) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            out.push(value);
            at += 3;
            continue;
        }
        out.push(match inner.get(at) {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'a') => 7,
            Some(other) => *other,
            None => b'\\',
        });
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_end_a_hunk_and_not_text() {
        let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn x()\n--- a\n-y\n+++ b\n+z\n";
        let model = parse("d", patch.as_bytes()).unwrap();
        let hunk = &model.files[0].hunks[0];
        assert_eq!(hunk.heading, "fn x()");
        let texts: Vec<_> = hunk.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["-- a", "y", "++ b", "z"]);
        assert_eq!(model.files[0].counts, (2, 2));
    }

    #[test]
    fn renames_modes_binaries_and_quoted_names_are_kept() {
        let patch = "diff --git a/a b.txt b/c\nsimilarity index 90%\nrename from a b.txt\nrename to c\n\
                     diff --git \"a/\\303\\251\\t\" \"b/\\303\\251\\t\"\nold mode 100644\nnew mode 100755\n\
                     diff --git a/p.png b/p.png\nnew file mode 100644\nBinary files /dev/null and b/p.png differ\n";
        let model = parse("d", patch.as_bytes()).unwrap();
        assert_eq!(model.files[0].path, "c");
        assert_eq!(model.files[0].old_path.as_deref(), Some("a b.txt"));
        assert_eq!(model.files[1].path, "é\t");
        assert_eq!(model.files[1].notes, ["mode was 100644", "mode is now 100755"]);
        assert_eq!(model.files[2].notes[1], "binary file: its lines cannot be shown");
    }

    #[test]
    fn a_missing_line_feed_is_said_and_a_cut_off_patch_is_refused() {
        let whole =
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n";
        let model = parse("d", whole.as_bytes()).unwrap();
        assert_eq!(model.files[0].hunks[0].lines[1].kind, Kind::NoNewline);
        let cut = whole.replace("+b\n", "");
        assert!(parse("d", cut.trim_end().as_bytes()).is_err());
        assert_eq!(parse("d", b"").unwrap().files.len(), 0);
    }
}
