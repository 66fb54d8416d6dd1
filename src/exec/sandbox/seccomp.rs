//! Forbids system calls to commands that may only read, where no rule about files covers them:
//! those that open sockets, change the mode, owner, times or attributes of a file, reach other
//! processes, or change the machine.

use std::collections::BTreeMap;

use nix::libc::{self, ENOSYS, EPERM, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::SandboxError;

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;
#[cfg(target_arch = "riscv64")]
const ARCH: TargetArch = TargetArch::riscv64;

/// Calls that are refused whatever their arguments.
const REFUSED_SYSCALLS: &[c_long] = &[
    // Sockets: one of a pair reaches others too, and a ring opens one without the call.
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_io_uring_setup,
    // File metadata.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // Memory, queues and keys that processes share by a number or a name.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    // Namespaces, mounts and files by their number.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_open_by_handle_at,
    // The machine: most of these need root.
    libc::SYS_acct,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_settimeofday,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
];

/// Older calls that only some processors have.
#[cfg(target_arch = "x86_64")]
const LEGACY_SYSCALLS: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_iopl,
    libc::SYS_ioperm,
];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY_SYSCALLS: &[c_long] = &[];

/// Newer calls, by the number that they have on every processor: `mount_setattr`, `quotactl_fd`, `fchmodat2`,
/// `setxattrat`, `removexattrat`, `open_tree_attr` and `file_setattr`.
const NEWER_SYSCALLS: &[c_long] = &[442, 443, 452, 463, 466, 467, 469];

/// Calls by which a process names another one, with the position of the pid argument, which is 0
/// for the process itself.
const PID_SYSCALLS: &[(c_long, u8)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
];

/// The `ioctl` requests that a command may make: terminal queries, the number of readable bytes,
/// non-blocking mode and close-on-exec. Others can change a file's attributes even if it is only
/// open for reading.
const ALLOWED_IOCTLS: &[u64] = &[
    libc::TCGETS,
    libc::TIOCGWINSZ,
    libc::TIOCGPGRP,
    libc::FIONREAD,
    libc::FIONBIO,
    libc::FIOCLEX,
    libc::FIONCLEX,
];

/// Calls from this number on are newer than this list: to the process they don't exist.
const UNKNOWN_SYSCALLS: std::ops::Range<c_long> = 470..640;

/// Marks the calls of the x32 interface of the same processor, which has its own numbers.
const X32: c_long = 0x4000_0000;

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// The first descriptor after the standard streams, and those by which bash gets its start text and
/// reports where it ends.
const FIRST_EXTRA_FD: i32 = 3;
const BASH_FDS: [i32; 2] = [4, 5];

/// Forbids these calls to this process for good, and to everything it will start. The program it
/// becomes gets none of the files and sockets that others have left open.
pub fn forbid() -> Result<(), SandboxError> {
    close_fds::set_fds_cloexec(FIRST_EXTRA_FD, &BASH_FDS);
    let always = [REFUSED_SYSCALLS, LEGACY_SYSCALLS, NEWER_SYSCALLS]
        .concat()
        .into_iter()
        .map(|call| (call, Vec::new()));
    let mut refused: SyscallRules = always.collect();
    for (call, place) in PID_SYSCALLS {
        let rule = SeccompRule::new(vec![condition(*place, SeccompCmpOp::Ne, 0)?]);
        refused.insert(*call, vec![rule.map_err(|error| refused_by(&error))?]);
    }
    let other = ALLOWED_IOCTLS.iter().map(|request| condition(1, SeccompCmpOp::Ne, *request));
    let other =
        SeccompRule::new(other.collect::<Result<_, _>>()?).map_err(|error| refused_by(&error))?;
    refused.insert(libc::SYS_ioctl, vec![other]);
    apply(refused, EPERM)?;
    apply(UNKNOWN_SYSCALLS.map(|call| (call, Vec::new())).collect(), ENOSYS)
}

/// Creates a condition on one argument of a call.
fn condition(place: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompCondition, SandboxError> {
    SeccompCondition::new(place, SeccompCmpArgLen::Dword, is, value)
        .map_err(|error| refused_by(&error))
}

/// Makes the calls fail with this error.
fn apply(rules: SyscallRules, error: i32) -> Result<(), SandboxError> {
    let x32 = rules.clone().into_iter().map(|(call, rules)| (call | X32, rules));
    let rules = rules.into_iter().chain(x32).collect();
    let action = SeccompAction::Errno(error.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, ARCH)
        .map_err(|error| refused_by(&error))?;
    let program = BpfProgram::try_from(filter).map_err(|error| refused_by(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| refused_by(&error))
}

fn refused_by(error: &dyn std::error::Error) -> SandboxError {
    SandboxError::Refused(error.to_string())
}
