//! A program that drives the real binary over its standard streams, as strict as one can be: each
//! request of ours is answered once, each question of the binary has an id of its own, and nothing
//! is a frame that is no JSON object.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::run::{Finished, Run, Running};

/// The arguments with which the SDK starts a program: `--print` is not among them.
pub const ARGS: [&str; 5] =
    ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

/// The driving side of a run.
#[derive(Debug)]
pub struct Client {
    running: Running,
    /// How many lines of stdout were taken in.
    lines: usize,
    /// Frames that nobody has looked for yet.
    waiting: VecDeque<Value>,
    asked: usize,
    /// Requests of ours that have no answer yet.
    open: BTreeSet<String>,
    /// Ids of the binary's questions.
    questions: BTreeSet<String>,
}

/// A question of the binary.
#[derive(Debug)]
pub struct Question {
    pub id: String,
    pub body: Value,
}

impl Question {
    /// The question that a frame asks.
    pub fn of(mut frame: Value) -> Self {
        let id = frame["request_id"].as_str().unwrap().to_owned();
        Self { id, body: frame["request"].take() }
    }
}

impl Client {
    pub fn start(run: Run<'_>) -> Self {
        Self {
            running: run.open_stdin().start(),
            lines: 0,
            waiting: VecDeque::new(),
            asked: 0,
            open: BTreeSet::new(),
            questions: BTreeSet::new(),
        }
    }

    /// Introduces itself.
    pub async fn initialize(&mut self, fields: Value) -> Result<Value, String> {
        let mut body = json!({ "subtype": "initialize", "hooks": null });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.request(body).await
    }

    /// Sends a request and waits for its answer.
    pub async fn request(&mut self, body: Value) -> Result<Value, String> {
        let id = self.ask(body);
        self.answer_to(&id).await
    }

    /// Sends a request without waiting.
    pub fn ask(&mut self, body: Value) -> String {
        self.asked += 1;
        let id = format!("req_{}_{:08x}", self.asked, self.asked * 7919);
        self.open.insert(id.clone());
        self.send(&json!({ "type": "control_request", "request_id": id, "request": body }));
        id
    }

    /// Sends a line that is a request of this id, however it is written, and waits for its answer.
    pub async fn request_line(&mut self, id: &str, line: &Value) -> Result<Value, String> {
        self.open.insert(id.to_owned());
        self.send(line);
        self.answer_to(id).await
    }

    /// Waits for the answer to a request.
    pub async fn answer_to(&mut self, id: &str) -> Result<Value, String> {
        let mine = |frame: &Value| {
            frame["type"] == "control_response" && frame["response"]["request_id"] == id
        };
        let response = self.frame(mine).await["response"].take();
        match response["subtype"].as_str() {
            Some("success") => Ok(response["response"].clone()),
            Some("error") => Err(response["error"].as_str().unwrap().to_owned()),
            _ => panic!("neither success nor error: {response}"),
        }
    }

    pub fn prompt(&mut self, text: &str) {
        self.send(&json!({
            "type": "user", "message": { "role": "user", "content": text },
            "parent_tool_use_id": null, "session_id": "default",
        }));
    }

    /// Waits for a question of this kind.
    pub async fn question(&mut self, subtype: &str) -> Question {
        let is_asked = |frame: &Value| {
            frame["type"] == "control_request" && frame["request"]["subtype"] == subtype
        };
        Question::of(self.frame(is_asked).await)
    }

    /// Sends a prompt that makes two calls. Allows the first and asks for the mode bypassPermissions
    /// with that answer. Expects a question about the second call all the same, and denies it.
    pub async fn choose_bypass_by_answer(&mut self, prompt: &str) {
        self.prompt(prompt);
        let question = self.question("can_use_tool").await;
        let set =
            json!([{ "type": "setMode", "mode": "bypassPermissions", "destination": "session" }]);
        self.answer(&question, json!({ "behavior": "allow", "updatedPermissions": set }));
        let question = self.question("can_use_tool").await;
        self.answer(&question, json!({ "behavior": "deny", "message": "no" }));
        self.result().await;
    }

    /// Waits until a question was withdrawn.
    pub async fn withdrawn(&mut self, question: &Question) {
        self.frame(|frame| {
            frame["type"] == "control_cancel_request" && frame["request_id"] == question.id.as_str()
        })
        .await;
    }

    pub fn answer(&mut self, question: &Question, response: Value) {
        self.respond(json!({
            "subtype": "success", "request_id": question.id, "response": response,
        }));
    }

    pub fn fail(&mut self, question: &Question, error: &str) {
        self.respond(json!({ "subtype": "error", "request_id": question.id, "error": error }));
    }

    pub fn respond(&mut self, response: Value) {
        self.send(&json!({ "type": "control_response", "response": response }));
    }

    /// Sends a prompt and waits for its result.
    pub async fn turn(&mut self, text: &str) -> Value {
        self.prompt(text);
        self.result().await
    }

    /// Waits for the next result.
    pub async fn result(&mut self) -> Value {
        self.frame(|frame| frame["type"] == "result").await
    }

    /// Waits for the next frame that is looked for; others stay to be found later.
    pub async fn frame(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.waiting.iter().position(&is) {
            return self.waiting.remove(at).unwrap();
        }
        loop {
            let frame = self.next().await;
            if is(&frame) {
                return frame;
            }
            self.waiting.push_back(frame);
        }
    }

    async fn next(&mut self) -> Value {
        let line = self.running.line(self.lines).await;
        self.lines += 1;
        let frame: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        self.check(&frame);
        frame
    }

    fn check(&mut self, frame: &Value) {
        match frame["type"].as_str() {
            Some("control_response") => {
                let id = frame["response"]["request_id"].as_str().unwrap();
                assert!(self.open.remove(id), "answers nothing that is open: {frame}");
            }
            Some("control_request") => {
                let id = frame["request_id"].as_str().unwrap().to_owned();
                assert!(self.questions.insert(id), "an id that was used before: {frame}");
            }
            Some(_) => {}
            None => panic!("a frame without a type: {frame}"),
        }
    }

    pub fn send(&mut self, line: &Value) {
        self.running.send(line);
    }

    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Ends stdin, and checks all that was printed until the end.
    pub async fn close(mut self) -> Finished {
        let lines = self.lines;
        let Self { running, .. } = self;
        let finished = running.close().await;
        // The rest of a client that has no process any more.
        for frame in finished.frames().into_iter().skip(lines) {
            if frame["type"] == "control_response" {
                let id = frame["response"]["request_id"].as_str().unwrap();
                assert!(self.open.remove(id), "answers nothing that is open: {frame}\n{finished}");
            }
        }
        assert!(self.open.is_empty(), "never answered: {:?}\n{finished}", self.open);
        finished
    }
}
