//! Rules of a work result: the node, authority, files, completeness (`controller.md` 7.8).
//!
//! Plan and node are checked first (W-1), so no denial is ever recorded for a result that could not be accepted anyway.

use super::{
    Code, Context, Kind, Refusal, demand, latest_words, names_latest, proving, sets, shown, stage_of,
    verification,
};
use crate::controller::authority::{self, decide};
use crate::controller::decisions::{denied, is_attempted, is_checked};
use crate::controller::predicates;
use crate::protocol::{
    ActionCapability, ActionStatus, ChangeType, CheckStatus, FileChange, Stage, TaskContract, TestStatus,
    WorkAction, WorkNode, WorkPlan, WorkResult, WorkStatus,
};

pub(super) fn check(result: &WorkResult, cx: &Context<'_>) -> Result<(), Refusal> {
    let Some(node) = predicates::pending_node(cx.view) else {
        let message =
            "no planned node is ready: the plan is missing, done, or stopped by an unsuccessful node";
        return Err(Refusal::new(Code::NoReadyNode, "C-WR-1", message));
    };
    demand!(
        names_latest(cx, Kind::WorkPlan, &result.work_plan_ref),
        LineageMismatch,
        "C-WR-24",
        "body.workPlanRef",
        "the result is of {}, the latest plan is {}",
        shown(&result.work_plan_ref),
        latest_words(cx, Kind::WorkPlan)
    );
    if result.node_id != node.id {
        let message =
            format!("the result is of node {}, the node that is due is {}", result.node_id, node.id);
        return Err(Refusal::new(Code::NodeMismatch, "C-WR-25", message)
            .at("body.nodeId")
            .with("workNodeId", &*node.id));
    }
    tool_calls(result, node)?;
    stage(result, cx)?;
    for (n, action) in result.actions.iter().enumerate() {
        authorised(action, node, cx).map_err(|refusal| refusal.at(format!("body.actions[{n}]")))?;
    }
    children(result, node)?;
    for (n, change) in result.files_changed.iter().enumerate() {
        file_change(result, change, node, cx)
            .map_err(|refusal| refusal.at(format!("body.filesChanged[{n}]")))?;
    }
    coverage(result, node)?;
    written_files(result)?;
    if result.status == WorkStatus::Completed {
        complete(result, node, super::contract(cx, "C-WR-17")?)?;
    }
    Ok(())
}

/// C-WR-2.
fn tool_calls(result: &WorkResult, node: &WorkNode) -> Result<(), Refusal> {
    let most = node.budgets.maximum_tool_calls.get();
    for (field, count) in [("actions", result.actions.len()), ("toolEventRefs", result.tool_event_refs.len())]
    {
        demand!(
            i64::try_from(count).is_ok_and(|count| count <= most),
            BudgetExceeded,
            "C-WR-2",
            format!("body.{field}"),
            "{field} has {count} entries, node {} may make {most} tool calls; skipped ones count too",
            node.id
        );
    }
    Ok(())
}

/// C-WR-3: an analysis changes nothing.
fn stage(result: &WorkResult, cx: &Context<'_>) -> Result<(), Refusal> {
    if !predicates::non_mutating_stage(cx.view) {
        return Ok(());
    }
    let action = result.actions.iter().enumerate().find(|(_, it)| is_attempted(it.status) && it.mutating);
    let (path, capability, target) = match (action, result.files_changed.first()) {
        (Some((n, action)), _) => (format!("body.actions[{n}]"), action.capability, &*action.target),
        (None, Some(change)) => ("body.filesChanged[0]".to_owned(), changing(change), &*change.path),
        (None, None) => return Ok(()),
    };
    let why = format!("nothing may be changed in this stage of {}", cx.mode);
    let message = format!("{capability} on {:?}: {why}", shown(target));
    Err(Refusal::new(Code::PermissionDenied, "C-WR-3", message)
        .at(path)
        .denying(denied(cx.view, capability, target, &why)))
}

/// The capability that a file change uses.
fn changing(change: &FileChange) -> ActionCapability {
    if change.change_type == ChangeType::Deleted {
        ActionCapability::RepositoryDelete
    } else {
        ActionCapability::RepositoryWrite
    }
}

/// C-WR-4 to C-WR-10, for one action.
fn authorised(action: &WorkAction, node: &WorkNode, cx: &Context<'_>) -> Result<(), Refusal> {
    // C-WR-4: the type of `capability` has no unknown value.
    if !is_checked(action.status) {
        return Ok(());
    }
    let (id, capability, target) = (&action.id, action.capability, &*action.target);
    let honest = action.status == ActionStatus::Denied;
    let deny = |rule: &'static str, why: &str| {
        let message = format!("action {id}: {capability} on {:?}: {why}", shown(target));
        Err(Refusal::new(Code::PermissionDenied, rule, message)
            .denying(denied(cx.view, capability, target, why)))
    };
    if capability == ActionCapability::ShellInspect && !authority::is_typed_inspection(target) {
        return if honest {
            Ok(())
        } else {
            deny("C-WR-5", "the target is no typed inspection such as git.status")
        };
    }
    if !node.allowed_tools.contains(&capability) {
        let why = format!("node {} may not use this capability", node.id);
        return if honest { Ok(()) } else { deny("C-WR-6", &why) };
    }
    let answer = decide(cx, node, capability, target);
    crate::require!(
        !(honest && answer.is_allowed()),
        FalseDenial,
        "C-WR-7",
        "action {id} claims to be denied, but {capability} on {:?} is allowed",
        shown(target)
    );
    if !is_attempted(action.status) {
        return Ok(());
    }
    if !answer.is_allowed() {
        return deny("C-WR-8", &format!("refused by {}", answer.refused_by.join(", ")));
    }
    crate::require!(
        action.mutating || !authority::always_mutating(capability),
        MutatingFlagMismatch,
        "C-WR-9",
        "action {id}: {capability} always changes something, so mutating is true"
    );
    crate::require!(
        !action.mutating || !authority::always_read_only(capability),
        MutatingFlagMismatch,
        "C-WR-10",
        "action {id}: {capability} never changes anything, so mutating is false"
    );
    Ok(())
}

fn completed(action: &WorkAction, capability: ActionCapability) -> bool {
    action.status == ActionStatus::Completed && action.capability == capability
}

/// C-WR-11.
fn children(result: &WorkResult, node: &WorkNode) -> Result<(), Refusal> {
    let most = node.budgets.maximum_children.get().min(node.permissions.subagents.maximum_children.get());
    let spawned = result.actions.iter().filter(|it| completed(it, ActionCapability::SubagentSpawn)).count();
    demand!(
        i64::try_from(spawned).is_ok_and(|spawned| spawned <= most),
        BudgetExceeded,
        "C-WR-11",
        "body.actions",
        "{spawned} children were started, node {} may start {most}",
        node.id
    );
    Ok(())
}

/// C-WR-12, C-WR-13, for one file change.
fn file_change(
    result: &WorkResult,
    change: &FileChange,
    node: &WorkNode,
    cx: &Context<'_>,
) -> Result<(), Refusal> {
    let (capability, path) = (changing(change), &*change.path);
    let answer = decide(cx, node, capability, path);
    if !answer.is_allowed() {
        let why = format!("refused by {}", answer.refused_by.join(", "));
        let message = format!("the change of {:?} needs {capability}: {why}", shown(path));
        return Err(Refusal::new(Code::PermissionDenied, "C-WR-12", message)
            .denying(denied(cx.view, capability, path, &why)));
    }
    let acted =
        result.actions.iter().any(|it| completed(it, capability) && it.mutating && *it.target == *path);
    crate::require!(
        acted,
        FileChangeUnmatched,
        "C-WR-13",
        "no completed {capability} action has exactly the target {:?}",
        shown(path)
    );
    Ok(())
}

/// C-WR-14, C-WR-15.
fn coverage(result: &WorkResult, node: &WorkNode) -> Result<(), Refusal> {
    for (n, entry) in result.acceptance_coverage.iter().enumerate() {
        demand!(
            node.acceptance_criteria.contains(&entry.criterion_id),
            CriterionOutOfScope,
            "C-WR-14",
            format!("body.acceptanceCoverage[{n}].criterionId"),
            "{} is not assigned to node {}",
            entry.criterion_id,
            node.id
        );
    }
    let covered: Vec<&str> = result.acceptance_coverage.iter().map(|entry| &*entry.criterion_id).collect();
    sets::repeat(&covered).map_or(Ok(()), |twice| {
        let message = format!("the criterion {twice} is covered more than once");
        Err(Refusal::new(Code::DuplicateEntry, "C-WR-15", message).at("body.acceptanceCoverage"))
    })
}

/// C-WR-16: whatever was written or deleted stands among the file changes, in any result status.
fn written_files(result: &WorkResult) -> Result<(), Refusal> {
    for (n, action) in result.actions.iter().enumerate() {
        let repository = [ActionCapability::RepositoryWrite, ActionCapability::RepositoryDelete];
        if action.status != ActionStatus::Completed || !repository.contains(&action.capability) {
            continue;
        }
        let mut changes = result.files_changed.iter();
        demand!(
            changes.any(|it| *it.path == *action.target && changing(it) == action.capability),
            FileChangeUnmatched,
            "C-WR-16",
            format!("body.actions[{n}].target"),
            "action {} is a completed {} of {:?}, but filesChanged has no such entry",
            action.id,
            action.capability,
            shown(&action.target)
        );
    }
    Ok(())
}

/// C-WR-17 to C-WR-22: what a completed result must hold.
fn complete(result: &WorkResult, node: &WorkNode, contract: &TaskContract) -> Result<(), Refusal> {
    let finishes =
        node.acceptance_criteria.iter().any(|id| stage_of(contract, id) == Some(Stage::Completion));
    if finishes && verification::last_change(&result.actions).is_some() {
        let required = contract.verification_requirements.iter();
        for requirement in required.filter(|it| it.required && it.stage == Stage::Completion) {
            let capability = proving(requirement.capability);
            demand!(
                !node.required_capabilities.contains(&capability)
                    || verification::reads_after(&result.actions, capability, |_| true),
                VerificationOrder,
                "C-WR-17",
                "body.actions",
                "{} needs a completed {capability} action that changes nothing, after the last change",
                requirement.id
            );
        }
    }
    for capability in &node.required_capabilities {
        demand!(
            result.actions.iter().any(|action| completed(action, *capability)),
            CapabilityNotPerformed,
            "C-WR-18",
            "body.actions",
            "node {} requires {capability}, but no completed action has it",
            node.id
        );
    }
    let covered: Vec<&str> = result.acceptance_coverage.iter().map(|entry| &*entry.criterion_id).collect();
    if let Some(why) = sets::mismatch(&covered, &sets::texts(&node.acceptance_criteria)) {
        let message = format!("a completed result covers every criterion of node {} once: it {why}", node.id);
        return Err(Refusal::new(Code::CoverageMismatch, "C-WR-19", message).at("body.acceptanceCoverage"));
    }
    all_good(result)
}

/// C-WR-20 to C-WR-22; the schema says the same.
fn all_good(result: &WorkResult) -> Result<(), Refusal> {
    let bad =
        result.actions.iter().find(|it| matches!(it.status, ActionStatus::Failed | ActionStatus::Denied));
    demand!(
        bad.is_none(),
        ResultNotComplete,
        "C-WR-20",
        "body.actions",
        "a completed result holds no failed or denied action"
    );
    demand!(
        result.test_results.iter().all(|test| test.status != TestStatus::Failed),
        ResultNotComplete,
        "C-WR-21",
        "body.testResults",
        "a completed result holds no failed test"
    );
    demand!(
        result.acceptance_coverage.iter().all(|entry| entry.status == CheckStatus::Pass),
        ResultNotComplete,
        "C-WR-22",
        "body.acceptanceCoverage",
        "a completed result covers every criterion with pass"
    );
    Ok(())
}

/// W-18, W-22, W-29.
pub(super) fn dead_ends(result: &WorkResult, cx: &Context<'_>) -> Result<(), Refusal> {
    let paths: Vec<&str> = result.files_changed.iter().map(|change| &*change.path).collect();
    if let Some(twice) = sets::repeat(&paths) {
        let message = format!("{:?} is listed in more than one file change", shown(twice));
        return Err(Refusal::new(Code::DuplicateEntry, "W-29", message).at("body.filesChanged"));
    }
    for (n, entry) in result.acceptance_coverage.iter().enumerate() {
        if let Some(twice) = sets::repeat(&sets::texts(&entry.evidence_refs)) {
            let message = format!("{} cites {} more than once", entry.criterion_id, shown(twice));
            let path = format!("body.acceptanceCoverage[{n}].evidenceRefs");
            return Err(Refusal::new(Code::DuplicateEntry, "W-18", message).at(path));
        }
    }
    demand!(
        !ends_execution(result, cx) || cx.view.latest(Kind::Evidence).is_some(),
        DeadEndRefused,
        "W-22",
        "body",
        "this result ends execution while the run has no Evidence, which its review needs; first capture what was tried"
    );
    Ok(())
}

/// Whether no node is left to work after this result.
fn ends_execution(result: &WorkResult, cx: &Context<'_>) -> bool {
    if result.status != WorkStatus::Completed {
        return true;
    }
    let done = |node: &WorkNode| {
        node.id == result.node_id
            || predicates::current_results(cx.view)
                .any(|(_, it)| it.node_id == node.id && it.status == WorkStatus::Completed)
    };
    cx.view.last::<WorkPlan>(Kind::WorkPlan).is_none_or(|(_, plan)| plan.nodes.iter().all(done))
}
