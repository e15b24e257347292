//! Grounding of real repositories in temporary folders.

mod hostile;
mod inventory;
mod selection;

use super::{Grounding, GroundingInput, ground};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A temporary folder with a directory to ground, and room beside it.
struct Place {
    folder: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    /// A directory without Git.
    fn plain() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("repository");
        std::fs::create_dir(&root).unwrap();
        Self { folder, root }
    }

    /// An empty Git repository.
    fn git() -> Self {
        let place = Self::plain();
        place.run(["init", "-q", "-b", "main"]);
        place
    }

    /// A path beside the root.
    fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let target = self.root.join(path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, content).unwrap();
        self
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) -> &Self {
        std::os::unix::fs::symlink(target, self.root.join(path)).unwrap();
        self
    }

    fn run<const N: usize>(&self, arguments: [&str; N]) -> &Self {
        run_git(&self.root, &arguments);
        self
    }

    fn commit(&self) -> &Self {
        self.run(["add", "-A"]).run(["commit", "-q", "--allow-empty", "-m", "state"])
    }

    /// What a caller without wishes would ask for.
    fn input(&self) -> GroundingInput {
        GroundingInput::new("run-1", &self.root, "Look around.")
    }

    fn ground(&self) -> Grounding {
        ground(&self.input()).unwrap()
    }
}

fn run_git(directory: &Path, arguments: &[impl AsRef<OsStr>]) -> Vec<u8> {
    let shown: Vec<_> = arguments.iter().map(AsRef::as_ref).collect();
    let done = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "protocol.file.allow=always",
            "-C",
        ])
        .arg(directory)
        .args(&shown)
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(done.status.success(), "git {shown:?}: {}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

/// The selected paths, in order.
fn selected(grounding: &Grounding) -> Vec<String> {
    let candidates = grounding.manifest["candidates"].as_array().unwrap();
    candidates.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
}

/// The counts of what was left out.
fn excluded(grounding: &Grounding) -> BTreeMap<String, u64> {
    let summaries = grounding.manifest["excludedCandidateSummaries"].as_array().unwrap();
    summaries
        .iter()
        .map(|entry| (entry["reason"].as_str().unwrap().to_owned(), entry["count"].as_u64().unwrap()))
        .collect()
}

fn counts<const N: usize>(expected: [(&str, u64); N]) -> BTreeMap<String, u64> {
    expected.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect()
}

fn source(grounding: &Grounding) -> &str {
    grounding.manifest["inventorySource"].as_str().unwrap()
}

fn content<'a>(grounding: &'a Grounding, reference: &str) -> &'a Value {
    let document = grounding.documents.iter().find(|document| document.repository_ref == reference);
    &document.unwrap_or_else(|| panic!("{reference} was not stored")).body["content"]
}
