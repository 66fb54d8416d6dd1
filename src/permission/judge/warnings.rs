//! Warnings in a question.

use crate::permission::call_access::{AccessItem, CallAccess};
use crate::permission::lookalike;
use crate::permission::places::Places;
use crate::permission::wrapper::strip_wrappers;
use crate::protocol::Access;

/// Programs whose purpose is to talk to other machines.
const NETWORK: &[&str] =
    &["curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "telnet", "ftp", "gh"];

/// The special circumstances of a call.
pub fn warnings(effects: &CallAccess, access: &Access, places: &Places) -> Vec<String> {
    let mut warnings = Vec::new();
    for item in &effects.items {
        match item {
            AccessItem::Read(target) | AccessItem::Write(target) => {
                let name = places.show(&target.written);
                if !target.is_inside(places) {
                    let leads = match &target.resolved {
                        Some(resolved) if *resolved != target.written => {
                            format!(" (it leads to {})", resolved.display())
                        }
                        _ => String::new(),
                    };
                    warnings.push(format!("{name} is outside the working directories{leads}"));
                }
                let protections = match item {
                    AccessItem::Write(_) => places.protections(target),
                    _ => Vec::new(),
                };
                if let Some(protection) = protections.first() {
                    warnings.push(format!("{name} is protected: {}", protection.reason));
                }
            }
            AccessItem::Fetch(_) => warnings.push("uses the network".to_owned()),
            AccessItem::Command(command) => {
                let words = strip_wrappers(&command.words);
                let remote =
                    matches!(words.as_slice(), ["git", "push" | "pull" | "fetch" | "clone", ..]);
                if remote || words.first().is_some_and(|program| NETWORK.contains(program)) {
                    warnings.push("uses the network".to_owned());
                }
            }
            AccessItem::Unclear(why) => warnings.push(why.clone()),
            AccessItem::Nothing
            | AccessItem::Agent(_)
            | AccessItem::Skill(_)
            | AccessItem::Other => {}
        }
    }
    warnings.extend(access_texts(access).iter().flat_map(|text| lookalike::warnings(text)));
    warnings.dedup();
    warnings
}

/// The texts of a call that the user reads before answering.
fn access_texts(access: &Access) -> Vec<String> {
    match access {
        Access::Command { line, .. } => vec![line.clone()],
        Access::Read { paths } | Access::Write { paths } => {
            paths.iter().map(|path| path.written.display().to_string()).collect()
        }
        Access::Fetch { url } => vec![url.clone()],
        Access::Nothing | Access::Agent { .. } | Access::Skill { .. } | Access::Other => Vec::new(),
    }
}
