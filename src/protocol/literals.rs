//! Fields with one value only.

use crate::wire_literal;

wire_literal! {
    /// The version of the protocol.
    pub struct SchemaVersion = "string" "1.0";
}

wire_literal! {
    /// Discriminator of a selected candidate.
    pub struct Selected = "string" "selected";
}

wire_literal! {
    /// Discriminator of an excluded candidate.
    pub struct Excluded = "string" "excluded";
}

wire_literal! {
    /// Discriminator of a phase action.
    pub struct PhaseKind = "string" "phase";
}

wire_literal! {
    /// Discriminator of a clarification action.
    pub struct ClarificationKind = "string" "clarification";
}

wire_literal! {
    /// Discriminator of a terminal action.
    pub struct TerminalKind = "string" "terminal";
}

wire_literal! {
    /// The phase of a clarification action.
    pub struct AwaitingClarification = "string" "awaiting_clarification";
}

wire_literal! {
    /// Discriminator: no clarification is needed.
    pub struct NotRequired = "boolean" false;
}

wire_literal! {
    /// Discriminator: a clarification is needed.
    pub struct IsRequired = "boolean" true;
}

wire_literal! {
    /// The rubric of a prompt review.
    pub struct ReadinessRubric = "string" "contract-readiness-v1";
}

wire_literal! {
    /// The rubric of a quality review.
    pub struct QualityRubric = "string" "execution-quality-v1";
}

wire_literal! {
    /// The only execution mode.
    pub struct Serial = "string" "serial";
}

wire_literal! {
    /// The only output type of a node.
    pub struct WorkResultType = "string" "WorkResult";
}

wire_literal! {
    /// The only number of workers of a plan.
    pub struct OneWorker = "number" 1;
}

wire_literal! {
    /// The role that plans a correction.
    pub struct ToQualityController = "string" "quality_controller";
}
