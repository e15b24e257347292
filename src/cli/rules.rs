//! `telic rules [ID]`: the rules of the controller, from the code.

use super::Failure;
use super::output::{print_json, print_line};
use crate::controller::{RULES, find_rule};
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Arguments of `telic rules`.
#[derive(Debug, Args)]
pub(super) struct RulesArguments {
    /// One rule, for instance C-WP-11
    id: Option<String>,
}

pub(super) fn run(given: &RulesArguments, as_json: bool) -> Result<ExitCode, Failure> {
    let chosen = match &given.id {
        Some(id) => {
            let none = || Failure::coded("rule_unknown", format!("there is no rule {id:?}"));
            vec![find_rule(id).ok_or_else(none)?]
        }
        None => RULES.iter().collect(),
    };
    if as_json {
        let rules: Value = chosen
            .iter()
            .map(|rule| json!({ "id": rule.id, "appliesTo": rule.applies_to, "says": rule.says }))
            .collect();
        print_json(&json!({ "ok": true, "rules": rules }))?;
    } else {
        for rule in chosen {
            print_line(&format!("{:<8} {:<22} {}", rule.id, rule.applies_to, rule.says));
        }
    }
    Ok(ExitCode::SUCCESS)
}
