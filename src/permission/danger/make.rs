//! The words of make: goals, variables and options. Make expands its own functions in a word,
//! passes variables to the recipes as their environment, and the names of goals to a shell.

use std::path::PathBuf;

use super::Spelling;
use super::place::leads_out;

/// Beginnings of names, in upper case, of variables that programs take programs, options or folders from.
const READ_BY_PROGRAMS: &str = "\
    BASH BUNDLE CARGO CDPATH CLASSPATH CMAKE_ COMPILER_PATH COMPOSER CONFIG_SITE CPATH CURL DOCKER DOTNET DYLD_ \
    EDITOR ENV GCC_ GEM_ GIT_ GLIBC_ GNUMAKEFLAGS GOENV GOFLAGS GOPATH GOROOT GOPROXY GOTOOL GOBIN GREP_ HOME IFS \
    JAVA JDK _JAVA KUBECONFIG LD_ LESS LIBRARY_PATH LUA MAKE MANPATH MAVEN MFLAGS MSBUILD NODE NPM OPENSSL_ PAGER \
    PATH PERL PHP PIP PKG_CONFIG PNPM PS4 PYENV PYTEST PYTHON RBENV RSYNC RUBY RUSTC RUSTDOC RUSTFLAGS RUSTUP SHELL \
    SSH_ SUFFIXES SUDO TAR_OPTIONS TMP TEMP UV_ VIRTUAL_ENV VISUAL VPATH XDG_ YARN ZDOTDIR";

/// Options that neither run anything nor lead elsewhere, without their dashes.
const LONG_OPTIONS: &str = "\
    always-make assume-new assume-old debug dry-run help ignore-errors jobs just-print keep-going load-average \
    max-load new-file no-builtin-rules no-builtin-variables no-keep-going no-print-directory no-silent old-file \
    output-sync print-data-base print-directory question quiet recon shuffle silent stop touch trace version \
    warn-undefined-variables what-if";

/// The same letters, and those of them that take the rest of the word as their value.
const LETTERS: &str = "BSbdhijklmnoOpqRrstvwW";
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
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+,:".contains(c);
    let upper = variable.to_ascii_uppercase();
    let is_read = READ_BY_PROGRAMS.split_whitespace().any(|name| upper.starts_with(name));
    let is_variable = !variable.is_empty() && variable.chars().all(is_name) && !is_read;
    let is_value = value.chars().all(is_plain) && value != "..";
    (!(is_variable && is_value)).then(|| variable.to_owned())
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
