//! Programs with sub-commands or targets, and the options that may precede them.

use super::script::Word;

/// A program with sub-commands, and the options that may precede them.
pub struct Program {
    /// Its names, separated by blanks.
    names: &'static str,
    /// Options that may precede the sub-command. A trailing `=` marks one that takes a value, a
    /// leading `!` one that can change what the program runs, or for whom.
    options: &'static str,
    /// Other names of its sub-commands: `name:other,other`.
    aliases: &'static str,
}

const NPM: &str = "exec:x install:i,in,ins,inst,insta,instal,isnt,isnta,isntal,add run:run-script,rum,urn \
    test:t,tst uninstall:un,unlink,remove,rm,r update:up,upgrade,udpate unpublish:unpub";

const PROGRAMS: &[Program] = &[
    Program {
        names: "git",
        options: "!-C= !-c= !--git-dir= !--work-tree= !--namespace= !--exec-path !--config-env= \
            !--attr-source= !--super-prefix= !--list-cmds= !-p !--paginate !--bare -P --no-pager \
            --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice --literal-pathspecs \
            --glob-pathspecs --noglob-pathspecs --icase-pathspecs",
        aliases: "add:stage init:init-db",
    },
    Program {
        names: "npm npx",
        options: "!--prefix= !-C= !--registry= !--userconfig= !--globalconfig= !--script-shell= \
            !--node-options= !--cache= --loglevel= -w= --workspace= --tag= --otp= --workspaces -ws -g \
            --global --silent -s -q -d --verbose --json --yes -y --no-audit --no-fund --offline \
            --prefer-offline --dry-run --force -f --ignore-scripts --if-present --no-color --color",
        aliases: NPM,
    },
    Program {
        names: "pnpm",
        options: "!-C= !--dir= !--registry= !--config.script-shell= -F= --filter= --loglevel= --reporter= \
            -r --recursive -w --workspace-root -s --silent --color --no-color --aggregate-output \
            --use-stderr --stream --parallel",
        aliases: NPM,
    },
    Program {
        names: "yarn",
        options: "!--cwd= !--use-yarnrc= !--registry= !--modules-folder= --silent -s --json --verbose \
            --offline --non-interactive --prefer-offline",
        aliases: NPM,
    },
    Program {
        names: "bun",
        options: "!--cwd= !-c= !--config= !--env-file= !-r= !--preload= -F= --filter= --silent --bun -b",
        aliases: NPM,
    },
    Program {
        names: "cargo",
        options: "!--config= !-Z= !-C= --color= --explain= -q --quiet --verbose -vv --frozen --locked \
            --offline --list",
        aliases: "build:b check:c doc:d run:r test:t remove:rm",
    },
    Program { names: "rustup", options: "-q --quiet --verbose", aliases: "install:update" },
    Program {
        names: "docker podman",
        options: "!--config= !-H= !--host= !--connection= !--url= !--identity= !--root= !--runroot= \
            !--runtime= !--conmon= !--hooks-dir= !--tlscacert= !--tlscert= !--tlskey= !-c= !--context= \
            --log-level= -l= --cgroup-manager= --storage-driver= --storage-opt= --tmpdir= -D --debug \
            --tls --tlsverify -r --remote",
        aliases: "",
    },
    Program {
        names: "kubectl oc",
        options: "!--kubeconfig= !-s= !--server= !--token= !--certificate-authority= \
            !--client-certificate= !--client-key= !--cache-dir= !--log-file= !--profile-output= \
            -n= --namespace= --context= --cluster= --user= --as= --as-group= --as-uid= --request-timeout= \
            --tls-server-name= --username= --password= --v= -v= --vmodule= --profile= \
            --insecure-skip-tls-verify --match-server-version --warnings-as-errors --logtostderr",
        aliases: "",
    },
    Program {
        names: "helm",
        options: "!--kubeconfig= !--registry-config= !--repository-cache= !--repository-config= \
            !--kube-apiserver= !--kube-token= !--kube-ca-file= -n= --namespace= --kube-context= \
            --kube-as-user= --kube-as-group= --burst-limit= --qps= --debug",
        aliases: "install:i upgrade:up uninstall:del,delete,un list:ls",
    },
    Program { names: "gh glab", options: "-R= --repo= --hostname= -g= --group=", aliases: "" },
    Program {
        names: "aws",
        options: "!--endpoint-url= !--ca-bundle= --profile= --region= --output= --query= --color= \
            --cli-read-timeout= --cli-connect-timeout= --cli-binary-format= --debug --no-verify-ssl \
            --no-paginate --no-sign-request --no-cli-pager --no-cli-auto-prompt --cli-auto-prompt",
        aliases: "",
    },
    Program {
        names: "gcloud",
        options: "!--flags-file= !--access-token-file= --project= --account= --configuration= --format= \
            --verbosity= --billing-project= --impersonate-service-account= --flatten= --trace-token= \
            --user-output-enabled --log-http --quiet -q alpha beta preview",
        aliases: "",
    },
    Program {
        names: "az",
        options: "--subscription= -o= --output= --query= --only-show-errors --verbose --debug",
        aliases: "",
    },
    Program { names: "terraform tofu", options: "!-chdir=", aliases: "" },
    Program { names: "go", options: "!-C=", aliases: "" },
    Program {
        names: "pip pip3 pipx",
        options: "!--python= !--proxy= !--cert= !--client-cert= !--log= !--trusted-host= --cache-dir= \
            --timeout= --retries= --exists-action= --use-feature= --use-deprecated= --keyring-provider= \
            --no-input --isolated --require-virtualenv --disable-pip-version-check --no-color \
            --no-cache-dir --debug -q -qq --quiet --verbose",
        aliases: "",
    },
    Program {
        names: "uv poetry",
        options: "!--directory= !--project= !--config-file= !-C= !-P= !--cache-dir= --python= -p= --color= \
            --offline -q --quiet --verbose --no-cache -n --no-config --native-tls --no-progress \
            --no-interaction --no-plugins --no-ansi --ansi",
        aliases: "",
    },
    Program {
        names: "systemctl journalctl loginctl",
        options: "!-H= !--host= !-M= !--machine= !--root= !--image= -t= --type= --state= -p= --property= -n= \
            --lines= -o= --output= -s= --signal= --job-mode= --user --system --global --no-pager \
            --no-block --now -q --quiet -f --force -a --all -l --full --no-legend --no-ask-password \
            --failed -r --plain --runtime",
        aliases: "",
    },
    Program {
        names: "apt apt-get aptitude dnf yum",
        options: "!-o= !--option= !-c= !--config-file= !--installroot= -t= --target-release= \
            --host-architecture= -y --yes --assume-yes -q -qq --quiet -s --simulate --dry-run \
            --no-install-recommends -f --fix-broken -m --fix-missing -d --download-only -u \
            --allow-downgrades --purge --reinstall --only-upgrade --no-upgrade",
        aliases: "",
    },
    Program { names: "brew", options: "-d -q --verbose --debug --quiet --force -f", aliases: "" },
    Program {
        names: "composer",
        options: "!-d= !--working-dir= -n -q --no-interaction --quiet --no-plugins --no-scripts --ansi \
            --no-ansi",
        aliases: "",
    },
    Program {
        names: "make gmake just mvn mvnw gradle gradlew",
        options: "!-f= !-C= !--file= !--makefile= !--directory= !-I= !--include-dir= !-E= !--eval= !-o= !-W= \
            !-d= !--justfile= !--working-directory= !-s= !--settings= !-gs= !-t= !-p= !--project-dir= !-b= \
            !--build-file= !-c= !--settings-file= !--init-script= -pl= --projects= -P= -T= --threads= \
            -j= --jobs= -k -B -n -i -w -q -e -X -U -am -amd -N -S",
        aliases: "",
    },
];

/// Options that every such program has.
const COMMON: &str = "-h --help -V --version -v";

/// Commands that come with git: any other sub-command is an alias or the user's own program. Those
/// that newer versions let an alias replace are omitted.
const GIT_COMMANDS: &str = "add am annotate apply archimport archive bisect blame branch bugreport bundle cat-file \
    check-attr check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone \
    column commit commit-graph commit-tree config count-objects credential credential-cache credential-store \
    cvsexportcommit cvsimport cvsserver daemon describe diagnose diff diff-files diff-index diff-pairs diff-tree \
    difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo \
    format-patch fsck fsck-objects gc get-tar-commit-id grep gui hash-object help hook http-backend http-fetch \
    http-push imap-send index-pack init init-db instaweb interpret-trailers last-modified lfs log ls-files ls-remote \
    ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-octopus merge-one-file \
    merge-ours merge-recursive merge-resolve merge-subtree merge-tree mergetool mktag mktree multi-pack-index mv \
    name-rev notes p4 pack-objects pack-refs patch-id prune prune-packed pull push quiltimport range-diff read-tree \
    rebase receive-pack reflog refs remote repack replace replay repo request-pull rerere reset restore rev-list \
    rev-parse revert rm send-email send-pack shell shortlog show show-branch show-index show-ref sparse-checkout \
    stage stash status stripspace submodule svn switch symbolic-ref tag unpack-file unpack-objects update-index \
    update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag version \
    worktree write-tree";

/// An option before the sub-command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalOption {
    /// How many words it takes, including itself.
    pub words: usize,
    /// It changes neither what runs nor for whom.
    pub harmless: bool,
}

/// Programs whose first two non-option words are both names of sub-commands.
const TWO_LEVELS: &[&str] =
    &["aws", "az", "gcloud", "gh", "glab", "docker", "podman", "kubectl", "oc", "helm"];

impl Program {
    /// The known program of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = base_name(name);
        PROGRAMS.iter().find(|program| program.names.split_whitespace().any(|own| own == name))
    }

    /// Parses a word before the sub-command; `None` if it is unknown or no option.
    pub fn global_option(&self, word: &str) -> Option<GlobalOption> {
        if let Some(toolchain) = word.strip_prefix('+')
            && self.names.split_whitespace().any(|name| matches!(name, "cargo" | "rustup"))
        {
            return Some(GlobalOption { words: 1, harmless: !toolchain.contains('/') });
        }
        let known = self.options.split_whitespace().chain(COMMON.split_whitespace());
        let mut known = known.filter_map(|entry| {
            let harmless = !entry.starts_with('!');
            let entry = entry.trim_start_matches('!');
            let (name, takes) = entry.strip_suffix('=').map_or((entry, false), |name| (name, true));
            let attached = word.strip_prefix(name).is_some_and(|rest| {
                rest.starts_with('=') || takes && name.len() == 2 && !rest.is_empty()
            });
            match word == name {
                true => Some(GlobalOption { words: 1 + usize::from(takes), harmless }),
                false => attached.then_some(GlobalOption { words: 1, harmless }),
            }
        });
        known.next().or_else(|| {
            // An option with a joined value takes no other word.
            let whole = word.starts_with("--") && word.contains('=');
            whole.then_some(GlobalOption { words: 1, harmless: false })
        })
    }

    /// Splits a flag of npm or pnpm from what follows its `=`, which these read as the next word.
    pub fn split_flag<'w>(&self, word: &'w str) -> Option<(&'w str, &'w str)> {
        let is_own = self.names.split_whitespace().any(|name| matches!(name, "npm" | "pnpm"));
        let (flag, value) = word.split_once('=').filter(|_| is_own && word.starts_with('-'))?;
        let takes_value = |entry: &str| {
            entry.trim_start_matches('!').strip_suffix('=').is_some_and(|name| name == flag)
        };
        let is_flag = !self.options.split_whitespace().any(takes_value);
        (is_flag && !matches!(value, "true" | "false")).then_some((flag, value))
    }

    /// The sub-command's main name.
    pub fn main_name<'a>(&self, sub_command: &'a str) -> &'a str {
        let groups = self.aliases.split_whitespace().filter_map(|group| group.split_once(':'));
        let mut groups =
            groups.filter(|(_, others)| others.split(',').any(|other| other == sub_command));
        groups.next().map_or(sub_command, |(name, _)| name)
    }

    /// Whether there is a sub-command, so that options before it have their own meaning.
    pub fn has_sub_commands(&self) -> bool {
        !self.names.starts_with("make")
    }
}

/// The program's name without its folder.
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Commands of git that take what is behind `--` for paths or names. Others may hand it to another
/// command of git, without the mark.
const ENDED_BY_MARK: &str = "add branch checkout clean clone commit diff difftool fetch grep log ls-files ls-tree mv \
    push reset restore rev-list rm show shortlog stage status switch tag whatchanged";

/// Whether `--` ends the options of git's command with these words, the first of which is its name.
pub fn mark_ends_git_options(words: &[&str]) -> bool {
    match words {
        ["stash", next, ..] => *next == "push",
        [name, ..] => ENDED_BY_MARK.split_whitespace().any(|known| known == *name),
        [] => false,
    }
}

/// Whether git itself has this command.
pub fn is_git_command(name: &str) -> bool {
    GIT_COMMANDS.split_whitespace().any(|command| command == name)
}

/// The position of the first word that is no option of the program.
pub fn sub_command(words: &[Word]) -> usize {
    let known = words.first().and_then(|word| Program::named(&word.text));
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with(['-', '+'])) {
        let option = known.and_then(|known| known.global_option(&word.text));
        at += option.map_or(1, |option| option.words);
    }
    at
}

/// Whether the word at `place` is the name of a sub-command rather than of a program.
pub fn is_sub_command(words: &[Word], place: usize) -> bool {
    let Some(first) = words.first() else { return false };
    // The first argument of npx and the like is a program; the others run what they have no command for.
    let is_runner =
        matches!(base_name(&first.text), "npx" | "bunx" | "uvx" | "pipx" | "pnpm" | "yarn" | "bun");
    if is_runner || !Program::named(&first.text).is_some_and(Program::has_sub_commands) {
        return false;
    }
    let at = sub_command(words);
    let runs = |word: &Word| matches!(word.text.as_str(), "exec" | "run" | "debug" | "x" | "dlx");
    place == at
        || place == at + 1
            && TWO_LEVELS.contains(&base_name(&first.text))
            && !words.get(at).is_some_and(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_before_a_sub_command_are_known_with_their_values() {
        for (program, word, expected) in [
            ("kubectl", "-n", Some((2, true))),
            ("kubectl", "-nprod", Some((1, true))),
            ("kubectl", "--namespace=prod", Some((1, true))),
            ("kubectl", "--kubeconfig", Some((2, false))),
            ("/usr/bin/git", "--no-pager", Some((1, true))),
            ("git", "-c", Some((2, false))),
            ("cargo", "+nightly", Some((1, true))),
            ("cargo", "+/tmp/x", Some((1, false))),
            ("npm", "--anything=x", Some((1, false))),
            ("npm", "--anything", None),
            ("terraform", "-chdir=.", Some((1, false))),
            ("gh", "pr", None),
        ] {
            let option = Program::named(program).unwrap().global_option(word);
            let found = option.map(|option| (option.words, option.harmless));
            assert_eq!(found, expected, "{program} {word}");
        }
        assert_eq!(Program::named("npm").unwrap().main_name("run-script"), "run");
        assert!(is_git_command("stash") && !is_git_command("p"));
    }
}
