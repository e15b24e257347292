//! What a command that runs an engine needs: configuration, actor, policy, logs.

use super::Failure;
use crate::config::Config;
use crate::domain::{CheckSource, PolicyFile, actor_name};
use crate::engine::Settings;
use crate::git::Repository;
use std::path::Path;

/// How many runs are worked on at once, when the configuration says nothing.
const WORKERS: u8 = 2;

/// The user's configuration.
///
/// # Errors
/// The file cannot be read or holds an unknown key.
pub(super) fn configuration() -> Result<Config, Failure> {
    let Some(path) = Config::path() else { return Ok(Config::default()) };
    Config::read(&path).map_err(|error| Failure::coded(error.code(), error))
}

/// The user's own policy, which narrows every repository's.
fn user_policy() -> Result<PolicyFile, Failure> {
    let Some(path) = Config::path().map(|config| config.with_file_name("policy.toml")) else {
        return Ok(PolicyFile::default());
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => PolicyFile::parse(&text, &path.display().to_string(), CheckSource::UserPolicy)
            .map_err(|error| Failure::coded(error.code(), error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(PolicyFile::default()),
        Err(error) => Err(Failure::coded("policy_unreadable", format!("{}: {error}", path.display()))),
    }
}

/// In whose name decisions are recorded (AP-5).
pub(super) fn actor(config: &Config, folder: &Path) -> String {
    let email =
        Repository::discover(folder).ok().and_then(|repository| repository.user_email().ok().flatten());
    let user = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten().map(|user| user.name);
    actor_name(config.actor.as_deref(), email.as_deref(), user.as_deref())
        .unwrap_or_else(|| "unknown".to_owned())
}

/// What an engine of this process is started with.
///
/// # Errors
/// The configuration or the user's policy cannot be read.
pub(super) fn settings(config: Config, folder: &Path) -> Result<Settings, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::coded("own_program", error))?;
    Ok(Settings {
        user_policy: user_policy()?,
        program,
        actor: actor(&config, folder),
        workers: usize::from(config.workers.unwrap_or(WORKERS)),
        config,
    })
}

/// Sends what the program notes about itself to a file; nothing of it ever reaches the terminal.
pub(super) fn log_to(folder: &Path) -> Option<tracing_appender::non_blocking::WorkerGuard> {
    std::fs::create_dir_all(folder).ok()?;
    let file = tracing_appender::rolling::RollingFileAppender::builder()
        .rotation(tracing_appender::rolling::Rotation::DAILY)
        .filename_prefix("telic.log")
        .max_log_files(7)
        .build(folder)
        .ok()?;
    let (writer, guard) = tracing_appender::non_blocking(file);
    let filter = tracing_subscriber::EnvFilter::try_from_env("TELIC_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("telic=info"));
    let subscriber = tracing_subscriber::fmt().with_writer(writer).with_ansi(false).with_env_filter(filter);
    // A subscriber that is there already keeps its place.
    subscriber.try_init().ok().map(|()| guard)
}
