//! Evidence and scenarios: the run stays where it is.

use super::play::Play;
use crate::controller::{Code, Effect, Env, SlotQuota, Submission, submit};
use crate::protocol::Kind;
use serde_json::{Value, json};

fn numbered(play: &Play, number: usize) -> Submission {
    play.changed(|body| body["id"] = format!("evidence-n{number}").into())
}

#[test]
fn evidence_leaves_the_run_and_its_tokens_as_they_are() {
    let mut play = Play::before("fix", Kind::Evidence, 1);
    let before = play.view.run.clone();
    let evidence = play.next();
    let accepted = play.step().unwrap();
    assert_eq!(accepted.effect, Effect::Support(SlotQuota::AfterLatest(Kind::WorkPlan, 128)));
    assert_eq!(play.view.run, before);
    assert_eq!(accepted.events[0].event_type.as_str(), "evidence_captured");
    // The same again, with the same tokens, is a replay.
    let replay = play.submit(&evidence).unwrap();
    assert_eq!(replay.effect, Effect::Replay("evidence-cause".to_owned()));
    assert!(replay.events.is_empty() && replay.artifacts.is_empty());
}

#[test]
fn a_replay_that_differs_names_the_difference() {
    let mut play = Play::before("fix", Kind::Evidence, 1);
    let evidence = play.next();
    play.step();
    let differs = |change: &dyn Fn(&mut Submission)| {
        let mut other = evidence.clone();
        change(&mut other);
        let refusal = play.submit(&other).unwrap_err();
        assert_eq!((refusal.code, refusal.rule), (Code::ReplayConflict, Some("C-EV-10")));
        refusal.details["differs"].as_str().unwrap().to_owned()
    };
    assert_eq!(differs(&|it| it.body.as_mut().unwrap()["summary"] = json!("other")), "body");
    assert_eq!(differs(&|it| it.redaction = Some("partial".into())), "redaction");
    assert_eq!(differs(&|it| it.source_refs = vec!["repo://AGENTS.md".into()]), "sourceRefs");
    assert_eq!(differs(&|it| it.body.as_mut().unwrap()["id"] = json!("plan-1")), "type");
}

#[test]
fn a_hundred_and_twenty_eight_follow_a_plan_and_no_more() {
    let mut play = Play::before("fix", Kind::Evidence, 1);
    let sixth = numbered(&play, 5);
    for number in 0..128 {
        let evidence = if number == 5 { sixth.clone() } else { numbered(&play, number) };
        let accepted = play.submit(&evidence).unwrap();
        play.apply(&accepted);
    }
    assert_eq!(play.refused(&numbered(&play, 128)), (Code::QuotaExceeded, "C-EV-12"));
    // A replay asks for no room.
    assert!(matches!(play.submit(&sixth).unwrap().effect, Effect::Replay(_)));
}

#[test]
fn evidence_is_captured_while_a_plan_is_executed_only() {
    let evidence = Play::before("fix", Kind::Evidence, 1).next();
    for kind in [Kind::WorkPlan, Kind::QualityReview, Kind::ReleaseAudit] {
        let play = Play::before("fix", kind, 1);
        let mut early = evidence.clone();
        early.tokens = crate::controller::Tokens::of(&play.view);
        assert_eq!(play.refused(&early), (Code::WrongPhase, "C-EV-1"), "{kind}");
    }
}

#[test]
fn base64_must_be_canonical_and_is_screened_decoded() {
    let play = Play::before("fix", Kind::Evidence, 1);
    let encoded = |content: &str| {
        play.changed(|body| {
            body["encoding"] = "base64".into();
            body["content"] = content.into();
        })
    };
    for content in ["YQ", "YR==", "Y Q==", "YQ==\n", "_w==", "YQ=a"] {
        assert_eq!(play.refused(&encoded(content)), (Code::Base64Invalid, "C-EV-5"), "{content:?}");
    }
    // "hunter2" in base64.
    let find = |bytes: &[u8]| bytes.windows(7).any(|part| part == b"hunter2").then(|| "password".to_owned());
    let env = Env { secrets: &find, ..Env::none() };
    let refusal = submit(&play.view, &encoded("aHVudGVyMg=="), &play.stamp(), &env).unwrap_err();
    assert_eq!((refusal.code, refusal.rule), (Code::SecretDetected, Some("C-EV-7")));
    assert!(submit(&play.view, &encoded("aHVudGVyMw=="), &play.stamp(), &env).is_ok());
    for field in ["summary", "contentType", "rationaleSummary"] {
        let hidden = play.changed(|body| body[field] = "hunter2".into());
        let refusal = submit(&play.view, &hidden, &play.stamp(), &env).unwrap_err();
        assert_eq!(refusal.path.as_deref(), Some(format!("body.{field}").as_str()));
        assert!(!refusal.message.contains("hunter2"));
    }
}

#[test]
fn a_frame_has_one_scenario_and_only_while_it_is_compiled() {
    let mut play = Play::before("fix", Kind::TaskContract, 1);
    let scenario = |play: &Play, id: &str| {
        let body = json!({
            "schemaVersion": "1.0", "id": id, "runId": play.view.run.run_id,
            "problemFrameRef": play.view.reference("frame-1"), "title": "t", "narrative": "n", "actor": "a",
            "observableSymptoms": [], "desiredOutcome": "d", "sourceMap": [],
            "promptReadinessRubricRef": "artifact://system/rubrics/contract-readiness-v1", "rationaleSummary": "r",
        });
        Submission::artifact(crate::controller::Tokens::of(&play.view), Kind::ScenarioSpec, body)
    };
    let accepted = play.submit(&scenario(&play, "spec-1")).unwrap();
    assert_eq!(accepted.artifacts[0].producer, "scenario_author");
    assert_eq!(
        accepted.effect,
        Effect::Support(SlotQuota::OnePer("problemFrameRef", play.view.reference("frame-1")))
    );
    play.apply(&accepted);
    assert!(matches!(play.submit(&scenario(&play, "spec-1")).unwrap().effect, Effect::Replay(_)));
    assert_eq!(play.refused(&scenario(&play, "spec-2")), (Code::QuotaExceeded, "C-SS-7"));
    let mut misplaced = scenario(&play, "spec-3");
    misplaced.body.as_mut().unwrap()["problemFrameRef"] = Value::from("artifact://system/roles/executor-v1");
    assert_eq!(play.refused(&misplaced), (Code::MisplacedSystemReference, "C-RF-3"));
    play.step();
    assert_eq!(play.refused(&scenario(&play, "spec-4")), (Code::WrongPhase, "C-SS-1"));
}
