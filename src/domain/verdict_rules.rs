//! How a verdict is decided: thirteen rows, the first that holds decides, and the reasons of every row that
//! holds are listed (VD-2). A function of its inputs alone (VD-3): no clock, no order of a map, no digest made
//! here; the digest of the canonical inputs comes from the caller.

use super::attempt::FailureCode;
use super::boundary::mutates;
use super::ids::{RunId, VerdictId};
use super::judge::{Finding, JudgeStatus};
use super::patch::{ApplyState, ApplyStatus, BoundaryCheck};
use super::policy::{AutonomyLevel, Reason};
use super::run::BudgetKind;
use super::time::Timestamp;
use super::verdict::{EvidenceRef, PrEligibility, Retry, Verdict, VerdictStatus};
use super::verdict_reasons;
use super::verification::{CheckStatus, VerificationStatus};
use super::words::words;
use crate::protocol::{IntentMode, Sha256};
use serde::{Deserialize, Serialize};

words! {
    /// How the workflow ended.
    pub enum WorkflowEnd {
        Completed = "completed",
        Partial = "partial",
        Blocked = "blocked",
        Cancelled = "cancelled",
        /// It never came to an end: the agent left its phase open, or the run was stopped.
        Unfinished = "unfinished",
    }
}

/// One check, as far as the verdict needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckInput {
    /// Its name.
    pub name: String,
    /// What it says.
    pub status: CheckStatus,
    /// Whether it is required.
    pub required: bool,
    /// What failed.
    pub summarized_failure: Option<String>,
}

/// Everything a verdict is made of. Its canonical JSON is what `inputsDigest` is the digest of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerdictInput {
    /// The run.
    pub run_id: RunId,
    /// Whether a person cancelled it.
    pub cancelled: bool,
    /// The infrastructure failure that ended its last attempt, with no attempt left.
    pub infrastructure_failure: Option<FailureCode>,
    /// The budget that ended it.
    pub budget_exhausted: Option<BudgetKind>,
    /// How its workflow ended.
    pub workflow: WorkflowEnd,
    /// The intent mode.
    pub mode: IntentMode,
    /// Digest of the patch; none without one.
    pub patch_sha256: Option<Sha256>,
    /// Whether the run stayed within its bounds; checked without a patch too (P-9).
    pub boundary: Option<BoundaryCheck>,
    /// Whether the patch applies.
    pub apply: Option<ApplyStatus>,
    /// What the checks say together.
    pub verification: VerificationStatus,
    /// What they say one by one.
    pub checks: Vec<CheckInput>,
    /// What the judge says.
    pub judge: JudgeStatus,
    /// What it found.
    pub findings: Vec<Finding>,
    /// How sure it is.
    pub confidence: f64,
    /// The least confidence that is enough (J-3).
    pub minimum_confidence: f64,
    /// Whether warnings ask for a person.
    pub strict: bool,
    /// How far the run may go by itself.
    pub autonomy_level: AutonomyLevel,
    /// What it all stands on.
    pub evidence: Vec<EvidenceRef>,
}

/// What the table says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictDecision {
    /// The row that decided.
    pub row: u8,
    /// What the run came to.
    pub status: VerdictStatus,
    /// Whether a pull request may follow.
    pub eligibility: PrEligibility,
    /// Whether another try makes sense.
    pub retry: Retry,
    /// Why, for every row that holds, in the rows' order.
    pub reasons: Vec<Reason>,
}

/// One row: whether it holds, and what it says.
struct Row {
    number: u8,
    holds: fn(&VerdictInput) -> bool,
    status: VerdictStatus,
    eligibility: PrEligibility,
    retry: Retry,
    reasons: fn(&VerdictInput) -> Vec<Reason>,
}

/// The table, in its order.
const ROWS: [Row; 13] = [
    Row {
        number: 1,
        holds: |input| input.cancelled,
        status: VerdictStatus::Cancelled,
        eligibility: PrEligibility::NotEligible,
        retry: Retry::None,
        reasons: verdict_reasons::cancelled,
    },
    Row {
        number: 2,
        // P-6: a patch that nobody checked is not within its bounds.
        holds: |input| input.boundary.as_ref().map_or(input.patch_sha256.is_some(), |check| !check.passed),
        status: VerdictStatus::FailedPolicy,
        eligibility: PrEligibility::NotEligible,
        retry: Retry::None,
        reasons: verdict_reasons::boundary,
    },
    Row {
        number: 3,
        holds: |input| {
            input.infrastructure_failure.is_some() || input.verification == VerificationStatus::InfraFailure
        },
        status: VerdictStatus::FailedInfrastructure,
        eligibility: PrEligibility::NotEligible,
        retry: Retry::AllowedWithBackoff,
        reasons: verdict_reasons::infrastructure,
    },
    Row {
        number: 4,
        holds: could_not_complete,
        status: VerdictStatus::FailedAgentCouldNotComplete,
        eligibility: PrEligibility::NotEligible,
        retry: Retry::None,
        reasons: verdict_reasons::could_not_complete,
    },
    Row {
        number: 5,
        holds: |input| {
            matches!(input.verification, VerificationStatus::Failed | VerificationStatus::TimedOut)
        },
        status: VerdictStatus::FailedVerification,
        eligibility: PrEligibility::NotEligible,
        retry: Retry::None,
        reasons: verdict_reasons::failed_checks,
    },
    Row {
        number: 6,
        holds: |input| input.apply.as_ref().is_some_and(|apply| apply.state == ApplyState::Conflict),
        status: VerdictStatus::SuccessNeedsReview,
        eligibility: PrEligibility::NotEligible,
        retry: Retry::AfterRebase,
        reasons: verdict_reasons::conflict,
    },
    Row {
        number: 7,
        holds: |input| {
            input.patch_sha256.is_none() && !mutates(input.mode) && input.workflow == WorkflowEnd::Completed
        },
        status: VerdictStatus::Success,
        eligibility: PrEligibility::NotEligible,
        retry: Retry::None,
        reasons: verdict_reasons::nothing_to_publish,
    },
    Row {
        number: 8,
        holds: |input| input.workflow == WorkflowEnd::Partial || is_unproven(input.verification),
        status: VerdictStatus::SuccessNeedsReview,
        eligibility: PrEligibility::DraftOnly,
        retry: Retry::None,
        reasons: verdict_reasons::unproven,
    },
    Row {
        number: 9,
        holds: |input| {
            input.judge == JudgeStatus::Failed || input.findings.iter().any(verdict_reasons::is_blocker)
        },
        status: VerdictStatus::SuccessNeedsReview,
        eligibility: PrEligibility::DraftOnly,
        retry: Retry::None,
        reasons: verdict_reasons::judged_bad,
    },
    Row {
        number: 10,
        holds: |input| !verdict_reasons::doubts(input).is_empty(),
        status: VerdictStatus::SuccessNeedsReview,
        eligibility: PrEligibility::EligibleAfterHumanApproval,
        retry: Retry::None,
        reasons: verdict_reasons::doubts,
    },
    Row {
        number: 11,
        holds: |input| input.autonomy_level == AutonomyLevel::SuggestOnly,
        status: VerdictStatus::Success,
        eligibility: PrEligibility::DraftOnly,
        retry: Retry::None,
        reasons: verdict_reasons::autonomy,
    },
    Row {
        number: 12,
        holds: |input| input.autonomy_level == AutonomyLevel::SupervisedPr,
        status: VerdictStatus::Success,
        eligibility: PrEligibility::EligibleAfterHumanApproval,
        retry: Retry::None,
        reasons: verdict_reasons::autonomy,
    },
    Row {
        number: 13,
        holds: |input| input.autonomy_level == AutonomyLevel::AutoPr,
        status: VerdictStatus::Success,
        eligibility: PrEligibility::EligibleForAutoPr,
        retry: Retry::None,
        reasons: verdict_reasons::autonomy,
    },
];

/// Row 4: the workflow is blocked or has no end, a budget is spent, or a fix ended without a patch.
fn could_not_complete(input: &VerdictInput) -> bool {
    matches!(input.workflow, WorkflowEnd::Blocked | WorkflowEnd::Unfinished)
        || input.budget_exhausted.is_some()
        || (mutates(input.mode) && input.patch_sha256.is_none())
}

/// Row 8: verification that says neither yes nor no.
fn is_unproven(status: VerificationStatus) -> bool {
    matches!(
        status,
        VerificationStatus::Partial | VerificationStatus::NotRun | VerificationStatus::SkippedByPolicy
    )
}

/// Decides by the table.
#[must_use]
pub fn decide(input: &VerdictInput) -> VerdictDecision {
    let mut held = ROWS.iter().filter(|row| (row.holds)(input)).peekable();
    // The last three rows cover every autonomy level; were one added, it would be inconclusive, not a success.
    let (row, status, eligibility, retry) = held
        .peek()
        .map_or((0, VerdictStatus::Inconclusive, PrEligibility::NotEligible, Retry::None), |first| {
            (first.number, first.status, first.eligibility, first.retry)
        });
    VerdictDecision {
        row,
        status,
        eligibility,
        retry,
        reasons: held.flat_map(|row| (row.reasons)(input)).collect(),
    }
}

impl Verdict {
    /// Decides about a run. `inputs_digest` is the digest of the canonical JSON of `input`; a re-check names
    /// the verdict that it replaces (VD-4).
    #[must_use]
    pub fn of(
        input: &VerdictInput,
        id: VerdictId,
        inputs_digest: Sha256,
        supersedes: Option<VerdictId>,
        at: Timestamp,
    ) -> Self {
        let decision = decide(input);
        Self {
            id,
            run_id: input.run_id.clone(),
            status: decision.status,
            pr_eligibility: decision.eligibility,
            decided_by_row: decision.row,
            reasons: decision.reasons,
            evidence: input.evidence.clone(),
            inputs_digest,
            retry: decision.retry,
            supersedes,
            decided_at: at,
        }
    }

    /// Whether the table, asked again, says the same (VD-3). The digest is the caller's to compare.
    #[must_use]
    pub fn follows_from(&self, input: &VerdictInput) -> bool {
        let again = Self::of(
            input,
            self.id.clone(),
            self.inputs_digest.clone(),
            self.supersedes.clone(),
            self.decided_at,
        );
        again == *self
    }
}
