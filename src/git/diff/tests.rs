use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Diff {
    Diff::parse(text.as_bytes()).expect("a readable diff")
}

fn texts(diff: &Diff, hunk: &Hunk) -> Vec<(LineKind, String)> {
    hunk.lines.iter().map(|line| (line.kind, String::from_utf8_lossy(diff.text(line)).into_owned())).collect()
}

#[test]
fn lines_that_look_like_headers_stay_lines() {
    let diff = read(
        "diff --git a/x b/x\nindex 1111111..2222222 100644\n--- a/x\n+++ b/x\n\
         @@ -1,3 +1,3 @@ Binary files a/x and b/x differ\n--- a/old\n+++ b/new\n @@ -1 +1 @@\n-diff --git a/y b/y\n+\n\
         diff --git a/z b/z\nold mode 100644\nnew mode 100755\n",
    );
    let [first, second] = diff.files() else { panic!("two files: {diff:?}") };
    assert_eq!(diff.slice(&first.hunks[0].heading), b"Binary files a/x and b/x differ");
    assert_eq!(
        texts(&diff, &first.hunks[0]),
        [
            (LineKind::Removed, "-- a/old".to_owned()),
            (LineKind::Added, "++ b/new".to_owned()),
            (LineKind::Context, "@@ -1 +1 @@".to_owned()),
            (LineKind::Removed, "diff --git a/y b/y".to_owned()),
            (LineKind::Added, String::new()),
        ]
    );
    assert!(first.binary.is_none());
    assert_eq!(second.path(), Some(&RepoPath::from("z")));
    assert_eq!((second.old_mode.as_deref(), second.new_mode.as_deref()), (Some("100644"), Some("100755")));
}

#[test]
fn lines_have_their_numbers_on_both_sides() {
    let diff = read("--- a/x\n+++ b/x\n@@ -10,3 +20,3 @@\n a\n-b\n+B\n c\n");
    let numbers: Vec<_> =
        diff.files()[0].hunks[0].lines.iter().map(|line| (line.old_no, line.new_no)).collect();
    assert_eq!(numbers, [(Some(10), Some(20)), (Some(11), None), (None, Some(21)), (Some(12), Some(22))]);
}

#[test]
fn a_missing_final_line_feed_is_told_of_the_line_it_misses_on() {
    let diff = read(
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n\\ No newline at end of file\n+new\n\
         \\ No newline at end of file\n",
    );
    let marks: Vec<bool> = diff.files()[0].hunks[0].lines.iter().map(|line| line.no_newline).collect();
    assert_eq!(marks, [true, true]);
}

#[test]
fn names_are_read_with_blanks_quotes_and_arrows() {
    for (header, name) in [
        ("diff --git a/a b b/a b", "a b"),
        ("diff --git a/a b/a b/a b/a", "a b/a"),
        ("diff --git a/x -> y b/x -> y", "x -> y"),
        ("diff --git \"a/q\\\"\\t\" \"b/q\\\"\\t\"", "q\"\t"),
    ] {
        let diff = read(&format!("{header}\nold mode 100644\nnew mode 100755\n"));
        assert_eq!(diff.files()[0].new_path, Some(RepoPath::from(name)), "{header}");
        assert_eq!(diff.files()[0].old_path, diff.files()[0].new_path);
    }
    let diff = read("diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n");
    assert_eq!((diff.files()[0].kind, &diff.files()[0].old_path), (ChangeType::Added, &None));
    let diff = read("--- a/a b\t\n+++ b/a b\t2026-01-01\n@@ -1 +1 @@\n-x\n+y\n");
    assert_eq!(diff.files()[0].new_path, Some(RepoPath::from("a b")));
}

#[test]
fn renames_and_copies_have_both_names() {
    let diff = read(
        "diff --git a/p q b/\"r\nsimilarity index 90%\nrename from p q\nrename to \"r\\n\"\n\
         diff --git a/s b/t\nsimilarity index 100%\ncopy from s\ncopy to t\n",
    );
    let [renamed, copied] = diff.files() else { panic!("two files") };
    assert_eq!((renamed.kind, renamed.similarity), (ChangeType::Renamed, Some(90)));
    assert_eq!(renamed.old_path, Some(RepoPath::from("p q")));
    assert_eq!(renamed.new_path, Some(RepoPath::from("r\n")));
    assert_eq!((copied.kind, copied.old_path.clone()), (ChangeType::Copied, Some(RepoPath::from("s"))));
}

#[test]
fn binary_patches_are_skipped_whole() {
    let diff = read(
        "diff --git a/p b/p\nindex 1111111..2222222 100644\nGIT binary patch\nliteral 4\nLc${NkU|;|M00aO5\n\n\
         delta 3\nKc\n\ndiff --git a/q b/q\nindex 1..2 100644\nBinary files a/q and b/q differ\n",
    );
    let [first, second] = diff.files() else { panic!("two files") };
    assert_eq!(first.binary, Some(Binary { old_size: None, new_size: Some(4) }));
    assert_eq!(second.binary, Some(Binary::default()));
    assert_eq!(second.new_path, Some(RepoPath::from("q")));
}

#[test]
fn broken_diffs_are_errors_that_name_the_line() {
    for (text, line) in [
        ("hello\n", 1),
        ("--- a/x\n", 2),
        ("--- a/x\n+++ b/x\n", 3),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n", 5),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n-y\n", 5),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n*y\n", 5),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n+z\n", 6),
        ("--- a/x\n+++ b/x\n@@ -x +1 @@\n", 3),
        ("--- a/x\n+++ b/x\n@@ -99999999999999999999 +1 @@\n", 3),
        ("diff --git a/x b/y\nold mode 100644\nnew mode 100755\n", 1),
        ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 4\nabc\n", 6),
        ("diff --cc x\n", 1),
    ] {
        let error = Diff::parse(text.as_bytes()).expect_err(text);
        assert_eq!(error.line, line, "{text:?}: {error}");
    }
    assert!(read("").files().is_empty());
}

/// A file whose lines like to look like something else.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let line = prop_oneof![
        Just("--- a/x".to_owned()),
        Just("+++ b/x".to_owned()),
        Just("@@ -1,2 +1,2 @@".to_owned()),
        Just("\\ No newline at end of file".to_owned()),
        Just("diff --git a/x b/x".to_owned()),
        Just(String::new()),
        "[a-c]{0,2}",
    ];
    proptest::collection::vec(line, 0..30)
}

proptest! {
    #[test]
    fn a_written_diff_is_read_back(old in lines(), new in lines()) {
        let (before, after) = (old.join("\n") + "\n", new.join("\n") + "\n");
        let text = similar::TextDiff::from_lines(&before, &after)
            .unified_diff()
            .context_radius(2)
            .header("a/x", "b/x")
            .to_string();
        prop_assume!(!text.is_empty());
        let diff = Diff::parse(text.as_bytes()).expect("a readable diff");
        let file = &diff.files()[0];
        // Applied to the old lines, the model gives the new ones.
        let old_lines: Vec<&str> = before.lines().collect();
        let mut made: Vec<String> = Vec::new();
        let mut at = 0;
        for hunk in &file.hunks {
            let start = usize::try_from(hunk.old_start).expect("small") - usize::from(hunk.old_count > 0);
            made.extend(old_lines[at..start].iter().map(|line| (*line).to_owned()));
            at = start;
            for line in &hunk.lines {
                let text = String::from_utf8_lossy(diff.text(line)).into_owned();
                if line.kind != LineKind::Added {
                    prop_assert_eq!(&text, old_lines[at]);
                    prop_assert_eq!(line.old_no, Some(at as u64 + 1));
                    at += 1;
                }
                if line.kind != LineKind::Removed {
                    prop_assert_eq!(line.new_no, Some(made.len() as u64 + 1));
                    made.push(text);
                }
            }
        }
        made.extend(old_lines[at..].iter().map(|line| (*line).to_owned()));
        prop_assert_eq!(made, after.lines().map(str::to_owned).collect::<Vec<_>>());
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Diff::parse(bytes);
    }

    #[test]
    fn no_cut_or_changed_diff_makes_the_reader_panic(cut in 0usize..600, at in 0usize..600, byte in any::<u8>()) {
        let text = "diff --git a/x b/x\nindex 1111111..2222222 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ f\n a\n-b\n\
                    \\ No newline at end of file\n+c\ndiff --git \"a/\\303\" \"b/\\303\"\nsimilarity index 9%\n\
                    rename from \"\\303\"\nrename to y\ndiff --git a/p b/p\nnew file mode 100644\n\
                    index 0000000..1111111\nGIT binary patch\nliteral 1\nIcmZ\n\nliteral 0\nHcmV\n\n";
        let mut bytes = text.as_bytes().to_vec();
        if let Some(place) = bytes.get_mut(at) { *place = byte; }
        bytes.truncate(cut.max(1));
        if let Ok(diff) = Diff::parse(bytes) {
            // Whatever was read points into the bytes.
            for line in diff.files().iter().flat_map(|file| &file.hunks).flat_map(|hunk| &hunk.lines) {
                prop_assert!(line.text.end <= diff.bytes().len());
            }
            prop_assert!(diff.stats().files <= diff.files().len() as u64);
        }
    }
}
