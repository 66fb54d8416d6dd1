//! Options of npm, pnpm and yarn themselves, and of npx and its like. They hand settings on to what a script starts, npm
//! under names that it reads in any case and with underscores, so only known ones are covered.

use super::{Danger, Spelling};
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
    approve-builds config constraints create dlx edit env exec explore init link ln node patch patch-commit plugin \
    plugins policies self-update server set setup store unplug workspace workspaces x";

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

/// Finds options of npm, pnpm or yarn before `end` that are not known to be harmless.
pub fn find(words: &[Spelling<'_>], end: usize) -> Vec<Danger> {
    let mut dangers = Vec::new();
    let lists = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let program = words.first().and_then(Spelling::exact).unwrap_or_default();
    let is_value =
        |place: usize| words[place - 1].exact().is_some_and(|before| lists(TAKES_VALUE, before));
    let sub_command =
        (1..end.min(words.len())).filter(|place| !is_value(*place)).find_map(|place| {
            Some((place, words[place].exact().filter(|word| !word.starts_with('-'))?))
        });
    if let Some((place, word)) = sub_command {
        let is_everyday =
            if base_name(program) == "npm" { lists(NPM, word) } else { !lists(STARTS, word) };
        if !is_everyday {
            dangers.push(Danger::new(word, word, place));
        }
    }
    dangers.extend(find_options(words, end));
    dangers
}

/// Finds options of npx and its like before the program that it runs.
pub fn find_before_program(words: &[Spelling<'_>]) -> Vec<Danger> {
    let is_option = |word: &Spelling<'_>| word.exact().is_some_and(|text| text.starts_with('-'));
    let end = words.iter().skip(1).position(|word| !is_option(word));
    find_options(words, end.map_or(words.len(), |end| end + 1))
}

fn find_options(words: &[Spelling<'_>], end: usize) -> Vec<Danger> {
    let words = words.iter().enumerate().take(end).skip(1);
    let unknown = words.filter_map(|(place, word)| {
        let text = word.exact().filter(|text| text.starts_with('-') && !is_harmless(text))?;
        let option = text.split('=').next().unwrap_or(text);
        Some(Danger::new(option, option, place))
    });
    unknown.collect()
}

/// Finds text that a shell may read: older versions of npm and pnpm put the words for a script
/// between double quotes.
pub fn shell_text(words: &[Spelling<'_>]) -> Vec<Danger> {
    let is_read = |text: &str| text.contains(['$', '`', '\\', '"']);
    let words = words.iter().enumerate().skip(1);
    let read = words.filter_map(|(place, word)| {
        let text = word.exact().filter(|text| is_read(text))?;
        Some(Danger::new("text that a shell may read", text, place))
    });
    read.collect()
}

fn is_harmless(word: &str) -> bool {
    let bare = word.trim_start_matches('-');
    let (name, value) = bare.split_once('=').map_or((bare, None), |(name, it)| (name, Some(it)));
    let option = name.to_ascii_lowercase().replace('_', "-");
    let lists = |list: &str, name: &str| list.split_whitespace().any(|known| known == name);
    let is_known = |name: &str| lists(HARMLESS, name);
    let is_cluster = !word.starts_with("--");
    let is_harmless = bare.is_empty()
        || is_known(&option)
        || option.strip_prefix("no-").is_some_and(is_known)
        || is_cluster && name.chars().all(|letter| LETTERS.contains(letter));
    let is_value = |value: &str| {
        matches!(value, "true" | "false") || lists(WITH_VALUE, &option) && !value.starts_with('-')
    };
    is_harmless && value.is_none_or(is_value)
}
