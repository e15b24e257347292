//! Whether a patch stays within what it may touch (P-4 to P-6, P-9).
//!
//! Forbidden patterns are read so that nobody is fooled: wildcards match dot files, letter case does not
//! matter, and a pattern that ends in a plain name (`infra`, `infra/`) forbids everything below it too.
//! Allowed patterns are read strictly, by the dialect's own dot rule: `src/**` does not allow `src/.env`,
//! only the bare `**` and a pattern that writes the dot do.

use super::classify::{is_lockfile, is_test_file};
use super::error::DomainError;
use super::glob::{Dots, Glob};
use super::patch::{
    BoundaryCheck, ChangeType, FileChange, LimitViolation, PatchStats, PathRule, PathViolation, RepoPath,
};
use super::policy::PatchBoundary;
use crate::protocol::IntentMode;

/// A forbidden pattern, ready to match.
#[derive(Clone, Debug)]
struct Forbidden {
    pattern: String,
    glob: Glob,
    below: bool,
}

impl Forbidden {
    fn new(pattern: &str) -> Result<Self, DomainError> {
        let folder = pattern.ends_with('/');
        let text = pattern.trim_end_matches('/').to_lowercase();
        let glob = Glob::with_dots(&text, Dots::Free)?;
        let below = folder || glob.names_a_place();
        Ok(Self { pattern: pattern.to_owned(), glob, below })
    }

    fn forbids(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        if self.glob.matches(&path) {
            return true;
        }
        // `x/**` forbids the place itself as well: a link or a file there would stand for all below it.
        let place = self.pattern.strip_suffix("/**").is_some_and(|folder| {
            Glob::with_dots(&folder.to_lowercase(), Dots::Free).is_ok_and(|glob| glob.matches(&path))
        });
        place || (self.below && path.match_indices('/').any(|(at, _)| self.glob.matches(&path[..at])))
    }
}

/// A boundary with its patterns read.
#[derive(Clone, Debug)]
pub struct Boundary {
    allowed: Vec<Vec<(String, Glob)>>,
    forbidden: Vec<Forbidden>,
    generated: Vec<Glob>,
    lockfiles: Vec<Glob>,
    spec: PatchBoundary,
}

/// Facts about a run that are not in its diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundaryFacts {
    /// Symbolic links of the patch, with where they point.
    pub link_targets: Vec<(RepoPath, Vec<u8>)>,
    /// What changed in the user's own checkout while the run lasted (P-9): paths, or `HEAD` and `refs`.
    pub outside_changes: Vec<RepoPath>,
}

impl Boundary {
    /// Reads the patterns of an execution spec.
    ///
    /// # Errors
    /// `pattern_invalid`; a policy that was read has none of these.
    pub fn new(spec: &PatchBoundary) -> Result<Self, DomainError> {
        let read = |patterns: &[String]| {
            patterns
                .iter()
                .map(|pattern| {
                    let folder = pattern.strip_suffix('/').map(|folder| format!("{folder}/**"));
                    Glob::new(folder.as_deref().unwrap_or(pattern))
                })
                .collect::<Result<Vec<Glob>, DomainError>>()
        };
        let allowed = spec
            .allowed
            .iter()
            .map(|group| Ok(group.iter().cloned().zip(read(group)?).collect()))
            .collect::<Result<_, DomainError>>()?;
        Ok(Self {
            allowed,
            forbidden: spec
                .forbidden
                .iter()
                .map(|pattern| Forbidden::new(pattern))
                .collect::<Result<_, _>>()?,
            generated: read(&spec.generated)?,
            lockfiles: read(&spec.lockfiles)?,
            spec: spec.clone(),
        })
    }

    /// The first forbidden pattern that holds for a path.
    #[must_use]
    pub fn forbidden_by(&self, path: &RepoPath) -> Option<&str> {
        let text = path.to_text();
        self.forbidden.iter().find(|forbidden| forbidden.forbids(&text)).map(|f| f.pattern.as_str())
    }

    /// Whether every layer that names allowed patterns allows a path.
    #[must_use]
    pub fn is_allowed(&self, path: &RepoPath) -> bool {
        self.refusing_group(path).is_none()
    }

    fn refusing_group(&self, path: &RepoPath) -> Option<&[(String, Glob)]> {
        let text = path.to_text();
        let allows = |(pattern, glob): &(String, Glob)| pattern == "**" || glob.matches(&text);
        self.allowed.iter().find(|group| !group.iter().any(allows)).map(Vec::as_slice)
    }

    /// Whether a path is generated, by the policy's patterns.
    #[must_use]
    pub fn is_generated(&self, path: &RepoPath) -> bool {
        let text = path.to_text();
        self.generated.iter().any(|glob| glob.matches(&text))
    }

    /// Fills in the flags of a change that follow from its paths alone.
    #[must_use]
    pub fn classify(&self, change: &FileChange) -> FileChange {
        let any = |holds: &dyn Fn(&RepoPath) -> bool| paths_of(change).any(holds);
        FileChange {
            generated: any(&|path| self.is_generated(path)),
            lockfile: any(&|path| is_lockfile(path, &self.lockfiles)),
            test_file: any(&is_test_file),
            forbidden_by_policy: any(&|path| self.forbidden_by(path).is_some() || is_unsafe_name(path)),
            ..change.clone()
        }
    }

    /// Checks a whole patch (P-6). `mode` without mutation makes every change a violation (P-9).
    #[must_use]
    pub fn check(&self, changes: &[FileChange], facts: &BoundaryFacts, mode: IntentMode) -> BoundaryCheck {
        let mut check = BoundaryCheck {
            passed: false,
            allowed_path_violations: Vec::new(),
            forbidden_path_violations: Vec::new(),
            unexpected_generated_files: Vec::new(),
            unexpected_lockfile_changes: Vec::new(),
            limit_violations: self.limit_violations(stats_of(changes)),
        };
        for change in changes {
            // P-4: both paths of a rename count.
            for path in paths_of(change) {
                self.check_path(path, &mut check);
            }
            if !self.spec.allow_generated && paths_of(change).any(|path| self.is_generated(path)) {
                check.unexpected_generated_files.push(change.path.clone());
            }
            if !self.spec.allow_lockfiles && paths_of(change).any(|path| is_lockfile(path, &self.lockfiles)) {
                check.unexpected_lockfile_changes.push(change.path.clone());
            }
            if !mutates(mode) {
                let detail = format!("the mode {mode} changes nothing");
                forbid(&mut check, &change.path, PathRule::ReadOnlyMode, detail);
            }
        }
        for (path, target) in &facts.link_targets {
            if leaves_repository(path, target) {
                let detail = String::from_utf8_lossy(target).into_owned();
                forbid(&mut check, path, PathRule::SymlinkOutside, detail);
            }
        }
        for path in &facts.outside_changes {
            let detail = "changed in the checkout of the repository's owner".to_owned();
            forbid(&mut check, path, PathRule::WroteOutside, detail);
        }
        check.passed = check.allowed_path_violations.is_empty()
            && check.forbidden_path_violations.is_empty()
            && check.unexpected_generated_files.is_empty()
            && check.unexpected_lockfile_changes.is_empty()
            && check.limit_violations.is_empty();
        check
    }

    fn check_path(&self, path: &RepoPath, check: &mut BoundaryCheck) {
        if let Some(pattern) = self.forbidden_by(path) {
            forbid(check, path, PathRule::Forbidden, pattern.to_owned());
        } else if is_unsafe_name(path) {
            let detail = "a name that leads out of the repository or into git's own folder".to_owned();
            forbid(check, path, PathRule::UnsafeName, detail);
        }
        if let Some(group) = self.refusing_group(path) {
            let patterns: Vec<&str> = group.iter().map(|(pattern, _)| pattern.as_str()).collect();
            let detail = format!("allowed are {}", patterns.join(", "));
            let violation = PathViolation { path: path.clone(), rule: PathRule::NotAllowed, detail };
            check.allowed_path_violations.push(violation);
        }
    }

    fn limit_violations(&self, stats: PatchStats) -> Vec<LimitViolation> {
        let limits = self.spec.limits;
        let lines = stats.additions.saturating_add(stats.deletions);
        [("max_files", limits.max_files, stats.files), ("max_changed_lines", limits.max_changed_lines, lines)]
            .into_iter()
            .filter(|(_, allowed, actual)| actual > allowed)
            .map(|(limit, allowed, actual)| LimitViolation { limit: limit.to_owned(), allowed, actual })
            .collect()
    }
}

fn forbid(check: &mut BoundaryCheck, path: &RepoPath, rule: PathRule, detail: String) {
    check.forbidden_path_violations.push(PathViolation { path: path.clone(), rule, detail });
}

/// The paths of a change that the boundary looks at: the source of a copy stays as it was, so it is none.
fn paths_of(change: &FileChange) -> impl Iterator<Item = &RepoPath> {
    let old = change.old_path.as_ref().filter(|_| change.change_type != ChangeType::Copied);
    std::iter::once(&change.path).chain(old)
}

/// Sizes of a patch (P-3).
#[must_use]
pub fn stats_of(changes: &[FileChange]) -> PatchStats {
    PatchStats {
        files: u64::try_from(changes.len()).unwrap_or(u64::MAX),
        additions: changes.iter().map(|change| change.additions).sum(),
        deletions: changes.iter().map(|change| change.deletions).sum(),
    }
}

/// Whether runs of a mode may change files.
#[must_use]
pub fn mutates(mode: IntentMode) -> bool {
    matches!(mode, IntentMode::FixOnly | IntentMode::AnalyzeAndFix)
}

/// Whether a name leads out of the repository or, on some file system, into `.git`.
fn is_unsafe_name(path: &RepoPath) -> bool {
    let bytes = path.as_bytes();
    bytes.is_empty()
        || bytes.starts_with(b"/")
        || bytes
            .split(|byte| *byte == b'/')
            .any(|segment| segment.is_empty() || segment == b"." || segment == b".." || is_git_name(segment))
}

/// Whether a file system that ignores case, trailing dots and spaces or invisible characters takes a name for
/// `.git`.
fn is_git_name(segment: &[u8]) -> bool {
    let text = String::from_utf8_lossy(segment);
    let plain: String = text
        .chars()
        .filter(|c| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'))
        .collect();
    let name = plain.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']).to_lowercase();
    name == ".git" || name == "git~1"
}

/// Whether a symbolic link at `path` points outside the repository (P-5), read as text from the link's folder.
#[must_use]
pub fn leaves_repository(path: &RepoPath, target: &[u8]) -> bool {
    if target.starts_with(b"/") {
        return true;
    }
    let slashes = path.as_bytes().iter().filter(|byte| **byte == b'/').count();
    let mut depth = i64::try_from(slashes).unwrap_or(i64::MAX);
    for segment in target.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}
