//! The prompt editor: the draft, the history of prompts, and the completion menu.

mod buffer;
pub mod draft;
pub mod draft_id;
pub mod draw;
pub mod edit;
pub mod image;
pub mod image_path;
pub mod image_request;
mod lines;
mod mention;
pub mod menu;
pub mod past_prompt;
pub mod paste;
pub mod update;

pub use buffer::{Movement, TextBuffer};
pub use menu::{Menu, MenuItem, MenuKind, Trigger};

use std::borrow::Cow;

use crate::protocol::prompt::AGENT_PREFIX;
use crate::protocol::{AgentPath, PromptTiming};
use crate::tui::text::width;
use image_path::NewImage;
use past_prompt::{PastImage, PastPrompt};

/// The most cells of a command that is not typed: all of them are on the screen.
const MAX_COMMAND_CELLS: usize = 100;

/// Prompts kept for Up and Ctrl+R.
const MAX_HISTORY: usize = 1000;

/// The state of the prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Composer {
    pub buffer: TextBuffer,
    pub menu: Option<Menu>,
    /// Start of the word whose menu the user closed.
    pub dismissed: Option<usize>,
    /// Start of the word of a `!` command that is being completed.
    completing: Option<usize>,
    /// Origin of a message taken back from the queue, which can be put back.
    pub recalled: Option<RecalledMessage>,
    /// Oldest first.
    history: Vec<PastPrompt>,
    /// Position of Up and Down in the history, and the draft from before.
    browsing: Option<(usize, PastPrompt)>,
    /// Position in the history of the prompt that the draft began as.
    origin: Option<usize>,
    /// The draft that a prompt from the history has replaced, until the next prompt is sent: Down on the
    /// empty prompt brings it back. It is in the history too.
    set_aside: Option<PastPrompt>,
    pub images: image::DraftImages,
}

/// The draft for a text that the user did not type as one: a `!` at its start is no mark, so a blank
/// comes before it.
pub fn as_prompt(text: &str) -> Cow<'_, str> {
    match text.starts_with('!') {
        true => format!(" {text}").into(),
        false => text.into(),
    }
}

/// The origin of a message taken back from the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecalledMessage {
    pub to: AgentPath,
    /// The message as it was in the queue.
    pub prompt: PastPrompt,
    pub when: PromptTiming,
}

impl Composer {
    /// Creates an empty prompt with the given history, oldest first.
    pub fn new(history: Vec<PastPrompt>) -> Self {
        Self { history, ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    pub fn text(&self) -> &str {
        self.buffer.text()
    }

    /// Whether the draft is a `!` command: the user has typed the mark.
    pub fn is_shell_line(&self) -> bool {
        self.text().starts_with('!')
    }

    /// The draft, if it may be a command of the screen: the user has typed it, or all of it stands in one
    /// line. What else a paste brings may be off the screen, or show nothing.
    pub fn command_line(&self) -> Option<&str> {
        (self.buffer.is_typed() || self.is_whole_line()).then_some(self.text())
    }

    /// Whether all of the draft stands in one line, without anything that takes room or shows nothing.
    pub fn is_whole_line(&self) -> bool {
        let text = self.text();
        // The menu ends a name with a blank.
        let line = text.strip_suffix(['\n', ' ']).unwrap_or(text);
        let is_seen = |letter: char| matches!(letter, ' '..='~') || letter.is_alphanumeric();
        line.trim() == line
            && !line.contains("  ")
            && width(line) <= MAX_COMMAND_CELLS
            && line.chars().all(is_seen)
    }

    /// Empties the prompt and keeps its text in the history, after a draft that it had replaced.
    pub fn take(&mut self) -> PastPrompt {
        self.set_aside = None;
        self.leave_history();
        let prompt = self.buffer.as_past();
        self.buffer.take();
        self.remember(prompt.clone());
        self.reset();
        prompt
    }

    /// Empties the prompt and keeps its text in the history. If a prompt from the history has replaced a
    /// draft, Up finds that draft first.
    pub fn clear(&mut self) {
        let prompt = self.buffer.as_past();
        self.remember(prompt);
        self.buffer.take();
        self.reset();
    }

    /// Replaces the draft with a text that has the draft in it, or comes from outside.
    pub fn replace(&mut self, prompt: &PastPrompt) {
        self.leave_history();
        self.buffer.set(prompt);
    }

    /// Replaces the draft with what the user has typed in the editor.
    pub fn replace_typed(&mut self, text: &str) {
        self.leave_history();
        self.buffer.set_typed(text);
    }

    /// Replaces the draft with a prompt from the history, and sets the draft aside.
    pub fn recall(&mut self, prompt: &str) {
        match self.browsing {
            Some(_) => self.leave_history(),
            None => {
                let draft = self.buffer.as_past();
                self.put_aside(draft);
            }
        }
        self.images.begin_draft();
        self.origin = self.history.iter().rposition(|past| past.text == prompt);
        match self.origin {
            Some(at) => self.buffer.set(&self.history[at]),
            None => self.buffer.set(&prompt.into()),
        }
    }

    /// Empties the prompt without adding its text to the history.
    pub fn discard(&mut self) {
        self.buffer.take();
        self.reset();
    }

    /// Adds to the history, without consecutive duplicates.
    pub fn remember(&mut self, prompt: PastPrompt) {
        let is_last = self.history.last().is_some_and(|last| last.text == prompt.text);
        if prompt.text.trim().is_empty() || is_last {
            return;
        }
        if self.history.len() >= MAX_HISTORY {
            self.history.remove(0);
        }
        self.history.push(prompt);
    }

    /// Goes one prompt back in the history. Returns false when there is none.
    pub fn older(&mut self) -> bool {
        let at = match &self.browsing {
            Some((0, _)) => return false,
            Some((at, _)) => at - 1,
            None if self.history.is_empty() => return false,
            None => self.history.len() - 1,
        };
        let draft = match self.browsing.take() {
            Some((_, draft)) => draft,
            None => self.buffer.as_past(),
        };
        self.images.begin_draft();
        self.buffer.set(&self.history[at]);
        self.origin = Some(at);
        self.browsing = Some((at, draft));
        true
    }

    /// Goes one prompt forward, and after the last one back to the draft.
    pub fn newer(&mut self) -> bool {
        let Some((at, draft)) = self.browsing.take() else {
            let Some(draft) = self.set_aside.take_if(|_| self.buffer.is_empty()) else {
                return false;
            };
            self.images.begin_draft();
            self.buffer.set(&draft);
            return true;
        };
        self.images.begin_draft();
        self.origin = Some(at + 1).filter(|at| *at < self.history.len());
        if let Some(past) = self.history.get(at + 1) {
            self.buffer.set(past);
            self.browsing = Some((at + 1, draft));
        } else {
            self.buffer.set(&draft);
        }
        true
    }

    /// Whether Up and Down are browsing the history.
    pub fn browsing(&self) -> bool {
        self.browsing.is_some()
    }

    /// The user has edited the draft: Up starts at the newest prompt again. A prompt from the history in
    /// which only the cursor has moved is no new draft.
    pub fn edited(&mut self) {
        let same =
            |(at, _): &(usize, PastPrompt)| self.history[*at].text == self.buffer.full_text();
        if !self.browsing.as_ref().is_some_and(same) {
            self.leave_history();
        }
        if self.buffer.is_empty() {
            self.recalled = None;
            self.dismissed = None;
        }
    }

    /// Prompts that contain the query, newest first, each once.
    pub fn search(&self, query: &str) -> Vec<&str> {
        let query = query.to_lowercase();
        let mut found: Vec<&str> = Vec::new();
        for PastPrompt { text, .. } in self.history.iter().rev() {
            if found.len() == 100 {
                break;
            }
            if text.to_lowercase().contains(&query) && !found.contains(&text.as_str()) {
                found.push(text);
            }
        }
        found
    }

    /// The position in the history of the prompt that is the draft, unless the user has changed it.
    fn unchanged_entry(&self) -> Option<usize> {
        let text = self.buffer.full_text();
        self.origin.filter(|at| self.history.get(*at).is_some_and(|past| past.text == text))
    }

    /// The images of the prompt of the history that is the draft, as far as they are text in it.
    pub fn unread_images(&self) -> Vec<PastImage> {
        self.unchanged_entry().map(|at| self.unread_images_of(at)).unwrap_or_default()
    }

    /// The image for which this mark stands in the prompt of the history that the draft began as.
    pub fn past_image(&self, mark: &str) -> Option<&PastImage> {
        let past = self.history.get(self.origin?)?;
        past.images.iter().find(|image| image.mark == mark)
    }

    /// Puts an image into the draft, see [`TextBuffer::insert_image`]. One of an earlier prompt gets a
    /// new number, also in the history.
    pub fn insert_image(&mut self, new: NewImage<'_>) -> bool {
        let past = new.path.and_then(|path| self.past_image(&path.written)).is_some();
        let entry = self.unchanged_entry().filter(|_| past);
        let fits = self.buffer.insert_image(new);
        if let Some(at) = entry.filter(|_| fits) {
            let left = self.unread_images_of(at);
            let mut prompt = self.buffer.as_past();
            prompt.images.extend(left);
            self.history[at] = prompt;
        }
        fits
    }

    fn unread_images_of(&self, at: usize) -> Vec<PastImage> {
        let is_text = |image: &&PastImage| self.text().contains(&image.mark);
        self.history[at].images.iter().filter(is_text).cloned().collect()
    }

    /// Ends going through the history. The draft from before is not lost.
    fn leave_history(&mut self) {
        if let Some((_, draft)) = self.browsing.take() {
            self.put_aside(draft);
        }
    }

    fn put_aside(&mut self, draft: PastPrompt) {
        if !draft.text.trim().is_empty() {
            self.remember(draft.clone());
            self.set_aside = Some(draft);
        }
    }

    fn reset(&mut self) {
        self.menu = None;
        self.completing = None;
        self.dismissed = None;
        self.recalled = None;
        self.leave_history();
        self.origin = None;
        self.images.begin_draft();
    }
}

impl Composer {
    /// The completion possible at the cursor, if any.
    pub fn trigger(&self) -> Option<Trigger> {
        let (head, rest) = self.buffer.text().split_at(self.buffer.cursor());
        // Typed in front of a word, it begins that word.
        let ends_word = rest.chars().next().is_none_or(char::is_whitespace);
        if head.starts_with('/')
            && ends_word
            && !head[1..].contains(|letter: char| letter.is_whitespace() || letter == '/')
        {
            let query = head[1..].to_owned();
            return Some(Trigger { kind: MenuKind::Command, start: 0, query });
        }
        let start = head
            .rfind(char::is_whitespace)
            .map_or(0, |blank| blank + head[blank..].chars().next().map_or(1, char::len_utf8));
        if head.starts_with('!') {
            let start = start.max(1);
            let query = head[start..].to_owned();
            let asked = self.completing == Some(start);
            return asked.then_some(Trigger { kind: MenuKind::Path, start, query });
        }
        let word = &head[start..];
        let query = word.strip_prefix('@')?.to_owned();
        Some(Trigger { kind: MenuKind::Mention, start, query })
    }

    /// Whether there is a word to complete before the cursor, in a `!` command.
    pub fn has_path(&self) -> bool {
        let head = &self.buffer.text()[..self.buffer.cursor()];
        head.starts_with('!') && !last_word(head).trim_start_matches('!').is_empty()
    }

    /// Starts completing the path at the cursor in a `!` command. Returns false where that may stand in an
    /// open quote, in which a name has another meaning.
    pub fn complete_path(&mut self) -> bool {
        let head = &self.buffer.text()[..self.buffer.cursor()];
        let is_plain = !may_be_quoted(head);
        let start = (head.len() - last_word(head).len()).max(1);
        self.completing = is_plain.then_some(start);
        is_plain
    }

    /// Whether bash reads this word, at the cursor of a `!` command, as a word: one with quotes only where
    /// nothing before it gives quotes another meaning.
    pub fn takes_word(&self, word: &str) -> bool {
        let head = &self.buffer.text()[..self.buffer.cursor()];
        !word.contains(['\'', '"', '$', '\\']) || is_plain_command(head)
    }

    /// Replaces the opening character and the query with the selected row, and closes the menu.
    pub fn take_menu_item(&mut self) -> Option<MenuItem> {
        let menu = self.menu.take()?;
        let item = menu.items.get(menu.selected)?.clone();
        // The cursor has left the word.
        if menu.start > self.buffer.cursor() {
            return None;
        }
        match item.insert.starts_with(AGENT_PREFIX) {
            true => self.buffer.insert_agent(menu.start, &item.insert),
            false => self.buffer.replace_before(menu.start, &format!("{} ", item.insert)),
        }
        self.dismissed = None;
        Some(item)
    }

    /// Closes the menu until something else can be completed.
    pub fn dismiss_menu(&mut self) {
        if let Some(menu) = self.menu.take() {
            self.dismissed = Some(menu.start);
        }
    }
}

fn last_word(head: &str) -> &str {
    head.rsplit(char::is_whitespace).next().unwrap_or_default()
}

/// Whether the end of the text may be inside quotes of bash: one is open, or quotes may have another
/// meaning within `$(…)`, backquotes, `${…}` and `$'…'`, behind a comment, and in a here-document.
fn may_be_quoted(text: &str) -> bool {
    let mut open = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (open, letter) {
            (None | Some('"'), '\\') => {
                letters.next();
            }
            (None, '\'' | '"') => open = Some(letter),
            (Some(quote), letter) if quote == letter => open = None,
            _ => {}
        }
    }
    let has_quotes = text.contains(['\'', '"']);
    let has_inner = ["$(", "`", "${", "$'"].iter().any(|sign| text.contains(sign));
    let has_lines = text.contains('\n') && (has_quotes || text.contains("<<"));
    open.is_some() || has_quotes && has_inner || has_lines
}

/// Whether the text is made of words, single quotes and signs between commands alone.
fn is_plain_command(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || " \t-_./=,:@%+~|;&>*?!".contains(c);
    let outside = text.split('\'').step_by(2);
    text.matches('\'').count().is_multiple_of(2) && outside.flat_map(str::chars).all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_quotes_is_completed_only_where_they_are_quotes() {
        for (line, is_plain) in [
            ("!ls a", true),
            ("!FOO=1 ls | grep -v x; cat 'b $(c)' a", true),
            ("!cat 'b", false),
            ("!echo `cat a", false),
            ("!echo $(( a", false),
            ("!(( a", false),
            ("!echo $[ a", false),
            ("!cat <<E a", false),
            ("!ls # a", false),
            ("!ls\nls a", false),
            ("!ls \\' a", false),
        ] {
            let mut composer = Composer::default();
            composer.buffer.insert(line);
            assert_eq!(composer.takes_word("'a b'"), is_plain, "{line}");
            assert!(composer.takes_word("a.txt"), "{line}");
        }
    }

    #[test]
    fn a_path_is_completed_only_where_no_quote_is_open() {
        for (line, is_plain) in [
            ("!ls a", true),
            ("!ls 'b c' a", true),
            ("!ls \\\"b a", true),
            ("!echo $(ls a", true),
            ("!ls \"a", false),
            ("!ls 'a", false),
            ("!ls \"b \\\" a", false),
            ("!ls \"$(ls \"a", false),
            ("!ls $'\\' a", false),
            ("!ls `echo \"` a", false),
            ("!ls b\nls a", true),
            ("!cat <<E\na", false),
            ("!ls # '\nls '", false),
        ] {
            let mut composer = Composer::default();
            composer.buffer.insert(line);
            assert!(composer.has_path(), "{line}");
            assert_eq!(composer.complete_path(), is_plain, "{line}");
            assert_eq!(composer.trigger().is_some(), is_plain, "{line}");
        }
    }

    #[test]
    fn up_and_down_walk_the_history_and_come_back_to_the_draft() {
        let mut composer = Composer::new(vec!["first".into(), "second".into()]);
        composer.buffer.insert("draft");
        assert!(composer.older());
        assert!(composer.older());
        assert_eq!(composer.text(), "first");
        assert!(!composer.older());
        assert!(composer.newer());
        assert!(composer.newer());
        assert_eq!(composer.text(), "draft");
        assert!(!composer.newer());
    }

    /// A prompt with one sent prompt and a draft over which Up has been pressed.
    fn peeked() -> Composer {
        let mut composer = Composer::new(vec!["first".into()]);
        composer.buffer.insert("draft");
        composer.older();
        composer
    }

    #[test]
    fn a_draft_comes_back_whatever_happens_to_the_prompt_in_its_place() {
        let mut cleared = peeked();
        cleared.clear();
        cleared.older();
        assert_eq!(cleared.text(), "draft", "Up after it was cleared");

        let mut sent = peeked();
        sent.take();
        assert_eq!(sent.search(""), ["first", "draft"], "Ctrl+R after it was sent");
        assert!(sent.newer());
        assert_eq!(sent.text(), "draft", "Down after it was sent");

        let mut edited = peeked();
        edited.buffer.insert(" and more");
        edited.edited();
        assert_eq!(edited.search("")[0], "draft", "Ctrl+R after it was edited");

        let mut moved = peeked();
        moved.edited();
        moved.newer();
        assert_eq!(moved.text(), "draft", "Down after the cursor moved");

        let mut replaced = peeked();
        replaced.newer();
        replaced.recall("first");
        assert_eq!(replaced.search("")[0], "draft", "Ctrl+R after a search");

        let mut discarded = peeked();
        discarded.discard();
        assert_eq!(discarded.search("")[0], "draft");
    }

    #[test]
    fn a_slash_opens_commands_only_at_the_start_and_an_at_sign_anywhere() {
        let mut composer = Composer::default();
        composer.buffer.insert("/he");
        assert_eq!(composer.trigger().map(|found| found.kind), Some(MenuKind::Command));
        composer.buffer.set(&"see /he".into());
        assert_eq!(composer.trigger(), None);
        composer.buffer.set(&"/usr/bin".into());
        assert_eq!(composer.trigger(), None);
        composer.buffer.set(&"cost".into());
        composer.buffer.move_cursor(Movement::LineStart);
        composer.buffer.insert("/");
        assert_eq!((composer.text(), composer.trigger()), ("/cost", None));
        composer.buffer.set(&"read @src/ma".into());
        let found = composer.trigger().unwrap();
        assert_eq!((found.start, found.query.as_str()), (5, "src/ma"));
    }
}
