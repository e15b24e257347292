//! What a whole run costs a host that shows results to a model (`hosts.md`, size of results).

#![expect(clippy::unwrap_used, reason = "a test ends where its setting cannot be made")]

mod mcp_support;

use mcp_support::{Server, Site, tokens};
use serde_json::{Value, json};

/// The recorded submissions of a smallest run, for the run with this id.
fn submissions(run_id: &str) -> (String, Vec<Value>) {
    let text = include_str!("data/report_only.json");
    let word = run_id.strip_prefix("run_").unwrap();
    let script: Value = serde_json::from_str(&text.replace("WORD", word)).unwrap();
    (script["request"].as_str().unwrap().to_owned(), script["submissions"].as_array().unwrap().clone())
}

#[test]
fn a_whole_smallest_run_costs_at_most_forty_thousand_characters() {
    let site = Site::new();
    let mut server = Server::start(&site);
    let (request, _) = submissions("run_none");
    let mut latest = server.call(
        "telic_start_run",
        &json!({ "original_request": request, "mode": "report_only", "host_capabilities": [] }),
    );
    assert_eq!(latest["ok"], true, "{latest}");
    let run_id = latest["run"]["runId"].as_str().unwrap().to_owned();
    latest = server.call("telic_ground_context", &tokens(&latest));
    for submission in submissions(&run_id).1 {
        let schema = &latest["nextAction"]["requiredOutputSchema"];
        assert!(
            schema["properties"]["rationaleSummary"].is_object(),
            "the required schema is whole: {schema}"
        );
        let mut arguments = tokens(&latest);
        arguments["artifact_type"] = submission["type"].clone();
        arguments["body"] = submission["body"].clone();
        latest = server.call("telic_submit_artifact", &arguments);
        assert_eq!(latest["ok"], true, "{latest}");
        let first: Vec<&str> = latest.as_object().unwrap().keys().take(2).map(String::as_str).collect();
        assert_eq!(first, ["ok", "tokens"], "what a cut result must keep comes first");
    }
    assert_eq!(latest["run"]["status"], "completed");
    assert_eq!(server.sizes.len(), 9);
    let (largest, all) = (server.sizes.iter().max().unwrap(), server.sizes.iter().sum::<usize>());
    assert!(*largest < 10_000, "{:?}", server.sizes);
    assert!(all <= 40_000, "{:?}", server.sizes);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn the_whole_schema_of_every_type_that_is_named_in_short_is_an_artifact() {
    let site = Site::new();
    let mut server = Server::start(&site);
    let started = server.call("telic_start_run", &json!({ "original_request": "x", "mode": "report_only" }));
    let short = &started["nextAction"]["additionalOutputSchemas"]["ClarificationRequest"];
    assert!(short["description"].as_str().unwrap().contains("schema:ClarificationRequest"), "{short}");
    let run_id = &started["run"]["runId"];
    let arguments = json!({ "run_id": run_id, "artifact_id": "schema:ClarificationRequest" });
    let schema = &server.call("telic_get_artifact", &arguments)["artifact"]["body"];
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(schema["properties"]["responseChoices"].is_object(), "{schema}");
    let missing =
        server.call("telic_get_artifact", &json!({ "run_id": run_id, "artifact_id": "schema:None" }));
    assert_eq!(missing["code"], "artifact_not_found");
}
