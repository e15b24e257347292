//! The program as a process, and the demo's folder as it leaves it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use portable_pty::CommandBuilder;
use serde_json::Value;
use telic::domain::{Approval, Message, Patch, Run, RunArtifact, Task, Verdict};
use telic::store::{Digest, Store};

/// The program under test.
pub const TELIC: &str = env!("CARGO_BIN_EXE_telic");

/// What the program's environment holds of the user: all of it is below `home`.
fn surroundings(home: &Path) -> [(&'static str, PathBuf); 5] {
    [
        ("HOME", home.to_owned()),
        ("XDG_CONFIG_HOME", home.join("config")),
        ("XDG_STATE_HOME", home.join("xdg-state")),
        ("XDG_CACHE_HOME", home.join("cache")),
        ("GIT_CONFIG_GLOBAL", PathBuf::from("/dev/null")),
    ]
}

const UNSET: [&str; 6] =
    ["TELIC_CONFIG", "TELIC_STATE_DIR", "TELIC_REPOSITORY_ROOT", "TELIC_RUN_ID", "TELIC_LOG", "CODEX_HOME"];

/// The program with a home of its own, not yet started.
pub fn telic(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(TELIC);
    for name in UNSET {
        command.env_remove(name);
    }
    command.args(arguments).envs(surroundings(home)).current_dir(home).stdin(Stdio::null());
    command
}

/// The same for a terminal.
pub fn telic_on_terminal(home: &Path, arguments: &[&str]) -> CommandBuilder {
    let mut command = CommandBuilder::new(TELIC);
    command.args(arguments);
    for name in UNSET {
        command.env_remove(name);
    }
    for (name, value) in surroundings(home) {
        command.env(name, value);
    }
    command.cwd(home);
    command
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The one line of JSON that a command printed.
pub fn json(output: &Output) -> Value {
    let text = stdout(output);
    assert_eq!(text.lines().count(), 1, "one line of JSON: {text}\n{}", stderr(output));
    serde_json::from_str(&text).unwrap()
}

/// Runs git without anything of the user and returns what it printed.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    git_with(folder, arguments, &[])
}

fn git_with(folder: &Path, arguments: &[&str], env: &[(&str, &OsStr)]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Test", "-c", "user.email=test@localhost"]).args(arguments);
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.envs(env.iter().copied()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", stderr(&output));
    stdout(&output).trim().to_owned()
}

/// What a demo left in its folder.
pub struct Left {
    pub folder: PathBuf,
    pub store: Store,
}

impl Left {
    pub fn by_demo_in(folder: &Path) -> Left {
        let store = Store::open_read_only(&folder.join("state")).unwrap();
        Left { folder: folder.to_owned(), store }
    }

    /// The run of the demo's task whose title begins so.
    pub fn run(&self, title: &str) -> Run {
        let tasks: Vec<Task> = self.store.latest_records(0, 100).unwrap();
        let task = tasks.iter().find(|task| task.title.starts_with(title)).unwrap();
        let mut runs: Vec<Run> = self.store.records_of_task(task.id.as_str()).unwrap();
        assert_eq!(runs.len(), 1, "{title}");
        runs.remove(0)
    }

    pub fn verdict(&self, run: &Run) -> Verdict {
        self.store.record(run.verdict_id.as_ref().unwrap().as_str()).unwrap()
    }

    pub fn approvals(&self, run: &Run) -> Vec<Approval> {
        self.store.records_of_run(run.id.as_str()).unwrap()
    }

    /// What a person answered in a run, as its workflow keeps it and as its conversation does.
    pub fn answers(&self, run: &Run) -> (Vec<String>, Vec<String>) {
        let artifacts = self.store.artifacts(run.id.as_str()).unwrap();
        let answers = artifacts.iter().filter(|artifact| artifact.kind == "UserMessage");
        // The first is the request itself.
        let answers = answers.skip(1).map(|answer| {
            assert_eq!(answer.producer, "user");
            self.store.body(answer).unwrap()["content"].as_str().unwrap().to_owned()
        });
        let said: Vec<Message> = self.store.records_with_status(&["USER"]).unwrap();
        let said = said.into_iter().filter(|message| message.run_id.as_ref() == Some(&run.id));
        (answers.collect(), said.map(|message| message.content).collect())
    }

    /// The branches of the remote beside the main one.
    pub fn branches(&self) -> Vec<String> {
        let remote = self.folder.join("remote.git");
        let listed = git(&remote, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        listed.lines().filter(|branch| *branch != "main").map(str::to_owned).collect()
    }

    /// The tree that a run's stored diff makes of its base commit, computed by git alone.
    pub fn tree_of_patch(&self, run: &Run) -> String {
        let patch: Patch = self.store.record(run.patch_id.as_ref().unwrap().as_str()).unwrap();
        let artifact: RunArtifact = self.store.record(patch.unified_diff_artifact.as_str()).unwrap();
        let mut blob = self.store.open_blob(&Digest::parse(&artifact.sha256).unwrap()).unwrap();
        let size = usize::try_from(blob.size()).unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let (diff, index) = (scratch.path().join("diff"), scratch.path().join("index"));
        fs::write(&diff, blob.range(0, size).unwrap()).unwrap();
        let env = [("GIT_INDEX_FILE", index.as_os_str())];
        let repository = self.folder.join("parcel");
        git_with(&repository, &["read-tree", &patch.base_commit], &env);
        git_with(&repository, &["apply", "--cached", diff.to_str().unwrap()], &env);
        git_with(&repository, &["write-tree"], &env)
    }
}
