//! The program is killed in the middle, and an engine on the same store brings the runs to their end: nothing that
//! was accepted is lost, and no phase is done twice.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod support;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::program::{Left, TELIC, telic, telic_on_terminal};
use support::terminal::Terminal;
use telic::config::{Agent, AgentInput, Config};
use telic::domain::{Lease, PolicyFile, Run, RunStatus};
use telic::engine::{self, Settings};
use telic::service::link::{Command, Reply, Request};
use telic::service::snapshot::{NeedKind, RunRow, Snapshot};
use telic::store::{Change, EventRecord, Store};

const PATIENCE: Duration = Duration::from_secs(30);

/// Starts the demo, waits until its store is as wanted, and kills it without a word.
fn killed_when(home: &Path, folder: &Path, more: &[&str], wanted: impl Fn(&Left) -> bool) -> Left {
    killed_with(telic(home, &[]), folder, more, wanted)
}

fn killed_with(
    mut program: std::process::Command,
    folder: &Path,
    more: &[&str],
    wanted: impl Fn(&Left) -> bool,
) -> Left {
    let mut arguments = vec!["demo", "--headless", "--folder", folder.to_str().unwrap()];
    arguments.extend(more);
    let mut demo = program.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(demo.stdout.take().unwrap()));
    lines.next().unwrap().unwrap();
    let left = Left::by_demo_in(folder);
    let mut feed = left.store.feed().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !wanted(&left) {
        assert!(demo.try_wait().unwrap().is_none(), "the demo ended before it was killed");
        let time = deadline.checked_duration_since(Instant::now()).expect("the state was not reached");
        feed.changes().unwrap();
        feed.wait(time).unwrap();
    }
    kill(Pid::from_raw(i32::try_from(demo.id()).unwrap()), Signal::SIGKILL).unwrap();
    assert_eq!(demo.wait().unwrap().code(), None, "it was killed");
    left
}

/// Lets the leases of the dead worker run out now, as they would by themselves half a minute later.
fn let_leases_run_out(state: &Path) {
    let store = Store::open(state).unwrap();
    let runs: Vec<Run> = store.latest_records(0, 100).unwrap();
    for run in runs {
        if let Some(lease) = store.lease(run.id.as_str()).unwrap()
            && lease.status == telic::domain::LeaseStatus::Held
        {
            let mut change = Change::new();
            change.change_lease(&Lease { expires_at: lease.last_heartbeat_at, ..lease }).unwrap();
            store.commit(&change).unwrap();
        }
    }
}

/// The demo's agents, as its configuration names them.
fn settings(folder: &Path) -> Settings {
    let agent = |name: &&str| {
        let script = folder.join("scripts").join(format!("{name}.json"));
        let words =
            [TELIC, "agent", "replay", script.to_str().unwrap(), "--run={run_id}", "--workspace={workspace}"];
        let mut command: Vec<String> = words.map(str::to_owned).to_vec();
        command.push("--pace=0".to_owned());
        ((*name).to_owned(), Agent { command, env: BTreeMap::new(), stdin: AgentInput::Null, timeout: 600 })
    };
    Settings {
        config: Config {
            agents: ["analyst", "fixer", "meddler"].iter().map(agent).collect(),
            ..Config::default()
        },
        user_policy: PolicyFile::default(),
        program: TELIC.into(),
        actor: "tester".to_owned(),
        workers: 2,
    }
}

/// Lets an engine work on the store, answering the question, until only an approval is left to do.
fn work_to_the_end(folder: &Path) {
    let store = Store::open(&folder.join("state")).unwrap();
    let (link, engine) = engine::start(&settings(folder), vec![("again".to_owned(), store)]);
    let (waker, woken) = channel();
    link.set_waker(move || _ = waker.send(()));
    let deadline = Instant::now() + PATIENCE;
    let mut answered = HashSet::new();
    let mut last: Option<Arc<Snapshot>> = None;
    let over =
        |row: &RunRow| row.ended || row.need.as_ref().is_some_and(|need| need.kind == NeedKind::Approval);
    loop {
        if let Some(snapshot) = link.take_snapshot() {
            for row in snapshot.rows.iter() {
                let asks = row.need.as_ref().is_some_and(|need| need.kind == NeedKind::Clarification);
                if asks && answered.insert(row.key.run.clone()) {
                    let command = Command::Answer {
                        key: row.key.clone(),
                        request_id: String::new(),
                        choice: "from-50".to_owned(),
                        expected_version: row.version,
                    };
                    link.commands.send(Request { ticket: 1, command }).unwrap();
                }
            }
            if snapshot.rows.len() == 3 && snapshot.rows.iter().all(over) {
                break;
            }
            last = Some(snapshot);
        }
        while let Ok(reply) = link.replies.try_recv() {
            assert!(!matches!(reply, Reply::Refused { .. }), "{reply:?}");
        }
        let time = deadline.saturating_duration_since(Instant::now());
        if woken.recv_timeout(time).is_err() {
            let last = last.map(|last| {
                let line =
                    |row: &RunRow| format!("{}: {:?} {}", row.title, row.supervision_status, row.sentence);
                (last.rows.iter().map(line).collect::<Vec<_>>(), last.engine.clone())
            });
            panic!("the runs did not end: {last:#?}");
        }
    }
    drop(link);
    engine.join();
}

/// What was submitted in a run: the artifact of each accepted submission, in order.
fn submitted(store: &Store, run: &Run) -> Vec<String> {
    let of_phase = |event: &EventRecord| event.event_type == "phase_submitted";
    let events = store.events(run.id.as_str(), 0, 10_000).unwrap();
    events.iter().filter(|event| of_phase(event)).flat_map(|event| event.output_refs.clone()).collect()
}

fn artifacts(store: &Store, run: &Run) -> Vec<(String, String)> {
    let kept = store.artifacts(run.id.as_str()).unwrap();
    kept.into_iter().map(|artifact| (artifact.artifact_id, artifact.sha256)).collect()
}

fn runs(left: &Left) -> Vec<Run> {
    left.store.latest_records(0, 100).unwrap()
}

/// Goes on after the kill and compares what there was with what there is.
fn goes_on(left: &Left, folder: &Path) {
    let before: Vec<_> = runs(left).iter().map(|run| (run.clone(), artifacts(&left.store, run))).collect();
    let sent: Vec<_> = before.iter().map(|(run, _)| submitted(&left.store, run)).collect();
    let_leases_run_out(&folder.join("state"));
    work_to_the_end(folder);

    let status = |title: &str| left.run(title).status;
    assert_eq!(status("Why do large baskets"), RunStatus::Completed);
    assert_eq!(status("Ship baskets"), RunStatus::NeedsApproval);
    assert_eq!(status("Run the tests"), RunStatus::Failed);
    for ((run, kept), sent) in before.iter().zip(sent) {
        let now = artifacts(&left.store, run);
        assert_eq!(now.get(..kept.len()), Some(&kept[..]), "nothing accepted is lost or moved");
        let all = submitted(&left.store, run);
        assert_eq!(all.get(..sent.len()), Some(&sent[..]));
        let once: HashSet<&String> = all.iter().collect();
        assert_eq!(once.len(), all.len(), "{}: a phase was done twice: {all:?}", run.id);
        assert_eq!(left.store.run(run.id.as_str()).unwrap().status, "completed");
    }
    assert_eq!(left.answers(&left.run("Why do large baskets")).0, ["from-50"]);
    assert!(left.store.verify_blobs(None).unwrap().is_empty());
    assert!(left.store.check().unwrap().is_empty());
}

#[test]
fn after_a_kill_at_the_first_accepted_phase_the_runs_go_on_where_they_were() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("demo");
    let left = killed_when(temp.path(), &folder, &["--pace", "1"], |left| {
        runs(left).iter().any(|run| !submitted(&left.store, run).is_empty())
    });
    goes_on(&left, &folder);
}

#[test]
fn after_a_kill_at_the_answer_the_answer_counts_and_is_not_asked_for_again() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("demo");
    let more = ["--pace", "0.5", "--answer", "from-50"];
    let left = killed_when(temp.path(), &folder, &more, |left| {
        !left.answers(&left.run("Why do large baskets")).0.is_empty()
    });
    goes_on(&left, &folder);
}
#[test]
fn after_a_kill_while_the_patch_is_verified_it_is_verified_again() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("demo");
    let mut program = telic(temp.path(), &[]);
    program.env("PATH", slow_path(temp.path()));
    let left = killed_with(program, &folder, &["--pace", "0"], |left| {
        left.run("Ship baskets").status == RunStatus::Verifying
    });
    goes_on(&left, &folder);
}

#[test]
fn a_run_that_lost_its_last_attempt_ends_with_a_verdict_that_says_so() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("demo");
    let left = killed_when(temp.path(), &folder, &["--pace", "1"], |left| {
        !submitted(&left.store, &left.run("Ship baskets")).is_empty()
    });
    let state = folder.join("state");
    let store = Store::open(&state).unwrap();
    let run = left.run("Ship baskets");
    let mut change = Change::new();
    change.replace(&run, &Run { attempts_used: 1000, ..run.clone() }).unwrap();
    store.commit(&change).unwrap();
    let_leases_run_out(&state);
    work_to_the_end(&folder);
    let run = left.run("Ship baskets");
    assert_eq!((run.status, run.failure_code.as_deref()), (RunStatus::Failed, Some("worker_lost")));
    let verdict = left.verdict(&run);
    assert_eq!(verdict.status, telic::domain::VerdictStatus::FailedInfrastructure);
    assert_eq!(left.run("Run the tests").status, RunStatus::Failed);
}

/// A path with a shell that takes its time over a verification, so that one is surely under way.
fn slow_path(folder: &Path) -> std::ffi::OsString {
    let slow = folder.join("sh");
    let script = "#!/bin/sh\ncase \"$PWD\" in *-verify-*) sleep 5;; esac\nexec /bin/sh \"$@\"\n";
    std::fs::write(&slow, script).unwrap();
    std::fs::set_permissions(&slow, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    std::env::join_paths(path).unwrap()
}

#[test]
fn leaving_the_dashboard_during_a_verification_decides_nothing_about_the_run() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("demo");
    let arguments = ["demo", "--pace", "0", "--folder", folder.to_str().unwrap()];
    let mut command = telic_on_terminal(temp.path(), &arguments);
    command.env("PATH", slow_path(temp.path()));
    let mut terminal = Terminal::start(command, (140, 30));
    terminal.shows("Ship baskets");
    let left = Left::by_demo_in(&folder);
    let mut feed = left.store.feed().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while left.run("Ship baskets").status != RunStatus::Verifying {
        let time = deadline.checked_duration_since(Instant::now()).expect("nothing was verified");
        feed.changes().unwrap();
        feed.wait(time).unwrap();
    }
    terminal.press("\x03");
    terminal.shows("Leave telic?");
    terminal.press("\x03");
    terminal.ends_with(0);
    assert_eq!(left.run("Ship baskets").status, RunStatus::Queued);
    assert_eq!(left.run("Ship baskets").verdict_id, None);
    goes_on(&left, &folder);
}
