//! Grounding of real repositories.
