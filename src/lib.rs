//! telic supervises coding agents from a terminal.
//!
//! The layers stand in this order, and each uses only what stands before it: [`protocol`], [`domain`],
//! [`controller`], [`store`], [`git`], [`grounding`], [`service`], [`engine`], [`mcp`], [`tui`], [`cli`].
//! `docs/architecture.md` tells what each is for.

pub mod text;

pub mod config;

pub mod paths;

pub mod protocol;

pub mod domain;

pub mod controller;

pub mod store;

pub mod git;

pub mod grounding;

pub mod service;

pub mod engine;

pub mod mcp;

pub mod tui;

pub mod cli;
