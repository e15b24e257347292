//! Legal runs built by code: every body a mode needs, and a run that takes them in through the rules.
//!
//! The story: a mailer sends a reminder twice; `src/queue.rs` holds the cause.

use super::check;
use crate::controller::authority::{default_grants, denied_set, granted_set};
use crate::controller::{
    Code, Context, Env, OutcomeHint, Refusal, RepositoryPolicy, RunPhase, RunState, RunStatus, RunView,
    Stored,
};
use crate::protocol::wire::Reader;
use crate::protocol::{
    ActionCapability, AuditDecision, Body, IntentMode, Kind, PermissionSet, PromptDecision, PromptReview,
    QualityDecision, QualityReview, ReleaseAudit, Wire,
};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) const RUN: &str = "run-1";
pub(super) const SOURCE: &str = "repo://src/queue.rs";
pub(super) const RULES: &str = "repo://AGENTS.md";

/// `artifact://run-1/<id>`.
pub(super) fn at(id: &str) -> String {
    format!("artifact://{RUN}/{id}")
}

/// A body that is about to be submitted.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub kind: Kind,
    pub value: Value,
    /// References beside those of the body.
    pub cited: Vec<String>,
}

impl Draft {
    pub fn new(kind: Kind, value: Value) -> Self {
        Self { kind, value, cited: Vec::new() }
    }

    /// Replaces what stands at a JSON pointer; `-` appends to a list.
    pub fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer starts with a slash");
        let parent = self.value.pointer_mut(parent).unwrap_or_else(|| panic!("no place {pointer}"));
        match parent {
            Value::Array(list) if key == "-" => list.push(value.into()),
            Value::Array(list) => list[key.parse::<usize>().expect("an index")] = value.into(),
            Value::Object(object) => {
                assert!(object.insert(key.to_owned(), value.into()).is_some(), "no field {pointer}");
            }
            other => panic!("{pointer} lies in {other}"),
        }
        self
    }

    pub fn id(self, id: &str) -> Self {
        self.set("/id", id)
    }

    pub fn citing(mut self, ids: &[&str]) -> Self {
        self.cited = ids.iter().map(|id| at(id)).collect();
        self
    }

    /// The body, which must satisfy its schema.
    pub fn body(&self) -> Body {
        Body::read(self.kind, &self.value).unwrap_or_else(|faults| panic!("{}: {faults:?}", self.kind))
    }

    /// The body although a schema rule forbids it, to show that the controller does not rely on the schema.
    pub fn forced<T: Wire + Into<Body>>(&self) -> Body {
        T::decode(Some(&self.value), &mut Reader::default()).expect("no structural fault").into()
    }
}

/// A run that takes in drafts.
#[derive(Clone)]
pub(super) struct Run {
    pub view: RunView,
    pub policy: Option<RepositoryPolicy>,
}

impl Run {
    /// A run in a mode with its default grants, plus what is given.
    pub fn start(mode: IntentMode, more: &[ActionCapability]) -> Self {
        let mut granted = default_grants(mode).to_vec();
        granted.extend(more);
        Self::granting(mode, &granted_set(&granted, &["cargo test".into()], &["mail.example".into()]), &[])
    }

    pub fn granting(mode: IntentMode, granted: &PermissionSet, denied: &[ActionCapability]) -> Self {
        let run = RunState {
            run_id: RUN.into(),
            repository_root: "/repository".into(),
            mode,
            status: RunStatus::Running,
            phase: RunPhase::Frame,
            resume_phase: None,
            version: 1,
            prompt_revisions_remaining: 1,
            remediations_remaining: 1,
            outcome_hint: None,
            created_at: "2031-05-06T07:08:09.000Z".into(),
            updated_at: "2031-05-06T07:08:09.000Z".into(),
        };
        let mut it = Self { view: RunView::new(run), policy: None };
        it.message("msg-1", "Why is the reminder sent twice?", &[]);
        let envelope = json!({
            "schemaVersion": "1.0", "runId": RUN, "createdAt": "2031-05-06T07:08:09.000Z",
            "originalRequestRef": at("msg-1"), "followupRequestRefs": [], "requestedMode": mode.as_str(),
            "status": "active",
            "workingContext": { "repositoryRoot": "/repository", "activeFiles": [], "applicableRuleRefs": [] },
            "host": { "name": "shell", "version": null, "nativeSubagents": "available", "capabilities": [] },
            "authorization": { "granted": granted.encode(), "denied": denied_set(denied).encode() },
            "budgets": {
                "promptRevisions": 1, "postExecutionRemediations": 1,
                "maximumParallelWorkers": 3, "maximumSubagentDepth": 1
            },
            "policyRefs": []
        });
        it.put(RUN, &Draft::new(Kind::RunEnvelope, envelope).body(), &[]);
        it
    }

    /// What the user says.
    pub fn message(&mut self, id: &str, content: &str, cited: &[&str]) {
        let value = json!({ "schemaVersion": "1.0", "id": id, "runId": RUN, "content": content });
        let cited: Vec<String> = cited.iter().map(|id| at(id)).collect();
        self.put(id, &Draft::new(Kind::UserMessage, value).body(), &cited);
    }

    /// Stores a body without asking any rule.
    pub fn put(&mut self, id: &str, body: &Body, cited: &[String]) {
        let producer = body.kind().producer().map_or("scenario_author", |role| role.as_str());
        self.view.push(Arc::new(Stored {
            id: id.into(),
            kind: Some(body.kind()),
            producer: producer.into(),
            source_refs: cited.to_vec(),
            sha256: String::new(),
            redaction: "none".into(),
            created_at: "2031-05-06T07:08:09.000Z".into(),
            body: Some(Arc::new(body.clone())),
        }));
    }

    pub fn evidence(mut self, id: &str, kind: &str) -> Self {
        let value = json!({
            "schemaVersion": "1.0", "id": id, "runId": RUN, "kind": kind, "capturedAt": "2031-05-06T07:08Z",
            "summary": "What was seen.", "contentType": "text/plain", "encoding": "utf8", "content": "retry(); send();",
            "sourceRefs": [SOURCE], "redactions": [], "rationaleSummary": "Copied."
        });
        self.put(id, &Draft::new(Kind::Evidence, value).body(), &[]);
        self
    }

    fn phase_of(&self, kind: Kind) -> RunPhase {
        match kind {
            Kind::ProblemFrame => RunPhase::Frame,
            Kind::TaskContract if self.view.latest(Kind::PromptReview).is_some() => RunPhase::Revise,
            Kind::TaskContract => RunPhase::Compile,
            Kind::PromptReview => RunPhase::PromptReview,
            Kind::WorkPlan => RunPhase::Plan,
            Kind::WorkResult => RunPhase::Execute,
            Kind::QualityReview => RunPhase::QualityReview,
            Kind::ReleaseAudit => RunPhase::Audit,
            _ => RunPhase::Report,
        }
    }

    /// Asks the rules about a body in the phase of its type.
    pub fn ask(&self, body: &Body, cited: &[String]) -> Result<(), Refusal> {
        let mut view = self.view.clone();
        view.run.phase = self.phase_of(body.kind());
        let env = Env { policy: self.policy.as_ref(), ..Env::none() };
        check(body, &Context::new(&view, env, cited))
    }

    /// How a draft is refused: code and rule.
    pub fn refused(&self, draft: &Draft) -> (Code, &'static str) {
        self.refusal(draft).0
    }

    /// How a draft is refused: code and rule, then the refusal itself.
    pub fn refusal(&self, draft: &Draft) -> ((Code, &'static str), Refusal) {
        let refusal = self.ask(&draft.body(), &draft.cited).expect_err("the draft must be refused");
        ((refusal.code, refusal.rule.expect("a rule refuses")), refusal)
    }

    /// Takes in a legal draft and moves the parts of the run record that rules look at.
    #[must_use]
    pub fn accept(mut self, draft: &Draft) -> Self {
        let body = draft.body();
        if let Err(refusal) = self.ask(&body, &draft.cited) {
            panic!("{} refused: {:?} {:?} {refusal}", draft.kind, refusal.rule, refusal.path);
        }
        let id = draft.value["id"].as_str().expect("an id").to_owned();
        self.put(&id, &body, &draft.cited);
        let stored = self.view.get(&id).cloned().expect("just stored");
        let run = &mut self.view.run;
        if stored.read::<PromptReview>().is_some_and(|it| it.decision == PromptDecision::Block) {
            run.outcome_hint = Some(OutcomeHint::Blocked);
        }
        let again =
            stored.read::<QualityReview>().is_some_and(|it| it.decision == QualityDecision::Remediate)
                || stored.read::<ReleaseAudit>().is_some_and(|it| it.decision == AuditDecision::Remediate);
        if again {
            run.remediations_remaining = 0;
        }
        self
    }
}

/// Whether a mode executes what it plans.
pub(super) fn executes(mode: IntentMode) -> bool {
    !matches!(mode, IntentMode::ReportOnly | IntentMode::PlanOnly)
}

/// Runs of a mode up to and without a type.
pub(super) fn framing(mode: IntentMode) -> Run {
    Run::start(mode, &[])
}

pub(super) fn compiling(mode: IntentMode) -> Run {
    framing(mode).accept(&super::bodies::frame(mode))
}

pub(super) fn reviewing(mode: IntentMode) -> Run {
    compiling(mode).accept(&super::bodies::contract(mode))
}

pub(super) fn planning(mode: IntentMode) -> Run {
    reviewing(mode).accept(&super::bodies::review())
}

pub(super) fn executing(mode: IntentMode) -> Run {
    planning(mode)
        .accept(&super::bodies::plan(mode))
        .evidence("ev-look", "repository")
        .evidence("ev-diff", "diff")
}

pub(super) fn judging(mode: IntentMode) -> Run {
    if executes(mode) { executing(mode).accept(&super::bodies::result(mode)) } else { executing(mode) }
}

/// An analyse-and-fix run whose diagnosis let the fix begin.
pub(super) fn replanning() -> Run {
    let mode = IntentMode::AnalyzeAndFix;
    judging(mode).accept(&super::bodies::quality(mode))
}

pub(super) fn correcting() -> Run {
    replanning().accept(&super::bodies::correction_plan()).evidence("ev-after", "repository")
}

pub(super) fn judging_correction() -> Run {
    correcting().accept(&super::bodies::correction_result())
}

/// Any mode, up to its audit.
pub(super) fn auditing(mode: IntentMode) -> Run {
    if mode == IntentMode::AnalyzeAndFix {
        judging_correction().accept(&super::bodies::correction_quality())
    } else {
        judging(mode).accept(&super::bodies::quality(mode))
    }
}

pub(super) fn reporting(mode: IntentMode) -> Run {
    auditing(mode).accept(&super::bodies::audit(mode))
}
