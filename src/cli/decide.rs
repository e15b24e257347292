//! `telic answer`, `approve`, `reject`, `request-changes`, `cancel`, `pr`: what a person decides.
//!
//! Decisions are a person's: a call from inside a run is refused, and without a terminal the person must be named
//! (AP-6).

use super::Failure;
use super::output::{NEEDS_PERSON, NOT_ELIGIBLE, print_json, print_line};
use super::place::PlaceArguments;
use super::session;
use super::show::OneRun;
use super::stores::{self, Access};
use crate::domain::{Attempt, AttemptStatus};
use crate::engine;
use crate::service::link::{Command, Reply};
use crate::service::queries::Queries;
use crate::service::snapshot::{RunDetail, RunRow};
use crate::text::visible;
use clap::Args;
use serde_json::json;
use std::io::IsTerminal as _;
use std::process::ExitCode;

/// Arguments of every decision.
#[derive(Debug, Args)]
pub(super) struct Person {
    /// Who decides; needed where there is no terminal
    #[arg(long, value_name = "NAME")]
    yes_i_am: Option<String>,
}

/// Arguments of `telic answer`.
#[derive(Debug, Args)]
pub(super) struct AnswerArguments {
    #[command(flatten)]
    run: OneRun,
    /// The id of the choice
    choice: String,
    /// The version of the run that was looked at (default: the current one)
    #[arg(long)]
    expected_version: Option<u64>,
    #[command(flatten)]
    person: Person,
}

/// Arguments of `telic approve`.
#[derive(Debug, Args)]
pub(super) struct ApproveArguments {
    #[command(flatten)]
    run: OneRun,
    /// Push the branch as well
    #[arg(long)]
    publish: bool,
    /// Code of a reason that was read and accepted; may be given several times
    #[arg(long, value_name = "CODE")]
    acknowledge: Vec<String>,
    /// The digest of the patch that was looked at (default: the current one)
    #[arg(long, value_name = "SHA256")]
    patch: Option<String>,
    /// What to note
    #[arg(long, default_value = "")]
    comment: String,
    #[command(flatten)]
    person: Person,
}

/// Arguments of `telic reject` and `telic request-changes`.
#[derive(Debug, Args)]
pub(super) struct RefuseArguments {
    #[command(flatten)]
    run: OneRun,
    /// Why; needed
    #[arg(long)]
    comment: String,
    #[command(flatten)]
    person: Person,
}

/// Arguments of `telic cancel` and `telic pr`.
#[derive(Debug, Args)]
pub(super) struct PlainArguments {
    #[command(flatten)]
    run: OneRun,
    #[command(flatten)]
    person: Person,
}

/// A run that a person decides about.
struct Case {
    queries: Queries,
    row: RunRow,
    settings: engine::Settings,
}

impl Case {
    fn open(run: &OneRun, person: &Person, place: &PlaceArguments) -> Result<Self, Failure> {
        let (queries, row) = stores::find(place, Access::Write, &run.run)?;
        let folder = std::env::current_dir().map_err(|error| Failure::coded("working_dir", error))?;
        let mut settings = session::settings(session::configuration()?, &folder)?;
        refuse_from_inside(&queries)?;
        match &person.yes_i_am {
            Some(name) if !crate::text::is_blank(name) => settings.actor.clone_from(name),
            Some(_) => return Err(Failure::usage("--yes-i-am needs a name")),
            None if std::io::stdin().is_terminal() => {}
            None => {
                let text = "a decision needs a person: use a terminal, or name yourself with --yes-i-am NAME";
                return Err(Failure::coded("person_needed", text).exiting(NEEDS_PERSON));
            }
        }
        Ok(Self { queries, row, settings })
    }

    fn detail(&self) -> Result<RunDetail, Failure> {
        Ok(self.queries.detail(&self.row.key.run)?)
    }

    /// Carries out a command and prints what came of it.
    fn perform(&self, command: &Command, place: &PlaceArguments) -> Result<ExitCode, Failure> {
        match engine::perform(&self.settings, self.queries.views(), command) {
            Reply::Refused { code, text, .. } => {
                let failure = Failure::coded(code.clone(), text).with("runId", self.row.key.run.clone());
                let ineligible = matches!(code.as_str(), "not_eligible" | "not_approved" | "not_approvable");
                Err(if ineligible { failure.exiting(NOT_ELIGIBLE) } else { failure })
            }
            Reply::Done { text, .. } => {
                let row = self.queries.row(&self.row.key.run)?;
                if place.json {
                    print_json(&json!({ "ok": true, "runId": row.key.run, "done": text, "run": row }))?;
                } else {
                    print_line(&visible(&text));
                    print_line(&visible(&row.sentence));
                }
                Ok(ExitCode::SUCCESS)
            }
            _ => Ok(ExitCode::SUCCESS),
        }
    }
}

/// A process that a run started decides nothing, about no run (AP-6).
fn refuse_from_inside(queries: &Queries) -> Result<(), Failure> {
    let store = queries.views().store();
    let live: Vec<&str> =
        AttemptStatus::ALL.iter().filter(|status| status.is_live()).map(|status| status.as_str()).collect();
    let live: Vec<Attempt> = store.records_with_status(&live).map_err(crate::service::ServiceError::from)?;
    let group = u32::try_from(nix::unistd::getpgrp().as_raw()).unwrap_or(0);
    let of_run = live
        .iter()
        .filter_map(|attempt| attempt.process.as_ref())
        .any(|process| process.process_group == group);
    if of_run { Err(from_inside("decide")) } else { refuse_named_run("decide") }
}

/// Refuses where the environment names a run, as it does for every process that telic starts for one.
pub(super) fn refuse_named_run(act: &str) -> Result<(), Failure> {
    if std::env::var_os("TELIC_RUN_ID").is_some() { Err(from_inside(act)) } else { Ok(()) }
}

fn from_inside(act: &str) -> Failure {
    let text = format!("a process of a run cannot {act}; that is a person's part (AP-6)");
    Failure::coded("from_inside_the_run", text).exiting(NEEDS_PERSON)
}

pub(super) fn answer(given: &AnswerArguments, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let case = Case::open(&given.run, &given.person, place)?;
    let question = case.detail()?.clarification;
    let request_id = question.map(|question| question.request_id).unwrap_or_default();
    let command = Command::Answer {
        key: case.row.key.clone(),
        request_id,
        choice: given.choice.clone(),
        expected_version: given.expected_version.unwrap_or(case.row.version),
    };
    case.perform(&command, place)
}

pub(super) fn approve(given: &ApproveArguments, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let case = Case::open(&given.run, &given.person, place)?;
    let approval = verdict_of(&case)?;
    let command = Command::Approve {
        key: case.row.key.clone(),
        verdict_id: approval.verdict_id,
        patch_digest: given.patch.clone().unwrap_or(approval.patch_digest),
        comment: given.comment.clone(),
        publish: given.publish,
        acknowledged: given.acknowledge.clone(),
        reviewed_files: Vec::new(),
    };
    case.perform(&command, place)
}

fn verdict_of(case: &Case) -> Result<crate::service::snapshot::ApprovalView, Failure> {
    let none = || {
        let text = format!("run {} has no verdict yet: {}", case.row.key.run, case.row.sentence);
        Failure::coded("verdict_missing", text).exiting(NOT_ELIGIBLE)
    };
    case.detail()?.approval.ok_or_else(none)
}

pub(super) fn reject(given: &RefuseArguments, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let case = Case::open(&given.run, &given.person, place)?;
    let approval = verdict_of(&case)?;
    let command = Command::Reject {
        key: case.row.key.clone(),
        verdict_id: approval.verdict_id,
        patch_digest: approval.patch_digest,
        comment: given.comment.clone(),
    };
    case.perform(&command, place)
}

pub(super) fn request_changes(given: &RefuseArguments, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let case = Case::open(&given.run, &given.person, place)?;
    let approval = verdict_of(&case)?;
    let command = Command::RequestChanges {
        key: case.row.key.clone(),
        verdict_id: approval.verdict_id,
        patch_digest: approval.patch_digest,
        comment: given.comment.clone(),
    };
    case.perform(&command, place)
}

pub(super) fn cancel(given: &PlainArguments, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let case = Case::open(&given.run, &given.person, place)?;
    let command = Command::Cancel { key: case.row.key.clone(), expected_version: case.row.version };
    case.perform(&command, place)
}

pub(super) fn publish(given: &PlainArguments, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let case = Case::open(&given.run, &given.person, place)?;
    case.perform(&Command::Publish { key: case.row.key.clone() }, place)
}
