//! The intersection of permissions as a table: the controller's layers in the form that is shown.

use crate::controller::RunView;
use crate::controller::authority::{Layer, LayerRow, Word, layers};
use crate::controller::predicates::pending_node;
use crate::controller::{RepositoryPolicy, RunPhase};
use crate::protocol::Kind;
use crate::service::snapshot::{CellRule, PermissionCell, PermissionRow, PermissionTable};
use crate::service::supervision::POLICY_PATH;

pub(super) fn table(view: &RunView, policy: Option<&RepositoryPolicy>) -> PermissionTable {
    let node = (view.run.phase == RunPhase::Execute).then(|| pending_node(view)).flatten();
    let node = node.map(|node| node.id.to_string());
    let contract = view.latest(Kind::TaskContract).map(|stored| stored.id.clone());
    let source = |layer: Layer| match layer {
        Layer::Policy => policy.map(|_| POLICY_PATH.to_owned()),
        Layer::Contract => contract.clone(),
        Layer::Node => node.as_ref().map(|node| format!("node {node}")),
        Layer::Mode | Layer::Granted | Layer::Denied => None,
    };
    let rows = layers(view, policy).iter().map(|row| shown(row, &source)).collect();
    PermissionTable { rows, node }
}

fn shown(row: &LayerRow, source: &dyn Fn(Layer) -> Option<String>) -> PermissionRow {
    let mut cells: [PermissionCell; 7] = std::array::from_fn(|_| PermissionCell::default());
    for ((cell, word), layer) in cells.iter_mut().zip(&row.words).zip(Layer::ALL) {
        *cell = said(word);
        // A layer that says nothing has no place to name.
        cell.source = if cell.rule == CellRule::Silent { None } else { source(layer) };
    }
    cells[6] = said(&row.effective);
    PermissionRow {
        capability: row.capability.as_str().to_owned(),
        cells,
        closed_by: row.closed_by.and_then(|layer| Layer::ALL.iter().position(|other| *other == layer)),
    }
}

fn said(word: &Word) -> PermissionCell {
    let (rule, scopes) = match word {
        Word::Silent => (CellRule::Silent, Vec::new()),
        Word::Allows(scopes) => (CellRule::Allows, scopes.clone()),
        Word::Closes => (CellRule::Closes, Vec::new()),
    };
    PermissionCell { rule, scopes, source: None }
}
