//! Whatever is handed in at whatever moment: it is refused and changes nothing, or the run moves legally.

use super::play::{Play, script};
use crate::controller::transition::{TABLE, accepted_types};
use crate::controller::{
    Accepted, Effect, Env, RunState, RunStatus, Schemas, Submission, Tokens, denial_event, next_action,
    submit,
};
use crate::protocol::Kind;
use crate::text::units;
use proptest::prelude::*;
use serde_json::Value;

const SCRIPTS: [&str; 3] = ["analyze", "fix", "forbidden"];

/// Every body of every script.
fn bodies() -> Vec<(Kind, Value)> {
    let mut bodies = Vec::new();
    for name in SCRIPTS {
        for step in script(name)["steps"].as_array().unwrap() {
            if let Some(submit) = step.get("submit") {
                let kind = submit["artifact_type"].as_str().unwrap().parse().unwrap();
                bodies.push((kind, submit["body"].clone()));
            }
        }
    }
    bodies
}

/// Changes one value somewhere in a body; `choice` says where and how.
fn mutate(value: &mut Value, choice: &mut u64) {
    let pick = usize::try_from(*choice % 7).unwrap();
    *choice /= 7;
    match value {
        Value::Object(object) if !object.is_empty() => {
            let at = pick % object.len();
            let key = object.keys().nth(at).unwrap().clone();
            if choice.is_multiple_of(5) {
                object.shift_remove(&key);
            } else {
                mutate(object.get_mut(&key).unwrap(), choice);
            }
        }
        Value::Array(entries) if !entries.is_empty() => {
            let at = pick % entries.len();
            match *choice % 4 {
                0 => drop(entries.remove(at)),
                1 => entries.push(entries[at].clone()),
                _ => mutate(&mut entries[at], choice),
            }
        }
        Value::Bool(flag) => *flag = !*flag,
        Value::Number(_) => *value = (*choice % 3).into(),
        other => {
            let words =
                ["", "x", "**", "../x", "pass", "block", "revise", "remediate", "partial", "${request}"];
            *other = words[usize::try_from(*choice % 10).unwrap()].into();
        }
    }
}

fn legal(before: &RunState, accepted: &Accepted) {
    let after = &accepted.run;
    match &accepted.effect {
        Effect::Move => {
            assert_eq!(after.version, before.version + 1);
            let known = TABLE.iter().any(|row| row.phase.is_none_or(|phase| phase == before.phase));
            assert!(known, "{before:?}");
            assert!(!before.status.is_terminal());
            assert_eq!(after.resume_phase.is_some(), after.status == RunStatus::AwaitingClarification);
        }
        Effect::Support(_) | Effect::Replay(_) | Effect::Nothing => assert_eq!(after, before),
        Effect::Start => panic!("a submission started a run"),
    }
    assert!(after.prompt_revisions_remaining <= before.prompt_revisions_remaining);
    assert!(after.remediations_remaining <= before.remediations_remaining);
    assert_eq!((&after.run_id, after.mode), (&before.run_id, before.mode));
    for event in &accepted.events {
        assert!((1..=800).contains(&units(&event.summary)));
        assert_eq!(event.phase, before.phase);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_submission_is_refused_and_changes_nothing_or_leads_to_a_legal_state(
        name in 0_usize..3,
        steps in 0_usize..16,
        tries in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 0_u8..8), 1..6),
    ) {
        let mut play = Play::start(SCRIPTS[name]);
        for _ in 0..steps {
            if play.step().is_none() {
                break;
            }
        }
        let bodies = bodies();
        for (which, mut choice, kind_of_try) in tries {
            let tokens = Tokens::of(&play.view);
            let submission = if kind_of_try == 0 {
                Submission::answer(tokens, "half-up")
            } else {
                // Half of the tries fit the phase; the other half are anything.
                let wanted = accepted_types(play.view.run.phase);
                let fitting: Vec<_> = bodies.iter().filter(|(kind, _)| wanted.contains(kind)).collect();
                let all: Vec<_> = bodies.iter().collect();
                let from = if kind_of_try < 5 && !fitting.is_empty() { &fitting } else { &all };
                let (kind, body) = from[which.index(from.len())];
                let mut body = body.clone();
                if kind_of_try % 2 == 0 {
                    mutate(&mut body, &mut choice);
                }
                let Some(filled) = play.try_fill(&body) else { continue };
                Submission::artifact(tokens, *kind, filled)
            };
            let before = play.view.run.clone();
            match submit(&play.view, &submission, &play.stamp(), &Env::none()) {
                Ok(accepted) => {
                    legal(&before, &accepted);
                    let after = accepted.preview(Some(&play.view));
                    prop_assert!(next_action(&after, None, Schemas::Compact).is_ok());
                    play.apply(&accepted);
                }
                Err(refusal) => {
                    prop_assert!(!refusal.message.is_empty());
                    if let Some(event) = denial_event(&play.view, &refusal, &play.stamp()) {
                        prop_assert!(units(&event.summary) <= 800);
                    }
                    prop_assert_eq!(&play.view.run, &before);
                }
            }
        }
    }
}
