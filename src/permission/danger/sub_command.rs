//! Sub-commands, and the options that precede them.
//!
//! A rule that leaves the sub-command open covers the everyday ones. The others run their
//! arguments, change what later commands run, serve or set up something elsewhere, or write to a
//! place given as an argument.

use super::{Danger, OPEN_WORDS, Spelling};
use crate::permission::program::Program;

/// Programs, and the sub-commands that a rule for the whole program covers. `one/two` is a
/// sub-command covered only with this next word. The user's own commands and plugins are in no
/// list.
const EVERYDAY: &[(&str, &str)] = &[
    ("git", GIT),
    (
        "kubectl oc",
        "annotate api-resources api-versions apply attach auth autoscale certificate cluster-info \
         config/current-context config/get-clusters config/get-contexts config/get-users config/view cordon create \
         debug delete describe diff drain edit events exec explain expose get help import-image kustomize label logs \
         new-app options patch port-forward process project projects replace rollout rsh run scale set start-build \
         status taint tag top uncordon version wait whoami",
    ),
    (
        "helm",
        "dependency dep env get help history hist install i lint list ls pull fetch repo rollback search show inspect \
         status template test uninstall del delete un upgrade up verify version",
    ),
    (
        "docker podman",
        "attach build builder/prune buildx/build buildx/du buildx/inspect buildx/ls commit compose container create \
         diff events exec help history image images info inspect kill logs manifest network node/ls pause pod port ps \
         pull push rename restart rm rmi run search service/ls service/logs start stats stop system tag top unpause \
         update version volume wait",
    ),
    (
        "gh",
        "alias/list api auth/status cache config/get config/list extension/list extension/search gist/list gist/view \
         help issue label org pr project release repo/create repo/list repo/view repo/edit repo/set-default repo/sync \
         ruleset run search secret/list status variable/get variable/list version workflow",
    ),
];

/// The same for git: the commands of every version. An alias can replace a missing one.
const GIT: &str = "add am annotate apply archive bisect blame branch cat-file check-attr check-ignore \
    check-mailmap check-ref-format checkout cherry cherry-pick clean column commit config count-objects \
    describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc grep help \
    interpret-trailers log ls-files ls-remote ls-tree merge merge-base merge-tree mv name-rev notes \
    patch-id prune pull push range-diff rebase reflog remote rerere reset restore rev-list rev-parse revert rm \
    shortlog show show-branch show-ref sparse-checkout stage stash status stripspace submodule switch symbolic-ref \
    tag update-index var verify-commit verify-pack verify-tag version write-tree";

/// Finds options before the sub-command that are not known to be harmless, since they affect all of
/// them, and a sub-command that is not [`EVERYDAY`].
pub fn find(name: &str, words: &[Spelling<'_>]) -> Vec<Danger> {
    let Some(program) = Program::named(name).filter(|program| program.has_sub_commands()) else {
        return Vec::new();
    };
    let mut dangers = Vec::new();
    let mut place = 1;
    while let Some(word) = words.get(place) {
        let Some(text) = word.exact() else {
            dangers.push(Danger::new(OPEN_WORDS, OPEN_WORDS, place));
            break;
        };
        if !text.starts_with(['-', '+']) {
            if (name, text) == ("git", "subtree") {
                // Its words are split once more, so only the whole line names what it does.
                let option = "subtree, a shell script that splits its words";
                dangers.push(Danger::new(option, option, usize::MAX));
            } else if !is_everyday(name, text, words.get(place + 1)) {
                dangers.push(Danger::new(text, text, place));
            }
            break;
        }
        let option = program.global_option(text);
        if option.is_none_or(|option| !option.harmless) {
            let option = text.split('=').next().unwrap_or_default().to_owned();
            dangers.push(Danger::new(option.clone(), option, place));
        }
        place += option.map_or(1, |option| option.words);
    }
    dangers
}

/// Whether a rule for the whole program covers the sub-command, followed by `next`.
pub fn is_everyday(name: &str, sub_command: &str, next: Option<&Spelling<'_>>) -> bool {
    let is_own = |names: &str| names.split_whitespace().any(|own| own == name);
    let Some((_, list)) = EVERYDAY.iter().find(|(names, _)| is_own(names)) else { return true };
    let next = next.and_then(Spelling::exact).unwrap_or_default();
    list.split_whitespace().any(|known| match known.split_once('/') {
        Some((first, second)) => first == sub_command && second == next,
        None => known == sub_command,
    })
}
