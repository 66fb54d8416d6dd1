//! Git's settings by what they make its commands show: nothing more, more of some commands, or a file
//! that they name. Any other setting may make every command show more.

use std::path::Path;

use crate::disk::{GitConfigPaths, GitSettings, checkout_root, common_git_dir, named_git_dirs};
use crate::permission::path::PathTarget;
use crate::permission::recursive::behavior::SettingScope;

/// A setting that may make git show more.
#[derive(Clone, Debug, PartialEq)]
pub struct ShowingSetting {
    /// Why it may.
    pub why: String,
    scope: SettingScope,
    /// The files that its value may name, if it shows one of these alone.
    pub files: Option<Vec<PathTarget>>,
}

/// The settings of git in one folder that may make it show more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShowingSettings(Vec<ShowingSetting>);

impl ShowingSettings {
    /// Reads those in the folder.
    pub fn around(folder: &Path, git: &GitConfigPaths) -> Self {
        let root = checkout_root(folder);
        let own = [Some(named_git_dirs(&root).0), common_git_dir(&root)].into_iter().flatten();
        let own = own.flat_map(|git| ["config", "config.worktree"].map(|file| git.join(file)));
        let all = git.settings_with(own);
        let bases = [folder, &root];
        let mut found: Vec<_> =
            all.switched_on().filter_map(|it| showing(&all, it, bases)).collect();
        if let Err(why) = all.check_is_known() {
            found.push(ShowingSetting { why, scope: SettingScope::Any, files: None });
        }
        Self(found)
    }

    /// Returns those that count for a command of this scope.
    pub fn of(&self, scope: SettingScope) -> impl Iterator<Item = &ShowingSetting> {
        self.0.iter().filter(move |it| match it.scope {
            SettingScope::Any => true,
            SettingScope::Diff => matches!(scope, SettingScope::Diff | SettingScope::History),
            own => own == scope,
        })
    }
}

/// The setting of this section, key and value, if it may make git show more.
fn showing(
    all: &GitSettings,
    (section, key, value): (&str, &str, &str),
    bases: [&Path; 2],
) -> Option<ShowingSetting> {
    let setting = |scope, files| {
        let why = format!("{section}.{key} is among its settings");
        Some(ShowingSetting { why, scope, files })
    };
    if is_in(FILE_KEYS, section, key) {
        let file = |base: &Path| Some(PathTarget::new(base, &all.path(base, value)?));
        return setting(SettingScope::Any, bases.into_iter().map(file).collect());
    }
    let known = SCOPES.iter().find(|(name, keys, _)| is_in(&[(*name, *keys)], section, key));
    match known {
        Some((.., scope)) => setting(*scope, None),
        None if is_in(SHOW_NOTHING, section, key) => None,
        None => setting(SettingScope::Any, None),
    }
}

fn is_in(table: &[(&str, &str)], section: &str, key: &str) -> bool {
    let mut rows = table.iter().filter(|(name, _)| *name == section);
    rows.any(|(_, keys)| keys.split_whitespace().any(|known| known == "*" || known == key))
}

/// Settings that make some commands show more, and these.
const SCOPES: &[(&str, &str, SettingScope)] = &[
    ("commit", "template verbose", SettingScope::Commit),
    ("blame", "ignorerevsfile", SettingScope::Blame),
    // A comparison goes into submodules.
    ("diff", "submodule", SettingScope::Diff),
    // A file had another name before.
    ("log", "follow", SettingScope::History),
    // A merge applies patches, of which git shows lines that end in blanks.
    ("rebase", "backend", SettingScope::Merge),
    ("stash", "index", SettingScope::Merge),
    // Options and strategies of a merge that no word shows.
    ("branch", "mergeoptions", SettingScope::Merge),
    ("pull", "octopus twohead", SettingScope::Merge),
];

/// Settings that name a file of which git may print lines that it does not understand.
const FILE_KEYS: &[(&str, &str)] = &[
    ("core", "attributesfile"),
    ("gpg", "allowedsignersfile revocationfile"),
    ("mailmap", "file"),
];

/// Messages of a check of objects, whose values say how severe they are.
const CHECKS: &str = "\
    baddate baddateoverflow bademail badfilemode badgpgsig badheadtarget badheadercontinuation badname badobjectsha1 \
    badparentsha1 badreferentname badreffiletype badrefname badrefcontent badtagname badtimezone badtree badtreesha1 \
    badtype duplicateentries emptyname extraheaderentry fullpathname gitattributesblob gitattributeslarge \
    gitattributeslinelength gitattributesmissing gitattributessymlink gitignoresymlink gitmodulesblob gitmoduleslarge \
    gitmodulesmissing gitmodulesname gitmodulesparse gitmodulespath gitmodulessymlink gitmodulesupdate gitmodulesurl \
    hasdot hasdotdot hasdotgit largepathname mailmapsymlink missingauthor missingcommitter missingemail \
    missingnamebeforeemail missingobject missingspacebeforedate missingspacebeforeemail missingtag missingtagentry \
    missingtaggerentry missingtree missingtype missingtypeentry multipleauthors nulincommit nulinheader nullsha1 \
    treenotsorted unknowntype unterminatedheader zeropaddeddate zeropaddedfilemode";

/// Settings that make no command with a known form show content of files: section and keys, `*` for
/// all. The subsection, such as the name of a remote, is ignored. What a setting starts as a program
/// is judged elsewhere.
const SHOW_NOTHING: &[(&str, &str)] = &[
    ("add", "ignore-errors ignoreerrors"),
    ("advice", "*"),
    ("alias", "*"),
    ("am", "keepcr threeway"),
    ("apply", "ignorewhitespace whitespace"),
    ("author", "email name"),
    (
        "blame",
        "blankboundary coloring date markignoredlines markunblamablelines showemail showroot",
    ),
    (
        "branch",
        "autosetupmerge autosetuprebase description gh-merge-base gk-last-accessed gk-last-modified github-pr-owner-number \
         merge pushremote rebase remote sort vscode-merge-base",
    ),
    ("browser", "*"),
    ("checkout", "defaultremote guess thresholdforparallelism workers"),
    ("clean", "requireforce"),
    ("color", "*"),
    ("column", "*"),
    ("commit", "cleanup gpgsign status"),
    ("commitgraph", "*"),
    ("committer", "email name"),
    ("completion", "commands"),
    (
        "core",
        "abbrev askpass autocrlf bare bigfilethreshold checkroundtripencoding checkstat commentchar commentstring \
         commitgraph compression createobject deltabasecachelimit editor eol excludesfile filemode filesreflocktimeout \
         fscache fsmonitor fsmonitorhookversion fsync fsyncmethod fsyncobjectfiles gitproxy hidedotfiles hookspath \
         ignorecase ignorestat logallrefupdates longpaths loosecompression maxtreedepth multipackindex packedgitlimit \
         packedgitwindowsize packedrefstimeout pager precomposeunicode prefersymlinkrefs preloadindex protecthfs \
         protectntfs quotepath repositoryformatversion restrictinheritedhandles safecrlf sharedrepository sparsecheckout \
         sparsecheckoutcone splitindex sshcommand symlinks trustctime untrackedcache usereplacerefs warnambiguousrefs \
         whitespace worktree",
    ),
    ("credential", "*"),
    ("credentialcache", "*"),
    ("credentialstore", "*"),
    (
        "diff",
        "algorithm autorefreshindex binary cachetextconv colormoved colormovedws command context dirstat dstprefix \
         external funcname guitool ignoresubmodules indentheuristic interhunkcontext mnemonicprefix noprefix orderfile \
         relative renamelimit renames srcprefix statgraphwidth statnamewidth suppressblankempty textconv tool \
         trustexitcode wordregex wserrorhighlight xfuncname",
    ),
    ("difftool", "*"),
    (
        "extensions",
        "compatobjectformat noop objectformat partialclone preciousobjects refstorage relativeworktrees worktreeconfig",
    ),
    ("fastimport", "*"),
    ("feature", "experimental manyfiles"),
    (
        "fetch",
        "all bundlecreationtoken bundleuri fsckobjects negotiationalgorithm output parallel prune prunetags \
         recursesubmodules showforcedupdates unpacklimit writecommitgraph",
    ),
    ("fetch", CHECKS),
    ("filter", "*"),
    ("format", "*"),
    ("fsck", CHECKS),
    ("fsmonitor", "*"),
    ("gc", "*"),
    ("gpg", "defaultkeycommand format mintrustlevel program"),
    ("grep", "*"),
    ("help", "*"),
    ("http", "*"),
    ("https", "*"),
    ("i18n", "*"),
    ("include", "path"),
    ("includeif", "path"),
    ("index", "recordendofindexentries recordoffsettable skiphash sparse threads version"),
    ("init", "defaultbranch defaultobjectformat defaultrefformat templatedir"),
    ("instaweb", "*"),
    ("interactive", "difffilter singlekey"),
    ("lfs", "*"),
    (
        "log",
        "abbrevcommit date decorate diffmerges excludedecoration graphcolors initialdecorationset mailmap showroot \
         showsignature",
    ),
    ("lsrefs", "unborn"),
    ("mailinfo", "scissors"),
    ("maintenance", "*"),
    ("man", "*"),
    (
        "merge",
        "autostash branchdesc conflictstyle defaulttoupstream directoryrenames driver ff guitool log name recursive \
         renamelimit renames renormalize stat suppressdest tool verbosity verifysignatures",
    ),
    ("mergetool", "*"),
    ("notes", "mergestrategy rewrite rewritemode"),
    ("pack", "*"),
    ("pager", "*"),
    ("pretty", "*"),
    ("promisor", "quiet"),
    ("protocol", "*"),
    ("pull", "ff rebase"),
    (
        "push",
        "autosetupremote default followtags gpgsign negotiate pushoption recursesubmodules usebitmaps useforceifincludes",
    ),
    (
        "rebase",
        "abbreviatecommands autosquash autostash forkpoint instructionformat maxlabellength missingcommitscheck \
         rebasemerges reschedulefailedexec stat updaterefs",
    ),
    ("receive", CHECKS),
    (
        "receive",
        "advertiseatomic advertisepushoptions autogc certnonceseed certnonceslop denycurrentbranch denydeletecurrent \
         denydeletes denynonfastforwards fsckobjects keepalive maxinputsize shallowupdate unpacklimit updateserverinfo",
    ),
    ("reftable", "*"),
    ("remote", "*"),
    ("remotes", "*"),
    ("repack", "*"),
    ("rerere", "*"),
    ("revert", "reference"),
    ("safe", "*"),
    ("sendemail", "*"),
    ("sequence", "editor"),
    ("showbranch", "default"),
    ("sparse", "expectfilesoutsideofpatterns"),
    ("splitindex", "*"),
    ("ssh", "*"),
    ("stash", "showincludeuntracked showpatch showstat"),
    (
        "status",
        "aheadbehind branch displaycommentprefix relativepaths renamelimit renames short showstash showuntrackedfiles \
         submodulesummary",
    ),
    ("submodule", "*"),
    ("tag", "forcesignannotated gpgsign sort"),
    ("tar", "umask"),
    (
        "transfer",
        "advertiseobjectinfo advertisesid bundleuri credentialsinurl fsckobjects hiderefs unpacklimit",
    ),
    ("url", "*"),
    ("user", "*"),
    ("versionsort", "*"),
    ("web", "browser"),
    ("worktree", "guessremote userelativepaths"),
    // Those of other programs, which git does not read.
    ("absorb", "*"),
    ("bash", "*"),
    ("delta", "*"),
    ("diff-so-fancy", "*"),
    ("difftastic", "*"),
    ("flow", "*"),
    ("forge", "*"),
    ("ghq", "*"),
    ("git-p4", "*"),
    ("git-town", "*"),
    ("gitbutler", "*"),
    ("gitflow", "*"),
    ("github", "*"),
    ("gitlab", "*"),
    ("gitreview", "*"),
    ("gui", "*"),
    ("guitool", "*"),
    ("hub", "*"),
    ("machete", "*"),
    ("magit", "*"),
    ("magithub", "*"),
    ("oh-my-zsh", "*"),
    ("scalar", "*"),
    ("stgit", "*"),
    ("svn", "*"),
    ("svn-remote", "*"),
    ("tig", "*"),
];
