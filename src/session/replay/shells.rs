//! The commands in the background: when they started, and how they ended.

use super::Replay;
use crate::protocol::{
    AgentEvent, EventKind, ResultBlock, ShellEnd, ShellId, ToolDetails, ToolUseId,
    parse_shell_end_line,
};

impl Replay<'_> {
    /// Adds what the result of a call says about commands: that one has started, or has ended. It is the next
    /// event.
    pub(super) fn add_shell_result(
        &mut self,
        call: &ToolUseId,
        tool: &str,
        content: &[ResultBlock],
        is_error: bool,
        summary: &str,
        details: Option<&ToolDetails>,
    ) {
        let known = self.calls.get(call);
        let (command, kills) =
            known.map(|call| (call.command.clone(), call.kills.clone())).unwrap_or_default();
        if let (Some(ToolDetails::Background { id, .. }), Some(command)) = (details, command) {
            self.push(EventKind::BackgroundShellStarted { id: id.clone(), command });
            self.shells.insert(id.clone(), self.events.len());
        }
        if let (Some(id), Some(end), false) = (kills, ShellEnd::parse(summary), is_error) {
            self.shell_ended(id, end);
        }
        if let ("BashOutput", Some(ResultBlock::Text { text })) = (tool, content.last())
            && let Some((id, end)) = parse_shell_end_line(text)
        {
            self.shell_ended(id, end);
        }
    }

    /// Adds the end of a command, once.
    pub(super) fn shell_ended(&mut self, id: ShellId, end: ShellEnd) {
        if let Some(result) = self.shells.remove(&id) {
            self.rename_result(result, format!("ran in the background as {id}"));
            self.push(EventKind::BackgroundShellEnded { id, end });
        }
    }

    /// Ends the commands whose end nobody has read: they were killed, at the latest with the program.
    pub(super) fn end_shells(&mut self) {
        for (id, result) in std::mem::take(&mut self.shells) {
            self.rename_result(
                result,
                format!("ran in the background as {id} until it was killed"),
            );
            self.push(EventKind::BackgroundShellEnded { id, end: ShellEnd::Killed });
        }
    }

    /// Ends the commands of a sub-agent that has ended: they end with it, while main's run on.
    pub(super) fn end_agents_shells(&mut self) {
        if !self.path.is_root() {
            self.end_shells();
        }
    }

    fn rename_result(&mut self, result: usize, words: String) {
        if let Some(AgentEvent { kind: EventKind::ToolFinished { summary, .. }, .. }) =
            self.events.get_mut(result)
        {
            *summary = words;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::session::record::Record;

    /// The ends of the commands in a session with these results of calls: the tool, its input and its result.
    fn ends(calls: &[(&str, Value, Value)]) -> Vec<(String, String)> {
        let mut replay = Replay::for_main(&[]);
        let mut add = |role: &str, block: &Value| {
            let message = json!({ "role": role, "content": [block] });
            let at = "2026-01-01T00:00:00Z";
            let record = json!({ "type": "message", "at": at, "n": 1, "message": message });
            replay.add_record(&Record::parse(record.to_string().as_bytes()).unwrap());
        };
        for (at, (name, input, result)) in calls.iter().enumerate() {
            let id = format!("call-{at}");
            add(
                "assistant",
                &json!({ "type": "tool_use", "id": id, "name": name, "input": input }),
            );
            let mut block = json!({ "type": "tool_result", "tool_use_id": id });
            block.as_object_mut().unwrap().extend(result.as_object().unwrap().clone());
            add("user", &block);
        }
        let events = replay.into_session(Path::new("/nowhere")).0;
        let ends = events.into_iter().filter_map(|event| match event.kind {
            EventKind::BackgroundShellEnded { id, end } => Some((id.to_string(), end.to_string())),
            _ => None,
        });
        ends.collect()
    }

    #[test]
    fn the_end_of_a_command_is_the_one_that_the_agent_has_read_or_that_of_the_program() {
        let start = |id: &str| {
            let details = json!({ "kind": "background", "id": id, "cwd": "/p" });
            let input = json!({ "command": "exit 4", "run_in_background": true });
            ("Bash", input, json!({ "content": [], "is_error": false, "details": details }))
        };
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        let read = |id: &str, line: &str| {
            let result = json!({ "content": text(&format!("out\n{line}")), "is_error": false });
            ("BashOutput", json!({ "bash_id": id }), result)
        };
        let kill = json!({ "content": text("Killed."), "is_error": false, "summary": "killed" });
        let kill = ("KillShell", json!({ "shell_id": "bash-3" }), kill);
        let calls = [
            start("bash-1"),
            start("bash-2"),
            start("bash-3"),
            read("bash-1", "[bash-1 is running]"),
            read("bash-2", "[bash-2 ended: exit code 4]"),
            kill,
        ];
        let expected = [("bash-2", "exit code 4"), ("bash-3", "killed"), ("bash-1", "killed")];
        let expected = expected.map(|(id, end)| (id.to_owned(), end.to_owned()));
        assert_eq!(ends(&calls), expected);
    }
}
