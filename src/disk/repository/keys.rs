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

/// Keys that do not matter to git's `status`, `diff`, `log`, `show`, `branch` and `worktree add`, or only to how they
/// look: section and keys, `*` for all of them. What stands in quotes behind a section's name is not compared.
const HARMLESS: &[(&str, &str)] = &[
    ("advice", "*"),
    ("alias", "*"),
    ("apply", "*"),
    ("blame", "*"),
    ("branch", "*"),
    ("checkout", "*"),
    ("clean", "*"),
    ("color", "*"),
    ("column", "*"),
    ("commit", "*"),
    (
        "core",
        "abbrev autocrlf bare bigfilethreshold checkstat commentchar compression deltabasecachelimit editor eol \
         filemode fscache fsmonitor fsync fsyncmethod fsyncobjectfiles hidedotfiles ignorecase ignorestat \
         logallrefupdates longpaths loosecompression multipackindex packedgitlimit packedgitwindowsize precomposeunicode \
         preloadindex protecthfs protectntfs quotepath repositoryformatversion safecrlf sharedrepository sparsecheckout \
         sparsecheckoutcone symlinks trustctime untrackedcache warnambiguousrefs whitespace",
    ),
    (
        "diff",
        "algorithm binary colormoved colormovedws context dirstat funcname guitool ignoresubmodules \
         indentheuristic interhunkcontext mnemonicprefix noprefix relative renamelimit renames statgraphwidth \
         suppressblankempty tool wordregex wserrorhighlight xfuncname",
    ),
    (
        "extensions",
        "compatobjectformat noop objectformat preciousobjects refstorage relativeworktrees worktreeconfig",
    ),
    ("feature", "*"),
    ("fetch", "*"),
    (
        "gc",
        "aggressivedepth aggressivewindow auto autodetach autopacklimit bigpackthreshold cruftpacks logexpiry maxcruftsize \
         packrefs pruneexpire reflogexpire reflogexpireunreachable rerereresolved rerereunresolved worktreepruneexpire \
         writecommitgraph",
    ),
    ("gitflow", "*"),
    ("github", "*"),
    ("gpg", "format"),
    ("gui", "*"),
    ("i18n", "*"),
    ("index", "threads version sparse recordendofindexentries recordoffsettable skiphash"),
    ("init", "*"),
    ("lfs", "repositoryformatversion url access locksverify"),
    (
        "log",
        "abbrevcommit date decorate diffmerges excludedecoration follow initialdecorationset mailmap showroot",
    ),
    ("maintenance", "auto autodetach batchsize enabled schedule splitfactor strategy"),
    ("merge", "conflictstyle ff log renamelimit renames stat tool verbosity"),
    ("pack", "*"),
    ("pull", "*"),
    ("push", "*"),
    ("rebase", "*"),
    ("receive", "*"),
    (
        "remote",
        "fetch gh-resolved mirror prune prunetags push pushdefault pushurl skipdefaultupdate tagopt url",
    ),
    ("rerere", "*"),
    ("stash", "*"),
    (
        "status",
        "aheadbehind branch displaycommentprefix relativepaths renames short showstash showuntrackedfiles",
    ),
    (
        "submodule",
        "active alternateerrorstrategy branch fetchjobs fetchrecursesubmodules ignore propagatebranches recurse update url",
    ),
    ("tag", "*"),
    ("transfer", "*"),
    ("user", "*"),
    ("versionsort", "*"),
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
