//! What each known setting of a repository can do to a command of git that looks or checks out.

/// What a setting can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// Nothing, or it only changes how something looks.
    Nothing,
    /// It changes how git fetches, which a command that looks does not do by itself.
    Fetch,
    /// It names a program for a fetch.
    FetchProgram,
    /// It makes the repository a partial clone: git fetches what is missing as soon as something asks for it.
    Partial,
}

/// The effect of a setting, by its section and key in lower case; `None` for one that is not known.
pub fn effect(section: &str, key: &str) -> Option<Effect> {
    let tables = [
        (PARTIAL, Effect::Partial),
        (FETCH_PROGRAMS, Effect::FetchProgram),
        (FETCHING, Effect::Fetch),
        (INERT, Effect::Nothing),
        (HARMLESS, Effect::Nothing),
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

/// Whether no command of git can be made to start a program, or to work on another repository, by
/// the name of the setting: only by its value, which [`Settings`](super::settings::Settings) looks
/// at.
pub fn is_inert(section: &str, key: &str) -> bool {
    is_in(INERT, section, key)
}

/// Fields by which branches and tags are sorted, of which git knows the values itself.
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

/// Keys that matter to no command of git, or only to how it works and looks: section and keys, `*`
/// for all of them. What stands in quotes behind a section's name is not compared.
const INERT: &[(&str, &str)] = &[
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
    ("gpg", "format"),
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
    ("user", "*"),
    ("versionsort", "*"),
    ("worktree", "guessremote userelativepaths"),
];

/// Further keys that do not matter to git's `status`, `diff`, `log`, `show`, `branch` and `worktree
/// add`, or only to how they look. Other commands may start what they name.
const HARMLESS: &[(&str, &str)] = &[
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
    ("worktree", "*"),
];

/// Keys that only matter to fetching: harmless as long as nothing fetches by itself.
const FETCHING: &[(&str, &str)] = &[
    ("credential", "*"),
    ("fetch", "bundlecreationtoken bundleuri"),
    ("http", "*"),
    ("https", "*"),
    ("remote", "proxy proxyauthmethod"),
    ("ssh", "*"),
    ("url", "*"),
];

/// Keys that name a program for a fetch, or let an address name one.
const FETCH_PROGRAMS: &[(&str, &str)] = &[
    ("core", "askpass gitproxy sshcommand"),
    ("credential", "helper"),
    ("protocol", "*"),
    ("remote", "receivepack uploadpack"),
];

/// Keys of a partial clone.
const PARTIAL: &[(&str, &str)] =
    &[("extensions", "partialclone"), ("remote", "partialclonefilter promisor")];
