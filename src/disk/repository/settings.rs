//! Checks a repository's own settings, each of which must be known to start no program in a read-only command.
//!
//! Settings are allowed by form: every line must be one that git itself would write, and every key
//! must be in the table. An unlisted key may start a program or lead elsewhere.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::address::AddressHost;
use super::keys::{SettingEffect, effect, is_inert, is_sort_key};

/// Maximum size of a settings file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The settings of one checkout, file by file.
#[derive(Default)]
pub struct RepositorySettings {
    /// Folders of hooks, as written.
    pub hook_folders: Vec<PathBuf>,
    /// The values of `core.worktree`, as written.
    pub worktrees: Vec<PathBuf>,
    /// Whether each worktree may have its own settings file.
    pub has_worktree_file: bool,
    /// Whether git treats the folder as a bare repository, unless it is a linked one.
    pub is_bare: bool,
    /// Whether object names have 32 bytes instead of 20.
    pub sha256: bool,
    /// The remotes from which git fetches missing objects on demand.
    lazy_remotes: BTreeSet<String>,
    /// The remotes that have an address. Git takes any other name for an address.
    addressed: BTreeSet<String>,
    /// The last setting that changes how git fetches.
    fetching: Option<String>,
    /// The last setting that names a program for a fetch.
    program: Option<String>,
    /// The last setting that may make some git command start a program, or work on another local repository.
    active: Option<String>,
    /// The remotes that settings name for a branch, or for all, and those that have settings.
    chosen_remotes: BTreeSet<String>,
}

impl RepositorySettings {
    /// Adds the settings of the file, if it exists.
    ///
    /// # Errors
    ///
    /// Returns a message that names the setting that may start a program, or what is wrong with the file.
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
        let text = text.ok_or("the settings of the repository are not plain text")?;
        let mut section = GitSection::default();
        for line in text.split('\n') {
            match parse_line(line.strip_suffix('\r').unwrap_or(line)) {
                Some(SettingsLine::Nothing) => {}
                Some(SettingsLine::Section(name, of)) => {
                    section =
                        GitSection { name: name.to_ascii_lowercase(), subsection: of.to_owned() };
                }
                Some(SettingsLine::Key(key, value)) if !section.name.is_empty() => {
                    self.add_setting(&section, &key.to_ascii_lowercase(), value)?;
                }
                Some(SettingsLine::Key(..)) | None => {
                    let line: String = line.trim().chars().take(40).collect();
                    return Err(format!(
                        "the repository's settings have an unusual line, {line:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether git fetches missing objects on demand.
    pub fn is_partial(&self) -> bool {
        !self.lazy_remotes.is_empty()
    }

    /// Checks that no setting names a program for a fetch, and that a partial clone could fetch
    /// missing objects only by https or ssh.
    ///
    /// # Errors
    ///
    /// Returns a message that names the setting that a fetch would use.
    pub fn check_fetching(&self) -> Result<(), String> {
        if let Some(setting) = &self.program {
            return Err(may_start(setting));
        }
        if !self.is_partial() {
            return Ok(());
        }
        if let Some(setting) = &self.fetching {
            return Err(format!(
                "the repository is a partial clone, and its setting {setting} may lead a fetch elsewhere"
            ));
        }
        match self.lazy_remotes.difference(&self.addressed).next() {
            Some(name) => Err(format!(
                "the repository is a partial clone of {name:?}, which is not a remote with an address"
            )),
            None => Ok(()),
        }
    }

    /// Checks that no setting makes a git command start a program, neither directly nor in another
    /// local repository, whose hooks and settings may name some.
    ///
    /// # Errors
    ///
    /// Returns a message that names the setting.
    pub fn check_inert(&self) -> Result<(), String> {
        self.check_fetching()?;
        if let Some(setting) = &self.active {
            return Err(may_start(setting));
        }
        let is_known = |name: &&String| *name == "." || self.addressed.contains(*name);
        match self.chosen_remotes.iter().find(|name| !is_known(name)) {
            Some(name) => Err(format!(
                "the repository's settings name {name:?}, which is not a remote with an address"
            )),
            None => Ok(()),
        }
    }

    /// Whether a remote has this name, so that git does not take it for a path.
    pub fn has_remote(&self, name: &str) -> bool {
        self.addressed.contains(name)
    }

    /// Returns the length of an object name in bytes.
    pub fn hash_length(&self) -> usize {
        if self.sha256 { 32 } else { 20 }
    }

    fn add_setting(&mut self, section: &GitSection, key: &str, value: &str) -> Result<(), String> {
        let setting = format!("{}.{key}", section.name);
        let value = unquoted(value);
        // Git only reads these keys without a subsection.
        if matches!(section.name.as_str(), "core" | "extensions") && !section.subsection.is_empty()
        {
            return Err(format!("the repository's setting {setting} is in an unusual section"));
        }
        self.note_active(section, key, value);
        match (section.name.as_str(), key) {
            ("core", "hookspath") => self.hook_folders.push(parse_path(value)?),
            ("core", "worktree") => self.worktrees.push(parse_path(value)?),
            ("extensions", "objectformat") if matches!(value, "sha1" | "sha256") => {
                self.sha256 = value == "sha256";
            }
            ("extensions", "objectformat") => return Err(unusual_value(&setting, value)),
            ("extensions", "partialclone") if !is_plain(value) => {
                return Err(unusual_value(&setting, value));
            }
            ("extensions", "worktreeconfig") if matches!(value, "true" | "false") => {
                self.has_worktree_file = value == "true";
            }
            ("extensions", "worktreeconfig") => return Err(unusual_value(&setting, value)),
            // Sorting by a signature would start another program.
            ("branch" | "tag", "sort") if !is_sort_key(value) => return Err(may_start(&setting)),
            ("core", "bare") => self.is_bare |= value != "false",
            // Other values name a folder that contains the branches.
            ("extensions", "refstorage") if !matches!(value, "files" | "reftable") => {
                return Err(format!("the repository's setting {setting} may lead elsewhere"));
            }
            ("extensions", "partialclone") => drop(self.lazy_remotes.insert(value.to_owned())),
            ("remote", "url" | "pushurl") => self.add_address(section, key, value),
            ("url", _) if names_helper(&section.subsection) => self.program = Some(setting),
            (name, _) => match effect(name, key) {
                Some(SettingEffect::Nothing) => {}
                Some(SettingEffect::Fetch) => self.fetching = Some(setting),
                // An empty value resets those of other files.
                Some(SettingEffect::FetchProgram) if value.is_empty() => {
                    self.fetching = Some(setting);
                }
                Some(SettingEffect::FetchProgram) => self.program = Some(setting),
                Some(SettingEffect::Partial) => {
                    self.lazy_remotes.insert(section.subsection.clone());
                }
                None => return Err(may_start(&setting)),
            },
        }
        Ok(())
    }

    /// Records what [`Self::check_inert`] needs.
    fn note_active(&mut self, section: &GitSection, key: &str, value: &str) {
        // Git passes the name to a command of its own, where one that looks like an option is one.
        let is_named = matches!(section.name.as_str(), "branch" | "submodule");
        let is_option = is_named && section.subsection.starts_with('-')
            || section.name == "remote"
                && !section.subsection.is_empty()
                && !is_remote_name(&section.subsection);
        let is_inert = is_inert(&section.name, key)
            && !is_option
            && match (section.name.as_str(), key) {
                ("remote", "url" | "pushurl") => is_plain_elsewhere(value),
                ("submodule", "url") => {
                    is_plain(value) && (is_plain_elsewhere(value) || value.starts_with("../"))
                }
                // Otherwise gpg or ssh-keygen signs, with a key from elsewhere.
                ("commit" | "push" | "tag", "gpgsign" | "forcesignannotated") => value == "false",
                // Otherwise a program that watches files.
                ("core", "fsmonitor") => matches!(value, "true" | "false"),
                ("submodule", "update") => {
                    matches!(value, "checkout" | "merge" | "none" | "rebase")
                }
                ("branch", "remote" | "pushremote") | ("remote", "pushdefault") => is_plain(value),
                _ => true,
            };
        if !is_inert {
            self.active = Some(format!("{}.{key}", section.name));
            return;
        }
        let chosen = match (section.name.as_str(), key) {
            ("branch", "remote" | "pushremote") | ("remote", "pushdefault") => value,
            // `git fetch --all` takes each remote.
            ("remote", _) if !section.subsection.is_empty() => &section.subsection,
            _ => return,
        };
        self.chosen_remotes.insert(chosen.to_owned());
    }

    fn add_address(&mut self, remote: &GitSection, key: &str, value: &str) {
        let setting = || Some(format!("remote.{key}"));
        if key == "url" && is_remote_name(&remote.subsection) {
            self.addressed.insert(remote.subsection.clone());
        }
        // Git removes quotes and escapes, and the rest may be another address.
        if names_helper(value) || !is_plain(value) {
            self.program = setting();
        } else if key == "url" && !is_plain_address(value) {
            self.fetching = setting();
        }
    }
}

/// A section of a file.
#[derive(Default)]
struct GitSection {
    /// In lower case.
    name: String,
    /// The quoted subsection, such as the name of a remote.
    subsection: String,
}

/// Whether git takes the value literally: without quotes, escapes and comments inside.
fn is_plain(value: &str) -> bool {
    // Older versions of git treat a tab as a space.
    !value.contains(['"', '\\', '#', ';', '\t'])
}

/// Whether git always takes this for the name of a remote: not for an option, and not for a path.
fn is_remote_name(name: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_known)
}

fn unusual_value(setting: &str, value: &str) -> String {
    format!("the repository's setting {setting} has an unusual value, {value:?}")
}

fn may_start(setting: &str) -> String {
    format!("the repository's setting {setting} may start a program")
}

/// Whether the address is `NAME::…`, for which git starts a program of that name.
fn names_helper(url: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    url.split_once("::").is_some_and(|(name, _)| name.chars().all(plain))
}

/// Whether git fetches from the address by https or ssh.
fn is_plain_address(url: &str) -> bool {
    let is_known = ["https://", "ssh://"].iter().any(|it| url.starts_with(it));
    // `host:path`, as in scp.
    let is_host = url.split_once(':').is_some_and(|(host, path)| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "@.-_".contains(c);
        host.len() > 1
            && host.chars().all(plain)
            && !host.starts_with('-')
            && !path.starts_with(':')
    });
    is_known || is_host && !url.contains("::") && !url.contains("://")
}

/// Whether the address is a plain one, and names no machine that is certainly this one.
fn is_plain_elsewhere(url: &str) -> bool {
    let host = AddressHost::parse(url);
    is_plain_address(url) && matches!(host, Some(AddressHost::Domain | AddressHost::Name))
}

/// Parses a path without anything that git would expand, except a leading `~/`.
fn parse_path(value: &str) -> Result<PathBuf, String> {
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

/// A settings line in one of the forms that git writes.
#[derive(Debug, PartialEq)]
enum SettingsLine<'a> {
    /// Empty, or a comment.
    Nothing,
    /// Its name and quoted subsection, which is empty if there is none.
    Section(&'a str, &'a str),
    /// A key and its value, which is empty if none is given.
    Key(&'a str, &'a str),
}

/// Parses one line; `None` for any other form, such as a setting after a section's name or a value
/// that continues on the next line.
fn parse_line(line: &str) -> Option<SettingsLine<'_>> {
    // Git treats one within a line as a space, or as part of a value.
    if line.contains('\r') {
        return None;
    }
    let line = line.trim_matches([' ', '\t']);
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Some(SettingsLine::Nothing);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if let Some(rest) = line.strip_prefix('[') {
        let inside = rest.strip_suffix(']')?;
        let (name, quoted) = match inside.split_once(' ') {
            Some((name, quoted)) => (name, Some(quoted.trim_matches(' '))),
            None => (inside, None),
        };
        let of = match quoted {
            Some(text) => text.strip_prefix('"').and_then(|text| text.strip_suffix('"'))?,
            None => "",
        };
        let is_whole = !name.is_empty() && name.chars().all(plain);
        return (is_whole && !of.contains(['"', '\\', ']']))
            .then_some(SettingsLine::Section(name, of));
    }
    let (key, value) = line.split_once('=').unwrap_or((line, ""));
    let (key, value) = (key.trim_end_matches([' ', '\t']), value.trim_start_matches([' ', '\t']));
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(plain);
    (is_key && !value.ends_with('\\')).then_some(SettingsLine::Key(key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> Result<RepositorySettings, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut settings = RepositorySettings::default();
        settings.add(file.path())?;
        Ok(settings)
    }

    fn judge(text: &str) -> Result<(), String> {
        read_all(text).map(drop)
    }

    fn judge_fetching(text: &str) -> Result<(), String> {
        read_all(text)?.check_fetching()
    }

    #[test]
    fn settings_that_git_and_hosts_write_are_harmless() {
        let usual = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tfsmonitor = true\n\
            \tsshCommand = ssh -i ~/.ssh/work\n[remote \"origin\"]\r\n\turl = git@example.org:a/b.git\n\
            \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"feature/x\"]\n\tremote = origin\n# a note\n\
            [user]\n\tname = A # B\n\temail\n[submodule \"lib\"]\n\tactive = true\n[lfs]\n\trepositoryformatversion = 0\n";
        assert_eq!(judge(usual), Ok(()));
        let tidy = "[gc]\n\tauto = 0\n\tpruneExpire = 2.weeks.ago\n\treflogExpire = 90\n[gc \"refs/stash\"]\n\
            \treflogExpire = never\n[maintenance]\n\tauto = false\n\tstrategy = incremental\n\
            [maintenance \"commit-graph\"]\n\tenabled = true\n\tschedule = hourly\n\
            [extensions]\n\trefStorage = reftable\n";
        assert_eq!(judge(tidy), Ok(()));
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
            ("[gc]\nrecentObjectsHook = y", "gc.recentobjectshook"),
            ("[gc]\nrepackFilterTo = y", "gc.repackfilterto"),
            ("[maintenance]\nnew = y", "maintenance.new"),
            ("[something]\nnew = y", "something.new"),
        ] {
            let why = format!("the repository's setting {setting} may start a program");
            assert_eq!(judge(text), Err(why), "{text}");
        }
    }

    #[test]
    fn only_a_known_place_holds_the_branches() {
        let why = judge("[extensions]\nrefStorage = files:///srv/x").unwrap_err();
        assert!(why.contains("extensions.refstorage may lead elsewhere"), "{why}");
    }

    #[test]
    fn a_partial_clone_lacks_only_what_https_or_ssh_can_bring() {
        for address in ["https://example.org/a.git", "ssh://h/a", "git@example.org:a/b.git"] {
            let text = format!(
                "[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\tpromisor = true\n\
                 \tpartialclonefilter = blob:none\n\turl = {address}\n"
            );
            assert!(read_all(&text).unwrap().is_partial());
            assert_eq!(judge_fetching(&text), Ok(()), "{address}");
        }
        for setting in [
            "[remote \"o\"]\nurl = /srv/x",
            "[remote \"o\"]\nurl = http://127.0.0.1:80/x",
            "[remote \"o\"]\nurl = git://h/x",
            "[url \"https://h/\"]\ninsteadOf = https",
            "[http]\nproxy = http://h",
            "[fetch]\nbundleURI = https://h",
        ] {
            assert_eq!(judge_fetching(setting), Ok(()), "{setting}");
            let partial = format!("[remote \"o\"]\nurl = https://h/x\npromisor\n{setting}");
            assert!(judge_fetching(&partial).is_err(), "{setting}");
        }
        for name in ["./vendor", "/srv/x", "https://h/x"] {
            let of = "[remote \"o\"]\nurl = https://h/x\n";
            for text in [
                format!("{of}[extensions]\npartialClone = {name}"),
                format!("{of}[remote \"{name}\"]\npartialCloneFilter = blob:none"),
            ] {
                let why = judge_fetching(&text).unwrap_err();
                assert!(why.contains("not a remote with an address"), "{why}");
            }
        }
    }

    #[test]
    fn a_program_for_a_fetch_is_named() {
        for (text, setting) in [
            ("[core]\nsshCommand = x", "core.sshcommand"),
            ("[core]\naskPass = x", "core.askpass"),
            ("[core]\ngitProxy = x", "core.gitproxy"),
            ("[credential]\nhelper = !x", "credential.helper"),
            ("[credential \"https://h\"]\nhelper = store", "credential.helper"),
            ("[protocol \"ext\"]\nallow = always", "protocol.allow"),
            ("[remote \"o\"]\nuploadpack = x", "remote.uploadpack"),
            ("[remote \"o\"]\nurl = ext::sh -c x", "remote.url"),
            ("[remote \"o\"]\npushurl = \"ssh::x\"", "remote.pushurl"),
            ("[remote \"o\"]\nurl = ext:\"\":x", "remote.url"),
            ("[remote \"o\"]\nurl = file:\"//\"/srv/x", "remote.url"),
            ("[remote \"o\"]\nurl = h:x # y", "remote.url"),
            ("[url \"ext::x\"]\ninsteadOf = https", "url.insteadof"),
        ] {
            assert_eq!(judge(text), Ok(()), "{text}");
            let why = format!("the repository's setting {setting} may start a program");
            assert_eq!(judge_fetching(text), Err(why), "{text}");
        }
        for text in
            ["[credential]\nhelper =", "[credential]\nusername = a", "[http]\nextraHeader = a"]
        {
            assert_eq!(judge_fetching(text), Ok(()), "{text}");
        }
        assert_eq!(judge_fetching("[remote \"o\"]\nurl = ssh://[::1]/x"), Ok(()));
    }

    #[test]
    fn settings_by_which_any_command_may_start_a_program_are_named() {
        let judge = |text: &str| read_all(text)?.check_inert();
        let usual = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.org:a/b.git\n\
            \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\
            \tmerge = refs/heads/main\n[branch \"x\"]\n\tremote = .\n[submodule \"lib\"]\n\turl = https://h/lib\n\
            \tactive = true\n\tupdate = rebase\n[user]\n\tname = A\n[commit]\n\tgpgSign = false\n[pull]\n\trebase = true\n\
            [http \"https://h/\"]\n\textraHeader = AUTHORIZATION: basic x\n";
        assert_eq!(judge(usual), Ok(()));
        for (text, setting) in [
            ("[core]\neditor = x", "core.editor"),
            ("[core]\nfsmonitor = x", "core.fsmonitor"),
            ("[alias]\nst = !x", "alias.st"),
            ("[submodule \"lib\"]\nupdate = !x", "submodule.update"),
            ("[submodule \"lib\"]\nurl = ./up.git", "submodule.url"),
            ("[remote \"origin\"]\nurl = ./up.git", "remote.url"),
            ("[remote \"origin\"]\nurl = file:///srv/x", "remote.url"),
            ("[remote \"origin\"]\nurl = ssh://localhost/srv/x", "remote.url"),
            ("[remote \"origin\"]\nurl = git@127.0.0.1:/srv/x", "remote.url"),
            ("[remote \"origin\"]\nurl = https://h/x\npushurl = ssh://[::1]/x", "remote.pushurl"),
            ("[remote \"origin\"]\nurl = https://h/x\npushurl = /srv/x", "remote.pushurl"),
            ("[url \"./up.git\"]\ninsteadOf = https://h/x", "url.insteadof"),
            ("[remote \"--upload-pack=x\"]\nurl = https://h/x", "remote.url"),
            ("[remote \"/proc/self/cwd/up.git\"]\nurl = https://h/x", "remote.url"),
            ("[remote \"up\tx\"]\nurl = https://h/x", "remote.url"),
            ("[branch \"main\"]\nremote = up\tx", "branch.remote"),
            ("[remote \"origin\"]\nurl = h:x\npushurl = file:\"//\"/x", "remote.pushurl"),
            ("[branch \"main\"]\nmergeOptions = -s x", "branch.mergeoptions"),
            ("[pull]\ntwohead = x", "pull.twohead"),
            ("[init]\ntemplateDir = x", "init.templatedir"),
            ("[merge]\ntool = ../x", "merge.tool"),
            ("[http]\ncookieFile = /x", "http.cookiefile"),
            ("[gitflow \"path\"]\nhooks = x", "gitflow.hooks"),
            ("[commit]\ngpgSign = true", "commit.gpgsign"),
            ("[tag]\nforceSignAnnotated", "tag.forcesignannotated"),
            ("[gpg]\nformat = ssh", "gpg.format"),
            ("[user]\nsigningKey = /x", "user.signingkey"),
        ] {
            let why = format!("the repository's setting {setting} may start a program");
            assert_eq!(judge(text), Err(why), "{text}");
        }
        for text in [
            "[branch \"main\"]\nremote = ./up.git",
            "[branch \"main\"]\npushRemote = up",
            "[remote]\npushDefault = up",
            "[remote \"up\"]\nfetch = +refs/heads/*:refs/remotes/up/*",
        ] {
            let why = judge(text).unwrap_err();
            assert!(why.contains("which is not a remote with an address"), "{why}");
        }
        assert!(judge("[core]\nsshCommand = x").is_err());
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
            "[core]\nhooksPath = \rtools",
            "\r[core]\nabbrev = 7",
            "[extensions]\nworktreeConfig = no",
        ] {
            assert!(judge(text).is_err(), "{text:?}");
        }
    }
}
