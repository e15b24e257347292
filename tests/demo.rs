//! The whole loop as a user sees it: the demo without a terminal, on one, and beside other processes.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod support;

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use support::program::{Left, git, json, stderr, stdout, telic, telic_on_terminal};
use support::terminal::Terminal;
use telic::domain::{ApprovalDecision, PublicationStatus, RunStatus, VerdictStatus};
use telic::store::Store;

const ASKED: &str = "Why do large baskets";
const FIXED: &str = "Ship baskets";
const FORBIDDEN: &str = "Run the tests";

fn headless(home: &Path, folder: &Path, more: &[&str]) -> Output {
    let folder = folder.to_str().unwrap();
    let mut arguments = vec!["demo", "--headless", "--pace", "0", "--folder", folder];
    arguments.extend(more);
    telic(home, &arguments).output().unwrap()
}

/// What must be true when the question was answered and the patch approved, however that was done.
fn assert_everything_was_decided(left: &Left) {
    let asked = left.run(ASKED);
    assert_eq!(asked.status, RunStatus::Completed);
    let (in_workflow, in_conversation) = left.answers(&asked);
    assert_eq!(in_workflow, ["from-50"]);
    assert_eq!(in_conversation.last().map(String::as_str), Some("from-50"));

    let forbidden = left.run(FORBIDDEN);
    assert_eq!(forbidden.status, RunStatus::Failed);
    assert_eq!(left.verdict(&forbidden).status, VerdictStatus::FailedPolicy);
    assert!(left.approvals(&forbidden).is_empty());

    let fixed = left.run(FIXED);
    let approvals = left.approvals(&fixed);
    assert_eq!(approvals.len(), 1);
    assert_eq!(approvals[0].decision, ApprovalDecision::Approved);
    assert_eq!(approvals[0].verdict_id, left.verdict(&fixed).id);
    assert_eq!(left.verdict(&fixed).status, VerdictStatus::Success);
    let publication = fixed.publication.clone().unwrap();
    assert_eq!(publication.status, PublicationStatus::Pushed);
    assert_eq!(left.branches(), std::slice::from_ref(&publication.branch));

    let remote = left.folder.join("remote.git");
    let of_branch = |what: &str| git(&remote, &["rev-parse", &format!("{}{what}", publication.branch)]);
    assert_eq!(of_branch("^{tree}"), left.tree_of_patch(&fixed));
    assert_eq!(of_branch(""), publication.commit.unwrap().to_string());
    assert_eq!(of_branch("^"), git(&remote, &["rev-parse", "main"]));
    assert!(left.store.verify_blobs(None).unwrap().is_empty());
}

#[test]
fn the_demo_answers_and_approves_where_it_was_told_to_and_pushes_what_was_approved() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("demo");
    let output = headless(temp.path(), &folder, &["--answer", "from-50", "--approve"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert_everything_was_decided(&Left::by_demo_in(&folder));
    assert!(stdout(&output).contains("pushed: telic/ship-baskets"));

    let again = headless(temp.path(), &folder, &[]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("is there already"), "{}", stderr(&again));
    assert_everything_was_decided(&Left::by_demo_in(&folder));
}

#[test]
fn the_demo_decides_nothing_by_itself() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("demo");
    let output = headless(temp.path(), &folder, &[]);
    assert_eq!(output.status.code(), Some(3), "{}{}", stdout(&output), stderr(&output));
    let left = Left::by_demo_in(&folder);
    let (asked, fixed) = (left.run(ASKED), left.run(FIXED));
    assert_eq!(left.store.run(asked.id.as_str()).unwrap().status, "awaiting_clarification");
    assert_eq!(left.answers(&asked).0, Vec::<String>::new());
    assert_eq!(fixed.status, RunStatus::NeedsApproval);
    assert!(fixed.publication.is_none());
    assert!(left.approvals(&fixed).is_empty());
    assert_eq!(left.verdict(&left.run(FORBIDDEN)).status, VerdictStatus::FailedPolicy);
    assert_eq!(left.branches(), Vec::<String>::new());
    assert_eq!(
        git(&folder.join("parcel"), &["status", "--porcelain"]),
        "",
        "the user's own checkout is clean"
    );
}

#[test]
fn on_a_terminal_a_person_answers_reads_approves_and_gets_the_terminal_back() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("demo");
    let arguments = ["demo", "--pace", "0.2", "--folder", folder.to_str().unwrap()];
    let mut terminal = Terminal::start(telic_on_terminal(temp.path(), &arguments), (100, 30));
    open_run(&mut terminal, ASKED, "Waiting for your choice");
    // The footer offers keys once the question has stood long enough.
    terminal.shows("Esc later");
    terminal.press("1");
    terminal.until("chosen", |screen| !screen.contents().contains("Nothing is chosen yet"));
    terminal.press("\r");
    terminal.no_longer_shows("A question for you");
    terminal.press("q");
    open_run(&mut terminal, FIXED, "Ready for your approval");
    // The approval page comes up; it wants the files read, and leads to them.
    terminal.shows("warning is not acknowledged yet");
    terminal.press("\x19");
    terminal.press("\x19");
    terminal.press("G");
    terminal.press("\r");
    terminal.shows("0 of 2 viewed");
    terminal.shows("shipping.sh");
    terminal.press(" ");
    terminal.shows("1 of 2 viewed");
    terminal.press("u");
    terminal.press(" ");
    terminal.shows("2 of 2 viewed");
    terminal.press("A");
    terminal.shows("Ready.");
    terminal.press("\x19");
    terminal.shows("Approve and publish?");
    assert!(Left::by_demo_in(&folder).branches().is_empty());
    terminal.press("\x19");
    terminal.shows("pushed telic/ship-baskets");

    // Back over the run view to the list, where everything ends.
    terminal.press("q");
    terminal.press("q");
    select(&mut terminal, FORBIDDEN, "Stopped by policy");
    select(&mut terminal, ASKED, "Done; there is nothing to");
    terminal.press("\x03");
    terminal.shows("Leave telic?");
    terminal.press("\x03");
    terminal.ends_with(0);
    assert_everything_was_decided(&Left::by_demo_in(&folder));
}

/// Filters the list for one run and waits until its preview says this.
fn select(terminal: &mut Terminal, title: &str, state: &str) {
    terminal.shows("n next need");
    terminal.press("/");
    terminal.shows("Enter keep");
    terminal.press("\x1b");
    terminal.shows("n next need");
    terminal.press("/");
    terminal.shows("Enter keep");
    terminal.press(title);
    terminal.press("\r");
    terminal.until(&format!("{title} selected: {state}"), |screen| {
        let shown = screen.contents();
        let is_selected = |line: &str| line.contains('▌') && line.contains(title.get(..8).unwrap_or(title));
        shown.lines().any(is_selected) && shown.contains("n next need") && shown.contains(state)
    });
}

/// Opens a run once its state is this.
fn open_run(terminal: &mut Terminal, title: &str, state: &str) {
    select(terminal, title, state);
    terminal.press("\r");
    terminal.no_longer_shows("n next need");
}

#[test]
fn other_processes_list_and_show_the_runs_while_the_demo_works_on_them() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("demo");
    let state = folder.join("state");
    let arguments = ["demo", "--headless", "--pace", "0.2", "--folder", folder.to_str().unwrap()];
    let mut demo = telic(temp.path(), &arguments).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(demo.stdout.take().unwrap()));
    // The first line is printed once all three tasks are submitted.
    lines.next().unwrap().unwrap();
    let look =
        |arguments: &[&str]| telic(temp.path(), arguments).env("TELIC_STATE_DIR", &state).output().unwrap();
    let store = Store::open_read_only(&state).unwrap();
    let mut looks = 0;
    let mut feed = store.feed().unwrap();
    while demo.try_wait().unwrap().is_none() {
        let listed = json(&look(&["runs", "--json"]));
        assert_eq!(listed["faults"], serde_json::json!([]));
        let runs = listed["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 3, "{listed}");
        for run in runs {
            let id = run["key"]["run"].as_str().unwrap();
            let shown = json(&look(&["show", id, "--json"]));
            assert_eq!(shown["run"]["row"]["key"]["run"], id, "{shown}");
        }
        looks += 1;
        feed.changes().unwrap();
        feed.wait(Duration::from_millis(200)).unwrap();
    }
    assert!(looks > 1, "the demo was watched while it worked");
    assert_eq!(demo.wait().unwrap().code(), Some(3));
    drop(lines);
    let needs = json(&look(&["runs", "--needs-you", "--json"]));
    assert_eq!(needs["runs"].as_array().unwrap().len(), 2);
}
