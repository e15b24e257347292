use super::policy_file::PolicyFile;
use super::samples::{self, sha};
use super::*;
use crate::protocol::ActionCapability;
use proptest::prelude::*;

fn user(text: &str) -> PolicyFile {
    PolicyFile::parse(text, "policy.toml", CheckSource::UserPolicy).unwrap()
}

fn repository(text: &str) -> PolicyFile {
    PolicyFile::parse(text, ".telic/policy.toml", CheckSource::RepositoryPolicy).unwrap()
}

fn of(user_text: &str, repository_text: &str) -> EffectivePolicy {
    EffectivePolicy::of(&samples::ready_task(), &user(user_text), &repository(repository_text))
}

#[test]
fn the_empty_policy_forbids_git_and_telic_only_and_has_no_checks() {
    let policy = of("", "");
    assert_eq!(policy.boundary.forbidden, [".git/**", ".telic/**"]);
    assert!(policy.boundary.allowed.is_empty() && policy.denials.is_empty());
    assert!(policy.verification.plan.is_empty());
    assert_eq!(policy.notes[0].code, "no_verification");
    assert_eq!((policy.judge.strict, policy.judge.minimum_confidence), (true, 0.7));
    assert_eq!(policy.budget, Budget::default());
    assert_eq!((policy.publish.remote.as_str(), policy.publish.branch_prefix.as_str()), ("origin", "telic/"));
}

#[test]
fn a_repository_cannot_grant_what_the_engineer_did_not() {
    let policy = of(
        "",
        "[budget]\nwall_clock = \"10h\"\nattempts = 9\ntool_calls = 9999\noutput_bytes = \"9GiB\"\n\
         [judge]\nstrict = false\nminimum_confidence = 0.0\n[autonomy]\nmaximum = \"auto_pr\"\n\
         [workflow]\nenvironment = [\"AWS_SECRET_ACCESS_KEY\"]\n[workspace]\nsubmodules = true\nlfs = true\n",
    );
    assert_eq!(policy.budget, Budget::default());
    assert_eq!((policy.judge.strict, policy.judge.minimum_confidence), (true, 0.7));
    assert_eq!(policy.autonomy_level, AutonomyLevel::SupervisedPr);
    assert!(policy.tools.environment.is_empty());
    assert_eq!(policy.workspace, WorkspacePolicy::default());
}

#[test]
fn a_repository_narrows_what_the_engineer_granted() {
    let policy = of(
        "[budget]\nwall_clock = \"2h\"\n[workflow]\nshell_execute = [\"a\", \"b\"]\nenvironment = [\"X\", \"Y\"]\n\
         [boundary]\nmax_files = 50\nallowed = [\"src/**\"]\n[judge]\nminimum_confidence = 0.5\nstrict = false\n",
        "[budget]\nwall_clock = \"30m\"\n[workflow]\nshell_execute = [\"b\", \"c\"]\nenvironment = [\"Y\"]\n\
         deny = [\"network.read\"]\n[boundary]\nmax_files = 90\nallowed = [\"**/*.rs\"]\nforbidden = [\"infra/**\"]\n\
         [judge]\nminimum_confidence = 0.8\nstrict = true\n",
    );
    assert_eq!(policy.budget.wall_clock_seconds, 1_800);
    assert_eq!(policy.tools.shell_execute, Some(vec!["b".to_owned()]));
    assert!(policy.tools.allows_command("b") && !policy.tools.allows_command("a"));
    assert!(!policy.tools.allows_host("example.org"));
    assert_eq!(policy.tools.environment, ["Y"]);
    assert_eq!(policy.boundary.limits.max_files, 50);
    assert_eq!(policy.boundary.allowed.len(), 2, "both layers have to allow a path");
    assert!(policy.boundary.forbidden.contains(&"infra/**".to_owned()));
    assert_eq!((policy.judge.strict, policy.judge.minimum_confidence), (true, 0.8));
    let grants = [ActionCapability::RepositoryRead, ActionCapability::NetworkRead];
    assert_eq!(policy.tools.narrow_grants(&grants), [ActionCapability::RepositoryRead]);
}

#[test]
fn t_3_a_task_whose_mode_or_capability_is_refused_is_denied_with_reasons() {
    let policy = of("", "[workflow]\nmodes = [\"analyze_only\"]\ndeny = [\"repository.write\"]\n");
    let codes: Vec<&str> = policy.denials.iter().map(|reason| reason.code.as_str()).collect();
    assert_eq!(codes, ["mode_not_allowed", "capability_denied"]);
    let decision = policy.decision(sha(1));
    assert!(!decision.allowed);
    assert_eq!(decision.policy_digest, sha(1));
    let error = PolicyFile::parse("\nx = 1", "policy.toml", CheckSource::UserPolicy).unwrap_err();
    assert_eq!(unreadable_policy(&error)[0].text, "policy.toml line 2: x is not known");
}

#[test]
fn a_pattern_of_the_person_that_could_match_nothing_denies_the_task() {
    let task = Task { forbidden_paths: vec!["/infra/**".to_owned()], ..samples::ready_task() };
    let policy = EffectivePolicy::of(&task, &PolicyFile::default(), &PolicyFile::default());
    assert_eq!(policy.denials[0].code, "pattern_invalid");
}

#[test]
fn generated_files_may_change_only_where_each_layer_that_names_them_allows_it() {
    let (named, lifted) = ("[boundary]\ngenerated = [\"*.pb.go\"]\n", "allow_generated = true\n");
    assert!(!of("", named).boundary.allow_generated);
    assert!(of("", &format!("{named}{lifted}")).boundary.allow_generated);
    assert!(!of(named, &format!("[boundary]\n{lifted}")).boundary.allow_generated);
}

#[test]
fn autonomy_is_lowered_and_said() {
    let task = Task { autonomy_level: AutonomyLevel::AutoPr, ..samples::ready_task() };
    let none = PolicyFile::default();
    assert_eq!(EffectivePolicy::of(&task, &none, &none).autonomy_level, AutonomyLevel::AutoPr);
    let policy = EffectivePolicy::of(&task, &none, &repository("[autonomy]\nmaximum = \"suggest_only\"\n"));
    assert_eq!(policy.autonomy_level, AutonomyLevel::SuggestOnly);
    assert!(policy.notes.iter().any(|note| note.code == "autonomy_lowered"));
}

#[test]
fn v_1_the_plan_holds_every_layers_checks_once() {
    let policy = of(
        "[verification]\noptional = [{ name = \"test\", command = \"cargo test\" }]\n",
        "[verification]\nrequired = [{ name = \"all\", command = \"cargo test\", timeout = \"5m\" }, \
         { name = \"test\", command = \"cargo clippy\" }]\n",
    );
    let plan: Vec<(&str, &str, bool, u64)> = policy
        .verification
        .plan
        .iter()
        .map(|check| (check.name.as_str(), check.command.as_str(), check.required, check.timeout_seconds))
        .collect();
    assert_eq!(plan, [("test", "cargo test", true, 300), ("repository:test", "cargo clippy", true, 1_200)]);
    assert_eq!(policy.verification.plan[0].source, CheckSource::UserPolicy, "no consent needed for it");
}

#[test]
fn a_command_on_the_ask_list_asks_exactly_for_itself() {
    let tools = of("[workflow]\nask = [\"cargo publish\", \"network.read\"]\n", "").tools;
    assert!(tools.asks(ActionCapability::ShellExecute, Some("cargo publish")));
    assert!(!tools.asks(ActionCapability::ShellExecute, Some("cargo publish --dry-run")));
    assert!(tools.asks(ActionCapability::NetworkRead, None));
}

#[test]
fn r_3_the_spec_holds_the_policy_as_it_was() {
    let policy = of("", "[boundary]\nforbidden = [\"infra/**\"]\n");
    let task = samples::ready_task();
    let spec = policy.freeze(samples::run_id(), &task, sha(4));
    assert_eq!((&spec.base_commit, spec.mode), (&task.base_commit, task.mode));
    assert_eq!(spec.patch_boundary, policy.boundary);
    let json = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<ExecutionSpec>(&json).unwrap(), spec);
}

fn any_policy() -> impl Strategy<Value = String> {
    let files = proptest::option::of(1_u64..500);
    let minutes = proptest::option::of(1_u64..300);
    let autonomy =
        proptest::option::of(prop_oneof![Just("suggest_only"), Just("supervised_pr"), Just("auto_pr")]);
    let strict = proptest::option::of(any::<bool>());
    let locks = proptest::option::of(any::<bool>());
    (files, minutes, autonomy, strict, locks, any::<bool>()).prop_map(
        |(files, minutes, autonomy, strict, locks, commands)| {
            let line =
                |key: &str, value: Option<String>| value.map_or(String::new(), |v| format!("{key} = {v}\n"));
            format!(
                "[boundary]\n{}{}[budget]\n{}[autonomy]\n{}[judge]\n{}[workflow]\n{}",
                line("max_files", files.map(|n| n.to_string())),
                line("allow_lockfiles", locks.map(|b| b.to_string())),
                line("wall_clock", minutes.map(|n| format!("\"{n}m\""))),
                line("maximum", autonomy.map(|word| format!("\"{word}\""))),
                line("strict", strict.map(|b| b.to_string())),
                if commands { "shell_execute = [\"x\"]\n" } else { "" },
            )
        },
    )
}

proptest! {
    /// Against the engineer's own policy, a repository's can only take away.
    #[test]
    fn a_repository_policy_never_widens(user_text in any_policy(), repository_text in any_policy()) {
        let (alone, with) = (of(&user_text, ""), of(&user_text, &repository_text));
        prop_assert!(with.budget.wall_clock_seconds <= alone.budget.wall_clock_seconds);
        prop_assert!(with.autonomy_level <= alone.autonomy_level);
        prop_assert!(with.judge.strict || !alone.judge.strict);
        prop_assert!(with.boundary.allow_lockfiles <= alone.boundary.allow_lockfiles);
        prop_assert!(with.tools.allows_command("y") <= alone.tools.allows_command("y"));
        if user(&user_text).boundary.max_files.is_some() {
            prop_assert!(with.boundary.limits.max_files <= alone.boundary.limits.max_files);
        }
    }
}
