use super::*;
use std::os::unix::fs::symlink;

#[test]
fn a_worktree_is_detached_at_its_base_and_clean_for_git_as_well() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("run_1");
    assert_eq!(git_in(worktree.path(), ["rev-parse", "HEAD"]), fixture.head().as_str());
    assert_eq!(git_in(worktree.path(), ["status", "--porcelain", "--ignored"]), "");
    assert_eq!(git_in(worktree.path(), ["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
    assert!(fixture.repository().checkout_state().expect("a state").files.is_empty());
}

#[test]
fn a_worktree_never_lies_inside_the_repository_nor_over_something() {
    let fixture = Fixture::new();
    let (repository, head) = (fixture.repository(), fixture.head());
    let inside = Worktree::create(&repository, &fixture.root().join("state"), "w", &head);
    assert_eq!(inside.expect_err("refused").code(), "worktree_not_ours");
    fixture.worktree("w");
    let twice = Worktree::create(&repository, &fixture.place(), "w", &head);
    assert_eq!(twice.expect_err("refused").code(), "worktree_not_ours");
    for name in ["", "..", "a/b", "-x", ".hidden", "a b"] {
        let named = Worktree::create(&repository, &fixture.place(), name, &head);
        assert_eq!(named.expect_err(name).code(), "invalid_git_name", "{name:?}");
    }
}

#[test]
fn base_and_patch_make_the_files_that_were_captured() {
    let fixture = Fixture::new();
    let first = fixture.worktree("agent");
    write(first.path(), b"a.txt", b"changed\n");
    write(first.path(), b"bin", b"\0\x01");
    fs::remove_file(first.path().join("b.txt")).expect("a removal");
    symlink("a.txt", first.path().join("link")).expect("a link");
    write(first.path(), b"name\xff", b"x\n");
    let (repository, head) = (fixture.repository(), fixture.head());
    let capture = first.capture(&repository).expect("a patch");
    let place = fixture.place();
    let second =
        Worktree::create_with_patch(&repository, &place, "verify", &head, &capture.diff, Some(&capture.tree))
            .expect("a worktree of base and patch");
    assert_eq!(second.capture(&repository).expect("a patch"), capture);
    assert_eq!(git_in(second.path(), ["rev-parse", "HEAD"]), head.as_str());
    assert!(git_in(second.path(), ["status", "--porcelain"]).contains(" M a.txt"));

    let other = repository.tree_of(&head).expect("a tree");
    let wrong = Worktree::create_with_patch(&repository, &place, "no", &head, &capture.diff, Some(&other));
    assert_eq!(wrong.expect_err("another tree").code(), "patch_tree_mismatch");
    assert!(!place.join("no").exists());
}

#[test]
fn removing_forgets_the_worktree_and_leaves_everything_else() {
    let fixture = Fixture::new();
    let (gone, kept) = (fixture.worktree("gone"), fixture.worktree("kept"));
    let outside = fixture.place().join("outside");
    write(&outside, b"precious", b"1");
    symlink(&outside, gone.path().join("link")).expect("a link");
    gone.remove(&fixture.place()).expect("a removal");
    assert!(!gone.path().exists());
    assert!(outside.join("precious").exists());
    let listed = fixture.git(["worktree", "list", "--porcelain"]);
    assert!(!listed.contains("/gone") && listed.contains("/kept"), "{listed}");
    gone.remove(&fixture.place()).expect("twice is no failure");
    kept.check_ours().expect("still there");
}

#[test]
fn nothing_is_removed_that_was_not_made() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    // Its place is taken by a link to something else.
    let moved = fixture.place().join("moved");
    fs::rename(worktree.path(), &moved).expect("a rename");
    let precious = fixture.folder.path().join("precious");
    write(&precious, b"file", b"1");
    symlink(&precious, worktree.path()).expect("a link");
    assert_eq!(worktree.remove(&fixture.place()).expect_err("a link").code(), "worktree_not_ours");
    assert_eq!(worktree.capture(&fixture.repository()).expect_err("a link").code(), "worktree_not_ours");
    fs::remove_file(worktree.path()).expect("a removal");
    // And by another folder.
    fs::create_dir(worktree.path()).expect("a folder");
    assert_eq!(worktree.remove(&fixture.place()).expect_err("another").code(), "worktree_not_ours");
    assert!(precious.join("file").exists() && worktree.path().exists());
    // A root that does not hold it.
    let elsewhere = fixture.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    assert_eq!(worktree.remove(&elsewhere).expect_err("elsewhere").code(), "worktree_not_ours");
}

#[test]
fn the_record_of_a_worktree_survives_a_restart() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    let text = serde_json::to_string(&worktree).expect("text");
    let again: Worktree = serde_json::from_str(&text).expect("a record");
    assert_eq!(again, worktree);
    again.check_ours().expect("the same folder");
}

#[test]
fn what_would_be_lost_is_listed() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    let repository = fixture.repository();
    assert_eq!(worktree.losses(&repository).expect("losses"), Losses::default());
    write(worktree.path(), b"mine", b"1\n");
    git_in(worktree.path(), ["add", "-A"]);
    git_in(worktree.path(), ["commit", "--quiet", "-m", "unpushed"]);
    write(worktree.path(), b"untracked", b"1\n");
    let losses = worktree.losses(&repository).expect("losses");
    assert_eq!(losses.files, [path("mine"), path("untracked")]);
    assert_eq!(losses.commits, 1);
}

#[test]
fn a_patch_is_tried_on_the_tip_without_changing_anything() {
    let fixture = Fixture::new();
    let base = fixture.head();
    let worktree = fixture.worktree("w");
    write(worktree.path(), b"a.txt", b"one\nmine\nthree\n");
    let repository = fixture.repository();
    let diff = worktree.capture(&repository).expect("a patch").diff;
    let check =
        |tip: &Commit| check_apply(&repository, &base, &diff, tip, &fixture.place()).expect("an answer");
    assert_eq!(check(&base).state, crate::domain::ApplyState::Clean);

    fixture.git(["mv", "a.txt", "renamed.txt"]);
    let moved = fixture.commit("renamed by somebody");
    assert_eq!(check(&moved).state, crate::domain::ApplyState::Clean);

    fixture.write("renamed.txt", "one\ntheirs\nthree\n");
    let tip = fixture.commit("another line two");
    let before = repository.checkout_state().expect("a state");
    let found = check(&tip);
    assert_eq!(found.state, crate::domain::ApplyState::Conflict);
    assert_eq!(found.conflicts, [path("renamed.txt")]);
    assert_eq!(repository.checkout_state().expect("a state"), before);
}

#[test]
fn a_clone_of_depth_one_and_a_borrowing_clone_work_as_well() {
    let origin = Fixture::new();
    origin.write("a.txt", "second\n");
    origin.commit("second");
    let place = origin.place();
    fs::create_dir_all(&place).expect("a folder");
    let address = format!("file://{}", origin.root().display());
    git_in(&place, ["clone", "--quiet", "--depth=1", &address, "shallow"]);
    git_in(&place, ["clone", "--quiet", "--shared", &origin.root().display().to_string(), "borrowing"]);
    for name in ["shallow", "borrowing"] {
        let repository = Repository::discover(&place.join(name)).expect("a repository");
        let head = repository.head().expect("an answer").expect("a commit");
        let worktree = Worktree::create(&repository, &place.join("trees"), name, &head).expect("a worktree");
        write(worktree.path(), b"new", b"1\n");
        assert_eq!(told(&worktree.capture(&repository).expect("a patch")), ["A new"]);
    }
}
