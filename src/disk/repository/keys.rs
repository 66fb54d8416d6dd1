//! The effects that known settings of a repository can have on a git command that reads or checks out.

/// The effect of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingEffect {
    /// None, or only on the appearance of output.
    Nothing,
    /// It changes how git fetches, which a read-only command does not do by itself.
    Fetch,
    /// It names a program for a fetch.
    FetchProgram,
    /// It makes the repository a partial clone: git fetches missing objects on demand.
    Partial,
}

/// Returns the effect of a setting, by its section and key in lower case; `None` if unknown.
pub fn effect(section: &str, key: &str) -> Option<SettingEffect> {
    let tables = [
        (PARTIAL_KEYS, SettingEffect::Partial),
        (FETCH_PROGRAM_KEYS, SettingEffect::FetchProgram),
        (FETCH_KEYS, SettingEffect::Fetch),
        (INERT_KEYS, SettingEffect::Nothing),
        (HARMLESS_KEYS, SettingEffect::Nothing),
    ];
    tables.into_iter().find(|(table, _)| is_in(table, section, key)).map(|(_, effect)| effect)
}

fn is_in(table: &[(&str, &str)], section: &str, key: &str) -> bool {
    table
        .iter()
        .filter(|(name, _)| *name == section)
        .flat_map(|(_, keys)| keys.split_whitespace())
        .any(|known| known == "*" || known == key)
}

/// Whether the setting's name cannot make any git command start a program or work on another
/// repository; its value, which [`Settings`](super::settings::Settings) checks, still can.
pub fn is_inert(section: &str, key: &str) -> bool {
    is_in(INERT_KEYS, section, key)
}

/// Fields to sort branches and tags by, whose values git computes itself.
const SORT_FIELDS: [&str; 16] = [
    "HEAD",
    "authordate",
    "authoremail",
    "authorname",
    "committerdate",
    "committeremail",
    "committername",
    "creator",
    "creatordate",
    "objectname",
    "objectsize",
    "refname",
    "subject",
    "taggerdate",
    "taggername",
    "worktreepath",
];

/// Whether the value of `branch.sort` or `tag.sort` sorts by a field of [`SORT_FIELDS`].
pub fn is_sort_key(value: &str) -> bool {
    let field = value.strip_prefix('-').unwrap_or(value);
    let field =
        field.strip_prefix("version:").or_else(|| field.strip_prefix("v:")).unwrap_or(field);
    let (field, form) = field.split_once(':').unwrap_or((field, ""));
    SORT_FIELDS.contains(&field) && form.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Keys that affect no git command, or only its performance and appearance: section and keys, `*`
/// for all. The quoted subsection is ignored.
const INERT_KEYS: &[(&str, &str)] = &[
    ("advice", "*"),
    (
        "branch",
        "autosetupmerge autosetuprebase description merge pushremote rebase remote sort vscode-merge-base",
    ),
    ("checkout", "defaultremote guess thresholdforparallelism workers"),
    ("color", "*"),
    ("column", "*"),
    ("commit", "cleanup gpgsign status verbose"),
    (
        "core",
        "abbrev autocrlf bare bigfilethreshold checkstat commentchar compression deltabasecachelimit eol \
         filemode fscache fsmonitor fsync fsyncmethod fsyncobjectfiles hidedotfiles hookspath ignorecase ignorestat \
         logallrefupdates longpaths loosecompression multipackindex packedgitlimit packedgitwindowsize precomposeunicode \
         preloadindex quotepath repositoryformatversion safecrlf sharedrepository sparsecheckout \
         sparsecheckoutcone symlinks trustctime untrackedcache warnambiguousrefs whitespace worktree",
    ),
    ("credential", "usehttppath username"),
    (
        "diff",
        "algorithm binary colormoved colormovedws context dirstat ignoresubmodules \
         indentheuristic interhunkcontext mnemonicprefix noprefix relative renamelimit renames statgraphwidth \
         suppressblankempty wordregex wserrorhighlight",
    ),
    (
        "extensions",
        "compatobjectformat noop objectformat partialclone preciousobjects refstorage relativeworktrees worktreeconfig",
    ),
    ("feature", "experimental manyfiles"),
    (
        "fetch",
        "fsckobjects output parallel prune prunetags recursesubmodules showforcedupdates writecommitgraph",
    ),
    (
        "gc",
        "aggressivedepth aggressivewindow auto autodetach autopacklimit bigpackthreshold cruftpacks logexpiry maxcruftsize \
         packrefs pruneexpire reflogexpire reflogexpireunreachable rerereresolved rerereunresolved worktreepruneexpire \
         writecommitgraph",
    ),
    ("github", "user"),
    ("http", "extraheader lowspeedlimit lowspeedtime postbuffer version"),
    ("i18n", "*"),
    ("index", "threads version sparse recordendofindexentries recordoffsettable skiphash"),
    ("lfs", "repositoryformatversion access locksverify"),
    (
        "log",
        "abbrevcommit date decorate diffmerges excludedecoration follow initialdecorationset showroot",
    ),
    ("maintenance", "auto autodetach batchsize enabled schedule splitfactor strategy"),
    ("merge", "conflictstyle ff log renamelimit renames stat verbosity"),
    ("pull", "ff rebase"),
    ("push", "autosetupremote default followtags gpgsign negotiate useforceifincludes"),
    (
        "rebase",
        "abbreviatecommands autosquash autostash backend forkpoint missingcommitscheck stat updaterefs",
    ),
    (
        "remote",
        "fetch gh-resolved mirror partialclonefilter promisor prune prunetags push pushdefault pushurl skipdefaultupdate \
         skipfetchall tagopt url",
    ),
    ("rerere", "*"),
    ("stash", "showincludeuntracked showpatch showstat"),
    (
        "status",
        "aheadbehind branch displaycommentprefix relativepaths renames short showstash showuntrackedfiles",
    ),
    (
        "submodule",
        "active alternateerrorstrategy branch fetchjobs fetchrecursesubmodules ignore propagatebranches recurse update url",
    ),
    ("tag", "forcesignannotated gpgsign sort"),
    ("user", "email name useconfigonly"),
    ("versionsort", "*"),
    ("worktree", "guessremote userelativepaths"),
];

/// More keys that do not affect git's `status`, `diff`, `log`, `show`, `branch` and `worktree add`,
/// or only their appearance. Other commands may start what they name.
const HARMLESS_KEYS: &[(&str, &str)] = &[
    ("alias", "*"),
    ("apply", "*"),
    ("blame", "*"),
    ("branch", "*"),
    ("checkout", "*"),
    ("clean", "*"),
    ("commit", "*"),
    ("core", "editor protecthfs protectntfs"),
    ("diff", "funcname guitool tool xfuncname"),
    ("feature", "*"),
    ("fetch", "*"),
    ("gitflow", "*"),
    ("github", "*"),
    ("gpg", "format"),
    ("gui", "*"),
    ("init", "*"),
    ("lfs", "url"),
    ("log", "mailmap"),
    ("merge", "tool"),
    ("pack", "*"),
    ("pull", "*"),
    ("push", "*"),
    ("rebase", "*"),
    ("receive", "*"),
    ("stash", "*"),
    ("tag", "*"),
    ("transfer", "*"),
    ("user", "*"),
    ("worktree", "*"),
];

/// Keys that only affect fetching: harmless as long as nothing fetches by itself.
const FETCH_KEYS: &[(&str, &str)] = &[
    ("credential", "*"),
    ("fetch", "bundlecreationtoken bundleuri"),
    ("http", "*"),
    ("https", "*"),
    ("remote", "proxy proxyauthmethod"),
    ("ssh", "*"),
    ("url", "*"),
];

/// Keys that name a program for a fetch, or let an address name one.
const FETCH_PROGRAM_KEYS: &[(&str, &str)] = &[
    ("core", "askpass gitproxy sshcommand"),
    ("credential", "helper"),
    ("protocol", "*"),
    ("remote", "receivepack uploadpack"),
];

/// Keys of a partial clone.
const PARTIAL_KEYS: &[(&str, &str)] =
    &[("extensions", "partialclone"), ("remote", "partialclonefilter promisor")];
