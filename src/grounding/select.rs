//! Which candidates are taken, and why the others are not (`grounding.md` 5.1, 4.4 and 6).

use super::budget::Budget;
use super::error::GroundingError;
use super::inventory::Inventory;
use super::manifest;
use super::paths::{is_excluded, is_secret_like, is_secret_like_extended, repository_reference, utf16_order};
use super::ranking::{Query, Ranked};
use super::root::{Refusal, Root};
use super::secrets::Hit;
use super::watch::Watch;
use super::{Decision, Options};
use crate::protocol::ExclusionReason as Reason;
use crate::protocol::is_reference;
use crate::store::Digest;
use std::collections::{BTreeMap, HashSet};
use std::io::Read as _;

/// Files without any point that are taken as a sample.
const SAMPLE: usize = 8;
/// Bytes that are looked at to tell text from binary.
const PROBE: usize = 8192;
/// The largest stored body, in bytes of JSON.
const BODY_LIMIT: usize = 2_097_152;

/// How often each reason applied.
pub(super) type Counts = BTreeMap<&'static str, u64>;

/// A file that was taken.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) ranked: Ranked,
    pub(super) reference: String,
    pub(super) digest: Digest,
    pub(super) size: u64,
    pub(super) content: String,
}

/// The candidates in rank order, and what was left out before anything was read.
#[derive(Debug)]
pub(super) struct Candidates {
    pub(super) ranked: Vec<Ranked>,
    /// Every path of the list except those the inventory budget cut, in UTF-16 order.
    pub(super) listed: Vec<String>,
    /// Length of the list before anything was removed.
    pub(super) total: u64,
    pub(super) truncated: bool,
}

/// What the selection found.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) sources: Vec<Source>,
    /// Digest of every file that was read and holds no credential, selected or not.
    pub(super) digests: Vec<(String, Digest)>,
    pub(super) sample_is_full: bool,
    bytes: u64,
    taken: HashSet<Digest>,
    /// The credential that was found in the candidate just looked at.
    hit: Option<Hit>,
}

/// What was decided so far, for the manifest and for local eyes.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// How often each reason applied.
    pub(super) counts: Counts,
    /// What became of each path.
    pub(super) decisions: Vec<Decision>,
}

impl Tally {
    /// Counts paths that are not named any further.
    pub(super) fn count(&mut self, reason: Reason, times: u64) {
        if times > 0 {
            *self.counts.entry(reason.as_str()).or_default() += times;
        }
    }

    fn leave_out(&mut self, path: &str, reason: Reason) {
        self.count(reason, 1);
        self.decisions.push(Decision {
            path: path.to_owned(),
            score: None,
            pinned: false,
            excluded: Some(reason),
            credential: None,
        });
    }

    fn decide(&mut self, ranked: &Ranked, excluded: Option<Reason>, credential: Option<Hit>) {
        if let Some(reason) = excluded {
            self.count(reason, 1);
        }
        self.decisions.push(Decision {
            path: ranked.path.clone(),
            score: Some(ranked.score),
            pinned: ranked.pinned,
            excluded,
            credential,
        });
    }
}

/// Removes what its name forbids, ranks the rest, and cuts it to the budget (10.9: in this order).
pub(super) fn candidates(
    inventory: &Inventory,
    query: &Query,
    options: &Options,
    budget: &Budget,
    tally: &mut Tally,
) -> Candidates {
    let mut kept = Vec::new();
    for path in &inventory.paths {
        match refused_by_name(path, options) {
            Some(reason) => tally.leave_out(path, reason),
            None => kept.push(path.as_str()),
        }
    }
    let mut ranked = query.rank_all(kept);
    let most = usize::try_from(budget.max_inventory_files).unwrap_or(usize::MAX);
    let cut = ranked.split_off(ranked.len().min(most));
    for ranked in &cut {
        tally.decide(ranked, Some(Reason::InventoryBudget), None);
    }
    let gone: HashSet<&str> = cut.iter().map(|ranked| ranked.path.as_str()).collect();
    let mut listed: Vec<String> =
        inventory.paths.iter().filter(|path| !gone.contains(path.as_str())).cloned().collect();
    listed.sort_unstable_by(|a, b| utf16_order(a, b));
    Candidates {
        truncated: inventory.cut || !cut.is_empty(),
        ranked,
        listed,
        total: inventory.paths.len() as u64,
    }
}

fn refused_by_name(path: &str, options: &Options) -> Option<Reason> {
    if is_excluded(path) {
        return Some(Reason::ExcludedDirectory);
    }
    let excepted = options.readable_names.contains(path);
    let secret = is_secret_like(path) || (options.detector.is_extended() && is_secret_like_extended(path));
    if secret && !excepted {
        return Some(Reason::SecretLikeFile);
    }
    // Such a name could be listed, but no body may hold so long a reference.
    (!path.is_empty() && !is_reference(&repository_reference(path))).then_some(Reason::InvalidPath)
}

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::SymlinkEscape => Self::SymlinkEscape,
            Refusal::PathEscape => Self::PathEscape,
            Refusal::Unreadable => Self::UnreadableFile,
            Refusal::NonRegular => Self::NonRegularFile,
            Refusal::Excluded => Self::ExcludedDirectory,
        }
    }
}

/// Takes candidates in rank order.
#[derive(Debug)]
pub(super) struct Selector<'a> {
    pub(super) root: &'a Root,
    pub(super) run_id: &'a str,
    pub(super) options: &'a Options,
    pub(super) budget: &'a Budget,
}

impl Selector<'_> {
    /// Applies section 6 to each candidate; the first rule that fires decides.
    pub(super) fn select(
        &self,
        candidates: &Candidates,
        tally: &mut Tally,
        watch: &Watch,
    ) -> Result<Selection, GroundingError> {
        let mut selection = Selection::default();
        let mut sampled = 0;
        for ranked in &candidates.ranked {
            watch.check()?;
            let sample = !ranked.pinned && ranked.score == 0;
            let outcome = if sample && sampled == SAMPLE {
                selection.sample_is_full = true;
                Err(Reason::LowRelevance)
            } else if selection.sources.len() as u64 == self.budget.max_files {
                Err(Reason::FileCountBudget)
            } else {
                self.consider(ranked, &mut selection)
            };
            tally.decide(ranked, outcome.as_ref().err().copied(), selection.hit.take());
            if let Ok(source) = outcome {
                sampled += usize::from(sample);
                selection.taken.insert(source.digest);
                selection.bytes += source.size;
                selection.sources.push(source);
            }
        }
        Ok(selection)
    }

    /// Rules 3 to 11 for one candidate.
    fn consider(&self, ranked: &Ranked, selection: &mut Selection) -> Result<Source, Reason> {
        let resolved = self.root.resolve(&ranked.path)?;
        // A link must not make readable what its target's name forbids.
        let target = resolved.to_string_lossy();
        if target != ranked.path.as_str()
            && let Some(reason) = refused_by_name(&target, self.options)
        {
            return Err(reason);
        }
        let left = self.budget.max_total_bytes - selection.bytes;
        let size = self.root.size(&resolved)?;
        if size > self.budget.max_file_bytes {
            return Err(Reason::FileTooLarge);
        }
        // What cannot fit is not read (10.7).
        if size > left {
            return Err(Reason::TotalBytesBudget);
        }
        let bytes = read(self.root.open(&resolved)?, self.budget.max_file_bytes)?;
        let digest = Digest::of(&bytes);
        let size = bytes.len() as u64;
        // The byte-order mark stays, so that content, size and digest agree (10.15).
        let content = String::from_utf8(bytes).map_err(|_| Reason::InvalidUtf8)?;
        selection.hit = self.options.detector.find(&content);
        if selection.hit.is_some() {
            return Err(Reason::SecretContent);
        }
        selection.digests.push((ranked.path.clone(), digest));
        if selection.taken.contains(&digest) {
            return Err(Reason::DuplicateContent);
        }
        if size > left {
            return Err(Reason::TotalBytesBudget);
        }
        let reference = repository_reference(&ranked.path);
        let source = Source { ranked: ranked.clone(), reference, digest, size, content };
        if manifest::stored_size(self.run_id, &source) > BODY_LIMIT {
            return Err(Reason::FileTooLarge);
        }
        Ok(source)
    }
}

/// The bytes of an open file, at most `limit`, given up as soon as they are not text (4.4).
fn read(mut file: std::fs::File, limit: u64) -> Result<Vec<u8>, Reason> {
    if file.metadata().map_err(|_| Reason::UnreadableFile)?.len() > limit {
        return Err(Reason::FileTooLarge);
    }
    let mut bytes = Vec::new();
    let first = file.by_ref().take((PROBE as u64).min(limit + 1)).read_to_end(&mut bytes);
    first.map_err(|_| Reason::UnreadableFile)?;
    if bytes.len() as u64 <= limit && is_binary(&bytes) {
        return Err(Reason::BinaryFile);
    }
    // A file may grow after its size was taken, so one byte more than allowed is asked for.
    let rest = (limit + 1).saturating_sub(bytes.len() as u64);
    file.take(rest).read_to_end(&mut bytes).map_err(|_| Reason::UnreadableFile)?;
    if bytes.len() as u64 > limit {
        return Err(Reason::FileTooLarge);
    }
    Ok(bytes)
}

/// Whether the first bytes of a file are not text: a zero byte, or more than 10 % control bytes.
fn is_binary(bytes: &[u8]) -> bool {
    let probe = &bytes[..bytes.len().min(PROBE)];
    let controls = probe.iter().filter(|byte| matches!(byte, 0..=8 | 14..=31)).count();
    probe.contains(&0) || controls * 10 > probe.len()
}

#[cfg(test)]
mod tests {
    use super::is_binary;

    #[test]
    fn exactly_a_tenth_of_control_bytes_is_text() {
        let mut bytes = vec![b'a'; 90];
        bytes.extend([1; 10]);
        assert!(!is_binary(&bytes));
        bytes.pop();
        bytes.pop();
        bytes.extend([31; 2]);
        assert!(!is_binary(&bytes));
        bytes[0] = 14;
        assert!(is_binary(&bytes));
        assert!(!is_binary(b""));
        assert!(!is_binary(&[127; 40]));
        assert!(!is_binary(b"\t\n\x0b\x0c\r"));
        assert!(is_binary(b"long enough text with a zero\0"));
        let mut late = vec![b'a'; 8192];
        late.push(0);
        assert!(!is_binary(&late));
    }
}
