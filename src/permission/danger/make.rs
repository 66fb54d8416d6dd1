//! The words of make: goals, variables and options. Make expands its own functions in a word,
//! passes variables to the recipes as their environment, and the names of goals to a shell.

use std::path::PathBuf;

use super::Spelling;
use super::place::leads_out;

/// Variables that say how something is built, and that no program takes a program, an option or a
/// folder from. So does a single letter with a number, as in `V=1`: others are prefixes of recipes, as
/// in `Q=@`. Any other name may be one that programs read.
const NAMES: &str = "\
    ARCH BOARD BRANCH BUILD BUILDTYPE BUILD_TYPE CGO_ENABLED CI COLOR COMMIT CONFIG CONFIGURATION COUNT COVERAGE DATE \
    DEBUG DEV FEATURE FEATURES FILTER FORCE FUZZ GOARCH GOARM GOOS ID JOBS LEVEL LOG_LEVEL LTO MODE MODULE NAME \
    NUM OPT OPTIMIZE OS PACKAGE PKG PLATFORM PORT PROD PRODUCTION PROFILE PROJECT QUIET RELEASE SANITIZE \
    SANITIZER SEED SERVICE SHARED SILENT SKIP STAGE STATIC SUITE TAG TARGET TEST TESTS TEST_NAME THREADS TIMEOUT \
    TRACE TYPE VARIANT VERBOSE VERSION WERROR";

/// Beginnings of names that switch a part of the build on or off.
const SWITCHES: [&str; 5] = ["DISABLE_", "ENABLE_", "USE_", "WITHOUT_", "WITH_"];

/// Values of `CC` and `CXX`. A version may follow.
const COMPILERS: &str = "c++ cc clang clang++ g++ gcc";

/// Options that neither run anything nor lead elsewhere, without their dashes.
const LONG_OPTIONS: &str = "\
    always-make assume-new assume-old debug dry-run help ignore-errors jobs just-print keep-going load-average \
    max-load new-file no-builtin-rules no-builtin-variables no-keep-going no-print-directory no-silent old-file \
    output-sync print-data-base print-directory question quiet recon shuffle silent stop touch trace version \
    warn-undefined-variables what-if";

/// The same letters, and those of them that take the rest of the word as their value.
const LETTERS: &str = "BSbdhijklnoOpqRrstvwW";
const LETTERS_WITH_VALUE: &str = "jloOW";

/// The reason why a prefix rule does not cover the word: it is no plain goal below the folder, no
/// plain variable and no harmless option.
pub fn find(spelled: &Spelling<'_>, bases: &[PathBuf]) -> Option<String> {
    let word = spelled.exact()?;
    if let Some(option) = word.strip_prefix('-') {
        return (!is_harmless_option(option))
            .then(|| word.split('=').next().unwrap_or(word).to_owned());
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let Some((variable, value)) = word.split_once('=') else {
        let is_plain = |c: char| is_name(c) || ".%/+-,:@".contains(c);
        let is_above = word.starts_with('/') || word.split('/').any(|part| part == "..");
        let is_outside = is_above || !bases.is_empty() && leads_out(word, spelled, bases);
        let is_goal = word.chars().all(is_plain) && !is_outside;
        return (!is_goal)
            .then(|| "a goal that a shell reads, or outside of the folder".to_owned());
    };
    let is_harmless = is_harmless_variable(variable, value) || is_compiler(variable, value);
    (!is_harmless).then(|| variable.to_owned())
}

fn is_harmless_variable(name: &str, value: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_switch = || SWITCHES.iter().any(|start| name.starts_with(start));
    let is_number = || value.chars().all(|c| c.is_ascii_digit());
    name.chars().all(is_letter)
        && is_plain_value(value)
        && (name.len() == 1 && is_number()
            || NAMES.split_whitespace().any(|known| known.eq_ignore_ascii_case(name))
            || is_switch())
}

/// Whether the value is neither an option nor a path.
fn is_plain_value(value: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+,:".contains(c);
    value.chars().all(is_plain) && value != ".." && !value.starts_with('-')
}

fn is_compiler(variable: &str, value: &str) -> bool {
    let is_version = |c: char| c.is_ascii_digit() || matches!(c, '-' | '.');
    let name = value.trim_end_matches(is_version);
    matches!(variable, "CC" | "CXX") && COMPILERS.split_whitespace().any(|known| known == name)
}

/// Whether the option, without its first dash, is known to be harmless.
fn is_harmless_option(option: &str) -> bool {
    if let Some(long) = option.strip_prefix('-') {
        let name = long.split('=').next().unwrap_or(long);
        return long.is_empty() || LONG_OPTIONS.split_whitespace().any(|known| known == name);
    }
    let end = option.find(|letter| LETTERS_WITH_VALUE.contains(letter));
    let letters = end.map_or(option, |end| &option[..end]);
    !option.is_empty() && letters.chars().all(|letter| LETTERS.contains(letter))
}
