//! Reading `policy.toml`. A key that is not known is an error that names the key and its line, since a mistyped
//! restriction would otherwise restrict nothing.

use super::glob::check_scope;
use super::policy::{AutonomyLevel, CheckSource, DEFAULT_CHECK_TIMEOUT_SECONDS, PlannedCheck};
use super::policy_reader::{Section, line_of};
use crate::protocol::{ActionCapability, IntentMode};
use serde::Serialize;

/// What one policy file says. A key that is absent says nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyFile {
    /// `[boundary]`
    pub boundary: BoundarySection,
    /// `[workflow]`
    pub workflow: WorkflowSection,
    /// `[verification]`
    pub verification: VerificationSection,
    /// `[judge]`
    pub judge: JudgeSection,
    /// `[autonomy] maximum`
    pub maximum_autonomy: Option<AutonomyLevel>,
    /// `[budget]`
    pub budget: BudgetSection,
    /// `[pr]`
    pub pr: PrSection,
    /// `[workspace]`
    pub workspace: WorkspaceSection,
}

/// What a patch may touch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BoundarySection {
    /// Patterns; empty means everything that is not forbidden.
    pub allowed: Vec<String>,
    /// Patterns.
    pub forbidden: Vec<String>,
    /// Patterns of generated files.
    pub generated: Vec<String>,
    /// Patterns of lock files beside the built-in ones.
    pub lockfiles: Vec<String>,
    /// Whether generated files may change.
    pub allow_generated: Option<bool>,
    /// Whether lock files may change.
    pub allow_lockfiles: Option<bool>,
    /// Most files.
    pub max_files: Option<u64>,
    /// Most lines added and deleted.
    pub max_changed_lines: Option<u64>,
}

/// The repository-policy term of the permission intersection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowSection {
    /// Modes that are allowed.
    pub modes: Option<Vec<IntentMode>>,
    /// Capabilities that are not.
    pub deny: Vec<ActionCapability>,
    /// The most commands that may be allowlisted.
    pub shell_execute: Option<Vec<String>>,
    /// The most hosts that may be read.
    pub read_domains: Option<Vec<String>>,
    /// Capabilities that need a person each time (from `ask`).
    pub ask: Vec<ActionCapability>,
    /// Exact commands that need a person each time (from `ask`).
    pub ask_commands: Vec<String>,
    /// Names of environment variables that commands may see.
    pub environment: Option<Vec<String>>,
}

/// The checks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerificationSection {
    /// The commands, required ones first.
    pub checks: Vec<PlannedCheck>,
    /// Output patterns that mean infrastructure.
    pub infra_patterns: Vec<String>,
    /// Whether the checks also run on the base commit.
    pub verify_base: Option<bool>,
}

/// How the judge weighs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgeSection {
    /// Whether warnings ask for a person.
    pub strict: Option<bool>,
    /// The least confidence, 0 to 1.
    pub minimum_confidence: Option<f64>,
    /// A program that joins the judge.
    pub command: Option<Vec<String>>,
}

/// What a run may spend.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetSection {
    /// Seconds.
    pub wall_clock_seconds: Option<u64>,
    /// Attempts.
    pub attempts: Option<u32>,
    /// Mediated tool calls.
    pub tool_calls: Option<u64>,
    /// Bytes.
    pub output_bytes: Option<u64>,
}

/// How a pull request is made.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PrSection {
    /// The remote.
    pub remote: Option<String>,
    /// What a branch name starts with.
    pub branch_prefix: Option<String>,
    /// Whether it is always a draft.
    pub draft: Option<bool>,
    /// Labels.
    pub labels: Vec<String>,
}

/// What a workspace holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceSection {
    /// Whether submodules are checked out.
    pub submodules: Option<bool>,
    /// Whether LFS files are fetched.
    pub lfs: Option<bool>,
}

/// What is wrong in a policy file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file} line {line}: {message}")]
pub struct PolicyError {
    /// The file as the reader named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The key, as `boundary.allowed`; empty for text that is no TOML.
    pub key: String,
    /// What is wrong with it.
    pub message: String,
}

impl PolicyError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "policy_invalid"
    }
}

impl PolicyFile {
    /// Reads a policy. `file` is only named in errors; `source` says whose checks these are.
    ///
    /// # Errors
    /// [`PolicyError`] for text that is no TOML, a key that is not known, a value of another type or range.
    pub fn parse(text: &str, file: &str, source: CheckSource) -> Result<Self, PolicyError> {
        let parsed = toml::de::DeTable::parse(text).map_err(|error| PolicyError {
            file: file.to_owned(),
            line: error.span().map_or(1, |span| line_of(text, span.start)),
            key: String::new(),
            message: error.message().to_owned(),
        })?;
        let mut root = Section::root(text, file, parsed.get_ref());
        let policy = Self {
            boundary: root.section("boundary", read_boundary)?,
            workflow: root.section("workflow", read_workflow)?,
            verification: root.section("verification", |section| read_verification(section, source))?,
            judge: root.section("judge", read_judge)?,
            maximum_autonomy: root.section("autonomy", |section| section.word("maximum"))?,
            budget: root.section("budget", read_budget)?,
            pr: root.section("pr", read_pr)?,
            workspace: root.section("workspace", |section| {
                Ok(WorkspaceSection { submodules: section.flag("submodules")?, lfs: section.flag("lfs")? })
            })?,
        };
        root.finish()?;
        Ok(policy)
    }
}

fn read_boundary(section: &mut Section<'_>) -> Result<BoundarySection, PolicyError> {
    Ok(BoundarySection {
        allowed: patterns(section, "allowed")?,
        forbidden: patterns(section, "forbidden")?,
        generated: patterns(section, "generated")?,
        lockfiles: patterns(section, "lockfiles")?,
        allow_generated: section.flag("allow_generated")?,
        allow_lockfiles: section.flag("allow_lockfiles")?,
        max_files: section.count("max_files")?,
        max_changed_lines: section.count("max_changed_lines")?,
    })
}

/// Boundary patterns. One that could never match, or that means something else elsewhere, is refused: a
/// forbidden pattern that matches nothing forbids nothing.
fn patterns(section: &mut Section<'_>, key: &'static str) -> Result<Vec<String>, PolicyError> {
    section
        .strings_that(key, |pattern| check_boundary_pattern(pattern).map_err(|error| error.message))
        .map(Option::unwrap_or_default)
}

/// Whether a boundary pattern says what its writer means: safe as a scope (W-2), a trailing `/` allowed for
/// 'everything below', no leading `!` as in ignore files.
///
/// # Errors
/// `pattern_invalid`.
pub fn check_boundary_pattern(pattern: &str) -> Result<(), super::error::DomainError> {
    if pattern.starts_with('!') && !pattern.starts_with("!(") {
        let message = format!("pattern {pattern:?} starts with `!`, which does not negate here");
        return Err(super::error::DomainError::new(
            super::error::DomainCode::PatternInvalid,
            "glob dialect",
            message,
        ));
    }
    check_scope(pattern.strip_suffix('/').unwrap_or(pattern))
}

fn read_workflow(section: &mut Section<'_>) -> Result<WorkflowSection, PolicyError> {
    let mut ask = Vec::new();
    let mut ask_commands = Vec::new();
    for entry in section.strings("ask")?.unwrap_or_default() {
        match entry.parse() {
            Ok(capability) => ask.push(capability),
            Err(_) => ask_commands.push(entry),
        }
    }
    Ok(WorkflowSection {
        modes: section.words("modes")?,
        deny: section.words("deny")?.unwrap_or_default(),
        shell_execute: section.strings_that("shell_execute", plain_command)?,
        read_domains: section.strings("read_domains")?,
        ask,
        ask_commands,
        environment: section.strings_that("environment", |name| {
            let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if plain && !name.is_empty() { Ok(()) } else { Err(format!("{name:?} is no variable name")) }
        })?,
    })
}

/// Whether a command can run without a shell: no compound syntax, no control characters.
fn plain_command(command: &str) -> Result<(), String> {
    if command.trim().is_empty() {
        return Err("is an empty command".to_owned());
    }
    let compound =
        command.contains([';', '&', '|', '>', '<', '`', '\n', '\r', '\0']) || command.contains("$(");
    if compound {
        return Err(format!("command {command:?} needs a shell; commands run without one"));
    }
    Ok(())
}

fn read_verification(
    section: &mut Section<'_>,
    source: CheckSource,
) -> Result<VerificationSection, PolicyError> {
    let mut checks: Vec<PlannedCheck> = Vec::new();
    for (key, required) in [("required", true), ("optional", false)] {
        section.tables(key, |entry| {
            let check = PlannedCheck {
                name: entry.required_string("name")?,
                command: entry.required_string("command")?,
                timeout_seconds: entry.duration("timeout")?.unwrap_or(DEFAULT_CHECK_TIMEOUT_SECONDS),
                junit: entry.string("junit")?,
                required,
                source,
            };
            plain_command(&check.command).map_err(|message| entry.fault("command", message))?;
            if check.name.trim().is_empty() || check.name.chars().any(char::is_control) {
                return Err(entry.fault("name", "is blank or holds control characters"));
            }
            if checks.iter().any(|other| other.name == check.name) {
                return Err(entry.fault("name", format!("{:?} is the name of two checks", check.name)));
            }
            checks.push(check);
            Ok(())
        })?;
    }
    Ok(VerificationSection {
        checks,
        infra_patterns: section
            .strings_that("infra_patterns", |pattern| {
                if pattern.trim().is_empty() {
                    Err("a blank pattern is found everywhere".to_owned())
                } else {
                    Ok(())
                }
            })?
            .unwrap_or_default(),
        verify_base: section.flag("verify_base")?,
    })
}

fn read_judge(section: &mut Section<'_>) -> Result<JudgeSection, PolicyError> {
    let minimum_confidence = section.number("minimum_confidence")?;
    if minimum_confidence.is_some_and(|minimum| !(0.0..=1.0).contains(&minimum)) {
        return Err(section.fault("minimum_confidence", "must be from 0 to 1"));
    }
    Ok(JudgeSection {
        strict: section.flag("strict")?,
        minimum_confidence,
        command: section.strings("command")?,
    })
}

fn read_budget(section: &mut Section<'_>) -> Result<BudgetSection, PolicyError> {
    let attempts = section.count("attempts")?;
    if attempts.is_some_and(|attempts| !(1..=100).contains(&attempts)) {
        return Err(section.fault("attempts", "must be from 1 to 100"));
    }
    Ok(BudgetSection {
        wall_clock_seconds: section.duration("wall_clock")?,
        attempts: attempts.and_then(|attempts| u32::try_from(attempts).ok()),
        tool_calls: section.count("tool_calls")?,
        output_bytes: section.size("output_bytes")?,
    })
}

fn read_pr(section: &mut Section<'_>) -> Result<PrSection, PolicyError> {
    let remote = section.string("remote")?;
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-/".contains(&b));
    if remote.as_deref().is_some_and(|remote| remote.is_empty() || remote.starts_with('-') || !plain(remote))
    {
        return Err(section.fault("remote", "must be the name of a remote"));
    }
    let branch_prefix = section.string("branch_prefix")?;
    if branch_prefix.as_deref().is_some_and(|prefix| !plain(prefix) || !is_branch_start(prefix)) {
        return Err(section.fault("branch_prefix", "cannot start a branch name"));
    }
    Ok(PrSection {
        remote,
        branch_prefix,
        draft: section.flag("draft")?,
        labels: section.strings("labels")?.unwrap_or_default(),
    })
}

/// Whether git takes a branch that begins so.
fn is_branch_start(prefix: &str) -> bool {
    !prefix.starts_with(['-', '/', '.'])
        && !prefix.contains("..")
        && !prefix.contains("//")
        && !prefix.contains("/.")
        && !prefix.contains(".lock/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<PolicyFile, PolicyError> {
        PolicyFile::parse(text, ".telic/policy.toml", CheckSource::RepositoryPolicy)
    }

    const WHOLE: &str = r#"
[boundary]
allowed   = ["src/**", "tests/**", "pom.xml"]
forbidden = ["infra/**", ".github/**", "deployment/**"]
generated = ["**/generated/**", "*.pb.go"]
lockfiles = ["**/package-lock.json", "Cargo.lock"]
allow_generated = false
allow_lockfiles = true
max_files = 200
max_changed_lines = 5000

[workflow]
modes = ["analyze_only", "fix_only", "analyze_and_fix"]
deny = ["network.read", "external.write"]
shell_execute = ["mvn -q test"]
read_domains = []
ask = ["shell.execute", "mvn deploy"]

[verification]
required = [{ name = "mvn-test", command = "mvn -q test", timeout = "20m", junit = "target/surefire-reports/*.xml" }]
optional = [{ name = "lint", command = "mvn -q checkstyle:check" }]
infra_patterns = ["Could not transfer artifact"]
verify_base = false

[judge]
strict = true
minimum_confidence = 0.7
command = []

[autonomy]
maximum = "supervised_pr"

[budget]
wall_clock = "60m"
attempts = 3
tool_calls = 400
output_bytes = "64MiB"

[pr]
remote = "origin"
branch_prefix = "telic/"
draft = false
labels = ["agent"]
"#;

    #[test]
    fn every_key_of_the_spec_is_read() {
        let policy = parse(WHOLE).unwrap();
        assert_eq!(policy.boundary.allowed, ["src/**", "tests/**", "pom.xml"]);
        assert_eq!(policy.boundary.max_changed_lines, Some(5_000));
        assert_eq!(policy.workflow.modes.as_ref().map(Vec::len), Some(3));
        assert_eq!(policy.workflow.deny, [ActionCapability::NetworkRead, ActionCapability::ExternalWrite]);
        assert_eq!(policy.workflow.read_domains, Some(Vec::new()));
        assert_eq!(policy.workflow.ask, [ActionCapability::ShellExecute]);
        assert_eq!(policy.workflow.ask_commands, ["mvn deploy"]);
        let [test, lint] = policy.verification.checks.as_slice() else { panic!("two checks") };
        assert_eq!((test.timeout_seconds, test.required), (1_200, true));
        assert_eq!(test.junit.as_deref(), Some("target/surefire-reports/*.xml"));
        assert_eq!((lint.timeout_seconds, lint.required), (DEFAULT_CHECK_TIMEOUT_SECONDS, false));
        assert_eq!(policy.judge.minimum_confidence, Some(0.7));
        assert_eq!(policy.maximum_autonomy, Some(AutonomyLevel::SupervisedPr));
        assert_eq!(policy.budget.wall_clock_seconds, Some(3_600));
        assert_eq!(policy.budget.output_bytes, Some(64 * 1024 * 1024));
        assert_eq!(policy.pr.branch_prefix.as_deref(), Some("telic/"));
    }

    #[test]
    fn an_empty_file_says_nothing() {
        assert_eq!(parse("").unwrap(), PolicyFile::default());
        assert_eq!(parse("[boundary]\n# nothing\n").unwrap(), PolicyFile::default());
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        for (text, key, line) in [
            ("\n[boundary]\nforbiden = [\"infra/**\"]\n", "boundary.forbiden", 3),
            ("[bounds]\nallowed = []\n", "bounds", 1),
            ("max_files = 3\n", "max_files", 1),
            ("[boundary]\n\n\nmax_file = 3\n", "boundary.max_file", 4),
            (
                "[verification]\nrequired = [\n  { name = \"a\", command = \"b\", time = \"1m\" },\n]\n",
                "verification.required.time",
                3,
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.key.as_str(), error.line), (key, line), "{error}");
            assert!(error.message.contains("not known"), "{error}");
        }
    }

    #[test]
    fn a_wrong_value_is_named_with_its_line() {
        for (text, key, line) in [
            ("[boundary]\nmax_files = \"many\"\n", "boundary.max_files", 2),
            ("[boundary]\nmax_files = -1\n", "boundary.max_files", 2),
            ("[boundary]\nforbidden = [\n \"infra/**\",\n \"/etc/**\",\n]\n", "boundary.forbidden", 4),
            ("[boundary]\nforbidden = [\"!src/**\"]\n", "boundary.forbidden", 2),
            ("[boundary]\nallowed = [\"../x\"]\n", "boundary.allowed", 2),
            ("[workflow]\nmodes = [\"fix\"]\n", "workflow.modes", 2),
            ("[workflow]\nshell_execute = [\"a && b\"]\n", "workflow.shell_execute", 2),
            ("[workflow]\nenvironment = [\"A=B\"]\n", "workflow.environment", 2),
            ("[judge]\nminimum_confidence = 70\n", "judge.minimum_confidence", 2),
            ("[budget]\nwall_clock = \"soon\"\n", "budget.wall_clock", 2),
            ("[budget]\nattempts = 0\n", "budget.attempts", 2),
            ("[budget]\noutput_bytes = \"64 elephants\"\n", "budget.output_bytes", 2),
            ("[pr]\nremote = \"--upload-pack=x\"\n", "pr.remote", 2),
            ("[pr]\nbranch_prefix = \"../\"\n", "pr.branch_prefix", 2),
            ("[autonomy]\nmaximum = \"full\"\n", "autonomy.maximum", 2),
            ("[verification]\nrequired = [{ name = \"a\" }]\n", "verification.required.command", 2),
            (
                "[verification]\nrequired = [{ name = \"a\", command = \"x | y\" }]\n",
                "verification.required.command",
                2,
            ),
            (
                "[verification]\nrequired = [{ name = \"a\", command = \"x\" }]\noptional = [{ name = \"a\", command = \"y\" }]\n",
                "verification.optional.name",
                3,
            ),
            ("[verification]\ninfra_patterns = [\"\"]\n", "verification.infra_patterns", 2),
            ("boundary = 3\n", "boundary", 1),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.key.as_str(), error.line), (key, line), "{error}");
            assert_eq!(error.code(), "policy_invalid");
        }
    }

    #[test]
    fn text_that_is_no_toml_names_the_line() {
        let error = parse("[boundary]\nallowed = [\n\"a\"\nx\n").unwrap_err();
        assert!(error.line >= 3, "{error}");
        assert!(error.to_string().starts_with(".telic/policy.toml line "), "{error}");
        assert!(parse("[boundary]\nmax_files = 1\nmax_files = 2\n").is_err());
    }
}
