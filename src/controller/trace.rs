//! Trace events of the controller's operations, and how the public sees them (`controller.md` 9).

use super::accepted::NewEvent;
use super::run::{RunPhase, RunState};
use super::stamp::Stamp;
use crate::protocol::{
    Body, Int, Kind, LogicalRole, PermissionDecision, Phase, SchemaVersion, TraceBudgets, TraceEvent,
    TraceEventType,
};
use crate::text::{cut_units, units};

/// The longest summary of an event, in units.
pub const SUMMARY_LIMIT: usize = 800;
/// Most events of a run.
pub const EVENT_LIMIT: usize = 10_000;
/// Events that only operations that end a run may use (W-9).
pub const EVENTS_RESERVED: usize = 64;
/// Most denials recorded for one version of a run (W-9).
pub const DENIALS_PER_VERSION: usize = 64;

macro_rules! event_types {
    ($($variant:ident = $text:literal => $public:ident,)*) => {
        /// The types of events that are stored.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EventType { $(#[doc = concat!("`", $text, "`")] $variant,)* }

        impl EventType {
            /// Every type.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The type as it is stored.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The type as the public sees it (9.4).
            #[must_use]
            pub fn public(self) -> TraceEventType {
                match self { $(Self::$variant => TraceEventType::$public,)* }
            }
        }
    };
}

event_types! {
    RunStarted = "run_started" => RunStarted,
    PhaseSubmitted = "phase_submitted" => PhaseSubmitted,
    PermissionChecked = "permission_checked" => PermissionChecked,
    ClarificationRequested = "clarification_requested" => ClarificationRequested,
    ClarificationAnswered = "clarification_answered" => TransitionAllowed,
    RunCancelled = "run_cancelled" => RunTerminated,
    ContextSourceStored = "context_source_stored" => ArtifactRecorded,
    EvidenceCaptured = "evidence_captured" => ArtifactRecorded,
    ScenarioPresentationStored = "scenario_presentation_stored" => ArtifactRecorded,
    BudgetConsumed = "budget_consumed" => ArtifactRecorded,
}

impl EventType {
    /// The type with a stored name; nothing for a name this program does not know.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.as_str() == text)
    }

    /// Whether the operation that wrote it moved the run to a new version.
    #[must_use]
    pub fn moves_run(self) -> bool {
        matches!(
            self,
            Self::RunStarted
                | Self::PhaseSubmitted
                | Self::ClarificationRequested
                | Self::ClarificationAnswered
                | Self::RunCancelled
                | Self::BudgetConsumed
        )
    }
}

/// Collects the events of one operation, with ids, times and budgets filled in.
pub(super) struct Events<'a> {
    stamp: &'a Stamp,
    phase: RunPhase,
    after: &'a RunState,
    list: Vec<NewEvent>,
}

impl<'a> Events<'a> {
    /// Events of an operation in `phase` that leaves the run as `after`.
    pub(super) fn new(stamp: &'a Stamp, phase: RunPhase, after: &'a RunState) -> Self {
        Self { stamp, phase, after, list: Vec::new() }
    }

    /// Adds an event; a summary that is too long is cut.
    pub(super) fn add(
        &mut self,
        actor: &str,
        event_type: EventType,
        input_refs: Vec<String>,
        output_refs: Vec<String>,
        summary: impl Into<String>,
    ) -> &mut NewEvent {
        let at = self.list.len();
        self.list.push(NewEvent {
            id: self.stamp.event_id(at),
            timestamp: self.stamp.now.clone(),
            actor: actor.to_owned(),
            phase: self.phase,
            event_type,
            input_refs,
            output_refs,
            decision: None,
            summary: fit(&summary.into()),
            prompt_revisions_remaining: self.after.prompt_revisions_remaining,
            remediations_remaining: self.after.remediations_remaining,
        });
        &mut self.list[at]
    }

    pub(super) fn finish(self) -> Vec<NewEvent> {
        self.list
    }
}

/// A summary within its limit (W-8), never empty.
pub(super) fn fit(summary: &str) -> String {
    shorten(if summary.is_empty() { "(no summary)" } else { summary }, SUMMARY_LIMIT)
}

/// Text of at most `limit` units; what was cut off is shown as an ellipsis.
pub(super) fn shorten(text: &str, limit: usize) -> String {
    if units(text) <= limit {
        return text.to_owned();
    }
    format!("{}…", cut_units(text, limit.saturating_sub(1)))
}

/// A stored event as it comes from the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// Its id.
    pub id: String,
    /// Its place in the trace, from 1.
    pub sequence: i64,
    /// UTC with milliseconds.
    pub timestamp: String,
    /// As stored.
    pub actor: String,
    /// Internal phase name, as stored.
    pub phase: String,
    /// As stored.
    pub event_type: String,
    /// What went in.
    pub input_refs: Vec<String>,
    /// What came out.
    pub output_refs: Vec<String>,
    /// As stored.
    pub decision: Option<serde_json::Value>,
    /// The decision summary.
    pub summary: String,
    /// Prompt revisions left after the event.
    pub prompt_revisions_remaining: u8,
    /// Remediations left after the event.
    pub remediations_remaining: u8,
}

/// A stored event as the public sees it (`controller.md` 9.4). A row that cannot be shown as it is becomes a
/// placeholder at its sequence, so that one bad row does not hide its neighbours.
#[must_use]
pub fn public_event(run_id: &str, event: &StoredEvent) -> TraceEvent {
    faithful(run_id, event).unwrap_or_else(|| placeholder(run_id, event))
}

fn faithful(run_id: &str, event: &StoredEvent) -> Option<TraceEvent> {
    let decision = match &event.decision {
        None => None,
        Some(decision) => Some(crate::protocol::wire::read::<PermissionDecision>(decision).ok()?),
    };
    let shown = TraceEvent {
        schema_version: SchemaVersion,
        id: event.id.as_str().into(),
        run_id: run_id.into(),
        sequence: event.sequence.into(),
        timestamp: event.timestamp.as_str().into(),
        actor: event.actor.parse().unwrap_or(LogicalRole::Host),
        phase: event.phase.parse::<RunPhase>().ok()?.public(),
        event_type: EventType::find(&event.event_type)
            .map_or(TraceEventType::ArtifactRecorded, EventType::public),
        input_refs: event.input_refs.iter().map(|reference| reference.as_str().into()).collect(),
        output_refs: event.output_refs.iter().map(|reference| reference.as_str().into()).collect(),
        tool: None,
        permission_decision: decision,
        budget_snapshot: budgets(event),
        rationale_summary: event.summary.as_str().into(),
        redactions: Vec::new().into(),
    };
    let body = Body::from(shown);
    match Body::read(Kind::TraceEvent, &body.encode()) {
        Ok(Body::TraceEvent(event)) => Some(event),
        _ => None,
    }
}

fn budgets(event: &StoredEvent) -> TraceBudgets {
    TraceBudgets {
        prompt_revisions: Int::from(i64::from(event.prompt_revisions_remaining.min(1))),
        post_execution_remediations: Int::from(i64::from(event.remediations_remaining.min(1))),
        transport_retries: 0.into(),
    }
}

fn placeholder(run_id: &str, event: &StoredEvent) -> TraceEvent {
    let id = if crate::protocol::is_identifier(&event.id) {
        event.id.clone()
    } else {
        format!("event-{:04}", event.sequence.max(0))
    };
    let timestamp = if crate::protocol::is_timestamp(&event.timestamp) {
        event.timestamp.as_str()
    } else {
        "1970-01-01T00:00:00.000Z"
    };
    TraceEvent {
        schema_version: SchemaVersion,
        id: id.into(),
        run_id: run_id.into(),
        sequence: event.sequence.max(0).into(),
        timestamp: timestamp.into(),
        actor: LogicalRole::Host,
        phase: event.phase.parse::<RunPhase>().map_or(Phase::Received, RunPhase::public),
        event_type: TraceEventType::ArtifactRecorded,
        input_refs: Vec::new().into(),
        output_refs: Vec::new().into(),
        tool: None,
        permission_decision: None,
        budget_snapshot: budgets(event),
        rationale_summary: "this event cannot be shown: its stored row is damaged".into(),
        redactions: Vec::new().into(),
    }
}
