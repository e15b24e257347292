//! Something a run produced. The bytes live in the blob store, never in the record (AR-2).

use super::ids::{ArtifactId, AttemptId, RunId, StepId};
use super::time::Timestamp;
use super::words::words;
use crate::protocol::Sha256;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

words! {
    /// What an artifact is.
    pub enum RunArtifactType {
        PatchUnifiedDiff = "PATCH_UNIFIED_DIFF",
        PatchSummary = "PATCH_SUMMARY",
        TouchedFiles = "TOUCHED_FILES",
        CommandLog = "COMMAND_LOG",
        TestReport = "TEST_REPORT",
        BuildReport = "BUILD_REPORT",
        StaticAnalysisReport = "STATIC_ANALYSIS_REPORT",
        ModelTranscriptSummary = "MODEL_TRANSCRIPT_SUMMARY",
        VerifierReport = "VERIFIER_REPORT",
        JudgeReport = "JUDGE_REPORT",
        CostReport = "COST_REPORT",
        FailureReport = "FAILURE_REPORT",
        PrBodyDraft = "PR_BODY_DRAFT",
    }
}

words! {
    /// How much was masked before the first write.
    pub enum RedactionStatus {
        None = "NONE",
        Partial = "PARTIAL",
        Full = "FULL",
    }
}

words! {
    /// Who may see an artifact, from fewest to most.
    pub enum Visibility {
        InternalOnly = "INTERNAL_ONLY",
        VisibleToRequester = "VISIBLE_TO_REQUESTER",
        SafeForPr = "SAFE_FOR_PR",
        SafeForPublicLog = "SAFE_FOR_PUBLIC_LOG",
    }
}

impl Visibility {
    /// Whether it may reach the judge's prompt or a pull request's body (AR-3).
    #[must_use]
    pub fn may_leave(self) -> bool {
        matches!(self, Self::SafeForPr | Self::SafeForPublicLog)
    }
}

/// One thing a run produced. Hash, type, producer and visibility are always there (AR-1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunArtifact {
    /// Its id.
    pub id: ArtifactId,
    /// The run.
    pub run_id: RunId,
    /// The attempt; none for what the engine made after the attempts.
    pub attempt_id: Option<AttemptId>,
    /// The step that produced it.
    pub produced_by_step: Option<StepId>,
    /// What it is.
    #[serde(rename = "type")]
    pub artifact_type: RunArtifactType,
    /// How to name it.
    pub uri: String,
    /// Digest of its bytes.
    pub sha256: Sha256,
    /// How many bytes.
    pub size_bytes: u64,
    /// What was masked.
    pub redaction_status: RedactionStatus,
    /// Who may see it.
    pub visibility: Visibility,
    /// Its media type.
    pub media_type: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Small facts.
    pub metadata: Map<String, Value>,
}
