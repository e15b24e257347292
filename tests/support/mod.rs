//! What the tests share: the dashboard's sample world on a stage, worlds that are meant to hurt, a terminal, the
//! program as a process, and what a demo has to leave behind.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod program;
pub mod terminal;

use std::sync::Arc;

use telic::service::snapshot::{RunDetail, RunKey, RunRow, Snapshot};
use telic::tui::render::stage;
use telic::tui::stage::{Stage, Supply};
use telic::tui::{Format, Still, sample};

/// A frame of the sample world.
pub fn still(screen: &str, size: (u16, u16), theme: &str) -> Still {
    let run = match screen {
        "home" | "help" | "palette" | "themes" | "messages" => None,
        "overview" | "clarification" => Some(sample::key("run_01QUESTION")),
        _ => Some(sample::key("run_01APPROVAL")),
    };
    Still {
        screen: screen.to_owned(),
        snapshot: sample::snapshot(),
        run,
        supply: sample::supply(),
        size,
        theme: theme.to_owned(),
        ascii: false,
        format: Format::Text,
        now: sample::now(),
    }
}

/// The sample world on one of its screens.
pub fn stage_of(screen: &str, size: (u16, u16)) -> Stage {
    stage(still(screen, size, "dark")).unwrap()
}

/// The frame's letters.
pub fn text(stage: &mut Stage) -> String {
    let frame = stage.frame();
    let width = usize::from(frame.area.width);
    let line = |cells: &[ratatui::buffer::Cell]| {
        cells.iter().map(|cell| cell.symbol().to_owned()).collect::<String>()
    };
    frame.content.chunks(width.max(1)).map(line).collect::<Vec<_>>().join("\n")
}

/// A world in which every text of a run is this one.
pub fn world_of(text: &str) -> (Arc<Snapshot>, Supply, RunKey) {
    let key = sample::key("run_01APPROVAL");
    let replace = |detail: &RunDetail| -> RunDetail {
        let mut detail = detail.clone();
        let row = RunRow {
            title: text.into(),
            request_line: text.into(),
            repository: text.into(),
            branch: Some(text.into()),
            mode: text.into(),
            sentence: text.into(),
            next: text.into(),
            ..detail.row.clone()
        };
        detail.row = row;
        detail.request = text.into();
        detail.stop_conditions = vec![text.into(); 3];
        for fact in &mut detail.facts {
            fact.value = text.into();
        }
        for visit in &mut detail.phases {
            (visit.note, visit.producer) = (text.into(), text.into());
        }
        for row in &mut detail.permissions.rows {
            for cell in &mut row.cells {
                cell.scopes = vec![text.into(), text.into()];
            }
        }
        for line in &mut detail.decisions {
            (line.target, line.reason) = (text.into(), text.into());
        }
        let mut trace = (*detail.trace).clone();
        for line in &mut trace {
            (line.summary, line.actor) = (text.into(), text.into());
        }
        detail.trace = Arc::new(trace);
        for line in &mut detail.artifacts {
            (line.id, line.kind) = (text.into(), text.into());
        }
        if let Some(approval) = &mut detail.approval {
            approval.branch = text.into();
            approval.commit_subject = text.into();
            for reason in &mut approval.reasons {
                reason.text = text.into();
            }
            for item in &mut approval.checklist {
                (item.name, item.detail) = (text.into(), text.into());
            }
        }
        if let Some(report) = &mut detail.verification {
            for check in &mut report.checks {
                (check.name, check.command, check.summary) = (text.into(), text.into(), Some(text.into()));
                check.failed_tests = vec![text.into(); 10];
            }
        }
        for message in &mut detail.messages {
            message.text = text.into();
        }
        let mut question = sample::question_run().clarification.unwrap();
        question.question = text.into();
        question.divergence = text.into();
        for choice in &mut question.choices {
            (choice.label, choice.consequence) = (text.into(), text.into());
        }
        detail.clarification = Some(question);
        detail
    };
    let detail = replace(&sample::approval_run());
    let rows: Vec<RunRow> = (0..40)
        .map(|n| RunRow {
            key: RunKey { store: "work".into(), run: format!("run_{n}") },
            ..detail.row.clone()
        })
        .chain([detail.row.clone()])
        .collect();
    let snapshot = Snapshot { rows: Arc::new(rows), ..(*sample::snapshot()).clone() };
    let mut supply = sample::supply();
    supply.details.insert(key.clone(), Arc::new(detail));
    let digest = "sha256:5be1f0c2a9d34471".to_owned();
    let line = text.replace('\n', " ");
    let patch = format!(
        "diff --git a/src/parser.rs b/src/parser.rs\n--- a/src/parser.rs\n+++ b/src/parser.rs\n@@ -1,2 +1,2 @@ {line}\n \
         {line}\n-{line}\n+{line} changed\n"
    );
    supply.patches.insert(digest, Arc::from(patch.as_bytes()));
    supply.logs.insert("artifact_log_test".into(), Arc::from(text.as_bytes()));
    (Arc::new(snapshot), supply, key)
}
