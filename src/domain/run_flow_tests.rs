use super::error::DomainError;
use super::samples::{self, run_at, sha, time, verdict};
use super::*;
use proptest::prelude::*;

const LISTED: &str = "CREATED->QUEUED|CANCELLED; QUEUED->LEASED|CANCELLED; \
    LEASED->PREPARING_WORKSPACE|QUEUED|CANCELLED; PREPARING_WORKSPACE->RUNNING_AGENT|QUEUED|FAILED|CANCELLED; \
    RUNNING_AGENT->VERIFYING|RUNNING_AGENT|QUEUED|FAILED|EXPIRED|CANCELLED; \
    VERIFYING->JUDGING|QUEUED|FAILED|CANCELLED; JUDGING->NEEDS_APPROVAL|COMPLETED|QUEUED|FAILED|CANCELLED; NEEDS_APPROVAL->COMPLETED|VERIFYING|CANCELLED; \
    COMPLETED->VERIFYING; FAILED->; CANCELLED->; EXPIRED->";

fn failed() -> Verdict {
    verdict(VerdictStatus::FailedInfrastructure, PrEligibility::NotEligible)
}

fn cancelled() -> Verdict {
    verdict(VerdictStatus::Cancelled, PrEligibility::NotEligible)
}

type Move = fn(&Run) -> Result<Run, DomainError>;

/// Every named move with the pairs it may make.
const MOVES: &[(&str, Move)] = &[
    ("CREATED->QUEUED", |r| r.queue(sha(8), time(9))),
    ("QUEUED->LEASED", |r| r.lease(time(9))),
    ("LEASED->QUEUED", |r| r.lease_ran_out(time(9))),
    ("LEASED->PREPARING_WORKSPACE", |r| r.prepare(time(9))),
    ("PREPARING_WORKSPACE->RUNNING_AGENT", |r| r.start_agent(time(9))),
    ("PREPARING_WORKSPACE->QUEUED RUNNING_AGENT->QUEUED VERIFYING->QUEUED JUDGING->QUEUED", |r| {
        r.requeue(3, time(9))
    }),
    ("PREPARING_WORKSPACE->FAILED RUNNING_AGENT->FAILED VERIFYING->FAILED JUDGING->FAILED", |r| {
        r.fail("worker_lost", &failed(), time(9))
    }),
    ("RUNNING_AGENT->EXPIRED", |r| r.expire(&failed(), time(9))),
    ("RUNNING_AGENT->RUNNING_AGENT", |r| r.pause(time(9))),
    ("RUNNING_AGENT->QUEUED", |r| Run { paused: true, ..r.clone() }.resume(time(9))),
    ("RUNNING_AGENT->VERIFYING", |r| r.verify(time(9))),
    ("VERIFYING->JUDGING", |r| r.judge(time(9))),
    ("JUDGING->NEEDS_APPROVAL", |r| {
        r.decide(&verdict(VerdictStatus::Success, PrEligibility::EligibleAfterHumanApproval), time(9))
    }),
    ("JUDGING->COMPLETED", |r| r.decide(&verdict(VerdictStatus::Success, PrEligibility::DraftOnly), time(9))),
    ("JUDGING->FAILED", |r| {
        r.decide(&verdict(VerdictStatus::FailedVerification, PrEligibility::NotEligible), time(9))
    }),
    ("NEEDS_APPROVAL->COMPLETED", |r| r.decided_by_person(time(9))),
    ("NEEDS_APPROVAL->VERIFYING COMPLETED->VERIFYING", |r| r.recheck(time(9))),
    ("*->CANCELLED", |r| r.cancel(&cancelled(), time(9))),
];

#[test]
fn every_pair_of_run_statuses_is_legal_or_not_as_listed() {
    let mut pairs = 0;
    for row in LISTED.split("; ") {
        let (from, to) = row.split_once("->").unwrap();
        let from: RunStatus = from.parse().unwrap();
        for target in RunStatus::ALL {
            pairs += 1;
            let expected = to.split('|').any(|word| word == target.as_str());
            assert_eq!(from.allowed(*target), expected, "{from} -> {target}");
        }
    }
    assert_eq!(pairs, 144);
}

#[test]
fn every_named_move_makes_its_own_transitions_and_no_other() {
    for (pairs, step) in MOVES {
        for from in RunStatus::ALL {
            let run = run_at(*from);
            let expected = pairs.split(' ').find_map(|pair| {
                let (start, end) = pair.split_once("->").unwrap();
                let fits = start == from.as_str() || (start == "*" && !from.is_terminal());
                fits.then(|| end.parse::<RunStatus>().unwrap())
            });
            match (step(&run), expected) {
                (Ok(moved), Some(to)) => {
                    assert_eq!(moved.status, to, "{pairs} from {from}");
                    assert_eq!(moved.ended_at.is_some(), to.is_terminal(), "{pairs} from {from}");
                    moved.check().unwrap();
                }
                (Err(error), None) => {
                    assert_eq!(error.code(), "transition_not_allowed", "{pairs} from {from}");
                }
                (got, expected) => panic!("{pairs} from {from}: {got:?}, expected {expected:?}"),
            }
        }
    }
}

#[test]
fn r_1_r_2_a_run_belongs_to_a_ready_task_that_policy_allows() {
    let task = samples::ready_task();
    let run = samples::run();
    assert_eq!(run.task_id, task.id);
    assert_eq!((run.status, run.workflow_run_id()), (RunStatus::Created, &run.id));
    let denied = PolicyDecision { allowed: false, ..samples::decision() };
    let error = Run::create(samples::run_id(), &task, denied, None, time(3)).unwrap_err();
    assert_eq!((error.code(), error.rule), ("task_denied", "R-2"));
    for status in TaskStatus::ALL.iter().filter(|status| **status != TaskStatus::ReadyForRun) {
        let task = Task { status: *status, ..task.clone() };
        let error = Run::create(samples::run_id(), &task, samples::decision(), None, time(3)).unwrap_err();
        assert_eq!((error.code(), error.rule), ("task_not_ready", "R-2"), "{status}");
    }
}

#[test]
fn r_3_a_run_is_queued_with_one_spec_only() {
    let other = run_at(RunStatus::Created).queue(sha(7), time(9)).unwrap_err();
    assert_eq!((other.code(), other.rule), ("spec_frozen", "R-3"));
    assert_eq!(samples::run().queue(sha(7), time(9)).unwrap().execution_spec_sha256, Some(sha(7)));
}

#[test]
fn r_4_no_run_is_queued_without_a_base_commit() {
    let unbound = Run { base_commit: None, ..samples::run() };
    assert_eq!(unbound.queue(sha(8), time(9)).unwrap_err().rule, "R-4");
    assert!(Run { base_commit: None, ..run_at(RunStatus::Queued) }.check().is_err());
}

#[test]
fn r_5_no_run_ends_without_its_own_verdict_of_that_kind() {
    let running = run_at(RunStatus::RunningAgent);
    let success = verdict(VerdictStatus::Success, PrEligibility::DraftOnly);
    let foreign = Verdict { run_id: RunId::new(samples::ulid(99)), ..cancelled() };
    for refused in [
        running.cancel(&success, time(9)),
        running.cancel(&foreign, time(9)),
        running.fail("worker_lost", &success, time(9)),
        running.expire(&success, time(9)),
    ] {
        let error = refused.unwrap_err();
        assert_eq!((error.code(), error.rule), ("verdict_mismatch", "R-5"));
    }
    let ended = Run { verdict_id: None, ..run_at(RunStatus::Failed) };
    assert_eq!(ended.check().unwrap_err().code(), "verdict_missing");
}

#[test]
fn r_6_r_7_a_run_completes_without_a_patch_and_with_one_that_is_not_eligible() {
    let judging = run_at(RunStatus::Judging);
    let conflict = verdict(VerdictStatus::SuccessNeedsReview, PrEligibility::NotEligible);
    let done = judging.decide(&conflict, time(9)).unwrap();
    assert_eq!((done.status, done.patch_id), (RunStatus::Completed, None));
}

#[test]
fn a_host_driven_run_starts_with_its_agent_running() {
    let task = samples::ready_task();
    let run =
        Run::create_host_driven(samples::run_id(), &task, samples::decision(), sha(8), time(3)).unwrap();
    assert_eq!((run.status, run.host_driven, run.attempts_used), (RunStatus::RunningAgent, true, 1));
}

#[test]
fn waiting_for_a_person_costs_no_attempt_and_a_lost_worker_does() {
    let queued = samples::run().queue(sha(8), time(4)).unwrap();
    let running = queued.lease(time(5)).unwrap().prepare(time(5)).unwrap().start_agent(time(6)).unwrap();
    assert_eq!(running.attempts_used, 1);
    assert_eq!(running.resume(time(7)).unwrap_err().code(), "not_paused");
    let answered = running.pause(time(7)).unwrap().resume(time(8)).unwrap();
    assert_eq!((answered.attempts_used, answered.paused), (0, false));
    let lost = running.requeue(2, time(7)).unwrap();
    assert_eq!(lost.attempts_used, 1);
    assert_eq!(running.requeue(1, time(7)).unwrap_err().rule, "A-4");
}

#[test]
fn a_published_run_is_not_checked_again() {
    let publication = |status| Publication {
        status,
        remote: "origin".to_owned(),
        branch: "telic/x".to_owned(),
        commit: None,
        url: None,
        next_commands: Vec::new(),
        draft: false,
        body_sha256: None,
        verdict_id: VerdictId::new(samples::ulid(7)),
        failure: None,
        requested_at: time(8),
        updated_at: time(8),
    };
    for status in PublicationStatus::ALL {
        let run = Run { publication: Some(publication(*status)), ..run_at(RunStatus::Completed) };
        assert_eq!(run.recheck(time(9)).is_err(), status.is_out(), "{status}");
    }
}

proptest! {
    #[test]
    fn whatever_is_tried_a_run_only_makes_legal_moves_and_keeps_its_rules(
        tries in proptest::collection::vec(0..MOVES.len(), 0..60),
    ) {
        let mut run = samples::run();
        for index in tries {
            if let Ok(next) = MOVES[index].1(&run) {
                prop_assert!(run.status.allowed(next.status));
                prop_assert!(next.check().is_ok());
                prop_assert!(run.execution_spec_sha256.is_none()
                    || run.execution_spec_sha256 == next.execution_spec_sha256);
                prop_assert!(!next.paused || next.status == RunStatus::RunningAgent);
                prop_assert!(next.attempts_used.abs_diff(run.attempts_used) <= 1);
                run = next;
            }
        }
    }
}
