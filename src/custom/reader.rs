//! From a file to a command or a skill. Every error names the file, the line and what is allowed.

use super::folder::{Folder, Found, Kind};
use super::{Custom, CustomError, Place};
use crate::disk::ProjectFiles;
use crate::markdown::file;
use crate::markdown::front_matter::{self, Document, Field, Value};

/// A longer file is no prompt. Bytes.
const MAX_FILE: u64 = 256 << 10;

/// A longer description is cut. Characters.
const MAX_DESCRIPTION: usize = 1024;

/// A longer name is refused. Bytes.
const MAX_NAME: usize = 64;

const COMMAND_KEYS: [&str; 2] = ["description", "argument-hint"];

const SKILL_KEYS: [&str; 5] =
    ["name", "description", "argument-hint", "disable-model-invocation", "user-invocable"];

/// Keys that say something about a file and change nothing.
const PLAIN_KEYS: [&str; 4] = ["license", "metadata", "compatibility", "version"];

/// Keys that other programs act on, and what holds here instead.
const NOT_HERE: [(&str, &str); 2] = [
    ("allowed-tools", "it allows nothing here: permission rules do"),
    ("model", "it is not supported: /model or --model chooses the model"),
];

/// What came of a file: what it is, and parts of it that do not count.
type Read = (Custom, Vec<CustomError>);

pub(super) fn read(
    file: &Found,
    folder: &Folder,
    kind: Kind,
    scope: &ProjectFiles<'_>,
) -> Result<Read, CustomError> {
    let reader = Reader { file, folder, kind };
    let text = reader.text(scope)?;
    let document = match front_matter::begins(&text) || kind == Kind::Skill {
        true => front_matter::parse(&text, folder.foreign)
            .map_err(|(line, message)| reader.error(Some(line), message))?,
        false => {
            let prompt = text.trim().to_owned();
            Document { fields: Vec::new(), prompt, prompt_line: None }
        }
    };
    reader.custom(&document)
}

struct Reader<'a> {
    file: &'a Found,
    folder: &'a Folder,
    kind: Kind,
}

impl Reader<'_> {
    fn error(&self, line: Option<usize>, message: impl Into<String>) -> CustomError {
        CustomError { path: self.file.path.clone(), line, message: message.into() }
    }

    fn text(&self, scope: &ProjectFiles<'_>) -> Result<String, CustomError> {
        let unreadable = |why: String| self.error(None, format!("cannot be read: {why}"));
        let located = match self.folder.project {
            true => scope.locate(&self.file.path, None),
            false => scope.locate_own(&self.file.path, Some(&self.folder.path)),
        };
        let path = located.map_err(|why| unreadable(why.to_string()))?;
        file::text(&path, MAX_FILE).map_err(|why| unreadable(why.to_string()))
    }

    fn custom(&self, document: &Document) -> Result<Read, CustomError> {
        let mut warnings = Vec::new();
        let passed_over = self.unknown_keys(document, &mut warnings)?;
        if document.prompt.is_empty() {
            let line = document.prompt_line.or(Some(1));
            return Err(self.error(line, "there is no text: it is what the model is told"));
        }
        let name = self.name(document, &mut warnings)?;
        let description = self.description(document, &mut warnings)?;
        let custom = Custom {
            name,
            description,
            argument_hint: self.hint(document)?,
            body: document.prompt.clone(),
            place: Place::File(self.file.path.clone()),
            only_person: self.kind == Kind::Command
                || self.flag(document, "disable-model-invocation")?.unwrap_or(false),
            only_model: !self.flag(document, "user-invocable")?.unwrap_or(true),
            passed_over,
        };
        Ok((custom, warnings))
    }

    /// Refuses keys that mean nothing here, or warns of them in a file that was written for other programs.
    fn unknown_keys(
        &self,
        document: &Document,
        warnings: &mut Vec<CustomError>,
    ) -> Result<Vec<String>, CustomError> {
        let keys = match self.kind {
            Kind::Command => &COMMAND_KEYS[..],
            Kind::Skill => &SKILL_KEYS[..],
        };
        let mut passed_over = Vec::new();
        for (name, Field { line, .. }) in &document.fields {
            let name = name.as_str();
            if keys.contains(&name) || PLAIN_KEYS.contains(&name) {
                continue;
            }
            let shown = name.escape_debug();
            let message = match NOT_HERE.iter().find(|(key, _)| *key == name) {
                Some((_, why)) => format!("`{name}`: {why}"),
                None => format!("unknown key `{shown}`; allowed: {}", keys.join(", ")),
            };
            if !self.folder.foreign {
                return Err(self.error(*line, format!("{message}; leave it out")));
            }
            warnings.push(self.error(*line, format!("{message}; passed over")));
            passed_over.push(shown.to_string());
        }
        Ok(passed_over)
    }

    /// A skill may say its name; a command has that of its file.
    fn name(
        &self,
        document: &Document,
        warnings: &mut Vec<CustomError>,
    ) -> Result<String, CustomError> {
        let by_place = || match check_name(&self.file.name) {
            Ok(()) => Ok(self.file.name.clone()),
            Err(why) => Err(self.error(None, why)),
        };
        let field = document.get("name").filter(|_| self.kind == Kind::Skill);
        let Some(field) = field else { return by_place() };
        let given = field.value.scalar().unwrap_or_default();
        match check_name(given) {
            Ok(()) => Ok(given.to_owned()),
            Err(why) if self.folder.foreign && check_name(&self.file.name).is_ok() => {
                let message = format!("{why}; the folder's name counts instead");
                warnings.push(self.error(field.line, message));
                by_place()
            }
            Err(why) => Err(self.error(field.line, why)),
        }
    }

    fn description(
        &self,
        document: &Document,
        warnings: &mut Vec<CustomError>,
    ) -> Result<String, CustomError> {
        let field = document.get("description");
        let text = match field.map(|field| &field.value) {
            Some(Value::Text(text)) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            Some(_) => {
                let line = field.and_then(|field| field.line);
                return Err(self.error(line, "`description` must be a text"));
            }
            None => String::new(),
        };
        if text.is_empty() && self.kind == Kind::Skill {
            let line = field.and_then(|field| field.line).or(Some(1));
            let message =
                "`description` is missing: it says what the skill is for and when to use it";
            return Err(self.error(line, message));
        }
        if text.is_empty() {
            let first = document.prompt.lines().next().unwrap_or_default();
            return Ok(first.trim_start_matches(['#', ' ']).chars().take(80).collect());
        }
        if text.chars().count() > MAX_DESCRIPTION {
            let message = format!(
                "`description` is longer than {MAX_DESCRIPTION} characters: the rest is cut"
            );
            warnings.push(self.error(field.and_then(|field| field.line), message));
        }
        Ok(text.chars().take(MAX_DESCRIPTION).collect())
    }

    /// `[issue]` is a list in YAML, and meant as it stands.
    fn hint(&self, document: &Document) -> Result<Option<String>, CustomError> {
        match document.get("argument-hint") {
            None => Ok(None),
            Some(Field { value: Value::Text(text), .. }) => Ok(Some(text.trim().to_owned())),
            Some(Field { value: Value::List(items), .. }) => {
                Ok(Some(format!("[{}]", items.join(", "))))
            }
            Some(Field { line, .. }) => {
                Err(self.error(*line, "`argument-hint` must be a text, such as \"[issue]\""))
            }
        }
    }

    fn flag(&self, document: &Document, key: &str) -> Result<Option<bool>, CustomError> {
        let Some(field) = document.get(key) else { return Ok(None) };
        match field.value.scalar() {
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            _ => Err(self.error(field.line, format!("`{key}` must be true or false"))),
        }
    }
}

/// Why nothing can be called so.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let sound = |part: &str| part.starts_with(char::is_alphanumeric) && part.chars().all(plain);
    if name.len() <= MAX_NAME && name.split(':').all(sound) {
        return Ok(());
    }
    Err(format!(
        "the name {name:?} is not allowed: use letters, digits, `-`, `_` and `.`, at most {MAX_NAME}, a letter or digit first"
    ))
}
