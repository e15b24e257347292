//! What cannot work is refused with words that say what and where, and leaves everything as it was.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use support::program::{git, json, stderr, stdout, telic, telic_on_terminal};
use support::terminal::Terminal;
use telic::domain::{AutonomyLevel, PolicyFile, Source, TaskType};
use telic::service::supervision::{Supervision, TaskDraft};
use telic::service::views::Views;
use telic::store::Store;

/// Every file below a folder with what it holds.
fn everything(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let bytes = if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        found.insert(path, bytes);
    }
    found
}

/// A home with a repository in it.
fn home() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let repository = home.path().join("repository");
    fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "--quiet", "."]);
    fs::write(repository.join("a.txt"), "a\n").unwrap();
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "a"]);
    (home, repository)
}

/// Runs a command that must fail so; it changes nothing below the home.
fn refused(home: &Path, arguments: &[&str], env: &[(&str, &Path)], code: i32, words: &str) -> String {
    let before = everything(home);
    let output = telic(home, arguments).envs(env.iter().copied()).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    let said = stderr(&output);
    assert_eq!(said.lines().count(), 1, "one line: {said}");
    assert!(said.contains(words), "{said:?} does not say {words:?}");
    assert!(everything(home) == before, "{arguments:?} changed something");
    stdout(&output)
}

#[test]
fn a_folder_without_git_gets_a_note_and_no_task() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("plain");
    fs::create_dir(&folder).unwrap();
    let before = everything(home.path());
    let output =
        telic(home.path(), &["doctor", "--json", "--repo", folder.to_str().unwrap()]).output().unwrap();
    assert!(json(&output)["checks"]["repository"]["detail"].as_str().unwrap().contains("has no .git"));
    assert!(everything(home.path()) == before, "looking creates nothing");

    let store = Store::open(&home.path().join("state")).unwrap();
    let supervision = Supervision::new(Arc::new(Views::new(store.clone())), "tester".to_owned());
    let draft = TaskDraft {
        repository: folder.clone(),
        base_ref: None,
        task_type: TaskType::Other,
        mode: None,
        title: None,
        instruction: "Do something.".to_owned(),
        allowed_paths: Vec::new(),
        forbidden_paths: Vec::new(),
        verification: Vec::new(),
        autonomy_level: AutonomyLevel::SupervisedPr,
        agent: None,
        source: Source::Cli,
    };
    let error = supervision.submit(draft, &PolicyFile::default()).unwrap_err();
    assert!(error.to_string().contains(folder.to_str().unwrap()), "{error}");
    let tasks: Vec<telic::domain::Task> = store.latest_records(0, 10).unwrap();
    let runs: Vec<telic::domain::Run> = store.latest_records(0, 10).unwrap();
    assert!(tasks.is_empty() && runs.is_empty());
    assert!(store.supervision_events(0, 10).unwrap().is_empty());
}

#[test]
fn a_state_folder_that_is_a_file_or_not_there_is_named() {
    let (home, _) = home();
    let file = home.path().join("a-file");
    fs::write(&file, "mine").unwrap();
    let env = [("TELIC_STATE_DIR", file.as_path())];
    let said = refused(home.path(), &["runs", "--json"], &env, 1, "it is not a directory");
    assert!(said.contains("\"code\":\"state_directory_refused\""), "{said}");
    let none = home.path().join("none");
    refused(home.path(), &["runs"], &[("TELIC_STATE_DIR", &none)], 1, none.to_str().unwrap());
}

#[test]
fn a_state_folder_inside_the_repository_stops_the_server_before_it_says_anything() {
    let (home, repository) = home();
    let inside = repository.join("state");
    let env = [("TELIC_STATE_DIR", inside.as_path()), ("TELIC_REPOSITORY_ROOT", repository.as_path())];
    assert_eq!(refused(home.path(), &["mcp"], &env, 1, "overlap"), "");
}

#[test]
fn a_run_that_is_not_there_is_named() {
    let (home, _) = home();
    let said = refused(home.path(), &["show", "nope", "--json"], &[], 1, "nope");
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["ok"], &said["code"]), (&false.into(), &"run_not_found".into()));
    refused(home.path(), &["answer", "nope", "x", "--yes-i-am", "t"], &[], 1, "nope");
}

#[test]
fn an_answer_for_an_older_version_or_of_an_unknown_choice_changes_nothing() {
    let (home, _) = home();
    let folder = home.path().join("demo");
    let arguments = ["demo", "--headless", "--pace", "0", "--folder", folder.to_str().unwrap()];
    assert_eq!(telic(home.path(), &arguments).output().unwrap().status.code(), Some(3));
    let state = folder.join("state");
    let env = [("TELIC_STATE_DIR", state.as_path())];
    let listed = telic(home.path(), &["runs", "--json"]).envs(env).output().unwrap();
    let listed = json(&listed);
    let waiting = |run: &&serde_json::Value| run["workflowStatus"] == "awaiting_clarification";
    let run = listed["runs"].as_array().unwrap().iter().find(waiting).unwrap();
    let id = run["key"]["run"].as_str().unwrap();
    assert!(run["version"].as_u64().unwrap() > 1);
    let store = Store::open_read_only(&state).unwrap();
    let (before, events) = (store.run(id).unwrap(), store.supervision_events(0, 1000).unwrap());
    for (more, exit, code) in [
        (&["from-50", "--expected-version", "1", "--yes-i-am", "t"][..], 1, "stale_version"),
        (&["from-51", "--yes-i-am", "t"][..], 1, "response_choice_unknown"),
        // Nobody said who decides, and there is no terminal to decide on.
        (&["from-50"][..], 3, "person_needed"),
    ] {
        let mut arguments = vec!["--json", "answer", id];
        arguments.extend(more);
        let output = telic(home.path(), &arguments).envs(env).output().unwrap();
        assert_eq!(output.status.code(), Some(exit), "{more:?}: {}", stdout(&output));
        assert_eq!(json(&output)["code"], code, "{more:?}: {}", stdout(&output));
        assert_eq!(store.run(id).unwrap(), before, "{more:?}");
        assert_eq!(store.supervision_events(0, 1000).unwrap(), events, "{more:?}");
    }
}

#[test]
fn a_malformed_script_is_refused_with_its_line() {
    let (home, _) = home();
    fs::write(home.path().join("bad.json"), "{\n \"name\": \"x\",\n \"steps\": [ { \"fly\": 1 } ]\n}")
        .unwrap();
    refused(home.path(), &["agent", "replay", "bad.json"], &[], 1, "bad.json: line 3");
    refused(home.path(), &["agent", "replay", "none.json"], &[], 1, "none.json");
}

#[test]
fn a_terminal_that_is_far_too_small_gets_one_line_and_can_be_left() {
    let (home, repository) = home();
    let arguments = ["--repo", repository.to_str().unwrap()];
    let mut command = telic_on_terminal(home.path(), &arguments);
    command.env("TELIC_STATE_DIR", home.path().join("state"));
    let mut terminal = Terminal::start(command, (20, 5));
    // One sentence, broken where the terminal ends.
    terminal.until("one sentence", |screen| {
        let words: Vec<String> = screen.contents().split_whitespace().map(str::to_owned).collect();
        words.join(" ") == "telic needs 60 x 16; this is 20 x 5"
    });
    terminal.press("\x03");
    terminal.press("\x03");
    terminal.ends_with(0);
}

#[test]
fn ap_6_a_process_of_any_run_decides_nothing() {
    let (home, repository) = home();
    let store = Path::new("run_of_somebody_else");
    let env = [("TELIC_RUN_ID", store)];
    fs::create_dir(repository.join(".telic")).unwrap();
    let policy = "[verification]\nrequired = [{ name = \"t\", command = \"true\" }]\n";
    fs::write(repository.join(".telic/policy.toml"), policy).unwrap();
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "policy"]);
    let submitted =
        telic(home.path(), &["task", "submit", "--json", "--instruction", "Fix it", "--type", "bug_fix"])
            .current_dir(&repository)
            .output()
            .unwrap();
    let run = json(&submitted)["runId"].as_str().unwrap().to_owned();
    for arguments in [
        vec!["trust", "--yes-i-am", "eve"],
        vec!["answer", &run, "yes", "--yes-i-am", "eve"],
        vec!["cancel", &run, "--yes-i-am", "eve"],
        vec!["approve", &run, "--yes-i-am", "eve"],
        vec!["pr", &run, "--yes-i-am", "eve"],
    ] {
        let output = telic(home.path(), &arguments)
            .current_dir(&repository)
            .envs(env.iter().copied())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("AP-6"), "{arguments:?}: {}", stderr(&output));
    }
    let row = telic(home.path(), &["show", &run, "--json"]).current_dir(&repository).output().unwrap();
    assert!(row.status.success());
    assert!(stdout(&row).contains("QUEUED"), "{}", stdout(&row));
}

#[test]
fn the_wall_clock_budget_ends_the_agent_and_the_verdict_names_it() {
    let (home, repository) = home();
    let config = home.path().join("config/telic");
    fs::create_dir_all(&config).unwrap();
    let text = "[agents.sleeper]\ncommand = [\"sleep\", \"600\"]\n";
    fs::write(config.join("config.toml"), text).unwrap();
    fs::create_dir(repository.join(".telic")).unwrap();
    fs::write(repository.join(".telic/policy.toml"), "[budget]\nwall_clock = \"1s\"\n").unwrap();
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "policy"]);
    let submit =
        ["task", "submit", "--json", "--instruction", "Fix it", "--type", "bug_fix", "--agent", "sleeper"];
    let submitted = telic(home.path(), &submit).current_dir(&repository).output().unwrap();
    let run = json(&submitted)["runId"].as_str().unwrap().to_owned();
    let mut engine = telic(home.path(), &["engine"]).current_dir(&repository).spawn().unwrap();
    let shown = (0..600).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let row = telic(home.path(), &["show", &run, "--json"]).current_dir(&repository).output().unwrap();
        Some(stdout(&row)).filter(|text| text.contains("budget_exhausted"))
    });
    let id = nix::unistd::Pid::from_raw(i32::try_from(engine.id()).unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert!(engine.wait().unwrap().success());
    let shown = shown.expect("the run ends by its budget");
    assert!(!shown.contains("QUEUED"), "time that is spent is not spent again: {shown}");
}
