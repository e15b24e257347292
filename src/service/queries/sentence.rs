//! The state of a run as one plain sentence, and what it wants of a person.

use super::{Supervised, phases};
use crate::controller::{RunState, RunStatus as WorkflowStatus};
use crate::domain::{
    ApprovalDecision, AutonomyLevel, CheckStatus, PrEligibility, PublicationStatus, RunStatus, Severity,
    Verdict, VerdictStatus,
};
use crate::service::snapshot::{Need, NeedKind};

/// The sentence, what happens next, and the need.
pub(super) struct Words {
    pub sentence: String,
    pub next: String,
    pub need: Option<Need>,
}

impl Words {
    fn new(sentence: impl Into<String>, next: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), next: next.into(), need: None }
    }

    fn needing(mut self, kind: NeedKind, since: &str, line: impl Into<String>) -> Self {
        self.need = Some(Need { kind, since: since.to_owned(), line: line.into() });
        self
    }
}

/// Says how a run stands. `question` is the open one, with the time it was asked.
pub(super) fn words(
    workflow: Option<&RunState>,
    around: &Supervised,
    question: Option<(&str, &str)>,
) -> Words {
    if let (Some((text, asked)), Some(WorkflowStatus::AwaitingClarification)) =
        (question, workflow.map(|run| run.status))
    {
        return Words::new(format!("Waiting for your choice: {text}"), "Answer the question").needing(
            NeedKind::Clarification,
            asked,
            text,
        );
    }
    match (&around.run, workflow) {
        (Some(run), _) if run.status != RunStatus::RunningAgent => supervised(run, around),
        (_, Some(workflow)) => working(workflow),
        (_, None) => Words::new("Starting the agent.", "The agent opens the workflow"),
    }
}

fn working(run: &RunState) -> Words {
    let phase = phases::words(run.phase);
    match run.status {
        WorkflowStatus::Running => {
            Words::new(format!("Working: {phase}."), format!("The agent goes on {phase}"))
        }
        WorkflowStatus::AwaitingClarification => Words::new("Waiting for an answer.", "Answer the question"),
        WorkflowStatus::Completed => Words::new("The workflow is complete; its report is there.", ""),
        WorkflowStatus::Partial => Words::new("The workflow ended with a partial result.", ""),
        WorkflowStatus::Blocked => Words::new("The workflow ended blocked.", ""),
        WorkflowStatus::Cancelled => Words::new("Cancelled.", ""),
    }
}

fn supervised(run: &crate::domain::Run, around: &Supervised) -> Words {
    let since = run.updated_at.to_string();
    match run.status {
        RunStatus::Created | RunStatus::Queued => {
            Words::new("Waiting for a worker.", "A worker takes the run")
        }
        RunStatus::Leased | RunStatus::PreparingWorkspace => {
            Words::new("Preparing the workspace.", "The agent is started")
        }
        RunStatus::RunningAgent => Words::new("The agent works.", ""),
        RunStatus::Verifying => Words::new("Verifying the patch.", "The checks run in a clean worktree"),
        RunStatus::Judging => Words::new("Weighing the evidence.", "The verdict is decided"),
        RunStatus::NeedsApproval => {
            let line = ready(around);
            Words::new(format!("Ready for your approval: {line}."), "Read the diff and decide").needing(
                NeedKind::Approval,
                &since,
                line,
            )
        }
        RunStatus::Cancelled => Words::new("Cancelled.", ""),
        RunStatus::Expired => Words::new("Ended: a budget was spent.", ""),
        RunStatus::Completed | RunStatus::Failed => ended(run, around, &since),
    }
}

fn ended(run: &crate::domain::Run, around: &Supervised, since: &str) -> Words {
    if let Some(publication) = &run.publication {
        match publication.status {
            PublicationStatus::Created | PublicationStatus::Pushed => {
                let place = publication.url.clone().unwrap_or_else(|| publication.remote.clone());
                return Words::new(format!("Published: {} at {place}.", publication.branch), "");
            }
            PublicationStatus::Failed => {
                let why = publication.failure.clone().unwrap_or_else(|| "no reason was given".into());
                return Words::new(format!("Publishing failed: {why}"), "Publish again").needing(
                    NeedKind::Publication,
                    since,
                    why,
                );
            }
            PublicationStatus::Requested => return Words::new("Publishing.", "The branch is pushed"),
            PublicationStatus::NotRequested => {}
        }
    }
    match around.approval.as_ref().map(|approval| approval.decision) {
        Some(ApprovalDecision::Approved) => {
            return Words::new("Approved; not published.", "Publish when you like");
        }
        Some(ApprovalDecision::Rejected) => return Words::new("Rejected.", ""),
        Some(ApprovalDecision::ChangesRequested) => return Words::new("Changes were requested.", ""),
        None => {}
    }
    let Some(verdict) = &around.verdict else { return Words::new("Ended without a verdict.", "") };
    let why = verdict.reasons.first().map_or_else(String::new, |reason| format!(" {}", reason.text));
    match verdict.status {
        VerdictStatus::Success if verdict.pr_eligibility == PrEligibility::NotEligible => {
            Words::new("Done; there is nothing to publish.", "")
        }
        VerdictStatus::Success | VerdictStatus::SuccessNeedsReview
            if verdict.pr_eligibility == PrEligibility::DraftOnly =>
        {
            Words::new(format!("Done, as a draft only.{why}"), "")
        }
        VerdictStatus::Success | VerdictStatus::SuccessNeedsReview => Words::new(format!("Done.{why}"), ""),
        VerdictStatus::FailedPolicy => Words::new(format!("Stopped by policy.{why}"), ""),
        VerdictStatus::FailedVerification => Words::new(format!("The checks failed.{why}"), ""),
        VerdictStatus::FailedAgentCouldNotComplete => {
            Words::new(format!("The agent could not complete.{why}"), "")
        }
        VerdictStatus::FailedInfrastructure => Words::new(
            format!("Infrastructure failed.{why}"),
            "Run it again",
        )
        .needing(NeedKind::Infrastructure, since, crate::text::script_trim(&why)),
        VerdictStatus::Cancelled => Words::new("Cancelled.", ""),
        VerdictStatus::Inconclusive => Words::new(format!("Inconclusive.{why}"), ""),
    }
}

/// '3 files, +18 -9, all checks passed, 1 warning'.
fn ready(around: &Supervised) -> String {
    let mut parts = Vec::new();
    if let Some(patch) = &around.patch {
        let files = patch.stats.files;
        parts.push(format!("{files} {}", if files == 1 { "file" } else { "files" }));
        parts.push(format!("+{} -{}", patch.stats.additions, patch.stats.deletions));
    }
    if let Some(report) = &around.verification {
        let passed = report.checks.iter().filter(|check| check.status == CheckStatus::Passed).count();
        let all = report.checks.len();
        parts.push(match (passed, all) {
            (_, 0) => "no checks".to_owned(),
            (passed, all) if passed == all => "all checks passed".to_owned(),
            (passed, all) => format!("{passed} of {all} checks passed"),
        });
    }
    let warnings = around.judge.iter().flat_map(|judge| &judge.findings);
    let warnings = warnings.filter(|finding| finding.severity >= Severity::Warning).count();
    if warnings > 0 {
        parts.push(format!("{warnings} {}", if warnings == 1 { "warning" } else { "warnings" }));
    }
    if parts.is_empty() { "there is a verdict".into() } else { parts.join(", ") }
}

/// Whether a person has to acknowledge a reason before approving: each one of a verdict that may be approved,
/// but for the plain statement of the autonomy level.
pub fn needs_acknowledgement(verdict: &Verdict, code: &str) -> bool {
    verdict.may_be_approved(true) && code.parse::<AutonomyLevel>().is_err()
}
