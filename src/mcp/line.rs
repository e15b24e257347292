//! The line layer: one JSON-RPC message per line on standard input and output.
//!
//! A line that is no message is answered with an error and never ends the server (`mcp.md` 14, 6 and 7). At the
//! end of input, what is in flight is answered first. Only protocol lines are ever written.

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex, Notify};

/// The longest line, in bytes.
pub(super) const LINE_LIMIT: usize = 16 << 20;

/// Messages over a pair of streams.
pub(super) struct Lines<R, W> {
    reader: R,
    writer: Arc<Mutex<W>>,
    in_flight: Arc<InFlight>,
}

/// Ids of the requests that were not answered yet.
#[derive(Default)]
struct InFlight {
    ids: StdMutex<HashSet<String>>,
    answered: Notify,
}

impl InFlight {
    fn add(&self, id: &Value) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_string());
    }

    fn remove(&self, id: &Value) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).remove(&id.to_string());
        self.answered.notify_waiters();
    }

    fn is_empty(&self) -> bool {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    async fn drained(&self) {
        loop {
            let answered = self.answered.notified();
            if self.is_empty() {
                return;
            }
            answered.await;
        }
    }
}

/// What a line turned out to be.
enum Line {
    Message(Box<RxJsonRpcMessage<RoleServer>>, Option<Value>),
    Cancelled(Box<RxJsonRpcMessage<RoleServer>>, Value),
    Answer(Value),
    Nothing,
}

impl<R, W> Lines<R, W>
where
    R: AsyncBufRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Messages read from `reader` and written to `writer`.
    pub(super) fn new(reader: R, writer: W) -> Self {
        Self { reader, writer: Arc::new(Mutex::new(writer)), in_flight: Arc::default() }
    }

    /// The next line without its end; nothing at the end of input. A line over the limit is skipped to its end.
    async fn next_line(&mut self) -> io::Result<Option<Result<Vec<u8>, usize>>> {
        let mut line = Vec::new();
        let mut length = 0;
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(match (length, length > LINE_LIMIT) {
                    (0, _) => None,
                    (_, true) => Some(Err(length)),
                    (_, false) => Some(Ok(line)),
                });
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            length += part.len();
            if length <= LINE_LIMIT {
                line.extend_from_slice(part);
            } else {
                line = Vec::new();
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(if length > LINE_LIMIT { Err(length) } else { Ok(line) }));
            }
        }
    }
}

async fn write_line<W: AsyncWrite + Unpin>(writer: &Mutex<W>, message: &Value) -> io::Result<()> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    let mut writer = writer.lock().await;
    writer.write_all(&line).await?;
    writer.flush().await
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Reads one line as a message.
fn read_line(bytes: &[u8]) -> Line {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Line::Nothing;
    }
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(reason) => {
            return Line::Answer(error(&Value::Null, -32700, &format!("the line is not JSON: {reason}")));
        }
    };
    let Value::Object(object) = value else {
        return Line::Answer(error(
            &Value::Null,
            -32600,
            "a message is one JSON object; batches are not supported",
        ));
    };
    read_message(object)
}

fn read_message(mut object: Map<String, Value>) -> Line {
    let invalid = |message: &str| Line::Answer(error(&Value::Null, -32600, message));
    if object.get("jsonrpc") != Some(&json!("2.0")) {
        return invalid("the member jsonrpc must be \"2.0\"");
    }
    let id = object.get("id").cloned();
    let is_call = object.contains_key("method");
    match &id {
        None | Some(Value::String(_)) => {}
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => {}
        Some(_) if is_call => return invalid("an id is a string or a whole number"),
        // An answer to something that was never asked.
        Some(_) => return Line::Nothing,
    }
    if !is_call {
        return Line::Nothing;
    }
    let Some(method) = object.get("method").and_then(Value::as_str).map(str::to_owned) else {
        return invalid("the member method must be a string");
    };
    if let Some(id) = &id
        && let Some(answer) = refuse_shape(&method, object.get("params"), id)
    {
        return Line::Answer(answer);
    }
    if method == "tools/call"
        && let Some(Value::Object(params)) = object.get_mut("params")
        && !params.contains_key("arguments")
    {
        params.insert("arguments".into(), json!({}));
    }
    let cancelled = (method == "notifications/cancelled")
        .then(|| object.get("params").and_then(|params| params.get("requestId")).cloned())
        .flatten();
    match serde_json::from_value(Value::Object(object)) {
        Ok(message) => match cancelled {
            Some(request) => Line::Cancelled(Box::new(message), request),
            None => Line::Message(Box::new(message), id),
        },
        Err(reason) => match id {
            Some(id) => {
                Line::Answer(error(&id, -32603, &format!("the params do not fit {method}: {reason}")))
            }
            None => Line::Nothing,
        },
    }
}

/// The errors for params that a known method cannot have (`mcp.md` 9).
fn refuse_shape(method: &str, params: Option<&Value>, id: &Value) -> Option<Value> {
    let refuse = |code, message: &str| Some(error(id, code, message));
    if params.is_some_and(|params| !params.is_object()) {
        return refuse(-32603, "params must be an object");
    }
    let member = |name: &str| params.and_then(|params| params.get(name));
    match method {
        "tools/call" => {
            if !member("name").is_some_and(Value::is_string) {
                return refuse(-32603, "tools/call needs the name of a tool");
            }
            if member("arguments").is_some_and(|arguments| !arguments.is_object()) {
                return refuse(-32603, "the arguments of a tool are an object");
            }
            if member("task").is_some() {
                return refuse(-32603, "tasks are not supported");
            }
            None
        }
        "prompts/get" if !member("name").is_some_and(Value::is_string) => {
            refuse(-32602, "prompts/get needs the name of a prompt")
        }
        _ => None,
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncBufRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (writer, in_flight) = (Arc::clone(&self.writer), Arc::clone(&self.in_flight));
        async move {
            let message = serde_json::to_value(&item).map_err(io::Error::other)?;
            let sent = write_line(&writer, &message).await;
            if message.get("method").is_none()
                && let Some(id) = message.get("id")
            {
                in_flight.remove(id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let line = match self.next_line().await {
                Ok(Some(Ok(line))) => line,
                Ok(Some(Err(length))) => {
                    let text = format!("the line has {length} bytes, at most {LINE_LIMIT} are read");
                    write_line(&self.writer, &error(&Value::Null, -32700, &text)).await.ok()?;
                    continue;
                }
                Ok(None) | Err(_) => {
                    self.in_flight.drained().await;
                    return None;
                }
            };
            match read_line(&line) {
                Line::Nothing => {}
                Line::Answer(answer) => write_line(&self.writer, &answer).await.ok()?,
                Line::Cancelled(message, request) => {
                    // Nobody waits for the answer of a cancelled request.
                    self.in_flight.remove(&request);
                    return Some(*message);
                }
                Line::Message(message, id) => {
                    if let Some(id) = &id {
                        self.in_flight.add(id);
                    }
                    return Some(*message);
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.writer.lock().await.flush().await
    }
}
