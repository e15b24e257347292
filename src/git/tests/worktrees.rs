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

#[test]
fn worktrees_of_one_repository_can_be_made_at_the_same_time() {
    let fixture = Fixture::new();
    let (repository, place, head) = (fixture.repository(), fixture.place(), fixture.head());
    let names: Vec<String> = (0..6).map(|n| format!("run_{n}")).collect();
    std::thread::scope(|scope| {
        let made: Vec<_> = names
            .iter()
            .map(|name| scope.spawn(|| Worktree::create(&repository, &place, name, &head)))
            .collect();
        for thread in made {
            thread.join().expect("no panic").expect("a worktree");
        }
    });
    assert_eq!(fixture.git(["worktree", "list"]).lines().count(), 7);
}

#[test]
fn a_repository_of_sha256_objects_works_as_well() {
    let fixture = Fixture::empty();
    fs::remove_dir_all(fixture.root().join(".git")).expect("a removal");
    fixture.git(["init", "--quiet", "--object-format=sha256", "."]);
    fixture.write("a", "1\n");
    fixture.commit("first");
    assert_eq!(fixture.repository().object_format(), "sha256");
    let worktree = fixture.worktree("w");
    write(worktree.path(), b"a", b"2\n");
    let capture = worktree.capture(&fixture.repository()).expect("a patch");
    assert_eq!(told(&capture), ["M a"]);
    assert_eq!(capture.tree.as_str().len(), 64);
}

#[test]
fn nothing_temporary_is_left_and_leftovers_of_a_crash_are_swept() {
    let fixture = Fixture::new();
    let place = fixture.place();
    let worktree = fixture.worktree("w");
    worktree.capture(&fixture.repository()).expect("a patch");
    assert_eq!(fs::read_dir(place.join(".scratch")).expect("a folder").count(), 0);

    write(&place, b".removed-run_1/file", b"1");
    write(&place, b".scratch/telic-git-old/file", b"1");
    write(&place, b".scratch/telic-git-new/file", b"1");
    write(&place, b".scratch/other/file", b"1");
    symlink(fixture.root(), place.join(".removed-link")).expect("a link");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 24 * 60 * 60);
    fs::File::open(place.join(".scratch/telic-git-old"))
        .expect("a folder")
        .set_modified(long_ago)
        .expect("a time");
    assert_eq!(sweep(&place).expect("swept"), 2);
    assert!(!place.join(".removed-run_1").exists() && !place.join(".scratch/telic-git-old").exists());
    for kept in [".scratch/telic-git-new/file", ".scratch/other/file", ".removed-link/a.txt", "w/a.txt"] {
        assert!(place.join(kept).exists(), "{kept}");
    }
}

#[test]
fn history_is_read_without_the_repositorys_settings() {
    let fixture = Fixture::new();
    fixture.git(["config", "log.showSignature", "true"]);
    fixture.git(["config", "color.ui", "always"]);
    fixture.write("a.txt", "second\n");
    let head = fixture.commit("second");
    let scratch = Scratch::create(&fixture.repository(), &fixture.place()).expect("a scratch folder");
    let log = String::from_utf8(scratch.log(&head, 1).expect("a log")).expect("text");
    assert!(log.starts_with(&format!("commit {head}\n")) && log.contains("second") && !log.contains("first"));
    let shown = String::from_utf8(scratch.show(&head).expect("a commit")).expect("text");
    assert!(shown.contains("\n+second\n"), "{shown}");
}

#[test]
fn the_repositorys_configuration_and_sparse_patterns_are_as_before() {
    let fixture = Fixture::new();
    fixture.write("other/d.txt", "d\n");
    fixture.commit("more folders");
    fixture.git(["sparse-checkout", "set", "dir"]);
    let state = || {
        let read = |name: &str| fs::read(fixture.root().join(".git").join(name)).ok();
        (
            read("config"),
            read("config.worktree"),
            read("info/sparse-checkout"),
            read("index"),
            read("packed-refs"),
        )
    };
    let before = state();
    let worktree = fixture.worktree("w");
    // All files are there: a run may need any of them.
    assert!(worktree.path().join("other/d.txt").exists());
    assert_eq!(git_in(worktree.path(), ["status", "--porcelain"]), "");
    write(worktree.path(), b"other/d.txt", b"changed\n");
    assert_eq!(told(&worktree.capture(&fixture.repository()).expect("a patch")), ["M other/d.txt"]);
    assert_eq!(git_in(worktree.path(), ["status", "--porcelain"]), " M other/d.txt");
    worktree.remove(&fixture.place()).expect("a removal");
    assert!(state() == before);
    assert!(!fixture.root().join("other").exists());
    let known = fs::read_dir(fixture.root().join(".git/worktrees")).map_or(0, Iterator::count);
    assert_eq!(known, 0);
}

#[test]
fn folders_without_write_permission_are_removed_as_well() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    write(worktree.path(), b"cache/module/file", b"1");
    for folder in ["cache/module", "cache"] {
        let closed = fs::Permissions::from_mode(0o500);
        fs::set_permissions(worktree.path().join(folder), closed).expect("a mode");
    }
    worktree.remove(&fixture.place()).expect("a removal");
    assert!(!worktree.path().exists());
}
