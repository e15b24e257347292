//! Every rule by its id: a legal run, one thing changed, the code and the rule that answer.

mod audit;
mod contract;
mod frame;
mod order;
mod plan;
mod quality;
mod report;
mod result;
mod review;

use super::bodies as make;
use super::fixtures::{
    Draft, RULES, RUN, Run, SOURCE, at, auditing, compiling, correcting, executing, framing, judging,
    judging_correction, planning, replanning, reporting, reviewing,
};
use crate::controller::Code;
use crate::protocol::{ActionCapability, IntentMode, Kind};
use serde_json::{Value, json};

use IntentMode::{
    AnalyzeAndFix as BOTH, AnalyzeOnly as ANALYZE, FixOnly as FIX, PlanOnly as PLAN, ReportOnly as REPORT,
};

#[test]
fn a_legal_run_of_every_mode_passes_every_rule_up_to_its_report() {
    for mode in IntentMode::ALL.iter().copied() {
        let run = reporting(mode).accept(&make::report(mode));
        assert!(run.view.latest(Kind::UserReport).is_some(), "{mode}");
    }
}

#[test]
fn a_body_that_cannot_be_read_stops_every_rule_that_might_count_it() {
    let run = executing(ANALYZE);
    let mut damaged = Run { view: crate::controller::RunView::new(run.view.run.clone()), policy: None };
    for stored in run.view.artifacts() {
        let mut stored = (**stored).clone();
        if stored.id == "plan-1" {
            stored.body = None;
        }
        damaged.view.push(std::sync::Arc::new(stored));
    }
    let refusal = damaged.ask(&make::result(ANALYZE).body(), &[]).expect_err("refused");
    assert_eq!((refusal.code, refusal.rule), (Code::IntegrityFailure, None));
    assert!(refusal.message.contains("plan-1"), "{refusal}");
}

#[test]
fn a_refusal_names_the_place_and_what_would_be_right() {
    let plan = make::plan(ANALYZE).set("/nodes/0/permissions/repository/write", json!(["src/**"]));
    let (_, refusal) = planning(ANALYZE).refusal(&plan);
    assert_eq!(refusal.path.as_deref(), Some("body.nodes[0].permissions.repository.write"));
    assert_eq!(
        refusal.message,
        "node look asks for repository.write \"src/**\", which the contract does not allow"
    );
}
