//! The state machine of the workflow as a pure function from a run view and a submission to what changes.
