//! Finds the references of a body, in schema order, each with its path (`controller.md` 6.1).

use crate::protocol::Body;
use serde_json::Value;

/// The names of the fields in which a string can be a reference, sorted.
const FIELDS: [&str; 40] = [
    "applicableRuleRefs",
    "argumentsRef",
    "changeRefs",
    "clarificationRequestRef",
    "commandRef",
    "contextManifestRef",
    "contextRefs",
    "derivedRefs",
    "diffRef",
    "directEvidenceRefs",
    "evidenceInspected",
    "evidenceRefs",
    "findingRefs",
    "followupRequestRefs",
    "inputRefs",
    "instructionRef",
    "originalRequestRef",
    "outputRef",
    "outputRefs",
    "pinnedRefs",
    "policyRefs",
    "problemFrameRef",
    "promptReadinessRubricRef",
    "qualityReviewRef",
    "ref",
    "requestRef",
    "resultRef",
    "ruleRefs",
    "sourceRef",
    "sourceRefs",
    "subjectRef",
    "targetRef",
    "taskContractRef",
    "toolEventRefs",
    "traceRef",
    "userReportRef",
    "verificationRefs",
    "workPlanRef",
    "workPlanRefs",
    "workResultRefs",
];

/// A reference and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The reference itself.
    pub reference: String,
    /// Its path, `body.nodes[0].inputRefs[2]` or `sourceRefs[1]`.
    pub path: String,
    /// The path with every index left out: `nodes[].inputRefs[]`; empty for the submission's own references.
    pub shape: String,
    /// The index of the first list on the path.
    pub entry: Option<usize>,
}

impl Found {
    /// The name of the field it stands in.
    #[must_use]
    pub fn field(&self) -> &str {
        let last = self.shape.rsplit('.').next().unwrap_or_default();
        last.trim_end_matches("[]")
    }

    /// A reference of the submission itself, beside the body.
    #[must_use]
    pub fn given(index: usize, reference: &str) -> Self {
        Self {
            reference: reference.to_owned(),
            path: format!("sourceRefs[{index}]"),
            shape: String::new(),
            entry: Some(index),
        }
    }
}

/// Every reference of a body, depth first in the order of the schema.
#[must_use]
pub fn recognised(body: &Body) -> Vec<Found> {
    recognised_in(&body.encode())
}

/// As [`recognised`], for a body that was encoded already.
#[must_use]
pub(super) fn recognised_in(encoded: &Value) -> Vec<Found> {
    let mut walk = Walk { path: "body".to_owned(), shape: String::new(), entry: None, found: Vec::new() };
    walk.object(encoded);
    walk.found
}

struct Walk {
    path: String,
    shape: String,
    entry: Option<usize>,
    found: Vec<Found>,
}

impl Walk {
    fn object(&mut self, value: &Value) {
        let Value::Object(object) = value else { return };
        for (key, value) in object {
            let (path, shape) = (self.path.len(), self.shape.len());
            self.path.push('.');
            self.path.push_str(key);
            if !self.shape.is_empty() {
                self.shape.push('.');
            }
            self.shape.push_str(key);
            self.value(value, FIELDS.binary_search(&key.as_str()).is_ok());
            self.path.truncate(path);
            self.shape.truncate(shape);
        }
    }

    fn value(&mut self, value: &Value, named: bool) {
        match value {
            Value::Object(_) => self.object(value),
            Value::Array(entries) => {
                let (path, shape) = (self.path.len(), self.shape.len());
                let first = self.entry.is_none();
                self.shape.push_str("[]");
                for (index, entry) in entries.iter().enumerate() {
                    self.path.push_str(&format!("[{index}]"));
                    if first {
                        self.entry = Some(index);
                    }
                    self.value(entry, named);
                    self.path.truncate(path);
                }
                if first {
                    self.entry = None;
                }
                self.shape.truncate(shape);
            }
            Value::String(text) if named && has_scheme(text) => self.found.push(Found {
                reference: text.clone(),
                path: self.path.clone(),
                shape: self.shape.clone(),
                entry: self.entry,
            }),
            _ => {}
        }
    }
}

fn has_scheme(text: &str) -> bool {
    ["artifact://", "repo://", "trace://"].iter().any(|scheme| text.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn field_names_are_sorted_for_the_search() {
        assert!(FIELDS.is_sorted());
    }

    #[test]
    fn references_are_found_depth_first_with_their_paths() {
        let body = json!({
            "a": { "b": [{ "evidenceRefs": ["artifact://r/1", "no reference"] }, { "evidenceRefs": ["repo://x"] }] },
            "content": "artifact://r/not-named",
            "traceRef": "trace://r",
        });
        let found: Vec<_> = recognised_in(&body).into_iter().map(|f| (f.path, f.shape, f.entry)).collect();
        assert_eq!(
            found,
            [
                ("body.a.b[0].evidenceRefs[0]".into(), "a.b[].evidenceRefs[]".to_owned(), Some(0)),
                ("body.a.b[1].evidenceRefs[0]".into(), "a.b[].evidenceRefs[]".to_owned(), Some(1)),
                ("body.traceRef".into(), "traceRef".to_owned(), None),
            ]
        );
    }
}
