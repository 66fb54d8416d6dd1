//! Programs to which a file may be named without being shown, and words that name none.

use crate::permission::program::base_name;
use crate::permission::script::SimpleCommand;

/// Programs that show nothing of the files they are given.
const SHOW_NOTHING: &[&str] = &[
    ":", "[", "basename", "cd", "chgrp", "chmod", "chown", "dirname", "echo", "exit", "export",
    "false", "kill", "ls", "mkdir", "printf", "pwd", "readlink", "realpath", "return", "rm",
    "rmdir", "seq", "sleep", "test", "touch", "true", "type", "unlink", "wait", "which",
];

/// Those of them that open none either.
const OPEN_NOTHING: &[&str] = &[
    ":", "[", "basename", "dirname", "echo", "exit", "export", "false", "kill", "printf", "pwd",
    "return", "seq", "sleep", "test", "true", "type", "wait", "which",
];

/// Whether the program shows nothing of the files it is given.
pub fn shows_nothing(name: &str) -> bool {
    SHOW_NOTHING.contains(&name)
}

/// Whether the program opens none of them either.
pub fn opens_nothing(name: &str) -> bool {
    OPEN_NOTHING.contains(&name)
}

/// Whether the word at this position is message text, such as that of a commit, and no file.
pub fn is_message(command: &SimpleCommand, at: usize) -> bool {
    let text = |at: usize| command.words.get(at).map_or("", |word| word.text.as_str());
    let (program, before) = (base_name(command.program()), at.checked_sub(1).map_or("", text));
    let is_short =
        |letter| before.starts_with('-') && !before.starts_with("--") && before.ends_with(letter);
    match (program, text(1)) {
        ("git", "commit" | "merge" | "notes" | "stash" | "tag") => {
            before == "--message" || is_short('m') || text(at).starts_with("--message=")
        }
        ("gh", _) => {
            matches!(before, "--title" | "--body" | "--notes") || is_short('t') || is_short('b')
        }
        _ => false,
    }
}
