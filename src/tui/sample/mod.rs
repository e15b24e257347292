//! A small world to look at: what `telic render --sample` draws, for documentation and tests.
//!
//! Plain data, the same on every machine. The first run waits for an answer, the second for an approval.

mod detail;

use std::collections::HashMap;
use std::sync::Arc;

pub use detail::{approval_run, log, patch, question_run};

use super::stage::Supply;
use super::time::Now;
use crate::service::snapshot::{
    CellState, EngineStatus, Need, NeedKind, PhaseCell, RunKey, RunRow, Snapshot, StoreInfo, VerdictLine,
};

/// The moment at which the sample is looked at.
#[must_use]
pub fn now() -> Now {
    Now::fixed("2026-03-02T14:32:00Z".parse().expect("a moment in the right form"))
}

/// A stored moment so many minutes before [`now`].
#[must_use]
pub fn minutes_ago(minutes: i64) -> String {
    let then = now().wall - jiff::SignedDuration::from_mins(minutes);
    then.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string()
}

/// Names a run of the sample.
#[must_use]
pub fn key(run: &str) -> RunKey {
    RunKey { store: "work".into(), run: run.into() }
}

/// A rail: `done` phases, then one in `state`, then none. The revision phase is skipped unless `revised`.
#[must_use]
pub fn rail(done: usize, state: Option<CellState>, revised: bool) -> [PhaseCell; 10] {
    let mut rail = [PhaseCell::default(); 10];
    for (at, cell) in rail.iter_mut().enumerate() {
        if at < done {
            let skipped = at == 4 && !revised;
            cell.state = if skipped { CellState::Skipped } else { CellState::Done };
            cell.visits = if revised && at == 3 { 2 } else { 1 };
        } else if at == done
            && let Some(state) = state
        {
            *cell = PhaseCell { state, visits: 1 };
        }
    }
    rail
}

fn row(run: &str, repository: &str, title: &str, mode: &str, age: i64) -> RunRow {
    RunRow {
        key: key(run),
        task_id: Some(format!("task_{}", &run[4..])),
        title: title.into(),
        request_line: format!("{title}."),
        repository: repository.into(),
        branch: Some("main".into()),
        mode: mode.into(),
        workflow_status: "running".into(),
        supervision_status: Some("RUNNING_AGENT".into()),
        attempts: 1,
        version: 7,
        created_at: minutes_ago(age + 25),
        updated_at: minutes_ago(age),
        ..RunRow::default()
    }
}

fn need(kind: NeedKind, minutes: i64, line: &str) -> Option<Need> {
    Some(Need { kind, since: minutes_ago(minutes), line: line.into() })
}

fn ended(mut row: RunRow, workflow: &str, verdict: &str, eligibility: &str, sentence: &str) -> RunRow {
    row.ended = true;
    row.workflow_status = workflow.into();
    row.supervision_status = Some(if verdict == "SUCCESS" { "COMPLETED" } else { "FAILED" }.into());
    row.verdict = Some(VerdictLine {
        status: verdict.into(),
        eligibility: eligibility.into(),
        ..VerdictLine::default()
    });
    row.sentence = sentence.into();
    row
}

/// The rows, newest change first.
#[must_use]
pub fn rows() -> Vec<RunRow> {
    let mut question = row(
        "run_01QUESTION",
        "ledger",
        "Keep prices fresh without hammering the feed",
        "analyze_and_fix",
        12,
    );
    question.workflow_status = "awaiting_clarification".into();
    question.phase = "agent_2_compile".into();
    question.rail = rail(2, Some(CellState::Waiting), false);
    question.need = need(NeedKind::Clarification, 12, "Which cache may go stale, and for how long?");
    question.sentence = "Waiting for your choice: which cache may go stale, and for how long?".into();
    question.next = "your answer".into();

    let mut approval =
        row("run_01APPROVAL", "atlas", "Upgrade the tile parser to version 4", "analyze_and_fix", 31);
    approval.workflow_status = "completed".into();
    approval.supervision_status = Some("NEEDS_APPROVAL".into());
    approval.rail = rail(10, None, true);
    approval.need = need(NeedKind::Approval, 31, "3 files, +22 -9, 1 warning");
    approval.sentence = "Ready for your approval: 3 files, +22 -9, all checks passed, 1 warning.".into();
    approval.next = "your approval".into();
    approval.verdict = Some(VerdictLine {
        status: "SUCCESS_NEEDS_REVIEW".into(),
        eligibility: "ELIGIBLE_AFTER_HUMAN_APPROVAL".into(),
        ..VerdictLine::default()
    });

    let mut publication =
        row("run_01PUBLISH", "harbor", "Retry uploads after a dropped connection", "fix_only", 95);
    publication.workflow_status = "completed".into();
    publication.rail = rail(10, None, false);
    publication.need = need(NeedKind::Publication, 95, "The remote refused the branch: protected");
    publication.sentence = "Publishing failed: the remote refused the branch.".into();

    let mut verifying =
        row("run_01VERIFY", "ledger", "Round half to even in monthly statements", "fix_only", 2);
    verifying.supervision_status = Some("VERIFYING".into());
    verifying.workflow_status = "completed".into();
    verifying.rail = rail(10, None, false);
    verifying.sentence = "Verifying: cargo test, 1 m 12 s.".into();
    verifying.next = "the verdict".into();

    let mut working =
        row("run_01WORKING", "atlas", "Why does the map flicker at zoom 14?", "analyze_only", 0);
    working.phase = "agent_4_execute".into();
    working.rail = rail(6, Some(CellState::Current), true);
    working.attempts = 2;
    working.sentence = "The agent is working: node 2 of 3, 'read the tile cache'.".into();
    working.next = "the result of node 2".into();

    let mut queued =
        row("run_01QUEUED", "quill", "Move the editor to the new spell checker", "analyze_and_fix", 4);
    queued.supervision_status = Some("QUEUED".into());
    queued.sentence = "Waiting for a free worker.".into();

    let mut passed = row("run_01PASSED", "quill", "Drop the unused feature flags", "fix_only", 140);
    passed.rail = rail(10, None, false);
    passed = ended(
        passed,
        "completed",
        "SUCCESS",
        "ELIGIBLE_AFTER_HUMAN_APPROVAL",
        "Published as pull request 218.",
    );

    let mut failed =
        row("run_01FAILED", "harbor", "Stream large files instead of buffering them", "analyze_and_fix", 300);
    failed.rail = rail(10, None, true);
    failed = ended(
        failed,
        "completed",
        "FAILED_VERIFICATION",
        "NOT_ELIGIBLE",
        "Not published: 2 tests failed in 'cargo test'.",
    );

    let mut blocked = row("run_01BLOCKED", "ledger", "請求書の丸め誤差を調べる", "analyze_only", 1500);
    blocked.rail = rail(3, Some(CellState::Failed), false);
    blocked = ended(
        blocked,
        "blocked",
        "FAILED_AGENT_COULD_NOT_COMPLETE",
        "NOT_ELIGIBLE",
        "Blocked: the contract could not be made testable.",
    );

    let mut report =
        row("run_01REPORT", "atlas", "How large may a tile get? 🗺️ A short report", "report_only", 2900);
    report.rail = rail(10, None, false);
    report = ended(report, "completed", "SUCCESS", "NOT_ELIGIBLE", "Reported; there was nothing to publish.");

    vec![working, verifying, queued, question, approval, publication, passed, failed, blocked, report]
}

/// The snapshot.
#[must_use]
pub fn snapshot() -> Arc<Snapshot> {
    Arc::new(Snapshot {
        generation: 1,
        taken_at: minutes_ago(0),
        stores: vec![StoreInfo {
            id: "work".into(),
            state_dir: "/state/work".into(),
            ..StoreInfo::default()
        }],
        rows: Arc::new(rows()),
        engine: EngineStatus { running: true, leases: 2, queue: 1, ..EngineStatus::default() },
    })
}

/// Details, patch and log of the runs that wait.
#[must_use]
pub fn supply() -> Supply {
    let question = Arc::new(question_run());
    let approval = Arc::new(approval_run());
    let patch_digest = approval.patch.as_ref().map(|patch| patch.digest.clone()).unwrap_or_default();
    Supply {
        details: HashMap::from([(question.row.key.clone(), question), (approval.row.key.clone(), approval)]),
        patches: HashMap::from([(patch_digest, Arc::from(patch().as_bytes()))]),
        logs: HashMap::from([("artifact_log_test".to_owned(), Arc::from(log().as_bytes()))]),
    }
}
