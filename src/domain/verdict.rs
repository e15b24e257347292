//! What a run came to, and whether a pull request may follow. Never edited, never deleted (VD-4).

use super::ids::{RunId, VerdictId};
use super::policy::Reason;
use super::time::Timestamp;
use super::words::words;
use crate::protocol::Sha256;
use serde::{Deserialize, Serialize};

words! {
    /// What a run came to.
    pub enum VerdictStatus {
        Success = "SUCCESS",
        SuccessNeedsReview = "SUCCESS_NEEDS_REVIEW",
        FailedAgentCouldNotComplete = "FAILED_AGENT_COULD_NOT_COMPLETE",
        FailedVerification = "FAILED_VERIFICATION",
        FailedPolicy = "FAILED_POLICY",
        FailedInfrastructure = "FAILED_INFRASTRUCTURE",
        Cancelled = "CANCELLED",
        Inconclusive = "INCONCLUSIVE",
    }
}

impl VerdictStatus {
    /// Whether the run failed.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::FailedAgentCouldNotComplete
                | Self::FailedVerification
                | Self::FailedPolicy
                | Self::FailedInfrastructure
        )
    }
}

words! {
    /// Whether a pull request may follow.
    pub enum PrEligibility {
        EligibleForAutoPr = "ELIGIBLE_FOR_AUTO_PR",
        EligibleAfterHumanApproval = "ELIGIBLE_AFTER_HUMAN_APPROVAL",
        DraftOnly = "DRAFT_ONLY",
        NotEligible = "NOT_ELIGIBLE",
    }
}

words! {
    /// Whether another try makes sense.
    pub enum Retry {
        None = "none",
        AllowedWithBackoff = "allowed_with_backoff",
        AfterRebase = "after_rebase",
    }
}

/// An artifact that a verdict stands on, with its digest, as it was shown (VD-2, AP-2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EvidenceRef {
    /// What it is, as `diff`, `verifier_report`, `judge_report`, `workflow_report`.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// The digest of its bytes.
    pub sha256: Sha256,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verdict {
    /// Its id.
    pub id: VerdictId,
    /// The run.
    pub run_id: RunId,
    /// What it came to.
    pub status: VerdictStatus,
    /// Whether a pull request may follow.
    pub pr_eligibility: PrEligibility,
    /// The row of the table that decided, 1 to 13; 0 when none held.
    pub decided_by_row: u8,
    /// Why, for every row that held.
    pub reasons: Vec<Reason>,
    /// What it stands on.
    pub evidence: Vec<EvidenceRef>,
    /// Digest of the canonical inputs (VD-3).
    pub inputs_digest: Sha256,
    /// Whether another try makes sense.
    pub retry: Retry,
    /// The verdict that this one replaces, after a re-check (VD-4).
    pub supersedes: Option<VerdictId>,
    /// When it was decided.
    pub decided_at: Timestamp,
}
