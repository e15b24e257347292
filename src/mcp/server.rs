//! The server: rmcp's handler over the line layer, with the store opened after the first answer.

use super::diagnostics::say;
use super::line::Lines;
use super::{calls, prompt, tools};
use crate::controller::Schemas;
use crate::grounding::Watch;
use crate::paths::{self, Surroundings};
use crate::service::views::Views;
use crate::service::workflow::Workflow;
use crate::store::Store;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptArgument,
    PromptMessage, ProtocolVersion, Role, ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// How long grounding may take in all.
const GROUNDING: Duration = Duration::from_secs(120);
/// How often a host that asked for it hears that grounding goes on.
const PROGRESS: Duration = Duration::from_secs(1);
/// How long a host may take to name its roots.
const ROOTS: Duration = Duration::from_secs(10);
/// Calls that work at once; more wait for their turn.
const CALLS: u16 = 32;
/// How long the end waits for calls at work.
const LAST_WORK: Duration = Duration::from_millis(300);

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The canonical root of the repository.
    pub repository_root: PathBuf,
    /// The state directory.
    pub state_dir: PathBuf,
    /// How schemas inside next actions are written.
    pub schemas: Schemas,
}

impl Settings {
    /// The repository that was given, else the one that the environment names, and its store, checked without creating
    /// anything.
    ///
    /// # Errors
    /// What is wrong, in one line: the root does not exist or is no folder, or root and state overlap.
    pub fn of_process(schemas: Schemas, repo: Option<&Path>) -> Result<Self, String> {
        let surroundings = Surroundings::of_process().map_err(|error| error.to_string())?;
        let repository_root =
            paths::repository_root(&surroundings, repo).map_err(|error| error.to_string())?;
        if !repository_root.is_dir() {
            return Err(format!("the repository root {} is no folder", repository_root.display()));
        }
        let state_dir =
            paths::state_dir(&surroundings, &repository_root).map_err(|error| error.to_string())?;
        // A workspace that telic prepared lies in the store of its run.
        if !is_workspace(&repository_root, &state_dir) {
            paths::check_overlap(&repository_root, &state_dir).map_err(|error| error.to_string())?;
        }
        Ok(Self { repository_root, state_dir, schemas })
    }
}

/// Whether a folder lies directly below the workspaces of a store.
fn is_workspace(root: &Path, state_dir: &Path) -> bool {
    let workspaces = state_dir.canonicalize().map(|dir| dir.join("workspaces"));
    workspaces.is_ok_and(|workspaces| root.parent() == Some(&workspaces))
}

/// Serves until the end of input.
///
/// # Errors
/// The store cannot be opened.
pub async fn serve(settings: Settings) -> Result<(), String> {
    let server = Server {
        settings,
        workflow: Arc::new(OnceLock::new()),
        calls: Arc::new(Semaphore::new(usize::from(CALLS))),
    };
    let transport = Lines::new(tokio::io::BufReader::new(tokio::io::stdin()), tokio::io::stdout());
    let running = rmcp::service::serve_directly(server.clone(), transport, None);
    // The store is opened now, beside the first answers, so that a failure ends the process at once.
    let opening = async {
        server.opened().await?;
        say(&format!("serving {}", server.settings.repository_root.display()));
        Ok::<(), String>(())
    };
    let stop = running.cancellation_token();
    // How the connection ended makes no difference: the store is closed all the same.
    let ended = async { drop(running.waiting().await) };
    tokio::pin!(ended);
    let outcome = tokio::select! {
        // However short the connection was, a store that cannot be opened is told.
        () = &mut ended => server.opened().await,
        () = signalled() => {
            stop.cancel();
            ended.await;
            Ok(())
        }
        Err(error) = opening => Err(error),
    };
    server.settle().await;
    outcome
}

/// Waits for SIGINT, SIGTERM or SIGHUP.
async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};
    let streams = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = streams else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

#[derive(Clone)]
struct Server {
    settings: Settings,
    workflow: Arc<OnceLock<Result<Workflow, String>>>,
    /// One permit for each call at work.
    calls: Arc<Semaphore>,
}

impl Server {
    /// The workflow; the first caller opens the store.
    fn workflow(&self) -> Result<&Workflow, String> {
        let opened = self.workflow.get_or_init(|| {
            let store = Store::open(&self.settings.state_dir).map_err(|error| error.to_string())?;
            let views = Arc::new(Views::new(store));
            Ok(Workflow::new(views, self.settings.repository_root.clone(), self.settings.schemas))
        });
        opened.as_ref().map_err(Clone::clone)
    }

    /// Opens the store where the disk may be waited for, unless that was done.
    async fn opened(&self) -> Result<(), String> {
        let server = self.clone();
        let opened = tokio::task::spawn_blocking(move || server.workflow().map(|_| ())).await;
        opened.map_err(|error| error.to_string())?
    }

    /// Lets the transactions in progress end and folds in the ledger's log (`mcp.md` 14, 15). Hosts kill soon after
    /// they ask, so nothing is waited for long.
    async fn settle(&self) {
        let idle = self.calls.acquire_many(u32::from(CALLS));
        if tokio::time::timeout(LAST_WORK, idle).await.is_err() {
            say("a call was still at work at the end");
        }
        if let Some(Ok(workflow)) = self.workflow.get()
            && let Err(error) = workflow.views().store().empty_log()
        {
            say(&format!("the log of the ledger was not folded in: {error}"));
        }
    }

    /// Does a call on a thread of its own, where it may wait for the disk.
    async fn work(
        &self,
        request: CallToolRequestParams,
        cancelled: Arc<AtomicBool>,
    ) -> Result<CallToolResult, ErrorData> {
        let internal = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
        let permit = Arc::clone(&self.calls).acquire_owned().await.map_err(|error| internal(&error))?;
        let server = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let given = request.arguments.unwrap_or_default();
            let result = match server.workflow() {
                Ok(workflow) => {
                    let watch = Watch::new(Instant::now() + GROUNDING, Arc::clone(&cancelled));
                    calls::call(&workflow.until(cancelled), &request.name, &given, watch)
                }
                Err(error) => {
                    say(&error);
                    let words = "the store cannot be opened; the server's error stream says why";
                    super::answer::failure("storage_failure", words, serde_json::Map::new())
                }
            };
            drop(permit);
            result
        });
        done.await.map_err(|error| internal(&error))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().build();
        InitializeResult::new(capabilities)
            .with_server_info(Implementation::new("telic", env!("CARGO_PKG_VERSION")))
            .with_instructions(prompt::INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Owned(
            ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"]
                .map(known_version)
                .to_vec(),
        )
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut info = self.get_info();
        let versions = self.supported_protocol_versions();
        let asked = versions.iter().find(|version| **version == request.protocol_version);
        info.protocol_version = asked.or(versions.first()).cloned().unwrap_or_default();
        Ok(info)
    }

    #[expect(deprecated, reason = "hosts still offer roots, and nothing else tells where they work")]
    /// Compares the host's idea of where it works with the repository that is served (`mcp.md` 14, 20).
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let offers = context.peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some());
        if !offers {
            return;
        }
        let asked = tokio::time::timeout(ROOTS, context.peer.list_roots()).await;
        let Ok(Ok(answer)) = asked else { return };
        let uris: Vec<&str> = answer.roots.iter().map(|root| root.uri.as_str()).collect();
        if let Some(warning) = super::roots::mismatch(&uris, &self.settings.repository_root) {
            say(&warning);
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let slow = request.name == "telic_ground_context";
        let token = context.meta.get_progress_token().filter(|_| slow);
        let work = self.work(request, Arc::clone(&cancelled));
        tokio::pin!(work);
        let mut ticks = tokio::time::interval(PROGRESS);
        let mut told = 0.0;
        loop {
            tokio::select! {
                done = &mut work => return done.map(Into::into),
                () = context.ct.cancelled() => {
                    cancelled.store(true, Ordering::SeqCst);
                    return Err(ErrorData::internal_error("cancelled", None));
                }
                _ = ticks.tick(), if token.is_some() => {
                    told += 1.0;
                    if let Some(token) = token.clone() {
                        let progress = ProgressNotificationParam::new(token, told)
                            .with_message("selecting the sources of the run");
                        // A host that does not listen gets its answer all the same.
                        drop(context.peer.notify_progress(progress).await);
                    }
                }
            }
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let argument =
            |name: &str, words: &str| PromptArgument::new(name).with_description(words).with_required(true);
        let arguments = vec![
            argument("original_request", "The user's exact words"),
            argument("mode", "report_only, plan_only, analyze_only, fix_only or analyze_and_fix"),
        ];
        let prompt = Prompt::new(prompt::NAME, Some(prompt::DESCRIPTION), Some(arguments))
            .with_title("Telic workflow");
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != prompt::NAME {
            let message = format!("there is no prompt {:?}; there is {}", request.name, prompt::NAME);
            return Err(ErrorData::invalid_params(message, None));
        }
        let given = request.arguments.unwrap_or_default();
        let given = prompt::arguments(&given).map_err(|message| ErrorData::invalid_params(message, None))?;
        let text = PromptMessage::new_text(Role::User, prompt::message(&given));
        Ok(GetPromptResult::new(vec![text]).with_description(prompt::DESCRIPTION).into())
    }
}

fn known_version(text: &str) -> ProtocolVersion {
    serde_json::from_value(text.into()).unwrap_or_default()
}
