//! What the demo is made of: a repository with a bare remote, a store, three scripts, three tasks.

use super::super::Failure;
use crate::config::{Agent, AgentInput};
use crate::domain::{AutonomyLevel, IntentMode, Source, TaskType};
use crate::engine::{Settings, consent::Question};
use crate::service::supervision::{Submitted, Supervision, TaskDraft};
use crate::service::views::Views;
use crate::store::Store;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The files of the repository.
const FILES: [(&str, &str); 8] = [
    ("README.md", include_str!("../../../assets/demo/repository/README.md")),
    ("AGENTS.md", include_str!("../../../assets/demo/repository/AGENTS.md")),
    ("lib/shipping.sh", include_str!("../../../assets/demo/repository/lib/shipping.sh")),
    ("tests/run.sh", include_str!("../../../assets/demo/repository/tests/run.sh")),
    ("tests/shipping_test.sh", include_str!("../../../assets/demo/repository/tests/shipping_test.sh")),
    (".github/workflows/ci.yml", include_str!("../../../assets/demo/repository/.github/workflows/ci.yml")),
    (".telic/policy.toml", include_str!("../../../assets/demo/repository/.telic/policy.toml")),
    (".gitignore", "*.log\n"),
];

/// A scripted agent and the task that it works on.
struct Part {
    agent: &'static str,
    script: &'static str,
    task_type: TaskType,
    mode: IntentMode,
    title: &'static str,
    instruction: &'static str,
}

const PARTS: [Part; 3] = [
    Part {
        agent: "analyst",
        script: include_str!("../../../assets/replay/analyze.json"),
        task_type: TaskType::Analysis,
        mode: IntentMode::AnalyzeOnly,
        title: "Why do large baskets pay for shipping?",
        instruction: "Why do baskets above 50 EUR still pay for shipping?",
    },
    Part {
        agent: "fixer",
        script: include_str!("../../../assets/replay/fix.json"),
        task_type: TaskType::BugFix,
        mode: IntentMode::AnalyzeAndFix,
        title: "Ship baskets of 50 EUR or more for free",
        instruction: "Baskets of 50 EUR or more must ship free. Find why they do not, and fix it.",
    },
    Part {
        agent: "meddler",
        script: include_str!("../../../assets/replay/forbidden.json"),
        task_type: TaskType::Other,
        mode: IntentMode::FixOnly,
        title: "Run the tests on every push",
        instruction: "Run the tests on every push.",
    },
];

/// The demo's folder and what is in it.
pub(super) struct World {
    /// Holds all of it.
    pub folder: PathBuf,
    /// The repository.
    pub repository: PathBuf,
    remote: PathBuf,
    state_dir: PathBuf,
    scripts: PathBuf,
    pace: f64,
}

impl World {
    /// Makes repository, remote and scripts in a folder that holds none of them yet.
    pub(super) fn make(folder: &Path, pace: f64) -> Result<Self, Failure> {
        let failed = |what: &Path, error: std::io::Error| {
            Failure::coded("folder_failed", format!("{}: {error}", what.display()))
        };
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let folder = folder.canonicalize().map_err(|error| failed(folder, error))?;
        let world = Self {
            repository: folder.join("parcel"),
            remote: folder.join("remote.git"),
            state_dir: folder.join("state"),
            scripts: folder.join("scripts"),
            folder,
            pace,
        };
        for place in [&world.repository, &world.remote, &world.state_dir] {
            if place.exists() {
                let text = format!("{} is there already; the demo needs a new folder", place.display());
                return Err(Failure::coded("folder_not_empty", text));
            }
        }
        for (name, content) in FILES {
            write(&world.repository.join(name), content).map_err(|error| failed(&world.repository, error))?;
        }
        for part in &PARTS {
            let path = world.scripts.join(format!("{}.json", part.agent));
            write(&path, part.script).map_err(|error| failed(&path, error))?;
        }
        world.commit()?;
        Ok(world)
    }

    fn commit(&self) -> Result<(), Failure> {
        let remote = self.remote.to_string_lossy().into_owned();
        let here = &self.repository;
        git(here, &["init", "--quiet", "--initial-branch=main", "."])?;
        git(here, &["add", "--all"])?;
        git(here, &["commit", "--quiet", "--message", "Price parcels"])?;
        git(&self.folder, &["init", "--quiet", "--bare", "--initial-branch=main", "remote.git"])?;
        git(here, &["remote", "add", "origin", &remote])?;
        git(here, &["push", "--quiet", "origin", "main"])?;
        Ok(())
    }

    /// The name of the store.
    pub(super) fn store_id(&self) -> String {
        "demo".to_owned()
    }

    /// Opens the store.
    pub(super) fn open_store(&self) -> Result<Store, Failure> {
        Store::open(&self.state_dir).map_err(|error| Failure::coded(error.code(), error))
    }

    /// The three agents, each the replay of its script.
    pub(super) fn agents(&self, program: &Path) -> BTreeMap<String, Agent> {
        let agent = |part: &Part| {
            let script = self.scripts.join(format!("{}.json", part.agent));
            let command = [
                program.to_string_lossy().into_owned(),
                "agent".into(),
                "replay".into(),
                script.to_string_lossy().into_owned(),
                "--run={run_id}".into(),
                "--workspace={workspace}".into(),
                format!("--pace={}", self.pace),
            ];
            let command = command.to_vec();
            (
                part.agent.to_owned(),
                Agent { command, env: BTreeMap::new(), stdin: AgentInput::Null, timeout: 600 },
            )
        };
        PARTS.iter().map(agent).collect()
    }

    /// Submits the three tasks, and consents to the test command, which this program wrote itself.
    pub(super) fn submit(&self, settings: &Settings, store: &Store) -> Result<Vec<String>, Failure> {
        let supervision = Supervision::new(Arc::new(Views::new(store.clone())), settings.actor.clone());
        let mut runs = Vec::new();
        for part in &PARTS {
            let draft = TaskDraft {
                repository: self.repository.clone(),
                base_ref: None,
                task_type: part.task_type,
                mode: Some(part.mode),
                title: Some(part.title.to_owned()),
                instruction: part.instruction.to_owned(),
                allowed_paths: Vec::new(),
                forbidden_paths: Vec::new(),
                verification: Vec::new(),
                autonomy_level: AutonomyLevel::SupervisedPr,
                agent: Some(part.agent.to_owned()),
                source: Source::Cli,
            };
            match supervision.submit(draft, &settings.user_policy)? {
                Submitted::Queued { run, .. } => {
                    if let Some(question) = Question::of(&supervision.spec(&run)?) {
                        supervision.consent(&question.key())?;
                    }
                    runs.push(run.id.to_string());
                }
                Submitted::Denied(task) => {
                    let why =
                        task.denial_reasons.first().map_or("", |reason| reason.text.as_str()).to_owned();
                    return Err(Failure::coded("policy_denied", format!("{}: {why}", part.title)));
                }
            }
        }
        Ok(runs)
    }

    /// The branches of the remote beside the main one, each with its commit.
    pub(super) fn pushed(&self) -> Vec<String> {
        let format = "--format=%(refname:short) %(objectname:short) %(contents:subject)";
        let listed = git(&self.remote, &["for-each-ref", format, "refs/heads/telic"]);
        listed.map(|text| text.lines().map(str::to_owned).collect()).unwrap_or_default()
    }
}

fn write(path: &Path, content: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, content)
}

/// Runs git without the user's settings and with the demo's own name.
fn git(folder: &Path, arguments: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=Telic Demo",
        "-c",
        "user.email=demo@localhost",
        "-c",
        "commit.gpgSign=false",
    ]);
    command.args(["-c", "core.hooksPath=/dev/null"]).args(arguments).current_dir(folder).stdin(Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output =
        command.output().map_err(|error| Failure::coded("git_start_failed", format!("git: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(Failure::coded("git_failed", format!("git {}: {}", arguments.join(" "), text.trim())))
}
