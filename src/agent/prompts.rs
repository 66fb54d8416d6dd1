//! Prompts on their way into a conversation: those that start a run, and those queued meanwhile.

use std::sync::Arc;

use super::request::estimate;
use super::run::{AgentRun, ForcedCall};
use super::size;
use super::state::Agent;
use crate::protocol::format::thousands;
use crate::protocol::{
    AgentId, ContentBlock, EXIT_PLAN_TOOL, EventKind, EventSink, PermissionMode, PromptId,
    PromptImage, QueuedPrompt, Redactor, Sender,
};

/// The note that goes to the model with each prompt in plan mode.
const PLAN_MODE_NOTE: &str = "[Plan mode is on: read and search, but change nothing. Present the finished plan \
                              with ExitPlanMode.]";

/// A prompt, as it enters a conversation.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    pub id: Option<PromptId>,
    pub text: String,
    pub images: Vec<PromptImage>,
    pub from: Sender,
    /// The sub-agent whose end it reports.
    pub report: Option<AgentId>,
    pub context: PromptContext,
}

/// Everything that an agent reads with the text of a prompt.
#[derive(Clone, Debug, Default)]
pub struct PromptContext {
    /// Results of calls still open in the conversation.
    pub results: Vec<ContentBlock>,
    /// The user's own commands since the last prompt, with their output.
    pub shell_runs: Vec<ContentBlock>,
    /// Changes in the project's instructions.
    pub project: Option<String>,
    /// The output of hooks, in the order in which they ran.
    pub hooks: Vec<String>,
    /// The expansion of a slash command in the text.
    pub command: Option<String>,
    /// The call that the model must make first, because the text mentions an agent.
    pub forced_call: Option<ForcedCall>,
}

impl Prompt {
    /// Creates a prompt of text alone.
    pub fn new(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<QueuedPrompt> for Prompt {
    fn from(queued: QueuedPrompt) -> Self {
        let QueuedPrompt { id, text, images, meaning, from, report, .. } = queued;
        let context = PromptContext { command: meaning, ..PromptContext::default() };
        Self { id: Some(id), text, images, from, report, context }
    }
}

impl Agent {
    /// Returns the user's queued prompts that will not be read.
    pub(super) fn return_queue(&self, events: &EventSink) {
        for QueuedPrompt { id, text, .. } in self.setup.inbox.take_typed() {
            events.emit(EventKind::PromptReturned { id, text });
        }
    }

    /// Reads what was queued for this step.
    pub(super) async fn read_queue(&self, blocks: &mut Vec<ContentBlock>, run: &AgentRun<'_>) {
        self.read(self.setup.inbox.take_next_step(), blocks, run).await;
    }

    pub(super) async fn read(
        &self,
        queued: Vec<QueuedPrompt>,
        blocks: &mut Vec<ContentBlock>,
        run: &AgentRun<'_>,
    ) {
        for queued in queued {
            let prompt = Prompt::from(queued);
            if let (Some(id), Some(why)) = (prompt.id, self.refusal(&prompt)) {
                run.events.emit(EventKind::PromptRefused { id, text: prompt.text, why });
            } else if let Ok(prompt) = self.run_prompt_hooks(prompt, run.events, run.cancel).await {
                read_prompt(prompt, &self.setup.redactor, blocks, run.events);
            }
        }
    }

    /// Returns the note for a prompt in plan mode, if the model has the tool to present a plan.
    pub(super) fn mode_note(&self) -> Option<ContentBlock> {
        let in_plan_mode = self.setup.gate.mode() == PermissionMode::Plan;
        let note = in_plan_mode && self.setup.tools.get(EXIT_PLAN_TOOL).is_some();
        note.then(|| ContentBlock::aside(PLAN_MODE_NOTE))
    }

    /// Returns why the user's prompt cannot be sent, in one line: it is larger than the model's
    /// window even without the conversation.
    pub fn refusal(&self, prompt: &Prompt) -> Option<String> {
        let model = self.setup.model.get();
        let window = model.info.context_window;
        let texts = [prompt.text.as_str()].into_iter().chain(prompt.context.command.as_deref());
        let size = size::min_tokens(texts, prompt.images.len());
        let prefix = size::prefix_tokens(&self.system, &self.specs);
        // The window of an unknown model is a guess.
        if prompt.from != Sender::Person || !model.info.known || prefix + size <= window {
            return None;
        }
        let (size, window) = (thousands(size / 1000 * 1000), thousands(window));
        Some(format!(
            "This prompt takes about {size} tokens, and {} reads {window} at once: shorten it, or save it to a file and name the file",
            model.name
        ))
    }

    /// Returns the limit that leaves no money for a request with this prompt, if one does.
    pub fn spent_budget(&self, prompt: &Prompt) -> Option<String> {
        let (budget, model) = (&self.setup.budget, self.setup.model.get());
        let size = size::min_tokens([prompt.text.as_str()], prompt.images.len());
        let estimate = estimate(&model, self.context_tokens(&self.specs) + size);
        budget.used_up().or_else(|| budget.check(estimate).err().map(|spent| spent.what))
    }
}

/// Puts a prompt into the message being built, and emits that it was read. What the user typed is
/// left unchanged; keys are masked in everything that others add.
pub(super) fn read_prompt(
    prompt: Prompt,
    redactor: &Redactor,
    blocks: &mut Vec<ContentBlock>,
    events: &EventSink,
) {
    let Prompt { id, text, images, from, report, context } = prompt;
    let PromptContext { results, shell_runs, project, hooks, command, forced_call } = context;
    let notes: Vec<_> = project.into_iter().chain(hooks).collect();
    let note = (!notes.is_empty()).then(|| redactor.without_keys(notes.join("\n\n")));
    let command = command.map(|text| redactor.without_keys(text));
    let text = if from == Sender::Person { text } else { redactor.without_keys(text) };
    let text: Arc<str> = text.into();
    events.emit(EventKind::PromptRead { id, text: text.clone(), from });
    // Results come first in a message: every provider requires it.
    blocks.splice(0..0, results);
    blocks.extend(shell_runs);
    blocks.extend(note.map(ContentBlock::aside));
    let images = by_place(&text, images);
    for (_, PromptImage { label, .. }) in &images {
        events.emit(EventKind::ImageRead { label: label.clone() });
    }
    place_images(&text, report, images, blocks);
    blocks.extend(command.map(ContentBlock::aside));
    blocks.extend(forced_call.map(|call| ContentBlock::aside(call.hint)));
}

/// Returns images in the order of the text, each with the end of the part that stands for it.
fn by_place(text: &str, images: Vec<PromptImage>) -> Vec<(usize, PromptImage)> {
    let end = |image: &PromptImage| {
        let start = text.find(&image.mark).filter(|_| !image.mark.is_empty());
        start.map_or(text.len(), |start| start + image.mark.len())
    };
    let mut images: Vec<_> = images.into_iter().map(|image| (end(&image), image)).collect();
    // Stable: images at one place keep their order.
    images.sort_by_key(|(end, _)| *end);
    images
}

/// Adds a prompt's text and its images, each behind the part of the text that stands for it.
fn place_images(
    text: &Arc<str>,
    report: Option<AgentId>,
    images: Vec<(usize, PromptImage)>,
    blocks: &mut Vec<ContentBlock>,
) {
    // No provider accepts an empty text.
    let piece = |text: Arc<str>| {
        let block = ContentBlock::Text { text, aside: false, report, summary: false, shell: None };
        (!block.as_text().unwrap_or_default().trim().is_empty()).then_some(block)
    };
    let mut done = 0;
    for (end, PromptImage { source, label, .. }) in images {
        let rest = text[end..].trim();
        let end = if rest.is_empty() { text.len() } else { end };
        let before = text.get(done..end).unwrap_or_default();
        done += before.len();
        let before = if before.len() == text.len() { text.clone() } else { before.into() };
        blocks.extend(piece(before));
        blocks.push(ContentBlock::Image { source, label, within: !rest.is_empty() });
    }
    let rest = if done == 0 { text.clone() } else { text[done..].into() };
    blocks.extend(piece(rest));
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::protocol::{EventQueue, ImageSource};

    fn image(mark: &str) -> PromptImage {
        PromptImage {
            source: ImageSource { media_type: "image/png".into(), data: "AAAA".into() },
            mark: mark.to_owned(),
            label: mark.trim_matches(['[', ']']).to_owned(),
        }
    }

    /// The blocks of a text with images at these marks, in short.
    fn placed(text: &str, marks: &[&str]) -> Vec<String> {
        let mut blocks = Vec::new();
        let images = by_place(text, marks.iter().map(|mark| image(mark)).collect());
        place_images(&text.into(), None, images, &mut blocks);
        let short = |block: &ContentBlock| match block {
            ContentBlock::Image { label, within, .. } => {
                format!("<{label}{}>", if *within { "…" } else { "" })
            }
            block => block.as_text().unwrap().to_owned(),
        };
        blocks.iter().map(short).collect()
    }

    #[test]
    fn the_images_of_a_prompt_are_announced_in_the_order_of_its_text() {
        let queue = EventQueue::unbounded();
        let images = ["[2]", "[1]"].map(image).to_vec();
        let prompt = Prompt { images, ..Prompt::new("[1] and [2]".to_owned()) };
        read_prompt(prompt, &Redactor::default(), &mut Vec::new(), &queue.sink());
        let mut events = Vec::new();
        queue.drain_ready(&mut events, usize::MAX);
        let labels = events.into_iter().filter_map(|event| match event.kind {
            EventKind::ImageRead { label } => Some(label),
            _ => None,
        });
        assert_eq!(labels.collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn an_image_follows_the_part_of_the_text_that_stands_for_it() {
        assert_eq!(placed("see", &[]), ["see"]);
        assert_eq!(placed("see", &["", ""]), ["see", "<>", "<>"]);
        assert_eq!(placed(" ", &[""]), ["<>"]);
        assert_eq!(placed("see [1] ", &["[1]"]), ["see [1] ", "<1>"]);
        assert_eq!(
            placed("[1] and [2], or [3]", &["[3]", "[1]", "[2]", ""]),
            ["[1]", "<1…>", " and [2]", "<2…>", ", or [3]", "<3>", "<>"]
        );
        assert_eq!(
            placed("[1][2]!", &["[1]", "[1]", "[2]"]),
            ["[1]", "<1…>", "<1…>", "[2]", "<2…>", "!"]
        );
    }
}
