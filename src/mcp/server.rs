//! The server: rmcp's handler over the line layer, with the store opened after the first answer.

use super::line::Lines;
use super::{calls, prompt, tools};
use crate::controller::Schemas;
use crate::grounding::Watch;
use crate::paths::{self, Surroundings};
use crate::service::views::Views;
use crate::service::workflow::Workflow;
use crate::store::Store;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult, ListToolsResult,
    PaginatedRequestParams, Prompt, PromptArgument, PromptMessage, ProtocolVersion, Role, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long grounding may take in all.
const GROUNDING: Duration = Duration::from_secs(120);

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
    /// The repository and store that the environment names, checked without creating anything.
    ///
    /// # Errors
    /// What is wrong, in one line: the root does not exist or is no folder, or root and state overlap.
    pub fn of_process(schemas: Schemas) -> Result<Self, String> {
        let surroundings = Surroundings::of_process().map_err(|error| error.to_string())?;
        let repository_root =
            paths::repository_root(&surroundings, None).map_err(|error| error.to_string())?;
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
    let server = Server { settings, workflow: Arc::new(OnceLock::new()) };
    let transport = Lines::new(tokio::io::BufReader::new(tokio::io::stdin()), tokio::io::stdout());
    let running = rmcp::service::serve_directly(server.clone(), transport, None);
    // The store is opened now, beside the first answers, so that a failure ends the process at once.
    let opening = {
        let server = server.clone();
        tokio::task::spawn_blocking(move || server.workflow().map(|_| ()))
    };
    let stop = running.cancellation_token();
    let ended = async {
        // How the connection ended makes no difference: the store is closed all the same.
        let _ = running.waiting().await;
    };
    tokio::pin!(ended);
    let mut outcome = Ok(());
    tokio::select! {
        () = &mut ended => {}
        () = signalled() => stop.cancel(),
        Ok(Err(error)) = opening => outcome = Err(error),
    }
    if outcome.is_ok() {
        ended.await;
    }
    if let Some(Ok(workflow)) = server.workflow.get() {
        // Nothing waits for the log to be emptied; a killed process leaves it as it is.
        let _ = workflow.views().store().empty_log();
    }
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
        let server = self.clone();
        let cancelled = Arc::new(AtomicBool::new(false));
        let watch = Watch::new(Instant::now() + GROUNDING, Arc::clone(&cancelled));
        let work = tokio::task::spawn_blocking(move || {
            let given = request.arguments.unwrap_or_default();
            match server.workflow() {
                Ok(workflow) => calls::call(workflow, &request.name, &given, watch),
                Err(error) => super::answer::failure("storage_failure", &error, serde_json::Map::new()),
            }
        });
        tokio::select! {
            done = work => done.map(Into::into).map_err(|error| ErrorData::internal_error(error.to_string(), None)),
            () = context.ct.cancelled() => {
                cancelled.store(true, Ordering::SeqCst);
                Err(ErrorData::internal_error("cancelled", None))
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
