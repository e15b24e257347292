//! Legal bodies for the runs of [`super::fixtures`], one function per type.

#![expect(clippy::needless_pass_by_value, reason = "JSON values are built where they are passed")]

use super::fixtures::{Draft, RULES, RUN, SOURCE, at, executes};
use crate::protocol::{IntentMode, Kind, PermissionSet, Wire};
use serde_json::{Value, json};

const FIX: IntentMode = IntentMode::FixOnly;
const BOTH: IntentMode = IntentMode::AnalyzeAndFix;

/// A permission set with some lists and flags set by pointer.
pub(super) fn permissions(set: &[(&str, Value)]) -> Value {
    let mut value = PermissionSet::empty().encode();
    for (pointer, entry) in set {
        *value.pointer_mut(pointer).unwrap_or_else(|| panic!("no permission {pointer}")) = entry.clone();
    }
    value
}

fn mutates(mode: IntentMode) -> bool {
    matches!(mode, FIX | BOTH)
}

/// What the contract of a mode permits.
fn permitted(mode: IntentMode) -> Value {
    match mode {
        IntentMode::ReportOnly => permissions(&[]),
        IntentMode::PlanOnly => permissions(&[("/repository/read", json!(["**"]))]),
        IntentMode::AnalyzeOnly => {
            permissions(&[("/repository/read", json!(["**"])), ("/shell/inspect", json!(true))])
        }
        FIX | BOTH => permissions(&[
            ("/repository/read", json!(["**"])),
            ("/repository/write", json!(["src/**"])),
            ("/shell/inspect", json!(true)),
        ]),
    }
}

fn criteria(mode: IntentMode) -> Value {
    let criterion = |id: &str, stage: &str| json!({ "id": id, "stage": stage, "requirement": "It is shown.", "evidenceRequired": ["excerpt"] });
    if mode == BOTH {
        json!([criterion("C-CAUSE", "diagnosis"), criterion("C-DONE", "completion")])
    } else {
        json!([criterion("C-DONE", "completion")])
    }
}

pub(super) fn requirement(id: &str, stage: &str, capability: &str) -> Value {
    json!({
        "id": id, "stage": stage, "description": "Look at it.", "required": true, "capability": capability,
        "fallback": null
    })
}

fn requirements(mode: IntentMode) -> Value {
    let done = requirement("V-DONE", "completion", "repository.read");
    match mode {
        IntentMode::ReportOnly => json!([]),
        BOTH => json!([requirement("V-CAUSE", "diagnosis", "repository.read"), done]),
        _ => json!([done]),
    }
}

pub(super) fn frame(mode: IntentMode) -> Draft {
    let sources = mode != IntentMode::ReportOnly;
    let mut facts = vec![json!({
        "id": "F-1", "claim": "The reminder arrives twice.", "provenance": "user", "sourceRef": at("msg-1")
    })];
    if sources {
        facts.push(json!({
            "id": "F-2", "claim": "The queue retries.", "provenance": "repository", "sourceRef": SOURCE
        }));
    }
    let inference = if sources { "repo://src/retry.rs".to_owned() } else { at("msg-1") };
    let rules: &[&str] = if sources { &[RULES] } else { &[] };
    let value = json!({
        "schemaVersion": "1.0", "id": "frame-1", "runId": RUN, "originalRequestRef": at("msg-1"),
        "intentMode": mode.as_str(), "goal": "One reminder per event.", "knownFacts": facts,
        "inferences": [{
            "id": "I-1", "claim": "The retry repeats the send.", "sourceRefs": [inference], "confidence": 0.6
        }],
        "unknowns": [], "scope": { "include": ["src/**"], "exclude": ["docs/**"] },
        "constraints": ["Order is kept.", "No mail is lost."], "nonGoals": ["New templates."],
        "applicableRuleRefs": rules, "draftAcceptanceCriteria": criteria(mode),
        "clarification": { "required": false, "reason": null }, "rationaleSummary": "From the request."
    });
    Draft::new(Kind::ProblemFrame, value)
}

pub(super) fn contract(mode: IntentMode) -> Draft {
    let sources = mode != IntentMode::ReportOnly;
    let context = if sources { json!([SOURCE, "repo://src/retry.rs"]) } else { json!([at("msg-1")]) };
    let rules: &[&str] = if sources { &[RULES] } else { &[] };
    let value = json!({
        "schemaVersion": "1.0", "id": "contract-1", "runId": RUN, "version": 1, "originalRequestRef": at("msg-1"),
        "problemFrameRef": at("frame-1"), "intentMode": mode.as_str(), "objective": "Find the second send.",
        "scope": { "include": ["src/**"], "exclude": ["docs/**"] },
        "constraints": ["Order is kept.", "No mail is lost."], "nonGoals": ["New templates."],
        "contextRefs": context, "ruleRefs": rules, "permissions": permitted(mode),
        "acceptanceCriteria": criteria(mode), "requiredOutputs": ["A finding."],
        "verificationRequirements": requirements(mode), "stopConditions": ["Stop when it is shown."],
        "assumptions": [], "unresolvedQuestions": [], "rationaleSummary": "Bounded."
    });
    Draft::new(Kind::TaskContract, value)
}

/// The second version of a contract, with the one correction that [`revise`] asks for.
pub(super) fn revised(mode: IntentMode) -> Draft {
    let draft =
        contract(mode).id("contract-2").set("/version", 2).set("/objective", "Find the send in the retry.");
    draft.citing(&["contract-1", "review-1"])
}

pub(super) fn review() -> Draft {
    let value = json!({
        "schemaVersion": "1.0", "id": "review-1", "runId": RUN, "targetRef": at("contract-1"),
        "rubricId": "contract-readiness-v1", "revisionNumber": 0,
        "coverage": [
            { "sourceRef": at("msg-1"), "contractFields": ["objective", "intentMode"], "status": "covered" },
            {
                "sourceRef": at("frame-1"), "status": "covered",
                "contractFields": ["scope", "constraints", "nonGoals", "acceptanceCriteria", "ruleRefs"]
            },
            {
                "sourceRef": at("contract-1"), "status": "covered",
                "contractFields": [
                    "permissions", "contextRefs", "requiredOutputs", "verificationRequirements", "stopConditions",
                    "assumptions", "unresolvedQuestions"
                ]
            }
        ],
        "dimensionScores": {
            "intentFidelity": 90, "repositoryGrounding": 90, "constraintsAndPermissions": 90,
            "testableAcceptance": 90, "executionFeasibility": 90, "contextEfficiency": 90
        },
        "overallScore": 90,
        "hardGates": [{
            "id": "G-1", "passed": true, "description": "Within bounds.", "evidenceRefs": [at("contract-1")],
            "rationaleSummary": "Compared."
        }],
        "findings": [], "decision": "pass", "rationaleSummary": "Ready."
    });
    Draft::new(Kind::PromptReview, value)
}

pub(super) fn finding(id: &str, severity: &str, kept: &[&str], corrected: &[&str]) -> Value {
    json!({
        "id": id, "severity": severity, "claim": "It is vague.", "sourceRefs": [at("contract-1")],
        "rubricDimension": null, "requiredCorrection": "Say where.", "preserveFields": kept,
        "correctionFields": corrected, "rationaleSummary": "One sentence."
    })
}

pub(super) fn revise() -> Draft {
    let findings = json!([finding("P-1", "blocking", &["permissions", "scope"], &["objective"])]);
    review().set("/decision", "revise").set("/findings", findings)
}

pub(super) fn block() -> Draft {
    review().set("/decision", "block").set("/hardGates/0/passed", false)
}

pub(super) fn node(
    id: &str,
    tools: &[&str],
    required: &[&str],
    permissions: Value,
    criteria: &[&str],
) -> Value {
    json!({
        "id": id, "logicalRole": "worker", "objective": "Work.", "dependsOn": [], "inputRefs": [at("contract-1")],
        "contextRefs": [], "allowedTools": tools, "requiredCapabilities": required, "permissions": permissions,
        "outputType": "WorkResult", "acceptanceCriteria": criteria, "stopConditions": [],
        "budgets": { "maximumToolCalls": 4, "maximumChildren": 0 }
    })
}

fn edit_node(criterion: &str) -> Value {
    let set = [
        ("/repository/read", json!(["src/**"])),
        ("/repository/write", json!(["src/**"])),
        ("/shell/inspect", json!(true)),
    ];
    let tools = ["repository.read", "repository.write", "shell.inspect"];
    node("edit", &tools, &["repository.write", "repository.read"], permissions(&set), &[criterion])
}

pub(super) fn look_node(id: &str, criteria: &[&str]) -> Value {
    let set = [("/repository/read", json!(["src/**"])), ("/shell/inspect", json!(true))];
    node(id, &["repository.read", "shell.inspect"], &["repository.read"], permissions(&set), criteria)
}

pub(super) fn plan(mode: IntentMode) -> Draft {
    let node = match mode {
        IntentMode::ReportOnly => node("tell", &[], &[], permissions(&[]), &["C-DONE"]),
        IntentMode::PlanOnly => {
            let read = permissions(&[("/repository/read", json!(["src/**"]))]);
            node("read", &["repository.read"], &["repository.read"], read, &["C-DONE"])
        }
        IntentMode::AnalyzeOnly => look_node("look", &["C-DONE"]),
        FIX => edit_node("C-DONE"),
        BOTH => look_node("look", &["C-CAUSE"]),
    };
    plan_of("plan-1", vec![node])
}

pub(super) fn plan_of(id: &str, nodes: Vec<Value>) -> Draft {
    let value = json!({
        "schemaVersion": "1.0", "id": id, "runId": RUN, "taskContractRef": at("contract-1"),
        "executionMode": "serial", "nodes": nodes, "joinRules": [],
        "globalBudgets": { "maximumToolCalls": 8, "maximumParallelWorkers": 1, "maximumSubagentDepth": 0 },
        "planValidation": "valid", "rationaleSummary": "Short."
    });
    Draft::new(Kind::WorkPlan, value)
}

/// The plan of the correction that [`quality`] orders.
pub(super) fn correction_plan() -> Draft {
    plan_of("plan-2", vec![edit_node("C-DONE")]).set("/nodes/0/inputRefs", json!([at("quality-1")]))
}

pub(super) fn action(id: &str, capability: &str, target: &str, mutating: bool, evidence: &str) -> Value {
    json!({
        "id": id, "capability": capability, "target": target, "mutating": mutating, "status": "completed",
        "evidenceRefs": [at(evidence)], "rationaleSummary": "Done."
    })
}

fn covers(criterion: &str, evidence: &[&str]) -> Value {
    let evidence: Vec<String> = evidence.iter().map(|id| at(id)).collect();
    json!({ "criterionId": criterion, "status": "pass", "evidenceRefs": evidence, "rationaleSummary": "Shown." })
}

pub(super) fn change(path: &str) -> Value {
    json!({
        "path": path, "changeType": "modified", "beforeHash": format!("sha256:{}", "1".repeat(64)),
        "afterHash": format!("sha256:{}", "2".repeat(64)), "diffRef": at("ev-diff")
    })
}

fn result_of(id: &str, plan: &str, node: &str, actions: Value, coverage: Value, evidence: &[&str]) -> Draft {
    let evidence: Vec<String> = evidence.iter().map(|id| at(id)).collect();
    let value = json!({
        "schemaVersion": "1.0", "id": id, "runId": RUN, "workPlanRef": at(plan), "nodeId": node,
        "status": "completed", "observations": [], "inferences": [], "actions": actions, "filesChanged": [],
        "toolEventRefs": [], "evidenceRefs": evidence, "testResults": [], "acceptanceCoverage": [coverage],
        "unresolvedIssues": [], "deviations": [], "rationaleSummary": "Worked."
    });
    Draft::new(Kind::WorkResult, value)
}

pub(super) fn look_result(id: &str, plan: &str, node: &str, criterion: &str) -> Draft {
    let look = action("A-1", "repository.read", "src/queue.rs", false, "ev-look");
    result_of(id, plan, node, json!([look]), covers(criterion, &["ev-look"]), &["ev-look"])
}

fn edit_result(id: &str, plan: &str, after: &str) -> Draft {
    let actions = json!([
        action("A-1", "repository.write", "src/queue.rs", true, "ev-diff"),
        action("A-2", "repository.read", "src/queue.rs", false, after)
    ]);
    result_of(id, plan, "edit", actions, covers("C-DONE", &["ev-diff", after]), &["ev-diff", after])
        .set("/filesChanged", json!([change("src/queue.rs")]))
}

pub(super) fn result(mode: IntentMode) -> Draft {
    match mode {
        FIX => edit_result("result-1", "plan-1", "ev-look"),
        BOTH => look_result("result-1", "plan-1", "look", "C-CAUSE"),
        _ => look_result("result-1", "plan-1", "look", "C-DONE"),
    }
}

pub(super) fn correction_result() -> Draft {
    edit_result("result-2", "plan-2", "ev-after")
}

/// A result that stops early, with nothing done.
pub(super) fn stopped(result: Draft) -> Draft {
    let empty = ["/actions", "/filesChanged", "/evidenceRefs", "/acceptanceCoverage"];
    empty.into_iter().fold(result.set("/status", "partial"), |draft, place| draft.set(place, json!([])))
}

pub(super) fn verifies(requirement: &str, evidence: &str) -> Value {
    json!({
        "requirementId": requirement, "capability": "repository.read", "status": "pass",
        "evidenceRefs": [at(evidence)], "rationaleSummary": "Seen."
    })
}

fn judges(id: &str, subject: Value, evidence: &str) -> Value {
    json!({
        "id": id, "subjectRef": subject, "description": "It was kept.", "status": "pass",
        "evidenceRefs": [at(evidence)], "rationaleSummary": "Seen."
    })
}

fn quality_of(
    id: &str,
    plan: &str,
    results: &[&str],
    acceptance: Value,
    proofs: Value,
    evidence: &str,
) -> Draft {
    let results: Vec<String> = results.iter().map(|id| at(id)).collect();
    let value = json!({
        "schemaVersion": "1.0", "id": id, "runId": RUN, "taskContractRef": at("contract-1"),
        "workPlanRefs": [at(plan)], "workResultRefs": results, "rubricId": "execution-quality-v1",
        "acceptanceResults": acceptance, "ruleCompliance": [judges("R-1", json!(RULES), evidence)],
        "regressionChecks": [], "verificationResults": proofs, "findings": [],
        "hardGates": [{
            "id": "G-1", "passed": true, "description": "Shown.", "evidenceRefs": [at(evidence)],
            "rationaleSummary": "Seen."
        }],
        "score": 91, "remainingRemediations": 1, "decision": "pass", "diagnosisGate": null,
        "remediationWorkOrder": null, "rationaleSummary": "Good."
    });
    Draft::new(Kind::QualityReview, value)
}

pub(super) fn quality(mode: IntentMode) -> Draft {
    let proofs = |evidence| json!([verifies("V-DONE", evidence)]);
    let done = |evidence: &[&str]| json!([covers("C-DONE", evidence)]);
    match mode {
        IntentMode::ReportOnly => {
            quality_of("quality-1", "plan-1", &[], done(&["plan-1"]), json!([]), "plan-1")
                .set("/ruleCompliance", json!([]))
        }
        IntentMode::PlanOnly => {
            quality_of("quality-1", "plan-1", &[], done(&["plan-1"]), proofs("plan-1"), "plan-1")
        }
        IntentMode::AnalyzeOnly => {
            quality_of("quality-1", "plan-1", &["result-1"], done(&["ev-look"]), proofs("ev-look"), "ev-look")
        }
        FIX => {
            let done = done(&["ev-diff", "ev-look"]);
            quality_of("quality-1", "plan-1", &["result-1"], done, proofs("ev-look"), "ev-look")
        }
        BOTH => {
            let cause = json!([covers("C-CAUSE", &["ev-look"])]);
            let proofs = json!([verifies("V-CAUSE", "ev-look")]);
            quality_of("quality-1", "plan-1", &["result-1"], cause, proofs, "ev-look")
                .set("/decision", "proceed_to_fix")
                .set("/diagnosisGate", gate())
        }
    }
}

fn gate() -> Value {
    json!({
        "id": "D-1", "status": "supported", "rootCause": "The retry sends again.",
        "directEvidenceRefs": [at("ev-look")],
        "correctionWorkOrder": {
            "id": "O-1", "targetCriterionIds": ["C-DONE"], "objective": "Send once.",
            "allowedCapabilities": ["repository.read", "repository.write", "shell.inspect"],
            "permissions": permissions(&[
                ("/repository/read", json!(["src/**"])),
                ("/repository/write", json!(["src/**"])),
                ("/shell/inspect", json!(true))
            ]),
            "sourceRefs": [at("ev-look")], "maximumToolCalls": 8, "rationaleSummary": "One file."
        },
        "withinApprovedScope": true, "permissionsSufficient": true, "rationaleSummary": "Direct."
    })
}

pub(super) fn correction_quality() -> Draft {
    let acceptance = json!([covers("C-CAUSE", &["ev-look"]), covers("C-DONE", &["ev-diff", "ev-after"])]);
    let proofs = json!([verifies("V-CAUSE", "ev-look"), verifies("V-DONE", "ev-after")]);
    quality_of("quality-2", "plan-2", &["result-2"], acceptance, proofs, "ev-after")
}

/// A work order for what failed; as a defect with [`defect`].
fn order(criterion: &str, source: &str) -> Value {
    json!({
        "id": "O-2", "failedCriterionIds": [criterion], "objective": "Look again.",
        "allowedCapabilities": ["repository.read", "shell.inspect"],
        "permissions": permissions(&[("/repository/read", json!(["src/**"])), ("/shell/inspect", json!(true))]),
        "sourceRefs": [at(source)], "maximumToolCalls": 8, "rationaleSummary": "Once more."
    })
}

/// A review of a mode that sends the work back.
pub(super) fn remediate(mode: IntentMode) -> Draft {
    let criterion = if mode == BOTH { "C-CAUSE" } else { "C-DONE" };
    let source = if executes(mode) { "result-1" } else { "plan-1" };
    let mut order = order(criterion, source);
    if !executes(mode) {
        order["allowedCapabilities"] = json!(["repository.read"]);
        order["permissions"] = permissions(&[("/repository/read", json!(["src/**"]))]);
    }
    quality(mode)
        .set("/decision", "remediate")
        .set("/score", 50)
        .set("/acceptanceResults/0/status", "fail")
        .set("/diagnosisGate", Value::Null)
        .set("/remediationWorkOrder", order)
}

/// The plan that follows [`remediate`] in an analysis.
pub(super) fn remediation_plan(criterion: &str) -> Draft {
    plan_of("plan-2", vec![look_node("again", &[criterion])])
        .set("/nodes/0/inputRefs", json!([at("quality-1")]))
}

fn claim(id: &str, criterion: &str, evidence: &[&str]) -> Value {
    let evidence: Vec<String> = evidence.iter().map(|id| at(id)).collect();
    json!({
        "claimId": id, "claim": "The retry sent again.", "criterionIds": [criterion], "basis": "direct",
        "status": "supported", "evidenceRefs": evidence, "rationaleSummary": "Shown."
    })
}

pub(super) fn audit(mode: IntentMode) -> Draft {
    let evidence = if executes(mode) { "ev-look" } else { "plan-1" };
    let (plans, results, review): (&[&str], &[&str], &str) = match mode {
        BOTH => (&["plan-1", "plan-2"], &["result-1", "result-2"], "quality-2"),
        IntentMode::ReportOnly | IntentMode::PlanOnly => (&["plan-1"], &[], "quality-1"),
        _ => (&["plan-1"], &["result-1"], "quality-1"),
    };
    let matrix = match mode {
        BOTH => {
            json!([claim("K-1", "C-CAUSE", &["ev-look"]), claim("K-2", "C-DONE", &["ev-diff", "ev-after"])])
        }
        _ => json!([claim("K-1", "C-DONE", &[evidence])]),
    };
    let refs = |ids: &[&str]| ids.iter().map(|id| at(id)).collect::<Vec<_>>();
    let value = json!({
        "schemaVersion": "1.0", "id": "audit-1", "runId": RUN, "originalRequestRef": at("msg-1"),
        "taskContractRef": at("contract-1"), "workPlanRefs": refs(plans), "workResultRefs": refs(results),
        "qualityReviewRef": at(review), "userFidelity": [judges("U-1", json!(at("msg-1")), evidence)],
        "modeCompliance": "pass", "claimEvidenceMatrix": matrix, "unresolvedRisks": [], "findings": [],
        "remainingRemediations": 1, "decision": "release", "remediationDefect": null,
        "userReportRef": at("report-1"), "rationaleSummary": "Supported."
    });
    Draft::new(Kind::ReleaseAudit, value)
}

/// An audit that ends a run short of release.
pub(super) fn short_audit(mode: IntentMode, decision: &str) -> Draft {
    audit(mode).set("/decision", decision).set("/unresolvedRisks", json!(["Not all was seen."]))
}

/// An audit that sends the work back.
pub(super) fn defect(mode: IntentMode, criterion: &str, source: &str) -> Draft {
    let mut order = order(criterion, source);
    let fields = order.as_object_mut().expect("an object");
    let objective = fields.remove("objective").expect("an objective");
    fields.insert("description".into(), objective);
    fields.insert("returnToRole".into(), json!("quality_controller"));
    audit(mode)
        .set("/decision", "remediate")
        .set("/userReportRef", Value::Null)
        .set("/remediationDefect", order)
}

pub(super) fn report(mode: IntentMode) -> Draft {
    let told = |id: &str, evidence: &[&str]| {
        let evidence: Vec<String> = evidence.iter().map(|id| at(id)).collect();
        json!({
            "id": id, "text": "The retry sent again.", "status": "observed", "evidenceRefs": evidence,
            "confidence": 0.9
        })
    };
    let evidence = if executes(mode) { "ev-look" } else { "plan-1" };
    let (claims, proofs): (Value, Vec<String>) = match mode {
        BOTH => (
            json!([told("K-1", &["ev-look"]), told("K-2", &["ev-diff", "ev-after"])]),
            vec![at("ev-look"), at("ev-after")],
        ),
        IntentMode::ReportOnly => (json!([told("K-1", &[evidence])]), vec![]),
        _ => (json!([told("K-1", &[evidence])]), vec![at(evidence)]),
    };
    let changes: Vec<String> = if mutates(mode) { vec![at("ev-diff")] } else { vec![] };
    let value = json!({
        "schemaVersion": "1.0", "id": "report-1", "runId": RUN, "terminalStatus": "completed",
        "summary": "The retry sent again.", "completionClaims": claims, "findingRefs": [], "changeRefs": changes,
        "verificationRefs": proofs, "unresolvedRisks": [], "permissionsHonored": true, "nextActions": [],
        "traceRef": format!("trace://{RUN}"), "rationaleSummary": "As audited."
    });
    Draft::new(Kind::UserReport, value)
}

/// A report that ends a run short of completion.
pub(super) fn short_report(mode: IntentMode, status: &str, finding: &str) -> Draft {
    report(mode)
        .set("/terminalStatus", status)
        .set("/completionClaims", json!([]))
        .set("/verificationRefs", json!([]))
        .set("/findingRefs", json!([at(finding)]))
}
