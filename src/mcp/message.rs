//! What a line of input turns out to be: a message for the service, a refusal, or nothing.

use crate::text::cut_units;
use rmcp::RoleServer;
use rmcp::service::RxJsonRpcMessage;
use serde_json::{Map, Value, json};

/// The requests that are answered (`mcp.md` 3). Newer ones that the library knows are not among them: a host that
/// tries one has to learn at once that it is not there (`hosts.md`).
const METHODS: [&str; 6] = ["initialize", "ping", "tools/list", "tools/call", "prompts/list", "prompts/get"];

/// What a line turned out to be.
pub(super) enum Incoming {
    /// A message, with its id where an answer is due.
    Message(Box<RxJsonRpcMessage<RoleServer>>, Option<Value>),
    /// A notification that the request with this id was cancelled.
    Cancelled(Box<RxJsonRpcMessage<RoleServer>>, Value),
    /// No message; this is the answer.
    Answer(Value),
    /// Nothing to do and nothing to say.
    Nothing,
}

/// An error answer.
pub(super) fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Reads one line as a message. A byte-order mark is passed over, invalid UTF-8 replaced.
pub(super) fn read_line(bytes: &[u8]) -> Incoming {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Incoming::Nothing;
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => read_message(object),
        Ok(_) => {
            let words = "a message is one JSON object; batches are not supported";
            Incoming::Answer(error(&Value::Null, -32600, words))
        }
        Err(reason) => {
            Incoming::Answer(error(&Value::Null, -32700, &format!("the line is not JSON: {reason}")))
        }
    }
}

fn read_message(object: Map<String, Value>) -> Incoming {
    let invalid = |message: &str| Incoming::Answer(error(&Value::Null, -32600, message));
    if object.get("jsonrpc") != Some(&json!("2.0")) {
        return invalid("the member jsonrpc must be \"2.0\"");
    }
    let id = object.get("id").cloned();
    let named = match &id {
        None | Some(Value::String(_)) => true,
        Some(Value::Number(number)) => number.is_i64(),
        Some(_) => false,
    };
    if !named {
        return invalid("an id is a string or a whole number below 2^63");
    }
    match object.get("method") {
        Some(Value::String(method)) => {
            let method = method.clone();
            read_call(&method, object, id)
        }
        Some(_) => invalid("the member method must be a string"),
        None if object.contains_key("result") || object.contains_key("error") => read_answer(object),
        None => invalid("a message has a method, a result or an error"),
    }
}

/// The client's answer to a request of ours; anything else is an answer to nothing.
fn read_answer(object: Map<String, Value>) -> Incoming {
    serde_json::from_value(Value::Object(object))
        .map_or(Incoming::Nothing, |message| Incoming::Message(Box::new(message), None))
}

fn read_call(method: &str, mut object: Map<String, Value>, id: Option<Value>) -> Incoming {
    if let Some(id) = &id
        && let Some(answer) = refuse_shape(method, object.get("params"), id)
    {
        return Incoming::Answer(answer);
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
            Some(request) => Incoming::Cancelled(Box::new(message), request),
            None => Incoming::Message(Box::new(message), id),
        },
        Err(reason) => id.map_or(Incoming::Nothing, |id| {
            Incoming::Answer(error(&id, -32603, &format!("the params do not fit {method}: {reason}")))
        }),
    }
}

/// The errors for a method that is not there and for params that a method cannot have (`mcp.md` 9).
fn refuse_shape(method: &str, params: Option<&Value>, id: &Value) -> Option<Value> {
    let refuse = |code, message: &str| Some(error(id, code, message));
    if !METHODS.contains(&method) {
        return refuse(-32601, &format!("there is no method {:?}", cut_units(method, 100)));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> Option<i64> {
        match read_line(line.as_bytes()) {
            Incoming::Answer(answer) => answer["error"]["code"].as_i64(),
            _ => None,
        }
    }

    #[test]
    fn a_line_that_is_no_message_is_refused_by_its_kind() {
        assert_eq!(code("{\"jsonrpc\":\"2.0\""), Some(-32700));
        assert_eq!(code(&"[".repeat(100_000)), Some(-32700), "nesting is limited");
        assert_eq!(code("{} {}"), Some(-32700));
        for line in ["1", "[]", "{}", r#"{"jsonrpc":"2.0"}"#, r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#]
        {
            assert_eq!(code(line), Some(-32600), "{line}");
        }
    }

    #[test]
    fn a_tool_call_needs_a_name_and_object_arguments() {
        let call = |params: &str| {
            code(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#))
        };
        for params in
            ["{}", "[]", r#"{"name":1}"#, r#"{"name":"x","arguments":null}"#, r#"{"name":"x","task":{}}"#]
        {
            assert_eq!(call(params), Some(-32603), "{params}");
        }
        assert_eq!(call(r#"{"name":"x"}"#), None);
    }

    #[test]
    fn a_method_that_is_not_there_is_refused_and_never_reaches_the_library() {
        for method in ["server/discover", "resources/list", "completion/complete", "nonsense"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"{method}"}}"#);
            assert_eq!(code(&line), Some(-32601), "{method}");
        }
    }

    #[test]
    fn notifications_and_stray_answers_are_not_answered() {
        for line in [
            r#"{"jsonrpc":"2.0","method":"notifications/whatever","params":[1]}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        ] {
            assert_eq!(code(line), None, "{line}");
        }
    }
}
