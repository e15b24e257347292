//! The demo without a terminal: prints what changes, answers and approves where that was asked for.

use super::super::Failure;
use super::super::output::{NEEDS_PERSON, print_json, print_line};
use crate::engine::{self, Settings};
use crate::service::link::{Command, Link, Reply, Request};
use crate::service::snapshot::{NeedKind, RunDetail, RunRow};
use crate::store::Store;
use crate::text::visible;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The most time the demo may take.
const LIMIT: Duration = Duration::from_secs(300);

/// What a person would do.
pub(super) struct Wishes {
    /// Answers the question.
    pub answer: Option<String>,
    /// Approves and publishes.
    pub approve: bool,
    /// Prints one line of JSON per change.
    pub json: bool,
}

/// Watches until every run has ended, or only waits for what nobody will do.
pub(super) fn watch(
    settings: &Settings,
    id: String,
    store: Store,
    runs: &[String],
    wishes: &Wishes,
) -> Result<ExitCode, Failure> {
    let (link, engine) = engine::start(settings, vec![(id, store)]);
    let outcome =
        Watch { link: &link, wishes, said: HashMap::new(), asked: HashSet::new(), ticket: 0 }.run(runs);
    drop(link);
    engine.join();
    outcome
}

struct Watch<'a> {
    link: &'a Link,
    wishes: &'a Wishes,
    said: HashMap<String, String>,
    asked: HashSet<(String, &'static str)>,
    ticket: u64,
}

impl Watch<'_> {
    fn run(mut self, runs: &[String]) -> Result<ExitCode, Failure> {
        let (waker, woken) = channel();
        // The loop outlives no waker: both end with this call.
        self.link.set_waker(move || _ = waker.send(()));
        let began = Instant::now();
        loop {
            if let Some(snapshot) = self.link.take_snapshot() {
                for row in snapshot.rows.iter() {
                    self.say(row)?;
                    self.act(row);
                }
                let of_demo = || snapshot.rows.iter().filter(|row| runs.contains(&row.key.run));
                if of_demo().count() == runs.len() && of_demo().all(|row| self.is_over(row)) {
                    return Ok(if of_demo().all(|row| row.ended) {
                        ExitCode::SUCCESS
                    } else {
                        ExitCode::from(NEEDS_PERSON)
                    });
                }
            }
            while let Ok(reply) = self.link.replies.try_recv() {
                self.hear(reply)?;
            }
            let left = LIMIT.saturating_sub(began.elapsed());
            match woken.recv_timeout(left) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(Failure::coded(
                        "timed_out",
                        format!("the demo did not end within {LIMIT:?}"),
                    ));
                }
            }
        }
    }

    /// Whether nothing more will happen with a run.
    fn is_over(&self, row: &RunRow) -> bool {
        match &row.need {
            Some(need) => match need.kind {
                NeedKind::Clarification => self.wishes.answer.is_none(),
                NeedKind::Approval => !self.wishes.approve,
                _ => true,
            },
            // An approved run is over when its branch is out.
            None => row.ended && !row.sentence.starts_with("Publishing"),
        }
    }

    fn say(&mut self, row: &RunRow) -> Result<(), Failure> {
        if self.said.get(&row.key.run) == Some(&row.sentence) {
            return Ok(());
        }
        self.said.insert(row.key.run.clone(), row.sentence.clone());
        if self.wishes.json {
            return print_json(&json!({ "runId": row.key.run, "title": row.title, "state": row.sentence,
                "verdict": row.verdict }));
        }
        print_line(&visible(&format!("{}: {}", row.title, row.sentence)));
        Ok(())
    }

    fn act(&mut self, row: &RunRow) {
        let Some(need) = &row.need else { return };
        match need.kind {
            NeedKind::Clarification if self.wishes.answer.is_some() && self.first(row, "answer") => {
                let choice = self.wishes.answer.clone().unwrap_or_default();
                self.send(Command::Answer {
                    key: row.key.clone(),
                    request_id: String::new(),
                    choice,
                    expected_version: row.version,
                });
            }
            NeedKind::Approval if self.wishes.approve && self.first(row, "approve") => {
                self.send(Command::Follow(row.key.clone()));
            }
            _ => {}
        }
    }

    fn first(&mut self, row: &RunRow, what: &'static str) -> bool {
        self.asked.insert((row.key.run.clone(), what))
    }

    fn send(&mut self, command: Command) {
        self.ticket += 1;
        // An engine that is gone shows as silence, which has a limit.
        let _ = self.link.commands.send(Request { ticket: self.ticket, command });
    }

    fn hear(&mut self, reply: Reply) -> Result<(), Failure> {
        match reply {
            Reply::Detail(detail) => {
                self.approve(&detail);
                Ok(())
            }
            Reply::Done { text, .. } if !text.is_empty() => {
                if !self.wishes.json {
                    print_line(&visible(&format!("done: {text}")));
                }
                Ok(())
            }
            Reply::Refused { code, text, .. } => Err(Failure::coded(code, text)),
            _ => Ok(()),
        }
    }

    fn approve(&mut self, detail: &RunDetail) {
        let needed = detail.row.need.as_ref().is_some_and(|need| need.kind == NeedKind::Approval);
        let Some(approval) = detail.approval.as_ref().filter(|_| needed) else { return };
        if !self.first(&detail.row, "approved") {
            return;
        }
        let acknowledged = approval.reasons.iter().filter(|reason| reason.acknowledge);
        self.send(Command::Approve {
            key: detail.row.key.clone(),
            verdict_id: approval.verdict_id.clone(),
            patch_digest: approval.patch_digest.clone(),
            comment: String::new(),
            publish: true,
            acknowledged: acknowledged.map(|reason| reason.code.clone()).collect(),
            reviewed_files: Vec::new(),
        });
    }
}
