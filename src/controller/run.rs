//! The run record: where a run stands (`controller.md` 1).

use crate::protocol::{IntentMode, Kind, LogicalRole, Phase};
use serde::Serialize;

macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_meta])* #[doc = concat!("`", $text, "`")] $variant,)* }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The value as it is stored.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    other => Err(format!("{other:?} is no {}", stringify!($name))),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

words! {
    /// The status of a run (`controller.md` 1.2).
    pub enum RunStatus {
        Running = "running",
        AwaitingClarification = "awaiting_clarification",
        Completed = "completed",
        Partial = "partial",
        Blocked = "blocked",
        Cancelled = "cancelled",
    }
}

impl RunStatus {
    /// Whether a run in this status has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Running | Self::AwaitingClarification)
    }
}

words! {
    /// The phase of a run by its internal name, in order (`controller.md` 1.3).
    pub enum RunPhase {
        ContextGrounding = "context_grounding",
        Frame = "agent_1_frame",
        Compile = "agent_2_compile",
        PromptReview = "agent_1_review",
        Revise = "agent_2_revise",
        Plan = "agent_3_plan",
        Execute = "agent_4_execute",
        QualityReview = "agent_3_review",
        Audit = "agent_5_audit",
        Report = "agent_5_report",
    }
}

impl RunPhase {
    /// The name that hosts see in next actions and in the trace.
    #[must_use]
    pub fn public(self) -> Phase {
        match self {
            Self::ContextGrounding => Phase::ContextDiscovery,
            Self::Frame => Phase::Agent1Frame,
            Self::Compile => Phase::Agent2Compile,
            Self::PromptReview => Phase::Agent1Review,
            Self::Revise => Phase::Agent2Revision,
            Self::Plan => Phase::Agent3Plan,
            Self::Execute => Phase::Agent4Execute,
            Self::QualityReview => Phase::Agent3QualityReview,
            Self::Audit => Phase::Agent5ReleaseAudit,
            Self::Report => Phase::UserReport,
        }
    }

    /// The type that the phase must hand in.
    #[must_use]
    pub fn required_kind(self) -> Kind {
        match self {
            Self::ContextGrounding => Kind::ContextManifest,
            Self::Frame => Kind::ProblemFrame,
            Self::Compile | Self::Revise => Kind::TaskContract,
            Self::PromptReview => Kind::PromptReview,
            Self::Plan => Kind::WorkPlan,
            Self::Execute => Kind::WorkResult,
            Self::QualityReview => Kind::QualityReview,
            Self::Audit => Kind::ReleaseAudit,
            Self::Report => Kind::UserReport,
        }
    }

    /// The role that owns the phase.
    #[must_use]
    pub fn role(self) -> LogicalRole {
        match self {
            Self::ContextGrounding => LogicalRole::Controller,
            Self::Frame | Self::PromptReview => LogicalRole::ScenarioAuthor,
            Self::Compile | Self::Revise => LogicalRole::TaskCompiler,
            Self::Plan | Self::QualityReview => LogicalRole::QualityController,
            Self::Execute => LogicalRole::Executor,
            Self::Audit | Self::Report => LogicalRole::ReleaseAuditor,
        }
    }
}

words! {
    /// The most that the final report may claim.
    pub enum OutcomeHint {
        Completed = "completed",
        Partial = "partial",
        Blocked = "blocked",
    }
}

/// Where a run stands; replaced as a whole, guarded by its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunState {
    /// The id of the run, and the artifact id of its envelope.
    pub run_id: String,
    /// The real path of the repository when the run started.
    pub repository_root: String,
    /// What the user asked to be done.
    #[serde(rename = "requestedMode")]
    pub mode: IntentMode,
    /// Running, waiting, or how it ended.
    pub status: RunStatus,
    /// The current phase; kept at its last value when the run ends.
    pub phase: RunPhase,
    /// Set while a clarification is pending; equals `phase` then.
    pub resume_phase: Option<RunPhase>,
    /// Starts at 1; one more with every change of the run record.
    pub version: i64,
    /// 0 or 1.
    pub prompt_revisions_remaining: u8,
    /// 0 or 1; shared by quality review and release audit.
    pub remediations_remaining: u8,
    /// Upper bound for the final report.
    pub outcome_hint: Option<OutcomeHint>,
    /// UTC with milliseconds.
    pub created_at: String,
    /// UTC with milliseconds; changes exactly when `version` does.
    pub updated_at: String,
}
