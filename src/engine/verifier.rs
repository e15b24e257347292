//! Verification: the planned commands in a clean worktree of base and patch (V-1 to V-9).

use super::EngineError;
use super::process::{self, End, Job, Ran, StartError, Stop};
use crate::domain::{
    ArtifactId, Check, CheckFacts, CheckReading, CheckStatus, ExecutionSpec, NotStarted, PlannedCheck,
    RunArtifactType, StepStatus, StepType, VerificationId, VerificationReport, VerificationStatus,
    Visibility, read_check,
};
use crate::service::clock::{fresh, now};
use crate::service::supervision::Held;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// The most of a log that a summary is made from, in bytes: its tail, where runners say how it went.
const SUMMARY_TAIL: u64 = 64 << 10;

/// Runs every planned check in `folder`, or says why none may run.
///
/// # Errors
/// The lease is lost, or the log cannot be stored.
pub(super) fn verify(
    held: &mut Held,
    folder: &Path,
    logs: &Path,
    consent: &Result<(), String>,
    stop: &Stop,
) -> Result<VerificationReport, EngineError> {
    let started_at = now();
    let spec = held.spec.clone();
    let mut checks = Vec::new();
    let mut skip_reason = None;
    for plan in &spec.verification_plan {
        let check = match consent {
            Ok(()) => run_check(held, plan, &spec, folder, logs, stop)?,
            Err(why) => {
                skip_reason = Some(why.clone());
                unstarted(plan, &spec, NotStarted::SkippedByPolicy(why.clone()))
            }
        };
        checks.push(check);
    }
    let skipped = skip_reason.is_some() && checks.iter().all(|check| check.status == CheckStatus::Skipped);
    let status = crate::domain::overall(&checks, skipped);
    Ok(VerificationReport {
        id: VerificationId::new(fresh()),
        run_id: held.run.id.clone(),
        status,
        checks,
        full_report_artifact: None,
        skip_reason,
        started_at,
        ended_at: now(),
    })
}

/// A report without any check that ran, with the reason.
pub(super) fn not_run(held: &Held, why: &str) -> VerificationReport {
    let at = now();
    let checks: Vec<Check> = held
        .spec
        .verification_plan
        .iter()
        .map(|plan| unstarted(plan, &held.spec, NotStarted::NotReached(why.to_owned())))
        .collect();
    VerificationReport {
        id: VerificationId::new(fresh()),
        run_id: held.run.id.clone(),
        status: VerificationStatus::NotRun,
        checks,
        full_report_artifact: None,
        skip_reason: Some(why.to_owned()),
        started_at: at,
        ended_at: at,
    }
}

/// A check whose command did not start.
fn unstarted(plan: &PlannedCheck, spec: &ExecutionSpec, why: NotStarted) -> Check {
    let facts = CheckFacts { not_started: Some(why), ..CheckFacts::default() };
    check(plan, read_check(plan, &facts, &spec.infra_patterns))
}

fn check(plan: &PlannedCheck, reading: CheckReading) -> Check {
    Check {
        name: plan.name.clone(),
        command: plan.command.clone(),
        status: reading.status,
        exit_code: None,
        signal: None,
        duration_millis: 0,
        log_artifact: None,
        summarized_failure: reading.summarized_failure,
        required: plan.required,
        failed_tests: reading.failed_tests,
        tests: reading.tests,
        baseline_status: None,
        baseline_tests: None,
        processes_left: 0,
        output_dropped: 0,
    }
}

fn run_check(
    held: &mut Held,
    plan: &PlannedCheck,
    spec: &ExecutionSpec,
    folder: &Path,
    logs: &Path,
    stop: &Stop,
) -> Result<Check, EngineError> {
    let step = held.begin(StepType::RunVerifier, &plan.command)?;
    let log = logs.join(format!("check-{}.log", step.id()));
    let Some(words) = super::command::split(&plan.command) else {
        held.end(step, StepStatus::Failed, Some("command_malformed"), &[])?;
        let why = format!("{:?} cannot be run without a shell", plan.command);
        return Ok(unstarted(plan, spec, NotStarted::CommandMissing(why)));
    };
    let job = Job {
        command: words.into_iter().map(Into::into).collect(),
        directory: folder.to_owned(),
        environment: BTreeMap::new(),
        pass: spec.tool_policy.environment.clone(),
        limit: Duration::from_secs(plan.timeout_seconds),
        output_limit: spec.budget.output_bytes,
        input: None,
    };
    let mut lost = None;
    let ran = process::run(&job, &log, stop, &mut |_| {}, &mut || {
        if lost.is_none() {
            lost = held.heartbeat_when_due().err();
        }
    });
    if let Some(error) = lost {
        return Err(error.into());
    }
    let ran = match ran {
        Ok(ran) => ran,
        Err(error) => {
            held.end(step, StepStatus::Failed, Some("tool_unavailable"), &[])?;
            let why = match error {
                StartError::NotFound { .. } => NotStarted::CommandMissing(error.to_string()),
                StartError::Failed { .. } => NotStarted::Infrastructure(error.to_string()),
            };
            return Ok(unstarted(plan, spec, why));
        }
    };
    let artifact = held.artifact(
        RunArtifactType::CommandLog,
        "text/plain; charset=utf-8",
        Visibility::VisibleToRequester,
        Some(&step),
        &mut File::open(&log).map_err(EngineError::io("open the log", &log))?,
    )?;
    let text = tail(&log)?;
    let check = judged(plan, spec, &ran, &text, artifact.id.clone());
    let (status, failure) = match check.status {
        CheckStatus::Passed => (StepStatus::Succeeded, None),
        CheckStatus::TimedOut => (StepStatus::TimedOut, None),
        CheckStatus::InfraFailure => (StepStatus::Failed, Some("infrastructure")),
        _ => (StepStatus::Failed, Some("check_failed")),
    };
    held.end(step, status, failure, &[artifact.id])?;
    Ok(check)
}

/// What a command that ran came to.
fn judged(plan: &PlannedCheck, spec: &ExecutionSpec, ran: &Ran, log: &str, artifact: ArtifactId) -> Check {
    let (exit_code, signal) = match ran.end {
        End::Exited(code) => (Some(code), None),
        End::Signalled(signal) => (None, Some(signal)),
        End::TimedOut | End::Stopped => (None, None),
    };
    let stopped = (ran.end == End::Stopped).then(|| NotStarted::NotReached("it was stopped".to_owned()));
    let facts = CheckFacts {
        not_started: stopped,
        exit_code,
        signal,
        timed_out: ran.end == End::TimedOut,
        output: log,
        ..CheckFacts::default()
    };
    Check {
        exit_code,
        signal,
        duration_millis: u64::try_from(ran.took.as_millis()).unwrap_or(u64::MAX),
        log_artifact: Some(artifact),
        processes_left: u32::from(ran.left_behind),
        output_dropped: ran.dropped,
        ..check(plan, read_check(plan, &facts, &spec.infra_patterns))
    }
}

fn tail(log: &Path) -> Result<String, EngineError> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let mut file = File::open(log).map_err(EngineError::io("open the log", log))?;
    let size = file.metadata().map_err(EngineError::io("look at the log", log))?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(SUMMARY_TAIL)))
        .map_err(EngineError::io("read the log", log))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(EngineError::io("read the log", log))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
