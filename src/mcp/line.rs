//! The line layer: one JSON-RPC message per line on standard input and output.
//!
//! A line that is no message is answered with an error and never ends the server (`mcp.md` 14, 6 and 7). At the
//! end of input, what is in flight is answered first. Only whole protocol lines are ever written, by one task.
//!
//! The service drops `receive` whenever something else happens first, so nothing that it read or still has to say
//! may live in its future: both stand in [`Lines`].

use super::message::{Incoming, error, read_line};
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc, oneshot};

/// The longest line, in bytes.
pub(super) const LINE_LIMIT: usize = 16 << 20;
/// Lines that wait to be written before reading stops.
const WAITING: usize = 64;

/// Messages over a pair of streams.
pub(super) struct Lines<R> {
    reader: R,
    begun: Begun,
    /// Our own answers that were not handed to the writer yet.
    unsaid: Option<Value>,
    output: mpsc::Sender<Written>,
    in_flight: Arc<InFlight>,
}

/// A line on its way out, and who wants to know that it is out.
struct Written {
    line: Vec<u8>,
    done: oneshot::Sender<io::Result<()>>,
}

/// The beginning of a line whose end was not read yet.
#[derive(Default)]
struct Begun {
    bytes: Vec<u8>,
    length: usize,
}

impl Begun {
    fn add(&mut self, part: &[u8]) {
        self.length += part.len();
        if self.length <= LINE_LIMIT {
            self.bytes.extend_from_slice(part);
        } else {
            // A line that nobody will read needs no room.
            self.bytes = Vec::new();
        }
    }

    /// The whole line, or the length of one that is too long.
    fn end(&mut self) -> Result<Vec<u8>, usize> {
        let whole = std::mem::take(self);
        if whole.length > LINE_LIMIT { Err(whole.length) } else { Ok(whole.bytes) }
    }
}

/// The requests that were not answered yet.
#[derive(Default)]
struct InFlight {
    requests: Mutex<Requests>,
    answered: Notify,
}

/// Ids that wait for an answer, and how many answers are on their way out.
///
/// An id is free before its answer is out: whoever reads the answer may use the id at once.
#[derive(Default)]
struct Requests {
    ids: HashSet<String>,
    leaving: usize,
}

impl InFlight {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no other request with this id waits for its answer.
    fn add(&self, id: &Value) -> bool {
        self.requests().ids.insert(id.to_string())
    }

    fn cancelled(&self, id: &Value) {
        self.requests().ids.remove(&id.to_string());
        self.answered.notify_waiters();
    }

    fn leaves(&self, id: &Value) {
        let mut requests = self.requests();
        requests.ids.remove(&id.to_string());
        requests.leaving += 1;
    }

    fn is_out(&self) {
        self.requests().leaving -= 1;
        self.answered.notify_waiters();
    }

    fn is_empty(&self) -> bool {
        let requests = self.requests();
        requests.ids.is_empty() && requests.leaving == 0
    }

    async fn drained(&self) {
        loop {
            let answered = self.answered.notified();
            tokio::pin!(answered);
            // Registered before the look, so that an answer in between is not missed.
            answered.as_mut().enable();
            if self.is_empty() {
                return;
            }
            answered.await;
        }
    }
}

impl<R: AsyncBufRead + Send + Unpin> Lines<R> {
    /// Messages read from `reader` and written to `writer`, which gets a task of the current runtime.
    pub(super) fn new(reader: R, writer: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (output, lines) = mpsc::channel(WAITING);
        tokio::spawn(write_all(writer, lines));
        Self { reader, begun: Begun::default(), unsaid: None, output, in_flight: Arc::default() }
    }

    /// The next line without its end; nothing at the end of input. A line over the limit is skipped to its end.
    async fn next_line(&mut self) -> io::Result<Option<Result<Vec<u8>, usize>>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                // The last line may lack its end.
                return Ok((self.begun.length > 0).then(|| self.begun.end()));
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            self.begun.add(part);
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(self.begun.end()));
            }
        }
    }

    /// Hands over what is unsaid.
    async fn say(&mut self) -> Option<()> {
        if self.unsaid.is_some() {
            let permit = self.output.reserve().await.ok()?;
            if let Some(message) = self.unsaid.take() {
                permit.send(Written { line: line_of(&message), done: oneshot::channel().0 });
            }
        }
        Some(())
    }
}

fn line_of(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Writes lines one after another until nobody has any more, or the stream is closed.
async fn write_all(mut writer: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Written>) {
    while let Some(Written { line, done }) = lines.recv().await {
        let mut written = writer.write_all(&line).await;
        if written.is_ok() {
            written = writer.flush().await;
        }
        let broken = written.is_err();
        // Who asked may have gone meanwhile.
        let _ = done.send(written);
        if broken {
            return;
        }
    }
}

async fn hand_over(output: &mpsc::Sender<Written>, line: Vec<u8>) -> io::Result<()> {
    let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
    let (done, written) = oneshot::channel();
    output.send(Written { line, done }).await.map_err(|_| closed())?;
    written.await.map_err(|_| closed())?
}

impl<R: AsyncBufRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (output, in_flight) = (self.output.clone(), Arc::clone(&self.in_flight));
        async move {
            let message = serde_json::to_value(&item).map_err(io::Error::other)?;
            let answered = message.get("id").filter(|_| message.get("method").is_none());
            if let Some(id) = answered {
                in_flight.leaves(id);
            }
            let sent = hand_over(&output, line_of(&message)).await;
            if answered.is_some() {
                in_flight.is_out();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // A closed output ends the server (`mcp.md` 14, 15).
            let output = self.output.clone();
            let line = tokio::select! {
                biased;
                () = output.closed() => return None,
                line = async { self.say().await?; Some(self.next_line().await) } => line?,
            };
            let incoming = match line {
                Ok(Some(Ok(line))) => read_line(&line),
                Ok(Some(Err(length))) => {
                    let text = format!("the line has {length} bytes, at most {LINE_LIMIT} are read");
                    Incoming::Answer(error(&Value::Null, -32700, &text))
                }
                Ok(None) | Err(_) => {
                    self.in_flight.drained().await;
                    return None;
                }
            };
            match incoming {
                Incoming::Nothing => {}
                Incoming::Answer(answer) => self.unsaid = Some(answer),
                Incoming::Cancelled(message, request) => {
                    // Nobody waits for the answer of a cancelled request.
                    self.in_flight.cancelled(&request);
                    return Some(*message);
                }
                Incoming::Message(message, id) => {
                    if let Some(id) = id.filter(|id| !self.in_flight.add(id)) {
                        // Two answers with one id could not be told apart, and only one would be given.
                        let text = "a request with this id waits for its answer";
                        self.unsaid = Some(error(&id, -32600, text));
                        continue;
                    }
                    return Some(*message);
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        if self.say().await.is_some() {
            // An empty line comes out last: everything before it is out then.
            hand_over(&self.output, Vec::new()).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt as _, BufReader, duplex};

    /// A transport over which `input` arrived, and the stream that it answers on.
    fn over(
        input: &[u8],
        buffer: usize,
    ) -> (Lines<BufReader<std::io::Cursor<Vec<u8>>>>, tokio::io::DuplexStream) {
        let reader = BufReader::with_capacity(buffer, std::io::Cursor::new(input.to_vec()));
        let (ours, theirs) = duplex(1 << 20);
        (Lines::new(reader, ours), theirs)
    }

    async fn said(
        lines: Lines<BufReader<std::io::Cursor<Vec<u8>>>>,
        mut output: tokio::io::DuplexStream,
    ) -> Vec<Value> {
        let mut lines = lines;
        lines.close().await.unwrap();
        drop(lines);
        let mut text = String::new();
        output.read_to_string(&mut text).await.unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn every_bad_line_is_answered_and_the_next_one_is_read() {
        let input = b"\n  \r\nnonsense\n[]\n{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}\n\
            {\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\
            {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}";
        let (mut lines, output) = over(input, 5);
        let first = serde_json::to_value(lines.receive().await.unwrap()).unwrap();
        assert_eq!(first["method"], "notifications/initialized");
        let second = serde_json::to_value(lines.receive().await.unwrap()).unwrap();
        assert_eq!((&second["method"], &second["id"]), (&json!("ping"), &json!(7)));
        let said = said(lines, output).await;
        let codes: Vec<&Value> = said.iter().map(|answer| &answer["error"]["code"]).collect();
        assert_eq!(codes, [-32700, -32600, -32600, -32600]);
        assert!(said.iter().all(|answer| answer["id"].is_null()));
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_skipped_to_its_end() {
        let mut input = vec![b'x'; LINE_LIMIT + 1];
        input.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
        let (mut lines, output) = over(&input, 1 << 16);
        let next = serde_json::to_value(lines.receive().await.unwrap()).unwrap();
        assert_eq!(next["id"], 1);
        let said = said(lines, output).await;
        assert_eq!((said.len(), &said[0]["error"]["code"]), (1, &json!(-32700)));
    }

    #[tokio::test]
    async fn a_dropped_receive_loses_nothing_that_was_read() {
        let (mut client, ours) = duplex(64);
        let mut lines = Lines::new(BufReader::new(ours), tokio::io::sink());
        client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,").await.unwrap();
        let dropped = tokio::time::timeout(Duration::from_millis(1), lines.receive()).await;
        assert!(dropped.is_err(), "half a line is no message");
        client.write_all(b"\"method\":\"ping\"}\n").await.unwrap();
        let message = serde_json::to_value(lines.receive().await.unwrap()).unwrap();
        assert_eq!((&message["method"], &message["id"]), (&json!("ping"), &json!(1)));
    }

    #[tokio::test]
    async fn a_closed_output_ends_the_messages() {
        let (ours, theirs) = duplex(64);
        drop(theirs);
        let (_client, input) = duplex(64);
        let mut lines = Lines::new(BufReader::new(input), ours);
        lines.unsaid = Some(json!({}));
        assert!(lines.receive().await.is_none());
    }
}
