//! Starting a run: defaults, normal forms, refusals.

use crate::controller::{
    Accepted, Code, Effect, Facts, NoFacts, RunPhase, RunView, Schemas, Stamp, StartInput, next_action, start,
};
use crate::protocol::{Body, IntentMode, Kind, NativeSubagents, NextAction, RunEnvelope, UserMessage};

fn input(mode: IntentMode) -> StartInput {
    StartInput::new("Why is the total wrong?", mode, "/r")
}

fn stamp() -> Stamp {
    Stamp::new("2026-03-01T10:00:00.000Z", "T1")
}

fn started(input: &StartInput) -> Accepted {
    start(input, &stamp(), &NoFacts).unwrap()
}

fn envelope(accepted: &Accepted) -> &RunEnvelope {
    let Body::RunEnvelope(envelope) = &*accepted.artifacts[1].body else { panic!("no envelope") };
    envelope
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

fn refused(change: impl FnOnce(&mut StartInput)) -> (Code, &'static str) {
    let mut input = input(IntentMode::FixOnly);
    change(&mut input);
    let refusal = start(&input, &stamp(), &NoFacts).unwrap_err();
    (refusal.code, refusal.rule.unwrap())
}

#[test]
fn a_start_stores_the_request_unchanged_and_the_envelope() {
    let mut request = input(IntentMode::AnalyzeOnly);
    request.original_request = "  Ünicode 😀 \u{85} stays.\n".into();
    let accepted = started(&request);
    assert_eq!(accepted.effect, Effect::Start);
    let Body::UserMessage(UserMessage { content, .. }) = &*accepted.artifacts[0].body else { panic!() };
    assert_eq!(&**content, request.original_request);
    assert_eq!(accepted.artifacts[0].producer, "user");
    assert_eq!(accepted.artifacts[1].id, accepted.run.run_id);
    let request_ref = format!("artifact://{}/{}", accepted.run.run_id, accepted.artifacts[0].id);
    assert_eq!(accepted.artifacts[1].source_refs, [request_ref.as_str()]);
    assert_eq!(envelope(&accepted).original_request_ref.as_str(), request_ref);
    assert_eq!((accepted.run.version, accepted.run.phase), (1, RunPhase::ContextGrounding));
    assert_eq!(accepted.events.len(), 1);
    assert_eq!(accepted.events[0].event_type.as_str(), "run_started");
}

#[test]
fn without_a_grant_the_default_of_the_mode_is_taken_as_far_as_the_host_goes() {
    let mut all = input(IntentMode::AnalyzeOnly);
    all.host_capabilities = words(&["shell.inspect", "repository.read", "shell.inspect", "runtime.inspect"]);
    let accepted = started(&all);
    let granted = &envelope(&accepted).authorization.granted;
    assert_eq!(&*granted.repository.read[0], "**");
    assert!(granted.shell.inspect && !granted.browser.inspect);
    assert_eq!(&*granted.runtime.inspect[0], "local");
    let capabilities: Vec<&str> = envelope(&accepted).host.capabilities.iter().map(|it| &**it).collect();
    assert_eq!(capabilities, ["repository.read", "runtime.inspect", "shell.inspect"]);
    all.granted = Some(Vec::new());
    let none = started(&all);
    assert!(envelope(&none).authorization.granted.repository.read.is_empty());
}

#[test]
fn a_grant_that_the_host_does_not_have_is_dropped_and_a_denial_is_kept() {
    let mut some = input(IntentMode::FixOnly);
    some.granted = Some(words(&["repository.write", "repository.read"]));
    some.denied = words(&["network.read", "shell.execute"]);
    let accepted = started(&some);
    let authorization = &envelope(&accepted).authorization;
    assert!(authorization.granted.repository.write.is_empty());
    assert_eq!(&*authorization.denied.network.read_domains[0], "**");
    assert_eq!(&*authorization.denied.shell.execute_allowlist[0], "**");
}

#[test]
fn domains_are_normalised_and_sorted_and_commands_keep_their_order() {
    let mut some = input(IntentMode::AnalyzeAndFix);
    some.host_capabilities = words(&["network.read", "shell.execute"]);
    some.granted = Some(some.host_capabilities.clone());
    some.network_read_domains =
        words(&["b.example", " A.example ", "127.1", "0:0:0:0:0:0:0:1", "[::1]", "b.example"]);
    some.shell_execute_allowlist = words(&["npm test", "make a", "npm test"]);
    let accepted = started(&some);
    let granted = &envelope(&accepted).authorization.granted;
    let domains: Vec<&str> = granted.network.read_domains.iter().map(|it| &**it).collect();
    assert_eq!(domains, ["127.0.0.1", "::1", "a.example", "b.example"]);
    let commands: Vec<&str> = granted.shell.execute_allowlist.iter().map(|it| &**it).collect();
    assert_eq!(commands, ["npm test", "make a"]);
}

#[test]
fn only_a_host_with_subagents_gets_workers_and_depth() {
    for (native, workers, depth) in [
        (NativeSubagents::Available, 3, 1),
        (NativeSubagents::Unavailable, 1, 0),
        (NativeSubagents::Unknown, 1, 0),
    ] {
        let accepted = started(&StartInput { native_subagents: native, ..input(IntentMode::PlanOnly) });
        let budgets = &envelope(&accepted).budgets;
        assert_eq!(
            (budgets.maximum_parallel_workers.get(), budgets.maximum_subagent_depth.get()),
            (workers, depth),
            "{native}"
        );
    }
}

#[test]
fn each_check_refuses_with_its_own_code() {
    let many = || vec!["x".to_owned(); 257];
    assert_eq!(refused(|it| it.original_request = " \u{feff}\n".into()), (Code::RequestEmpty, "C-ST-1"));
    assert_eq!(refused(|it| it.original_request = "😀".repeat(16_385)), (Code::RequestTooLong, "C-ST-2"));
    assert_eq!(refused(|it| it.host_name = "\u{2003}".into()), (Code::HostNameEmpty, "C-ST-3"));
    assert_eq!(refused(|it| it.host_capabilities = many()), (Code::ListTooLong, "C-ST-4"));
    assert_eq!(refused(|it| it.granted = Some(many())), (Code::ListTooLong, "C-ST-4"));
    assert_eq!(refused(|it| it.denied = many()), (Code::ListTooLong, "C-ST-4"));
    assert_eq!(refused(|it| it.shell_execute_allowlist = many()), (Code::ListTooLong, "C-ST-5"));
    assert_eq!(refused(|it| it.network_read_domains = many()), (Code::ListTooLong, "C-ST-6"));
    assert_eq!(refused(|it| it.shell_execute_allowlist = words(&["a"])), (Code::GrantRequired, "C-ST-7"));
    assert_eq!(refused(|it| it.network_read_domains = words(&["a"])), (Code::GrantRequired, "C-ST-8"));
    let open = |it: &mut StartInput| {
        it.host_capabilities = words(&["network.read", "shell.execute"]);
        it.granted = Some(it.host_capabilities.clone());
    };
    for domain in ["https://a.example", "*.example", "", "fe80::1%eth0"] {
        let found = refused(|it| {
            open(it);
            it.network_read_domains = words(&[domain]);
        });
        assert_eq!(found, (Code::NetworkDomainInvalid, "C-ST-9"), "{domain:?}");
    }
    for command in ["authorized", "**", "ls *", "a; b", "a && b", "echo $(x)"] {
        let found = refused(|it| {
            open(it);
            it.shell_execute_allowlist = words(&[command]);
        });
        assert_eq!(found, (Code::ShellCommandInvalid, "C-ST-10"), "{command:?}");
    }
    assert_eq!(refused(|it| it.denied = words(&["fly"])), (Code::CapabilityUnknown, "C-ST-11"));
    // The longest request that fits.
    assert!(
        start(
            &StartInput { original_request: "😀".repeat(8_192), ..input(IntentMode::FixOnly) },
            &stamp(),
            &NoFacts
        )
        .is_ok()
    );
}

#[test]
fn a_request_that_grounding_would_refuse_for_its_bytes_starts_no_run() {
    let with = |count| StartInput { original_request: "é".repeat(count), ..input(IntentMode::ReportOnly) };
    assert!(start(&with(16_384), &stamp(), &NoFacts).is_ok());
    let refusal = start(&with(16_385), &stamp(), &NoFacts).unwrap_err();
    assert_eq!((refusal.code, refusal.rule), (Code::RequestTooLong, Some("C-ST-2")));
}

#[test]
fn a_repository_that_is_not_there_starts_nothing() {
    struct Empty;
    impl Facts for Empty {
        fn directory(&self, _: &str) -> Option<String> {
            None
        }
        fn real_path(&self, _: &str) -> Option<String> {
            None
        }
    }
    let refusal = start(&input(IntentMode::FixOnly), &stamp(), &Empty).unwrap_err();
    assert_eq!((refusal.code, refusal.rule), (Code::RepositoryUnavailable, Some("C-ST-13")));
}

#[test]
fn the_first_action_is_to_ground_the_run() {
    let accepted = started(&input(IntentMode::AnalyzeOnly));
    let view: RunView = accepted.preview(None);
    let NextAction::Phase(action) = next_action(&view, None, Schemas::Full).unwrap() else { panic!() };
    assert_eq!(action.phase.as_str(), "context_discovery");
    assert_eq!(action.input_refs.len(), 2);
    assert_eq!(&*action.effective_permissions.repository.read[0], "**");
    assert_eq!(action.remaining_budgets.remaining_plan_tool_calls.get(), 4000);
    assert!(Body::read(Kind::NextAction, &Body::from(NextAction::Phase(action)).encode()).is_ok());
}
