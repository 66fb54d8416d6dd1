//! The scene of most tests: a server, a world, and a main agent that starts sub-agents.

use serde_json::{Value, json};

use super::record::Wire;
use super::run::{Finished, Run};
use super::script::{Reply, text};
use super::server::Server;
use super::world::{KEY, World};

/// The word in the main agent's prompt.
pub const PARENT: &str = "PARENT-1";
/// What the main agent says at the end.
pub const DONE: &str = "parent done";

/// A server and a world that belong together.
#[derive(Debug)]
pub struct Scene {
    pub server: Server,
    pub world: World,
}

impl Scene {
    pub fn new() -> Self {
        let server = Server::start();
        let world = World::new(&server);
        Self { server, world }
    }

    /// The same on the chat wire.
    pub fn on_chat() -> Self {
        Self::on(Wire::Chat)
    }

    /// The same on any wire.
    pub fn on(wire: Wire) -> Self {
        let mut scene = Self::new();
        let url = scene.server.url();
        match wire {
            Wire::Anthropic => {}
            Wire::Chat => drop(scene.world.env("CALIBAN_PROVIDER", "openai")),
            Wire::Responses => {
                scene.world.env("CALIBAN_PROVIDER", "openai");
                scene.world.providers("[providers.openai]\nkind = \"openai_responses\"\n");
            }
            Wire::Gemini => {
                scene.world.env("CALIBAN_PROVIDER", "gemini").env("GEMINI_API_KEY", KEY);
                scene.world.providers(&format!("[providers.gemini]\nbase_url = \"{url}\"\n"));
            }
        }
        scene
    }

    /// One scene on each wire.
    pub fn on_each() -> [Self; 4] {
        Wire::ALL.map(Self::on)
    }

    /// The main agent makes these agent calls in one message, and then says [`DONE`].
    pub fn parent_calls(&self, inputs: impl IntoIterator<Item = Value>) {
        self.server.when(PARENT).reply(calls(inputs)).then(text(DONE));
    }

    /// The main agent makes these agent calls one after the other, and then says [`DONE`].
    pub fn parent_calls_in_turn(&self, inputs: impl IntoIterator<Item = Value>) {
        for input in inputs {
            self.server.when(PARENT).reply(calls([input]));
        }
        self.server.when(PARENT).reply(text(DONE));
    }

    /// A headless run of the main agent in which everything is allowed, with frames on stdout.
    pub fn run(&self) -> Run<'_> {
        let args = ["-p", "PARENT-1 go", "--output-format", "stream-json"];
        self.world.run(args).args(["--dangerously-skip-permissions"])
    }

    /// Runs to a good end.
    pub async fn go(&self) -> Finished {
        let finished = self.run().finish().await;
        finished.assert_code(0);
        finished
    }
}

/// One message with these agent calls.
pub fn calls(inputs: impl IntoIterator<Item = Value>) -> Reply {
    inputs.into_iter().fold(Reply::stream(), |reply, input| reply.tool_use("AgentTool", input))
}

/// The input of an agent call whose conversation is scripted under `word`.
pub fn agent(word: &str) -> Value {
    json!({ "prompt": format!("{word} look around"), "description": "look around" })
}

/// An agent call's input with one more field.
pub fn agent_with(word: &str, field: &str, value: Value) -> Value {
    let mut input = agent(word);
    input[field] = value;
    input
}

/// The input of a shell call.
pub fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "run it" })
}
