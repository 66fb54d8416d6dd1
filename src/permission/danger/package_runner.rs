//! Options of npm, pnpm, yarn and bun themselves, and of npx and its like. They hand settings on to
//! what a script starts, npm under names that it reads in any case and with underscores, so only
//! known ones are covered.

use super::{Danger, OPEN_WORDS, Spelling};
use crate::permission::program::base_name;

/// Options that name no file and no program, and choose no other folder.
const HARMLESS: &str = "\
    access aggregate-output all allow-same-version audit audit-level bail bun check-cache color concurrency count dd ddd depth description dev \
    dry-run engine-strict exact fix-lockfile filter force foreground-scripts frozen-lockfile frozen fund git-tag-version help \
    if-present ignore-optional ignore-platform ignore-engines ignore-scripts ignore-workspace immutable include include-workspace-root \
    inline-builds iwr json legacy-peer-deps lockfile lockfile-only loglevel long no-bail non-interactive offline \
    omit only optional otp package-lock package-lock-only parallel parseable peer prefer-dedupe prefer-frozen-lockfile \
    prefer-offline prefer-online preid prod production progress provenance pure-lockfile quiet recursive reverse save save-bundle \
    save-catalog save-dev save-exact save-optional save-peer save-prod searchlimit silent sort stream \
    strict-peer-dependencies strict-peer-deps tag tilde unicode use-stderr usage verbose version workspace \
    workspace-concurrency workspace-root workspaces ws yes";

/// Those that take a value. Behind a `=`, the others read it as the next word, which may be an option.
const WITH_VALUE: &str = "\
    access audit-level concurrency depth filter include loglevel omit otp preid searchlimit tag workspace \
    workspace-concurrency";

/// Letters that may stand together after a dash.
const LETTERS: &str = "BDEFOPSTWadfhHlnpqrsvwy?";

/// Sub-commands of npm that neither start a program by its name nor lead elsewhere. What scripts do,
/// a rule for npm covers.
const NPM: &str = "\
    add audit bin cache ci clean-install dedupe diff docs doctor explain find-dupes fund help i info install \
    install-ci-test install-test it list ll la ls outdated pack ping prefix prune publish query r rb rebuild remove \
    restart rm root rum run run-script s search show start stop t test tst un uninstall unlink up update upgrade v \
    version view whoami why";

/// The opposite of pnpm and yarn, for which every other word is a script.
const STARTS: &str = "\
    config constraints create dlx edit exec explore init link ln node patch patch-commit plugin plugins policies \
    self-update set unplug workspaces x";

/// Those of pnpm alone.
const PNPM_STARTS: &str = "approve-builds env server setup store";

/// Options before a sub-command whose value is the next word.
const TAKES_VALUE: &str = "-w --workspace --filter -F --loglevel";

/// The position behind which the words are no longer the program's own: those of a script, or of a
/// program that it starts.
pub fn own_words(name: &str, words: &[Spelling<'_>], script: Option<usize>) -> usize {
    let exact = |place: usize| words.get(place).and_then(Spelling::exact);
    let mark = (1..words.len()).find(|place| exact(*place) == Some("--")).unwrap_or(words.len());
    match (name, script) {
        // npm takes them wherever they are.
        ("npm", _) | (_, None) => mark,
        (_, Some(script)) => script.min(mark),
    }
}

/// Whether the word may be the value of an option before it.
pub fn is_value(words: &[Spelling<'_>], place: usize) -> bool {
    let option = words.get(place.wrapping_sub(1)).and_then(Spelling::exact).unwrap_or_default();
    let name = option.trim_start_matches('-').to_ascii_lowercase().replace('_', "-");
    // Such letters may follow others.
    let is_cluster = option.starts_with('-') && !option.starts_with("--");
    lists(TAKES_VALUE, option)
        || is_cluster && option.ends_with(['w', 'F'])
        || option.starts_with('-') && lists(WITH_VALUE, &name)
}

/// Finds options of npm, pnpm or yarn before `end` that are not known to be harmless, values that
/// are no plain text, and a sub-command or script that may be something else.
pub fn find(words: &[Spelling<'_>], end: usize) -> Vec<Danger> {
    let mut dangers = Vec::new();
    let program = words.first().and_then(Spelling::exact).unwrap_or_default();
    let program = base_name(program);
    let is_operand = |place: &usize| !words[*place].beginning().starts_with('-');
    let is_npm = program == "npm";
    let mut role = OperandRole::SubCommand;
    for place in (1..words.len()).filter(is_operand) {
        let is_value = is_value(words, place);
        let outline = words[place].outline();
        let option = words[place - 1].outline();
        if place < end && is_value && !is_plain_value(&outline) {
            dangers.push(Danger::new(option.clone(), option.clone(), place - 1));
        }
        // Some of these options take no value in pnpm and yarn.
        let is_certain_value =
            is_value && program != "yarn" && (option.ends_with('F') || option.ends_with("filter"));
        let is_everyday = match role {
            OperandRole::Argument => continue,
            _ if is_npm => is_value || place >= end || lists(NPM, &outline),
            OperandRole::SubCommand if starts(program, &outline) => false,
            _ => is_certain_value || is_plain_name(&outline),
        };
        if !is_everyday {
            dangers.push(Danger::new(outline.clone(), outline.clone(), place));
        }
        // The last one is the sub-command or the script, unless they belong to an option.
        if !is_value {
            role = role.next(program, &outline);
        }
    }
    dangers.extend(find_options(words, end));
    dangers
}

/// The role of an operand of npm, pnpm or yarn.
#[derive(Clone, Copy)]
enum OperandRole {
    SubCommand,
    /// The name of a workspace, whose sub-command follows.
    Workspace,
    Script,
    /// A word for the sub-command or the script.
    Argument,
}

impl OperandRole {
    /// The role of the word behind this one.
    fn next(self, program: &str, word: &str) -> Self {
        match (self, program, word) {
            (Self::Workspace, ..) | (Self::SubCommand, "pnpm", "m" | "multi" | "recursive") => {
                Self::SubCommand
            }
            (Self::SubCommand, "yarn", "workspace") => Self::Workspace,
            (Self::SubCommand, "pnpm" | "yarn", "run" | "run-script") => Self::Script,
            _ => Self::Argument,
        }
    }
}

/// Whether pnpm or yarn has a sub-command of this name that starts something or leads elsewhere.
fn starts(program: &str, word: &str) -> bool {
    lists(STARTS, word) || program == "pnpm" && lists(PNPM_STARTS, word)
}

fn lists(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Whether the value is text that none of the programs hands on as more than that: pnpm gives git
/// what stands between brackets.
fn is_plain_value(value: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "@_./*^{}~,:-".contains(c);
    !value.starts_with('-') && value.chars().all(is_plain)
}

/// Whether the word is a name, and no path: yarn takes one for the folder to run in, and pnpm for a
/// program.
fn is_plain_name(word: &str) -> bool {
    let name = word.strip_prefix('@').and_then(|scoped| scoped.split_once('/'));
    let (scope, name) = name.map_or(("", word), |(scope, name)| (scope, name));
    let is_name = |c: char| c.is_alphanumeric() || "_.:@+-".contains(c);
    (scope.chars().chain(name.chars())).all(is_name)
        && ![scope, name].iter().any(|part| matches!(*part, "." | ".."))
}

/// Options of bun that name no file and no program. Those of npm have other letters.
const BUN_HARMLESS: &str = "\
    bail bun concurrent coverage dev development elide-lines exact filter force format frozen-lockfile help hot \
    if-present ignore-scripts lockfile-only minify no-clear-screen no-install no-progress no-save no-summary omit only \
    only-missing optional packages parallel peer prefer-offline production randomize rerun-each revision \
    save-text-lockfile seed sequential silent smol sourcemap splitting target test-name-pattern timeout todo verbose \
    version watch workspaces yarn";

/// Letters of bun that may stand together after a dash.
const BUN_LETTERS: &str = "DEFbfhtvy";

/// Finds options of bun before the script that it runs, and what older versions hand on to a shell
/// as it is: all words that are not plain.
pub fn find_bun(words: &[Spelling<'_>], script: Option<usize>) -> Vec<Danger> {
    let mark = words.iter().position(|word| word.exact() == Some("--")).unwrap_or(words.len());
    let is_known = |text: &str| {
        let (name, value) =
            text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let is_listed = match name.strip_prefix("--") {
            Some(long) => lists(BUN_HARMLESS, long),
            None => name[1..].chars().all(|letter| BUN_LETTERS.contains(letter)),
        };
        is_listed && value.is_none_or(is_plain_value)
    };
    let mut dangers = find_unknown(words, mark.min(script.unwrap_or(mark)), is_known);
    let is_plain = |c: char| c.is_alphanumeric() || "@_./*^{}~,:=+%-".contains(c);
    let behind = words.iter().enumerate().skip(script.map_or(words.len(), |script| script + 1));
    dangers.extend(behind.filter_map(|(place, word)| {
        let text = word.exact().filter(|text| !text.chars().all(is_plain))?;
        Some(Danger::new("text that a shell may read", text, place))
    }));
    dangers
}

/// Finds options of npx and its like before the program that it runs.
pub fn find_before_program(words: &[Spelling<'_>]) -> Vec<Danger> {
    let is_option = |word: &Spelling<'_>| word.exact().is_some_and(|text| text.starts_with('-'));
    let is_program = |place: &usize| !is_option(&words[*place]) && !is_value(words, *place);
    let end = (1..words.len()).find(is_program);
    find_options(words, end.unwrap_or(words.len()))
}

fn find_options(words: &[Spelling<'_>], end: usize) -> Vec<Danger> {
    find_unknown(words, end, is_harmless)
}

fn find_unknown(
    words: &[Spelling<'_>],
    end: usize,
    is_known: impl Fn(&str) -> bool,
) -> Vec<Danger> {
    let words = words.iter().enumerate().take(end).skip(1);
    let unknown = words.filter_map(|(place, word)| {
        let text = word.outline();
        if !text.starts_with('-') || is_known(&text) {
            return None;
        }
        let option = text.split('=').next().unwrap_or(&text);
        Some(Danger::new(option, option, place))
    });
    unknown.collect()
}

/// Finds text that a shell may read: older versions of npm and pnpm put the words for a script
/// between double quotes.
pub fn shell_text(words: &[Spelling<'_>]) -> Vec<Danger> {
    let is_read = |text: &str| text.contains(['$', '`', '\\', '"']);
    let words = words.iter().enumerate().skip(1);
    let read = words.filter_map(|(place, word)| match word.exact() {
        Some(text) => is_read(text).then(|| Danger::new("text that a shell may read", text, place)),
        // Nobody has looked at the name of the folder.
        None => word.holds_folder().then(|| Danger::new(OPEN_WORDS, OPEN_WORDS, place)),
    });
    read.collect()
}

fn is_harmless(word: &str) -> bool {
    let bare = word.trim_start_matches('-');
    let (name, value) = bare.split_once('=').map_or((bare, None), |(name, it)| (name, Some(it)));
    let option = name.to_ascii_lowercase().replace('_', "-");
    let is_known = |name: &str| lists(HARMLESS, name);
    let is_cluster = !word.starts_with("--");
    let is_harmless = bare.is_empty()
        || is_known(&option)
        || option.strip_prefix("no-").is_some_and(is_known)
        || is_cluster && name.chars().all(|letter| LETTERS.contains(letter));
    let is_value = |value: &str| {
        matches!(value, "true" | "false") || lists(WITH_VALUE, &option) && is_plain_value(value)
    };
    is_harmless && value.is_none_or(is_value)
}
