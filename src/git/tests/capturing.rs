use super::*;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn captured(fixture: &Fixture, worktree: &Worktree) -> Capture {
    let capture = worktree.capture(&fixture.repository()).expect("a patch");
    check_consistent(fixture, worktree, &capture);
    capture
}

/// What must hold for every capture: model and list agree, and base + diff is the tree again.
fn check_consistent(fixture: &Fixture, worktree: &Worktree, capture: &Capture) {
    let model = capture.model().expect("a readable diff");
    assert_eq!(model.stats(), capture.stats());
    let again = Scratch::create(&fixture.repository(), &fixture.place())
        .expect("a scratch folder")
        .apply(worktree.base(), &capture.diff, Some(&capture.tree))
        .expect("the diff applies to its base");
    assert_eq!(again, capture.tree);
}

#[test]
fn an_untouched_worktree_has_an_empty_patch_and_the_tree_of_its_base() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    let capture = captured(&fixture, &worktree);
    assert!(capture.is_empty() && capture.diff.is_empty());
    assert_eq!(capture.tree, fixture.repository().tree_of(worktree.base()).expect("a tree"));
}

#[test]
fn untracked_files_count_and_ignored_ones_do_not() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "*.log\n");
    fixture.commit("ignore");
    let worktree = fixture.worktree("w");
    write(worktree.path(), b"new/deep/file", b"x\n");
    write(worktree.path(), b"build.log", b"x\n");
    write(worktree.path(), b"a.txt", b"one\n2\nthree\n");
    fs::remove_file(worktree.path().join("b.txt")).expect("a removal");
    let capture = captured(&fixture, &worktree);
    assert_eq!(told(&capture), ["M a.txt", "D b.txt", "A new/deep/file"]);
    let stats = capture.stats();
    assert_eq!((stats.files, stats.additions, stats.deletions), (3, 2, 2));
}

#[test]
fn what_the_agent_committed_staged_or_marked_in_its_index_makes_no_difference() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    write(worktree.path(), b"committed", b"1\n");
    git_in(worktree.path(), ["add", "-A"]);
    git_in(worktree.path(), ["commit", "--quiet", "-m", "by the agent"]);
    write(worktree.path(), b"staged", b"2\n");
    git_in(worktree.path(), ["add", "staged"]);
    git_in(worktree.path(), ["update-index", "--assume-unchanged", "a.txt"]);
    git_in(worktree.path(), ["update-index", "--skip-worktree", "b.txt"]);
    write(worktree.path(), b"a.txt", b"hidden\n");
    write(worktree.path(), b"b.txt", b"hidden\n");
    assert_eq!(told(&captured(&fixture, &worktree)), ["M a.txt", "M b.txt", "A committed", "A staged"]);
}

#[test]
fn others_commits_on_the_base_branch_are_not_in_the_patch() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    fixture.write("theirs", "x\n");
    fixture.commit("theirs");
    write(worktree.path(), b"mine", b"x\n");
    assert_eq!(told(&captured(&fixture, &worktree)), ["A mine"]);
}

#[test]
fn names_are_bytes_and_survive() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    let names: [&[u8]; 12] = [
        b"with space",
        b" leading and trailing ",
        b"-dash",
        b"--option=x",
        b"a -> b",
        b"tab\there",
        b"new\nline",
        b"quote\"d\\back",
        b"\xff\xfe not utf8",
        "ünïcode/日本".as_bytes(),
        b"b/b b/b",
        b":(glob)*",
    ];
    for name in names {
        write(worktree.path(), name, b"x\n");
    }
    let capture = captured(&fixture, &worktree);
    let mut wanted: Vec<RepoPath> = names.iter().map(path).collect();
    wanted.sort();
    let mut found: Vec<RepoPath> = capture.changes.iter().map(|change| change.path.clone()).collect();
    found.sort();
    assert_eq!(found, wanted);
    let model = capture.model().expect("a diff");
    let mut in_diff: Vec<RepoPath> = model.files().iter().filter_map(|file| file.new_path.clone()).collect();
    in_diff.sort();
    assert_eq!(in_diff, wanted);
}

#[test]
fn renames_modes_binaries_and_empty_files_are_changes() {
    let fixture = Fixture::new();
    fixture.write("long.txt", (1..40).map(|n| format!("line {n}\n")).collect::<String>());
    fixture.write("empty-old", "");
    fixture.write("picture", b"\0\x01\x02");
    fixture.commit("more");
    let worktree = fixture.worktree("w");
    let at = |name: &str| worktree.path().join(name);
    fs::rename(at("long.txt"), at("moved -> here.txt")).expect("a rename");
    fs::set_permissions(at("a.txt"), fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::remove_file(at("empty-old")).expect("a removal");
    write(worktree.path(), b"picture", b"\0\x03");
    write(worktree.path(), b"zz-empty", b"");
    write(worktree.path(), b"b.txt", b"b without an end");
    let capture = captured(&fixture, &worktree);
    assert_eq!(
        told(&capture),
        ["M a.txt", "M b.txt", "R long.txt > moved -> here.txt", "M picture", "R empty-old > zz-empty"]
    );
    let mode = &capture.changes[0];
    assert_eq!((mode.old_mode.as_deref(), mode.new_mode.as_deref()), (Some("100644"), Some("100755")));
    assert_eq!((mode.additions, mode.deletions), (0, 0));
    assert!(capture.changes[3].binary);
    let model = capture.model().expect("a diff");
    assert!(model.files()[1].hunks[0].lines[1].no_newline);
    assert_eq!(model.files()[3].binary, Some(Binary { old_size: Some(3), new_size: Some(2) }));
    assert_eq!(model.files()[2].similarity, Some(100));
}

#[test]
fn links_are_changes_and_say_whether_they_lead_outside() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    let at = |name: &str| worktree.path().join(name);
    symlink("/etc/passwd", at("absolute")).expect("a link");
    symlink("../../..", at("dir/up")).expect("a link");
    symlink("../a.txt", at("dir/inside")).expect("a link");
    symlink("dir/up", at("through")).expect("a link");
    fs::remove_file(at("b.txt")).expect("a removal");
    symlink("a.txt", at("b.txt")).expect("a link");
    let capture = captured(&fixture, &worktree);
    let links: Vec<(String, bool)> = capture
        .changes
        .iter()
        .filter_map(|change| Some((change.path.to_string(), change.link.as_ref()?.outside)))
        .collect();
    assert_eq!(
        links,
        [("absolute", true), ("b.txt", false), ("dir/inside", false), ("dir/up", true), ("through", true)]
            .map(|(name, outside)| (name.to_owned(), outside))
    );
    assert_eq!(told(&capture)[1], "M b.txt");
    let target = capture.changes[0].link.as_ref().map(|link| link.target.clone());
    assert_eq!(target, Some(b"/etc/passwd".to_vec()));
}

#[test]
fn a_folder_replaced_by_a_link_does_not_bring_the_outside_in() {
    let fixture = Fixture::new();
    let outside = fixture.place().join("outside");
    write(&outside, b"c.txt", b"secret\n");
    let worktree = fixture.worktree("w");
    fs::remove_dir_all(worktree.path().join("dir")).expect("a removal");
    symlink(&outside, worktree.path().join("dir")).expect("a link");
    let capture = captured(&fixture, &worktree);
    assert_eq!(told(&capture), ["A dir", "D dir/c.txt"]);
    assert!(capture.changes[0].link.as_ref().is_some_and(|link| link.outside));
    assert!(!String::from_utf8_lossy(&capture.diff).contains("secret"));
}

#[test]
fn a_file_that_became_a_folder_and_back_is_whole() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    fs::remove_file(worktree.path().join("a.txt")).expect("a removal");
    write(worktree.path(), b"a.txt/inner", b"1\n");
    fs::remove_dir_all(worktree.path().join("dir")).expect("a removal");
    write(worktree.path(), b"dir", b"2\n");
    assert_eq!(told(&captured(&fixture, &worktree)), ["D a.txt", "A a.txt/inner", "A dir", "D dir/c.txt"]);
}

#[test]
fn line_endings_are_shown_as_they_are_whatever_the_settings() {
    let fixture = Fixture::new();
    fixture.write("dos.txt", "a\r\nb\r\n");
    fixture.commit("dos");
    fixture.write(".gitattributes", "* text=auto eol=crlf\n*.md working-tree-encoding=UTF-16\n*.id ident\n");
    fixture.write("x.id", "$Id$\n");
    fixture.write("y.txt", "unix\n");
    fixture.git(["-c", "core.autocrlf=false", "add", "."]);
    fixture.git(["commit", "--quiet", "-m", "attributes"]);
    fixture.git(["config", "core.autocrlf", "true"]);
    let worktree = fixture.worktree("w");
    assert_eq!(fs::read(worktree.path().join("dos.txt")).expect("a file"), b"a\r\nb\r\n");
    assert_eq!(fs::read(worktree.path().join("y.txt")).expect("a file"), b"unix\n");
    assert!(captured(&fixture, &worktree).is_empty());
    write(worktree.path(), b"dos.txt", b"a\nb\n");
    let capture = captured(&fixture, &worktree);
    assert_eq!(told(&capture), ["M dos.txt"]);
    assert_eq!((capture.stats().additions, capture.stats().deletions), (2, 2));
}

#[test]
fn attributes_of_the_workspace_hide_nothing() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    write(worktree.path(), b".gitattributes", b"*.txt -diff\n* binary\n");
    write(worktree.path(), b"a.txt", b"seen\n");
    let capture = captured(&fixture, &worktree);
    assert!(capture.changes.iter().all(|change| !change.binary));
    assert!(String::from_utf8_lossy(&capture.diff).contains("+seen"));
}

#[test]
fn a_submodule_is_a_change_and_its_own_configuration_is_not_run() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    let sub = worktree.path().join("sub");
    write(&sub, b"f", b"1\n");
    git_in(&sub, ["init", "--quiet", "."]);
    git_in(&sub, ["add", "-A"]);
    git_in(&sub, ["commit", "--quiet", "-m", "sub"]);
    let marker = fixture.place().join("marker");
    git_in(&sub, ["config", "core.fsmonitor", &format!("touch '{}'", marker.display())]);
    write(&sub, b"f", b"dirty\n");
    let capture = captured(&fixture, &worktree);
    assert_eq!(told(&capture), ["A sub"]);
    assert!(crate::domain::FileChange::from(&capture.changes[0]).submodule);
    assert!(capture.model().expect("a diff").files()[0].is_submodule());
    assert!(!marker.exists());
}

#[test]
fn files_in_a_repository_without_a_commit_are_an_error_and_not_lost() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    let sub = worktree.path().join("sub");
    write(&sub, b"f", b"1\n");
    git_in(&sub, ["init", "--quiet", "."]);
    let error = worktree.capture(&fixture.repository()).expect_err("no whole patch");
    assert_eq!(error.code(), "embedded_repository");
    assert!(error.to_string().starts_with("sub "), "{error}");
}

#[test]
fn names_that_git_refuses_are_listed() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    write(worktree.path(), b"x/.GIT/config", b"1\n");
    write(worktree.path(), b"ok", b"1\n");
    let capture = captured(&fixture, &worktree);
    assert_eq!(capture.unsafe_names, [path("x/.GIT/config")]);
    assert_eq!(told(&capture), ["A ok"]);
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    write(worktree.path(), b"a.txt", b"1\ntwo\n3\n");
    write(worktree.path(), b"bin", b"\0\0");
    let first = captured(&fixture, &worktree);
    git_in(worktree.path(), ["add", "-A"]);
    for (key, value) in [
        ("diff.mnemonicPrefix", "true"),
        ("diff.noprefix", "true"),
        ("color.ui", "always"),
        ("diff.algorithm", "patience"),
        ("diff.context", "9"),
        ("diff.renames", "false"),
        ("core.quotePath", "false"),
        ("diff.orderFile", "/dev/null"),
        ("diff.srcPrefix", "x/"),
        ("core.abbrev", "4"),
        ("diff.submodule", "log"),
    ] {
        fixture.git(["config", key, value]);
    }
    assert_eq!(captured(&fixture, &worktree), first);
    assert!(String::from_utf8_lossy(&first.diff).starts_with("diff --git a/a.txt b/a.txt\n"));
}

#[test]
fn a_patch_on_a_base_without_files_adds_all() {
    let fixture = Fixture::empty();
    fixture.commit("nothing");
    let worktree = fixture.worktree("w");
    write(worktree.path(), b"first", b"1\n");
    assert_eq!(told(&captured(&fixture, &worktree)), ["A first"]);
}

#[test]
fn added_lines_come_with_path_and_number() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    write(worktree.path(), b"a.txt", b"one\n--- x\nthree\n+++ y");
    let capture = captured(&fixture, &worktree);
    let model = capture.model().expect("a diff");
    let lines: Vec<(u64, &[u8])> = model.added_lines().map(|added| (added.line, added.text)).collect();
    assert_eq!(lines, [(2, &b"--- x"[..]), (4, &b"+++ y"[..])]);
}

fn in_checkout(fixture: &Fixture) -> Capture {
    let base = fixture.head();
    let capture = capture_checkout(&fixture.repository(), &base, &fixture.place()).expect("a patch");
    assert_eq!(capture.model().expect("a diff").stats(), capture.stats());
    capture
}

#[test]
fn the_users_own_checkout_is_compared_as_the_users_git_wrote_it() {
    let fixture = Fixture::new();
    fixture.write(
        ".gitattributes",
        "*.crlf text eol=crlf\n*.big filter=shrink\n*.u16 working-tree-encoding=UTF-16\n",
    );
    fixture.write("x.crlf", "a\r\nb\r\n");
    fixture.write("x.big", "whole content\n");
    let utf16: Vec<u8> =
        [0xfeff, u16::from(b'a'), 10].iter().flat_map(|unit| u16::to_le_bytes(*unit)).collect();
    fixture.write("x.u16", &utf16);
    // A file of the same moment as the index is compared by content, for which the filter would be needed.
    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let big = fs::File::options().write(true).open(fixture.root().join("x.big")).expect("a file");
    big.set_modified(before).expect("a time");
    fixture.git(["config", "filter.shrink.clean", "echo pointer; cat >/dev/null"]);
    fixture.commit("converted");
    assert_eq!(fixture.git(["show", "HEAD:x.big"]), "pointer");
    assert!(in_checkout(&fixture).is_empty());

    fixture.write("x.crlf", "a\r\nB\r\n");
    fixture.write("new.crlf", "c\r\n");
    let capture = in_checkout(&fixture);
    assert_eq!(told(&capture), ["A new.crlf", "M x.crlf"]);
    assert_eq!((capture.stats().additions, capture.stats().deletions), (2, 1));
    assert!(!String::from_utf8_lossy(&capture.diff).contains('\r'));
}

#[test]
fn line_ending_settings_of_the_user_count_in_his_own_checkout() {
    let fixture = Fixture::new();
    fixture.git(["config", "core.autocrlf", "true"]);
    fixture.write("a.txt", "one\r\ntwo\r\nthree\r\n");
    assert!(in_checkout(&fixture).is_empty());
}

#[test]
fn marks_of_the_index_hide_nothing_in_the_users_own_checkout() {
    let fixture = Fixture::new();
    fixture.git(["update-index", "--assume-unchanged", "a.txt"]);
    fixture.git(["update-index", "--skip-worktree", "b.txt", "dir/c.txt"]);
    fixture.write("a.txt", "hidden\n");
    fixture.write("b.txt", "hidden\n");
    // A sparse file is absent on purpose.
    fs::remove_file(fixture.root().join("dir/c.txt")).expect("a removal");
    fixture.write("untracked", "1\n");
    let index = fs::read(fixture.root().join(".git/index")).expect("an index");
    assert_eq!(told(&in_checkout(&fixture)), ["M a.txt", "M b.txt", "A untracked"]);
    assert!(fs::read(fixture.root().join(".git/index")).expect("an index") == index);
}

#[test]
fn a_change_in_the_same_moment_and_of_the_same_size_is_seen() {
    let fixture = Fixture::new();
    // The index and the file are written within one tick of the clock, so only the content tells.
    let at = fixture.root().join("b.txt");
    let time = fixture.root().join(".git/index").metadata().expect("an index").modified().expect("a time");
    fixture.write("b.txt", "B\n");
    fs::File::options().write(true).open(&at).expect("a file").set_modified(time).expect("a time");
    assert_eq!(told(&in_checkout(&fixture)), ["M b.txt"]);
}

#[test]
fn what_git_staged_or_removed_from_the_index_is_taken_from_the_disk() {
    let fixture = Fixture::new();
    fixture.write("staged", "1\n");
    fixture.git(["add", "staged"]);
    fixture.write("staged", "2\n");
    fixture.git(["rm", "--quiet", "--cached", "b.txt"]);
    fixture.git(["rm", "--quiet", "a.txt"]);
    let capture = in_checkout(&fixture);
    assert_eq!(told(&capture), ["D a.txt", "A staged"]);
    assert!(String::from_utf8_lossy(&capture.diff).contains("+2\n"));
}

#[test]
fn a_split_index_is_read_as_well() {
    let fixture = Fixture::new();
    fixture.git(["update-index", "--split-index"]);
    fixture.write("a.txt", "changed\n");
    assert_eq!(told(&in_checkout(&fixture)), ["M a.txt"]);
}

#[test]
fn a_diff_is_applied_to_files_whole_or_not_at_all() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    let apply = |diff: &str| {
        apply_to_files(&fixture.repository(), worktree.path(), diff.as_bytes(), &fixture.place())
    };
    let good = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+c\n";
    apply(good).expect("it applies");
    assert_eq!(fs::read(worktree.path().join("b.txt")).expect("a file"), b"c\n");
    let half = format!("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n{good}");
    assert_eq!(apply(&half).expect_err("the second part does not fit").code(), "git_failed");
    assert_eq!(fs::read(worktree.path().join("a.txt")).expect("a file"), b"one\ntwo\nthree\n");
    symlink(fixture.folder.path(), worktree.path().join("out")).expect("a link");
    for name in ["../escaped", "out/escaped", ".git/config", "/tmp/escaped"] {
        let diff = format!(
            "diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"
        );
        assert!(apply(&diff).is_err(), "{name}");
    }
    assert!(!fixture.folder.path().join("escaped").exists());
}
