//! What kind of file a path is: lock file, generated, test, or something that decides what verification means.

use super::glob::Glob;
use super::patch::{ChangeType, FileChange, RepoPath};

/// Lock files by name; a policy adds patterns.
const LOCKFILES: &[&str] = &[
    "Cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "poetry.lock",
    "Pipfile.lock",
    "uv.lock",
    "pdm.lock",
    "Gemfile.lock",
    "composer.lock",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "mix.lock",
    "pubspec.lock",
    "Podfile.lock",
    "Package.resolved",
    "packages.lock.json",
    "flake.lock",
    "conan.lock",
    "Cartfile.resolved",
    ".terraform.lock.hcl",
];

/// Folders that hold tests.
const TEST_FOLDERS: &[&str] = &["test", "tests", "__tests__", "spec", "specs", "testdata", "testing", "e2e"];

/// Names of files that configure builds and tests.
const BUILD_FILES: &[&str] = &[
    "Cargo.toml",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "clippy.toml",
    ".clippy.toml",
    "package.json",
    ".npmrc",
    ".yarnrc.yml",
    "deno.json",
    "tsconfig.json",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "gradlew",
    "mvnw",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "CMakeLists.txt",
    "meson.build",
    "justfile",
    "Justfile",
    "Taskfile.yml",
    "Rakefile",
    "Gemfile",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "noxfile.py",
    "pytest.ini",
    ".pytest.ini",
    "conftest.py",
    "requirements.txt",
    "go.mod",
    "go.work",
    "phpunit.xml",
    "phpunit.xml.dist",
    "composer.json",
    "mix.exs",
    "build.sbt",
    "BUILD",
    "BUILD.bazel",
    "WORKSPACE",
    "MODULE.bazel",
    ".bazelrc",
    "Dockerfile",
    "docker-compose.yml",
    "compose.yaml",
    "karma.conf.js",
    ".mocharc.json",
    ".mocharc.yml",
    ".nycrc",
    ".coveragerc",
    "codecov.yml",
    ".codecov.yml",
    "nextest.toml",
];

/// Beginnings of such names, before the last extension.
const BUILD_STEMS: &[&str] = &[
    "jest.config",
    "vitest.config",
    "vite.config",
    "webpack.config",
    "babel.config",
    "playwright.config",
    "cypress.config",
    "eslint.config",
    ".eslintrc",
    "tsconfig",
];

/// Places of continuous integration and of telic itself; a folder ends in `/`.
const CI_PLACES: &[&str] = &[
    ".github/",
    ".gitlab/",
    ".gitlab-ci.yml",
    ".circleci/",
    ".buildkite/",
    ".travis.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".drone.yml",
    "appveyor.yml",
    ".woodpecker/",
    ".woodpecker.yml",
    ".ci/",
    ".telic/",
    ".cargo/",
    ".config/nextest.toml",
    ".mvn/",
    ".githooks/",
    ".husky/",
];

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a path is a lock file: by name, or by a pattern of the policy.
#[must_use]
pub fn is_lockfile(path: &RepoPath, patterns: &[Glob]) -> bool {
    let text = path.to_text();
    LOCKFILES.contains(&base_name(&text)) || patterns.iter().any(|glob| glob.matches(&text))
}

/// Whether a path is a test, by the customs of the common languages.
#[must_use]
pub fn is_test_file(path: &RepoPath) -> bool {
    let text = path.to_text();
    let name = base_name(&text);
    let folders = text.len() - name.len();
    if text[..folders].split('/').any(|folder| TEST_FOLDERS.contains(&folder)) {
        return true;
    }
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    match extension {
        "py" => stem.starts_with("test_") || stem.ends_with("_test") || stem == "conftest",
        "go" => stem.ends_with("_test"),
        "rs" => stem == "tests" || stem.ends_with("_test") || stem.ends_with("_tests"),
        "java" | "kt" | "scala" | "groovy" | "cs" => {
            ["Test", "Tests", "IT", "Spec"].iter().any(|end| stem.ends_with(end))
        }
        "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" => {
            [".test", ".spec", ".cy", ".e2e"].iter().any(|end| stem.ends_with(end))
        }
        "rb" | "exs" | "php" | "dart" | "c" | "cc" | "cpp" | "swift" => {
            ["_test", "_spec", "Test", "Tests"].iter().any(|end| stem.ends_with(end))
                || stem.starts_with("test_")
        }
        _ => false,
    }
}

/// Whether a path decides what verification means (P-12): build, test and CI configuration, the policy, and
/// files that a planned command names.
#[must_use]
pub fn decides_verification(path: &RepoPath, commands: &[&str]) -> bool {
    let text = path.to_text();
    let name = base_name(&text);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if BUILD_FILES.contains(&name)
        || BUILD_STEMS
            .iter()
            .any(|known| stem == *known || name == *known || stem.starts_with(&format!("{known}.")))
        || (name.starts_with("requirements") && name.ends_with(".txt"))
    {
        return true;
    }
    let lower = text.to_lowercase();
    let in_place = |place: &&str| {
        let place = place.to_lowercase();
        if place.ends_with('/') { lower.starts_with(&place) } else { lower == place }
    };
    CI_PLACES.iter().any(in_place) || commands.iter().any(|command| names_path(command, &text))
}

/// Whether a word of a command is this path, as in `./ci/test.sh --all`.
fn names_path(command: &str, path: &str) -> bool {
    command.split_whitespace().any(|word| {
        let word = word.trim_matches(['"', '\'']);
        word.strip_prefix("./").unwrap_or(word) == path
    })
}

/// What a patch did to the tests of one file, counted over its added and removed lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestEdits {
    /// Tests that are gone without another in their place.
    pub removed: u64,
    /// Marks that make tests be skipped, beyond those that went.
    pub skipped: u64,
}

/// Beginnings of lines that declare a test.
const TEST_MARKS: &[&str] = &[
    "#[test]",
    "#[tokio::test",
    "#[rstest",
    "def test_",
    "async def test_",
    "@Test",
    "@ParameterizedTest",
    "func Test",
    "it(",
    "test(",
    "it.each",
    "test.each",
    "[Fact",
    "[Theory",
    "[Test]",
    "[TestMethod",
    "TEST(",
    "TEST_F(",
];

/// Beginnings of lines that make a test be skipped.
const SKIP_MARKS: &[&str] = &[
    "#[ignore",
    "@pytest.mark.skip",
    "@pytest.mark.xfail",
    "@unittest.skip",
    "pytest.skip(",
    "self.skipTest(",
    "@Disabled",
    "@Ignore",
    "t.Skip(",
    "t.SkipNow(",
    "t.Skipf(",
    "it.skip",
    "test.skip",
    "describe.skip",
    "xit(",
    "xtest(",
    "xdescribe(",
    "it.todo",
    "test.todo",
    "it.only",
    "test.only",
    "describe.only",
    "fit(",
    "fdescribe(",
    "[Ignore",
    "GTEST_SKIP(",
    "this.skip(",
];

/// Counts what a file's added and removed lines do to its tests (P-12). Lines come without their `+` and `-`.
#[must_use]
pub fn test_edits<'a>(
    added: impl IntoIterator<Item = &'a str>,
    removed: impl IntoIterator<Item = &'a str>,
) -> TestEdits {
    let (added_tests, added_skips) = count_marks(added);
    let (removed_tests, removed_skips) = count_marks(removed);
    TestEdits {
        removed: removed_tests.saturating_sub(added_tests),
        skipped: added_skips.saturating_sub(removed_skips),
    }
}

fn count_marks<'a>(lines: impl IntoIterator<Item = &'a str>) -> (u64, u64) {
    let (mut tests, mut skips) = (0, 0);
    for line in lines {
        let line = line.trim_start();
        let line = line.strip_prefix("export ").unwrap_or(line);
        tests += u64::from(TEST_MARKS.iter().any(|mark| line.starts_with(mark)));
        skips += u64::from(SKIP_MARKS.iter().any(|mark| line.starts_with(mark)));
    }
    (tests, skips)
}

/// The files of a patch that decide what verification means (P-12), in the patch's order: configuration, deleted
/// tests, and the files whose lines `edits` says lost or skipped tests.
#[must_use]
pub fn touches_verification(
    changes: &[FileChange],
    commands: &[&str],
    edits: &[(RepoPath, TestEdits)],
) -> Vec<RepoPath> {
    let mut touched: Vec<RepoPath> = Vec::new();
    for change in changes {
        let old = change.old_path.as_ref().filter(|_| change.change_type != ChangeType::Copied);
        let paths = [Some(&change.path), old];
        let decides = paths.iter().flatten().any(|path| decides_verification(path, commands));
        let gone = change.change_type == ChangeType::Deleted && is_test_file(&change.path);
        let moved_out = old.is_some_and(is_test_file) && !is_test_file(&change.path);
        let edited = edits.iter().any(|(path, edit)| *path == change.path && *edit != TestEdits::default());
        if decides || gone || moved_out || edited {
            touched.push(change.path.clone());
        }
    }
    touched
}

/// The difference between what WorkResults claim to have changed and what changed (P-13): first what nobody
/// claimed, then what was claimed and is not there. Either path of a rename answers a claim.
#[must_use]
pub fn claimed_and_real(claimed: &[RepoPath], changes: &[FileChange]) -> (Vec<RepoPath>, Vec<RepoPath>) {
    let undeclared =
        changes.iter().map(|change| &change.path).filter(|path| !claimed.contains(path)).cloned().collect();
    let real = |path: &&RepoPath| {
        changes.iter().any(|change| change.path == **path || change.old_path.as_ref() == Some(*path))
    };
    let mut missing: Vec<RepoPath> = claimed.iter().filter(|path| !real(path)).cloned().collect();
    missing.sort();
    missing.dedup();
    (undeclared, missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::samples::change;

    #[test]
    fn lock_files_are_known_by_name_and_by_pattern() {
        let patterns = [Glob::new("deps/*.pin").unwrap()];
        for (path, expected) in [
            ("Cargo.lock", true),
            ("web/package-lock.json", true),
            ("go.sum", true),
            ("deps/a.pin", true),
            ("Cargo.lock.md", false),
            ("src/lock.rs", false),
            ("go.mod", false),
        ] {
            assert_eq!(is_lockfile(&path.into(), &patterns), expected, "{path}");
        }
    }

    #[test]
    fn tests_are_known_by_folder_and_by_name() {
        for path in [
            "tests/cart.rs",
            "src/cart_test.go",
            "test_cart.py",
            "src/CartTest.java",
            "web/cart.test.ts",
            "web/__tests__/cart.ts",
            "spec/cart_spec.rb",
            "src/cart/tests.rs",
        ] {
            assert!(is_test_file(&path.into()), "{path}");
        }
        for path in
            ["src/contest.rs", "src/latest.py", "src/attestation.go", "src/Testament.java", "testimony.ts"]
        {
            assert!(!is_test_file(&path.into()), "{path}");
        }
    }

    #[test]
    fn p_12_what_verification_runs_is_known() {
        for path in [
            ".telic/policy.toml",
            ".github/workflows/ci.yml",
            ".GitHub/workflows/ci.yml",
            "Cargo.toml",
            "web/jest.config.ts",
            "tsconfig.build.json",
            "pom.xml",
            "sub/pom.xml",
            "conftest.py",
            "ci/run.sh",
            "requirements-dev.txt",
        ] {
            assert!(decides_verification(&path.into(), &["./ci/run.sh --all"]), "{path}");
        }
        for path in ["src/main.rs", "ci/other.sh", "docs/Cargo.md", "github/x.yml", "src/tsconfigs.rs"] {
            assert!(!decides_verification(&path.into(), &["./ci/run.sh --all"]), "{path}");
        }
    }

    #[test]
    fn p_12_removed_and_skipped_tests_are_counted_and_moved_ones_are_not() {
        let removed = test_edits(["fn helper() {}"], ["    #[test]", "    fn a() {}"]);
        assert_eq!(removed, TestEdits { removed: 1, skipped: 0 });
        let renamed = test_edits(["def test_b():"], ["def test_a():"]);
        assert_eq!(renamed, TestEdits::default());
        let skipped = test_edits(["  it.skip('adds', () => {"], ["  it('adds', () => {"]);
        assert_eq!(skipped, TestEdits { removed: 1, skipped: 1 });
        assert_eq!(test_edits(["@pytest.mark.skip(reason='x')"], []).skipped, 1);
        assert_eq!(test_edits([], ["#[ignore]"]).skipped, 0);
    }

    #[test]
    fn p_12_deleted_and_moved_out_tests_touch_verification() {
        let mut moved = change("src/cart.rs");
        (moved.change_type, moved.old_path) = (ChangeType::Renamed, Some("tests/cart.rs".into()));
        let mut gone = change("tests/gone.rs");
        gone.change_type = ChangeType::Deleted;
        let changes = [change("src/a.rs"), change("tests/kept.rs"), moved, gone, change("tests/edited.rs")];
        let edits = [("tests/edited.rs".into(), TestEdits { removed: 1, skipped: 0 })];
        let touched = touches_verification(&changes, &[], &edits);
        assert_eq!(touched, ["src/cart.rs".into(), "tests/gone.rs".into(), "tests/edited.rs".into()]);
    }

    #[test]
    fn p_13_claims_and_changes_are_compared_both_ways() {
        let mut moved = change("b.rs");
        (moved.change_type, moved.old_path) = (ChangeType::Renamed, Some("a.rs".into()));
        let changes = [change("x.rs"), moved];
        let claimed: Vec<RepoPath> = ["a.rs", "b.rs", "y.rs", "y.rs"].iter().map(|p| (*p).into()).collect();
        let (undeclared, missing) = claimed_and_real(&claimed, &changes);
        assert_eq!((undeclared, missing), (vec!["x.rs".into()], vec!["y.rs".into()]));
    }
}
