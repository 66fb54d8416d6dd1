//! What a project's own files may not set: whoever clones a repository has not read them.

use std::path::{Path, PathBuf};

use toml::Value;

use super::error::Origin;
use super::layers::Setting;
use crate::protocol::RuleFile;

/// Takes out of a project file's settings what would run code, redirect keys or widen rights.
/// Returns what was taken out, as `permissions.allow (line 3)`.
pub(super) fn withhold(settings: &mut Vec<Setting>, file: RuleFile) -> Vec<String> {
    let mut withheld = Vec::new();
    settings.retain(|setting| {
        let keep = !widens(setting, file);
        // An empty list asks for nothing, so there is nothing to tell.
        if !keep && !matches!(&setting.value, Value::Array(list) if list.is_empty()) {
            let line = match setting.origins.first() {
                Some(Origin::File { line, .. }) => format!(" (line {line})"),
                _ => String::new(),
            };
            withheld.push(format!("{}{line}", setting.key()));
        }
        keep
    });
    withheld
}

fn widens(setting: &Setting, file: RuleFile) -> bool {
    match setting.key().as_str() {
        // The person's own "always" answers are written to the local file.
        "permissions.allow" => file == RuleFile::Shared,
        "permissions.mode" | "permissions.additional_dirs" => true,
        key => key.starts_with("providers."),
    }
}

/// The one notice about everything that was taken out of a project's files; `None` when nothing was.
pub(super) fn notice(withheld: &[(PathBuf, Vec<String>)], user_file: &Path) -> Option<String> {
    let files: Vec<String> = withheld
        .iter()
        .filter(|(_, keys)| !keys.is_empty())
        .map(|(file, keys)| format!("{}: {}", file.display(), keys.join(", ")))
        .collect();
    (!files.is_empty()).then(|| {
        format!(
            "A project's files may not set providers or widen rights. Not applied: {}. Put it in {} if you want it.",
            files.join("; "),
            user_file.display()
        )
    })
}
