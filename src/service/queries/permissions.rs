//! The intersection of permissions as a table: what each party says of each capability, and what holds.

use crate::controller::authority::{
    backed, ceiling, effective_scopes, flag, run_authorization, scopes, subset,
};
use crate::controller::predicates::pending_node;
use crate::controller::{RepositoryPolicy, RunPhase, RunView};
use crate::domain::ExecutionSpec;
use crate::protocol::{ActionCapability, Kind, PermissionSet, RunEnvelope, TaskContract};
use crate::service::snapshot::{CellRule, PermissionCell, PermissionRow, PermissionTable};

/// The policy term of the intersection, as a run was frozen with it.
pub(super) fn policy(spec: &ExecutionSpec) -> RepositoryPolicy {
    RepositoryPolicy {
        modes: spec.tool_policy.modes.clone(),
        deny: spec.tool_policy.deny.clone(),
        shell_execute: spec.tool_policy.shell_execute.clone(),
        read_domains: spec.tool_policy.read_domains.clone(),
    }
}

pub(super) fn table(view: &RunView, spec: Option<&ExecutionSpec>) -> PermissionTable {
    let policy = spec.map(policy);
    let node = (view.run.phase == RunPhase::Execute).then(|| pending_node(view)).flatten();
    let contract = view.last::<TaskContract>(Kind::TaskContract);
    let envelope = view.last::<RunEnvelope>(Kind::RunEnvelope).map(|(_, envelope)| envelope);
    let authorized = run_authorization(view, policy.as_ref());
    let modes = ceiling(view.run.mode);
    let row = |&capability: &ActionCapability| {
        let granted = envelope.map(|envelope| &envelope.authorization.granted);
        let denied = envelope.map(|envelope| &envelope.authorization.denied);
        let mut cells = [
            allowing(Some(&modes), capability, None),
            allowing(granted, capability, None),
            denying(denied, capability),
            by_policy(policy.as_ref(), view, capability),
            allowing(
                contract.map(|(_, contract)| &contract.permissions),
                capability,
                contract.map(|(stored, _)| stored.id.clone()),
            ),
            allowing(
                node.map(|node| &node.permissions),
                capability,
                node.map(|node| format!("node {}", node.id)),
            ),
            PermissionCell::default(),
        ];
        let closed_by = cells.iter().position(|cell| cell.rule == CellRule::Closes);
        let narrowest =
            node.map(|node| &node.permissions).or(contract.map(|(_, contract)| &contract.permissions));
        let narrowest = narrowest.filter(|set| subset(set, &authorized)).unwrap_or(&authorized);
        cells[6] = allowing(Some(narrowest), capability, None);
        if closed_by.is_some() {
            cells[6] = PermissionCell { rule: CellRule::Closes, ..PermissionCell::default() };
        }
        PermissionRow { capability: capability.as_str().to_owned(), cells, closed_by }
    };
    PermissionTable {
        rows: ActionCapability::ALL.iter().map(row).collect(),
        node: node.map(|node| node.id.to_string()),
    }
}

/// What a set that allows says of a capability; a set that is not there says nothing.
fn allowing(
    set: Option<&PermissionSet>,
    capability: ActionCapability,
    source: Option<String>,
) -> PermissionCell {
    let Some(set) = set else { return PermissionCell::default() };
    let rule = if backed(set, capability) { CellRule::Allows } else { CellRule::Closes };
    PermissionCell { rule, scopes: effective_scopes(set, capability), source }
}

/// What the user's denials say: a denial closes the whole capability.
fn denying(set: Option<&PermissionSet>, capability: ActionCapability) -> PermissionCell {
    let denied = set.is_some_and(|set| {
        scopes(set, capability)
            .map_or_else(|| flag(set, capability) == Some(true), |scopes| !scopes.is_empty())
    });
    let rule = if denied { CellRule::Closes } else { CellRule::Silent };
    PermissionCell { rule, ..PermissionCell::default() }
}

fn by_policy(
    policy: Option<&RepositoryPolicy>,
    view: &RunView,
    capability: ActionCapability,
) -> PermissionCell {
    let Some(policy) = policy else { return PermissionCell::default() };
    let listed = match capability {
        ActionCapability::ShellExecute => policy.shell_execute.clone(),
        ActionCapability::NetworkRead => policy.read_domains.clone(),
        _ => None,
    };
    let closes = policy.deny.contains(&capability)
        || !policy.allows_mode(view.run.mode)
        || listed.as_ref().is_some_and(Vec::is_empty);
    PermissionCell {
        rule: match (closes, &listed) {
            (true, _) => CellRule::Closes,
            (false, Some(_)) => CellRule::Allows,
            (false, None) => CellRule::Silent,
        },
        scopes: listed.unwrap_or_default(),
        source: closes.then(|| ".telic/policy.toml".to_owned()),
    }
}
