//! What a person said about a verdict, and exactly what it was said about (AP-2).

use super::ids::{ApprovalId, RunId, VerdictId};
use super::time::Timestamp;
use super::verdict::EvidenceRef;
use super::words::words;
use crate::protocol::{Commit, Sha256};
use serde::{Deserialize, Serialize};

words! {
    /// What a person said.
    pub enum ApprovalDecision {
        Approved = "APPROVED",
        Rejected = "REJECTED",
        ChangesRequested = "CHANGES_REQUESTED",
    }
}

words! {
    /// How it was said; only people's channels count (AP-6).
    pub enum ApprovalChannel {
        /// In the dashboard.
        Dashboard = "dashboard",
        /// On a terminal.
        Terminal = "terminal",
        /// By a command without a terminal, with the name given on purpose.
        NamedCommand = "named_command",
    }
}

/// Everything an approval is bound to; any of it different at publishing time makes the approval stale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalBinding {
    /// Digest of the patch.
    pub patch_sha256: Sha256,
    /// The base commit.
    pub base_commit: Commit,
    /// The tip of the base ref at that moment.
    pub base_tip: Commit,
    /// The evidence that was shown.
    pub evidence: Vec<EvidenceRef>,
    /// Digest of the execution spec.
    pub execution_spec_sha256: Sha256,
    /// Digest of the effective policy.
    pub policy_digest: Sha256,
}

/// What a person said about a verdict. It adds; the verdict's reasons stay (AP-3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The verdict.
    pub verdict_id: VerdictId,
    /// The run.
    pub run_id: RunId,
    /// What was said.
    pub decision: ApprovalDecision,
    /// Who said it (AP-5).
    pub actor: String,
    /// How.
    pub channel: ApprovalChannel,
    /// Why; never blank for a rejection or a change request (AP-4).
    pub comment: Option<String>,
    /// What it is bound to (AP-2).
    #[serde(flatten)]
    pub binding: ApprovalBinding,
    /// The files the person marked as read.
    pub reviewed_files: Vec<super::patch::RepoPath>,
    /// Codes of the verdict's reasons that the person acknowledged.
    pub acknowledged_reasons: Vec<String>,
    /// When.
    pub decided_at: Timestamp,
}
