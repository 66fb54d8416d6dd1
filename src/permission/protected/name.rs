//! Names of files that decide what runs.

use super::{Protection, Reason, fold};

/// Names that a suggested rule never covers along with a whole folder: keys and start files.
const SENSITIVE: &[&str] = &[
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

/// Dot files that hold data alone: they name no program, no plugin and no file to load. Names that end with `ignore`
/// or `keep` are such files too.
const DATA: &[&str] = &[
    ".clippy.toml",
    ".editorconfig",
    ".git-blame-ignore-revs",
    ".mailmap",
    ".node-version",
    ".nojekyll",
    ".nvmrc",
    ".rustfmt.toml",
];

/// Endings of an `.env` file that is an example.
const EXAMPLES: &[&str] = &["dist", "example", "sample", "template"];

/// Folders below `.github` that hold texts for people.
const TEMPLATES: &[&str] = &["discussion_template", "issue_template", "pull_request_template"];

/// Files without a dot that a hook manager, a build server or a version manager runs because they are there.
const AUTOMATION: &[&str] = &[
    "appveyor.yml",
    "bitbucket-pipelines.yml",
    "buildspec.yaml",
    "buildspec.yml",
    "cloudbuild.json",
    "cloudbuild.yaml",
    "cloudbuild.yml",
    "mise.toml",
    "netlify.toml",
    "simple-git-hooks.cjs",
    "simple-git-hooks.js",
    "simple-git-hooks.json",
    "vercel.json",
    "wercker.yml",
];

/// The same, by how the name begins.
const AUTOMATION_STARTS: &[&str] = &["azure-pipelines", "jenkinsfile", "lefthook", "mise."];

/// Whether a rule for a whole folder should not be suggested because of this name on the way to it.
#[must_use]
pub fn is_protected_name(name: &str) -> bool {
    SENSITIVE.contains(&fold(name).as_str())
}

/// Why a file is protected by its name. `parts` are the folded names from the working directory on.
pub(super) fn protection(parts: &[String]) -> Option<Protection> {
    let dot = (0..parts.len()).find(|at| parts[*at].starts_with('.') && !is_data(&parts[*at..]));
    if let Some(at) = dot {
        return Some(Protection { name: parts[at].clone(), reason: Reason::DotName });
    }
    let last = parts.last().filter(|name| is_automation(name) || is_of_mise(parts))?;
    Some(Protection { name: last.clone(), reason: Reason::Automation })
}

/// Whether the version manager reads the file as its settings, which it keeps in a folder instead of `mise.toml`.
fn is_of_mise(parts: &[String]) -> bool {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [.., "mise", name] => name.starts_with("config.") && name.ends_with(".toml"),
        [.., "mise", "conf.d", name] => name.ends_with(".toml"),
        _ => false,
    }
}

/// Whether a path that begins with a dot name leads to nothing but data.
pub(super) fn is_data(parts: &[String]) -> bool {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [name] => is_data_file(name),
        [".github" | ".changeset", file] => file.ends_with(".md"),
        [".github", folder, _] => TEMPLATES.contains(folder),
        // Files that a web server hands out.
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
    AUTOMATION.contains(&name) || AUTOMATION_STARTS.iter().any(|start| name.starts_with(start))
}
