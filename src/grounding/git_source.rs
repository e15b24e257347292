//! The few questions that grounding asks Git (`grounding.md` 2, 3.1, 8), so that nothing that the repository or the
//! caller's environment configures is executed (10.3, 10.4).

use super::error::GroundingError;
use super::process::{self, Failure};
use super::watch::Watch;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const ROOT_LIMIT: Duration = Duration::from_secs(10);
const LIST_LIMIT: Duration = Duration::from_secs(30);

type Answer<T> = Result<Result<T, Failure>, GroundingError>;

/// The variables every child is started with, beside the caller's that are not Git's.
pub(super) fn environment() -> Vec<(OsString, OsString)> {
    [
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("LC_ALL", "C"),
        ("RIPGREP_CONFIG_PATH", "/dev/null"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .to_vec()
}

/// Configuration that wins over the repository's own.
const SETTINGS: [&str; 3] = ["core.fsmonitor=false", "core.hooksPath=/dev/null", "protocol.allow=never"];

fn git(
    root: &Path,
    arguments: &[&str],
    environment: &[(OsString, OsString)],
    limit: Duration,
    watch: &Watch,
) -> Answer<Vec<u8>> {
    let mut all: Vec<OsString> = Vec::new();
    for setting in SETTINGS {
        all.extend(["-c".into(), setting.into()]);
    }
    all.extend(["-C".into(), root.into()]);
    all.extend(arguments.iter().map(Into::into));
    process::run(OsStr::new("git"), &all, root, environment, limit, watch)
}

/// The top level of the work tree that contains `directory`.
pub(super) fn top_level(directory: &Path, watch: &Watch) -> Answer<PathBuf> {
    let arguments = ["rev-parse", "--show-toplevel"];
    let answer = git(directory, &arguments, &environment(), ROOT_LIMIT, watch)?;
    Ok(answer.map(|mut output| {
        if output.last() == Some(&b'\n') {
            output.pop();
        }
        PathBuf::from(OsString::from_vec(output))
    }))
}

/// Tracked files, and untracked ones that are not ignored, separated by NUL.
pub(super) fn list(root: &Path, watch: &Watch) -> Answer<Vec<u8>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    git(root, &arguments, &environment(), LIST_LIMIT, watch)
}

/// The raw status of the work tree.
///
/// Comparing a file may run the clean filter that the repository names for it, so every filter that is
/// configured is emptied first; submodules are compared by their commit only, for their configuration is
/// another.
pub(super) fn status(root: &Path, watch: &Watch) -> Answer<Vec<u8>> {
    let mut environment = environment();
    let filters = match filters(root, watch)? {
        Ok(filters) => filters,
        Err(failure) => return Ok(Err(failure)),
    };
    environment.push(("GIT_CONFIG_COUNT".into(), filters.len().to_string().into()));
    for (at, key) in filters.into_iter().enumerate() {
        let value = if key.as_encoded_bytes().ends_with(b".required") { "false" } else { "" };
        environment.push((format!("GIT_CONFIG_KEY_{at}").into(), key));
        environment.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
    }
    let arguments = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty"];
    git(root, &arguments, &environment, LIST_LIMIT, watch)
}

/// The keys of all filter drivers that run something. A name may be any bytes.
fn filters(root: &Path, watch: &Watch) -> Answer<Vec<OsString>> {
    const ENDINGS: [&[u8]; 4] = [b".clean", b".smudge", b".process", b".required"];
    let arguments = ["config", "--null", "--name-only", "--list"];
    let answer = git(root, &arguments, &environment(), ROOT_LIMIT, watch)?;
    Ok(answer.map(|output| {
        let mut keys: Vec<OsString> = output
            .split(|byte| *byte == 0)
            .filter(|key| key.starts_with(b"filter.") && ENDINGS.iter().any(|ending| key.ends_with(ending)))
            .map(|key| OsString::from_vec(key.to_vec()))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }))
}

/// The commit of HEAD, or nothing when there is none yet.
pub(super) fn head(root: &Path, watch: &Watch) -> Result<Option<String>, GroundingError> {
    let arguments = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
    let answer = git(root, &arguments, &environment(), ROOT_LIMIT, watch)?;
    Ok(answer.ok().and_then(|output| {
        let commit = String::from_utf8(output).ok()?.trim_end().to_owned();
        let hex = commit.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        (hex && (40..=64).contains(&commit.len())).then_some(commit)
    }))
}
