//! Records for tests, all of one small story.

use super::*;
use std::collections::BTreeMap;

pub(crate) fn ulid(n: u64) -> ulid::Ulid {
    ulid::Ulid::from_parts(1_700_000_000_000 + n, u128::from(n))
}

pub(crate) fn time(second: i64) -> Timestamp {
    Timestamp::from_millis(1_772_442_930_000 + second * 1_000).unwrap()
}

pub(crate) fn commit(n: u8) -> Commit {
    Commit::from(format!("{n:02x}").repeat(20))
}

pub(crate) fn sha(n: u8) -> Sha256 {
    Sha256::from(format!("sha256:{}", format!("{n:02x}").repeat(32)))
}

pub(crate) fn run_id() -> RunId {
    RunId::new(ulid(3))
}

pub(crate) fn task() -> Task {
    Task {
        id: TaskId::new(ulid(1)),
        session_id: SessionId::new(ulid(2)),
        source: Source::Cli,
        created_by: "dev@example.org".to_owned(),
        task_type: TaskType::BugFix,
        title: "Round totals".to_owned(),
        instruction: "Totals are rounded twice; round once.".to_owned(),
        mode: IntentMode::AnalyzeAndFix,
        repository: None,
        base_ref: Some("main".to_owned()),
        base_commit: None,
        autonomy_level: AutonomyLevel::SupervisedPr,
        allowed_paths: Vec::new(),
        forbidden_paths: Vec::new(),
        verification: Vec::new(),
        labels: BTreeMap::new(),
        status: TaskStatus::Draft,
        denial_reasons: Vec::new(),
        created_at: time(0),
        updated_at: time(0),
    }
}

pub(crate) fn ready_task() -> Task {
    task().accept(time(1)).unwrap().ready("/home/dev/cart", Some(commit(1)), time(2)).unwrap()
}

pub(crate) fn decision() -> PolicyDecision {
    PolicyDecision { allowed: true, reasons: Vec::new(), policy_digest: sha(9) }
}

pub(crate) fn run() -> Run {
    Run::create(run_id(), &ready_task(), decision(), Some("scripted".to_owned()), time(3)).unwrap()
}

pub(crate) fn run_at(status: RunStatus) -> Run {
    Run {
        status,
        execution_spec_sha256: Some(sha(8)),
        verdict_id: Some(VerdictId::new(ulid(7))),
        attempts_used: 1,
        ..run()
    }
}

pub(crate) fn attempt(status: AttemptStatus) -> Attempt {
    Attempt {
        id: AttemptId::new(ulid(4)),
        run_id: run_id(),
        attempt_number: 1,
        worker_id: "worker-1".to_owned(),
        lease_id: Some(LeaseId::new(ulid(5))),
        status,
        paused: false,
        started_at: time(4),
        last_heartbeat_at: time(4),
        lease_expires_at: Some(time(34)),
        ended_at: None,
        failure_code: None,
        place: None,
        process: None,
        exit_code: None,
    }
}

pub(crate) fn verdict(status: VerdictStatus, eligibility: PrEligibility) -> Verdict {
    Verdict {
        id: VerdictId::new(ulid(7)),
        run_id: run_id(),
        status,
        pr_eligibility: eligibility,
        decided_by_row: 12,
        reasons: Vec::new(),
        evidence: Vec::new(),
        inputs_digest: sha(1),
        retry: Retry::None,
        supersedes: None,
        decided_at: time(60),
    }
}

pub(crate) fn change(path: &str) -> FileChange {
    FileChange {
        path: path.into(),
        old_path: None,
        change_type: ChangeType::Modified,
        additions: 2,
        deletions: 1,
        old_mode: None,
        new_mode: None,
        generated: false,
        binary: false,
        lockfile: false,
        test_file: false,
        symlink: false,
        submodule: false,
        forbidden_by_policy: false,
    }
}
