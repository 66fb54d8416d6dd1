//! The memory of this process, and who may read it.

/// Keeps other processes of the same user from reading the memory and the environment of this one,
/// where API keys are, and from following its open files. Core dumps end too.
///
/// Root still sees everything. Programs that this process starts are not affected: `exec` resets
/// the flag, and they get an environment without keys. Only Linux has such a flag.
pub fn hide_memory() {
    // It can only fail on a kernel without the call, and then there is nothing else to try.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
    // Commands look for this name among the processes above them, whatever the file is called.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_name(c"caliban");
}
