//! What a run changed, computed by telic from git and never taken from what an agent says (P-2).

use super::ids::{ArtifactId, PatchId, RunId};
use super::time::Timestamp;
use super::words::words;
use crate::protocol::Commit;
use base64::Engine as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// A path inside the repository: bytes, since file names need not be UTF-8 (P-8).
///
/// In JSON it is a string; a name that is no UTF-8 is `{"base64": …}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// A path from the bytes that git gave.
    #[must_use]
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as text, where it is UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The path as text with a replacement for what is no UTF-8; for matching, not for opening files.
    #[must_use]
    pub fn to_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl From<&str> for RepoPath {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl std::fmt::Display for RepoPath {
    /// Shows the path with bytes that are no UTF-8 as `\xNN`; control characters are the screen's matter.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02X}")?;
            }
        }
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PathForm<'a> {
    Text(Cow<'a, str>),
    Bytes { base64: String },
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_str() {
            Some(text) => PathForm::Text(Cow::Borrowed(text)),
            None => PathForm::Bytes { base64: base64::engine::general_purpose::STANDARD.encode(&self.0) },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match PathForm::deserialize(deserializer)? {
            PathForm::Text(text) => Ok(Self(text.into_owned().into_bytes())),
            PathForm::Bytes { base64 } => base64::engine::general_purpose::STANDARD
                .decode(base64)
                .map(Self)
                .map_err(serde::de::Error::custom),
        }
    }
}

words! {
    /// What happened to a file.
    pub enum ChangeType {
        Added = "ADDED",
        Modified = "MODIFIED",
        Deleted = "DELETED",
        Renamed = "RENAMED",
        Copied = "COPIED",
    }
}

words! {
    /// Whether the patch applies to the tip of the base ref.
    pub enum ApplyState {
        Clean = "CLEAN",
        Conflict = "CONFLICT",
        NotChecked = "NOT_CHECKED",
    }
}

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileChange {
    /// The path after the change (before it, for a deletion).
    pub path: RepoPath,
    /// The path before a rename or the source of a copy (P-4).
    pub old_path: Option<RepoPath>,
    /// What happened.
    pub change_type: ChangeType,
    /// Lines added; 0 for a binary file.
    pub additions: u64,
    /// Lines deleted; 0 for a binary file.
    pub deletions: u64,
    /// Mode before, as git writes it (`100644`).
    pub old_mode: Option<String>,
    /// Mode after.
    pub new_mode: Option<String>,
    /// Whether a generated pattern matches.
    pub generated: bool,
    /// Whether git calls it binary.
    pub binary: bool,
    /// Whether it is a lock file.
    pub lockfile: bool,
    /// Whether it is a test.
    pub test_file: bool,
    /// Whether it is a symbolic link, before or after (P-5).
    pub symlink: bool,
    /// Whether it is a submodule, before or after (P-5).
    pub submodule: bool,
    /// Whether a forbidden pattern matches one of its paths.
    pub forbidden_by_policy: bool,
}

/// Sizes of a patch; a function of the diff alone (P-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchStats {
    /// Files changed.
    pub files: u64,
    /// Lines added.
    pub additions: u64,
    /// Lines deleted.
    pub deletions: u64,
}

words! {
    /// Why a path breaks the boundary.
    pub enum PathRule {
        /// No allowed pattern of some layer matches.
        NotAllowed = "not_allowed",
        /// A forbidden pattern matches.
        Forbidden = "forbidden",
        /// A symbolic link points outside the repository (P-5).
        SymlinkOutside = "symlink_outside_repository",
        /// The run changed something outside its workspace (P-9).
        WroteOutside = "wrote_outside_workspace",
        /// A mode without mutation changed something (P-9).
        ReadOnlyMode = "changed_in_read_only_mode",
        /// A name that git could not safely check out, as `.git` in another letter case.
        UnsafeName = "unsafe_name",
    }
}

/// One path that breaks the boundary, and what says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathViolation {
    /// The path.
    pub path: RepoPath,
    /// Why.
    pub rule: PathRule,
    /// The pattern, or what else shows it.
    pub detail: String,
}

/// A size above its limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitViolation {
    /// `max_files` or `max_changed_lines`.
    pub limit: String,
    /// The most that is allowed.
    pub allowed: u64,
    /// What the patch has.
    pub actual: u64,
}

/// Whether a patch stays within what it may touch (P-6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoundaryCheck {
    /// Whether nothing below was found.
    pub passed: bool,
    /// Paths that no layer's allowed patterns cover.
    pub allowed_path_violations: Vec<PathViolation>,
    /// Paths that are forbidden.
    pub forbidden_path_violations: Vec<PathViolation>,
    /// Generated files that changed although they may not.
    pub unexpected_generated_files: Vec<RepoPath>,
    /// Lock files that changed although they may not.
    pub unexpected_lockfile_changes: Vec<RepoPath>,
    /// Sizes above their limits.
    pub limit_violations: Vec<LimitViolation>,
}

/// Whether the patch applies, and to which commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApplyStatus {
    /// Whether it applies.
    pub state: ApplyState,
    /// The tip of the base ref at that moment.
    pub tip: Option<Commit>,
    /// By how many commits the base ref moved since the base commit (P-10).
    pub base_moved_by: u64,
}

/// A place in the patch where a secret was found (P-11); the value is masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretHit {
    /// The file.
    pub path: RepoPath,
    /// The line after the change.
    pub line: Option<u64>,
    /// What kind of secret, and its masked value.
    pub description: String,
}

/// What a run changed (P-1: against its base commit).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Patch {
    /// Its id.
    pub id: PatchId,
    /// The run.
    pub run_id: RunId,
    /// The commit it is measured against.
    pub base_commit: Commit,
    /// The diff.
    pub unified_diff_artifact: ArtifactId,
    /// The files, in the diff's order.
    pub file_changes: Vec<FileChange>,
    /// Its sizes.
    pub stats: PatchStats,
    /// Whether it stays within its bounds.
    pub boundary_check: BoundaryCheck,
    /// Whether it applies.
    pub apply_status: ApplyStatus,
    /// Files that decide what verification means (P-12), tests that were removed or skipped among them.
    pub touches_verification: Vec<RepoPath>,
    /// Changes that no WorkResult claims (P-13).
    pub undeclared_changes: Vec<RepoPath>,
    /// Claimed changes that are not there (P-13).
    pub missing_changes: Vec<RepoPath>,
    /// Secrets in added lines (P-11).
    pub secrets: Vec<SecretHit>,
    /// When it was computed.
    pub created_at: Timestamp,
}
