use super::*;

#[test]
fn c_pf_1_a_frame_is_for_the_mode_of_the_run() {
    let frame = make::frame(ANALYZE).set("/intentMode", "plan_only");
    assert_eq!(framing(ANALYZE).refused(&frame), (Code::ModeMismatch, "C-PF-1"));
}

#[test]
fn c_pf_2_a_frame_answers_the_original_request_and_no_later_word() {
    let mut run = framing(ANALYZE);
    run.message("msg-2", "Yes.", &["clar-1"]);
    let frame = make::frame(ANALYZE).set("/originalRequestRef", at("msg-2"));
    assert_eq!(run.refused(&frame), (Code::LineageMismatch, "C-PF-2"));
}

#[test]
fn c_pf_3_a_fact_of_the_user_cites_what_the_user_said_also_an_answer() {
    let mut run = framing(ANALYZE);
    run.message("msg-2", "Yes.", &["clar-1"]);
    let cites = |source: &str| make::frame(ANALYZE).set("/knownFacts/0/sourceRef", source);
    for source in [SOURCE, &at(RUN), "artifact://run-2/msg-1"] {
        assert_eq!(run.refused(&cites(source)), (Code::ProvenanceMismatch, "C-PF-3"), "{source}");
    }
    let _ = run.accept(&cites(&at("msg-2")));
}

#[test]
fn c_pf_4_a_fact_of_the_repository_cites_a_source_of_it() {
    let frame = make::frame(ANALYZE).set("/knownFacts/1/sourceRef", at("msg-1"));
    assert_eq!(framing(ANALYZE).refused(&frame), (Code::ProvenanceMismatch, "C-PF-4"));
}

#[test]
fn c_pf_5_an_observed_fact_cites_evidence_of_its_kind() {
    let run =
        framing(ANALYZE).evidence("ev-log", "log").evidence("ev-test", "test").evidence("ev-page", "browser");
    let fact = |provenance: &str, source: &str| {
        make::frame(ANALYZE)
            .set("/knownFacts/1/provenance", provenance)
            .set("/knownFacts/1/sourceRef", at(source))
    };
    for (provenance, fits) in [("runtime", "ev-log"), ("tool", "ev-test"), ("browser", "ev-page")] {
        for source in ["ev-log", "ev-test", "ev-page"] {
            let frame = fact(provenance, source);
            if source == fits {
                let _ = run.clone().accept(&frame);
            } else {
                assert_eq!(
                    run.refused(&frame),
                    (Code::ProvenanceMismatch, "C-PF-5"),
                    "{provenance} {source}"
                );
            }
        }
    }
}

#[test]
fn c_pf_6_a_required_question_is_asked_before_framing() {
    let asked = json!({ "required": true, "reason": "Two readings.", "requestRef": at("clar-1") });
    let frame = make::frame(ANALYZE).set("/clarification", asked);
    assert_eq!(framing(ANALYZE).refused(&frame), (Code::ClarificationRequired, "C-PF-6"));
}

#[test]
fn w_18_a_rule_listed_twice_is_refused_since_no_contract_could_match_it() {
    let frame = make::frame(ANALYZE).set("/applicableRuleRefs", json!([RULES, RULES]));
    assert_eq!(framing(ANALYZE).refused(&frame), (Code::DuplicateEntry, "W-18"));
}
