//! One type per kind of record id, so that a run id can never stand where a task id is wanted.
//!
//! A new id is a prefix and a ULID; an id that some other program made keeps its form, as long as it is a
//! workflow identifier (`protocol.md` 1.4). Nothing here draws a ULID: it comes in from the caller.

use crate::protocol::is_identifier;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A text that is no workflow identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {text:?} is not 1 to 128 letters, digits and . _ : - that start with a letter or digit")]
pub struct IdError {
    /// Which id was wanted, as `run id`.
    pub kind: &'static str,
    /// The text that was given.
    pub text: String,
}

impl IdError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "invalid_id"
    }
}

macro_rules! ids {
    ($($name:ident $prefix:literal $kind:literal;)*) => {
        $(
            #[doc = concat!("The id of a ", $kind, ": `", $prefix, "` and a ULID, or the id another program gave it.")]
            #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $name(String);

            impl $name {
                /// What a new id starts with.
                pub const PREFIX: &'static str = $prefix;

                /// A new id.
                #[must_use]
                pub fn new(ulid: ulid::Ulid) -> Self {
                    Self(format!("{}{}", $prefix, ulid.to_string()))
                }

                /// Reads an id of any form.
                ///
                /// # Errors
                /// [`IdError`] when `text` is no workflow identifier.
                pub fn parse(text: &str) -> Result<Self, IdError> {
                    if is_identifier(text) {
                        Ok(Self(text.to_owned()))
                    } else {
                        Err(IdError { kind: concat!($kind, " id"), text: text.to_owned() })
                    }
                }

                /// The id as text.
                #[must_use]
                pub fn as_str(&self) -> &str {
                    &self.0
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.pad(&self.0)
                }
            }

            impl AsRef<str> for $name {
                fn as_ref(&self) -> &str {
                    &self.0
                }
            }

            impl std::str::FromStr for $name {
                type Err = IdError;
                fn from_str(text: &str) -> Result<Self, IdError> {
                    Self::parse(text)
                }
            }

            impl Serialize for $name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_str(&self.0)
                }
            }

            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let text = String::deserialize(deserializer)?;
                    Self::parse(&text).map_err(serde::de::Error::custom)
                }
            }
        )*

        #[cfg(test)]
        const PREFIXES: &[(&str, fn(ulid::Ulid) -> String)] =
            &[$(($prefix, |ulid| $name::new(ulid).to_string()),)*];
    };
}

ids! {
    SessionId "session_" "session";
    MessageId "message_" "message";
    TaskId "task_" "task";
    RunId "run_" "run";
    AttemptId "attempt_" "attempt";
    LeaseId "lease_" "lease";
    StepId "step_" "step";
    CallId "call_" "tool call";
    ArtifactId "artifact_" "artifact";
    PatchId "patch_" "patch";
    VerificationId "verification_" "verification report";
    JudgeId "judge_" "judge report";
    VerdictId "verdict_" "verdict";
    ApprovalId "approval_" "approval";
    RequestId "request_" "request";
    EventId "event_" "event";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_id_is_its_prefix_and_the_ulid_and_a_workflow_identifier() {
        let ulid = ulid::Ulid::from_parts(1_700_000_000_000, 42);
        for (prefix, make) in PREFIXES {
            let id = make(ulid);
            assert_eq!(id, format!("{prefix}{}", ulid.to_string()));
            assert!(is_identifier(&id), "{id}");
        }
        assert_eq!(PREFIXES.len(), 16);
    }

    #[test]
    fn an_id_of_another_program_keeps_its_form() {
        for text in ["6f1c2e0a-0000-4000-8000-000000000000", "a", "run:7.x_Y-z"] {
            assert_eq!(RunId::parse(text).unwrap().as_str(), text);
        }
        let json = serde_json::to_string(&RunId::parse("x-1").unwrap()).unwrap();
        assert_eq!(json, "\"x-1\"");
    }

    #[test]
    fn what_is_no_identifier_is_refused_also_in_json() {
        let long = "a".repeat(129);
        for text in ["", "-a", "a b", "a/b", "é", "a\n", long.as_str()] {
            assert_eq!(TaskId::parse(text).unwrap_err().code(), "invalid_id", "{text:?}");
            assert!(serde_json::from_value::<TaskId>(text.into()).is_err(), "{text:?}");
        }
        assert!(TaskId::parse(&"a".repeat(128)).is_ok());
    }
}
