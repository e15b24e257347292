//! The dashboard: state, update, view. It talks to the engine through channels only.
