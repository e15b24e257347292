use super::*;

#[test]
fn a_repository_is_found_from_a_folder_inside_it() {
    let fixture = Fixture::new();
    let repository = Repository::discover(&fixture.root().join("dir")).expect("a repository");
    assert_eq!(repository.root(), fixture.root());
    assert_eq!(repository.common_dir(), fixture.root().join(".git"));
    assert_eq!(repository.object_format(), "sha1");
}

#[test]
fn a_folder_without_git_is_told_as_such() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = Repository::discover(folder.path()).expect_err("no repository");
    assert_eq!(error.code(), "not_a_repository");
}

#[test]
fn a_repository_without_a_commit_has_no_head() {
    let fixture = Fixture::empty();
    let repository = fixture.repository();
    assert_eq!(repository.head().expect("an answer"), None);
    assert_eq!(repository.current_branch().expect("an answer"), Some("main".to_owned()));
    assert_eq!(repository.branches().expect("an answer"), []);
    assert_eq!(repository.checkout_state().expect("an answer").head, None);
}

#[test]
fn names_lead_to_commits_and_options_to_nothing() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    fixture.git(["tag", "-a", "v1", "-m", "v1"]);
    let head = fixture.head();
    for name in ["HEAD", "main", "v1", &head, &head[..8]] {
        assert_eq!(repository.resolve(name).expect(name), head);
    }
    assert_eq!(repository.resolve("nowhere").expect_err("no commit").code(), "unknown_revision");
    for name in ["", "--all", "-n1", "HEAD:a.txt", "a\nb"] {
        assert_eq!(repository.resolve(name).expect_err(name).code(), "invalid_git_name", "{name:?}");
    }
}

#[test]
fn a_commit_id_that_is_none_never_reaches_git() {
    let repository = Fixture::new().repository();
    let bad = Commit::from("--output=/tmp/x");
    assert_eq!(repository.files_at(&bad).expect_err("refused").code(), "invalid_git_name");
}

#[test]
fn branches_remotes_and_counts_are_told() {
    let fixture = Fixture::new();
    let base = fixture.head();
    fixture.write("a.txt", "2\n");
    fixture.commit("second");
    let tip = fixture.commit("third");
    fixture.git(["branch", "other", &base]);
    fixture.git(["remote", "add", "origin", "https://me:secret@github.com/o/n.git"]);
    fixture.git(["remote", "add", "a.b", "git@example.org:x"]);
    fixture.git(["remote", "set-url", "--push", "a.b", "git@example.org:y"]);
    let repository = fixture.repository();
    assert_eq!(
        repository.branches().expect("branches"),
        [("main".to_owned(), tip.clone()), ("other".to_owned(), base.clone())]
    );
    assert_eq!(repository.commits_between(&base, &tip).expect("a count"), 2);
    let remotes = repository.remotes().expect("remotes");
    assert_eq!(remotes.len(), 2);
    assert_eq!(remotes[0].shown(), "https://***@github.com/o/n.git");
    assert_eq!(remotes[0].forge().expect("a forge").kind, ForgeKind::GitHub);
    assert_eq!((remotes[1].name.as_str(), remotes[1].push_address()), ("a.b", "git@example.org:y"));
}

#[test]
fn a_file_is_read_from_the_commit_and_not_from_the_disk() {
    let fixture = Fixture::new();
    fixture.write(".telic/policy.toml", "[pr]\ndraft = true\n");
    let base = fixture.commit("policy");
    fixture.write(".telic/policy.toml", "[pr]\ndraft = false\n");
    let repository = fixture.repository();
    let file = path(".telic/policy.toml");
    assert_eq!(repository.file_at(&base, &file).expect("an answer"), Some(b"[pr]\ndraft = true\n".to_vec()));
    assert_eq!(repository.file_at(&base, &path("none")).expect("an answer"), None);
    assert_eq!(repository.file_at(&base, &path("dir")).expect("an answer"), None);
    assert_eq!(
        repository.files_at(&base).expect("files"),
        [path(".telic/policy.toml"), path("a.txt"), path("b.txt"), path("dir/c.txt")]
    );
}

#[test]
fn a_policy_that_is_a_link_says_nothing() {
    let fixture = Fixture::new();
    std::os::unix::fs::symlink("a.txt", fixture.root().join("policy.toml")).expect("a link");
    let base = fixture.commit("link");
    assert_eq!(fixture.repository().file_at(&base, &path("policy.toml")).expect("an answer"), None);
}

#[test]
fn a_replaced_commit_does_not_stand_in_for_the_real_one() {
    let fixture = Fixture::new();
    let base = fixture.head();
    fixture.write("a.txt", "other\n");
    let other = fixture.commit("other");
    fixture.git(["replace", &base, &other]);
    let content = fixture.repository().file_at(&base, &path("a.txt")).expect("an answer");
    assert_eq!(content, Some(b"one\ntwo\nthree\n".to_vec()));
}

#[test]
fn the_mail_address_is_the_configured_one() {
    let fixture = Fixture::new();
    fixture.git(["config", "user.email", "me@example.org"]);
    assert_eq!(fixture.repository().user_email().expect("an answer"), Some("me@example.org".to_owned()));
}

#[test]
fn a_touched_checkout_is_told_by_path_and_ref() {
    let fixture = Fixture::new();
    fixture.write("untracked", "1");
    fixture.write("b.txt", "dirty\n");
    let repository = fixture.repository();
    let before = repository.checkout_state().expect("a state");
    assert_eq!(
        repository.checkout_state().expect("a state").changes_since(&before),
        CheckoutChanges::default()
    );
    assert_eq!(repository.checkout_state().expect("a state").digest(), before.digest());

    fixture.write("untracked", "22");
    fixture.write("a.txt", "changed\n");
    fixture.write("new\nname", "x");
    fixture.git(["checkout", "--quiet", "b.txt"]);
    fixture.git(["branch", "sneaky"]);
    let after = repository.checkout_state().expect("a state");
    let changes = after.changes_since(&before);
    assert!(!changes.head);
    assert_eq!(changes.refs, ["refs/heads/sneaky"]);
    assert_eq!(changes.files, [path("a.txt"), path("b.txt"), path("new\nname"), path("untracked")]);
    assert_ne!(after.digest(), before.digest());

    fixture.git(["checkout", "--quiet", "-b", "away"]);
    assert!(repository.checkout_state().expect("a state").changes_since(&after).head);
}

#[test]
fn looking_at_the_checkout_leaves_its_index_alone() {
    let fixture = Fixture::new();
    let index = fixture.root().join(".git/index");
    // A newer time makes the entry look changed, which an ordinary status would write down.
    fs::write(fixture.root().join("a.txt"), "one\ntwo\nthree\n").expect("a file");
    let before = fs::read(&index).expect("an index");
    fixture.repository().checkout_state().expect("a state");
    assert!(fs::read(&index).expect("an index") == before);
    assert!(!fixture.root().join(".git/index.lock").exists());
}

#[test]
fn an_error_names_the_subcommand_and_hides_escape_sequences_and_credentials() {
    let fixture = Fixture::new();
    let call =
        fixture.repository().call("ls-remote").files().arg("https://me:secret@host.invalid/\u{1b}[31m");
    let error = call.run().expect_err("not allowed");
    assert_eq!(error.code(), "git_failed");
    let text = error.to_string();
    assert!(text.starts_with("git ls-remote failed with exit code 128: "), "{text}");
    assert!(!text.contains("secret") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn output_past_the_limit_ends_the_call() {
    let fixture = Fixture::new();
    fixture.write("big", vec![b'x'; 100_000]);
    fixture.commit("big");
    let error = fixture.repository().call("show").arg("HEAD:big").limited(1_000).run().expect_err("too much");
    assert_eq!(error.code(), "git_output_limit");
}

#[test]
fn a_call_that_takes_too_long_is_ended_with_its_children() {
    let fixture = Fixture::new();
    let marker = fixture.root().join("marker");
    // An upload-pack that never answers keeps git waiting.
    let script = fixture.root().join("hang.sh");
    fs::write(&script, format!("#!/bin/sh\nsleep 600 &\necho $! > '{}'\nwait\n", marker.display()))
        .expect("a file");
    let call = fixture
        .repository()
        .call("ls-remote")
        .files()
        .arg("--upload-pack")
        .arg(format!("sh '{}'", script.display()));
    let error =
        call.arg(fixture.root()).within(std::time::Duration::from_secs(1)).run().expect_err("too long");
    assert_eq!(error.code(), "git_timed_out");
    let pid: i32 = fs::read_to_string(&marker).expect("the child ran").trim().parse().expect("a pid");
    // The signal has been sent; the system takes a moment to carry it out. A zombie nobody collects is dead.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let gone = || {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_err() || state.contains(" Z ")
    };
    while !gone() {
        assert!(std::time::Instant::now() < until, "the child of the ended call still runs");
        std::thread::yield_now();
    }
}

#[test]
fn content_ids_lead_to_their_content() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    let oid = fixture.git(["rev-parse", "HEAD:b.txt"]);
    assert_eq!(repository.blob(&oid).expect("an answer"), Some(b"b\n".to_vec()));
    assert_eq!(repository.blob(&"0".repeat(40)).expect("an answer"), None);
    assert_eq!(repository.blob("HEAD:b.txt").expect_err("no id").code(), "invalid_git_name");
}

#[test]
fn the_version_of_git_is_told() {
    let (text, new_enough) = git_version().expect("a git");
    assert!(text.starts_with(|c: char| c.is_ascii_digit()), "{text}");
    assert!(new_enough, "these tests need a git of {OLDEST_GIT:?} or newer");
}
