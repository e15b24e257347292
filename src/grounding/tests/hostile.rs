//! Repositories and environments that want something executed, or something else grounded.

use super::*;
use crate::grounding::Watch;
use crate::grounding::root::{Refusal, Root};
use std::os::unix::fs::PermissionsExt as _;

/// A program that leaves a mark and passes its input on.
fn program(place: &Place, name: &str) -> (PathBuf, PathBuf) {
    let (program, mark) = (place.beside(name), place.beside(&format!("{name}.mark")));
    std::fs::write(&program, format!("#!/bin/sh\ntouch '{}'\ncat\n", mark.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (program, mark)
}

/// Makes Git compare contents: same size, other bytes, a time that tells nothing.
fn touch(root: &Path, path: &str, content: &str) {
    std::fs::write(root.join(path), content).unwrap();
    let file = std::fs::File::options().write(true).open(root.join(path)).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000)).unwrap();
}

#[test]
fn clean_filters_and_monitors_of_the_repository_are_not_executed() {
    let place = Place::git();
    place.write("a.txt", "one\n").write("b.bin", "one\n").commit();
    let (clean, clean_mark) = program(&place, "clean");
    let (process, process_mark) = program(&place, "process");
    let (monitor, monitor_mark) = program(&place, "monitor");
    place.write(".gitattributes", "*.txt filter=a=b\n*.bin filter=long\n");
    place.run(["config", "filter.a=b.clean", clean.to_str().unwrap()]);
    place.run(["config", "filter.a=b.required", "true"]);
    place.run(["config", "filter.long.process", process.to_str().unwrap()]);
    place.run(["config", "core.fsmonitor", monitor.to_str().unwrap()]);
    touch(&place.root, "a.txt", "two\n");
    touch(&place.root, "b.bin", "two\n");
    let grounding = place.ground();
    assert_eq!(source(&grounding), "git");
    assert!(grounding.warnings.is_empty(), "{:?}", grounding.warnings);
    for mark in [&clean_mark, &process_mark, &monitor_mark] {
        assert!(!mark.exists(), "{} was executed", mark.display());
    }
    // The trap works: an ordinary status executes them.
    let _ = Command::new("git").arg("-C").arg(&place.root).arg("status").output().unwrap();
    assert!(clean_mark.exists() && process_mark.exists() && monitor_mark.exists());
}

#[test]
fn filters_of_a_submodule_are_not_executed() {
    let other = Place::git();
    other.write("inner.txt", "one\n").commit();
    let place = Place::git();
    place.write("a.txt", "a\n");
    run_git(
        &place.root,
        &[OsStr::new("submodule"), "add".as_ref(), "-q".as_ref(), other.root.as_os_str(), "module".as_ref()],
    );
    place.commit();
    let (clean, mark) = program(&place, "clean");
    let module = place.root.join("module");
    std::fs::write(module.join(".gitattributes"), "*.txt filter=evil\n").unwrap();
    run_git(&module, &["config", "filter.evil.clean", clean.to_str().unwrap()]);
    touch(&module, "inner.txt", "two\n");
    assert_eq!(place.ground().warnings, Vec::<String>::new());
    assert!(!mark.exists());
    let _ = Command::new("git").arg("-C").arg(&place.root).arg("status").output().unwrap();
    assert!(mark.exists(), "the trap does not work");
}

/// Runs one test of this file again in a child with other variables, for those of this process are shared.
fn again_with(test: &str, variables: &[(&str, &OsStr)]) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("grounding::tests::hostile::{test}"), "--nocapture"])
        .env("GROUNDING_TEST_CHILD", "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
}

#[test]
fn variables_that_name_another_repository_are_ignored() {
    const TEST: &str = "variables_that_name_another_repository_are_ignored";
    if let Some(root) = std::env::var_os("GROUNDED_ROOT") {
        let input = GroundingInput::new("run-1", PathBuf::from(root), "look");
        assert_eq!(selected(&ground(&input).unwrap()), ["mine.txt"]);
        return;
    }
    let (place, other) = (Place::git(), Place::git());
    place.write("mine.txt", "mine\n").commit();
    other.write("other.txt", "other\n").commit();
    let (git, index) = (other.root.join(".git"), other.root.join(".git/index"));
    again_with(
        TEST,
        &[
            ("GROUNDED_ROOT", place.root.as_os_str()),
            ("GIT_DIR", git.as_os_str()),
            ("GIT_WORK_TREE", other.root.as_os_str()),
            ("GIT_INDEX_FILE", index.as_os_str()),
        ],
    );
}

#[test]
fn a_work_tree_configured_elsewhere_does_not_move_the_root() {
    let (place, other) = (Place::git(), Place::git());
    place.write("mine.txt", "mine\n").commit();
    other.write("other.txt", "other\n").commit();
    place.run(["config", "core.worktree", other.root.to_str().unwrap()]);
    assert_eq!(selected(&place.ground()), ["mine.txt"]);
}

#[test]
fn a_component_that_became_a_link_is_not_followed() {
    let place = Place::plain();
    place.write("dir/a.txt", "a\n").write("other/a.txt", "other\n");
    let root = Root::find(&place.root, &[], &Watch::default()).unwrap();
    let resolved = root.resolve("dir/a.txt").unwrap();
    assert!(root.open(&resolved).is_ok());
    // Someone swaps the directory, then the file, between check and use.
    std::fs::rename(place.root.join("dir"), place.root.join("gone")).unwrap();
    place.link("dir", "other");
    assert_eq!(root.open(&resolved).unwrap_err(), Refusal::Unreadable);
    std::fs::remove_file(place.root.join("dir")).unwrap();
    std::fs::create_dir(place.root.join("dir")).unwrap();
    place.link("dir/a.txt", "../other/a.txt");
    assert_eq!(root.open(&resolved).unwrap_err(), Refusal::Unreadable);
}

#[test]
fn ripgrep_takes_over_from_git_and_the_walk_from_ripgrep() {
    const TEST: &str = "ripgrep_takes_over_from_git_and_the_walk_from_ripgrep";
    if let Some(root) = std::env::var_os("GROUNDED_ROOT") {
        let expected = std::env::var("GROUNDED_SOURCE").unwrap();
        let grounding = ground(&GroundingInput::new("run-1", PathBuf::from(root), "look")).unwrap();
        assert_eq!(source(&grounding), expected);
        assert_eq!(selected(&grounding), ["a.txt"]);
        assert_eq!(grounding.warnings.len(), 2);
        return;
    }
    let place = Place::plain();
    place.write("a.txt", "a\n");
    let script = |name: &str, text: &str| {
        let folder = place.beside("bin");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
        folder
    };
    script("git", "exit 128");
    // What ripgrep prints is checked like any other list.
    let listing = "printf 'a.txt\\0node_modules/x.js\\0../b.txt\\0'; exit";
    for (code, expected) in [(0, "ripgrep"), (2, "filesystem")] {
        let folder = script("rg", &format!("{listing} {code}"));
        let path = format!("{}:/usr/bin:/bin", folder.display());
        let variables = [
            ("GROUNDED_ROOT", place.root.as_os_str()),
            ("GROUNDED_SOURCE", OsStr::new(expected)),
            ("PATH", OsStr::new(&path)),
        ];
        again_with(TEST, &variables);
    }
}
