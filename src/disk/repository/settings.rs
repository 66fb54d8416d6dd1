//! A repository's own settings, as far as each of them is known to start no program for a command that only looks.
//!
//! Settings are allowed by form: every line has to be one that git itself would write, and every key has to be in the
//! table. A key that is missing there may start a program or lead elsewhere.

use std::io;
use std::path::{Path, PathBuf};

/// A longer file is none that git writes. Bytes.
const MAX_FILE: u64 = 1 << 20;

/// Keys that do not matter to git's `status`, `diff`, `log`, `show`, `branch` and `worktree add`, or only to how they
/// look: section and keys, `*` for all of them. What stands in quotes behind a section's name is not compared.
const HARMLESS: &[(&str, &str)] = &[
    ("advice", "*"),
    ("alias", "*"),
    ("apply", "*"),
    ("blame", "*"),
    ("branch", "*"),
    ("checkout", "*"),
    ("clean", "*"),
    ("color", "*"),
    ("column", "*"),
    ("commit", "*"),
    (
        "core",
        "abbrev autocrlf bare bigfilethreshold checkstat commentchar compression deltabasecachelimit editor eol \
         excludesfile filemode fscache fsmonitor fsync fsyncmethod fsyncobjectfiles hidedotfiles ignorecase ignorestat \
         logallrefupdates longpaths loosecompression multipackindex packedgitlimit packedgitwindowsize precomposeunicode \
         preloadindex protecthfs protectntfs quotepath repositoryformatversion safecrlf sharedrepository sparsecheckout \
         sparsecheckoutcone symlinks trustctime untrackedcache warnambiguousrefs whitespace",
    ),
    (
        "diff",
        "algorithm binary cachetextconv colormoved colormovedws context dirstat funcname guitool ignoresubmodules \
         indentheuristic interhunkcontext mnemonicprefix noprefix relative renamelimit renames statgraphwidth \
         suppressblankempty tool wordregex wserrorhighlight xfuncname",
    ),
    (
        "extensions",
        "compatobjectformat noop objectformat preciousobjects refstorage relativeworktrees worktreeconfig",
    ),
    ("feature", "*"),
    ("fetch", "*"),
    ("gc", "*"),
    ("gitflow", "*"),
    ("github", "*"),
    ("gpg", "format"),
    ("gui", "*"),
    ("i18n", "*"),
    ("index", "threads version sparse recordendofindexentries recordoffsettable skiphash"),
    ("init", "*"),
    ("lfs", "repositoryformatversion url access locksverify"),
    (
        "log",
        "abbrevcommit date decorate diffmerges excludedecoration follow initialdecorationset mailmap showroot",
    ),
    ("maintenance", "*"),
    ("merge", "conflictstyle ff log renamelimit renames stat tool verbosity"),
    ("pack", "*"),
    ("pull", "*"),
    ("push", "*"),
    ("rebase", "*"),
    ("receive", "*"),
    (
        "remote",
        "fetch gh-resolved mirror prune prunetags push pushdefault pushurl skipdefaultupdate tagopt url",
    ),
    ("rerere", "*"),
    ("stash", "*"),
    (
        "status",
        "aheadbehind branch displaycommentprefix relativepaths renames short showstash showuntrackedfiles",
    ),
    (
        "submodule",
        "active alternateerrorstrategy branch fetchjobs fetchrecursesubmodules ignore propagatebranches recurse update url",
    ),
    ("tag", "*"),
    ("transfer", "*"),
    ("user", "*"),
    ("versionsort", "*"),
    ("worktree", "*"),
];

/// Keys that only matter to fetching: harmless as long as nothing fetches by itself.
const FETCHING: &[(&str, &str)] = &[
    ("core", "askpass gitproxy sshcommand"),
    ("credential", "*"),
    ("http", "*"),
    ("https", "*"),
    ("protocol", "*"),
    ("remote", "proxy proxyauthmethod receivepack uploadpack"),
    ("ssh", "*"),
    ("url", "*"),
];

/// Keys of a partial clone: git fetches what it lacks as soon as something asks for it.
const PARTIAL: &[(&str, &str)] =
    &[("extensions", "partialclone"), ("remote", "partialclonefilter promisor")];

/// The settings of one checkout, file by file.
#[derive(Default)]
pub struct Settings {
    /// Folders of hooks, as they are written.
    pub hook_folders: Vec<PathBuf>,
    /// The working tree, as it is written, each time.
    pub worktrees: Vec<PathBuf>,
    /// Each worktree may have a file of settings of its own.
    pub has_worktree_file: bool,
    /// Objects have names of 32 bytes in place of 20.
    pub sha256: bool,
    /// Git fetches what it lacks as soon as something asks for it.
    pub partial: bool,
    /// The last setting that matters to fetching.
    fetching: Option<String>,
}

impl Settings {
    /// Adds those of the file; one that is missing has none.
    ///
    /// # Errors
    ///
    /// Names the setting that may start a program, or says what is wrong with the file.
    pub fn add(&mut self, path: &Path) -> Result<(), String> {
        let metadata = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) => return Err("the settings of the repository cannot be read".to_owned()),
            Ok(metadata) => metadata,
        };
        let is_plain = metadata.is_file() && metadata.len() <= MAX_FILE;
        let text = is_plain.then(|| std::fs::read(path).ok()).flatten();
        let text = text.ok_or("the settings of the repository cannot be read")?;
        let is_text = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
        let text = String::from_utf8(text).ok().filter(|text| text.chars().all(is_text));
        let text = text.ok_or("the settings of the repository are no plain text")?;
        let mut section = String::new();
        for line in text.split('\n') {
            match read(line) {
                Some(Line::Nothing) => {}
                Some(Line::Section(name)) => section = name.to_ascii_lowercase(),
                Some(Line::Key(key, value)) if !section.is_empty() => {
                    self.take(&section, &key.to_ascii_lowercase(), value)?;
                }
                Some(Line::Key(..)) | None => {
                    let line: String = line.trim().chars().take(40).collect();
                    return Err(format!(
                        "the repository's settings have an unusual line, {line:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks what only all settings together show.
    ///
    /// # Errors
    ///
    /// Names the setting that a fetch would use.
    pub fn check(&self) -> Result<(), String> {
        match &self.fetching {
            Some(setting) if self.partial => Err(format!(
                "the repository is a partial clone, and its setting {setting} may start a program"
            )),
            _ => Ok(()),
        }
    }

    /// The length of an object's name in bytes.
    #[must_use]
    pub fn hash_length(&self) -> usize {
        if self.sha256 { 32 } else { 20 }
    }

    fn take(&mut self, section: &str, key: &str, value: &str) -> Result<(), String> {
        let setting = format!("{section}.{key}");
        match (section, key) {
            ("core", "hookspath") => self.hook_folders.push(path(value)?),
            ("core", "worktree") => self.worktrees.push(path(value)?),
            ("extensions", "objectformat") => self.sha256 = unquoted(value) != "sha1",
            ("extensions", "worktreeconfig") => self.has_worktree_file = true,
            _ if is_in(PARTIAL, section, key) => self.partial = true,
            _ if is_in(FETCHING, section, key) => self.fetching = Some(setting),
            ("remote", "url") if !is_plain_address(unquoted(value)) => {
                self.fetching = Some(setting);
            }
            _ if is_in(HARMLESS, section, key) => {}
            _ => return Err(format!("the repository's setting {setting} may start a program")),
        }
        Ok(())
    }
}

fn is_in(table: &[(&str, &str)], section: &str, key: &str) -> bool {
    table
        .iter()
        .filter(|(name, _)| *name == section)
        .flat_map(|(_, keys)| keys.split_whitespace())
        .any(|known| known == "*" || known == key)
}

/// Whether git fetches from the address by a program of its own or by ssh.
fn is_plain_address(url: &str) -> bool {
    let is_known = ["https://", "http://", "ssh://", "git://"].iter().any(|it| url.starts_with(it));
    // `host:path`, as scp has it.
    let is_host = url.split_once(':').is_some_and(|(host, path)| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "@.-_".contains(c);
        host.len() > 1
            && host.chars().all(plain)
            && !host.starts_with('-')
            && !path.starts_with(':')
    });
    is_known || is_host && !url.contains("::") && !url.contains("://")
}

/// A path without anything that git would replace in it, but for a leading `~/`.
fn path(value: &str) -> Result<PathBuf, String> {
    let text = unquoted(value);
    let is_plain = |c: char| !matches!(c, '"' | '\\' | '#' | ';' | '%' | '\t' | ':');
    let is_home = text.starts_with('~') && !text.starts_with("~/");
    match text.chars().all(is_plain) && !is_home {
        true => Ok(text.into()),
        false => Err(format!("the repository's settings have an unusual path, {text:?}")),
    }
}

fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value)
}

/// A line of settings that has one of the forms which git writes.
#[derive(Debug, PartialEq)]
enum Line<'a> {
    /// Empty, or a comment.
    Nothing,
    Section(&'a str),
    /// With its value, which is empty where none is given.
    Key(&'a str, &'a str),
}

/// Reads one line; `None` for any other form, such as a setting behind a section's name or a value that goes on in the
/// next line.
fn read(line: &str) -> Option<Line<'_>> {
    let line = line.trim_matches([' ', '\t', '\r']);
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Some(Line::Nothing);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if let Some(rest) = line.strip_prefix('[') {
        let inside = rest.strip_suffix(']')?;
        let (name, quoted) = match inside.split_once(' ') {
            Some((name, quoted)) => (name, Some(quoted.trim_matches(' '))),
            None => (inside, None),
        };
        let is_quoted = |text: &str| {
            let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            inner.is_some_and(|inner| !inner.contains(['"', '\\', ']']))
        };
        let is_whole = !name.is_empty() && name.chars().all(plain);
        return (is_whole && quoted.is_none_or(is_quoted)).then_some(Line::Section(name));
    }
    let (key, value) = line.split_once('=').unwrap_or((line, ""));
    let (key, value) = (key.trim_end_matches([' ', '\t']), value.trim_start_matches([' ', '\t']));
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(plain);
    (is_key && !value.ends_with('\\')).then_some(Line::Key(key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(text: &str) -> Result<(), String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut settings = Settings::default();
        settings.add(file.path())?;
        settings.check()
    }

    #[test]
    fn settings_that_git_and_hosts_write_are_harmless() {
        let usual = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tfsmonitor = true\n\
            \tsshCommand = ssh -i ~/.ssh/work\n[remote \"origin\"]\r\n\turl = git@example.org:a/b.git\n\
            \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"feature/x\"]\n\tremote = origin\n# a note\n\
            [user]\n\tname = A # B\n\temail\n[submodule \"lib\"]\n\tactive = true\n[lfs]\n\trepositoryformatversion = 0\n";
        assert_eq!(judge(usual), Ok(()));
        let partial = "[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\tpromisor = true\n\
            \tpartialclonefilter = blob:none\n\turl = https://example.org/a.git\n";
        assert_eq!(judge(partial), Ok(()));
    }

    #[test]
    fn a_setting_that_may_start_a_program_or_lead_elsewhere_is_named() {
        for (text, setting) in [
            ("[filter \"x\"]\n\tclean = sh tools/x", "filter.clean"),
            ("[FILTER \"x\"]\n\tProcess=y", "filter.process"),
            ("[diff \"x\"]\ntextconv=y", "diff.textconv"),
            ("[diff]\nexternal = y", "diff.external"),
            ("[diff]\nsubmodule = diff", "diff.submodule"),
            ("[include]\npath = ../tools/config", "include.path"),
            ("[includeIf \"gitdir:/\"]\npath = x", "includeif.path"),
            ("[gpg]\nprogram = ./x", "gpg.program"),
            ("[log]\nshowSignature", "log.showsignature"),
            ("[status]\nsubmoduleSummary = true", "status.submodulesummary"),
            ("[lfs \"extension.x\"]\nclean = y", "lfs.clean"),
            ("[core]\nalternateRefsCommand = y", "core.alternaterefscommand"),
            ("[something]\nnew = y", "something.new"),
        ] {
            let why = format!("the repository's setting {setting} may start a program");
            assert_eq!(judge(text), Err(why), "{text}");
        }
    }

    #[test]
    fn a_partial_clone_may_only_fetch_as_git_does_by_itself() {
        for setting in [
            "[core]\nsshCommand = x",
            "[remote \"o\"]\nuploadpack = x",
            "[remote \"o\"]\nurl = ext::sh -c x",
            "[remote \"o\"]\nurl = /srv/x",
            "[remote \"o\"]\nurl = \"ssh::x\"",
            "[url \"ext::x\"]\ninsteadOf = https",
            "[credential]\nhelper = !x",
        ] {
            assert_eq!(judge(setting), Ok(()), "{setting}");
            assert!(judge(&format!("[remote \"o\"]\npromisor\n{setting}")).is_err(), "{setting}");
        }
    }

    #[test]
    fn a_line_that_git_would_not_write_is_refused() {
        for text in [
            "[core] pager = x",
            "[core]\nabbrev = 7 \\\n[diff]\nexternal = x",
            "[diff.x]\ntextconv = y",
            "[branch \"a\\\"]\n[diff\"]\nexternal = x",
            "key = value",
            "[core\nabbrev = 7",
            "\u{feff}[core]\nabbrev = 7",
            "[core]\n\u{b}abbrev = 7",
        ] {
            assert!(judge(text).is_err(), "{text:?}");
        }
    }
}
