//! Questions to the user: who may ask, who must take up the answer, and the answer (`controller.md` 7.2, 7.3).

use super::accepted::{Accepted, Effect, NewArtifact};
use super::context::Context;
use super::error::{Code, Refusal};
use super::predicates::pending_lineage;
use super::run::RunStatus;
use super::stamp::Stamp;
use super::start::REQUEST_LIMIT;
use super::submit::{check_count, check_schema, check_trace};
use super::trace::Events;
use super::transition::{Input, accepted_types, step};
use super::view::RunView;
use crate::protocol::{Body, ClarificationRequest, Kind, Redaction, SchemaVersion, UserMessage};
use crate::require;
use crate::text::{is_blank, script_trim, units};
use std::sync::Arc;

/// C-CR-1 and C-CR-2: a question beyond the budget of one ends the run's work, and only where one may be asked.
pub(super) fn check_further(view: &RunView, asked: bool) -> Result<(), Refusal> {
    if !asked {
        return Ok(());
    }
    require!(
        view.run.status == RunStatus::Running,
        ClarificationNotAllowed,
        "C-CR-1",
        "no further question can be recorded while the run is {}",
        view.run.status
    );
    require!(
        accepted_types(view.run.phase).contains(&Kind::ClarificationRequest),
        ClarificationNotAllowed,
        "C-CR-2",
        "no question can be asked in {}",
        view.run.phase.public()
    );
    Ok(())
}

/// C-CR-3: the first phase artifact after an answer takes up question and answer.
pub(super) fn check_lineage(ctx: &Context<'_>) -> Result<(), Refusal> {
    let Some((question, answer)) = pending_lineage(ctx.view) else { return Ok(()) };
    require!(
        ctx.cites(&question) && ctx.cites(&answer),
        ClarificationLineageMissing,
        "C-CR-3",
        "the user has answered: both {question} and {answer} must be among the source references"
    );
    Ok(())
}

/// Takes in the user's answer: the id of a choice.
pub(super) fn answer(view: &RunView, response: &str, stamp: &Stamp) -> Result<Accepted, Refusal> {
    require!(!is_blank(response), ResponseEmpty, "C-AN-1", "the answer is blank");
    let length = units(response);
    if length > REQUEST_LIMIT {
        let message = format!("the answer has {length} units, at most {REQUEST_LIMIT} are allowed");
        return Err(Refusal::new(Code::ResponseTooLong, "C-AN-2", message).with("limit", REQUEST_LIMIT));
    }
    require!(
        view.run.status == RunStatus::AwaitingClarification,
        NotAwaitingClarification,
        "C-AN-3",
        "the run is {}, it waits for no answer",
        view.run.status
    );
    let Some((question, request)) = view.last::<ClarificationRequest>(Kind::ClarificationRequest) else {
        return Err(Refusal::new(
            Code::IntegrityFailure,
            "C-AN-4",
            "the question is not stored or cannot be read",
        ));
    };
    let wanted = script_trim(response);
    let choice = request.response_choices.iter().find(|choice| choice.id.as_str() == wanted);
    let Some(choice) = choice else {
        let ids: Vec<&str> = request.response_choices.iter().map(|choice| choice.id.as_str()).collect();
        let message = format!("the answer must be the id of one of the choices: {}", ids.join(", "));
        return Err(Refusal::new(Code::ResponseChoiceUnknown, "C-AN-5", message));
    };
    // C-AN-6: the schema knows no other effects than these three.
    let (row, run) = step(&view.run, Input::Answer(choice.run_effect), false, &stamp.now)?;
    let question_ref = view.reference(&question.id);
    let id = stamp.message_id();
    let message = Body::from(UserMessage {
        schema_version: SchemaVersion,
        id: id.as_str().into(),
        run_id: view.run.run_id.as_str().into(),
        content: response.into(),
    });
    check_schema(Kind::UserMessage, &message.encode(), "C-AN-2")?;
    check_count(view, 1, "C-SB-22")?;
    check_trace(view, 1, run.status.is_terminal())?;
    let mut events = Events::new(stamp, view.run.phase, &run);
    let summary = format!("The user chose {}.", choice.id.as_str());
    events.add("user", row.event, vec![question_ref.clone()], vec![view.reference(&id)], summary);
    let events = events.finish();
    Ok(Accepted {
        effect: Effect::Move,
        expected_version: view.run.version,
        run,
        artifacts: vec![NewArtifact {
            id,
            kind: Kind::UserMessage,
            producer: "user".to_owned(),
            source_refs: vec![question_ref],
            redaction: Redaction::None,
            body: Arc::new(message),
            created_at: stamp.now.clone(),
        }],
        events,
        warnings: Vec::new(),
    })
}
