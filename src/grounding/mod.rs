//! Repository inventory, ranking and secret detection.
