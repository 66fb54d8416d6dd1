//! Programs to which a file may be named without being shown.

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
