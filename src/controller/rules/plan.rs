//! Rules of a work plan: its budgets, its work order, its nodes, its coverage (`controller.md` 7.7).

use super::verification;
use super::work_order::Ahead;
use super::{
    Code, Context, Kind, Refusal, contract, criteria, demand, envelope, latest_words, names_latest, proving,
    sets, shown, stage_of,
};
use crate::controller::authority;
use crate::controller::predicates::{self, Control, Order};
use crate::protocol::{
    ActionCapability, PermissionSet, PlanValidation, Stage, TaskContract, WorkNode, WorkPlan,
};

/// What the run says about the next plan.
struct Ground<'a> {
    contract: &'a TaskContract,
    control: Option<Control<'a>>,
    order: Option<Order<'a>>,
    ceiling: PermissionSet,
    /// Analyse and fix, not unlocked, no correction ordered: only diagnosis may be planned.
    before_gate: bool,
    ahead: Ahead,
}

pub(super) fn check(plan: &WorkPlan, cx: &Context<'_>) -> Result<(), Refusal> {
    demand!(
        names_latest(cx, Kind::TaskContract, &plan.task_contract_ref),
        LineageMismatch,
        "C-WP-1",
        "body.taskContractRef",
        "the plan is for {}, the latest contract is {}",
        shown(&plan.task_contract_ref),
        latest_words(cx, Kind::TaskContract)
    );
    demand!(
        plan.plan_validation == PlanValidation::Valid,
        PlanNotValid,
        "C-WP-2",
        "body.planValidation",
        "planValidation is {}; only a valid plan is accepted",
        plan.plan_validation
    );
    // C-WP-3: the type of `executionMode` has no value but `serial`.
    let ground = ground(cx)?;
    budgets(plan, cx)?;
    scoped(plan, &ground, cx)?;
    for (n, node) in plan.nodes.iter().enumerate() {
        node_permissions(n, node, &ground)?;
        node_budgets(n, node, plan, cx)?;
        node_criteria(n, node, &ground)?;
    }
    coverage(plan, &ground)?;
    verifications(plan, &ground)
}

fn ground<'a>(cx: &Context<'a>) -> Result<Ground<'a>, Refusal> {
    let control = predicates::control(cx.view);
    let correction = control.is_some_and(|control| control.is_correction());
    Ok(Ground {
        contract: contract(cx, "C-WP-1")?,
        order: control.and_then(|control| control.order()),
        control,
        ceiling: predicates::plan_ceiling(cx),
        before_gate: predicates::before_gate(cx.view) && !correction,
        ahead: Ahead::of(cx, correction),
    })
}

/// C-WP-4 to C-WP-6.
fn budgets(plan: &WorkPlan, cx: &Context<'_>) -> Result<(), Refusal> {
    let planned = predicates::planned_tool_calls(plan);
    let global = &plan.global_budgets;
    demand!(
        planned <= global.maximum_tool_calls.get(),
        BudgetExceeded,
        "C-WP-4",
        "body.globalBudgets.maximumToolCalls",
        "the nodes reserve {planned} tool calls together, the plan allows {}",
        global.maximum_tool_calls
    );
    let reserved = predicates::reserved_tool_calls(cx.view);
    let most = predicates::PLAN_TOOL_CALLS;
    if reserved + planned > most {
        let left = (most - reserved).max(0);
        let message =
            format!("the plan reserves {planned} tool calls; of the run's {most} only {left} are left");
        return Err(Refusal::new(Code::BudgetExceeded, "C-WP-5", message)
            .at("body.nodes")
            .with("remainingPlanToolCalls", left));
    }
    // `maximumParallelWorkers` is 1 by its type, and no envelope has less.
    let depth = envelope(cx, "C-WP-6")?.budgets.maximum_subagent_depth;
    demand!(
        global.maximum_subagent_depth <= depth,
        BudgetExceeded,
        "C-WP-6",
        "body.globalBudgets.maximumSubagentDepth",
        "the plan allows a depth of {}, the host {depth}",
        global.maximum_subagent_depth
    );
    Ok(())
}

/// C-WP-7 to C-WP-11: a plan under control stays within its work order.
fn scoped(plan: &WorkPlan, ground: &Ground<'_>, cx: &Context<'_>) -> Result<(), Refusal> {
    let Some(control) = ground.control else { return Ok(()) };
    let controlling = cx.view.reference(&control.artifact().id);
    let Some(order) = ground.order else {
        let message = format!("{controlling} orders work but holds no work order");
        return Err(Refusal::new(Code::WorkOrderInvalid, "C-WP-7", message));
    };
    for (n, node) in plan.nodes.iter().enumerate() {
        demand!(
            node.input_refs.iter().any(|input| **input == *controlling),
            LineageMismatch,
            "C-WP-8",
            format!("body.nodes[{n}].inputRefs"),
            "node {} must list {controlling}, which ordered this plan",
            node.id
        );
    }
    demand!(
        plan.global_budgets.maximum_tool_calls.get() <= order.maximum_tool_calls,
        BudgetExceeded,
        "C-WP-9",
        "body.globalBudgets.maximumToolCalls",
        "the plan allows {} tool calls, its work order {}",
        plan.global_budgets.maximum_tool_calls,
        order.maximum_tool_calls
    );
    for (n, node) in plan.nodes.iter().enumerate() {
        if let Some(tool) = node.allowed_tools.iter().find(|tool| !order.capabilities.contains(tool)) {
            let message = format!("node {} may use {tool}, which its work order does not allow", node.id);
            let path = format!("body.nodes[{n}].allowedTools");
            return Err(Refusal::new(Code::CapabilityNotPermitted, "C-WP-10", message).at(path));
        }
    }
    for (n, node) in plan.nodes.iter().enumerate() {
        let path = format!("body.nodes[{n}].permissions");
        authority::refuse_unsafe_scopes(&node.permissions, "C-WP-11", &path)?;
        within(node, order.permissions, "C-WP-11", "its work order", &path)?;
    }
    Ok(())
}

fn within(
    node: &WorkNode,
    allowed: &PermissionSet,
    rule: &'static str,
    name: &str,
    path: &str,
) -> Result<(), Refusal> {
    authority::excess(&node.permissions, allowed).map_or(Ok(()), |(below, what)| {
        let message = format!("node {} asks for {what}, which {name} does not allow", node.id);
        Err(Refusal::new(Code::PermissionExceeded, rule, message).at(format!("{path}.{below}")))
    })
}

/// C-WP-12, C-WP-13.
fn node_permissions(n: usize, node: &WorkNode, ground: &Ground<'_>) -> Result<(), Refusal> {
    let path = format!("body.nodes[{n}].permissions");
    authority::refuse_unsafe_scopes(&node.permissions, "C-WP-12", &path)?;
    within(node, &ground.contract.permissions, "C-WP-12", "the contract", &path)?;
    within(node, &ground.ceiling, "C-WP-13", "an analysis before the diagnosis gate", &path)
}

/// C-WP-14 to C-WP-21.
fn node_budgets(n: usize, node: &WorkNode, plan: &WorkPlan, cx: &Context<'_>) -> Result<(), Refusal> {
    let (id, subagents) = (&node.id, &node.permissions.subagents);
    let place = format!("body.nodes[{n}]");
    demand!(
        node.budgets.maximum_children <= subagents.maximum_children,
        BudgetExceeded,
        "C-WP-14",
        format!("{place}.budgets.maximumChildren"),
        "node {id} may start {} children, its permissions allow {}",
        node.budgets.maximum_children,
        subagents.maximum_children
    );
    let depth = plan.global_budgets.maximum_subagent_depth;
    demand!(
        subagents.maximum_depth <= depth && (!subagents.spawn || depth.get() > 0),
        BudgetExceeded,
        "C-WP-15",
        format!("{place}.permissions.subagents.maximumDepth"),
        "node {id} may go {} deep (spawn: {}), the plan allows a depth of {depth}",
        subagents.maximum_depth,
        subagents.spawn
    );
    if let Some(tool) = node.allowed_tools.iter().find(|tool| !authority::backed(&node.permissions, **tool)) {
        let message = format!("node {id} may use {tool}, but its permissions do not back it");
        return Err(Refusal::new(Code::CapabilityNotPermitted, "C-WP-16", message)
            .at(format!("{place}.allowedTools")));
    }
    let required = format!("{place}.requiredCapabilities");
    let names: Vec<&str> = node.required_capabilities.iter().map(|capability| capability.as_str()).collect();
    if let Some(twice) = sets::repeat(&names) {
        let message = format!("node {id} requires {twice} more than once");
        return Err(Refusal::new(Code::DuplicateEntry, "C-WP-17", message).at(required));
    }
    demand!(
        predicates::is_deliverable(cx.mode) || !names.is_empty(),
        CapabilityRequired,
        "C-WP-18",
        required,
        "node {id} requires no capability, so nothing would show that it was worked"
    );
    if let Some(other) = node.required_capabilities.iter().find(|it| !node.allowed_tools.contains(it)) {
        let message = format!("node {id} requires {other}, which is not among its allowedTools");
        return Err(Refusal::new(Code::CapabilityNotPermitted, "C-WP-19", message).at(required));
    }
    let needed = i64::try_from(names.len()).unwrap_or(i64::MAX);
    demand!(
        node.budgets.maximum_tool_calls.get() >= needed,
        BudgetInsufficient,
        "C-WP-20",
        format!("{place}.budgets.maximumToolCalls"),
        "node {id} requires {needed} capabilities but has {} tool calls",
        node.budgets.maximum_tool_calls
    );
    demand!(
        !node.required_capabilities.contains(&ActionCapability::SubagentSpawn)
            || node.budgets.maximum_children.get() >= 1,
        BudgetInsufficient,
        "C-WP-21",
        format!("{place}.budgets.maximumChildren"),
        "node {id} requires subagent.spawn but may start no child"
    );
    Ok(())
}

/// C-WP-22 to C-WP-24.
fn node_criteria(n: usize, node: &WorkNode, ground: &Ground<'_>) -> Result<(), Refusal> {
    for (m, criterion) in node.acceptance_criteria.iter().enumerate() {
        let path = format!("body.nodes[{n}].acceptanceCriteria[{m}]");
        let Some(stage) = stage_of(ground.contract, criterion) else {
            let message = format!("node {} answers {criterion}, which the contract does not have", node.id);
            return Err(Refusal::new(Code::CriterionUnknown, "C-WP-22", message).at(path));
        };
        demand!(
            ground.order.is_none_or(|order| order.criteria.contains(criterion)),
            CriterionOutOfScope,
            "C-WP-23",
            path,
            "node {} answers {criterion}, which the work order does not name",
            node.id
        );
        demand!(
            !ground.before_gate || stage == Stage::Diagnosis,
            CriterionOutOfScope,
            "C-WP-24",
            path,
            "node {} answers {criterion}, a {stage} criterion; before the diagnosis gate only diagnosis is planned",
            node.id
        );
    }
    Ok(())
}

/// C-WP-25.
fn coverage(plan: &WorkPlan, ground: &Ground<'_>) -> Result<(), Refusal> {
    let required = match ground.order {
        Some(order) => sets::texts(order.criteria),
        None if ground.before_gate => criteria(ground.contract, Some(Stage::Diagnosis)),
        None => criteria(ground.contract, None),
    };
    for criterion in required {
        demand!(
            plan.nodes.iter().any(|node| node.acceptance_criteria.iter().any(|id| **id == *criterion)),
            CoverageMismatch,
            "C-WP-25",
            "body.nodes",
            "no node answers the criterion {criterion}"
        );
    }
    Ok(())
}

/// C-WP-26, C-WP-27: every required verification of the stage is scheduled, and a completion verification after
/// everything that could change something.
fn verifications(plan: &WorkPlan, ground: &Ground<'_>) -> Result<(), Refusal> {
    let all = ground.contract.verification_requirements.iter();
    for requirement in all.filter(|it| it.required && ground.ahead.includes(it.stage)) {
        let capability = proving(requirement.capability);
        let proving: Vec<usize> = (0..plan.nodes.len())
            .filter(|&n| {
                verification::can_prove(&plan.nodes[n], capability, requirement.stage, ground.contract)
            })
            .collect();
        demand!(
            !proving.is_empty(),
            VerificationUnscheduled,
            "C-WP-26",
            "body.nodes",
            "no node requires {capability} and answers a {} criterion, so {} would never be proven",
            requirement.stage,
            requirement.id
        );
        if requirement.stage == Stage::Completion {
            for n in proving {
                last_to_change(plan, n, &requirement.id)?;
            }
        }
    }
    Ok(())
}

fn last_to_change(plan: &WorkPlan, n: usize, requirement: &str) -> Result<(), Refusal> {
    let before = ancestors(plan, n);
    let may_change =
        |node: &WorkNode| node.allowed_tools.iter().any(|tool| authority::potentially_mutating(*tool));
    let other = (0..plan.nodes.len()).find(|&m| m != n && may_change(&plan.nodes[m]) && !before[m]);
    other.map_or(Ok(()), |m| {
        let (verifying, changing) = (&plan.nodes[n].id, &plan.nodes[m].id);
        let message = format!(
            "node {verifying} proves {requirement} but does not come after {changing}, which may still change something"
        );
        let path = format!("body.nodes[{n}].dependsOn");
        Err(Refusal::new(Code::VerificationOrder, "C-WP-27", message).at(path))
    })
}

/// Which nodes come before a node, directly or not.
fn ancestors(plan: &WorkPlan, n: usize) -> Vec<bool> {
    let mut before = vec![false; plan.nodes.len()];
    let mut open = vec![n];
    while let Some(next) = open.pop() {
        for dependency in &plan.nodes[next].depends_on {
            let found = plan.nodes.iter().position(|node| node.id == *dependency);
            if let Some(found) = found.filter(|&found| !before[found]) {
                before[found] = true;
                open.push(found);
            }
        }
    }
    before
}
