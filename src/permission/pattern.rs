//! The text between the parentheses of a rule: command, path and domain patterns.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet};
use url::Host;

use super::path::{PathTarget, resolve};
use super::pattern_roots::{AgentRoots, PatternRoot, PatternRoots};
use super::places::Places;
use super::protected::{Protection, fold};
use super::spelling::Piece;
use crate::protocol::quoted_name;

mod command;
mod compare;
mod options;
mod restriction;
mod star;
mod word;

pub use command::CommandPattern;
pub use restriction::Restriction;

/// Maximum bytes of a path pattern: as many as always compile within the library's limit.
const MAX_PATTERN_BYTES: usize = 1024;

/// The files that a rule covers, in gitignore syntax.
#[derive(Clone, Debug)]
pub struct PathPattern {
    text: String,
    /// Where the pattern starts; absent if it starts wherever an agent works.
    anchor: Option<PathBuf>,
    /// The project that the rule was written for.
    project: PathBuf,
    shapes: Arc<[LazyGlob]>,
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
    /// Parses `//absolute`, `~/home`, `/from the project`, `relative` or a bare name, which matches at any depth.
    pub fn parse(text: &str, project: &Path, home: Option<&Path>) -> Result<Self, String> {
        let text = text.trim();
        if text.len() > MAX_PATTERN_BYTES {
            return Err(format!(
                "a pattern is limited to {MAX_PATTERN_BYTES} bytes; this one has {}",
                text.len()
            ));
        }
        if let Some(name) = leading_variable(text) {
            let path = if name == "HOME" { "~/ for the home" } else { "the path itself" };
            return Err(format!(
                "a pattern knows no variables: `${name}` would be the name of a file; write {path}"
            ));
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
                "a pattern is //absolute, ~/home, /from-the-project or relative; `~user` and `!` are not supported"
                    .to_owned(),
            );
        }
        if relative.split('/').any(|part| part == "..") {
            return Err("`..` does not work in a pattern; write //absolute/path".to_owned());
        }
        let relative = &without_double_slashes(relative);
        let floating = anchor.is_none() && !relative.trim_end_matches('/').contains('/');
        let relative = relative.strip_prefix("./").unwrap_or(relative).trim_end_matches('/');
        if relative.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        if relative.split('/').any(|part| part == ".") {
            return Err("`.` is not a file name; use `**` for all files below".to_owned());
        }
        let names = relative.split('/').map(fold).collect();
        let shapes = shapes(relative, floating)?;
        let is_fixed = |name: &&str| !name.contains(['*', '?', '[', '{', '\\']);
        let fixed = relative.split('/').take_while(is_fixed).filter(|_| !floating).collect();
        let (text, project) = (text.to_owned(), project.to_owned());
        Ok(Self { text, anchor, project, shapes, names, fixed })
    }

    /// Whether the pattern contains the name that a file is protected for: then the file is meant.
    /// A name with a wildcard counts if it begins with a dot and a letter.
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

    /// Whether an allow rule covers the target, by its resolved path.
    pub fn allows(&self, target: &PathTarget, cwd: &Path) -> bool {
        let Some(path) = &target.resolved else { return false };
        let starts = match &self.anchor {
            Some(anchor) => vec![anchor.as_path()],
            None => vec![&self.project, cwd],
        };
        starts.into_iter().filter_map(resolve).any(|start| self.matches(path, &start))
    }

    /// Whether the pattern starts in a folder of the session, as that was named. Then it does not
    /// cover the target of a link created later.
    pub fn is_for_session(&self, places: &Places) -> bool {
        self.anchor.as_ref().is_none_or(|anchor| places.is_of_session(anchor))
    }

    /// Where the pattern leads for an agent, from its own anchor or else from where relative ones start.
    pub fn roots(&self, agent: &AgentRoots) -> PatternRoots {
        match &self.anchor {
            Some(anchor) if *anchor == self.project => agent.within_project(anchor, &self.fixed),
            Some(anchor) => agent.below(anchor, &self.fixed),
            None => agent.relative(&self.fixed),
        }
    }

    /// Whether a deny or ask rule covers the target under either of its names. A target that cannot
    /// be resolved may be any file. `starts` comes from [`Self::roots`].
    pub fn restricts(&self, target: &PathTarget, starts: &PatternRoots) -> Restriction {
        let is_meant = target.names().any(|path| self.restricts_name(path, starts));
        match (is_meant, &target.resolved) {
            (true, _) => Restriction::Yes,
            (false, Some(_)) => Restriction::No,
            (false, None) => {
                let name = target.written.display().to_string();
                Restriction::Maybe(format!("the target of {} is unknown", quoted_name(&name)))
            }
        }
    }

    /// Whether a deny or ask rule covers the file of this name.
    pub(super) fn restricts_name(&self, path: &Path, starts: &PatternRoots) -> bool {
        let is_meant = |PatternRoot { folder, names }: &PatternRoot| {
            path.strip_prefix(folder).is_ok_and(|below| match below.as_os_str().is_empty() {
                true => self.fits(names),
                false => self.fits(&names.join(below)),
            })
        };
        starts.iter().any(is_meant)
    }

    /// Whether a file that a deny or ask rule covers may lie in the folder or below it, judging by names.
    pub fn may_lie_in(&self, folder: &Path, starts: &PatternRoots) -> bool {
        starts.iter().any(|it| it.folder.starts_with(folder) || folder.starts_with(&it.folder))
    }

    /// Whether the pattern begins with the name of a folder or file, rather than at any depth.
    pub fn is_anchored(&self) -> bool {
        !self.fixed.as_os_str().is_empty()
    }

    /// Whether a file that a deny or ask rule covers may have a name that ends like this, in an
    /// unknown folder. Patterns that are the same in every folder are compared with names as
    /// written.
    pub fn may_end_in(&self, name: &[Piece], starts: &PatternRoots) -> bool {
        let own: Vec<&String> = self.names.iter().skip_while(|name| *name == "**").collect();
        let is_everywhere = own.len() == 1 && self.fixed.as_os_str().is_empty();
        let Some(last) = own.last().filter(|_| !is_everywhere) else { return false };
        let char = |piece: &Piece| if let Piece::Char(c) = piece { Some(*c) } else { None };
        let Some(name) = name.iter().map(char).collect::<Option<String>>() else { return true };
        let fits = |glob: Glob| glob.compile_matcher().is_match(fold(&name));
        // Below a folder that the rule covers, any name is meant.
        let is_fixed = self.fixed.iter().count() == own.len();
        let may_be_folder = || match is_fixed {
            true => starts.iter().any(|start| start.folder.is_dir()),
            false => !last.contains('.'),
        };
        matches!(name.as_str(), "" | "." | "..")
            || Glob::new(last).map_or(true, fits)
            || may_be_folder()
    }

    /// Whether the names before the first wildcard lead below the folder.
    pub fn lies_below(&self, folder: &Path, starts: &PatternRoots) -> bool {
        let is_below =
            |start: &PatternRoot| start.folder != folder && start.folder.starts_with(folder);
        !self.fixed.as_os_str().is_empty() && starts.iter().any(is_below)
    }

    /// Whether the pattern starts in the project with a name that exists only at the root of the file system.
    pub fn seems_absolute(&self) -> bool {
        let is_of_project = self.text.starts_with('/') && !self.text.starts_with("//");
        let (Some(first), Some(project)) = (self.fixed.iter().next(), &self.anchor) else {
            return false;
        };
        is_of_project && Path::new("/").join(first).exists() && !project.join(first).exists()
    }

    fn matches(&self, path: &Path, start: &Path) -> bool {
        path.strip_prefix(start).is_ok_and(|inside| self.fits(inside))
    }

    /// Whether a name that begins where the pattern does fits it.
    fn fits(&self, names: &Path) -> bool {
        self.shapes.iter().any(|shape| shape.fits(names))
    }
}

/// A glob that is parsed at once and compiled on first use: compiling one takes as long as reading
/// the whole configuration, and most rules are never compared.
#[derive(Debug)]
struct LazyGlob {
    glob: Glob,
    matcher: OnceLock<GlobMatcher>,
}

impl LazyGlob {
    fn fits(&self, path: &Path) -> bool {
        self.matcher.get_or_init(|| self.glob.compile_matcher()).is_match(path)
    }
}

/// Whether the glob can be compiled: compiling it alone would panic, a set returns an error.
fn compiles(glob: &Glob) -> bool {
    GlobSet::builder().add(glob.clone()).build().is_ok()
}

/// The pattern itself, everything below it, and for `folder/**` the folder.
fn shapes(relative: &str, floating: bool) -> Result<Arc<[LazyGlob]>, String> {
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
            Ok(glob) => Ok(LazyGlob { glob, matcher: OnceLock::new() }),
            Err(error) => Err(format!("{}; allowed are *, **, ?, [abc] and {{a,b}}", error.kind())),
        })
        .collect()
}

/// The hosts that a `WebFetch(domain:…)` rule covers.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainPattern {
    host: String,
    /// The rule was written `*.host`.
    below: bool,
}

impl DomainPattern {
    /// Parses `domain:example.com` or `domain:*.example.com`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let usage = "write WebFetch(domain:example.com) or WebFetch(domain:*.example.com)";
        let host = text.trim().strip_prefix("domain:").ok_or(usage)?.trim().to_ascii_lowercase();
        let (host, below) = match host.strip_prefix("*.") {
            Some(host) => (host.to_owned(), true),
            None => (host, false),
        };
        // As in addresses: names in other scripts are encoded there.
        let host = Host::parse(host.trim_end_matches('.')).map_err(|_| usage)?;
        Ok(Self { host: host.to_string(), below })
    }

    /// Whether an allow rule covers the host: exactly this host, or with `*.` those below it.
    pub fn allows(&self, host: &str) -> bool {
        if self.below { self.is_below(host) } else { host == self.host }
    }

    /// Whether a deny or ask rule covers the host: also those below it.
    pub fn restricts(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        self.is_below(host) || !self.below && host == self.host
    }

    fn is_below(&self, host: &str) -> bool {
        host.strip_suffix(&self.host).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }
}

/// The name of the variable with which the pattern seems to begin: `$HOME` or `${HOME}`. Names of files
/// that begin with a dollar sign have small letters.
fn leading_variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?;
    let is_letter = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let name = match name.strip_prefix('{') {
        Some(name) => name.split('}').next()?,
        None => name.split(|c: char| !is_letter(c) && !c.is_lowercase()).next()?,
    };
    (!name.is_empty() && name.chars().all(is_letter)).then_some(name)
}

/// The pattern with one slash for several, as the system reads a path.
fn without_double_slashes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '/' || !plain.ends_with('/') {
            plain.push(c);
        }
    }
    plain.strip_prefix('/').map(str::to_owned).unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_any_kind_compiles_up_to_the_longest_and_a_longer_one_is_refused() {
        let read = |text: &str| PathPattern::parse(text, Path::new("/p"), None);
        for piece in ["?", "*a", "[!a]", "[a-zA-Z]", "{a,b}", "{?,??}", "a/**/"] {
            let text = piece.repeat(MAX_PATTERN_BYTES / piece.len());
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
        let error = read(&"a".repeat(MAX_PATTERN_BYTES + 1)).unwrap_err();
        assert_eq!(error, "a pattern is limited to 1024 bytes; this one has 1025");
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
            ("secrets//key", "/p/secrets/key", true),
            ("secrets///key", "/p/a/secrets/key", false),
            (".//.env", "/p/.env", true),
            ("/docs//x", "/p/docs/x", true),
            ("///etc//passwd", "/etc/passwd", true),
            ("~//.ssh//id", "/h/.ssh/id", true),
            ("$lib/x", "/p/$lib/x", true),
            ("**", "/p/a", true),
            ("**", "/q/a", false),
        ] {
            let pattern = PathPattern::parse(pattern, project, Some(home)).unwrap();
            let target = PathTarget { written: path.into(), resolved: Some(path.into()) };
            assert_eq!(pattern.allows(&target, project), expected, "{pattern:?} {path}");
            let places = Places { project: project.to_owned(), ..Places::default() };
            let starts = pattern.roots(&AgentRoots::new(&places, project, &[]));
            let restriction = Restriction::certain(expected);
            assert_eq!(pattern.restricts(&target, &starts), restriction, "{pattern:?} {path}");
            let unknown = PathTarget { resolved: None, ..target };
            assert_ne!(pattern.restricts(&unknown, &starts), Restriction::No, "{pattern:?} {path}");
        }
        for broken in ["", "/", "src/[", "../x", "~user/x", "!x", "$HOME/x", "${HOME}/x", "//"] {
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
