//! A repository, a state directory and a server process for tests.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test has nobody to hand an error to")]

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A small repository without Git, and a place for state beside it.
pub struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("file.txt"), "one line\n").unwrap();
        Self { folder }
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("repository")
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("state")
    }

    /// Names of the files directly in the state directory.
    pub fn state_files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.state()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// `telic mcp` for a repository, with nothing of the caller's environment that could lead it elsewhere.
pub fn command(root: &Path, state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telic"));
    command.arg("mcp").env("TELIC_REPOSITORY_ROOT", root).env("TELIC_STATE_DIR", state);
    command
}

/// A server process; what a test forgets to end is killed.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    next: u32,
    /// Characters of the structured content of each answer so far.
    pub sizes: Vec<usize>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub fn start(site: &Site) -> Self {
        Self::start_in(&site.root(), &site.state())
    }

    pub fn start_in(root: &Path, state: &Path) -> Self {
        Self::spawn(command(root, state))
    }

    pub fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = child.stdout.take().map(BufReader::new);
        Self { child, input, output, next: 100, sizes: Vec::new() }
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// The next message of the server.
    pub fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "the output ended");
        serde_json::from_str(&line).unwrap()
    }

    /// Calls a tool and returns the structured content; both forms of the result must say the same.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.next += 1;
        let mut params = json!({ "name": tool });
        if !arguments.is_null() {
            params["arguments"] = arguments.clone();
        }
        let request = json!({ "jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params });
        self.send(&request.to_string());
        let answer = loop {
            let answer = self.receive();
            if answer["id"] == self.next {
                break answer;
            }
        };
        let content = answer["result"]["structuredContent"].clone();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, content.to_string(), "the text is the compact structured content");
        assert_eq!(answer["result"]["isError"] == json!(true), content["ok"] == json!(false), "{answer}");
        self.sizes.push(text.chars().count());
        content
    }

    pub fn close_input(&mut self) {
        self.input = None;
    }

    pub fn close_output(&mut self) {
        self.output = None;
    }

    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    /// Waits for the process; nothing when a signal ended it.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Ends the input and waits.
    pub fn end(&mut self) -> Option<i32> {
        self.close_input();
        self.wait()
    }

    /// Ends the input, waits, and returns what the error stream held.
    pub fn end_with_errors(&mut self) -> (Option<i32>, String) {
        self.close_input();
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.wait(), errors)
    }
}

/// The three arguments that continue a run, from the latest answer.
pub fn tokens(answer: &Value) -> Value {
    json!({ "run_id": answer["run"]["runId"], "action_id": answer["nextAction"]["id"],
        "expected_run_version": answer["run"]["version"] })
}
