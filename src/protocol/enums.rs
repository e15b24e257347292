//! The fixed strings of the protocol (`protocol.md` 2), in the order of the published schemas.

use crate::wire_enum;

wire_enum! {
    /// What the user wants done: report, plan, analyse, fix, or analyse and then fix.
    pub enum IntentMode {
        ReportOnly = "report_only",
        PlanOnly = "plan_only",
        AnalyzeOnly = "analyze_only",
        FixOnly = "fix_only",
        AnalyzeAndFix = "analyze_and_fix",
    }
}

wire_enum! {
    /// The published artifact types.
    pub enum ArtifactType {
        RunEnvelope = "RunEnvelope",
        ContextManifest = "ContextManifest",
        NextAction = "NextAction",
        ClarificationRequest = "ClarificationRequest",
        ProblemFrame = "ProblemFrame",
        ScenarioSpec = "ScenarioSpec",
        TaskContract = "TaskContract",
        PromptReview = "PromptReview",
        WorkPlan = "WorkPlan",
        WorkResult = "WorkResult",
        QualityReview = "QualityReview",
        ReleaseAudit = "ReleaseAudit",
        UserReport = "UserReport",
        TraceEvent = "TraceEvent",
        Evidence = "Evidence",
    }
}

wire_enum! {
    /// Every phase a trace event can name.
    pub enum Phase {
        Received = "received",
        ContextDiscovery = "context_discovery",
        AwaitingClarification = "awaiting_clarification",
        Agent1Frame = "agent_1_frame",
        Agent2Compile = "agent_2_compile",
        Agent1Review = "agent_1_review",
        Agent2Revision = "agent_2_revision",
        ContractValidation = "contract_validation",
        Agent3Plan = "agent_3_plan",
        PlanValidation = "plan_validation",
        Agent4Execute = "agent_4_execute",
        DiagnosisReview = "diagnosis_review",
        Agent3QualityReview = "agent_3_quality_review",
        RemediationPlan = "remediation_plan",
        Agent4Remediation = "agent_4_remediation",
        Agent5ReleaseAudit = "agent_5_release_audit",
        UserReport = "user_report",
        Completed = "completed",
        Partial = "partial",
        Blocked = "blocked",
        Cancelled = "cancelled",
    }
}

wire_enum! {
    /// The phases of a phase action.
    pub enum WorkPhase {
        Received = "received",
        ContextDiscovery = "context_discovery",
        Agent1Frame = "agent_1_frame",
        Agent2Compile = "agent_2_compile",
        Agent1Review = "agent_1_review",
        Agent2Revision = "agent_2_revision",
        ContractValidation = "contract_validation",
        Agent3Plan = "agent_3_plan",
        PlanValidation = "plan_validation",
        Agent4Execute = "agent_4_execute",
        DiagnosisReview = "diagnosis_review",
        Agent3QualityReview = "agent_3_quality_review",
        RemediationPlan = "remediation_plan",
        Agent4Remediation = "agent_4_remediation",
        Agent5ReleaseAudit = "agent_5_release_audit",
        UserReport = "user_report",
    }
}

wire_enum! {
    /// The phases of a terminal action.
    pub enum TerminalPhase {
        Completed = "completed",
        Partial = "partial",
        Blocked = "blocked",
        Cancelled = "cancelled",
    }
}

wire_enum! {
    /// The status field of a run envelope.
    pub enum RunStatus {
        Active = "active",
        AwaitingInput = "awaiting_input",
        Completed = "completed",
        Partial = "partial",
        Blocked = "blocked",
        Cancelled = "cancelled",
        FailedVerification = "failed_verification",
    }
}

wire_enum! {
    /// How a run ended.
    pub enum TerminalStatus {
        Completed = "completed",
        Partial = "partial",
        Blocked = "blocked",
        Cancelled = "cancelled",
        FailedVerification = "failed_verification",
    }
}

wire_enum! {
    /// Who acted.
    pub enum LogicalRole {
        Controller = "controller",
        ScenarioAuthor = "scenario_author",
        TaskCompiler = "task_compiler",
        QualityController = "quality_controller",
        Executor = "executor",
        ReleaseAuditor = "release_auditor",
        Host = "host",
        Tool = "tool",
        User = "user",
    }
}

wire_enum! {
    /// The role that owns a phase.
    pub enum PhaseRole {
        Controller = "controller",
        ScenarioAuthor = "scenario_author",
        TaskCompiler = "task_compiler",
        QualityController = "quality_controller",
        Executor = "executor",
        ReleaseAuditor = "release_auditor",
    }
}

wire_enum! {
    /// One kind of thing an agent can do.
    pub enum ActionCapability {
        RepositoryRead = "repository.read",
        RepositoryWrite = "repository.write",
        RepositoryDelete = "repository.delete",
        ShellInspect = "shell.inspect",
        ShellExecute = "shell.execute",
        RuntimeInspect = "runtime.inspect",
        RuntimeRestart = "runtime.restart",
        BrowserInspect = "browser.inspect",
        BrowserMutate = "browser.mutate",
        NetworkRead = "network.read",
        ExternalWrite = "external.write",
        SubagentSpawn = "subagent.spawn",
    }
}

wire_enum! {
    /// A capability that can prove a requirement.
    pub enum VerificationCapability {
        RepositoryRead = "repository.read",
        ShellInspect = "shell.inspect",
        ShellExecute = "shell.execute",
        RuntimeInspect = "runtime.inspect",
        BrowserInspect = "browser.inspect",
        NetworkRead = "network.read",
    }
}

wire_enum! {
    /// How a claim came about.
    pub enum EvidenceStatus {
        Observed = "observed",
        Inferred = "inferred",
        UserReported = "user_reported",
        Unverified = "unverified",
    }
}

wire_enum! {
    /// How much a finding weighs.
    pub enum FindingSeverity {
        Info = "info",
        Warning = "warning",
        Blocking = "blocking",
    }
}

wire_enum! {
    /// Before or after the diagnosis gate.
    pub enum Stage {
        Diagnosis = "diagnosis",
        Completion = "completion",
    }
}

wire_enum! {
    /// Outcome of a check.
    pub enum CheckStatus {
        Pass = "pass",
        Fail = "fail",
        Unverified = "unverified",
        NotApplicable = "not_applicable",
    }
}

wire_enum! {
    /// A field of the contract.
    pub enum TaskContractField {
        Schemaversion = "schemaVersion",
        Id = "id",
        Runid = "runId",
        Version = "version",
        Originalrequestref = "originalRequestRef",
        Problemframeref = "problemFrameRef",
        Intentmode = "intentMode",
        Objective = "objective",
        Scope = "scope",
        Constraints = "constraints",
        Nongoals = "nonGoals",
        Contextrefs = "contextRefs",
        Rulerefs = "ruleRefs",
        Permissions = "permissions",
        Acceptancecriteria = "acceptanceCriteria",
        Requiredoutputs = "requiredOutputs",
        Verificationrequirements = "verificationRequirements",
        Stopconditions = "stopConditions",
        Assumptions = "assumptions",
        Unresolvedquestions = "unresolvedQuestions",
        Rationalesummary = "rationaleSummary",
    }
}

wire_enum! {
    /// A contract field that a revision may change.
    pub enum CorrectionField {
        Objective = "objective",
        Contextrefs = "contextRefs",
        Requiredoutputs = "requiredOutputs",
        Verificationrequirements = "verificationRequirements",
        Stopconditions = "stopConditions",
        Assumptions = "assumptions",
        Unresolvedquestions = "unresolvedQuestions",
        Rationalesummary = "rationaleSummary",
    }
}

wire_enum! {
    /// Whether the host can run children.
    pub enum NativeSubagents {
        Available = "available",
        Unavailable = "unavailable",
        Unknown = "unknown",
    }
}

wire_enum! {
    /// Why a file was left out of the context.
    pub enum ExclusionReason {
        BinaryFile = "binary_file",
        DuplicateContent = "duplicate_content",
        ExcludedDirectory = "excluded_directory",
        FileCountBudget = "file_count_budget",
        FileTooLarge = "file_too_large",
        InventoryBudget = "inventory_budget",
        InvalidPath = "invalid_path",
        InvalidUtf8 = "invalid_utf8",
        LowRelevance = "low_relevance",
        NonRegularFile = "non_regular_file",
        PathEscape = "path_escape",
        SecretContent = "secret_content",
        SecretLikeFile = "secret_like_file",
        SymlinkEscape = "symlink_escape",
        TotalBytesBudget = "total_bytes_budget",
        UnreadableFile = "unreadable_file",
    }
}

wire_enum! {
    /// How the files were listed.
    pub enum InventorySource {
        Git = "git",
        Ripgrep = "ripgrep",
        Filesystem = "filesystem",
    }
}

wire_enum! {
    /// Why the user is asked.
    pub enum ClarificationReason {
        UserOwnedMateriallyDivergent = "user_owned_materially_divergent",
        PermissionExpanding = "permission_expanding",
    }
}

wire_enum! {
    /// Whether a choice stays within current rights.
    pub enum AuthorityEffect {
        WithinCurrentAuthority = "within_current_authority",
        RequiresNewRun = "requires_new_run",
    }
}

wire_enum! {
    /// What a choice does to the run.
    pub enum RunEffect {
        Resume = "resume",
        Cancel = "cancel",
        NewRun = "new_run",
    }
}

wire_enum! {
    /// Kind of source of a fact.
    pub enum Provenance {
        User = "user",
        Repository = "repository",
        Runtime = "runtime",
        Browser = "browser",
        Tool = "tool",
    }
}

wire_enum! {
    /// Kind of an open question.
    pub enum UnknownClass {
        Discoverable = "discoverable",
        BoundedReversible = "bounded_reversible",
        UserOwnedMateriallyDivergent = "user_owned_materially_divergent",
        PermissionExpanding = "permission_expanding",
        Irrelevant = "irrelevant",
    }
}

wire_enum! {
    /// How well a source is covered.
    pub enum CoverageStatus {
        Covered = "covered",
        Partial = "partial",
        Missing = "missing",
    }
}

wire_enum! {
    /// Decision of a prompt review.
    pub enum PromptDecision {
        Pass = "pass",
        Revise = "revise",
        Block = "block",
    }
}

wire_enum! {
    /// Whether a plan was validated.
    pub enum PlanValidation {
        Pending = "pending",
        Valid = "valid",
        Invalid = "invalid",
    }
}

wire_enum! {
    /// Outcome of a work node.
    pub enum WorkStatus {
        Completed = "completed",
        Partial = "partial",
        Blocked = "blocked",
        Failed = "failed",
    }
}

wire_enum! {
    /// Outcome of an action.
    pub enum ActionStatus {
        Completed = "completed",
        Failed = "failed",
        Denied = "denied",
        Skipped = "skipped",
    }
}

wire_enum! {
    /// What happened to a file.
    pub enum ChangeType {
        Created = "created",
        Modified = "modified",
        Deleted = "deleted",
    }
}

wire_enum! {
    /// Outcome of a test.
    pub enum TestStatus {
        Passed = "passed",
        Failed = "failed",
        Skipped = "skipped",
        Unavailable = "unavailable",
    }
}

wire_enum! {
    /// Outcome of a required verification.
    pub enum VerificationStatus {
        Pass = "pass",
        Fail = "fail",
        Unverified = "unverified",
        Unavailable = "unavailable",
    }
}

wire_enum! {
    /// Decision of a quality review.
    pub enum QualityDecision {
        Pass = "pass",
        ProceedToFix = "proceed_to_fix",
        Remediate = "remediate",
        Block = "block",
        Partial = "partial",
    }
}

wire_enum! {
    /// Whether the diagnosis is supported.
    pub enum DiagnosisStatus {
        Supported = "supported",
        Unsupported = "unsupported",
        Unverified = "unverified",
    }
}

wire_enum! {
    /// Whether the mode was kept.
    pub enum ModeCompliance {
        Pass = "pass",
        Fail = "fail",
    }
}

wire_enum! {
    /// What a claim rests on.
    pub enum ClaimBasis {
        Direct = "direct",
        UserReported = "user_reported",
    }
}

wire_enum! {
    /// How well a claim is supported.
    pub enum ClaimStatus {
        Supported = "supported",
        Unsupported = "unsupported",
        Contradicted = "contradicted",
        Unverified = "unverified",
    }
}

wire_enum! {
    /// Decision of a release audit.
    pub enum AuditDecision {
        Release = "release",
        Remediate = "remediate",
        Partial = "partial",
        Block = "block",
    }
}

wire_enum! {
    /// Kinds of trace events.
    pub enum TraceEventType {
        RunStarted = "run_started",
        ContextSelected = "context_selected",
        PhaseStarted = "phase_started",
        PhaseSubmitted = "phase_submitted",
        ArtifactRecorded = "artifact_recorded",
        TransitionAllowed = "transition_allowed",
        TransitionDenied = "transition_denied",
        PermissionChecked = "permission_checked",
        ToolStarted = "tool_started",
        ToolFinished = "tool_finished",
        BudgetConsumed = "budget_consumed",
        ClarificationRequested = "clarification_requested",
        RedactionApplied = "redaction_applied",
        RunTerminated = "run_terminated",
    }
}

wire_enum! {
    /// Whether a permission was given.
    pub enum PermissionVerdict {
        Allow = "allow",
        Deny = "deny",
    }
}

wire_enum! {
    /// What was redacted.
    pub enum RedactionCategory {
        Credential = "credential",
        Secret = "secret",
        PersonalData = "personal_data",
        SensitiveOutput = "sensitive_output",
    }
}

wire_enum! {
    /// What a piece of evidence shows.
    pub enum EvidenceKind {
        Repository = "repository",
        Runtime = "runtime",
        Browser = "browser",
        Test = "test",
        Diff = "diff",
        ToolOutput = "tool_output",
        Log = "log",
        UserConfirmation = "user_confirmation",
    }
}

wire_enum! {
    /// How evidence content is written.
    pub enum EvidenceEncoding {
        Utf8 = "utf8",
        Base64 = "base64",
    }
}

wire_enum! {
    /// How much of an artifact was redacted.
    pub enum Redaction {
        None = "none",
        Partial = "partial",
        Full = "full",
    }
}

wire_enum! {
    /// How far the text of a source may be trusted.
    pub enum TrustKind {
        ApplicableInstruction = "applicable_instruction",
        UntrustedRepositoryContent = "untrusted_repository_content",
    }
}
