//! Starting a run (`controller.md` 3): normalisation, checks, and what is stored.

use super::accepted::{Accepted, Effect, NewArtifact};
use super::authority::{
    canonical_ip, default_grants, denied_set, granted_set, is_exact_command, normalize_domain,
};
use super::error::{Code, Refusal};
use super::facts::Facts;
use super::run::{RunPhase, RunState, RunStatus};
use super::stamp::Stamp;
use super::trace::{EventType, Events};
use crate::protocol::{
    ActionCapability, Authorization, Body, HostDescriptor, Identifier, IntentMode, Kind, NativeSubagents,
    Redaction, RevisionBudgets, RunEnvelope, RunStatus as EnvelopeStatus, SchemaVersion, Str, UserMessage,
    WorkingContext,
};
use crate::require;
use crate::text::{is_blank, units};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// The longest request and answer, in units.
pub const REQUEST_LIMIT: usize = 32_768;
/// Most entries of a list at the start.
pub const LIST_LIMIT: usize = 256;

/// What a run is started with, as the caller gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartInput {
    /// The words of the user, stored unchanged.
    pub original_request: String,
    /// What the user wants done.
    pub mode: IntentMode,
    /// The program that drives the run.
    pub host_name: String,
    /// Whether it can run children.
    pub native_subagents: NativeSubagents,
    /// What the host can do.
    pub host_capabilities: Vec<String>,
    /// What the user grants; nothing given means the mode's default, an empty list means nothing at all.
    pub granted: Option<Vec<String>>,
    /// What the user denies.
    pub denied: Vec<String>,
    /// Commands that may be executed, each by its exact text.
    pub shell_execute_allowlist: Vec<String>,
    /// Hosts that may be read from.
    pub network_read_domains: Vec<String>,
    /// The repository, any absolute path that leads to it.
    pub repository_root: String,
}

impl StartInput {
    /// An input with the defaults of `controller.md` 3.1.
    #[must_use]
    pub fn new(request: impl Into<String>, mode: IntentMode, repository_root: impl Into<String>) -> Self {
        Self {
            original_request: request.into(),
            mode,
            host_name: "mcp-host".to_owned(),
            native_subagents: NativeSubagents::Unknown,
            host_capabilities: vec![ActionCapability::RepositoryRead.as_str().to_owned()],
            granted: None,
            denied: Vec::new(),
            shell_execute_allowlist: Vec::new(),
            network_read_domains: Vec::new(),
            repository_root: repository_root.into(),
        }
    }
}

/// Starts a run (C-TR-1).
///
/// # Errors
/// The first of C-ST-1 to C-ST-13 that does not hold; then nothing is to be written.
pub fn start(input: &StartInput, stamp: &Stamp, facts: &dyn Facts) -> Result<Accepted, Refusal> {
    let grant = check(input)?;
    let Some(root) = facts.directory(&input.repository_root) else {
        let message =
            format!("the repository {:?} does not exist or cannot be resolved", input.repository_root);
        return Err(Refusal::new(Code::RepositoryUnavailable, "C-ST-13", message));
    };
    let run = RunState {
        run_id: stamp.run_id(),
        repository_root: root,
        mode: input.mode,
        status: RunStatus::Running,
        phase: RunPhase::ContextGrounding,
        resume_phase: None,
        version: 1,
        prompt_revisions_remaining: 1,
        remediations_remaining: 1,
        outcome_hint: None,
        created_at: stamp.now.clone(),
        updated_at: stamp.now.clone(),
    };
    let request = UserMessage {
        schema_version: SchemaVersion,
        id: stamp.message_id().into(),
        run_id: run.run_id.as_str().into(),
        content: input.original_request.as_str().into(),
    };
    let request_ref = format!("artifact://{}/{}", run.run_id, request.id);
    let envelope = envelope(input, &grant, &run, &request_ref);
    let mut events = Events::new(stamp, run.phase, &run);
    let summary = format!("A run in mode {} was started.", input.mode);
    events.add("controller", EventType::RunStarted, Vec::new(), Vec::new(), summary);
    let events = events.finish();
    let artifact = |id: &str, kind, producer: &str, source_refs, body: Body| NewArtifact {
        id: id.to_owned(),
        kind,
        producer: producer.to_owned(),
        source_refs,
        redaction: Redaction::None,
        body: Arc::new(body),
        created_at: stamp.now.clone(),
    };
    let artifacts = vec![
        artifact(&request.id.clone(), Kind::UserMessage, "user", Vec::new(), request.into()),
        artifact(&run.run_id, Kind::RunEnvelope, "controller", vec![request_ref], envelope.into()),
    ];
    for artifact in &artifacts {
        super::submit::check_schema(artifact.kind, &artifact.body.encode(), "C-SB-13")?;
    }
    Ok(Accepted { effect: Effect::Start, expected_version: 0, run, artifacts, events, warnings: Vec::new() })
}

/// What the checks found the grant to be.
struct Grant {
    host: Vec<ActionCapability>,
    granted: Vec<ActionCapability>,
    denied: Vec<ActionCapability>,
    commands: Vec<String>,
    domains: Vec<String>,
}

fn check(input: &StartInput) -> Result<Grant, Refusal> {
    let request = &input.original_request;
    require!(!is_blank(request), RequestEmpty, "C-ST-1", "the request is blank");
    let length = units(request);
    if length > REQUEST_LIMIT {
        let message = format!("the request has {length} units, at most {REQUEST_LIMIT} are allowed");
        return Err(Refusal::new(Code::RequestTooLong, "C-ST-2", message).with("limit", REQUEST_LIMIT));
    }
    // Grounding takes no more bytes than that: a longer request could never leave its first phase (`mcp.md` 14, 5).
    let bytes = request.len();
    if bytes > REQUEST_LIMIT {
        let message = format!("the request has {bytes} bytes, at most {REQUEST_LIMIT} are allowed");
        return Err(Refusal::new(Code::RequestTooLong, "C-ST-2", message).with("limit", REQUEST_LIMIT));
    }
    require!(!is_blank(&input.host_name), HostNameEmpty, "C-ST-3", "the host name is blank");

    let host = sorted(&input.host_capabilities);
    let granted = match &input.granted {
        Some(granted) => sorted(granted),
        None => sorted(default_grants(input.mode).iter().map(|capability| capability.as_str())),
    };
    let granted: Vec<&str> = granted.into_iter().filter(|capability| host.contains(capability)).collect();
    let denied = sorted(&input.denied);
    let given = input.granted.as_ref().map_or(0, Vec::len);
    for (name, length, rule) in [
        ("host capabilities", input.host_capabilities.len(), "C-ST-4"),
        ("granted capabilities", given, "C-ST-4"),
        ("denied capabilities", input.denied.len(), "C-ST-4"),
        ("commands", input.shell_execute_allowlist.len(), "C-ST-5"),
        ("domains", input.network_read_domains.len(), "C-ST-6"),
    ] {
        if length > LIST_LIMIT {
            let message =
                format!("the list of {name} has {length} entries, at most {LIST_LIMIT} are allowed");
            return Err(Refusal::new(Code::ListTooLong, rule, message).with("limit", LIST_LIMIT));
        }
    }
    let both = |capability: &str| host.contains(&capability) && granted.contains(&capability);
    require!(
        input.shell_execute_allowlist.is_empty() || both("shell.execute"),
        GrantRequired,
        "C-ST-7",
        "a command allowlist needs shell.execute among the host's capabilities and among the grants"
    );
    require!(
        input.network_read_domains.is_empty() || both("network.read"),
        GrantRequired,
        "C-ST-8",
        "a domain list needs network.read among the host's capabilities and among the grants"
    );
    let mut domains = BTreeSet::new();
    for domain in &input.network_read_domains {
        // W-28: an address is kept in the form in which a parsed URL names it.
        let Some(normal) = normalize_domain(domain).and_then(|normal| canonical_ip(&normal)) else {
            let message = format!("{domain:?} is no exact host name or address");
            return Err(Refusal::new(Code::NetworkDomainInvalid, "C-ST-9", message));
        };
        domains.insert(normal);
    }
    let mut seen = HashSet::new();
    let mut commands = Vec::new();
    for command in &input.shell_execute_allowlist {
        require!(
            is_exact_command(command),
            ShellCommandInvalid,
            "C-ST-10",
            "{command:?} is no exact, plain command: no wildcards, no second command, no redirection"
        );
        if seen.insert(command) {
            commands.push(command.clone());
        }
    }
    let (host, granted, denied) = (known(&host)?, known(&granted)?, known(&denied)?);
    let unavailable = granted.iter().find(|capability| !host.contains(capability));
    require!(
        unavailable.is_none(),
        GrantUnavailable,
        "C-ST-12",
        "{} is granted, but the host does not have it",
        unavailable.map_or("a capability", |capability| capability.as_str())
    );
    Ok(Grant { host, granted, denied, commands, domains: domains.into_iter().collect() })
}

fn sorted<'a, S: AsRef<str> + ?Sized + 'a>(list: impl IntoIterator<Item = &'a S>) -> Vec<&'a str> {
    list.into_iter().map(AsRef::as_ref).collect::<BTreeSet<&str>>().into_iter().collect()
}

fn known(list: &[&str]) -> Result<Vec<ActionCapability>, Refusal> {
    let parse = |name: &&str| {
        name.parse().map_err(|_| {
            Refusal::new(Code::CapabilityUnknown, "C-ST-11", format!("{name:?} is no capability"))
        })
    };
    list.iter().map(parse).collect()
}

fn envelope(input: &StartInput, grant: &Grant, run: &RunState, request_ref: &str) -> RunEnvelope {
    // Only a host that has said that it can run children gets room for them.
    let (workers, depth) = if input.native_subagents == NativeSubagents::Available { (3, 1) } else { (1, 0) };
    RunEnvelope {
        schema_version: SchemaVersion,
        run_id: Identifier::from(run.run_id.as_str()),
        created_at: run.created_at.as_str().into(),
        original_request_ref: request_ref.into(),
        followup_request_refs: Vec::new().into(),
        requested_mode: Some(input.mode),
        status: EnvelopeStatus::Active,
        working_context: WorkingContext {
            repository_root: run.repository_root.as_str().into(),
            active_files: Vec::new().into(),
            applicable_rule_refs: Vec::new().into(),
        },
        host: HostDescriptor {
            name: input.host_name.as_str().into(),
            version: None,
            native_subagents: input.native_subagents,
            capabilities: grant.host.iter().map(|capability| Str::from(capability.as_str())).collect(),
        },
        authorization: Authorization {
            granted: granted_set(&grant.granted, &grant.commands, &grant.domains),
            denied: denied_set(&grant.denied),
        },
        budgets: RevisionBudgets {
            prompt_revisions: 1.into(),
            post_execution_remediations: 1.into(),
            maximum_parallel_workers: workers.into(),
            maximum_subagent_depth: depth.into(),
        },
        policy_refs: Vec::new().into(),
    }
}
