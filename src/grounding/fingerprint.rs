//! The state of the repository in one digest (`grounding.md` 8).

use super::error::GroundingError;
use super::git_source;
use super::paths::utf16_order;
use super::root::Root;
use super::select::{Candidates, Selection};
use super::watch::Watch;
use crate::store::Digest;
use std::collections::HashMap;

/// What the files were grounded against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    pub(super) head: Option<String>,
    pub(super) worktree: Digest,
    /// Whether Git told its status.
    pub(super) from_git: bool,
}

/// Asks Git after the selection, or takes the digests alone. Git is not asked when it did not answer before.
pub(super) fn take(
    root: &Root,
    candidates: &Candidates,
    selection: &Selection,
    git_answers: bool,
    watch: &Watch,
) -> Result<Fingerprint, GroundingError> {
    if git_answers && let Ok(status) = git_source::status(&root.path, watch)? {
        let head = git_source::head(&root.path, watch)?;
        return Ok(Fingerprint { head, worktree: with_status(&status, &selection.digests), from_git: true });
    }
    let worktree = without_status(&candidates.listed, &selection.digests);
    Ok(Fingerprint { head: None, worktree, from_git: false })
}

/// The raw status, then path and digest of each file that was read, in UTF-16 order, separated by NUL.
fn with_status(status: &[u8], digests: &[(String, Digest)]) -> Digest {
    let mut digests: Vec<&(String, Digest)> = digests.iter().collect();
    digests.sort_unstable_by(|a, b| utf16_order(&a.0, &b.0));
    let entries: Vec<String> = digests.iter().map(|(path, digest)| format!("{path}\0{digest}")).collect();
    Digest::of(&[status, entries.join("\0").as_bytes()].concat())
}

/// Path and digest, or `unread`, of each listed path, separated by NUL. `listed` is in UTF-16 order.
fn without_status(listed: &[String], digests: &[(String, Digest)]) -> Digest {
    let known: HashMap<&str, &Digest> =
        digests.iter().map(|(path, digest)| (path.as_str(), digest)).collect();
    let entries: Vec<String> = listed
        .iter()
        .map(|path| match known.get(path.as_str()) {
            Some(digest) => format!("{path}\0{digest}"),
            None => format!("{path}\0unread"),
        })
        .collect();
    Digest::of(entries.join("\0").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_examples_have_their_digests() {
        let alpha = ("a.txt".to_owned(), Digest::of(b"alpha\n"));
        let beta = ("b.txt".to_owned(), Digest::of(b"beta\n"));
        let status = b" M a.txt\0?? b.txt\0";
        assert_eq!(
            with_status(status, &[beta, alpha.clone()]).to_string(),
            "sha256:fe1c9ec778a44e7f418cae00db8feebe5827f8334818c045962fa9cfb110d784"
        );
        assert_eq!(
            without_status(&["a.txt".to_owned(), "secrets/x".to_owned()], &[alpha]).to_string(),
            "sha256:5ae86ccdb54c9b9342c238c5ba33e692466d0083e9cf5399f85258fdc87a44b1"
        );
        assert_eq!(
            without_status(&[], &[]).to_string(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
