//! Options of npm, pnpm and yarn themselves. They hand settings on to what a script starts, npm
//! under names that it reads in any case and with underscores, so only known ones are covered.

use super::{Danger, Spelling};

/// Options that name no file and no program, and choose no other folder.
const HARMLESS: &str = "\
    access aggregate-output all allow-same-version audit audit-level bail check-cache color concurrency count dd ddd depth description dev \
    dry-run engine-strict exact fix-lockfile filter force foreground-scripts frozen-lockfile frozen fund git-tag-version help \
    if-present ignore-optional ignore-platform ignore-engines ignore-scripts ignore-workspace immutable include include-workspace-root \
    inline-builds iwr json legacy-peer-deps lockfile lockfile-only loglevel long no-bail non-interactive offline \
    omit only optional otp package-lock package-lock-only parallel parseable peer prefer-dedupe prefer-frozen-lockfile \
    prefer-offline prefer-online preid prod production progress provenance pure-lockfile quiet recursive reverse save save-bundle \
    save-catalog save-dev save-exact save-optional save-peer save-prod searchlimit silent sort stream \
    strict-peer-dependencies strict-peer-deps tag tilde unicode use-stderr usage verbose version workspace \
    workspace-concurrency workspace-root workspaces ws yes";

/// Letters that may stand together after a dash.
const LETTERS: &str = "BDEFOPSTWadfhHlnpqrsvwy?";

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
    for (place, word) in words.iter().enumerate().take(end).skip(1) {
        let Some(text) = word.exact().filter(|text| text.starts_with('-')) else { continue };
        if !is_harmless(text) {
            let option = text.split('=').next().unwrap_or(text);
            dangers.push(Danger::new(option, option, place));
        }
    }
    dangers
}

fn is_harmless(word: &str) -> bool {
    let bare = word.trim_start_matches('-');
    let name = bare.split('=').next().unwrap_or(bare).to_ascii_lowercase().replace('_', "-");
    let is_known = |name: &str| HARMLESS.split_whitespace().any(|known| known == name);
    let mut letters = bare.split('=').next().unwrap_or(bare).chars();
    let is_cluster = !word.starts_with("--");
    bare.is_empty()
        || is_known(&name)
        || name.strip_prefix("no-").is_some_and(is_known)
        || is_cluster && letters.all(|letter| LETTERS.contains(letter))
}
