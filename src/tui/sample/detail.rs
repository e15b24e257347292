//! The two runs of the sample that are shown in detail.

use std::sync::Arc;

use super::{minutes_ago, rows};
use crate::service::snapshot::*;

fn base(run: &str) -> RunDetail {
    let row = rows().into_iter().find(|row| row.key.run == run).expect("a run of the sample");
    RunDetail {
        facts: facts(&[
            ("base commit", "4c1d09be77a2"),
            ("base branch", "main"),
            ("workspace", "/state/work/worktrees/run"),
            ("agent", "claude-code"),
            ("host", "claude-code, no subagents"),
            ("policy", "sha256:9f0e1d2c3b4a"),
            ("autonomy", "supervised_pr"),
        ]),
        budgets: [
            ("prompt revisions", 1, 1, ""),
            ("remediations", 0, 1, ""),
            ("plan tool calls", 46, 4000, ""),
            ("evidence, this plan", 9, 128, ""),
            ("artifacts", 31, 2048, ""),
            ("trace events", 88, 10_000, ""),
            ("wall clock", 1104, 3600, "s"),
            ("attempts", 1, 3, ""),
            ("output", 53_477_376, 67_108_864, "B"),
        ]
        .map(|(name, used, limit, unit)| Gauge { name: name.into(), used, limit, unit: unit.into() })
        .to_vec(),
        permissions: permissions(),
        decisions: decisions(),
        row,
        ..RunDetail::default()
    }
}

fn facts(pairs: &[(&str, &str)]) -> Vec<Fact> {
    pairs.iter().map(|(name, value)| Fact { name: (*name).into(), value: (*value).into() }).collect()
}

fn visit(phase: &str, state: CellState, producer: &str, minutes: i64, note: &str) -> PhaseVisit {
    let done = state == CellState::Done;
    PhaseVisit {
        phase: phase.into(),
        state,
        artifacts: Vec::new(),
        producer: producer.into(),
        at: done.then(|| minutes_ago(minutes)),
        note: note.into(),
    }
}

fn permissions() -> PermissionTable {
    use CellRule::{Allows, Closes, Silent};
    let cell = |rule, scopes: &[&str]| PermissionCell {
        rule,
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        source: None,
    };
    let row = |capability: &str, cells: [PermissionCell; 7], closed_by| PermissionRow {
        capability: capability.into(),
        cells,
        closed_by,
    };
    let open = |scope: &[&str]| {
        [
            cell(Allows, &[]),
            cell(Allows, scope),
            cell(Silent, &[]),
            cell(Allows, &[]),
            cell(Allows, scope),
            cell(Allows, scope),
            cell(Allows, scope),
        ]
    };
    let shut = |at: usize, source: Option<&str>| {
        let mut cells: [PermissionCell; 7] =
            std::array::from_fn(|column| cell(if column < at && column != 2 { Allows } else { Silent }, &[]));
        cells[at] = PermissionCell { source: source.map(str::to_owned), ..cell(Closes, &[]) };
        cells[6] = cell(Closes, &[]);
        cells
    };
    let mut execute = open(&["cargo test", "cargo check"]);
    execute[5] = cell(Allows, &["cargo test"]);
    execute[6] = cell(Allows, &["cargo test"]);
    PermissionTable {
        node: Some("parse-tiles".into()),
        rows: vec![
            row("repository.read", open(&["**"]), None),
            row("repository.write", open(&["src/**", "tests/**"]), None),
            row("repository.delete", shut(1, None), Some(1)),
            row("shell.inspect", open(&[]), None),
            row("shell.execute", execute, None),
            row("runtime.inspect", shut(1, None), Some(1)),
            row("runtime.restart", shut(0, None), Some(0)),
            row("browser.inspect", shut(4, None), Some(4)),
            row("browser.mutate", shut(0, None), Some(0)),
            row("network.read", shut(3, Some(".telic/policy.toml:9")), Some(3)),
            row("external.write", shut(2, None), Some(2)),
            row("subagent.spawn", shut(5, None), Some(5)),
        ],
    }
}

fn decisions() -> Vec<DecisionLine> {
    let line = |minutes, allowed, capability: &str, target: &str, reason: &str| DecisionLine {
        at: minutes_ago(minutes),
        allowed,
        capability: capability.into(),
        target: target.into(),
        reason: reason.into(),
    };
    vec![
        line(33, true, "shell.execute", "cargo test", "on the allowlist of the node"),
        line(35, true, "repository.write", "src/parser.rs", "inside the node's scope"),
        line(36, false, "network.read", "docs.example.org", "closed by the repository's policy"),
        line(38, false, "repository.write", ".github/workflows/ci.yml", "outside every granted path"),
        line(41, true, "repository.read", "src/parser.rs", "inside the node's scope"),
    ]
}

/// The run that waits for an answer.
#[must_use]
pub fn question_run() -> RunDetail {
    let mut detail = base("run_01QUESTION");
    detail.request = "Prices on the overview lag behind by up to an hour. Keep them fresh, but do not ask the \
                      feed more than once a minute; it bans us otherwise.\n\nThe totals on statements must never \
                      be computed from a stale price."
        .into();
    detail.next_action = Some(NextStep {
        phase: "awaiting_clarification".into(),
        role: "user".into(),
        artifact_type: "an answer".into(),
        node: None,
        words: String::new(),
    });
    detail.phases = vec![
        visit("context_discovery", CellState::Done, "controller", 34, "12 documents"),
        visit("agent_1_frame", CellState::Done, "scenario_author", 28, ""),
        visit("agent_2_compile", CellState::Waiting, "task_compiler", 0, "asked a question"),
    ];
    detail.stop_conditions = vec!["A price on a statement would come from the cache.".into()];
    detail.clarification = Some(ClarificationView {
        request_id: "clarification-1".into(),
        question: "Which cache may go stale, and for how long?".into(),
        reason: "permission_expanding".into(),
        divergence: "A shared cache keeps every page fresh with one request a minute, but it lives in the \
                     gateway, which this run may not touch. A cache in the ledger alone stays inside the scope \
                     and leaves the other pages as they are."
            .into(),
        blocked_boundary: "repository.write on gateway/**".into(),
        inspected: vec!["repo://src/prices.rs".into(), "repo://gateway/feed.rs".into()],
        choices: vec![
            ChoiceView {
                id: "ledger-cache".into(),
                label: "Cache in the ledger for one minute".into(),
                consequence: "The overview is at most a minute behind. Other pages stay as slow as they are.".into(),
                authority_effect: "within_current_authority".into(),
                run_effect: "resume".into(),
            },
            ChoiceView {
                id: "gateway-cache".into(),
                label: "Cache in the gateway, for every page".into(),
                consequence: "All pages are fresh. The change reaches gateway/**, which has to be granted.".into(),
                authority_effect: "requires_new_run".into(),
                run_effect: "new_run".into(),
            },
            ChoiceView {
                id: "leave".into(),
                label: "Leave it as it is".into(),
                consequence: "Nothing changes; prices lag behind as before.".into(),
                authority_effect: "within_current_authority".into(),
                run_effect: "cancel".into(),
            },
        ],
        resume_phase: Some("agent_2_compile".into()),
        asked_at: minutes_ago(12),
        version: detail.row.version,
    });
    detail.trace = Arc::new(trace(4));
    detail
}

fn trace(upto: usize) -> Vec<TraceLine> {
    let lines = [
        (58, "controller", "context_discovery", "run_started", "Run started for the request", None),
        (
            57,
            "controller",
            "context_discovery",
            "context_selected",
            "12 documents selected, 143 left out",
            None,
        ),
        (
            52,
            "scenario_author",
            "agent_1_frame",
            "phase_submitted",
            "Problem framed: 4 facts, 2 unknowns",
            None,
        ),
        (49, "task_compiler", "agent_2_compile", "phase_submitted", "Contract version 1 accepted", None),
        (46, "scenario_author", "agent_1_review", "phase_submitted", "Review asks for one correction", None),
        (44, "task_compiler", "agent_2_revision", "phase_submitted", "Contract version 2 accepted", None),
        (43, "scenario_author", "agent_1_review", "transition_allowed", "Contract ready: score 91.5", None),
        (
            42,
            "quality_controller",
            "agent_3_plan",
            "phase_submitted",
            "Plan with 3 nodes, 46 tool calls",
            None,
        ),
        (
            38,
            "executor",
            "agent_4_execute",
            "permission_checked",
            "Write to .github/workflows/ci.yml",
            Some(false),
        ),
        (35, "executor", "agent_4_execute", "permission_checked", "Write to src/parser.rs", Some(true)),
        (34, "executor", "agent_4_execute", "phase_submitted", "Node parse-tiles completed", None),
        (
            33,
            "quality_controller",
            "agent_3_quality_review",
            "phase_submitted",
            "Quality review passes: 93",
            None,
        ),
        (
            32,
            "release_auditor",
            "agent_5_release_audit",
            "phase_submitted",
            "Audit releases with one warning",
            None,
        ),
        (31, "controller", "user_report", "run_terminated", "Run completed", None),
    ];
    (1..)
        .zip(lines)
        .take(upto)
        .map(|(sequence, (minutes, actor, phase, event, summary, allowed))| TraceLine {
            sequence,
            at: minutes_ago(minutes),
            actor: actor.into(),
            phase: phase.into(),
            event: event.into(),
            summary: summary.into(),
            inputs: vec!["artifact://run_01APPROVAL/contract-2".into()],
            outputs: vec![format!("artifact://run_01APPROVAL/artifact-{sequence}")],
            allowed,
        })
        .collect()
}

/// The run that waits for an approval.
#[must_use]
pub fn approval_run() -> RunDetail {
    let mut detail = base("run_01APPROVAL");
    detail.request =
        "Upgrade the tile parser to version 4 and use its streaming interface. The public functions \
                      of src/parser.rs stay as they are."
            .into();
    detail.phases = vec![
        visit("context_discovery", CellState::Done, "controller", 57, "12 documents"),
        visit("agent_1_frame", CellState::Done, "scenario_author", 52, ""),
        visit("agent_2_compile", CellState::Done, "task_compiler", 49, "version 1"),
        visit("agent_1_review", CellState::Done, "scenario_author", 46, "revise"),
        visit("agent_2_revision", CellState::Done, "task_compiler", 44, "version 2"),
        visit("agent_1_review", CellState::Done, "scenario_author", 43, "pass, score 91.5"),
        visit("agent_3_plan", CellState::Done, "quality_controller", 42, "3 nodes"),
        visit("agent_4_execute", CellState::Done, "executor", 34, "3 of 3 nodes"),
        visit("agent_3_quality_review", CellState::Done, "quality_controller", 33, "pass, score 93"),
        visit("agent_5_release_audit", CellState::Done, "release_auditor", 32, "release"),
        visit("user_report", CellState::Done, "controller", 31, "completed"),
    ];
    detail.stop_conditions = vec!["A public function of src/parser.rs would change.".into()];
    detail.trace = Arc::new(trace(14));
    detail.artifacts = artifacts();
    detail.attempts = vec![attempt()];
    detail.verification = Some(verification());
    detail.boundary = Some(BoundaryView {
        passed: true,
        violations: Vec::new(),
        apply_status: "CLEAN".into(),
        apply_note: "main at 77ab01c, 2 commits after the base".into(),
    });
    detail.judge = Some(JudgeView {
        status: "PASSED_WITH_WARNINGS".into(),
        confidence: 0.86,
        findings: vec![
            FindingView {
                severity: "WARNING".into(),
                category: "tests".into(),
                message: "The streaming path is covered by one test only.".into(),
                path: Some("tests/parser.rs".into()),
                line: Some(14),
                blocks_auto_pr: false,
            },
            FindingView {
                severity: "INFO".into(),
                category: "size".into(),
                message: "A lockfile changed with the dependency.".into(),
                path: Some("Cargo.lock".into()),
                line: None,
                blocks_auto_pr: false,
            },
        ],
    });
    detail.approval = Some(approval());
    detail.patch = Some(patch_summary());
    detail.messages = vec![
        MessageView { role: "USER".into(), at: minutes_ago(58), text: detail.request.clone() },
        MessageView {
            role: "AGENT".into(),
            at: minutes_ago(31),
            text: "The parser streams now. Memory while reading the largest tile fell from 212 MiB to 9 MiB."
                .into(),
        },
    ];
    detail
}

fn artifacts() -> Vec<ArtifactLine> {
    let lines = [
        ("ContextManifest", "context_discovery", "controller", 57, 8_412),
        ("ProblemFrame", "agent_1_frame", "scenario_author", 52, 6_120),
        ("TaskContract", "agent_2_compile", "task_compiler", 49, 9_904),
        ("PromptReview", "agent_1_review", "scenario_author", 46, 3_377),
        ("TaskContract", "agent_2_revision", "task_compiler", 44, 10_012),
        ("WorkPlan", "agent_3_plan", "quality_controller", 42, 7_231),
        ("WorkResult", "agent_4_execute", "executor", 34, 5_118),
        ("QualityReview", "agent_3_quality_review", "quality_controller", 33, 4_450),
        ("ReleaseAudit", "agent_5_release_audit", "release_auditor", 32, 4_761),
        ("UserReport", "user_report", "controller", 31, 3_002),
    ];
    (1..)
        .zip(lines)
        .map(|(number, (kind, phase, producer, minutes, bytes))| ArtifactLine {
            id: format!("artifact-{number}"),
            kind: kind.into(),
            producer: producer.into(),
            phase: phase.into(),
            at: minutes_ago(minutes),
            digest: "sha256:0".into(),
            bytes,
            fault: (number == 4).then(|| "digest does not match".to_owned()),
        })
        .collect()
}

fn attempt() -> AttemptView {
    let step = |sequence, kind: &str, status: &str, title: &str, from, to, call: Option<&str>| StepView {
        sequence,
        kind: kind.into(),
        status: status.into(),
        title: title.into(),
        started_at: minutes_ago(from),
        ended_at: Some(minutes_ago(to)),
        call: call.map(str::to_owned),
    };
    AttemptView {
        id: "attempt_1".into(),
        number: 1,
        status: "COMPLETED".into(),
        worker: "worker-1".into(),
        started_at: minutes_ago(58),
        ended_at: Some(minutes_ago(31)),
        heartbeat_at: Some(minutes_ago(31)),
        lease_expires_at: None,
        failure_code: None,
        steps: vec![
            step(1, "PREPARE_WORKSPACE", "SUCCEEDED", "Worktree at 4c1d09be77a2", 58, 58, None),
            step(2, "MODEL_PLANNING", "SUCCEEDED", "Frame the problem", 57, 52, None),
            step(3, "TOOL_CALL", "DENIED", "Write a workflow file", 38, 38, Some("DENIED_BY_PATH_GUARD")),
            step(4, "TOOL_CALL", "SUCCEEDED", "Write src/parser.rs", 35, 35, Some("ALLOWED")),
            step(5, "RUN_VERIFIER", "SUCCEEDED", "cargo test", 33, 32, None),
        ],
    }
}

fn verification() -> VerificationView {
    let check = |name: &str, command: &str, status: &str, exit_code, duration_ms, required| CheckView {
        name: name.into(),
        command: command.into(),
        status: status.into(),
        exit_code,
        duration_ms,
        required,
        ..CheckView::default()
    };
    VerificationView {
        status: "PASSED".into(),
        checks: vec![
            CheckView {
                log: Some("artifact_log_test".into()),
                baseline: Some("PASSED".into()),
                ..check("cargo-test", "cargo test --quiet", "PASSED", Some(0), Some(72_400), true)
            },
            check("cargo-clippy", "cargo clippy -- -D warnings", "PASSED", Some(0), Some(18_100), true),
            CheckView {
                summary: Some("2 links in docs/tiles.md lead nowhere.".into()),
                failed_tests: vec!["docs/tiles.md:14".into(), "docs/tiles.md:31".into()],
                ..check("links", "lychee docs", "FAILED", Some(2), Some(2_050), false)
            },
        ],
        started_at: Some(minutes_ago(33)),
        ended_at: Some(minutes_ago(32)),
    }
}

fn approval() -> ApprovalView {
    let item = |name: &str, state, detail: &str, jump| ChecklistItem {
        name: name.into(),
        state,
        detail: detail.into(),
        jump,
    };
    let reason = |code: &str, text: &str, acknowledge| ReasonView {
        code: code.into(),
        text: text.into(),
        acknowledge,
    };
    use ItemState::{Info, Pass, Warn};
    ApprovalView {
        verdict_id: "verdict_01".into(),
        status: "SUCCESS_NEEDS_REVIEW".into(),
        eligibility: "ELIGIBLE_AFTER_HUMAN_APPROVAL".into(),
        decided_at: minutes_ago(31),
        reasons: vec![
            reason("workflow_completed", "The workflow completed and its audit releases it.", false),
            reason("verification_passed", "All required checks passed on base and patch.", false),
            reason("judge_warning", "The streaming path is covered by one test only.", true),
        ],
        checklist: vec![
            item("Boundary", Pass, "every change is inside it", JumpTarget::Checks),
            item("Applies cleanly", Pass, "on main at 77ab01c", JumpTarget::Checks),
            item("cargo-test", Pass, "214 tests, 1 m 12 s", JumpTarget::Checks),
            item("cargo-clippy", Pass, "18.1 s", JumpTarget::Checks),
            item("links (optional)", Warn, "2 links lead nowhere", JumpTarget::Checks),
            item("Judge", Pass, "passed with warnings, 0.86", JumpTarget::Checks),
            item("Audit", Pass, "release", JumpTarget::Trace),
            item("Claims supported", Pass, "5 of 5", JumpTarget::Overview),
            item("Unresolved risks", Info, "none", JumpTarget::None),
        ],
        patch_digest: patch_summary().digest,
        base_commit: "4c1d09be77a2".into(),
        branch: "telic/upgrade-the-tile-parser-4fq2x1".into(),
        remote: "origin".into(),
        commit_subject: "Upgrade the tile parser to version 4".into(),
        ..ApprovalView::default()
    }
}

fn patch_summary() -> PatchSummary {
    let file = |path: &str, change: &str, additions, deletions, flags: &[&str]| PatchFile {
        path: path.into(),
        old_path: None,
        change: change.into(),
        additions,
        deletions,
        flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
        digest: format!("sha256:{path}"),
    };
    PatchSummary {
        digest: "sha256:5be1f0c2a9d34471".into(),
        base_commit: "4c1d09be77a2".into(),
        files: vec![
            file("Cargo.lock", "MODIFIED", 2, 2, &["lockfile"]),
            file("src/parser.rs", "MODIFIED", 11, 7, &[]),
            file("tests/parser.rs", "ADDED", 9, 0, &["test"]),
        ],
        additions: 22,
        deletions: 9,
    }
}

/// The patch of the run that waits for an approval.
#[must_use]
pub fn patch() -> &'static str {
    include_str!("parser.diff")
}

/// The log of its first check.
#[must_use]
pub fn log() -> &'static str {
    "   Compiling tiles v0.9.2\n    Finished `test` profile in 41.20s\n     Running unittests src/lib.rs\n\nrunning \
     212 tests\n\u{1b}[32mok\u{1b}[0m parser::reads_an_empty_tile\n\u{1b}[32mok\u{1b}[0m \
     parser::reads_a_tile_in_pieces\n\u{1b}[33mslow\u{1b}[0m parser::reads_the_largest_tile (8.1 s)\n\
     \u{1b}[32mok\u{1b}[0m parser::refuses_a_cut_off_tile\n\u{1b}]0;not a title\u{7}\n\ntest result: ok. 214 \
     passed; 0 failed; 0 ignored\n"
}
