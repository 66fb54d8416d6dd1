//! Sub-commands, and the options that stand before them.

use super::{Danger, OPEN, Spelling};
use crate::permission::program::Program;

/// The sub-commands of git that a rule for all of git covers. The others run what they are given, serve or set up a
/// repository elsewhere, or write where an argument says, and so may a command of the user's own.
const EVERYDAY: &str = "add am annotate apply archive bisect blame branch cat-file check-attr check-ignore \
    check-mailmap check-ref-format checkout cherry cherry-pick clean column commit config count-objects \
    describe diff diff-files diff-index diff-pairs diff-tree fetch for-each-ref format-patch fsck gc grep help \
    interpret-trailers last-modified log ls-files ls-remote ls-tree merge merge-base merge-tree mv name-rev notes \
    patch-id prune pull push range-diff rebase reflog remote rerere reset restore rev-list rev-parse revert rm \
    shortlog show show-branch show-ref sparse-checkout stage stash status stripspace submodule switch symbolic-ref \
    tag update-index var verify-commit verify-pack verify-tag version whatchanged write-tree";

/// Finds options before the sub-command that are not known to be harmless, since they decide for all of them, and a
/// sub-command of git that is not [`EVERYDAY`].
pub fn find(name: &str, words: &[Spelling<'_>]) -> Vec<Danger> {
    let Some(program) = Program::named(name).filter(|program| program.has_sub_commands()) else {
        return Vec::new();
    };
    let mut dangers = Vec::new();
    let mut place = 1;
    while let Some(word) = words.get(place) {
        let Some(text) = word.exact() else {
            dangers.push(Danger { option: OPEN.to_owned(), written: OPEN.to_owned(), place });
            break;
        };
        if !text.starts_with(['-', '+']) {
            if name == "git" && !EVERYDAY.split_whitespace().any(|everyday| everyday == text) {
                dangers.push(Danger { option: text.to_owned(), written: text.to_owned(), place });
            }
            break;
        }
        let option = program.global_option(text);
        if option.is_none_or(|option| !option.harmless) {
            let option = text.split('=').next().unwrap_or_default().to_owned();
            dangers.push(Danger { written: option.clone(), option, place });
        }
        place += option.map_or(1, |option| option.words);
    }
    dangers
}
