//! Publishing: one branch with one commit, pushed to the remote, and what to do next (`execution.md`).
//!
//! Nothing is published without a verdict that allows it, and, where a person is asked, an approval that still
//! holds (AP-2). Asking twice makes one branch. Nothing is pushed to the base branch, nothing is forced.

use super::EngineError;
use super::shop::Shop;
use crate::domain::{
    Approval, EventType, ExecutionSpec, PrEligibility, Publication as Record, PublicationStatus, Run, Task,
    Verdict,
};
use crate::git::{CommitText, Identity, Publication, Remote, Repository};
use crate::service::ServiceError;
use crate::service::clock::now;
use crate::service::publication::{Plan, commit_message, plan};
use std::path::Path;

/// Publishes a run and says what was done.
///
/// # Errors
/// The verdict does not allow it, the approval does not hold any more, or git failed; the failure is recorded.
pub(super) fn publish(shop: &Shop, run_id: &str) -> Result<Run, EngineError> {
    let supervision = &shop.supervision;
    let run = supervision.run(run_id)?;
    if run.publication.as_ref().is_some_and(|publication| publication.status.is_out()) {
        return Ok(run);
    }
    let task: Task = shop.store().record(run.task_id.as_str()).map_err(ServiceError::from)?;
    let verdict: Option<Verdict> = shop.store().latest_of_run(run_id).map_err(ServiceError::from)?;
    let verdict = verdict.ok_or_else(|| EngineError::missing(run_id, "verdict"))?;
    let approved_by = may_publish(shop, &run, &verdict)?;
    let spec = supervision.spec(&run)?;
    let plan = plan(&task.title, &run, &spec);
    let asked = record(&plan, &verdict, PublicationStatus::Requested);
    let run = supervision.publication(&run, asked, EventType::PrRequested)?;
    match push(shop, &run, &task, &verdict, &spec, &plan, approved_by.as_deref()) {
        Ok(done) => Ok(supervision.publication(&run, done, EventType::PrCreated)?),
        Err(error) => {
            let mut failed = record(&plan, &verdict, PublicationStatus::Failed);
            failed.failure = Some(error.to_string());
            supervision.publication(&run, failed, EventType::PrFailed)?;
            Err(error)
        }
    }
}

/// Who approved, when a person had to.
fn may_publish(shop: &Shop, run: &Run, verdict: &Verdict) -> Result<Option<String>, EngineError> {
    let refuse = |code, message: String| Err(ServiceError::invalid(code, message).into());
    if run.patch_id.is_none() || verdict.pr_eligibility == PrEligibility::NotEligible {
        let message = format!("run {} is {}; it cannot be published", run.id, verdict.pr_eligibility);
        return refuse("not_eligible", message);
    }
    if verdict.pr_eligibility == PrEligibility::EligibleForAutoPr {
        return Ok(None);
    }
    let approval: Option<Approval> =
        shop.store().latest_of_run(run.id.as_str()).map_err(ServiceError::from)?;
    let Some(approval) = approval else {
        return refuse("not_approved", format!("run {} was not approved by a person", run.id));
    };
    let now = shop.supervision.binding(run, verdict)?;
    match approval.lets_publish(verdict, &now) {
        Ok(()) => Ok(Some(approval.actor)),
        Err(reasons) => {
            let why: Vec<&str> = reasons.iter().map(|reason| reason.text.as_str()).collect();
            refuse("approval_stale", format!("the approval does not hold: {}", why.join("; ")))
        }
    }
}

fn record(plan: &Plan, verdict: &Verdict, status: PublicationStatus) -> Record {
    let at = now();
    Record {
        status,
        remote: plan.remote.clone(),
        branch: plan.branch.clone(),
        commit: None,
        url: None,
        next_commands: Vec::new(),
        draft: plan.draft || verdict.pr_eligibility == PrEligibility::DraftOnly,
        body_sha256: None,
        verdict_id: verdict.id.clone(),
        failure: None,
        requested_at: at,
        updated_at: at,
    }
}

fn push(
    shop: &Shop,
    run: &Run,
    task: &Task,
    verdict: &Verdict,
    spec: &ExecutionSpec,
    plan: &Plan,
    approved_by: Option<&str>,
) -> Result<Record, EngineError> {
    let supervision = &shop.supervision;
    let repository = Repository::discover(Path::new(&run.repository))?;
    let remote = remote(&repository, &plan.remote)?;
    let base = spec.base_commit.clone().ok_or_else(|| EngineError::missing(&run.id, "base commit"))?;
    let patch = supervision.patch_of(run)?.ok_or_else(|| EngineError::missing(&run.id, "patch"))?;
    let artifact: crate::domain::RunArtifact =
        shop.store().record(patch.unified_diff_artifact.as_str()).map_err(ServiceError::from)?;
    let diff = supervision.bytes(&artifact.sha256)?;
    let author = Identity {
        name: repository.user_name()?.unwrap_or_else(|| supervision.actor().to_owned()),
        email: repository.user_email()?.unwrap_or_else(|| "telic@localhost".to_owned()),
    };
    let text = CommitText {
        message: commit_message(plan, task, verdict, approved_by),
        committer: author.clone(),
        author,
        // The verdict's time, so that publishing twice makes the same commit.
        seconds: verdict.decided_at.as_millis() / 1000,
    };
    let scratch = shop.store().workspaces_dir().map_err(ServiceError::from)?.join(".scratch");
    let publication = Publication::prepare(&repository, &base, &diff, None, &text, &scratch)?;
    publication.push(remote.push_address(), &plan.branch, spec.base_ref.as_deref())?;
    let mut done = record(plan, verdict, PublicationStatus::Pushed);
    done.commit = Some(publication.commit().clone());
    let base_branch = spec.base_ref.as_deref().unwrap_or("HEAD");
    done.url = remote.forge().map(|forge| forge.compare_url(base_branch, &plan.branch));
    done.next_commands = match &done.url {
        Some(url) => vec![format!("open {url}")],
        None => vec![format!("git fetch {} {}", plan.remote, plan.branch)],
    };
    Ok(done)
}

fn remote(repository: &Repository, name: &str) -> Result<Remote, EngineError> {
    let remotes = repository.remotes()?;
    let known: Vec<String> = remotes.iter().map(|remote| remote.name.clone()).collect();
    remotes.into_iter().find(|remote| remote.name == name).ok_or_else(|| {
        let there = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        ServiceError::invalid(
            "remote_missing",
            format!("the repository has no remote {name:?}; there is {there}"),
        )
        .into()
    })
}
