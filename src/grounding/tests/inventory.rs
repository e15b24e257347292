//! What is listed, and where from.

use super::*;
use crate::grounding::GroundingError;
use std::os::unix::ffi::OsStrExt as _;

#[test]
fn ignored_files_do_not_exist_but_tracked_and_new_ones_do() {
    let place = Place::git();
    place.write(".gitignore", "*.log\nlocal/\n").write("kept.log", "tracked although ignored\n");
    place.run(["add", "-f", "kept.log", ".gitignore"]).run(["commit", "-q", "-m", "x"]);
    place.write("a.log", "ignored\n").write("local/x.txt", "ignored\n").write("new.txt", "new\n");
    place.write("target/out.txt", "a tracked target stays visible\n");
    let grounding = place.ground();
    assert_eq!(selected(&grounding), [".gitignore", "kept.log", "new.txt", "target/out.txt"]);
    assert_eq!(excluded(&grounding), counts([]));
    assert_eq!(source(&grounding), "git");
    assert!(grounding.warnings.is_empty());
}

#[test]
fn a_subdirectory_grounds_the_whole_repository() {
    let place = Place::git();
    place.write("a.txt", "a\n").write("sub/b.txt", "b\n").commit();
    let mut input = place.input();
    input.repository_root = place.root.join("sub");
    input.active_paths = vec![place.root.join("sub/b.txt").to_str().unwrap().to_owned()];
    let grounding = ground(&input).unwrap();
    assert_eq!(selected(&grounding), ["sub/b.txt", "a.txt"]);
    assert_eq!(grounding.pinned_refs, ["repo://sub/b.txt"]);
}

#[test]
fn nested_repositories_submodules_and_strange_names_are_counted() {
    let place = Place::git();
    place.write("a.txt", "a\n").commit();
    let other = Place::git();
    other.write("inner.txt", "inner\n").commit();
    run_git(
        &place.root,
        &[OsStr::new("submodule"), "add".as_ref(), "-q".as_ref(), other.root.as_os_str(), "module".as_ref()],
    );
    place.commit();
    let nested = place.root.join("nested");
    std::fs::create_dir(&nested).unwrap();
    run_git(&nested, &["init", "-q"]);
    std::fs::write(nested.join("x.txt"), "x\n").unwrap();
    run_git(&nested, &["add", "x.txt"]);
    std::fs::write(place.root.join(OsStr::from_bytes(b"bad\xff.txt")), "not UTF-8\n").unwrap();
    let grounding = place.ground();
    assert_eq!(selected(&grounding), [".gitmodules", "a.txt"]);
    assert_eq!(
        excluded(&grounding),
        counts([("invalid_path", 1), ("non_regular_file", 1), ("unreadable_file", 1)])
    );
}

#[test]
fn a_path_with_unresolved_merge_stages_counts_once() {
    let place = Place::git();
    place.write("a.txt", "base\n").commit().run(["checkout", "-q", "-b", "other"]);
    place.write("a.txt", "other\n").commit().run(["checkout", "-q", "main"]);
    place.write("a.txt", "mine\n").commit();
    let mut merge = Command::new("git");
    merge.args(["-c", "user.name=t", "-c", "user.email=t@example.com", "merge", "-q", "other"]);
    assert!(!merge.current_dir(&place.root).output().unwrap().status.success());
    let grounding = place.ground();
    assert_eq!(grounding.manifest["budget"]["candidateFiles"], 1);
    assert_eq!(selected(&grounding), ["a.txt"]);
}

#[test]
fn without_git_files_are_walked_with_two_warnings_and_ignore_files_apply() {
    let place = Place::plain();
    place.write(".gitignore", "*.log\n").write("a.log", "ignored\n").write("a.txt", "a\n");
    place
        .write(".hidden/b.txt", "b\n")
        .write("node_modules/x.js", "x\n")
        .write("target/x.txt", "generated\n");
    place.write("deep/.gitignore", "c.txt\n").write("deep/c.txt", "ignored\n").write("deep/d.txt", "d\n");
    place.write(".ignore", "a.txt\n").link("up", "..");
    let grounding = place.ground();
    assert_eq!(
        selected(&grounding),
        [".gitignore", ".hidden/b.txt", ".ignore", "a.txt", "deep/.gitignore", "deep/d.txt"]
    );
    assert_eq!(excluded(&grounding), counts([("symlink_escape", 1)]));
    assert_ne!(source(&grounding), "git");
    assert_eq!(grounding.warnings.len(), 2);
    assert_eq!(grounding.manifest["repositoryFingerprint"]["headCommit"], Value::Null);
}

#[test]
fn a_repository_that_git_refuses_does_not_show_its_ignored_files() {
    let place = Place::git();
    place.write(".gitignore", "*.log\n").write("a.log", "ignored\n").write("b.txt", "b\n").commit();
    std::fs::write(place.root.join(".git/info/exclude"), "private.txt\n").unwrap();
    place.write("private.txt", "mine\n");
    // Git no longer takes the folder for a repository, as with one of another owner.
    std::fs::remove_file(place.root.join(".git/HEAD")).unwrap();
    let grounding = place.ground();
    assert_eq!(selected(&grounding), [".gitignore", "b.txt"]);
    assert_eq!(grounding.warnings.len(), 2);
}

#[test]
fn root_instructions_and_active_paths_are_added_although_ignored() {
    let place = Place::git();
    place.write(".gitignore", "AGENTS.md\nlocal.txt\nCLAUDE.md\n").write("AGENTS.md", "rules\n");
    place.write("local.txt", "mine\n").write("CLAUDE.md/x.txt", "a directory is no instruction file\n");
    let mut input = place.input();
    input.active_paths = vec!["local.txt".to_owned(), "missing.txt".to_owned(), "./local.txt".to_owned()];
    let grounding = ground(&input).unwrap();
    assert_eq!(selected(&grounding), ["local.txt", "AGENTS.md", ".gitignore"]);
    assert_eq!(excluded(&grounding), counts([("unreadable_file", 1)]));
    assert_eq!(grounding.manifest["budget"]["candidateFiles"], 4);
}

#[test]
fn what_lies_in_an_excluded_root_is_left_out_at_once() {
    let place = Place::git();
    place.write("state/a.txt", "a\n").write("state/AGENTS.md", "a\n").write("stately.txt", "b\n");
    let mut input = place.input();
    input.excluded_roots = vec![place.root.join("state"), place.beside("elsewhere")];
    input.active_paths = vec!["state/a.txt".to_owned()];
    let grounding = ground(&input).unwrap();
    assert_eq!(selected(&grounding), ["stately.txt"]);
    assert_eq!(excluded(&grounding), counts([("excluded_directory", 2)]));
    assert_eq!(grounding.manifest["budget"]["candidateFiles"], 1);

    input.excluded_roots = vec![place.folder.path().to_path_buf()];
    let grounding = ground(&input).unwrap();
    assert!(selected(&grounding).is_empty());
    assert_eq!(excluded(&grounding), counts([("excluded_directory", 3)]));

    input.excluded_roots = vec![PathBuf::from("state")];
    assert_eq!(ground(&input).unwrap_err().code(), "invalid_grounding_input");
}

#[test]
fn a_bad_active_path_is_named_with_the_root_and_the_way_out() {
    let place = Place::git();
    place.write("src/a.txt", "a\n").link("out", place.folder.path());
    let absolute = format!("{}/src/../src/a.txt", place.root.display());
    let outside = place.beside("x").to_str().unwrap().to_owned();
    for (path, good) in [
        ("src/a.txt", true),
        ("./src//a.txt", true),
        ("src", true),
        (absolute.as_str(), true),
        (place.root.to_str().unwrap(), true),
        ("new/file.txt", true),
        ("src/", false),
        ("src/./a.txt", false),
        (".", false),
        ("../x", false),
        ("a\\b", false),
        ("", false),
        ("a\0b", false),
        ("out/x.txt", false),
        ("out", false),
        (outside.as_str(), false),
        ("/", false),
    ] {
        let mut input = place.input();
        input.active_paths = vec![path.to_owned()];
        match ground(&input) {
            Ok(_) => assert!(good, "{path:?} was taken"),
            Err(error) => {
                assert!(!good, "{path:?}: {error}");
                assert_eq!(error.code(), "invalid_active_path");
                let shown = error.to_string();
                assert!(shown.contains(place.root.to_str().unwrap()) && shown.contains(&format!("{path:?}")));
            }
        }
    }
}

#[test]
fn an_active_path_may_name_the_root_through_a_link() {
    let place = Place::git();
    place.write("src/a.txt", "a\n");
    let alias = place.beside("alias");
    std::os::unix::fs::symlink(&place.root, &alias).unwrap();
    let mut input = place.input();
    input.repository_root = alias.clone();
    input.active_paths = vec![alias.join("src/a.txt").to_str().unwrap().to_owned()];
    assert_eq!(ground(&input).unwrap().pinned_refs, ["repo://src/a.txt"]);
}

#[test]
fn the_root_must_be_a_directory() {
    let place = Place::plain();
    place.write("a.txt", "a\n");
    for root in [place.root.join("a.txt"), place.root.join("missing")] {
        let mut input = place.input();
        input.repository_root.clone_from(&root);
        let error = ground(&input).unwrap_err();
        assert!(matches!(error, GroundingError::InvalidRoot { .. }));
        assert!(error.to_string().contains(root.to_str().unwrap()), "{error}");
    }
}

#[test]
fn inputs_beyond_their_limits_are_refused() {
    let place = Place::plain();
    let mut long = place.input();
    long.request = "é".repeat(16_385);
    assert_eq!(ground(&long).unwrap_err().code(), "invalid_grounding_input");
    long.request = "é".repeat(16_384);
    assert!(ground(&long).is_ok());
    let mut many = place.input();
    many.active_paths = vec!["a".to_owned(); 257];
    assert_eq!(ground(&many).unwrap_err().code(), "invalid_grounding_input");
    let mut budget = place.input();
    budget.budget.max_files = 0;
    assert_eq!(ground(&budget).unwrap_err().code(), "invalid_grounding_budget");
}

#[test]
fn an_unreadable_directory_is_counted_and_passed_over() {
    use std::os::unix::fs::PermissionsExt as _;
    if nix::unistd::geteuid().is_root() {
        println!("skipped: root may read every directory");
        return;
    }
    let place = Place::plain();
    place.write("a.txt", "a\n").write("closed/b.txt", "b\n");
    let closed = place.root.join("closed");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    let grounding = place.ground();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(selected(&grounding), ["a.txt"]);
    assert_eq!(excluded(&grounding), counts([("unreadable_file", 1)]));
    assert!(grounding.warnings.last().unwrap().contains("1 directories could not be read"));
}
