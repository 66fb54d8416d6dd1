//! Names of files that decide what runs.

use super::place::{Protection, ProtectionReason, fold};

/// Names that a suggested rule never covers along with a whole folder: keys and startup files.
const SENSITIVE: &[&str] = &[
    ".agents",
    ".aws",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".caliban",
    ".claude",
    ".docker",
    ".git",
    ".gitconfig",
    ".gitmodules",
    ".gnupg",
    ".husky",
    ".idea",
    ".kube",
    ".mcp.json",
    ".netrc",
    ".npmrc",
    ".profile",
    ".pypirc",
    ".ssh",
    ".vscode",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// Dot files that hold only data: they name no program, no plugin and no file to load. Names that
/// end with `ignore` or `keep` are such files too.
const DATA: &[&str] = &[
    ".clippy.toml",
    ".editorconfig",
    ".git-blame-ignore-revs",
    ".mailmap",
    ".nojekyll",
    ".rustfmt.toml",
];

/// Endings of an `.env` file that is an example.
const EXAMPLES: &[&str] = &["dist", "example", "sample", "template"];

/// Folders below `.github` that hold texts for people.
const TEMPLATES: &[&str] = &["discussion_template", "issue_template", "pull_request_template"];

/// Files without a dot that a program runs, or takes commands from, because they exist.
const AUTOMATION: &[&str] = &[
    // Git hooks.
    "captainhook.config.json captainhook.json monk.yaml whisky.json",
    "grumphp.dist.yaml grumphp.dist.yml grumphp.yaml grumphp.yaml.dist grumphp.yml grumphp.yml.dist",
    "cog.toml hk.json hk.local.pkl hk.pkl hk.toml hk.yaml hk.yml prek.toml",
    "nano-staged.cjs nano-staged.js nano-staged.json nano-staged.mjs pnpmfile.cjs",
    "simple-git-hooks.cjs simple-git-hooks.js simple-git-hooks.json simple-git-hooks.mjs",
    // Versions and variables that a shell adopts on entering the folder, and toolchains that may be
    // a folder of the project.
    "default.nix global.json guix.scm lean-toolchain manifest.scm replit.nix rust-toolchain rust-toolchain.toml",
    "aftman.toml aqua.yaml aqua.yml foreman.toml rokit.toml activate-hermit hermit.hcl",
    "devbox.json devbox.lock devenv.local.nix devenv.local.yaml devenv.lock devenv.nix devenv.yaml flake.lock flake.nix",
    "pixi.toml pkgx.yaml pkgx.yml shell.nix",
    // Build servers.
    "appveyor.yml bitbucket-pipelines.yml bitrise.yaml bitrise.yml buddy.yml",
    "buildkite.json buildkite.yaml buildkite.yml buildspec.yaml buildspec.yml",
    "ci_post_clone.sh ci_post_xcodebuild.sh ci_pre_xcodebuild.sh circle.yml cirrus.star",
    "cloudbuild.json cloudbuild.yaml cloudbuild.yml codefresh.yml codemagic.yaml",
    "codeship-services.yml codeship-steps.yml jenkins-x.yml jitpack.yml readthedocs.yaml readthedocs.yml",
    "screwdriver.yaml semaphore.yml shippable.yml wercker.yml zuul.yaml",
    // Hosts that build and start pushed code.
    "amplify.yml app.json app.yaml app.yml apphosting.yaml apprunner.yaml appspec.yaml appspec.yml azure.yaml azure.yml",
    "captain-definition firebase.json fly.toml heroku.yml netlify.toml serverless.yaml serverless.yml",
    "nixpacks.toml now.json railway.json railway.toml render.yaml vercel.json vercel.ts",
    "wrangler.json wrangler.jsonc wrangler.toml",
    // Workspaces, and agents that start servers.
    "codebuff.json conductor.json crush.json devfile.yaml devfile.yml opencode.json opencode.jsonc",
];

/// The same, by prefix.
const AUTOMATION_STARTS: &[&str] = &[
    "azure-pipelines",
    "commitlint.config.",
    "dangerfile",
    "husky.config.",
    "jenkinsfile",
    "lefthook",
    "lint-staged.config.",
    "mise.",
    "procfile",
];

/// The same, by suffix.
const AUTOMATION_ENDS: &[&str] =
    &[".code-workspace", ".gocd.yaml", ".gocd.yml", ".sublime-project", ".sublime-workspace"];

/// The same for all files in a folder.
const AUTOMATION_FOLDERS: &[&str] =
    &["azure-pipelines", "bamboo-specs", "buildkite", "git-hooks", "mise-tasks", "zuul.d"];

/// Whether this name on the path to a file keeps a rule for a whole folder from being suggested.
pub fn is_protected_name(name: &str) -> bool {
    SENSITIVE.contains(&fold(name).as_str())
}

/// Why a file is protected by its name. `parts` are the folded names from the working directory on.
pub(super) fn protection(parts: &[String]) -> Option<Protection> {
    let dot = (0..parts.len()).find(|at| parts[*at].starts_with('.') && !is_data(&parts[*at..]));
    if let Some(at) = dot {
        return Some(Protection { name: parts[at].clone(), reason: ProtectionReason::DotName });
    }
    let (last, folders) = parts.split_last()?;
    let folder = folders.iter().find(|name| AUTOMATION_FOLDERS.contains(&name.as_str()));
    let is_file = || is_automation(last) || is_of_mise(parts);
    let name = folder.or_else(|| is_file().then_some(last))?;
    Some(Protection { name: name.clone(), reason: ProtectionReason::Automation })
}

/// Whether the version manager reads the file as its settings or a task, kept in a folder instead of `mise.toml`.
fn is_of_mise(parts: &[String]) -> bool {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let is_task = |folders: &[&str]| folders.windows(2).any(|two| two == ["mise", "tasks"]);
    match parts.as_slice() {
        [.., "mise", name] => name.starts_with("config.") && name.ends_with(".toml"),
        [.., "mise", "conf.d", name] => name.ends_with(".toml"),
        [folders @ .., _] => is_task(folders),
        [] => false,
    }
}

/// Whether a path that begins with a dot name leads only to data.
pub(super) fn is_data(parts: &[String]) -> bool {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [name] => is_data_file(name),
        [".github" | ".changeset", file] => file.ends_with(".md"),
        [".github", folder, _] => TEMPLATES.contains(folder),
        // Files that a web server serves.
        [".well-known", ..] => true,
        _ => false,
    }
}

fn is_data_file(name: &str) -> bool {
    let is_list = |ending: &str| {
        let start = name.strip_prefix('.').and_then(|name| name.strip_suffix(ending));
        start.is_some_and(|start| start.chars().all(|c| c.is_ascii_alphanumeric()))
    };
    let is_example = || name.strip_prefix(".env.").is_some_and(|end| EXAMPLES.contains(&end));
    DATA.contains(&name) || is_list("ignore") || is_list("keep") || is_example()
}

fn is_automation(name: &str) -> bool {
    AUTOMATION.iter().any(|names| names.split(' ').any(|known| known == name))
        || AUTOMATION_STARTS.iter().any(|start| name.starts_with(start))
        || AUTOMATION_ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The texts in code quotes, in order.
    fn code(text: &str) -> impl Iterator<Item = &str> {
        text.split('`').skip(1).step_by(2)
    }

    /// The part of a text between two others.
    fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
        let (_, rest) = text.split_once(start).unwrap();
        rest.split_once(end).unwrap().0
    }

    /// All names of a table whose rows hold several, each once.
    fn names(table: &[&'static str]) -> BTreeSet<String> {
        table.iter().flat_map(|row| row.split_whitespace()).map(str::to_owned).collect()
    }

    const RULES: &str = include_str!("../../../docs/rules.md");

    #[test]
    fn the_documentation_names_the_dot_files_that_hold_data() {
        let list = between(RULES, "**By name, dot files:**", "**By name, without a dot:**");
        let rows: Vec<&str> = list.split("\n- ").collect();
        let listed: BTreeSet<String> = code(rows[1]).map(str::to_owned).collect();
        assert_eq!(listed, names(DATA));
        let examples: BTreeSet<String> =
            EXAMPLES.iter().map(|ending| format!(".env.{ending}")).collect();
        assert_eq!(code(rows[3]).map(str::to_owned).collect::<BTreeSet<_>>(), examples);
        let templates: BTreeSet<String> =
            code(rows[4]).map(fold).filter(|name| !name.starts_with('.')).collect();
        assert_eq!(templates, names(TEMPLATES));
    }

    #[test]
    fn the_documentation_names_the_files_from_which_tools_take_commands() {
        let list = between(RULES, "**By name, without a dot:**", "The project's own programs");
        // Written as two names with four endings.
        let (stems, endings) =
            (["nano-staged", "simple-git-hooks"], [".cjs", ".js", ".json", ".mjs"]);
        let is_part = |name: &str| stems.contains(&name) || endings.contains(&name);
        // The places of mise are patterns, of which the last has a name like the others.
        let listed = code(list).filter(|name| !is_part(name) && !name.contains('/'));
        let mut listed: BTreeSet<String> = listed.map(str::to_owned).collect();
        listed
            .extend(stems.iter().flat_map(|stem| endings.map(|ending| format!("{stem}{ending}"))));
        let tables = [AUTOMATION, AUTOMATION_STARTS, AUTOMATION_ENDS, AUTOMATION_FOLDERS];
        let known: BTreeSet<String> = tables.into_iter().flat_map(names).collect();
        assert_eq!(listed, known);
    }
}
