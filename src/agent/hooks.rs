//! Where hooks have a say in what an agent does: around a call, before a prompt, at the end of a run.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::compact::Cause;
use super::dispatch::{Station, ToolCall, ValidCall};
use super::time_limit::cancelled;
use super::{Agent, Prompt, Run};
use crate::hook::{Here, Moment, Need, Opinion, Said, ToolCall as HookCall};
use crate::permission::Advice;
use crate::protocol::{
    Denial, EventKind, EventSink, HookEvent, NoticeLevel, ResultBlock, Sender, Wait, tell_wait,
};
use crate::tool::{SoftKind, Tool, ToolError, ToolOutcome};

/// How often in one run hooks can make an agent go on that wants to end.
const HELD_BACK: u32 = 8;

/// What hooks have said to a call that may go on.
#[derive(Default)]
pub(super) struct Heard {
    pub advice: Advice,
    /// For the model, after the result.
    context: Option<String>,
}

impl Heard {
    /// The answer to the call, with what the model is to know beside it.
    pub fn told(self, answer: Result<ToolOutcome, ToolError>) -> Result<ToolOutcome, ToolError> {
        let Some(context) = self.context else { return answer };
        match answer {
            Ok(mut outcome) => {
                outcome.content.push(ResultBlock::text(context));
                Ok(outcome)
            }
            Err(error) => Err(error.with_context(&context)),
        }
    }
}

impl Agent {
    /// Lets hooks look at a valid call before it is judged. They may forbid it, change its input,
    /// or end the run.
    pub(super) async fn before_call(
        &self,
        tool: &dyn Tool,
        valid: ValidCall,
        at: Station<'_>,
    ) -> Result<(ValidCall, Heard), ToolError> {
        if !self.setup.hooks.listen(HookEvent::PreToolUse) {
            return Ok((valid, Heard::default()));
        }
        let moment = Moment::PreToolUse(told(tool, &valid));
        let here = self.here_of(&valid.call, at);
        let said = self.setup.hooks.run(&moment, here, at.cancel).await;
        if at.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let context = said.context_text();
        if let Some(why) = said.stop {
            at.stop(why);
            let why = "This call was not run: a hook has ended the turn.";
            return Err(ToolError::denied(Denial::new(why)));
        }
        let advice = match said.opinion {
            None => Advice::None,
            Some(Opinion::Allow) => Advice::Allow,
            Some(Opinion::Ask { why }) => Advice::Ask { why },
            Some(Opinion::Deny { why }) => return Err(self.denied(tool, &valid, &why, context)),
        };
        let ValidCall { mut call, .. } = valid;
        if let Some(input) = said.input {
            tool.validate(&input).map_err(|invalid| {
                let why = format!("A hook has changed its input, which is wrong now: {invalid}");
                ToolError::soft(SoftKind::InvalidInput, why)
            })?;
            call.input = input;
        }
        // A hook may also have changed the links that the call's paths lead over.
        Ok((call.with_access(tool), Heard { advice, context }))
    }

    fn denied(
        &self,
        tool: &dyn Tool,
        valid: &ValidCall,
        why: &str,
        context: Option<String>,
    ) -> ToolError {
        let denial = Denial::new(format!("a hook denies it: {why}"));
        let request = self.asked_call(tool, &valid.call, &valid.access);
        self.setup.gate.denied(&request, denial.clone());
        let error = ToolError::denied(denial);
        match context {
            Some(context) => error.with_context(&context),
            None => error,
        }
    }

    /// Lets hooks look at a call that has succeeded. What they say is read with its result.
    pub(super) async fn after_call(
        &self,
        tool: &dyn Tool,
        valid: &ValidCall,
        mut outcome: ToolOutcome,
        took: Duration,
        at: Station<'_>,
    ) -> ToolOutcome {
        let here = self.here_of(&valid.call, at);
        let (call, response) = (told(tool, valid), outcome.content.as_slice());
        let moment = Moment::PostToolUse { call, response, took };
        let said = self.setup.hooks.run(&moment, here, at.cancel).await;
        let context = said.context_text();
        let block = said.block.map(|why| format!("[A hook of the user objects: {why}]"));
        outcome.content.extend(block.into_iter().chain(context).map(ResultBlock::text));
        if let Some(why) = said.stop {
            at.stop(why);
        }
        outcome
    }

    /// Lets hooks hear that a sub-agent begins. What they add is for it to read before its prompt.
    pub async fn begins(&self, events: &EventSink, cancel: &CancellationToken) -> Option<String> {
        let said = self.setup.hooks.run(&Moment::SubagentStart, self.here(events), cancel).await;
        said.context_text()
    }

    /// Tells hooks that a question about a call is about to wait for the person.
    pub(super) fn tell_of_question(&self, tool: &dyn Tool, run: &Run<'_>) {
        let need = Need::Permission { tool: &tool.spec().name };
        self.setup.hooks.tell(&Moment::Notification(need), self.here(run.events));
    }

    /// Runs the hooks on a prompt of the user's, and adds their context to it. Returns `None` if a
    /// hook refuses the prompt; an event then says so.
    pub async fn let_in(
        &self,
        prompt: Prompt,
        events: &EventSink,
        cancel: &CancellationToken,
    ) -> Option<Prompt> {
        if prompt.from != Sender::Person || !self.setup.hooks.listen(HookEvent::UserPromptSubmit) {
            return Some(prompt);
        }
        let moment = Moment::UserPromptSubmit { prompt: &prompt.text };
        let said = self.setup.hooks.run(&moment, self.here(events), cancel).await;
        let context = said.context_text();
        let Said { block, stop, .. } = said;
        let Some(why) = block.or(stop) else { return Some(prompt.with_note(context)) };
        let why = match why.as_str() {
            "" => "a hook refuses this prompt".to_owned(),
            why => format!("a hook refuses this prompt: {why}"),
        };
        match prompt.id {
            Some(id) => events.emit(EventKind::PromptRefused { id, text: prompt.text, why }),
            None => events.notice(NoticeLevel::Error, why),
        }
        None
    }

    /// Lets hooks look at the end that is near: what the agent is to read when they want it to go on.
    pub(super) async fn held_back(&mut self, run: &mut Run<'_>) -> Option<String> {
        let moment = Moment::Stop { again: run.held_back > 0, last: &run.text };
        let heard = self.setup.hooks.ask(&moment, self.here(run.events))?;
        // From here on they run to their own end, whatever becomes of this run.
        self.end_untold = false;
        let event = moment.event(!run.events.path().is_root());
        let said = tokio::select! {
            biased;
            () = run.cancel.cancelled() => return None,
            said = tell_wait(run.events, || Wait::Hooks { event }, heard) => said.unwrap_or_default(),
        };
        let why = said.block.filter(|_| said.stop.is_none())?;
        if run.held_back == HELD_BACK {
            let text = format!("a hook has made it go on {HELD_BACK} times: it ends all the same");
            run.events.notice(NoticeLevel::Warning, text);
            return None;
        }
        run.held_back += 1;
        self.end_untold = true;
        let line = why.lines().next().unwrap_or_default();
        run.events.notice(NoticeLevel::Info, format!("a hook makes it go on: {line}"));
        Some(format!("[A hook of the user wants you to go on: {why}]"))
    }

    /// Tells hooks of the end of a run, unless they have heard of it. Nothing can change it any more.
    pub fn tell_end(&mut self, last: &str, events: &EventSink) {
        if std::mem::take(&mut self.end_untold) {
            let moment = Moment::Stop { again: false, last };
            self.setup.hooks.tell(&moment, self.here(events));
        }
    }

    /// Why hooks want the conversation to stay as it is.
    pub(super) async fn keeps_from_compacting(
        &self,
        cause: &Cause<'_>,
        run: &Run<'_>,
    ) -> Option<String> {
        let (by_hand, instructions) = match cause {
            Cause::ByHand(instructions) => (true, *instructions),
            Cause::NearlyFull | Cause::Refused => (false, None),
        };
        let moment = Moment::PreCompact { by_hand, instructions };
        let said = self.setup.hooks.run(&moment, self.here(run.events), run.cancel).await;
        said.block.or(said.stop).map(|why| format!("a hook forbids it: {why}"))
    }

    pub(super) fn here<'a>(&'a self, events: &'a EventSink) -> Here<'a> {
        Here { cwd: &self.setup.cwd, mode: self.setup.gate.mode(), events }
    }

    /// The same for a call, which may start in another directory.
    pub(super) fn here_of<'a>(&self, call: &'a ToolCall, at: Station<'a>) -> Here<'a> {
        Here { cwd: &call.directory, mode: self.setup.gate.mode(), events: at.run.events }
    }
}

impl Station<'_> {
    /// Ends the run: the other calls now, itself when all have their results.
    pub(super) fn stop(&self, why: String) {
        let text = match why.as_str() {
            "" => "a hook has ended the turn".to_owned(),
            why => format!("a hook has ended the turn: {why}"),
        };
        if self.run.stopped.set(why).is_ok() {
            self.run.events.notice(NoticeLevel::Warning, text);
        }
        self.cancel.cancel();
    }
}

/// A call as hooks hear of it.
pub(super) fn told<'a>(tool: &'a dyn Tool, valid: &'a ValidCall) -> HookCall<'a> {
    let ToolCall { id, input, .. } = &valid.call;
    HookCall { id, tool: &tool.spec().name, input, file: valid.file() }
}
