//! Protects the memory of this process from being read by others.

/// Keeps other processes of the same user from reading the memory and environment of this one,
/// which hold API keys, and from following its open files. Also disables core dumps.
///
/// Root still sees everything. Programs that this process starts are not affected: `exec` resets
/// the flag, and they get an environment without keys. Only Linux has such a flag.
pub fn hide_memory() {
    // It fails only on a kernel without the call, and then there is nothing else to try.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
    // Commands look for this name among the processes above them, whatever the file is called.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_name(c"caliban");
}
