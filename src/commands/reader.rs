//! Reads a file into a command or skill. Every error names the file, the line and what is allowed.

use serde::de::{Deserialize, Deserializer, Error as _};

use super::def::{CommandDef, CommandError, CommandOrigin};
use super::folder::{CommandFile, CommandFolder, CommandKind};
use crate::disk::ProjectFiles;
use crate::markdown::file;
use crate::markdown::front_matter::{self, Document};
use crate::spanned::{Spanned, Value};

/// Maximum size of a file, in bytes.
const MAX_FILE: u64 = 256 << 10;

/// Maximum length of a description, in characters; longer ones are cut.
const MAX_DESCRIPTION: usize = 1024;

/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 64;

const COMMAND_KEYS: [&str; 2] = ["description", "argument-hint"];

const SKILL_KEYS: [&str; 5] =
    ["name", "description", "argument-hint", "disable-model-invocation", "user-invocable"];

/// Informational keys without effect.
const NEUTRAL_KEYS: [&str; 4] = ["license", "metadata", "compatibility", "version"];

/// Keys that other programs support, and the alternative here.
const UNSUPPORTED_KEYS: [(&str, &str); 2] = [
    ("allowed-tools", "it is not supported: use permission rules"),
    ("model", "it is not supported: choose the model with /model or --model"),
];

/// The keys of a command or skill as written.
#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct CommandKeys {
    name: Option<Spanned<Value>>,
    description: Option<Spanned<Description>>,
    argument_hint: Option<ArgumentHint>,
    disable_model_invocation: bool,
    user_invocable: Option<bool>,
}

/// A text on one line, maybe empty.
struct Description(String);

/// A text. `[issue]` is a list in YAML, but is taken literally.
struct ArgumentHint(String);

impl<'de> Deserialize<'de> for Description {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Text(text) => Ok(Self(text.split_whitespace().collect::<Vec<_>>().join(" "))),
            _ => Err(D::Error::custom("must be a text")),
        }
    }
}

impl<'de> Deserialize<'de> for ArgumentHint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match (&value, value.texts()) {
            (Value::Text(text), _) => Ok(Self(text.trim().to_owned())),
            (_, Some(items)) => Ok(Self(format!("[{}]", items.join(", ")))),
            _ => Err(D::Error::custom("must be a text, such as \"[issue]\"")),
        }
    }
}

/// A parsed file, and warnings about ignored parts.
type ParsedCommand = (CommandDef, Vec<CommandError>);

pub(super) fn read_command(
    file: &CommandFile,
    folder: &CommandFolder,
    kind: CommandKind,
    scope: &ProjectFiles<'_>,
) -> Result<ParsedCommand, CommandError> {
    let reader = CommandReader { file, folder, kind };
    let text = reader.text(scope)?;
    let document = match front_matter::has_front_matter(&text) || kind == CommandKind::Skill {
        true => front_matter::parse(&text, folder.foreign)
            .map_err(|error| reader.error(Some(error.line), error.to_string()))?,
        false => {
            let prompt = text.trim().to_owned();
            let fields = Spanned { line: 1, value: Value::Table(Vec::new()) };
            Document { fields, prompt, prompt_line: None }
        }
    };
    reader.to_command(&document)
}

struct CommandReader<'a> {
    file: &'a CommandFile,
    folder: &'a CommandFolder,
    kind: CommandKind,
}

impl CommandReader<'_> {
    fn error(&self, line: Option<usize>, message: impl Into<String>) -> CommandError {
        CommandError { path: self.file.path.clone(), line, message: message.into() }
    }

    fn text(&self, scope: &ProjectFiles<'_>) -> Result<String, CommandError> {
        let unreadable = |why: String| self.error(None, format!("cannot be read: {why}"));
        let located = match self.folder.project {
            true => scope.locate(&self.file.path, None),
            false => scope.locate_user_file(&self.file.path, Some(&self.folder.path)),
        };
        let found = located.map_err(|why| unreadable(why.to_string()))?;
        let opened = found.open().map_err(|why| unreadable(why.to_string()))?;
        file::read_text(opened, MAX_FILE).map_err(|why| unreadable(why.to_string()))
    }

    fn to_command(&self, document: &Document) -> Result<ParsedCommand, CommandError> {
        let mut warnings = Vec::new();
        let allowed = match self.kind {
            CommandKind::Command => &COMMAND_KEYS[..],
            CommandKind::Skill => &SKILL_KEYS[..],
        };
        let ignored_keys = self.unknown_keys(document, allowed, &mut warnings)?;
        if document.prompt.is_empty() {
            let line = document.prompt_line.or(Some(1));
            return Err(self.error(line, "there is no text: write the prompt for the model"));
        }
        let keys: CommandKeys = document
            .fields
            .read_keys(allowed)
            .map_err(|error| self.error(Some(error.line), error.to_string()))?;
        let command = CommandDef {
            name: self.name(keys.name.as_ref(), &mut warnings)?,
            description: self.description(keys.description, document, &mut warnings)?,
            argument_hint: keys.argument_hint.map(|hint| hint.0),
            body: document.prompt.clone(),
            origin: CommandOrigin::File(self.file.path.clone()),
            user_only: self.kind == CommandKind::Command || keys.disable_model_invocation,
            model_only: keys.user_invocable == Some(false),
            ignored_keys,
        };
        Ok((command, warnings))
    }

    /// Rejects unknown keys, or warns about them in a file written for other programs.
    fn unknown_keys(
        &self,
        document: &Document,
        allowed: &[&str],
        warnings: &mut Vec<CommandError>,
    ) -> Result<Vec<String>, CommandError> {
        let mut ignored = Vec::new();
        for (name, Spanned { line, .. }) in document.fields.table().unwrap_or_default() {
            let name = name.as_str();
            if allowed.contains(&name) || NEUTRAL_KEYS.contains(&name) {
                continue;
            }
            let shown = name.escape_debug();
            let message = match UNSUPPORTED_KEYS.iter().find(|(key, _)| *key == name) {
                Some((_, why)) => format!("`{name}`: {why}"),
                None => format!("unknown key `{shown}`; allowed: {}", allowed.join(", ")),
            };
            if !self.folder.foreign {
                return Err(self.error(Some(*line), format!("{message}; remove it")));
            }
            warnings.push(self.error(Some(*line), format!("{message}; ignored")));
            ignored.push(shown.to_string());
        }
        Ok(ignored)
    }

    /// Returns the name: a skill may set it; a command is named by its file.
    fn name(
        &self,
        given: Option<&Spanned<Value>>,
        warnings: &mut Vec<CommandError>,
    ) -> Result<String, CommandError> {
        let by_place = || match check_name(&self.file.name) {
            Ok(()) => Ok(self.file.name.clone()),
            Err(why) => Err(self.error(None, why)),
        };
        let Some(given) = given else { return by_place() };
        let name = given.scalar().unwrap_or_default().trim();
        match check_name(name) {
            Ok(()) => Ok(name.to_owned()),
            Err(why) if self.folder.foreign && check_name(&self.file.name).is_ok() => {
                let message = format!("{why}; the folder's name counts instead");
                warnings.push(self.error(Some(given.line), message));
                by_place()
            }
            Err(why) => Err(self.error(Some(given.line), why)),
        }
    }

    fn description(
        &self,
        given: Option<Spanned<Description>>,
        document: &Document,
        warnings: &mut Vec<CommandError>,
    ) -> Result<String, CommandError> {
        let (line, text) = given.map_or((1, String::new()), |given| (given.line, given.value.0));
        if text.is_empty() && self.kind == CommandKind::Skill {
            let message =
                "`description` is missing: it says what the skill is for and when to use it";
            return Err(self.error(Some(line), message));
        }
        if text.is_empty() {
            let first = document.prompt.lines().next().unwrap_or_default();
            return Ok(first.trim_start_matches(['#', ' ']).chars().take(80).collect());
        }
        if text.chars().count() > MAX_DESCRIPTION {
            let message = format!(
                "`description` is longer than {MAX_DESCRIPTION} characters: the rest is cut"
            );
            warnings.push(self.error(Some(line), message));
        }
        Ok(text.chars().take(MAX_DESCRIPTION).collect())
    }
}

/// Checks a name.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let sound = |part: &str| part.starts_with(char::is_alphanumeric) && part.chars().all(plain);
    if name.len() <= MAX_NAME && name.split(':').all(sound) {
        return Ok(());
    }
    Err(format!(
        "the name {name:?} is not allowed: use up to {MAX_NAME} letters, digits, `-`, `_` and `.`, starting with a letter or digit"
    ))
}
