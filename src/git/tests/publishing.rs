use super::*;

struct Scene {
    fixture: Fixture,
    remote: PathBuf,
    base: Commit,
    capture: Capture,
}

fn scene() -> Scene {
    let fixture = Fixture::new();
    let base = fixture.head();
    let remote = fixture.place().join("remote.git");
    fs::create_dir_all(&remote).expect("a folder");
    git_in(&remote, ["init", "--quiet", "--bare", "--initial-branch=main", "."]);
    fixture.git(["push", "--quiet", &remote.display().to_string(), "main"]);
    let worktree = fixture.worktree("w");
    write(worktree.path(), b"a.txt", b"changed\n");
    write(worktree.path(), b"bin\xff", b"\0\x01");
    fs::remove_file(worktree.path().join("b.txt")).expect("a removal");
    let capture = worktree.capture(&fixture.repository()).expect("a patch");
    Scene { fixture, remote, base, capture }
}

impl Scene {
    fn prepare(&self, message: &str) -> Publication {
        let who = |name: &str| Identity { name: name.to_owned(), email: format!("{name}@example.org") };
        let text = CommitText {
            message: message.to_owned(),
            author: who("author"),
            committer: who("committer"),
            seconds: 1_700_000_000,
        };
        let (repository, place) = (self.fixture.repository(), self.fixture.place());
        let (diff, tree) = (&self.capture.diff, Some(&self.capture.tree));
        Publication::prepare(&repository, &self.base, diff, tree, &text, &place).expect("a commit")
    }

    fn push(&self, publication: &Publication, branch: &str) -> Result<Pushed, GitError> {
        publication.push(&self.remote.display().to_string(), branch, Some("main"))
    }

    fn remote_git(&self, arguments: &[&str]) -> String {
        git_in(&self.remote, arguments)
    }
}

#[test]
fn the_pushed_branch_is_one_commit_on_the_base_with_the_tree_of_the_patch() {
    let scene = scene();
    let before = scene.fixture.repository().checkout_state().expect("a state");
    let publication = scene.prepare("Title\n\nWhy.\n\nTelic-Run: run_1\n");
    assert_eq!(scene.push(&publication, "telic/task-1").expect("a push"), Pushed::Created);
    let show = |format: &str| scene.remote_git(&["log", "-1", &format!("--format={format}"), "telic/task-1"]);
    assert_eq!(show("%H"), publication.commit().as_str());
    assert_eq!(show("%P"), scene.base.as_str());
    assert_eq!(show("%T"), scene.capture.tree.as_str());
    assert_eq!(show("%an %ae %cn %ct"), "author author@example.org committer 1700000000");
    assert_eq!(show("%(trailers:key=Telic-Run,valueonly)"), "run_1");
    assert_eq!(scene.fixture.repository().checkout_state().expect("a state"), before);
}

#[test]
fn publishing_twice_makes_one_branch() {
    let scene = scene();
    scene.push(&scene.prepare("Title\n"), "telic/x").expect("a push");
    assert_eq!(scene.push(&scene.prepare("Title\n"), "telic/x").expect("a push"), Pushed::AlreadyThere);
    // Another message, the same content.
    assert_eq!(scene.push(&scene.prepare("Other\n"), "telic/x").expect("a push"), Pushed::AlreadyThere);
    assert_eq!(scene.remote_git(&["rev-list", "--count", "main..telic/x"]), "1");
}

#[test]
fn a_branch_with_other_content_is_never_overwritten() {
    let scene = scene();
    scene.remote_git(&["branch", "telic/x", "main"]);
    let error = scene.push(&scene.prepare("Title\n"), "telic/x").expect_err("refused");
    assert_eq!(error.code(), "branch_exists");
    assert_eq!(scene.remote_git(&["rev-parse", "telic/x"]), scene.base.as_str());
}

#[test]
fn neither_the_base_branch_nor_the_remotes_main_branch_is_pushed_to() {
    let scene = scene();
    let publication = scene.prepare("Title\n");
    assert_eq!(scene.push(&publication, "main").expect_err("refused").code(), "push_to_base_branch");
    let address = scene.remote.display().to_string();
    let error = publication.push(&address, "main", Some("develop")).expect_err("refused");
    assert_eq!(error.code(), "push_to_base_branch");
    assert_eq!(scene.remote_git(&["rev-parse", "main"]), scene.base.as_str());
}

#[test]
fn names_and_addresses_that_git_could_misread_are_refused() {
    let scene = scene();
    let publication = scene.prepare("Title\n");
    for branch in ["", "-x", "a..b", "a b", "x.lock", "a:b", "HEAD", "a\nb"] {
        let error = scene.push(&publication, branch).expect_err(branch);
        assert_eq!(error.code(), "invalid_git_name", "{branch:?}");
    }
    let marker = scene.fixture.place().join("marker");
    for address in ["--upload-pack=x".to_owned(), String::new()] {
        let error = publication.push(&address, "telic/x", None).expect_err(&address);
        assert_eq!(error.code(), "invalid_git_name", "{address:?}");
    }
    let address = format!("ext::sh -c touch% {}", marker.display());
    assert!(publication.push(&address, "telic/x", None).is_err());
    assert!(!marker.exists());
}

#[test]
fn a_hook_of_the_remote_that_says_no_is_told_as_its_answer() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = scene();
    let hook = scene.remote.join("hooks/pre-receive");
    fs::create_dir_all(scene.remote.join("hooks")).expect("a folder");
    fs::write(&hook, "#!/bin/sh\necho 'sign your work' >&2\nexit 1\n").expect("a hook");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("a mode");
    let error = scene.push(&scene.prepare("Title\n"), "telic/x").expect_err("rejected");
    assert_eq!(error.code(), "push_rejected");
    assert!(error.to_string().contains("sign your work"), "{error}");
}

#[test]
fn a_remote_that_is_not_there_is_told_as_such() {
    let scene = scene();
    let nowhere = scene.fixture.place().join("nowhere");
    let error = scene.prepare("Title\n").push(&nowhere.display().to_string(), "telic/x", None);
    assert_eq!(error.expect_err("nothing there").code(), "remote_unreachable");
}

#[test]
fn a_local_branch_can_be_kept_instead() {
    let scene = scene();
    let repository = scene.fixture.repository();
    let before = repository.checkout_state().expect("a state");
    let publication = scene.prepare("Title\n");
    publication.keep_locally(&repository, "telic/x").expect("a branch");
    publication.keep_locally(&repository, "telic/x").expect("twice is no failure");
    assert_eq!(scene.fixture.git(["rev-parse", "telic/x^{tree}"]), scene.capture.tree.as_str());
    scene.fixture.git(["fsck", "--no-dangling"]);
    let changes = repository.checkout_state().expect("a state").changes_since(&before);
    assert_eq!(
        (changes.refs, changes.files, changes.head),
        (vec!["refs/heads/telic/x".to_owned()], vec![], false)
    );
    let error = scene.prepare("Other\n").keep_locally(&repository, "telic/x").expect_err("another commit");
    assert_eq!(error.code(), "branch_exists");
}
