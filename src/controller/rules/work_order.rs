//! Rules that every work order shares, and whether any plan could fit it (`controller.md` 7.12, W-21).

use super::{Code, Context, Refusal, demand, proving, sets, shown, stage_of};
use crate::controller::authority;
use crate::controller::predicates::{self, Order};
use crate::protocol::{ActionCapability, PermissionSet, Stage, TaskContract};

/// What a work order is measured against.
pub(super) struct Bounds<'a> {
    /// The place of the order in the body.
    pub place: &'static str,
    /// The name of its criteria field.
    pub criteria_field: &'static str,
    /// The criteria it may name.
    pub allowed: Vec<&'a str>,
    /// Whether it must name all of them.
    pub all: bool,
    /// The contract it serves.
    pub contract: &'a TaskContract,
    /// What the user's grant leaves at this stage.
    pub authority: PermissionSet,
    /// Whether it must allow at least one capability.
    pub needs_capability: bool,
    /// The sources of which it must cite at least one.
    pub sources: Vec<String>,
}

/// C-WO-1 to C-WO-7.
pub(super) fn check<'a>(order: Option<Order<'a>>, bounds: &Bounds<'_>) -> Result<Order<'a>, Refusal> {
    let place = bounds.place;
    let Some(order) = order else {
        let message = format!("{} is missing", place.trim_start_matches("body."));
        return Err(Refusal::new(Code::WorkOrderInvalid, "C-WO-1", message).at(place));
    };
    let named = sets::texts(order.criteria);
    let criteria_path = format!("{place}.{}", bounds.criteria_field);
    demand!(
        !named.is_empty(),
        CriterionOutOfScope,
        "C-WO-2",
        criteria_path,
        "the work order names no criterion"
    );
    if let Some(twice) = sets::repeat(&named) {
        let message = format!("the criterion {twice} is named more than once");
        return Err(Refusal::new(Code::CriterionOutOfScope, "C-WO-2", message).at(criteria_path));
    }
    if let Some(other) = named.iter().find(|id| !bounds.allowed.contains(id)) {
        let message =
            format!("the criterion {other} is not open here; open are {}", bounds.allowed.join(", "));
        return Err(Refusal::new(Code::CriterionOutOfScope, "C-WO-2", message).at(criteria_path));
    }
    if let Some(why) = sets::mismatch(&named, &bounds.allowed).filter(|_| bounds.all) {
        let message = format!("the work order must name every completion criterion: it {why}");
        return Err(Refusal::new(Code::CoverageMismatch, "C-WO-3", message).at(criteria_path));
    }
    permissions(&order, bounds)?;
    let capabilities_path = format!("{place}.allowedCapabilities");
    demand!(
        !bounds.needs_capability || !order.capabilities.is_empty(),
        CapabilityRequired,
        "C-WO-5",
        capabilities_path,
        "the work order allows no capability, so nothing could be done under it"
    );
    if let Some(capability) = order.capabilities.iter().find(|it| !authority::backed(order.permissions, **it))
    {
        let message = format!("{capability} is allowed, but the work order's permissions do not back it");
        return Err(Refusal::new(Code::CapabilityNotPermitted, "C-WO-6", message).at(capabilities_path));
    }
    let rests = order.source_refs.iter().any(|cited| bounds.sources.iter().any(|source| **source == **cited));
    if !rests {
        let some: Vec<&str> = bounds.sources.iter().rev().take(3).map(|source| shown(source)).collect();
        let message =
            format!("the work order rests on none of what it may rest on, such as {}", some.join(", "));
        return Err(
            Refusal::new(Code::SourceNotRetained, "C-WO-7", message).at(format!("{place}.sourceRefs"))
        );
    }
    Ok(order)
}

fn permissions(order: &Order<'_>, bounds: &Bounds<'_>) -> Result<(), Refusal> {
    let path = format!("{}.permissions", bounds.place);
    authority::refuse_unsafe_scopes(order.permissions, "C-WO-4", &path)?;
    let ceilings = [
        (&bounds.contract.permissions, "the contract"),
        (&bounds.authority, "the run's authorization at this stage"),
    ];
    for (ceiling, name) in ceilings {
        if let Some((below, what)) = authority::excess(order.permissions, ceiling) {
            let message = format!("the work order asks for {what}, which {name} does not allow");
            return Err(
                Refusal::new(Code::PermissionExceeded, "C-WO-4", message).at(format!("{path}.{below}"))
            );
        }
    }
    Ok(())
}

/// The stage a plan under an order will have, as far as required verifications are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Analyse and fix, before the gate: diagnosis only.
    Diagnosis,
    /// Analyse and fix, the correction or what follows it: completion only.
    Completion,
    /// Any other mode: every required verification.
    All,
}

impl Ahead {
    /// The stage of a plan that follows now, under a correction order or not.
    pub(super) fn of(cx: &Context<'_>, correction: bool) -> Self {
        match (cx.mode, predicates::before_gate(cx.view) && !correction) {
            (crate::protocol::IntentMode::AnalyzeAndFix, true) => Self::Diagnosis,
            (crate::protocol::IntentMode::AnalyzeAndFix, false) => Self::Completion,
            _ => Self::All,
        }
    }

    /// Whether verifications of a stage must be scheduled.
    pub(super) fn includes(self, stage: Stage) -> bool {
        match self {
            Self::Diagnosis => stage == Stage::Diagnosis,
            Self::Completion => stage == Stage::Completion,
            Self::All => true,
        }
    }
}

/// W-21: some plan must fit the order. The least demanding plan has one node that requires each proving capability
/// once, so that is what is measured.
pub(super) fn plan_fits(
    order: &Order<'_>,
    bounds: &Bounds<'_>,
    ahead: Ahead,
    cx: &Context<'_>,
) -> Result<(), Refusal> {
    let place = bounds.place;
    let analysis = authority::analysis_ceiling(cx.view, cx.env.policy);
    if let Some(late) = (ahead == Ahead::Diagnosis)
        .then(|| order.criteria.iter().find(|id| stage_of(bounds.contract, id) == Some(Stage::Completion)))
        .flatten()
    {
        let message = format!("no plan before the diagnosis gate may answer {late}, a completion criterion");
        return Err(dead_end(message).at(format!("{place}.{}", bounds.criteria_field)));
    }
    let mut needed: Vec<ActionCapability> = Vec::new();
    for requirement in &bounds.contract.verification_requirements {
        if !requirement.required || !ahead.includes(requirement.stage) {
            continue;
        }
        let (id, capability) = (&requirement.id, proving(requirement.capability));
        let backed = authority::backed(order.permissions, capability)
            && (ahead != Ahead::Diagnosis || authority::backed(&analysis, capability));
        if !order.capabilities.contains(&capability) || !backed {
            let message = format!(
                "every plan must schedule {id} again, but the work order does not allow {capability} with permissions"
            );
            return Err(dead_end(message).at(format!("{place}.allowedCapabilities")));
        }
        if !order.criteria.iter().any(|id| stage_of(bounds.contract, id) == Some(requirement.stage)) {
            let message = format!(
                "every plan must schedule {id} again, but the work order names no criterion of stage {}",
                requirement.stage
            );
            return Err(dead_end(message).at(format!("{place}.{}", bounds.criteria_field)));
        }
        if !needed.contains(&capability) {
            needed.push(capability);
        }
    }
    let least = needed.len().max(usize::from(!predicates::is_deliverable(cx.mode)));
    let least = i64::try_from(least).unwrap_or(i64::MAX);
    let left = predicates::PLAN_TOOL_CALLS - predicates::reserved_tool_calls(cx.view);
    if order.maximum_tool_calls < least || left < least {
        let message = format!(
            "every plan needs {least} tool calls; the work order allows {}, the run has {left} left",
            order.maximum_tool_calls
        );
        return Err(dead_end(message)
            .at(format!("{place}.maximumToolCalls"))
            .with("remainingPlanToolCalls", left));
    }
    Ok(())
}

fn dead_end(message: String) -> Refusal {
    Refusal::new(Code::DeadEndRefused, "W-21", message)
}
