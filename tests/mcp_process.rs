//! The server as a host meets it: a process with three streams (`mcp.md` 1, 2, 14; `traps.md`, MCP).

mod mcp_support;

use mcp_support::{Server, Site};
use serde_json::{Value, json};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error in {answer}"))
}

#[test]
fn garbage_is_answered_line_by_line_and_the_server_goes_on() {
    let site = Site::new();
    let mut server = Server::start(&site);
    server.send_bytes(b"not json\n");
    assert_eq!(code(&server.receive()), -32700);
    server.send_bytes(b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n");
    assert_eq!(code(&server.receive()), -32600);
    server.send_bytes(b"\n   \r\n\xff\xfe\n");
    let answer = server.receive();
    assert_eq!((code(&answer), &answer["id"]), (-32700, &Value::Null));
    server.send_bytes(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nonsense\"}\n");
    server.send_bytes(b"\xef\xbb\xbf  {\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}  \r\n");
    let answer = server.receive();
    assert_eq!((&answer["id"], &answer["result"]), (&json!("\u{fffd}"), &json!({})));
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_line_of_seventeen_mebibytes_is_refused_and_the_next_one_answered() {
    let site = Site::new();
    let mut server = Server::start(&site);
    let mut line = vec![b'a'; 17 << 20];
    line.push(b'\n');
    server.send_bytes(&line);
    assert_eq!(code(&server.receive()), -32700);
    server.send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert_eq!(server.receive()["id"], 2);
    let deep = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"ping","params":{}}}"#, "[".repeat(1 << 20));
    server.send(&deep);
    assert_eq!(code(&server.receive()), -32700);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_request_of_many_buffers_arrives_whole_while_others_are_answered() {
    let site = Site::new();
    let mut server = Server::start(&site);
    for round in 0..8 {
        // A call before it makes the service look away from its input while the long one is read.
        server.send(&format!(r#"{{"jsonrpc":"2.0","id":"p{round}","method":"ping"}}"#));
        let request = "é".repeat(16_000);
        let arguments = json!({ "original_request": request, "mode": "report_only" });
        let answer = server.call("telic_start_run", &arguments);
        assert_eq!(answer["ok"], true, "{answer}");
    }
    assert_eq!(server.end(), Some(0));
}

#[test]
fn requests_before_initialize_are_answered_and_what_is_not_there_is_refused() {
    let site = Site::new();
    let mut server = Server::start(&site);
    server.send(r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"x":1}}"#);
    assert_eq!(code(&server.receive()), -32601);
    server.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert_eq!(server.receive()["result"]["tools"].as_array().map(Vec::len), Some(9));
    assert_eq!(server.call("telic_list_runs", &Value::Null)["runs"], json!([]), "arguments may be missing");
    server.send(INITIALIZE);
    let answer = server.receive();
    let result = &answer["result"];
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert_eq!(result["serverInfo"]["name"], "telic");
    assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(result["instructions"].as_str().is_some_and(|words| words.contains("telic_submit_artifact")));
    server.send(&INITIALIZE.replace("2025-06-18", "1999-01-01"));
    assert_eq!(server.receive()["result"]["protocolVersion"], "2025-11-25");
    server.send(r#"{"jsonrpc":"2.0","id":5,"method":"resources/list"}"#);
    assert_eq!(code(&server.receive()), -32601);
    server.send(r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"telic_list_runs","arguments":null}}"#);
    assert_eq!(code(&server.receive()), -32603);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn arguments_that_do_not_fit_are_results_with_a_code_and_issues() {
    let site = Site::new();
    let mut server = Server::start(&site);
    let answer = server.call("telic_start_run", &json!({ "original_request": 5, "budget": null }));
    assert_eq!((&answer["ok"], &answer["code"]), (&json!(false), &json!("invalid_arguments")));
    let issues = answer["issues"].as_array().unwrap();
    let found: Vec<_> =
        issues.iter().map(|issue| (issue["path"].as_str().unwrap(), &issue["code"])).collect();
    assert_eq!(found, [("original_request", &json!("invalid_type")), ("mode", &json!("invalid_value"))]);
    assert!(answer["error"].as_str().unwrap().starts_with("telic_start_run: original_request"));
    let answer = server.call("telic_no_such_tool", &json!({}));
    assert_eq!((&answer["ok"], &answer["code"]), (&json!(false), &json!("unknown_tool")));
    let answer = server.call("telic_get_run", &json!({ "run_id": "run_none" }));
    assert_eq!(answer["code"], "run_not_found");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn unknown_arguments_and_dropped_grants_are_named_in_warnings() {
    let site = Site::new();
    let mut server = Server::start(&site);
    let answer = server.call(
        "telic_start_run",
        &json!({ "original_request": "x", "mode": "analyze_only", "authorisation_granted": [],
            "authorization_granted": ["repository.read", "network.read"] }),
    );
    assert_eq!(answer["ok"], true, "{answer}");
    let warnings = answer["warnings"].to_string();
    assert!(warnings.contains("authorisation_granted") && warnings.contains("network.read"), "{warnings}");
    let (code, errors) = server.end_with_errors();
    assert_eq!(code, Some(0));
    assert!(errors.contains("authorisation_granted"), "{errors}");
}

#[test]
fn a_request_that_could_never_be_grounded_starts_no_run() {
    let site = Site::new();
    let mut server = Server::start(&site);
    let answer = server
        .call("telic_start_run", &json!({ "original_request": "é".repeat(20_000), "mode": "report_only" }));
    assert_eq!((&answer["ok"], &answer["code"]), (&json!(false), &json!("request_too_long")));
    assert_eq!(server.call("telic_list_runs", &json!({}))["runs"], json!([]));
}

#[test]
fn the_last_line_needs_no_end_and_is_answered_before_the_store_is_closed() {
    let site = Site::new();
    let mut server = Server::start(&site);
    let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "telic_start_run",
        "arguments": { "original_request": "x", "mode": "report_only" } } });
    server.send_bytes(call.to_string().as_bytes());
    server.close_input();
    assert_eq!(server.receive()["result"]["structuredContent"]["ok"], true);
    assert_eq!(server.wait(), Some(0));
    let left: Vec<String> = site.state_files().into_iter().filter(|name| name.ends_with("-wal")).collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn every_ending_signal_closes_the_store_and_ends_well() {
    use nix::sys::signal::Signal::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let site = Site::new();
        let mut server = Server::start(&site);
        assert_eq!(server.call("telic_list_runs", &json!({}))["ok"], true);
        server.signal(signal);
        assert_eq!(server.wait(), Some(0), "{signal}");
        assert!(!site.state_files().iter().any(|name| name.ends_with("-wal")), "{signal}");
    }
}

#[test]
fn a_start_that_fails_says_one_line_and_writes_nothing_else() {
    let site = Site::new();
    for (root, state) in [
        (site.root().join("missing"), site.state()),
        (site.root().join("file.txt"), site.state()),
        (site.root(), site.root().join("inside")),
    ] {
        let output = mcp_support::command(&root, &state).stdin(std::process::Stdio::null()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_file_that_is_no_ledger_ends_the_server_with_one_line() {
    let site = Site::new();
    assert_eq!(Server::start(&site).end(), Some(0));
    let ledger = site.state_files().into_iter().find(|name| name.ends_with(".sqlite3")).unwrap();
    std::fs::write(site.state().join(ledger), "no database, but long enough to be read as one".repeat(100))
        .unwrap();
    let mut server = Server::start(&site);
    let (code, errors) = server.end_with_errors();
    assert_eq!(code, Some(1), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn runs_of_another_repository_are_read_but_neither_listed_nor_changed() {
    let (site, other) = (Site::new(), Site::new());
    let mut theirs = Server::start_in(&other.root(), &site.state());
    let run = theirs.call("telic_start_run", &json!({ "original_request": "x", "mode": "report_only" }));
    assert_eq!(theirs.end(), Some(0));
    let mut server = Server::start(&site);
    let listed = server.call("telic_list_runs", &json!({}));
    assert_eq!(listed["runs"], json!([]));
    assert!(listed["warnings"].to_string().contains("other repositories"), "{listed}");
    let refused = server.call("telic_cancel_run", &run["tokens"].clone());
    assert_eq!((&refused["ok"], &refused["code"]), (&json!(false), &json!("foreign_repository")));
    let read = server.call("telic_get_run", &json!({ "run_id": run["run"]["runId"] }));
    assert_eq!(read["run"]["status"], "running");
}

#[test]
fn grounding_tells_its_progress_to_a_host_that_asks_for_it() {
    let site = Site::new();
    let mut server = Server::start(&site);
    let run = server.call("telic_start_run", &json!({ "original_request": "x", "mode": "analyze_only" }));
    let arguments = mcp_support::tokens(&run);
    let call = json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {
        "name": "telic_ground_context", "arguments": arguments, "_meta": { "progressToken": "p" } } });
    server.send(&call.to_string());
    let mut progress = 0;
    let answer = loop {
        let message = server.receive();
        if message["method"] != "notifications/progress" {
            break message;
        }
        assert_eq!(message["params"]["progressToken"], "p");
        progress += 1;
    };
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["ok"]), (&json!(77), &json!(true)));
    assert!(progress > 0);
}

#[test]
fn a_closed_output_ends_the_process() {
    let site = Site::new();
    let mut server = Server::start(&site);
    server.close_output();
    server.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_grounding_of_many_files_stays_short_and_the_whole_manifest_is_an_artifact() {
    let site = Site::new();
    for n in 0..60 {
        std::fs::write(site.root().join(format!("login_page_{n}.txt")), format!("page {n}\n")).unwrap();
    }
    let mut server = Server::start(&site);
    let request = json!({ "original_request": "why is the login page empty", "mode": "analyze_only" });
    let run = server.call("telic_start_run", &request);
    let grounded = server.call("telic_ground_context", &mcp_support::tokens(&run));
    assert!(grounded.to_string().len() < 10_000, "{}", grounded.to_string().len());
    let manifest = &grounded["manifest"];
    let whole = json!({ "run_id": run["run"]["runId"], "artifact_id": manifest["id"] });
    let whole = &server.call("telic_get_artifact", &whole)["artifact"]["body"];
    let (shown, all) = (manifest["candidates"].as_array().unwrap(), whole["candidates"].as_array().unwrap());
    assert!(shown.len() < all.len() && shown[0]["ref"] == all[0]["ref"], "{manifest}");
    assert!(manifest["shortened"].as_str().unwrap().contains(&format!("of {} sources", all.len())));
}

#[test]
fn the_next_action_without_schemas_says_where_they_are() {
    let site = Site::new();
    let mut server = Server::start(&site);
    let run = server.call("telic_start_run", &json!({ "original_request": "x", "mode": "report_only" }));
    let grounded = server.call("telic_ground_context", &mcp_support::tokens(&run));
    let arguments = json!({ "run_id": run["run"]["runId"], "include_schemas": false });
    let next = &server.call("telic_get_next_action", &arguments)["nextAction"];
    assert_eq!(next["id"], grounded["nextAction"]["id"]);
    let schema = &next["requiredOutputSchema"];
    assert!(schema["description"].as_str().unwrap().contains("schema:ProblemFrame"), "{schema}");
}

#[test]
fn the_whole_schemas_are_given_to_a_host_that_asks_for_them() {
    let site = Site::new();
    let mut command = mcp_support::command(&site.root(), &site.state());
    command.args(["--schemas", "full"]);
    let mut server = Server::spawn(command);
    let run = server.call("telic_start_run", &json!({ "original_request": "x", "mode": "report_only" }));
    let schema = &run["nextAction"]["requiredOutputSchema"];
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let additional = &run["nextAction"]["additionalOutputSchemas"]["ClarificationRequest"];
    assert_eq!(additional["additionalProperties"], false);
}

#[test]
fn the_prompt_carries_the_request_as_a_string_and_repairs_split_words() {
    let site = Site::new();
    let mut server = Server::start(&site);
    let get = |arguments: Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/get",
            "params": { "name": "telic_workflow", "arguments": arguments } })
        .to_string()
    };
    server.send(&get(json!({ "original_request": "fix \"it\"", "mode": "fix_only", "extra": "x" })));
    let answer = server.receive();
    let text = answer["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains(r#""fix \"it\"""#), "{text}");
    server.send(&get(json!({ "original_request": "\"fix", "mode": "the page\" fix_only" })));
    let answer = server.receive();
    assert!(
        answer["result"]["messages"][0]["content"]["text"].as_str().unwrap().contains(r#""fix the page""#)
    );
    server.send(&get(json!({ "original_request": "fix" })));
    let answer = server.receive();
    assert_eq!(code(&answer), -32602);
    assert!(answer["error"]["message"].as_str().unwrap().contains("analyze_and_fix"));
    server.send(r#"{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"other"}}"#);
    assert_eq!(code(&server.receive()), -32602);
}

#[test]
fn a_repository_on_the_command_line_goes_before_the_environment() {
    let (site, other) = (Site::new(), Site::new());
    let mut command = mcp_support::command(&other.root(), &site.state());
    command.arg("--repo").arg(site.root());
    let mut server = Server::spawn(command);
    let run = server.call("telic_start_run", &json!({ "original_request": "x", "mode": "report_only" }));
    assert_eq!(run["run"]["repositoryRoot"].as_str(), site.root().to_str());
}

#[test]
fn a_second_request_with_an_id_that_waits_is_refused_and_the_server_ends() {
    let (home, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let call = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    for copies in [2, 5] {
        let mut server = std::process::Command::new(env!("CARGO_BIN_EXE_telic"))
            .arg("mcp")
            .current_dir(home.path())
            .env("TELIC_STATE_DIR", state.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let lines = format!("{call}\n").repeat(copies);
        std::io::Write::write_all(&mut server.stdin.take().unwrap(), lines.as_bytes()).unwrap();
        let output = server.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), copies, "each line is answered: {text}");
        assert!(text.lines().all(|line| line.contains(r#""id":"p""#)), "{text}");
    }
}
