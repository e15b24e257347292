//! What several rules ask about a run (`controller.md` 5.6, 7.0).

use super::authority;
use super::context::Context;
use super::view::{RunView, Stored};
use crate::protocol::{
    ActionCapability, AuditDecision, CorrectionWorkOrder, IntentMode, Kind, PermissionSet, QualityDecision,
    QualityReview, ReleaseAudit, ReleaseDefect, RemediationWorkOrder, RunEnvelope, TaskContract, UserMessage,
    WorkNode, WorkPlan, WorkResult, WorkStatus,
};
use std::collections::HashSet;

/// Whether nothing is executed in a mode: the plan itself is the deliverable.
#[must_use]
pub fn is_deliverable(mode: IntentMode) -> bool {
    matches!(mode, IntentMode::ReportOnly | IntentMode::PlanOnly)
}

/// Whether a list holds exactly the members of a set: same length, no repeats, every member known.
///
/// A repeated member on the right can never be matched.
#[must_use]
pub fn exact_set<L: AsRef<str>, R: AsRef<str>>(left: &[L], right: &[R]) -> bool {
    let right: Vec<&str> = right.iter().map(AsRef::as_ref).collect();
    let known: HashSet<&str> = right.iter().copied().collect();
    let mut seen = HashSet::new();
    left.len() == right.len()
        && left.iter().all(|member| known.contains(member.as_ref()) && seen.insert(member.as_ref()))
}

/// The run's envelope.
#[must_use]
pub fn envelope(view: &RunView) -> Option<&RunEnvelope> {
    view.last::<RunEnvelope>(Kind::RunEnvelope).map(|(_, envelope)| envelope)
}

/// Whether the fix of an analyse-and-fix run is unlocked: some accepted plan was made for a correction, every node
/// of it naming a review that ordered one.
#[must_use]
pub fn unlocked(view: &RunView) -> bool {
    if view.run.mode != IntentMode::AnalyzeAndFix {
        return false;
    }
    let orders: HashSet<String> = view
        .all::<QualityReview>(Kind::QualityReview)
        .filter(|(_, review)| orders_correction(review))
        .map(|(stored, _)| view.reference(&stored.id))
        .collect();
    view.all::<WorkPlan>(Kind::WorkPlan).any(|(_, plan)| {
        !plan.nodes.is_empty()
            && plan
                .nodes
                .iter()
                .all(|node| node.input_refs.iter().any(|input| orders.contains(input.as_str())))
    })
}

fn orders_correction(review: &QualityReview) -> bool {
    review.decision == QualityDecision::ProceedToFix
        && review.diagnosis_gate.as_ref().is_some_and(|gate| gate.correction_work_order.is_some())
}

/// Whether the run is an analyse-and-fix run whose fix is still locked.
#[must_use]
pub fn before_gate(view: &RunView) -> bool {
    view.run.mode == IntentMode::AnalyzeAndFix && !unlocked(view)
}

/// Whether nothing may be changed yet, or at all.
#[must_use]
pub fn non_mutating_stage(view: &RunView) -> bool {
    match view.run.mode {
        IntentMode::ReportOnly | IntentMode::PlanOnly | IntentMode::AnalyzeOnly => true,
        IntentMode::FixOnly => false,
        IntentMode::AnalyzeAndFix => !unlocked(view),
    }
}

/// The artifact that governs the next plan: the last review or audit.
#[derive(Clone, Copy, Debug)]
pub enum Control<'a> {
    /// A quality review that lets the fix begin.
    Correction(&'a Stored, Option<&'a CorrectionWorkOrder>),
    /// A quality review that sends the work back.
    Remediation(&'a Stored, Option<&'a RemediationWorkOrder>),
    /// A release audit that sends the work back.
    Defect(&'a Stored, Option<&'a ReleaseDefect>),
}

/// A work order, whatever ordered it.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The criteria it names.
    pub criteria: &'a [crate::protocol::Identifier],
    /// The capabilities it allows.
    pub capabilities: &'a [ActionCapability],
    /// The permissions it allows.
    pub permissions: &'a PermissionSet,
    /// Most tool calls.
    pub maximum_tool_calls: i64,
    /// What it rests on.
    pub source_refs: &'a [crate::protocol::Reference],
}

impl<'a> From<&'a CorrectionWorkOrder> for Order<'a> {
    fn from(order: &'a CorrectionWorkOrder) -> Self {
        Self {
            criteria: &order.target_criterion_ids,
            capabilities: &order.allowed_capabilities,
            permissions: &order.permissions,
            maximum_tool_calls: order.maximum_tool_calls.get(),
            source_refs: &order.source_refs,
        }
    }
}

impl<'a> From<&'a RemediationWorkOrder> for Order<'a> {
    fn from(order: &'a RemediationWorkOrder) -> Self {
        Self {
            criteria: &order.failed_criterion_ids,
            capabilities: &order.allowed_capabilities,
            permissions: &order.permissions,
            maximum_tool_calls: order.maximum_tool_calls.get(),
            source_refs: &order.source_refs,
        }
    }
}

impl<'a> From<&'a ReleaseDefect> for Order<'a> {
    fn from(order: &'a ReleaseDefect) -> Self {
        Self {
            criteria: &order.failed_criterion_ids,
            capabilities: &order.allowed_capabilities,
            permissions: &order.permissions,
            maximum_tool_calls: order.maximum_tool_calls.get(),
            source_refs: &order.source_refs,
        }
    }
}

impl<'a> Control<'a> {
    /// The controlling artifact.
    #[must_use]
    pub fn artifact(&self) -> &'a Stored {
        match *self {
            Self::Correction(stored, _) | Self::Remediation(stored, _) | Self::Defect(stored, _) => stored,
        }
    }

    /// Its work order; none is a fault of the artifact (C-WP-7).
    #[must_use]
    pub fn order(&self) -> Option<Order<'a>> {
        match *self {
            Self::Correction(_, order) => order.map(Into::into),
            Self::Remediation(_, order) => order.map(Into::into),
            Self::Defect(_, order) => order.map(Into::into),
        }
    }

    /// Whether it lets the fix begin.
    #[must_use]
    pub fn is_correction(&self) -> bool {
        matches!(self, Self::Correction(..))
    }
}

/// What governs the next plan; nothing for a first plan. A plan under control is scoped.
#[must_use]
pub fn control(view: &RunView) -> Option<Control<'_>> {
    let review = view.latest(Kind::QualityReview);
    let audit = view.latest(Kind::ReleaseAudit);
    let place = |stored: Option<&std::sync::Arc<Stored>>| stored.and_then(|stored| view.position(&stored.id));
    if place(audit) > place(review) {
        let stored = audit?;
        let audit = stored.read::<ReleaseAudit>()?;
        return (audit.decision == AuditDecision::Remediate)
            .then_some(Control::Defect(stored, audit.remediation_defect.as_ref()));
    }
    let stored = review?;
    let review = stored.read::<QualityReview>()?;
    match review.decision {
        QualityDecision::ProceedToFix => {
            let gate = review.diagnosis_gate.as_ref();
            Some(Control::Correction(stored, gate.and_then(|gate| gate.correction_work_order.as_ref())))
        }
        QualityDecision::Remediate => {
            Some(Control::Remediation(stored, review.remediation_work_order.as_ref()))
        }
        _ => None,
    }
}

/// What the next plan may at most permit: before the gate the analysis ceiling, otherwise the contract.
/// Empty when there is no contract.
#[must_use]
pub fn plan_ceiling(ctx: &Context<'_>) -> PermissionSet {
    let corrects = control(ctx.view).is_some_and(|control| control.is_correction());
    if before_gate(ctx.view) && !corrects {
        return authority::analysis_ceiling(ctx.view, ctx.env.policy);
    }
    let contract = ctx.view.last::<TaskContract>(Kind::TaskContract);
    contract.map_or_else(PermissionSet::empty, |(_, contract)| contract.permissions.clone())
}

/// The clarification whose answer no phase artifact has taken up yet: the references of request and answer.
#[must_use]
pub fn pending_lineage(view: &RunView) -> Option<(String, String)> {
    let asks = |stored: &Stored| {
        let cited = stored.source_refs.iter();
        let mut questions = cited.filter(|cited| {
            view.resolve(cited).is_some_and(|target| target.kind == Some(Kind::ClarificationRequest))
        });
        questions.next().cloned()
    };
    let (answer, question) =
        view.of_kind(Kind::UserMessage).rev().find_map(|stored| asks(stored).map(|q| (stored, q)))?;
    let answer = view.reference(&answer.id);
    let consumers = [
        Kind::ContextManifest,
        Kind::ProblemFrame,
        Kind::TaskContract,
        Kind::PromptReview,
        Kind::WorkPlan,
        Kind::WorkResult,
        Kind::QualityReview,
    ];
    let consumed = consumers
        .into_iter()
        .flat_map(|kind| view.of_kind(kind))
        .any(|stored| stored.source_refs.contains(&question) && stored.source_refs.contains(&answer));
    (!consumed).then_some((question, answer))
}

/// The results of the latest plan, in ledger order.
pub fn current_results(view: &RunView) -> impl Iterator<Item = (&Stored, &WorkResult)> {
    let plan = view.latest(Kind::WorkPlan).map(|plan| view.reference(&plan.id));
    view.all::<WorkResult>(Kind::WorkResult)
        .filter(move |(_, result)| Some(result.work_plan_ref.as_str()) == plan.as_deref())
}

/// The node whose result is due: the first in plan order without a result whose prerequisites are completed.
#[must_use]
pub fn pending_node(view: &RunView) -> Option<&WorkNode> {
    let (_, plan) = view.last::<WorkPlan>(Kind::WorkPlan)?;
    let (mut done, mut ended) = (HashSet::new(), HashSet::new());
    for (_, result) in current_results(view) {
        if result.status == WorkStatus::Completed {
            done.insert(result.node_id.as_str());
        }
        ended.insert(result.node_id.as_str());
    }
    plan.nodes.iter().find(|node| {
        !ended.contains(node.id.as_str())
            && node.depends_on.iter().all(|before| done.contains(before.as_str()))
    })
}

/// Tool calls that accepted plans have reserved, of [`PLAN_TOOL_CALLS`].
#[must_use]
pub fn reserved_tool_calls(view: &RunView) -> i64 {
    view.all::<WorkPlan>(Kind::WorkPlan).map(|(_, plan)| planned_tool_calls(plan)).sum()
}

/// Tool calls that a plan reserves.
#[must_use]
pub fn planned_tool_calls(plan: &WorkPlan) -> i64 {
    plan.nodes.iter().map(|node| node.budgets.maximum_tool_calls.get()).sum()
}

/// Tool calls that the plans of a run may reserve together.
pub const PLAN_TOOL_CALLS: i64 = 4000;

/// The words of the user in this run, the request first.
pub fn user_messages(view: &RunView) -> impl Iterator<Item = (&Stored, &UserMessage)> {
    view.all::<UserMessage>(Kind::UserMessage)
}
