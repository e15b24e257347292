//! Plays a script of the replay agent without server, store or repository.

use crate::controller::{
    Accepted, Code, Effect, Env, EventKey, Grounding, NewEvent, NoFacts, Refusal, RunView, Stamp, StartInput,
    Stored, Submission, Tokens, ground, start, submit,
};
use crate::protocol::{IntentMode, Kind, PermissionSet, Wire};
use serde_json::{Value, json};
use std::sync::Arc;

/// The scripts, by name.
pub(super) fn script(name: &str) -> Value {
    let text = match name {
        "analyze" => include_str!("../../../assets/replay/analyze.json"),
        "fix" => include_str!("../../../assets/replay/fix.json"),
        "forbidden" => include_str!("../../../assets/replay/forbidden.json"),
        other => panic!("no script {other:?}"),
    };
    serde_json::from_str(text).unwrap()
}

/// Paths that a script's grounding selects.
const SOURCES: [&str; 4] =
    ["AGENTS.md", "lib/shipping.sh", "tests/shipping_test.sh", ".github/workflows/ci.yml"];

/// A run that is being played.
#[derive(Clone)]
pub(super) struct Play {
    pub(super) view: RunView,
    pub(super) events: Vec<NewEvent>,
    steps: Vec<Value>,
    count: u32,
}

impl Play {
    /// Starts a script's run.
    pub(super) fn start(name: &str) -> Self {
        let script = script(name);
        let begin = &script["start"];
        let words = |key: &str| -> Vec<String> {
            let entries = begin[key].as_array().into_iter().flatten();
            entries.map(|entry| entry.as_str().unwrap().to_owned()).collect()
        };
        let mode: IntentMode = begin["mode"].as_str().unwrap().parse().unwrap();
        let mut input = StartInput::new(begin["original_request"].as_str().unwrap(), mode, "/r");
        input.host_capabilities = words("host_capabilities");
        input.granted = Some(words("authorization_granted"));
        input.shell_execute_allowlist = words("shell_execute_allowlist");
        let accepted = start(&input, &stamp(0), &NoFacts).unwrap();
        let steps = script["steps"].as_array().unwrap().iter();
        let steps = steps.filter(|step| step.get("ground").is_some() || step.get("submit").is_some());
        let mut play = Self {
            view: RunView::new(accepted.run.clone()),
            events: Vec::new(),
            steps: steps.rev().cloned().collect(),
            count: 0,
        };
        play.apply(&accepted);
        play
    }

    /// Plays a script to its end.
    pub(super) fn whole(name: &str) -> Self {
        let mut play = Self::start(name);
        while play.step().is_some() {}
        play
    }

    /// Plays a script until the next submission is of this type; `nth` counts from 1.
    pub(super) fn before(name: &str, kind: Kind, nth: usize) -> Self {
        let mut play = Self::start(name);
        let mut met = 0;
        loop {
            met += usize::from(play.upcoming() == Some(kind));
            if met == nth {
                return play;
            }
            play.step().unwrap_or_else(|| panic!("{name} has no {kind} number {nth}"));
        }
    }

    /// The type of the next submission.
    pub(super) fn upcoming(&self) -> Option<Kind> {
        let step = self.steps.last()?;
        step.get("submit").map_or(Some(Kind::ContextManifest), |submit| {
            submit["artifact_type"].as_str().map(|kind| kind.parse().unwrap())
        })
    }

    /// Takes the next step, which must be accepted; a question is answered with its first choice.
    pub(super) fn step(&mut self) -> Option<Accepted> {
        let kind = self.upcoming()?;
        let accepted = if kind == Kind::ContextManifest {
            let grounding = self.grounding();
            self.steps.pop();
            let (tokens, stamp) = (Tokens::of(&self.view), self.stamp());
            ground(&self.view, &tokens, grounding, &stamp, &Env::none())
        } else {
            let submission = self.next();
            self.steps.pop();
            self.submit(&submission)
        };
        let accepted = accepted.unwrap_or_else(|refusal| panic!("{kind}: {refusal:?}"));
        self.apply(&accepted);
        if kind == Kind::ClarificationRequest {
            self.answer_first();
        }
        Some(accepted)
    }

    /// Answers the open question with its first choice.
    pub(super) fn answer_first(&mut self) {
        use crate::protocol::ClarificationRequest;
        let (_, request) = self.view.last::<ClarificationRequest>(Kind::ClarificationRequest).unwrap();
        let answer = Submission::answer(Tokens::of(&self.view), request.response_choices[0].id.as_str());
        let accepted = self.submit(&answer).unwrap();
        self.apply(&accepted);
    }

    /// The next submission of the script, its placeholders filled in.
    pub(super) fn next(&self) -> Submission {
        let submit = &self.steps.last().unwrap()["submit"];
        let kind: Kind = submit["artifact_type"].as_str().unwrap().parse().unwrap();
        let mut submission =
            Submission::artifact(Tokens::of(&self.view), kind, self.fill(&submit["body"], true));
        let given = submit["source_refs"].as_array().into_iter().flatten();
        let given = given.map(|reference| self.fill(reference, false).as_str().unwrap().to_owned());
        submission.source_refs = given.collect();
        submission
    }

    /// Hands something in.
    pub(super) fn submit(&self, submission: &Submission) -> Result<Accepted, Refusal> {
        submit(&self.view, submission, &self.stamp(), &Env::none())
    }

    /// Hands something in that must be refused.
    pub(super) fn refused(&self, submission: &Submission) -> (Code, &'static str) {
        let refusal = self.submit(submission).unwrap_err();
        (refusal.code, refusal.rule.unwrap_or(""))
    }

    /// The next submission with one change to its body.
    pub(super) fn changed(&self, change: impl FnOnce(&mut Value)) -> Submission {
        let mut submission = self.next();
        change(submission.body.as_mut().unwrap());
        submission
    }

    /// Stores what was accepted.
    pub(super) fn apply(&mut self, accepted: &Accepted) {
        self.count += 1;
        let mut view = self.view.clone();
        if accepted.changes() {
            view.run = accepted.run.clone();
            for artifact in &accepted.artifacts {
                view.push(Arc::new(Stored {
                    id: artifact.id.clone(),
                    kind: Some(artifact.kind),
                    producer: artifact.producer.clone(),
                    source_refs: artifact.source_refs.clone(),
                    sha256: String::new(),
                    redaction: artifact.redaction.as_str().to_owned(),
                    created_at: artifact.created_at.clone(),
                    body: Some(Arc::clone(&artifact.body)),
                }));
            }
        }
        self.view = view;
        assert_eq!(accepted.effect == Effect::Start, self.events.is_empty());
        accepted.events.iter().for_each(|event| self.record(event));
    }

    /// Appends an event.
    pub(super) fn record(&mut self, event: &NewEvent) {
        self.view.push_event(EventKey {
            id: event.id.clone(),
            sequence: i64::try_from(self.events.len()).unwrap() + 1,
            event_type: event.event_type.as_str().to_owned(),
            has_output: !event.output_refs.is_empty(),
        });
        self.events.push(event.clone());
    }

    /// The stamp of the next operation.
    pub(super) fn stamp(&self) -> Stamp {
        stamp(self.count + 1)
    }

    /// What grounding would find.
    pub(super) fn grounding(&self) -> Grounding {
        let run = &self.view.run.run_id;
        let hash = hash('a');
        let documents: Vec<Value> = SOURCES
            .iter()
            .enumerate()
            .map(|(at, path)| {
                json!({
                    "schemaVersion": "1.0", "id": format!("source-{at}"), "runId": run,
                    "repositoryRef": format!("repo://{path}"), "contentHash": hash, "sizeBytes": 3,
                    "trustKind": "untrusted_repository_content", "instructionScope": null, "content": "abc",
                })
            })
            .collect();
        let candidates: Vec<Value> = SOURCES
            .iter()
            .enumerate()
            .map(|(at, path)| {
                json!({
                    "id": format!("candidate-{at}"), "ref": format!("repo://{path}"), "locations": [path],
                    "contentHash": hash, "byteSize": 3, "decision": "selected", "selectionReason": "named",
                    "path": path, "score": 1, "pinned": at == 0,
                })
            })
            .collect();
        let derived: Vec<String> =
            (0..SOURCES.len()).map(|at| self.view.reference(&format!("source-{at}"))).collect();
        let manifest = json!({
            "schemaVersion": "1.0", "id": "context-1", "runId": run,
            "repositoryFingerprint": { "headCommit": null, "dirtyWorktreeHash": hash },
            "pinnedRefs": ["repo://AGENTS.md"], "candidates": candidates, "derivedRefs": derived,
            "excludedCandidateSummaries": [], "inventorySource": "git", "warnings": [],
            "budget": {
                "maximumFiles": 48, "maximumFileBytes": 1000, "maximumTotalBytes": 4000,
                "maximumInventoryFiles": 100, "candidateFiles": SOURCES.len(), "selectedFiles": SOURCES.len(),
                "estimatedTokens": 3, "selectedBytes": 3 * SOURCES.len(),
            },
        });
        Grounding::read(&manifest, &documents).unwrap()
    }

    /// Fills in the placeholders of a script; the outermost object is a body.
    pub(super) fn fill(&self, value: &Value, outermost: bool) -> Value {
        match value {
            Value::String(text) => self.fill_text(text),
            Value::Array(entries) => entries.iter().map(|entry| self.fill(entry, false)).collect(),
            Value::Object(object) => {
                if let Some(Value::Object(granted)) = object.get("$permissions") {
                    let mut set = PermissionSet::empty().encode();
                    for (name, value) in granted {
                        let (group, field) = name.split_once('.').unwrap();
                        set[group][field] = value.clone();
                    }
                    return set;
                }
                let mut filled = json!({});
                if outermost {
                    filled["schemaVersion"] = "1.0".into();
                    filled["runId"] = self.view.run.run_id.as_str().into();
                }
                for (key, entry) in object {
                    filled[key] = self.fill(entry, false);
                }
                filled
            }
            other => other.clone(),
        }
    }

    /// As [`Self::fill`] for a body, unless it names an artifact type that the run does not have yet.
    pub(super) fn try_fill(&self, body: &Value) -> Option<Value> {
        let text = body.to_string();
        let there = |placeholder: &str, kind| !text.contains(placeholder) || self.view.latest(kind).is_some();
        let all = there("${latest:ProblemFrame}", Kind::ProblemFrame)
            && there("${latest:TaskContract}", Kind::TaskContract)
            && there("${question}", Kind::ClarificationRequest);
        all.then(|| self.fill(body, true))
    }

    fn fill_text(&self, text: &str) -> Value {
        if text.starts_with("${exit:") {
            return 0.into();
        }
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            filled.push_str(&rest[..at]);
            let end = at + rest[at..].find('}').unwrap();
            filled.push_str(&self.placeholder(&rest[at + 2..end]));
            rest = &rest[end + 1..];
        }
        (filled + rest).into()
    }

    fn placeholder(&self, name: &str) -> String {
        let latest = |kind: Kind| self.view.reference(&self.view.latest(kind).unwrap().id);
        match name.split_once(':') {
            None => match name {
                "run" => self.view.run.run_id.clone(),
                "now" => self.stamp().now,
                "request" => self.view.reference(&self.view.of_kind(Kind::UserMessage).next().unwrap().id),
                "answer" => latest(Kind::UserMessage),
                "question" => latest(Kind::ClarificationRequest),
                other => panic!("unknown placeholder {other:?}"),
            },
            Some(("art", id)) => self.view.reference(id),
            Some(("latest", kind)) => latest(kind.parse().unwrap()),
            Some(("source", path)) => format!("repo://{path}"),
            Some(("hash", _)) => hash('b'),
            Some(("base", _)) => hash('a'),
            Some((what, name)) => format!("{what} of {name}"),
        }
    }
}

fn hash(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

fn stamp(number: u32) -> Stamp {
    Stamp::new(
        format!("2026-03-01T10:00:{:02}.{:03}Z", number / 1000, number % 1000),
        format!("T{number:04}"),
    )
}
