//! `telic doctor`: whether everything that telic needs is there. It creates nothing.

use super::Failure;
use super::output::{print_json, print_line};
use super::place::PlaceArguments;
use crate::config::Config;
use crate::paths;
use crate::store::Store;
use crate::text::visible;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// One finding.
struct Finding {
    name: &'static str,
    ok: bool,
    optional: bool,
    detail: String,
    facts: Value,
}

fn finding(name: &'static str, ok: bool, detail: impl Into<String>) -> Finding {
    Finding { name, ok, optional: false, detail: detail.into(), facts: json!({}) }
}

pub(super) fn run(place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let mut findings = vec![program("git", false), program("rg", true)];
    match place.find() {
        Ok(found) => {
            findings.push(repository(&found.repository));
            findings.push(separation(&found.repository, &found.state_dir));
            findings.push(ledger(&found.state_dir));
        }
        Err(failure) => findings.push(finding("repository", false, failure.to_string())),
    }
    findings.push(configuration());
    let healthy = findings.iter().all(|finding| finding.ok || finding.optional);
    if place.json {
        let checks: serde_json::Map<String, Value> = findings.iter().map(entry).collect();
        print_json(&json!({ "ok": healthy, "version": env!("CARGO_PKG_VERSION"), "checks": checks }))?;
    } else {
        print_line(&format!("telic {}", env!("CARGO_PKG_VERSION")));
        for finding in &findings {
            let mark = match (finding.ok, finding.optional) {
                (true, _) => "ok  ",
                (false, true) => "note",
                (false, false) => "FAIL",
            };
            print_line(&visible(&format!("{mark}  {:<14} {}", finding.name, finding.detail)));
        }
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn entry(finding: &Finding) -> (String, Value) {
    let mut value = json!({ "ok": finding.ok, "optional": finding.optional, "detail": finding.detail });
    if let (Some(object), Value::Object(facts)) = (value.as_object_mut(), &finding.facts) {
        object.extend(facts.clone());
    }
    (finding.name.to_owned(), value)
}

fn program(name: &'static str, optional: bool) -> Finding {
    let output = Command::new(name).arg("--version").stdin(Stdio::null()).output();
    let detail = match output {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Ok(text.lines().next().unwrap_or_default().to_owned())
        }
        Ok(output) => Err(format!("exits with {}", output.status)),
        Err(error) => Err(error.to_string()),
    };
    let (ok, detail) = match detail {
        Ok(version) => (true, version),
        Err(why) if optional => (false, format!("not found; used only where git fails ({why})")),
        Err(why) => (false, format!("not found: {why}; install git")),
    };
    Finding { optional, ..finding(name, ok, detail) }
}

fn repository(root: &Path) -> Finding {
    let git = root.join(".git").exists();
    let detail = if git {
        root.display().to_string()
    } else {
        format!("{} has no .git; runs there have no patch and no pull request", root.display())
    };
    Finding {
        optional: true,
        facts: json!({ "root": root.display().to_string() }),
        ..finding("repository", git, detail)
    }
}

fn separation(root: &Path, state_dir: &Path) -> Finding {
    match paths::check_overlap(root, state_dir) {
        Ok(()) => finding("separation", true, "repository and state do not overlap"),
        Err(error) => finding("separation", false, error.to_string()),
    }
}

fn ledger(state_dir: &Path) -> Finding {
    let exists = state_dir.join("ledger.sqlite3").exists();
    let facts = json!({ "exists": exists, "stateDirectory": state_dir.display().to_string() });
    let found = if exists {
        match Store::open_read_only(state_dir) {
            Ok(_) => finding("ledger", true, state_dir.display().to_string()),
            Err(error) => finding("ledger", false, error.to_string()),
        }
    } else {
        // The nearest folder that is there decides whether the rest can be made.
        let nearest = state_dir.ancestors().find(|folder| folder.exists());
        let possible = nearest.is_some_and(|folder| {
            folder.is_dir() && nix::unistd::access(folder, nix::unistd::AccessFlags::W_OK).is_ok()
        });
        let says =
            if possible { "none yet; it will be made in" } else { "there is none, and it cannot be made in" };
        finding("ledger", possible, format!("{says} {}", state_dir.display()))
    };
    Finding { facts, ..found }
}

fn configuration() -> Finding {
    let Some(path) = Config::path() else {
        return finding("configuration", true, "no home folder, so the defaults hold");
    };
    match Config::read(&path) {
        Ok(_) if path.exists() => finding("configuration", true, path.display().to_string()),
        Ok(_) => finding("configuration", true, format!("none at {}, so the defaults hold", path.display())),
        Err(error) => finding("configuration", false, error.to_string()),
    }
}
