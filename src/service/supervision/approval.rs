//! What a person decides about a verdict, bound to exactly what was shown (AP-1 to AP-6).

use super::Supervision;
use crate::domain::{
    Approval, ApprovalBinding, ApprovalChannel, ApprovalDecision, ApprovalId, ApprovalInput, EventType,
    MessageRole, Patch, PrEligibility, Publication, RepoPath, Run, RunArtifact, RunStatus, Sha256, Task,
    Verdict, task_after_approval,
};
use crate::git::Repository;
use crate::service::ServiceError;
use crate::service::clock::{fresh, now};
use crate::service::queries::needs_acknowledgement;
use crate::store::Change;
use crate::text::is_blank;
use serde_json::{Map, json};
use std::path::Path;

/// A decision as a person made it.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Approve, reject, or ask for changes.
    pub decision: ApprovalDecision,
    /// The verdict that was shown.
    pub verdict_id: String,
    /// The digest of the patch that was shown; empty without a patch.
    pub patch_digest: String,
    /// Needed for a rejection and for a change request (AP-4).
    pub comment: String,
    /// Codes of the reasons that were acknowledged.
    pub acknowledged: Vec<String>,
    /// Files that were viewed.
    pub reviewed_files: Vec<String>,
    /// How the person spoke.
    pub channel: ApprovalChannel,
    /// Whether the caller is a process of the run itself (AP-6).
    pub from_inside_the_run: bool,
}

impl Supervision {
    /// Records a decision.
    ///
    /// # Errors
    /// The run is not waiting for one, another verdict or patch is in force than the one that was shown, the
    /// verdict may not be approved, a comment or an acknowledgement is missing. Nothing is stored then.
    pub fn decide(&self, run_id: &str, decision: &Decision) -> Result<Approval, ServiceError> {
        let run = self.run(run_id)?;
        let task: Task = self.store().record(run.task_id.as_str())?;
        let verdict = self.verdict_in_force(&run, decision)?;
        self.check(&run, &verdict, decision)?;
        let at = now();
        let comment = Some(decision.comment.clone()).filter(|comment| !is_blank(comment));
        let input = ApprovalInput {
            decision: decision.decision,
            actor: self.actor().to_owned(),
            channel: decision.channel,
            comment: comment.clone(),
            reviewed_files: decision
                .reviewed_files
                .iter()
                .map(|path| RepoPath::from(path.as_str()))
                .collect(),
            acknowledged_reasons: decision.acknowledged.clone(),
            as_draft: verdict.pr_eligibility == PrEligibility::DraftOnly,
            from_inside_the_run: decision.from_inside_the_run,
        };
        let binding = self.binding(&run, &verdict)?;
        let approval = verdict.record_approval(ApprovalId::new(fresh()), input, binding, at)?;
        let mut change = Change::new();
        change.insert(&approval)?;
        if run.status == RunStatus::NeedsApproval {
            change.replace(&run, &run.decided_by_person(at)?)?;
        }
        let status = task_after_approval(decision.decision);
        if task.status.allowed(status) {
            change.replace(&task, &task.follow(status, at)?)?;
        }
        if let Some(comment) = &comment {
            self.message(&mut change, &run, &task, MessageRole::Reviewer, comment, at)?;
        }
        let data = Map::from_iter([("decision".to_owned(), json!(decision.decision.as_str()))]);
        change.event(&self.event(EventType::ApprovalRecorded, Some(&run), None, data, at))?;
        self.store().commit(&change)?;
        Ok(approval)
    }

    fn verdict_in_force(&self, run: &Run, decision: &Decision) -> Result<Verdict, ServiceError> {
        let none = || ServiceError::invalid("verdict_missing", format!("run {} has no verdict yet", run.id));
        let verdict: Verdict = self.store().latest_of_run(run.id.as_str())?.ok_or_else(none)?;
        if verdict.id.as_str() != decision.verdict_id {
            let message = format!("the verdict in force is {}, not the one that was shown", verdict.id);
            return Err(ServiceError::invalid("verdict_superseded", message));
        }
        Ok(verdict)
    }

    fn check(&self, run: &Run, verdict: &Verdict, decision: &Decision) -> Result<(), ServiceError> {
        let refuse = |code, message: String| Err(ServiceError::invalid(code, message));
        let draft = verdict.pr_eligibility == PrEligibility::DraftOnly;
        if verdict.pr_eligibility == PrEligibility::NotEligible {
            let message =
                format!("run {} is {}; it cannot be approved (AP-1)", run.id, verdict.pr_eligibility);
            return refuse("not_eligible", message);
        }
        let open = run.status == RunStatus::NeedsApproval || (draft && run.status == RunStatus::Completed);
        let taken: Option<Approval> = self.store().latest_of_run(run.id.as_str())?;
        if !open || taken.is_some_and(|taken| taken.verdict_id == verdict.id) {
            return refuse(
                "already_decided",
                format!("run {} is {} and waits for no decision", run.id, run.status),
            );
        }
        let patch = self.patch_digest(run)?;
        if patch.as_deref().unwrap_or_default() != decision.patch_digest {
            return refuse(
                "patch_changed",
                "the patch is not the one that was shown; load it again".to_owned(),
            );
        }
        let unseen = verdict.reasons.iter().find(|reason| {
            needs_acknowledgement(verdict, &reason.code) && !decision.acknowledged.contains(&reason.code)
        });
        match unseen {
            Some(reason) if decision.decision == ApprovalDecision::Approved => {
                refuse("not_acknowledged", format!("acknowledge first: {} ({})", reason.text, reason.code))
            }
            _ => Ok(()),
        }
    }

    fn patch_digest(&self, run: &Run) -> Result<Option<Sha256>, ServiceError> {
        let Some(patch) = self.patch_of(run)? else { return Ok(None) };
        let artifact: RunArtifact = self.store().record(patch.unified_diff_artifact.as_str())?;
        Ok(Some(artifact.sha256))
    }

    /// The patch in force of a run.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn patch_of(&self, run: &Run) -> Result<Option<Patch>, ServiceError> {
        match &run.patch_id {
            Some(id) => Ok(Some(self.store().record(id.as_str())?)),
            None => Ok(None),
        }
    }

    /// What an approval is bound to now (AP-2).
    ///
    /// # Errors
    /// The repository is gone, or a record is missing.
    pub fn binding(&self, run: &Run, verdict: &Verdict) -> Result<ApprovalBinding, ServiceError> {
        let missing =
            |what: &str| ServiceError::invalid("integrity_failure", format!("run {} has no {what}", run.id));
        let base_commit = run.base_commit.clone().ok_or_else(|| missing("base commit"))?;
        let repository = Repository::discover(Path::new(&run.repository))?;
        let base_tip = match &run.base_ref {
            Some(name) => repository.resolve(name)?,
            None => base_commit.clone(),
        };
        let policy = run.policy_decision.as_ref().ok_or_else(|| missing("policy decision"))?;
        let patch_sha256 = self.patch_digest(run)?;
        Ok(ApprovalBinding {
            patch_sha256: patch_sha256.ok_or_else(|| missing("patch"))?,
            base_commit,
            base_tip,
            evidence: verdict.evidence.clone(),
            execution_spec_sha256: run
                .execution_spec_sha256
                .clone()
                .ok_or_else(|| missing("execution spec"))?,
            policy_digest: policy.policy_digest.clone(),
        })
    }

    /// Records where a publication stands, with the event that tells of it.
    ///
    /// # Errors
    /// The run moved on meanwhile.
    pub fn publication(
        &self,
        run: &Run,
        publication: Publication,
        event: EventType,
    ) -> Result<Run, ServiceError> {
        let at = now();
        let data = Map::from_iter([
            ("branch".to_owned(), json!(publication.branch)),
            ("remote".to_owned(), json!(publication.remote)),
        ]);
        let with = Run { publication: Some(publication), updated_at: at, ..run.clone() };
        let mut change = Change::new();
        change.replace(run, &with)?;
        change.event(&self.event(event, Some(run), None, data, at))?;
        self.store().commit(&change)?;
        Ok(with)
    }
}
