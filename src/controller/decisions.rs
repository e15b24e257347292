//! Decisions on capabilities as the trace keeps them (`controller.md` 9.3, W-4, W-6, W-8).

use super::authority::{decide, is_typed_inspection, shown_host};
use super::context::Context;
use super::trace::shorten;
use super::view::RunView;
use crate::protocol::{
    ActionCapability, ActionStatus, Kind, PermissionDecision, PermissionVerdict, WorkAction, WorkNode,
};

/// The longest target inside a sentence, in units; the whole target stands in the scope.
const SHOWN_TARGET: usize = 160;
/// The longest scope, in units.
const SCOPE_LIMIT: usize = 2048;

/// A decision on a capability and a target, with the policies it rests on. `why` is a short clause.
#[must_use]
pub fn decision(
    view: &RunView,
    verdict: PermissionVerdict,
    capability: ActionCapability,
    target: &str,
    why: &str,
) -> PermissionDecision {
    let scope = shown_scope(capability, target);
    let word = match verdict {
        PermissionVerdict::Allow => "Allowed",
        PermissionVerdict::Deny => "Denied",
    };
    let shown = shorten(&scope, SHOWN_TARGET);
    let why = shorten(why, 400);
    PermissionDecision {
        decision: verdict,
        capability: capability.as_str().into(),
        policy_refs: policy_refs(view).into_iter().map(Into::into).collect(),
        rationale_summary: format!("{word}: {capability} on {shown}: {why}").into(),
        scope: scope.into(),
    }
}

/// A denied decision, to be carried by a refusal ([`super::Refusal::denying`]).
#[must_use]
pub fn denied(view: &RunView, capability: ActionCapability, target: &str, why: &str) -> PermissionDecision {
    decision(view, PermissionVerdict::Deny, capability, target, why)
}

/// The references of the latest contract and plan.
#[must_use]
pub fn policy_refs(view: &RunView) -> Vec<String> {
    [Kind::TaskContract, Kind::WorkPlan]
        .into_iter()
        .filter_map(|kind| view.latest(kind).map(|stored| view.reference(&stored.id)))
        .collect()
}

/// Whether an action is decided and traced at all: every status but `skipped`.
#[must_use]
pub fn is_checked(status: ActionStatus) -> bool {
    status != ActionStatus::Skipped
}

/// Whether an action was tried: `completed` or `failed`.
#[must_use]
pub fn is_attempted(status: ActionStatus) -> bool {
    matches!(status, ActionStatus::Completed | ActionStatus::Failed)
}

/// The decision on a checked action of an accepted result.
#[must_use]
pub fn recorded(ctx: &Context<'_>, node: &WorkNode, action: &WorkAction) -> PermissionDecision {
    let (capability, target) = (action.capability, &*action.target);
    let deny = |why: &str| decision(ctx.view, PermissionVerdict::Deny, capability, target, why);
    if !node.allowed_tools.contains(&capability) {
        return deny("the node may not use this capability");
    }
    // W-4: an untyped inspection is outside authority, whoever is honest about it.
    if capability == ActionCapability::ShellInspect && !is_typed_inspection(target) {
        return deny("the target is no typed inspection");
    }
    let answer = decide(ctx, node, capability, target);
    if answer.is_allowed() {
        return decision(ctx.view, PermissionVerdict::Allow, capability, target, "every policy allows it");
    }
    deny(&format!("refused by {}", answer.refused_by.join(", ")))
}

/// What the trace may show of a target: a host for network capabilities, otherwise the target without credentials,
/// query and fragment where it looks like a URL.
fn shown_scope(capability: ActionCapability, target: &str) -> String {
    if matches!(capability, ActionCapability::NetworkRead | ActionCapability::ExternalWrite) {
        return shown_host(target).unwrap_or_else(|| "invalid_network_target".to_owned());
    }
    let shown = shorten(&without_secrets(target), SCOPE_LIMIT);
    if shown.is_empty() { "(empty)".to_owned() } else { shown }
}

fn without_secrets(target: &str) -> String {
    let Some((scheme, rest)) = target.split_once("://") else { return target.to_owned() };
    let is_scheme = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    if scheme.is_empty() || !is_scheme {
        return target.to_owned();
    }
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_never_carries_credentials_query_or_fragment() {
        use ActionCapability::{BrowserInspect, NetworkRead, ShellExecute};
        for (capability, target, scope) in [
            (NetworkRead, "https://user:pw@api.example.com/p?q=1", "api.example.com"),
            (NetworkRead, "::", "invalid_network_target"),
            (BrowserInspect, "http://u:p@localhost:3000/a?token=abc#x", "http://localhost:3000/a"),
            (BrowserInspect, "http://u:p@x@localhost/a", "http://localhost/a"),
            (BrowserInspect, "home page", "home page"),
            (ShellExecute, "npm test", "npm test"),
        ] {
            assert_eq!(shown_scope(capability, target), scope, "{target}");
        }
    }

    #[test]
    fn a_scope_of_the_longest_target_still_fits() {
        let target = "é".repeat(2048);
        assert_eq!(crate::text::units(&shown_scope(ActionCapability::RepositoryRead, &target)), 2048);
    }
}
