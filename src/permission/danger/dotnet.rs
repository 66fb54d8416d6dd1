//! Switches of dotnet and MSBuild. MSBuild takes them in any case, after one dash, two, or a slash,
//! and several properties in one word. A property can name a command to run, a file to import or a
//! folder to write, and every project can define its own, so a rule covers only the properties and
//! switches known to do none of that.

use std::path::PathBuf;

use super::Spelling;
use super::place::leads_out_or_is_hidden;
use crate::permission::spelling::Piece;

/// Switches that set properties.
const PROPERTY: &[&str] = &["p", "property", "restoreproperty", "rp"];

/// Switches whose value is neither a program nor a file.
const HARMLESS: &str = "a arch c check clp collect configuration consoleloggerparameters detailedsummary ds err f \
    filter framework getitem getproperty gettargetresult graph graphbuild ignore ignoreprojectextensions \
    interactive isolate isolateprojects low lowpriority m maxcpucount nodereuse noerr nowarn nr os \
    restore runtime t target terminallogger terminalloggerparameters tl tlp toolsversion tv v verbosity \
    warnaserror warnasmessage warnnotaserror";

/// Switches whose value is a place to write.
const PLACES: &[&str] =
    &["artifacts-path", "binarylogger", "bl", "o", "output", "r", "results-directory"];

/// Properties whose value is a name, a number or a list of them, in lower case.
const PROPERTIES: &str = "analysislevel analysismode assemblyversion buildinparallel buildprojectreferences \
    codeanalysistreatwarningsaserrors collectcoverage configuration continuousintegrationbuild coverletoutputformat \
    debugsymbols debugtype defineconstants deterministic excludebyattribute fileversion generatedocumentationfile \
    includesource includesymbols informationalversion invariantglobalization ispackable langversion nowarn nullable \
    optimize packageversion platform platformtarget publishaot publishreadytorun publishsinglefile publishtrimmed \
    restorelockedmode restorepackageswithlockfile runanalyzers runanalyzersduringbuild runtimeidentifier \
    runtimeidentifiers selfcontained sourcerevisionid symbolpackageformat targetframework targetframeworks threshold \
    thresholdstat thresholdtype treatwarningsaserrors trimmode useapphost version versionprefix versionsuffix \
    vstestverbosity warnaserror warninglevel warningsaserrors warningsnotaserrors";

/// Switches of dotnet that become properties of MSBuild, each with a name as its value.
const NAMES: &[&str] =
    &["a", "arch", "c", "configuration", "f", "framework", "os", "runtime", "version-suffix"];

/// Prefixes of properties that turn something on or off when the value is `true` or `false`.
const TOGGLES: &[&str] = &["allow", "disable", "enable", "is", "skip", "suppress", "treat", "use"];

/// Loggers built into `dotnet test`.
const LOGGERS: &[&str] = &["console", "html", "trx"];

/// The danger in a word after `before`, which begins with the program.
pub fn find(word: &str, before: &[Spelling<'_>], bases: &[PathBuf]) -> Option<String> {
    let bare = word.replace('"', "");
    if bare != word && bare.starts_with('@') {
        return Some("@".to_owned());
    }
    let previous = before.last().and_then(Spelling::exact).unwrap_or_default();
    // An absolute path looks like a switch.
    let place = switch(previous).filter(|(_, name)| is(PLACES, name) && !word.starts_with('-'));
    if place.is_some() && !is_plain_place(word, bases) {
        return Some(previous.to_owned());
    }
    // MSBuild takes these for properties, and reads more of them behind a semicolon.
    let is_name =
        |value: &str| value.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c));
    let is_named = switch(previous).is_some_and(|(_, name)| is(NAMES, name));
    if is_named && !word.starts_with('-') && !is_name(word) {
        return Some(previous.to_owned());
    }
    let Some((mark, rest)) = switch(&bare) else {
        return match switch(previous) {
            Some((_, name)) if is(PROPERTY, name) => property(word),
            Some(("-", "l") | ("--", "logger")) => logger(word, previous, before),
            _ => None,
        };
    };
    let at = rest.find([':', '=']);
    let Some((name, value)) = at.map(|at| (&rest[..at], &rest[at + 1..])) else {
        // The value is the next word.
        return None;
    };
    let option = format!("{mark}{name}");
    let lower = name.to_ascii_lowercase();
    if bare != word {
        return Some(option);
    }
    match lower.as_str() {
        lower if is(PROPERTY, lower) => property(value),
        "l" | "logger" => logger(value, &option, before),
        lower if PLACES.contains(&lower) => {
            let path = value.strip_prefix("LogFile=").unwrap_or(value);
            (!is_plain_place(path, bases)).then_some(option)
        }
        lower if is(NAMES, lower) => (!is_name(value)).then_some(option),
        lower if HARMLESS.split_whitespace().any(|known| known == lower) => None,
        // A dotnet option that is not in the table.
        _ if rest.as_bytes().get(name.len()) == Some(&b'=') => None,
        _ => Some(option),
    }
}

/// Whether the path is written plainly and lies in the folder.
fn is_plain_place(path: &str, bases: &[PathBuf]) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    let spelled = Spelling::Plain(path.into());
    path.chars().all(plain) && !leads_out_or_is_hidden(path, &spelled, bases)
}

/// Whether a partly known word may contain such a danger, apart from the values of variables, which
/// are judged once they are substituted.
pub fn find_open(word: &Spelling<'_>) -> bool {
    let Spelling::Open(pieces) = word else { return false };
    let is_certain = |piece: &Piece| matches!(piece, Piece::Char(_) | Piece::Variable(_));
    let beginning = word.beginning();
    let is_switch = switch(beginning.trim_start_matches('"')).is_some();
    is_switch && !pieces.iter().all(is_certain)
}

/// The prefix of a switch and the rest. An absolute path is no switch.
fn switch(word: &str) -> Option<(&'static str, &str)> {
    if let Some(rest) = word.strip_prefix('/') {
        let name = rest.split([':', '=']).next().unwrap_or_default();
        return (!name.contains('/')).then_some(("/", rest));
    }
    let marks = ["--", "-"].into_iter();
    marks.filter_map(|mark| Some((mark, word.strip_prefix(mark)?))).next()
}

fn is(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The property in `a=b` if it is not known to be harmless, or all of `a=b;c=d` if one is not: a
/// rule that names one does not name the others.
fn property(list: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    let is_harmless = |(at, piece): (usize, &str)| match piece.split_once('=') {
        // A continuation of the previous value. Without one, the first is no property.
        None => at == 0 || piece.chars().all(plain),
        Some((name, value)) => {
            let lower = name.to_ascii_lowercase();
            let value = value.to_ascii_lowercase().replace("%3b", "").replace("%2c", "");
            let is_known = PROPERTIES.split_whitespace().any(|known| known == lower);
            let is_toggle = lower.chars().all(|c| c.is_ascii_alphanumeric())
                && TOGGLES.iter().any(|start| lower.starts_with(start))
                && matches!(value.as_str(), "true" | "false");
            is_toggle || is_known && value.chars().all(plain)
        }
    };
    if list.split([';', ',']).enumerate().all(is_harmless) {
        return None;
    }
    let named = if list.contains([';', ',']) { list } else { list.split('=').next()? };
    Some(format!("-p:{named}"))
}

/// The logger, unless it is built into `dotnet test` and writes where it always does. MSBuild takes
/// the name for a file name.
fn logger(value: &str, option: &str, before: &[Spelling<'_>]) -> Option<String> {
    let is_test = before.get(1).and_then(Spelling::exact) == Some("test");
    if !is_test && option == "-l" {
        // An option of another command. MSBuild's own has its value after a colon.
        let is_joined = before.last().and_then(Spelling::exact) != Some(option);
        return is_joined.then(|| option.to_owned());
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+=".contains(c);
    let mut parts = value.split(';');
    let is_known = parts.next().is_some_and(|name| is(LOGGERS, name));
    let is_own = is_test && matches!(option, "--logger" | "-l");
    let is_plain = parts.all(|part| part.chars().all(plain));
    (!(is_own && is_known && is_plain)).then(|| option.to_owned())
}
