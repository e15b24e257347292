//! `telic show RUN` and `telic trace RUN`: where a run stands, and how it came there.

use super::Failure;
use super::output::{print_json, print_line, print_text};
use super::place::PlaceArguments;
use super::stores::{self, Access};
use crate::service::snapshot::RunDetail;
use crate::text::visible;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

/// Arguments of commands on one run.
#[derive(Debug, Args)]
pub(super) struct OneRun {
    /// The run's id, or how it alone begins
    pub run: String,
}

fn detail(arguments: &OneRun, place: &PlaceArguments) -> Result<RunDetail, Failure> {
    let (queries, row) = stores::find(place, Access::Read, &arguments.run)?;
    Ok(queries.detail(&row.key.run)?)
}

pub(super) fn show(arguments: &OneRun, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let detail = detail(arguments, place)?;
    if place.json {
        print_json(&json!({ "ok": true, "run": detail }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = &detail.row;
    print_line(&visible(&format!("{}  {}", row.key.run, row.title)));
    print_line(&visible(&row.sentence));
    if !row.next.is_empty() {
        print_line(&visible(&format!("next: {}", row.next)));
    }
    print_line("");
    print_text(&detail.request);
    print_line("");
    let status = row.supervision_status.as_deref().unwrap_or("no supervision");
    print_line(&format!("status: {status}, workflow {} in {}", row.workflow_status, row.phase));
    for fact in &detail.facts {
        print_line(&visible(&format!("{}: {}", fact.name, fact.value)));
    }
    print_line("");
    for visit in &detail.phases {
        let at = visit.at.as_deref().unwrap_or("now");
        print_line(&visible(&format!("{at}  {}  {}  {}", visit.phase, visit.producer, visit.note)));
    }
    if let Some(question) = &detail.clarification {
        print_line("");
        print_line(&visible(&format!("question: {}", question.question)));
        for choice in &question.choices {
            print_line(&visible(&format!("  {}: {} - {}", choice.id, choice.label, choice.consequence)));
        }
    }
    if let Some(approval) = &detail.approval {
        print_line("");
        print_line(&format!("verdict: {} ({})", approval.status, approval.eligibility));
        for reason in &approval.reasons {
            print_line(&visible(&format!("  {}: {}", reason.code, reason.text)));
        }
        for item in &approval.checklist {
            print_line(&visible(&format!("  {:?} {}: {}", item.state, item.name, item.detail)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn trace(arguments: &OneRun, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let detail = detail(arguments, place)?;
    if place.json {
        print_json(&json!({ "ok": true, "runId": detail.row.key.run, "events": *detail.trace }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for event in detail.trace.iter() {
        let allowed = match event.allowed {
            Some(true) => " allowed",
            Some(false) => " denied",
            None => "",
        };
        let line = format!(
            "{:>4}  {}  {}  {}  {}{allowed}  {}",
            event.sequence, event.at, event.actor, event.phase, event.event, event.summary
        );
        print_line(&visible(&line));
    }
    Ok(ExitCode::SUCCESS)
}
