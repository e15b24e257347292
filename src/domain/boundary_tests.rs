use super::policy_rules::EffectivePolicy;
use super::samples::{self, change};
use super::*;
use proptest::prelude::*;

fn spec(allowed: &[&[&str]], forbidden: &[&str]) -> PatchBoundary {
    let strings = |patterns: &[&str]| patterns.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>();
    let empty =
        EffectivePolicy::of(&samples::task(), &PolicyFile::default(), &PolicyFile::default()).boundary;
    PatchBoundary {
        allowed: allowed.iter().map(|group| strings(group)).collect(),
        forbidden: [empty.forbidden, strings(forbidden)].concat(),
        generated: strings(&["**/generated/**", "*.pb.go"]),
        ..empty
    }
}

fn boundary(allowed: &[&[&str]], forbidden: &[&str]) -> Boundary {
    Boundary::new(&spec(allowed, forbidden)).unwrap()
}

fn check(boundary: &Boundary, changes: &[FileChange]) -> BoundaryCheck {
    boundary.check(changes, &BoundaryFacts::default(), IntentMode::AnalyzeAndFix)
}

#[test]
fn p_6_forbidden_patterns_catch_everything_below_dot_files_and_other_cases_too() {
    let boundary = boundary(&[], &["infra/**", ".github/**", "secrets", "deploy/", "*.pem"]);
    for path in [
        "infra/prod.yml",
        "infra/.env",
        "infra/.x/y",
        "infra",
        "Infra/prod.yml",
        ".github/workflows/ci.yml",
        ".GITHUB/x",
        "secrets",
        "secrets/a",
        "secrets/.b/c",
        "deploy/x",
        "deploy",
        "key.pem",
        ".pem",
        ".git/config",
        ".telic/policy.toml",
        ".telic",
        "sub/.git/hooks/x",
        ".GIT/config",
        ".git./x",
        "git~1/x",
        ".g\u{200c}it/config",
        "a/../b",
        "",
    ] {
        let checked = check(&boundary, &[change(path)]);
        assert!(!checked.passed && !checked.forbidden_path_violations.is_empty(), "{path:?} was let through");
        assert!(boundary.classify(&change(path)).forbidden_by_policy, "{path:?}");
    }
    for path in [
        "infrastructure/x",
        "src/infra.rs",
        "src/secrets.rs",
        "deployment/x",
        ".gitignore",
        ".gitattributes",
        "a.pem.md",
    ] {
        assert!(check(&boundary, &[change(path)]).passed, "{path:?} was refused");
    }
}

#[test]
fn allowed_patterns_are_strict_about_dot_files_and_every_layer_has_to_allow() {
    let two = boundary(&[&["src/**", "tests/**"], &["**/*.rs"]], &[]);
    for (path, allowed) in
        [("src/a.rs", true), ("src/a.toml", false), ("build.rs", false), ("src/.hidden.rs", false)]
    {
        assert_eq!(two.is_allowed(&path.into()), allowed, "{path}");
    }
    let all = boundary(&[&["**"]], &[]);
    assert!(all.is_allowed(&"src/.env".into()));
    let folder = boundary(&[&["src/"]], &[]);
    assert!(folder.is_allowed(&"src/a/b.rs".into()) && !folder.is_allowed(&"srcx/a.rs".into()));
    let violation = &check(&two, &[change("README.md")]).allowed_path_violations[0];
    assert_eq!(violation.detail, "allowed are src/**, tests/**");
}

#[test]
fn p_4_both_paths_of_a_rename_count_and_the_source_of_a_copy_does_not() {
    let boundary = boundary(&[], &["infra/**"]);
    let mut moved = change("src/prod.yml");
    moved.old_path = Some("infra/prod.yml".into());
    moved.change_type = ChangeType::Renamed;
    assert!(!check(&boundary, &[moved.clone()]).passed);
    moved.change_type = ChangeType::Copied;
    assert!(check(&boundary, &[moved.clone()]).passed);
    (moved.path, moved.old_path) = ("infra/x".into(), Some("src/x".into()));
    moved.change_type = ChangeType::Renamed;
    assert!(!check(&boundary, &[moved]).passed);
}

#[test]
fn p_5_a_link_that_points_outside_is_forbidden() {
    for (path, target, outside) in [
        ("a/link", "../b", false),
        ("a/link", "../../b", true),
        ("link", "..", true),
        ("link", "/etc/passwd", true),
        ("a/b/link", "../../c/./d", false),
        ("a/link", "x/../../../y", true),
        ("link", "a/b/../../c", false),
    ] {
        assert_eq!(leaves_repository(&path.into(), target.as_bytes()), outside, "{path} -> {target}");
    }
    let facts = BoundaryFacts {
        link_targets: vec![("link".into(), b"/etc/passwd".to_vec())],
        ..BoundaryFacts::default()
    };
    let checked = boundary(&[], &[]).check(&[change("link")], &facts, IntentMode::FixOnly);
    assert_eq!(checked.forbidden_path_violations[0].rule, PathRule::SymlinkOutside);
}

#[test]
fn p_9_a_write_outside_the_workspace_breaks_the_boundary() {
    let facts =
        BoundaryFacts { outside_changes: vec!["HEAD".into(), "edited".into()], ..BoundaryFacts::default() };
    let checked = boundary(&[], &[]).check(&[], &facts, IntentMode::FixOnly);
    assert!(!checked.passed);
    let broken: Vec<_> = checked.forbidden_path_violations.iter().map(|v| v.rule).collect();
    assert_eq!(broken, [PathRule::WroteOutside, PathRule::WroteOutside]);
}

#[test]
fn p_9_a_mode_without_mutation_changes_nothing() {
    for mode in IntentMode::ALL {
        let checked = boundary(&[], &[]).check(&[change("src/a.rs")], &BoundaryFacts::default(), *mode);
        assert_eq!(checked.passed, mutates(*mode), "{mode}");
    }
    let checked =
        boundary(&[], &[]).check(&[change("a")], &BoundaryFacts::default(), IntentMode::AnalyzeOnly);
    assert_eq!(checked.forbidden_path_violations[0].rule.as_str(), "changed_in_read_only_mode");
}

#[test]
fn generated_files_lock_files_and_sizes_have_their_own_lists() {
    let mut closed = spec(&[], &[]);
    closed.allow_generated = false;
    closed.allow_lockfiles = false;
    closed.limits = PatchLimits { max_files: 2, max_changed_lines: 5 };
    let changes = [change("src/generated/a.rs"), change("Cargo.lock"), change("x.pb.go")];
    let checked = check(&Boundary::new(&closed).unwrap(), &changes);
    assert_eq!(checked.unexpected_generated_files, ["src/generated/a.rs".into(), "x.pb.go".into()]);
    assert_eq!(checked.unexpected_lockfile_changes, ["Cargo.lock".into()]);
    let limits: Vec<(&str, u64)> =
        checked.limit_violations.iter().map(|v| (v.limit.as_str(), v.actual)).collect();
    assert_eq!(limits, [("max_files", 3), ("max_changed_lines", 9)]);
}

#[test]
fn p_3_sizes_are_a_function_of_the_changes() {
    let changes = [change("a"), change("b")];
    assert_eq!(stats_of(&changes), PatchStats { files: 2, additions: 4, deletions: 2 });
}

#[test]
fn p_8_names_that_are_no_utf_8_are_matched_shown_and_kept() {
    let path = RepoPath::new(b"infra/\xff\n.yml".to_vec());
    assert!(boundary(&[], &["infra/**"]).forbidden_by(&path).is_some());
    assert_eq!(path.to_string(), "infra/\\xFF\n.yml");
    let json = serde_json::to_string(&path).unwrap();
    assert_eq!(serde_json::from_str::<RepoPath>(&json).unwrap(), path);
    assert_eq!(serde_json::to_string(&RepoPath::from("a \"b\"")).unwrap(), r#""a \"b\"""#);
}

proptest! {
    #[test]
    fn nothing_below_a_forbidden_folder_passes(path in "[a-zA-Z.]{1,4}(/[a-zA-Z.]{1,4}){0,3}") {
        let boundary = boundary(&[], &["infra/**"]);
        let changed = change(&format!("infra/{path}"));
        prop_assert!(!check(&boundary, &[changed]).passed);
    }

    #[test]
    fn a_check_passes_only_when_it_lists_nothing(paths in proptest::collection::vec("[a-c.]{1,3}(/[a-c]{1,2}){0,2}", 0..6)) {
        let changes: Vec<FileChange> = paths.iter().map(|path| change(path)).collect();
        let checked = check(&boundary(&[&["a/**", "b"]], &["c"]), &changes);
        let listed = checked.allowed_path_violations.len() + checked.forbidden_path_violations.len()
            + checked.unexpected_generated_files.len() + checked.limit_violations.len();
        prop_assert_eq!(checked.passed, listed == 0);
    }

    #[test]
    fn any_bytes_survive_as_json(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
        let path = RepoPath::new(bytes);
        let json = serde_json::to_string(&path).unwrap();
        prop_assert_eq!(serde_json::from_str::<RepoPath>(&json).unwrap(), path);
    }
}
