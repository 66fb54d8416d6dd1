//! Hooks through the real binary: from each place where they are configured, at each event, with each answer.

mod calls;
mod ends;
mod misbehaviour;
mod sessions;
mod start;

use serde_json::{Value, json};

use crate::support::scene::Scene;

/// The user's settings, with one command for each of these events and matchers, which start in the project.
fn hooks(scene: &Scene, hooks: &[(&str, &str, &str)]) {
    let mut events = json!({});
    for (event, matcher, command) in hooks {
        let hook = json!({ "type": "command", "command": command });
        let group = json!({ "matcher": matcher, "hooks": [hook] });
        match events.get_mut(*event).and_then(Value::as_array_mut) {
            Some(groups) => groups.push(group),
            None => events[*event] = json!([group]),
        }
    }
    scene.world.home(".claude/settings.json", &json!({ "hooks": events }).to_string());
    scene.world.trust();
}

/// A command that prints this.
fn say(answer: &Value) -> String {
    format!("printf '%s' '{answer}'")
}

/// A command that prints what one event's hook can decide.
fn decide(event: &str, more: Value) -> String {
    let mut specific = json!({ "hookEventName": event });
    specific.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    say(&json!({ "hookSpecificOutput": specific }))
}

/// The lines that hooks have written into a file of the project.
fn lines(scene: &Scene, file: &str) -> Vec<String> {
    if !scene.world.exists(file) {
        return Vec::new();
    }
    scene.world.read(file).lines().map(str::to_owned).collect()
}

/// The JSON that hooks have read, each written to a line of a file.
fn told(scene: &Scene, file: &str) -> Vec<Value> {
    lines(scene, file).iter().map(|line| serde_json::from_str(line).expect(line)).collect()
}
