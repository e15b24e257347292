//! The use cases of the workflow: start, ground, submit, answer, cancel, read.
//!
//! Each one loads the run's view, asks the controller, and commits what it accepts in one transaction that is
//! guarded by the version the caller saw. The next action is computed from the prospective state before the
//! commit (W-13), so an accepted submission is never answered with an error.

use super::ServiceError;
use super::clock::{fresh, now};
use super::facts::FileSystem;
use super::views::{Views, run_record, run_state};
use crate::controller::{
    self, Accepted, Code, Effect, Env, Grounding, NewArtifact, NewEvent, Refusal, RepositoryPolicy, RunState,
    RunView, Schemas, SlotQuota, Stamp, StartInput, Submission, Tokens,
};
use crate::domain::{ExecutionSpec, Run};
use crate::grounding::secrets::likely_credential_in_bytes;
use crate::grounding::{self, Budget, GroundingInput, Watch};
use crate::protocol::{ContextManifest, IntentMode, Kind, NextAction, UserMessage, Wire};
use crate::store::{
    ArtifactRecord, Body, BudgetSnapshot, Change, Digest, EventRecord, NewArtifact as StoredArtifact,
    NewEvent as StoredEvent, Op, Quota, RunCursor, SCHEMA_VERSION, Store, StoreError,
};
use serde::Deserialize as _;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs that are looked at together where those of one repository are listed.
const PAGE: u32 = 100;

/// The workflow of one repository in one store.
#[derive(Clone, Debug)]
pub struct Workflow {
    views: Arc<Views>,
    root: PathBuf,
    schemas: Schemas,
    cancelled: Arc<AtomicBool>,
}

/// What an accepted operation came to.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The run afterwards.
    pub run: RunState,
    /// What it wants next.
    pub next: NextAction,
    /// The artifact that was stored or replayed, for a supporting one.
    pub artifact: Option<ArtifactRecord>,
    /// Notes that are no reason to refuse.
    pub warnings: Vec<String>,
    /// Whether anything was written.
    pub changed: bool,
}

impl Workflow {
    /// The workflow of the repository with this canonical root.
    #[must_use]
    pub fn new(views: Arc<Views>, root: PathBuf, schemas: Schemas) -> Self {
        Self { views, root, schemas, cancelled: Arc::default() }
    }

    /// The same workflow for one call: once the flag is true nothing is written any more (`mcp.md` 14, 9).
    #[must_use]
    pub fn until(&self, cancelled: Arc<AtomicBool>) -> Self {
        Self { cancelled, ..self.clone() }
    }

    /// The same workflow with schemas inside next actions written in another way.
    #[must_use]
    pub fn writing(&self, schemas: Schemas) -> Self {
        Self { schemas, ..self.clone() }
    }

    /// How schemas inside next actions are written.
    #[must_use]
    pub fn schemas(&self) -> Schemas {
        self.schemas
    }

    /// The canonical root of the repository.
    #[must_use]
    pub fn root(&self) -> &std::path::Path {
        &self.root
    }

    /// The run views.
    #[must_use]
    pub fn views(&self) -> &Arc<Views> {
        &self.views
    }

    fn store(&self) -> &Store {
        self.views.store()
    }

    fn stamp() -> Stamp {
        Stamp::new(now().to_string(), fresh().to_string())
    }

    /// Starts a run with a fresh id.
    ///
    /// # Errors
    /// The controller refuses the request or the grant; nothing is written then.
    pub fn start(&self, input: &StartInput) -> Result<Answer, ServiceError> {
        self.start_stamped(input, &Self::stamp())
    }

    /// Starts the workflow of a run that the supervision has made already, under its id.
    ///
    /// # Errors
    /// As [`Workflow::start`].
    pub fn start_as(&self, input: &StartInput, run_id: &str) -> Result<Answer, ServiceError> {
        let word = run_id.strip_prefix("run_").unwrap_or(run_id);
        self.start_stamped(input, &Stamp::new(now().to_string(), word))
    }

    fn start_stamped(&self, input: &StartInput, stamp: &Stamp) -> Result<Answer, ServiceError> {
        let accepted = controller::start(input, stamp, &FileSystem)?;
        self.commit(None, accepted)
    }

    /// Selects the sources of a run, stores them and the manifest in one transaction. Returns the manifest's
    /// body beside the answer.
    ///
    /// # Errors
    /// The tokens are stale, the run was grounded already, an argument does not hold, time is up.
    pub fn ground(
        &self,
        run_id: &str,
        tokens: &Tokens,
        active_paths: Vec<String>,
        budget: Budget,
        watch: Watch,
    ) -> Result<(Answer, Value), ServiceError> {
        let view = self.own_view(run_id)?;
        controller::check_groundable(&view, tokens)?;
        let policy = self.policy(run_id)?;
        let input = GroundingInput {
            active_paths,
            excluded_roots: self.excluded_roots(),
            budget,
            mode_report_only: view.run.mode == IntentMode::ReportOnly,
            may_read: controller::may_ground_repository(&view, policy.as_ref()),
            input_refs: controller::input_refs(&view)?,
            watch,
            ..GroundingInput::new(run_id, &view.run.repository_root, request_of(&view))
        };
        let found = grounding::ground(&input).map_err(|error| ServiceError::invalid(error.code(), error))?;
        let manifest: ContextManifest = typed(&found.manifest)?;
        let documents =
            found.documents.iter().map(|document| typed(&document.body)).collect::<Result<_, _>>()?;
        let secrets = |bytes: &[u8]| likely_credential_in_bytes(bytes).map(|hit| hit.rule.to_string());
        let env = Env { facts: &FileSystem, secrets: &secrets, policy: policy.as_ref() };
        let grounding = Grounding { manifest, documents };
        let accepted = controller::ground(&view, tokens, grounding, &Self::stamp(), &env)?;
        Ok((self.commit(Some(&view), accepted)?, found.manifest))
    }

    /// The state directory, unless it holds the repository: a workspace that telic prepared lies in it.
    fn excluded_roots(&self) -> Vec<PathBuf> {
        let state = self.store().state_dir();
        if self.root.starts_with(state) { Vec::new() } else { vec![state.to_owned()] }
    }

    /// Takes in an artifact or an answer. A refusal that denied an action leaves its denial in the trace.
    ///
    /// # Errors
    /// The controller refuses, with a code and a rule.
    pub fn submit(&self, run_id: &str, submission: &Submission) -> Result<Answer, ServiceError> {
        let view = self.own_view(run_id)?;
        self.submit_to(&view, submission)
    }

    fn submit_to(&self, view: &RunView, submission: &Submission) -> Result<Answer, ServiceError> {
        let policy = self.policy(&view.run.run_id)?;
        let secrets = |bytes: &[u8]| likely_credential_in_bytes(bytes).map(|hit| hit.rule.to_string());
        let env = Env { facts: &FileSystem, secrets: &secrets, policy: policy.as_ref() };
        let stamp = Self::stamp();
        match controller::submit(view, submission, &stamp, &env) {
            Ok(accepted) => self.commit(Some(view), accepted),
            Err(refusal) => {
                self.record_denial(view, &refusal, &stamp);
                Err(refusal.into())
            }
        }
    }

    /// Answers the open question in the name of the user, at the version that was shown.
    ///
    /// # Errors
    /// The run moved on, or waits for nothing; nothing is written then.
    pub fn answer(&self, run_id: &str, choice: &str, expected_version: i64) -> Result<Answer, ServiceError> {
        let view = self.views.view(run_id)?;
        let tokens = Tokens { action_id: controller::action_id(&view.run), expected_version };
        self.submit_to(&view, &Submission::answer(tokens, choice))
    }

    /// Ends a run at the user's wish. A run that had ended stays as it is.
    ///
    /// # Errors
    /// The tokens are stale.
    pub fn cancel(&self, run_id: &str, tokens: &Tokens) -> Result<Answer, ServiceError> {
        let view = self.own_view(run_id)?;
        self.cancel_view(&view, tokens)
    }

    /// Ends a run of any repository of the store, at the version that was shown.
    ///
    /// # Errors
    /// The run moved on meanwhile.
    pub fn cancel_at(&self, run_id: &str, expected_version: i64) -> Result<Answer, ServiceError> {
        let view = self.views.view(run_id)?;
        let tokens = Tokens { action_id: controller::action_id(&view.run), expected_version };
        self.cancel_view(&view, &tokens)
    }

    fn cancel_view(&self, view: &RunView, tokens: &Tokens) -> Result<Answer, ServiceError> {
        let accepted = controller::cancel(view, tokens, &Self::stamp())?;
        self.commit(Some(view), accepted)
    }

    /// The view of a run.
    ///
    /// # Errors
    /// The run is not there.
    pub fn view(&self, run_id: &str) -> Result<Arc<RunView>, ServiceError> {
        self.views.view(run_id)
    }

    /// What a run wants next.
    ///
    /// # Errors
    /// The run is not there, or its artifacts do not fit its state.
    pub fn next_action(&self, view: &RunView) -> Result<NextAction, ServiceError> {
        let policy = self.policy(&view.run.run_id)?;
        Ok(controller::next_action(view, policy.as_ref(), self.schemas)?)
    }

    /// The newest runs of this repository, and what else there is to say: rows that cannot be read, and that runs of
    /// other repositories were left out (`mcp.md` 14, 12).
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn runs(&self, limit: u32) -> Result<(Vec<RunState>, Vec<String>), ServiceError> {
        let (mut runs, mut notes, mut foreign) = (Vec::new(), Vec::new(), 0_usize);
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut cursor = None;
        loop {
            let page = self.store().runs_after(cursor.as_ref(), PAGE.max(limit))?;
            notes.extend(page.refused.iter().map(|(id, error)| format!("run {id}: {error}")));
            for record in &page.items {
                if runs.len() == wanted {
                    break;
                }
                match run_state(record) {
                    Ok(run) if self.owns(&run) => runs.push(run),
                    Ok(_) => foreign += 1,
                    Err(error) => notes.push(error.to_string()),
                }
            }
            cursor = page.items.last().map(RunCursor::of);
            let read = page.items.len() + page.refused.len();
            if runs.len() == wanted || cursor.is_none() || read < PAGE.max(limit) as usize {
                break;
            }
        }
        if foreign > 0 {
            notes.push(format!("{foreign} runs of other repositories in this store are not listed"));
        }
        Ok((runs, notes))
    }

    /// Whether a run works on the repository of this workflow.
    fn owns(&self, run: &RunState) -> bool {
        std::path::Path::new(&run.repository_root) == self.root
    }

    /// The metadata of every artifact of a run, in ledger order.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn artifacts(&self, run_id: &str) -> Result<Vec<ArtifactRecord>, ServiceError> {
        Ok(self.store().artifacts(run_id)?)
    }

    /// The metadata and the body of an artifact, its digest checked.
    ///
    /// # Errors
    /// There is no such artifact, or its body is missing or damaged.
    pub fn artifact(
        &self,
        run_id: &str,
        id: &str,
    ) -> Result<(ArtifactRecord, Arc<serde_json::Value>), ServiceError> {
        self.store().run(run_id)?;
        let record = self.store().artifact(run_id, id)?;
        let body = self.store().body(&record)?;
        Ok((record, body))
    }

    /// Events of a run after a sequence, one more than `limit` when there are more.
    ///
    /// # Errors
    /// The run is not there.
    pub fn events(&self, run_id: &str, after: i64, limit: u32) -> Result<Vec<EventRecord>, ServiceError> {
        self.store().run(run_id)?;
        Ok(self.store().events(run_id, after, limit)?)
    }

    /// The view of a run of this repository; a run of another one is not changed from here (`mcp.md` 14, 12).
    pub fn own_view(&self, run_id: &str) -> Result<Arc<RunView>, ServiceError> {
        let view = self.views.view(run_id)?;
        if self.owns(&view.run) {
            return Ok(view);
        }
        let message =
            format!("run {run_id} belongs to another repository; start the server there to work on it");
        Err(ServiceError::invalid("foreign_repository", message))
    }

    /// The policy term of a run: what its execution spec was frozen with; a run without one has no policy.
    fn policy(&self, run_id: &str) -> Result<Option<RepositoryPolicy>, ServiceError> {
        let run: Option<Run> = self.store().find_record(run_id)?;
        let Some(sha256) = run.and_then(|run| run.execution_spec_sha256) else { return Ok(None) };
        let document = self.store().document(&Digest::parse(&sha256)?)?;
        let spec = ExecutionSpec::deserialize(&*document).map_err(|error| {
            ServiceError::invalid("integrity_failure", format!("execution spec: {error}"))
        })?;
        Ok(Some(policy_of(&spec)))
    }

    fn record_denial(&self, view: &RunView, refusal: &Refusal, stamp: &Stamp) {
        let Some(event) = controller::denial_event(view, refusal, stamp) else { return };
        let change = Change::new().and(Op::AppendEventOnce(stored_event(&view.run.run_id, event)));
        // The refusal stands whether or not its trace could be written.
        if let Err(error) = self.store().commit(&change) {
            tracing::warn!(%error, "a denial could not be recorded");
        }
    }

    fn commit(&self, before: Option<&RunView>, accepted: Accepted) -> Result<Answer, ServiceError> {
        let run_id = accepted.run.run_id.clone();
        let policy = self.policy(&run_id)?;
        let next = controller::next_action(&accepted.preview(before), policy.as_ref(), self.schemas)?;
        let mut answer = Answer {
            run: accepted.run.clone(),
            next,
            artifact: None,
            warnings: accepted.warnings.clone(),
            changed: accepted.changes(),
        };
        match &accepted.effect {
            Effect::Nothing => return Ok(answer),
            Effect::Replay(id) => {
                answer.artifact = Some(self.store().artifact(&run_id, id)?);
                return Ok(answer);
            }
            _ => {}
        }
        if self.cancelled.load(Ordering::SeqCst) {
            let message = "the call was cancelled; nothing was written";
            return Err(ServiceError::invalid("cancelled", message));
        }
        let supports = matches!(accepted.effect, Effect::Support(_));
        let change = change_of(accepted)?;
        let committed = self.store().commit(&change).map_err(|error| lost_race(error, &run_id))?;
        if supports {
            answer.artifact = committed.artifacts().next().cloned();
        }
        Ok(answer)
    }
}

/// The words that the run began with.
fn request_of(view: &RunView) -> String {
    let first = view.all::<UserMessage>(Kind::UserMessage).next();
    first.map_or_else(String::new, |(_, message)| message.content.to_string())
}

/// A body of our own making as its type.
fn typed<T: Wire>(value: &Value) -> Result<T, ServiceError> {
    crate::protocol::wire::read(value).map_err(|faults| {
        let fault = faults.first().map_or_else(String::new, ToString::to_string);
        ServiceError::invalid(
            "integrity_failure",
            format!("grounding made a body that is not valid: {fault}"),
        )
    })
}

/// The policy term that an execution spec was frozen with.
#[must_use]
pub fn policy_of(spec: &ExecutionSpec) -> RepositoryPolicy {
    RepositoryPolicy {
        modes: spec.tool_policy.modes.clone(),
        deny: spec.tool_policy.deny.clone(),
        shell_execute: spec.tool_policy.shell_execute.clone(),
        read_domains: spec.tool_policy.read_domains.clone(),
    }
}

/// A version that another writer moved between reading and writing (C-SB-23).
fn lost_race(error: StoreError, run_id: &str) -> ServiceError {
    match error {
        StoreError::ConcurrentUpdate { .. } => {
            let message = format!("run {run_id} was changed by another writer; load its next action again");
            Refusal::new(Code::ConcurrentUpdate, "C-SB-23", message).into()
        }
        other => other.into(),
    }
}

/// One transaction (`store.md` 7).
fn change_of(accepted: Accepted) -> Result<Change, ServiceError> {
    let run_id = accepted.run.run_id.clone();
    let mut change = Change::new();
    let mut events = accepted.events.into_iter().map(|event| stored_event(&run_id, event));
    match accepted.effect {
        Effect::Start => {
            change.push(Op::InsertRun(run_record(&accepted.run)));
            for artifact in &accepted.artifacts {
                change.push(Op::InsertInitialArtifact(stored_artifact(&run_id, artifact)?));
            }
        }
        Effect::Move => {
            // First the version: who lost a race is told so, and not that an artifact exists (C-SB-23).
            let (expected_version, run) = (accepted.expected_version, run_record(&accepted.run));
            change.push(Op::UpdateRun { expected_version, run });
            for artifact in &accepted.artifacts {
                change.push(Op::InsertArtifact(stored_artifact(&run_id, artifact)?));
            }
        }
        Effect::Support(quota) => {
            for (artifact, event) in accepted.artifacts.iter().zip(events.by_ref()) {
                let artifact = stored_artifact(&run_id, artifact)?;
                change.push(Op::Supporting { artifact, quota: Some(stored_quota(&quota)), event });
            }
        }
        Effect::Replay(_) | Effect::Nothing => {}
    }
    for event in events {
        change.push(Op::AppendEvent(event));
    }
    Ok(change)
}

fn stored_quota(quota: &SlotQuota) -> Quota {
    match quota {
        SlotQuota::AfterLatest(kind, limit) => {
            Quota::AfterLatest { after: kind.as_str().to_owned(), limit: *limit }
        }
        SlotQuota::OnePer(field, value) => {
            Quota::WithField { field: (*field).to_owned(), value: value.clone(), limit: 1 }
        }
    }
}

fn stored_artifact(run_id: &str, artifact: &NewArtifact) -> Result<StoredArtifact, ServiceError> {
    Ok(StoredArtifact {
        artifact_id: artifact.id.clone(),
        run_id: run_id.to_owned(),
        kind: artifact.kind.as_str().to_owned(),
        schema_version: SCHEMA_VERSION.to_owned(),
        producer: artifact.producer.clone(),
        source_refs: artifact.source_refs.clone(),
        redaction: artifact.redaction.as_str().to_owned(),
        created_at: artifact.created_at.clone(),
        body: Body::new(&artifact.body.encode())?,
    })
}

fn stored_event(run_id: &str, event: NewEvent) -> StoredEvent {
    StoredEvent {
        event_id: event.id,
        run_id: run_id.to_owned(),
        timestamp: event.timestamp,
        actor: event.actor,
        phase: event.phase.as_str().to_owned(),
        event_type: event.event_type.as_str().to_owned(),
        input_refs: event.input_refs,
        output_refs: event.output_refs,
        permission_decision: event.decision.as_ref().map(crate::protocol::Wire::encode),
        decision_summary: event.summary,
        budget_snapshot: BudgetSnapshot {
            prompt_revisions_remaining: event.prompt_revisions_remaining,
            remediations_remaining: event.remediations_remaining,
        },
    }
}
