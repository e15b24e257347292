use super::*;
use std::os::unix::fs::PermissionsExt as _;

/// Programs that leave a mark in this folder when they run.
struct Trap {
    folder: PathBuf,
}

impl Trap {
    fn new(fixture: &Fixture) -> Self {
        let folder = fixture.folder.path().canonicalize().expect("a folder").join("marks");
        fs::create_dir_all(&folder).expect("a folder");
        Self { folder }
    }

    /// A command that leaves the mark `name`.
    fn command(&self, name: &str) -> String {
        let script = self.folder.join(format!("{name}.sh"));
        let mark = self.folder.join(format!("{name}.mark"));
        fs::write(&script, format!("#!/bin/sh\necho ran >> '{}'\ncat 2>/dev/null\n", mark.display()))
            .expect("a file");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
        script.display().to_string()
    }

    fn marks(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.folder)
            .expect("a folder")
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".mark"))
            .collect();
        names.sort();
        names
    }
}

/// Everything in a configuration that names a program.
fn poison(fixture: &Fixture, trap: &Trap) {
    let hooks = trap.folder.join("hooks");
    fs::create_dir_all(&hooks).expect("a folder");
    fs::create_dir_all(fixture.root().join(".git/hooks")).expect("a folder");
    for hook in ["post-checkout", "pre-push", "reference-transaction", "post-index-change", "pre-commit"] {
        let command = trap.command(&format!("hook-{hook}"));
        for folder in [hooks.clone(), fixture.root().join(".git/hooks")] {
            fs::copy(&command, folder.join(hook)).expect("a hook");
        }
    }
    fixture.git(["config", "core.hooksPath", &hooks.display().to_string()]);
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.sshCommand",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "merge.evil.driver",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "filter.a=b.clean",
        "filter.a=b.smudge",
        "credential.helper",
        "gpg.program",
        "gpg.ssh.program",
        "uploadpack.packObjectsHook",
        "remote.origin.uploadpack",
        "remote.origin.receivepack",
        "trailer.x.command",
        "sequence.editor",
        "interactive.diffFilter",
    ] {
        fixture.git(["config", key, &trap.command(key)]);
    }
    for key in ["status", "diff", "update-index", "worktree", "push"] {
        fixture.git([
            "config",
            &format!("alias.{key}"),
            &format!("!{}", trap.command(&format!("alias-{key}"))),
        ]);
    }
    for (key, value) in [
        ("filter.evil.required", "true"),
        ("commit.gpgSign", "true"),
        ("push.gpgSign", "true"),
        ("log.showSignature", "true"),
        ("submodule.recurse", "true"),
        ("protocol.ext.allow", "always"),
    ] {
        fixture.git(["config", key, value]);
    }
    let attributes = fixture.root().join(".git/info/attributes");
    fs::create_dir_all(attributes.parent().expect("a parent")).expect("a folder");
    fs::write(attributes, "*.txt filter=a=b diff=evil merge=evil\n* filter=evil\n").expect("a file");
}

fn text() -> CommitText {
    let who = || Identity { name: "N".to_owned(), email: "n@example.org".to_owned() };
    CommitText { message: "t\n".to_owned(), author: who(), committer: who(), seconds: 1_700_000_000 }
}

#[test]
fn no_program_of_the_repositorys_configuration_runs() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    let base = fixture.commit("attributes");
    let remote = fixture.place().join("remote.git");
    fs::create_dir_all(&remote).expect("a folder");
    git_in(&remote, ["init", "--quiet", "--bare", "."]);
    fixture.git(["remote", "add", "origin", &remote.display().to_string()]);
    fixture.git(["push", "--quiet", "origin", "main"]);
    let trap = Trap::new(&fixture);
    poison(&fixture, &trap);

    let repository = fixture.repository();
    repository.resolve("main").expect("a commit");
    repository.branches().expect("branches");
    repository.remotes().expect("remotes");
    repository.user_email().expect("an answer");
    repository.file_at(&base, &path("a.txt")).expect("a file");
    // A changed time makes git look at the content, for which it would ask the filter.
    fixture.write("a.txt", "one\ntwo\nthreE\n");
    repository.checkout_state().expect("a state");
    let worktree = fixture.worktree("w");
    assert_eq!(trap.marks(), Vec::<String>::new());

    write(worktree.path(), b"a.txt", b"changed\n");
    write(worktree.path(), b"new.txt", b"new\n");
    let capture = worktree.capture(&repository).expect("a patch");
    assert_eq!(told(&capture), ["M a.txt", "A new.txt"]);
    worktree.losses(&repository).expect("losses");
    let place = fixture.place();
    let other = Worktree::create_with_patch(&repository, &place, "v", &base, &capture.diff, None);
    other.expect("a worktree").remove(&place).expect("a removal");
    check_apply(&repository, &base, &capture.diff, &base, &place).expect("an answer");
    capture_checkout(&repository, &base, &place).expect("a patch");
    apply_to_files(&repository, worktree.path(), b"--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+c\n", &place)
        .expect("it applies");
    let publication =
        Publication::prepare(&repository, &base, &capture.diff, Some(&capture.tree), &text(), &place)
            .expect("a commit");
    publication.push(&remote.display().to_string(), "telic/x", Some("main")).expect("a push");
    publication.keep_locally(&repository, "telic/x").expect("a branch");
    worktree.remove(&place).expect("a removal");
    assert_eq!(trap.marks(), Vec::<String>::new());
}

#[test]
fn the_traps_of_these_tests_do_spring_for_an_ordinary_git() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "* filter=evil diff=evil\n");
    fixture.commit("attributes");
    let trap = Trap::new(&fixture);
    poison(&fixture, &trap);
    fixture.write("b.txt", "changed\n");
    // Exit codes do not matter, what ran does.
    for arguments in [
        &["status"][..],
        &["diff"],
        &["checkout", "-q", "HEAD", "--", "b.txt"],
        &["update-ref", "refs/heads/z", "HEAD"],
    ] {
        let run = Command::new("git").args(arguments).current_dir(fixture.root()).output();
        run.expect("git runs");
    }
    let marks = trap.marks();
    for expected in ["core.fsmonitor.mark", "filter.evil.process.mark", "hook-reference-transaction.mark"] {
        assert!(marks.iter().any(|mark| mark == expected), "{expected} is not in {marks:?}");
    }
}

#[test]
fn a_work_tree_named_in_the_configuration_is_not_believed() {
    let fixture = Fixture::new();
    let other = fixture.place();
    fs::create_dir_all(&other).expect("a folder");
    fixture.git(["config", "core.worktree", &other.display().to_string()]);
    assert_eq!(Repository::discover(&fixture.root()).expect_err("refused").code(), "not_a_repository");
}

#[test]
fn a_workspace_whose_git_file_was_exchanged_is_still_compared_with_its_base() {
    let fixture = Fixture::new();
    let worktree = fixture.worktree("w");
    // The agent points its worktree at a repository of its own, where everything looks committed.
    let fake = fixture.place().join("fake");
    fs::create_dir_all(&fake).expect("a folder");
    git_in(&fake, ["init", "--quiet", "."]);
    fs::write(worktree.path().join(".git"), format!("gitdir: {}/.git\n", fake.display())).expect("a file");
    write(worktree.path(), b"a.txt", b"changed\n");
    assert_eq!(told(&worktree.capture(&fixture.repository()).expect("a patch")), ["M a.txt"]);
}

#[test]
fn the_environment_of_the_program_is_scrubbed() {
    // A test cannot set variables of its own process safely, so it looks at what a call hands on.
    let fixture = Fixture::new();
    let script = fixture.root().join("env.sh");
    fs::write(&script, "#!/bin/sh\nenv > \"$1.env\"\n").expect("a file");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
    let call = fixture.repository().call("ls-remote").files().arg("--upload-pack");
    let _ = call.arg(format!("'{}'", script.display())).arg(fixture.root()).run();
    let dumped = fs::read_dir(fixture.folder.path())
        .expect("a folder")
        .chain(fs::read_dir(fixture.root()).expect("a folder"))
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "env"))
        .expect("the program ran");
    let text = fs::read_to_string(dumped).expect("a file");
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let allowed = [
        "PATH",
        "HOME",
        "TMPDIR",
        "USER",
        "LOGNAME",
        "LD_LIBRARY_PATH",
        "DEVELOPER_DIR",
        "SDKROOT",
        "NIX_LD",
        "LC_ALL",
        "LANGUAGE",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    ];
    for name in names {
        assert!(name.starts_with("GIT_") || allowed.contains(&name), "{name} is handed on");
    }
    assert!(text.contains("GIT_CONFIG_GLOBAL=/dev/null"), "{text}");
}

#[test]
fn variables_of_the_environment_that_git_would_follow_are_not() {
    // A process cannot change its own environment safely, so the same tests run again in another one.
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "git::tests::worktrees::base_and_patch_make_the_files_that_were_captured"])
        .args(["git::tests::publishing::publishing_twice_makes_one_branch"])
        .args(["git::tests::facts::a_touched_checkout_is_told_by_path_and_ref"])
        .env("GIT_DIR", "/nonexistent/git-dir")
        .env("GIT_WORK_TREE", "/nonexistent/work-tree")
        .env("GIT_INDEX_FILE", "/nonexistent/index")
        .env("GIT_OBJECT_DIRECTORY", "/nonexistent/objects")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.bare")
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("GIT_CEILING_DIRECTORIES", "/")
        .env("GIT_NAMESPACE", "elsewhere")
        .env("GIT_EXTERNAL_DIFF", "false")
        .env("GIT_DIFF_OPTS", "--unified=0")
        .env("GIT_SSH_COMMAND", "false")
        .env("GIT_TRACE", "1")
        .env("LC_ALL", "de_DE.UTF-8")
        .output()
        .expect("this program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("3 passed"), "{text}");
}
