//! Why the controller refuses, in a form that a host can act on (`controller.md` 11).

use crate::protocol::{Fault, PermissionDecision};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt;

macro_rules! codes {
    ($($variant:ident = $text:literal,)*) => {
        /// The stable codes of `controller.md` 11; they are never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $(#[doc = concat!("`", $text, "`")] $variant,)* }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The code as it is written on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

codes! {
    InvalidArguments = "invalid_arguments",
    RunNotFound = "run_not_found",
    ArtifactNotFound = "artifact_not_found",
    StaleVersion = "stale_version",
    StaleAction = "stale_action",
    ConcurrentUpdate = "concurrent_update",
    RunNotRunning = "run_not_running",
    WrongPhase = "wrong_phase",
    TransitionInvalid = "transition_invalid",
    OutcomeNotAllowed = "outcome_not_allowed",
    ControllerOwnedType = "controller_owned_type",
    SchemaInvalid = "schema_invalid",
    IdMismatch = "id_mismatch",
    RunIdMismatch = "run_id_mismatch",
    SchemaVersionUnsupported = "schema_version_unsupported",
    ProducerMismatch = "producer_mismatch",
    ArtifactExists = "artifact_exists",
    ArtifactTooLarge = "artifact_too_large",
    ArtifactLimit = "artifact_limit",
    TraceLimit = "trace_limit",
    QuotaExceeded = "quota_exceeded",
    ReplayConflict = "replay_conflict",
    ContextClosureTooLarge = "context_closure_too_large",
    RequestEmpty = "request_empty",
    RequestTooLong = "request_too_long",
    HostNameEmpty = "host_name_empty",
    ListTooLong = "list_too_long",
    GrantRequired = "grant_required",
    GrantUnavailable = "grant_unavailable",
    CapabilityUnknown = "capability_unknown",
    NetworkDomainInvalid = "network_domain_invalid",
    ShellCommandInvalid = "shell_command_invalid",
    RepositoryUnavailable = "repository_unavailable",
    ResponseEmpty = "response_empty",
    ResponseTooLong = "response_too_long",
    ResponseChoiceUnknown = "response_choice_unknown",
    NotAwaitingClarification = "not_awaiting_clarification",
    ClarificationNotAllowed = "clarification_not_allowed",
    ClarificationLineageMissing = "clarification_lineage_missing",
    ClarificationRequired = "clarification_required",
    RedactionInvalid = "redaction_invalid",
    SourceRefsInvalid = "source_refs_invalid",
    SourceRefsLimit = "source_refs_limit",
    InvalidReference = "invalid_reference",
    UnknownReference = "unknown_reference",
    CrossRunReference = "cross_run_reference",
    WrongReferenceType = "wrong_reference_type",
    MisplacedSystemReference = "misplaced_system_reference",
    UnselectedRepositoryReference = "unselected_repository_reference",
    NotDirectEvidence = "not_direct_evidence",
    UserReportedEvidence = "user_reported_evidence",
    EvidenceIncompatible = "evidence_incompatible",
    ReportRefTaken = "report_ref_taken",
    ReportRefMismatch = "report_ref_mismatch",
    Base64Invalid = "base64_invalid",
    SecretDetected = "secret_detected",
    ModeMismatch = "mode_mismatch",
    LineageMismatch = "lineage_mismatch",
    ProvenanceMismatch = "provenance_mismatch",
    SourceNotRetained = "source_not_retained",
    ContractNotPreserved = "contract_not_preserved",
    ContractVersionInvalid = "contract_version_invalid",
    RevisionNumberMismatch = "revision_number_mismatch",
    RevisionOutOfScope = "revision_out_of_scope",
    RevisionIncomplete = "revision_incomplete",
    CoverageMismatch = "coverage_mismatch",
    DuplicateEntry = "duplicate_entry",
    CriterionUnknown = "criterion_unknown",
    CriterionOutOfScope = "criterion_out_of_scope",
    PermissionExceeded = "permission_exceeded",
    PermissionDenied = "permission_denied",
    ScopePatternInvalid = "scope_pattern_invalid",
    CapabilityNotPermitted = "capability_not_permitted",
    CapabilityRequired = "capability_required",
    CapabilityNotPerformed = "capability_not_performed",
    MutatingFlagMismatch = "mutating_flag_mismatch",
    FalseDenial = "false_denial",
    BudgetExceeded = "budget_exceeded",
    BudgetInsufficient = "budget_insufficient",
    BudgetMismatch = "budget_mismatch",
    PlanNotValid = "plan_not_valid",
    NoReadyNode = "no_ready_node",
    NodeMismatch = "node_mismatch",
    NodesIncomplete = "nodes_incomplete",
    ResultNotComplete = "result_not_complete",
    FileChangeUnmatched = "file_change_unmatched",
    MutationMissing = "mutation_missing",
    VerificationUnscheduled = "verification_unscheduled",
    VerificationOrder = "verification_order",
    VerificationMismatch = "verification_mismatch",
    VerificationIncomplete = "verification_incomplete",
    VerificationUnproven = "verification_unproven",
    AcceptanceUnproven = "acceptance_unproven",
    WorkOrderInvalid = "work_order_invalid",
    DecisionNotAllowed = "decision_not_allowed",
    BlockedReportInvalid = "blocked_report_invalid",
    ReportMismatch = "report_mismatch",
    ClaimNotAudited = "claim_not_audited",
    DeadEndRefused = "dead_end_refused",
    IntegrityFailure = "integrity_failure",
    StorageFailure = "storage_failure",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A refusal: nothing was changed, except that a denial may have to be recorded in the trace.
#[derive(Clone, Debug, thiserror::Error, Serialize)]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// What kind of refusal it is.
    pub code: Code,
    /// The rule of `controller.md` that was broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
    /// Where in the body (`body.nodes[0].permissions`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// One sentence that names the offending id or value and what would be right.
    pub message: String,
    /// Facts a program can use: the current version, a limit, a node id.
    #[serde(skip_serializing_if = "no_details")]
    pub details: Box<Map<String, Value>>,
    /// Schema faults, for [`Code::SchemaInvalid`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<Fault>,
    /// The denied decision that the trace records once (`controller.md` 9.3).
    #[serde(skip)]
    pub denial: Option<Box<PermissionDecision>>,
}

#[expect(clippy::borrowed_box, reason = "serde hands over the field as it is")]
fn no_details(details: &Box<Map<String, Value>>) -> bool {
    details.is_empty()
}

impl Refusal {
    /// A refusal by a rule of `controller.md`.
    #[must_use]
    pub fn new(code: Code, rule: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            rule: Some(rule),
            path: None,
            message: message.into(),
            details: Box::default(),
            issues: Vec::new(),
            denial: None,
        }
    }

    /// Names the place in the body.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Asks for the denial to be recorded once.
    #[must_use]
    pub fn denying(mut self, decision: PermissionDecision) -> Self {
        self.denial = Some(Box::new(decision));
        self
    }

    /// Adds a fact for programs.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}

/// Refuses unless a condition holds.
#[macro_export]
macro_rules! require {
    ($condition:expr, $code:ident, $rule:literal, $($message:tt)+) => {
        if !$condition {
            return Err($crate::controller::Refusal::new($crate::controller::Code::$code, $rule, format!($($message)+)));
        }
    };
}
