//! What stands between the parentheses of a rule: command, path and domain patterns.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet};
use url::Host;

use super::danger::{self, Danger};
use super::path::{Places, Target, resolve};
use super::protected::{Protection, fold};
use super::restriction::{Restriction, compare};
use super::script::{SimpleCommand, Word};
use super::spelling::Piece;
use super::starts::{Start, Starts};
use super::wrapper;

/// Which shell commands a rule covers. Each simple command of a line is matched on its own.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandPattern {
    /// This command and no other.
    Exact(String),
    /// Commands that begin with these words.
    Prefix(String),
    /// `*` stands for any text.
    Wild(String),
}

impl CommandPattern {
    /// Reads the text between the parentheses; `None` is every command.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let text = text.trim();
        let (body, prefix) = match text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")) {
            Some(body) => (body.trim(), true),
            None => (text, false),
        };
        if body.contains(":*") {
            return Err("`:*` can only stand at the end, as in Bash(git diff:*)".to_owned());
        }
        if matches!(body, "" | "*") {
            return Ok(None);
        }
        let body = body.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Some(match (body.contains('*'), prefix) {
            (true, true) => Self::Wild(format!("{body} *")),
            (true, false) => Self::Wild(body),
            (false, true) => Self::Prefix(body),
            (false, false) => Self::Exact(body),
        }))
    }

    /// How many words of a command the pattern names.
    #[must_use]
    pub fn words(&self) -> usize {
        match self {
            Self::Exact(_) => usize::MAX,
            Self::Prefix(text) => text.split(' ').count(),
            Self::Wild(text) => text.split(' ').take_while(|word| !word.contains('*')).count(),
        }
    }

    /// How many words of a command say where files are: those that the pattern names, and one of
    /// which it names the folder, as in `python3 scripts/*`.
    #[must_use]
    pub fn file_words(&self) -> usize {
        let words = self.words();
        words.saturating_add(usize::from(self.folder_word().is_some()))
    }

    /// The word of the pattern that names a folder before its `*`, where that is the first `*`.
    fn folder_word(&self) -> Option<&str> {
        let Self::Wild(text) = self else { return None };
        let word = text.split(' ').nth(self.words())?;
        word.split('*').next().filter(|folder| folder.contains('/')).map(|_| word)
    }

    /// Whether the pattern leaves the program itself open.
    #[must_use]
    pub fn leaves_program_open(&self) -> bool {
        let Self::Wild(text) = self else { return false };
        text.split(' ').next().is_some_and(|word| word.contains('*'))
    }

    /// Whether an allowing rule covers the command: every word the rule names must be certain,
    /// nothing may stand before the program, and what runs another program is covered only by a
    /// rule that names that program too. The command runs in one of `bases`.
    #[must_use]
    pub fn allows(&self, command: &SimpleCommand, bases: &[PathBuf]) -> bool {
        self.covers(command) && self.unnamed(command, bases).is_none()
    }

    /// The dangerous option that alone keeps the rule from covering the command.
    #[must_use]
    pub fn exception(&self, command: &SimpleCommand, bases: &[PathBuf]) -> Option<Danger> {
        if self.covers(command) { self.unnamed(command, bases) } else { None }
    }

    /// Whether a word that is only known when the line runs may stand for a dangerous option that
    /// the rule does not name.
    #[must_use]
    pub fn is_misled(&self, command: &SimpleCommand, line: &str, bases: &[PathBuf]) -> bool {
        let start = start_of(&command.words);
        matches!(self, Self::Prefix(_) | Self::Wild(_))
            && danger::is_smuggled(&command.words, line, bases, |danger| {
                self.names(danger, start, &command.words)
            })
    }

    /// The first dangerous option of the command that the rule does not name.
    fn unnamed(&self, command: &SimpleCommand, bases: &[PathBuf]) -> Option<Danger> {
        if matches!(self, Self::Exact(_)) {
            return None;
        }
        let words = &command.words;
        let start = start_of(words);
        let dangers = danger::find(words.get(start..).unwrap_or_default(), bases);
        dangers.into_iter().find(|danger| !self.names(danger, start, words))
    }

    /// Whether the rule names the dangerous option of the command that begins with the word at
    /// `start`: it is one of the rule's own words, or the value of the option that the rule ends
    /// with. Another one of the same name, or with another value, is not what the user thought of.
    fn names(&self, danger: &Danger, start: usize, words: &[Word]) -> bool {
        let place = danger.place.saturating_add(start);
        match self {
            Self::Exact(_) => true,
            Self::Prefix(text) => {
                let count = named_words(words, text);
                let last = text.rsplit(' ').next().filter(|last| last.starts_with('-'));
                place < count || place == count && last.is_some_and(|last| danger.is_named(last))
            }
            // The words from the first `*` on stand anywhere.
            Self::Wild(text) => {
                let open = text.split(' ').skip(self.words()).collect::<Vec<_>>().join(" ");
                place < self.words() || danger.is_named(&open)
            }
        }
    }

    /// Whether the rule covers the command, dangerous options aside.
    fn covers(&self, command: &SimpleCommand) -> bool {
        if !command.assignments.iter().all(|assignment| assignment.harmless) {
            return false;
        }
        let words = &command.words;
        let certain = |count: usize| {
            words.len() >= count && words.iter().take(count).all(|word| word.literal)
        };
        let reaches = |count: usize| match wrapper::wrapped(words) {
            wrapper::Wrapped::Nothing => true,
            wrapper::Wrapped::From(inner) => count > inner,
            wrapper::Wrapped::Unclear => false,
        };
        match self {
            Self::Exact(text) => {
                certain(words.len()) && (raw(words) == *text || same_words(words, text))
            }
            Self::Prefix(text) => {
                let count = self.words();
                certain(count) && reaches(count) && begins_with(words, text)
            }
            Self::Wild(text) => {
                let count = self.words();
                // What is below a folder does not leave it again.
                let stays = |word: &Word| !word.text.split('/').any(|part| part == "..");
                let stays = self.folder_word().is_none() || words.get(count).is_some_and(stays);
                let is_own = raw(words) == *text;
                let stays = is_own && certain(count) || stays && certain(self.file_words());
                count > 0 && stays && reaches(count) && wild(text, &raw(words))
            }
        }
    }

    /// Whether a denying or asking rule is meant for these words, however they are written.
    /// `appends` says that the command gets more words than these.
    #[must_use]
    pub fn restricts(&self, words: &[Word], appends: bool) -> Restriction {
        let joined = wrapper::undressed(words).join(" ");
        let (text, meant) = match self {
            Self::Exact(text) => (text, joined == *text || raw(words) == *text),
            Self::Prefix(text) => (text, is_prefix(text, &joined) || is_prefix(text, &raw(words))),
            Self::Wild(text) => (text, wild(text, &joined) || wild(text, &raw(words))),
        };
        match meant {
            true => Restriction::Yes,
            false => compare(text, matches!(self, Self::Exact(_)), words, appends),
        }
    }

    /// The program that the pattern names, without its folder.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        let (Self::Exact(text) | Self::Prefix(text) | Self::Wild(text)) = self;
        let program = text.split(' ').next().filter(|program| !program.contains('*'));
        program.map(wrapper::base_name)
    }

    /// The words behind the program, but for those that may be any.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        let (Self::Exact(text) | Self::Prefix(text) | Self::Wild(text)) = self;
        text.split(' ').skip(1).filter(|word| *word != "*")
    }

    /// Whether this is the whole line, word for word.
    #[must_use]
    pub fn is_line(&self, line: &str) -> bool {
        // To bash, other blanks are part of a word.
        let line = line.trim_matches([' ', '\t', '\n']);
        matches!(self, Self::Exact(text) if text == line)
    }

    /// Whether a denying or asking rule is meant for the line as a whole, such as `curl * | sh`.
    #[must_use]
    pub fn restricts_line(&self, line: &str) -> bool {
        let spaced = line.replace('|', " | ").replace(';', " ; ").replace('&', " & ");
        let spaced = spaced.replace("|  |", "||").replace("&  &", "&&");
        [line, &spaced].into_iter().any(|line| self.is_meant_for_line(line))
    }

    fn is_meant_for_line(&self, line: &str) -> bool {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match self {
            Self::Exact(text) => line == *text,
            Self::Prefix(text) => is_prefix(text, &line),
            Self::Wild(text) => wild(text, &line),
        }
    }
}

fn raw(words: &[Word]) -> String {
    words.iter().map(|word| word.raw.as_str()).collect::<Vec<_>>().join(" ")
}

/// Whether the words have these values, however they are quoted. What the text says with characters
/// that mean something to bash is another matter: `'~/x'` is not `~/x`.
fn same_words(words: &[Word], text: &str) -> bool {
    words.iter().map(|word| word.text.as_str()).eq(text.split(' '))
        && text.split(' ').all(is_plain_word)
}

/// Whether bash takes the word as it is.
fn is_plain_word(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:,@%+".contains(c);
    // Elsewhere than in an option, it may set a variable.
    let may_assign = !word.starts_with('-');
    word.chars().all(|c| is_plain(c) || c == '=' && !may_assign)
}

/// The place of the word with which the command begins, behind what only starts it.
fn start_of(words: &[Word]) -> usize {
    match wrapper::wrapped(words) {
        wrapper::Wrapped::From(inner) => inner,
        wrapper::Wrapped::Nothing | wrapper::Wrapped::Unclear => 0,
    }
}

/// How many of the words are those of the text, which they begin with. One in quotes may hold blanks.
fn named_words(words: &[Word], text: &str) -> usize {
    let count = text.split(' ').count();
    if words.len() >= count && same_words(&words[..count], text) {
        return count;
    }
    let mut length = 0;
    let is_within = |word: &&Word| {
        length += word.raw.len() + 1;
        length <= text.len() + 1
    };
    words.iter().take_while(is_within).count()
}

fn begins_with(words: &[Word], text: &str) -> bool {
    let count = text.split(' ').count();
    words.len() >= count && same_words(&words[..count], text) || is_prefix(text, &raw(words))
}

fn is_prefix(prefix: &str, text: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Whether `text` fits `pattern`, where `*` stands for any run of characters. Takes time linear in
/// the product.
pub fn wild(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(place) => rest = &rest[place + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Bytes of a path pattern: as many as always compile within the limit of the library.
const LONGEST: usize = 1024;

/// Which files a rule covers, in the manner of gitignore.
#[derive(Clone, Debug)]
pub struct PathPattern {
    text: String,
    /// Where the pattern starts; absent for those that start wherever an agent works.
    anchor: Option<PathBuf>,
    /// The project that the rule was written for.
    project: PathBuf,
    shapes: Arc<[Shape]>,
    /// The names in it, folded.
    names: Vec<String>,
    /// The names before the first wildcard; empty for a name that is found at any depth.
    fixed: PathBuf,
}

impl PartialEq for PathPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.anchor == other.anchor
    }
}

impl PathPattern {
    /// Reads `//absolute`, `~/home`, `/from the project`, `relative` or a bare name, which is found
    /// at any depth.
    pub fn parse(text: &str, project: &Path, home: Option<&Path>) -> Result<Self, String> {
        let text = text.trim();
        if text.len() > LONGEST {
            return Err(format!("a pattern has at most {LONGEST} bytes, this one {}", text.len()));
        }
        let (anchor, relative) = if let Some(rest) = text.strip_prefix("//") {
            (Some(PathBuf::from("/")), rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            let home = home.ok_or("the home directory is not known; write //absolute/path")?;
            (Some(home.to_owned()), rest)
        } else if let Some(rest) = text.strip_prefix('/') {
            (Some(project.to_owned()), rest)
        } else {
            (None, text)
        };
        if relative.starts_with('~') || relative.starts_with('!') {
            return Err(
                "a pattern is //absolute, ~/home, /from-the-project or relative; `~user` and `!` are not known"
                    .to_owned(),
            );
        }
        if relative.split('/').any(|part| part == "..") {
            return Err("`..` does not work in a pattern; write //absolute/path".to_owned());
        }
        let floating = anchor.is_none() && !relative.trim_end_matches('/').contains('/');
        let relative = relative.strip_prefix("./").unwrap_or(relative).trim_end_matches('/');
        if relative.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        if relative.split('/').any(|part| part == ".") {
            return Err("`.` is no name of a file; `**` stands for all files below".to_owned());
        }
        let names = relative.split('/').map(fold).collect();
        let shapes = shapes(relative, floating)?;
        let is_fixed = |name: &&str| !name.contains(['*', '?', '[', '{', '\\']);
        let fixed = relative.split('/').take_while(is_fixed).filter(|_| !floating).collect();
        let (text, project) = (text.to_owned(), project.to_owned());
        Ok(Self { text, anchor, project, shapes, names, fixed })
    }

    /// Whether the pattern holds the name that a file is protected for: then the file is meant. A
    /// name with a wildcard counts when a dot and a letter begin it.
    #[must_use]
    pub fn names(&self, protection: &Protection) -> bool {
        let is_meant = |name: &String| {
            let mut start = name.chars();
            let begins =
                start.next() == Some('.') && start.next().is_some_and(char::is_alphanumeric);
            let fits = |glob: Glob| glob.compile_matcher().is_match(&protection.name);
            *name == protection.name || begins && Glob::new(name).is_ok_and(fits)
        };
        self.names.iter().any(is_meant)
    }

    /// Whether an allowing rule covers the target: what counts is where it really leads.
    #[must_use]
    pub fn allows(&self, target: &Target, cwd: &Path) -> bool {
        let Some(path) = &target.resolved else { return false };
        let starts = match &self.anchor {
            Some(anchor) => vec![anchor.as_path()],
            None => vec![&self.project, cwd],
        };
        starts.into_iter().filter_map(resolve).any(|start| self.matches(path, &start))
    }

    /// Whether the pattern starts in a folder of the session, as that was named. Then it means no
    /// place that a link leads to which came later.
    #[must_use]
    pub fn is_for_session(&self, places: &Places) -> bool {
        self.anchor.as_ref().is_none_or(|anchor| places.is_of_session(anchor))
    }

    /// Where the pattern starts: its own anchor, or else these folders.
    #[must_use]
    pub fn starts(&self, relative: &Starts) -> Starts {
        match &self.anchor {
            Some(anchor) if *anchor == self.project => relative.within_project(anchor),
            Some(anchor) => Starts::new([anchor.as_path()]),
            None => relative.clone(),
        }
    }

    /// Whether a denying or asking rule covers the target under either of its names. A target of
    /// which nobody can tell where it leads may be any file. `starts` are those that
    /// [`Self::starts`] gives.
    #[must_use]
    pub fn restricts(&self, target: &Target, starts: &Starts) -> Restriction {
        let is_meant = target.names().any(|path| self.restricts_name(path, starts));
        match (is_meant, &target.resolved) {
            (true, _) => Restriction::Yes,
            (false, Some(_)) => Restriction::No,
            (false, None) => Restriction::Maybe(format!(
                "it is unknown where {} leads",
                target.written.display()
            )),
        }
    }

    /// Whether a denying or asking rule covers the file of this name.
    pub(super) fn restricts_name(&self, path: &Path, starts: &Starts) -> bool {
        starts.iter().any(|start| {
            self.matches(path, &start.written)
                || start.resolved.as_deref().is_some_and(|start| self.matches(path, start))
        })
    }

    /// Whether a file that a denying or asking rule covers may lie in the folder or below it, by
    /// their names alone.
    #[must_use]
    pub fn may_lie_in(&self, folder: &Path, starts: &Starts) -> bool {
        self.places(starts).any(|place| place.starts_with(folder) || folder.starts_with(&place))
    }

    /// Whether a file that a denying or asking rule covers may have a name that ends so, in a
    /// folder that is not known. Patterns that are the same in every folder are compared with names
    /// as they stand.
    #[must_use]
    pub fn may_end_in(&self, name: &[Piece], starts: &Starts) -> bool {
        let own: Vec<&String> = self.names.iter().skip_while(|name| *name == "**").collect();
        let is_everywhere = own.len() == 1 && self.fixed.as_os_str().is_empty();
        let Some(last) = own.last().filter(|_| !is_everywhere) else { return false };
        let char = |piece: &Piece| if let Piece::Char(c) = piece { Some(*c) } else { None };
        let Some(name) = name.iter().map(char).collect::<Option<String>>() else { return true };
        let fits = |glob: Glob| glob.compile_matcher().is_match(fold(&name));
        // Below a folder that the rule covers any name is meant.
        let is_fixed = self.fixed.iter().count() == own.len();
        let may_be_folder = || match is_fixed {
            true => self.places(starts).any(|place| place.is_dir()),
            false => !last.contains('.'),
        };
        matches!(name.as_str(), "" | "." | "..")
            || Glob::new(last).map_or(true, fits)
            || may_be_folder()
    }

    /// Whether the names before the first wildcard lead below the folder.
    #[must_use]
    pub fn lies_below(&self, folder: &Path, starts: &Starts) -> bool {
        let is_below = |place: PathBuf| place != folder && place.starts_with(folder);
        !self.fixed.as_os_str().is_empty() && self.places(starts).any(is_below)
    }

    /// Where the names before the first wildcard lead.
    fn places(&self, starts: &Starts) -> impl Iterator<Item = PathBuf> {
        let names = |start: &Start| {
            std::iter::once(start.written.clone()).chain(start.resolved.clone()).collect::<Vec<_>>()
        };
        let starts: Vec<PathBuf> = starts.iter().flat_map(names).collect();
        starts.into_iter().map(|start| start.join(&self.fixed))
    }

    /// Whether the pattern starts in the project with a name that is there only at the root of the
    /// file system.
    #[must_use]
    pub fn seems_absolute(&self) -> bool {
        let is_of_project = self.text.starts_with('/') && !self.text.starts_with("//");
        let (Some(first), Some(project)) = (self.fixed.iter().next(), &self.anchor) else {
            return false;
        };
        is_of_project && Path::new("/").join(first).exists() && !project.join(first).exists()
    }

    /// Whether one of the names on the way to a covered file begins with a dot.
    #[must_use]
    pub fn needs_dot_name(&self) -> bool {
        self.names.iter().any(|name| name.starts_with('.'))
    }

    fn matches(&self, path: &Path, start: &Path) -> bool {
        path.strip_prefix(start)
            .is_ok_and(|inside| self.shapes.iter().any(|shape| shape.fits(inside)))
    }
}

/// A glob that is read at once and compiled when a path is first compared with it: one takes as
/// long to compile as the whole configuration takes to read, and most rules are never asked.
#[derive(Debug)]
struct Shape {
    glob: Glob,
    matcher: OnceLock<GlobMatcher>,
}

impl Shape {
    fn fits(&self, path: &Path) -> bool {
        self.matcher.get_or_init(|| self.glob.compile_matcher()).is_match(path)
    }
}

/// Whether the glob can be compiled: a set says so, a single one ends the program.
fn compiles(glob: &Glob) -> bool {
    GlobSet::builder().add(glob.clone()).build().is_ok()
}

/// The pattern itself, what lies below it, and for `folder/**` the folder.
fn shapes(relative: &str, floating: bool) -> Result<Arc<[Shape]>, String> {
    let start = if floating { "**/" } else { "" };
    let mut texts = vec![format!("{start}{relative}"), format!("{start}{relative}/**")];
    if let Some(folder) = relative.strip_suffix("/**").filter(|folder| !folder.is_empty()) {
        texts.push(format!("{start}{folder}"));
    }
    if relative == "**" {
        texts.push(String::new());
    }
    texts
        .iter()
        .map(|text| match GlobBuilder::new(text).literal_separator(true).build() {
            // Braces can be nested too deep to be compiled, and nothing else of this length is.
            Ok(glob) if text.contains('{') && !compiles(&glob) => {
                Err("its braces are nested too deep; nest fewer".to_owned())
            }
            Ok(glob) => Ok(Shape { glob, matcher: OnceLock::new() }),
            Err(error) => Err(format!("{}; allowed are *, **, ?, [abc] and {{a,b}}", error.kind())),
        })
        .collect()
}

/// Which hosts a `WebFetch(domain:…)` rule covers.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainPattern {
    host: String,
    /// The rule was written `*.host`.
    below: bool,
}

impl DomainPattern {
    /// Reads `domain:example.com` or `domain:*.example.com`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let usage = "write WebFetch(domain:example.com) or WebFetch(domain:*.example.com)";
        let host = text.trim().strip_prefix("domain:").ok_or(usage)?.trim().to_ascii_lowercase();
        let (host, below) = match host.strip_prefix("*.") {
            Some(host) => (host.to_owned(), true),
            None => (host, false),
        };
        // As addresses have it: names in other scripts are written in another way there.
        let host = Host::parse(host.trim_end_matches('.')).map_err(|_| usage)?;
        Ok(Self { host: host.to_string(), below })
    }

    /// Whether an allowing rule covers the host: the very host, or with `*.` those below it.
    #[must_use]
    pub fn allows(&self, host: &str) -> bool {
        if self.below { self.is_below(host) } else { host == self.host }
    }

    /// Whether a denying or asking rule covers the host: also those below it.
    #[must_use]
    pub fn restricts(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        self.is_below(host) || !self.below && host == self.host
    }

    fn is_below(&self, host: &str) -> bool {
        host.strip_suffix(&self.host).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_any_kind_compiles_up_to_the_longest_and_a_longer_one_is_refused() {
        let read = |text: &str| PathPattern::parse(text, Path::new("/p"), None);
        for piece in ["?", "*a", "[!a]", "[a-zA-Z]", "{a,b}", "{?,??}", "a/**/"] {
            let text = piece.repeat(LONGEST / piece.len());
            let pattern = read(&text).unwrap();
            assert!(!pattern.matches(Path::new("/p/none"), Path::new("/p")), "{piece}");
        }
        let nested = |depth| format!("{}d{}", "{?,".repeat(depth), "}".repeat(depth));
        let pattern = read(&nested(16)).unwrap();
        assert!(!pattern.matches(Path::new("/p/none"), Path::new("/p")));
        let error = read(&nested(200)).unwrap_err();
        assert_eq!(error, "its braces are nested too deep; nest fewer");
        for piece in ["{\\}a,", "{[}],"] {
            let text = format!("{}d{}", piece.repeat(160), "}".repeat(160));
            assert!(read(&text).is_err(), "{piece}");
        }
        let error = read(&"a".repeat(LONGEST + 1)).unwrap_err();
        assert_eq!(error, "a pattern has at most 1024 bytes, this one 1025");
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("git * main", "git push origin main", true),
            ("git * main", "git main", false),
            ("a*a", "a", false),
            ("a*b*c", "axxbyyc", true),
            ("*", "anything", true),
        ] {
            assert_eq!(wild(pattern, text), expected, "{pattern} ~ {text}");
        }
    }

    #[test]
    fn path_patterns_follow_gitignore() {
        let (project, home) = (Path::new("/p"), Path::new("/h"));
        for (pattern, path, expected) in [
            ("src/**", "/p/src/a/b.rs", true),
            ("src/**", "/p/src", true),
            ("src/**", "/p/srcs/a.rs", false),
            ("src/*.rs", "/p/src/a/b.rs", false),
            (".env", "/p/deep/.env", true),
            ("./.env", "/p/deep/.env", false),
            ("./.env", "/p/.env", true),
            ("secrets", "/p/a/secrets/key", true),
            ("/docs", "/p/docs/x.md", true),
            ("/docs", "/p/a/docs/x.md", false),
            ("//etc/**", "/etc/passwd", true),
            ("~/.ssh/**", "/h/.ssh/id", true),
            ("**", "/p/a", true),
            ("**", "/q/a", false),
        ] {
            let pattern = PathPattern::parse(pattern, project, Some(home)).unwrap();
            let target = Target { written: path.into(), resolved: Some(path.into()) };
            assert_eq!(pattern.allows(&target, project), expected, "{pattern:?} {path}");
            let starts = pattern.starts(&Starts::new([project]));
            let restriction = Restriction::certain(expected);
            assert_eq!(pattern.restricts(&target, &starts), restriction, "{pattern:?} {path}");
            let unknown = Target { resolved: None, ..target };
            assert_ne!(pattern.restricts(&unknown, &starts), Restriction::No, "{pattern:?} {path}");
        }
        for broken in ["", "/", "src/[", "../x", "~user/x", "!x"] {
            assert!(PathPattern::parse(broken, project, Some(home)).is_err(), "{broken}");
        }
        assert!(PathPattern::parse("~/x", project, None).is_err());
    }

    #[test]
    fn domains_allow_the_very_host_and_deny_all_below_it() {
        let plain = DomainPattern::parse("domain:Example.com").unwrap();
        assert!(plain.allows("example.com") && !plain.allows("a.example.com"));
        assert!(plain.restricts("a.example.com") && !plain.restricts("badexample.com"));
        let other = DomainPattern::parse("domain:*.Bücher.example").unwrap();
        assert!(other.restricts("a.xn--bcher-kva.example"));
        let below = DomainPattern::parse("domain:*.example.com").unwrap();
        assert!(below.allows("a.example.com") && !below.allows("example.com"));
        assert!(!below.allows("example.com.evil.org"));
        for broken in ["example.com", "domain:", "domain:https://x", "domain:a b"] {
            assert!(DomainPattern::parse(broken).is_err(), "{broken}");
        }
    }
}
