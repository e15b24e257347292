//! Any artifact body, decoded by its type.

use super::wire::{self, Fault, Wire};
use super::{
    ArtifactType, ClarificationRequest, ContextDocument, ContextManifest, Evidence, LogicalRole, NextAction,
    ProblemFrame, PromptReview, QualityReview, ReleaseAudit, RunEnvelope, ScenarioSpec, TaskContract,
    TraceEvent, UserMessage, UserReport, WorkPlan, WorkResult,
};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

macro_rules! kinds {
    ($($kind:ident: $producer:expr;)*) => {
        /// Every type an artifact body can have: the published ones, and the two that only the store knows
        /// (`protocol.md` 6).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind { $(#[doc = concat!("See [`", stringify!($kind), "`](super::", stringify!($kind), ").")] $kind,)* }

        impl Kind {
            /// Every type.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// The name of the type.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind),)* }
            }

            /// The role that writes the type (`controller.md` 1.4); nothing for a clarification request, which
            /// the role of the current phase writes.
            #[must_use]
            pub fn producer(self) -> Option<LogicalRole> {
                match self { $(Self::$kind => $producer,)* }
            }

            /// The published JSON Schema of the type.
            #[must_use]
            pub fn schema(self) -> Value {
                match self { $(Self::$kind => wire::schema::<super::$kind>(),)* }
            }
        }

        /// A body, decoded.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(clippy::large_enum_variant, reason = "bodies are held behind an Arc")]
        pub enum Body { $(#[doc = concat!("A [`", stringify!($kind), "`](super::", stringify!($kind), ").")] $kind($kind),)* }

        impl Body {
            /// Reads a body of the given type.
            ///
            /// # Errors
            /// All faults, in the order of `protocol.md` 1.9.
            pub fn read(kind: Kind, value: &Value) -> Result<Self, Vec<Fault>> {
                match kind { $(Kind::$kind => wire::read::<$kind>(value).map(Self::$kind),)* }
            }

            /// Its type.
            #[must_use]
            pub fn kind(&self) -> Kind {
                match self { $(Self::$kind(_) => Kind::$kind,)* }
            }

            /// The body as JSON, with defaults filled in, fields in the order of their tables.
            #[must_use]
            pub fn encode(&self) -> Value {
                match self { $(Self::$kind(body) => body.encode(),)* }
            }
        }

        $(
            impl From<$kind> for Body {
                fn from(body: $kind) -> Self {
                    Self::$kind(body)
                }
            }

            impl<'a> TryFrom<&'a Body> for &'a $kind {
                type Error = ();
                fn try_from(body: &'a Body) -> Result<Self, ()> {
                    match body { Body::$kind(body) => Ok(body), _ => Err(()) }
                }
            }
        )*
    };
}

kinds! {
    RunEnvelope: Some(LogicalRole::Controller);
    ContextManifest: Some(LogicalRole::Controller);
    NextAction: Some(LogicalRole::Controller);
    ClarificationRequest: None;
    ProblemFrame: Some(LogicalRole::ScenarioAuthor);
    ScenarioSpec: Some(LogicalRole::ScenarioAuthor);
    TaskContract: Some(LogicalRole::TaskCompiler);
    PromptReview: Some(LogicalRole::ScenarioAuthor);
    WorkPlan: Some(LogicalRole::QualityController);
    WorkResult: Some(LogicalRole::Executor);
    QualityReview: Some(LogicalRole::QualityController);
    ReleaseAudit: Some(LogicalRole::ReleaseAuditor);
    UserReport: Some(LogicalRole::ReleaseAuditor);
    TraceEvent: Some(LogicalRole::Controller);
    Evidence: Some(LogicalRole::Executor);
    UserMessage: Some(LogicalRole::User);
    ContextDocument: Some(LogicalRole::Controller);
}

impl Kind {
    /// The published type, for all but the two that only the store knows.
    #[must_use]
    pub fn published(self) -> Option<ArtifactType> {
        self.as_str().parse().ok()
    }
}

impl From<ArtifactType> for Kind {
    fn from(published: ArtifactType) -> Self {
        published.as_str().parse().expect("every published type is a kind")
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|kind| kind.as_str() == text);
        found.copied().ok_or_else(|| format!("{text:?} is no artifact type"))
    }
}
