//! Dangers visible in a word's form: an option with a telling name, a setting, an address.

use std::path::PathBuf;

use super::place::leads_out;
use super::{Spelling, compiler, dotnet, make};

/// Options of bash's `set` that make a script strict or tell what it does, by letter and by name.
const STRICT_LETTERS: &str = "eEuvxo";
const STRICT_NAMES: [&str; 6] = ["errexit", "errtrace", "nounset", "pipefail", "verbose", "xtrace"];

/// Last words of long options that name a program, for any program.
const RUNS: &str = "browser cmd command editor exec executable hook hooks interpreter launcher pager plugin plugins \
    preprocessor program shell";

/// Last two words of long options that name a file or folder to write.
const WRITES: &str = "dump-file junit-xml log-dir log-directory log-file log-path out-dir out-file out-path output-dir \
    output-directory output-file output-path pid-file report-file status-file trace-file";

/// The danger in a word of the program, which runs in one of `bases`; `words` are the preceding
/// ones, including the program.
pub fn find(
    name: &str,
    spelled: &Spelling<'_>,
    words: &[Spelling<'_>],
    bases: &[PathBuf],
) -> Option<String> {
    let before = words.last().and_then(Spelling::exact).unwrap_or_default();
    let word = spelled.exact()?;
    match name {
        "make" | "gmake" => make::find(spelled, bases),
        "cmake" => has_mark(words).then(|| make::find(spelled, bases)).flatten(),
        "ssh" | "scp" | "sftp" => ssh_setting(word, before),
        "psql" | "mysql" | "mariadb" => {
            word.contains('\\').then(|| "a backslash command".to_owned())
        }
        "sqlite3" => word.trim_start().starts_with('.').then(|| "a dot command".to_owned()),
        "mvn" | "mvnw" => [
            "-Dmaven.ext.class.path",
            "-Dexec.",
            "-DargLine",
            "-Djvm",
            "-Dmaven.surefire.debug",
            "-Dmaven.failsafe.debug",
        ]
        .iter()
        .find(|start| word.starts_with(**start))
        .map(|_| word.split('=').next().unwrap_or(word).to_owned()),
        "git" => address(name, word),
        // Other settings change what the rest of the line means.
        "set" => (!is_harmless_setting(word)).then(|| format!("set {word}")),
        // It runs the words behind it.
        "jobs" => word.starts_with('-').then(|| word.trim_start_matches('-')).and_then(|letters| {
            letters.contains(|letter| !"lnprs".contains(letter)).then(|| word.to_owned())
        }),
        // It may read and write files, and put lines into the history.
        "history" => word.contains(|c: char| !c.is_ascii_digit()).then(|| word.to_owned()),
        "curl" => curl_format(word, before),
        _ if MOUNTERS.contains(&name) => mount(spelled, before, bases),
        "pytest" | "py.test" => {
            pytest_plugin(word, before).or_else(|| pytest_report(word, before, bases))
        }
        // An exclamation mark runs the rest.
        "dc" => word.contains('!').then(|| "an exclamation mark".to_owned()),
        // A format can be a program as well.
        "pandoc" => word.contains(".lua").then(|| "a Lua script".to_owned()),
        "dotnet" | "msbuild" => dotnet::find(word, words, bases),
        _ => compiler::find(name, spelled, words, bases),
    }
}

/// Whether a word of `set` is one of the options for scripts, which leave the meaning of words alone.
fn is_harmless_setting(word: &str) -> bool {
    match word.strip_prefix(['-', '+']) {
        Some(letters) => letters.chars().all(|letter| STRICT_LETTERS.contains(letter)),
        None => STRICT_NAMES.contains(&word),
    }
}

/// Whether cmake hands on to make what is behind these words.
fn has_mark(words: &[Spelling<'_>]) -> bool {
    words.iter().any(|word| word.exact() == Some("--"))
}

/// Whether a partly known word behind these may contain such a danger.
pub fn find_open(
    name: &str,
    word: &Spelling<'_>,
    words: &[Spelling<'_>],
    bases: &[PathBuf],
) -> bool {
    let previous = words.last().and_then(Spelling::exact).unwrap_or_default();
    let is_of_make = match name {
        "make" | "gmake" => true,
        "cmake" => has_mark(words),
        _ => false,
    };
    is_of_make && word.holds_folder()
        || MOUNTERS.contains(&name) && mount(word, previous, bases).is_some()
        || matches!(name, "dotnet" | "msbuild") && dotnet::find_open(word)
}

/// The option, if its name says that it runs a program or writes a file.
pub fn telling_option(word: &str) -> Option<String> {
    let option = word.split('=').next().unwrap_or_default();
    let name = option.strip_prefix("--").filter(|name| !name.starts_with("no-"))?;
    let name = name.replace('_', "-").to_ascii_lowercase();
    let mut parts = name.rsplit('-');
    let (last, before) = (parts.next().unwrap_or_default(), parts.next());
    let is = |list: &str, known: &str| list.split_whitespace().any(|entry| entry == known);
    let writes = before.is_some_and(|before| {
        is(WRITES, &format!("{before}-{last}")) || last == "report" && before != "cov"
    });
    (is(RUNS, last) || writes).then(|| option.to_owned())
}

/// An address that git runs as a command line.
pub fn address(name: &str, word: &str) -> Option<String> {
    (name == "git" && word.starts_with("ext::")).then(|| "ext::".to_owned())
}

/// Settings of ssh that concern only the connection.
const SSH_SETTINGS: &[&str] = &[
    "batchmode",
    "compression",
    "connectionattempts",
    "connecttimeout",
    "identitiesonly",
    "loglevel",
    "passwordauthentication",
    "port",
    "serveralivecountmax",
    "serveraliveinterval",
    "stricthostkeychecking",
    "user",
];

/// `Name=value` after `-o`, or joined with it, that concerns more than the connection.
fn ssh_setting(word: &str, previous: &str) -> Option<String> {
    let is_behind = previous.starts_with('-') && previous.ends_with('o');
    let joined = word.starts_with('-').then(|| word.split_once('o')).flatten();
    let joined = joined.filter(|(_, setting)| !setting.is_empty());
    let setting = match joined {
        Some((flags, setting)) if flags[1..].chars().all(|c| c.is_ascii_alphanumeric()) => setting,
        _ if is_behind => word,
        _ => return None,
    };
    // ssh skips blanks, quotes and a mark before the name.
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '=' | '"' | '\'');
    let name = setting.trim_start_matches(is_mark).split(is_mark).next().unwrap_or_default();
    let harmless = SSH_SETTINGS.contains(&name.to_ascii_lowercase().as_str());
    (!harmless).then(|| format!("-o {name}"))
}

/// A curl format that writes a file or is read from one.
fn curl_format(word: &str, previous: &str) -> Option<String> {
    let option = "--write-out";
    let is_behind = match previous.starts_with("--") {
        true => previous.len() > 3 && option.starts_with(previous),
        false => previous.starts_with('-') && previous.ends_with('w'),
    };
    let joined = match word.split_once("=@") {
        Some((name, _)) if name.len() > 3 && option.starts_with(name) => true,
        _ => word.starts_with('-') && !word.starts_with("--") && word.contains("w@"),
    };
    let writes = word.contains("%output") || joined || is_behind && word.starts_with('@');
    writes.then(|| option.to_owned())
}

/// Programs that mount folders in containers.
const MOUNTERS: &[&str] = &["docker", "podman", "nerdctl", "docker-compose", "podman-compose"];

/// Keys of `--mount` whose values concern only the inside of the container, and those without a value.
const MOUNT_KEYS: &[&str] =
    &["consistency", "destination", "dst", "target", "tmpfs-mode", "tmpfs-size"];
const MOUNT_FLAGS: &[&str] = &["bind-nonrecursive", "readonly", "ro", "rw", "volume-nocopy"];

/// Volume options, after the second colon, that concern only the inside of the container.
const VOLUME_OPTIONS: &[&str] = &[
    "",
    "O",
    "U",
    "Z",
    "cached",
    "consistent",
    "copy",
    "delegated",
    "nocopy",
    "nodev",
    "noexec",
    "nosuid",
    "ro",
    "rw",
    "z",
];

/// A mount that may give the container something outside the project.
fn mount(spelled: &Spelling<'_>, previous: &str, bases: &[PathBuf]) -> Option<String> {
    let outline = spelled.outline();
    let word = outline.as_str();
    // The name of a volume is a name in the folder as well.
    let is_outside = |source: &str| {
        let plain = |c: char| c.is_alphanumeric() || "/._-+@?~ ".contains(c);
        !source.chars().all(plain) || leads_out(source, spelled, bases)
    };
    let long = |option: &'static str| {
        let joined = word.strip_prefix(option).and_then(|rest| rest.strip_prefix('='));
        joined.or((previous == option).then_some(word)).map(|value| (option, value))
    };
    let letters = |text: &str| text.starts_with('-') && !text.starts_with("--");
    let joined =
        || word.split_once('v').filter(|(flags, value)| letters(flags) && !value.is_empty());
    let behind = || (letters(previous) && previous.ends_with('v')).then_some(word);
    let volume = long("--volume").or_else(|| behind().map(|value| ("-v", value)));
    let volume =
        volume.or_else(|| joined().map(|(_, value)| ("-v", value.trim_start_matches('='))));
    let is_danger = |value: &str| {
        let mut parts = value.splitn(3, ':');
        let (Some(source), Some(_)) = (parts.next(), parts.next()) else {
            // A part that is known only at run time, such as a home, may hold the colon.
            return value.contains('?');
        };
        let mut options = parts.next().unwrap_or_default().split(',');
        is_outside(source) || !options.all(|option| VOLUME_OPTIONS.contains(&option))
    };
    if let Some((option, _)) = volume.filter(|(_, value)| is_danger(value)) {
        return Some(option.to_owned());
    }
    let (option, value) = long("--mount")?;
    // The value is CSV, and keys may be in upper case: anything not written plainly is not parsed.
    let is_known = |field: &str| match field.split_once('=') {
        None => MOUNT_FLAGS.contains(&field),
        Some(("type", kind)) => matches!(kind, "bind" | "volume" | "tmpfs"),
        Some(("source" | "src", source)) => !is_outside(source),
        Some((key, value)) => {
            let is_plain = !value.contains(['"', '\n', '\r']);
            is_plain && (MOUNT_KEYS.contains(&key) || MOUNT_FLAGS.contains(&key))
        }
    };
    (!value.split(',').all(is_known)).then(|| option.to_owned())
}

/// A coverage report that pytest writes outside the folder: `--cov-report=html:DIR`.
fn pytest_report(word: &str, previous: &str, bases: &[PathBuf]) -> Option<String> {
    let option = "--cov-report";
    let joined = word.strip_prefix(option).and_then(|rest| rest.strip_prefix('='));
    let value = joined.or((previous == option).then_some(word))?;
    let (_, path) = value.split_once(':')?;
    leads_out(path, &Spelling::Plain(path.into()), bases).then(|| option.to_owned())
}

/// A module that pytest loads as a plugin. `no:name` prevents loading.
fn pytest_plugin(word: &str, previous: &str) -> Option<String> {
    let is_flags = |text: &str| {
        text.strip_prefix('-').is_some_and(|flags| flags.chars().all(|c| "hlqsvx".contains(c)))
    };
    let joined =
        word.split_once('p').filter(|(flags, _)| is_flags(flags)).map(|(_, module)| module);
    let behind = previous.strip_suffix('p').filter(|flags| is_flags(flags)).map(|_| word);
    let module = joined.filter(|module| !module.is_empty()).or(behind)?;
    (!module.starts_with("no:")).then(|| "-p".to_owned())
}
