//! System calls that what may only read does not make, because no rule about files covers them: they open sockets, change
//! the mode, owner, times or attributes of a file, reach other processes, or change the machine.

use std::collections::BTreeMap;

use nix::libc::{
    ENOSYS, EPERM, SYS_acct, SYS_add_key, SYS_adjtimex, SYS_bpf, SYS_chroot, SYS_clock_adjtime,
    SYS_clock_settime, SYS_delete_module, SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat,
    SYS_finit_module, SYS_fremovexattr, SYS_fsconfig, SYS_fsetxattr, SYS_fsmount, SYS_fsopen,
    SYS_init_module, SYS_io_uring_setup, SYS_ioctl, SYS_ioprio_set, SYS_kcmp, SYS_kexec_load,
    SYS_keyctl, SYS_lremovexattr, SYS_lsetxattr, SYS_mount, SYS_move_mount, SYS_mq_open,
    SYS_mq_unlink, SYS_msgctl, SYS_msgget, SYS_msgrcv, SYS_msgsnd, SYS_open_by_handle_at,
    SYS_open_tree, SYS_perf_event_open, SYS_pidfd_getfd, SYS_pivot_root, SYS_prlimit64,
    SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace, SYS_quotactl, SYS_reboot,
    SYS_removexattr, SYS_request_key, SYS_sched_setaffinity, SYS_sched_setattr, SYS_sched_setparam,
    SYS_sched_setscheduler, SYS_semctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_setdomainname,
    SYS_sethostname, SYS_setns, SYS_setpriority, SYS_settimeofday, SYS_setxattr, SYS_shmat,
    SYS_shmctl, SYS_shmget, SYS_socket, SYS_socketpair, SYS_swapoff, SYS_swapon, SYS_syslog,
    SYS_umount2, SYS_unshare, SYS_userfaultfd, SYS_utimensat, SYS_vhangup, c_long,
};
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

/// Calls that are refused whatever they ask for.
const REFUSED: &[c_long] = &[
    // Sockets: one of a pair reaches others too, and a ring opens one without the call.
    SYS_socket,
    SYS_socketpair,
    SYS_io_uring_setup,
    // What files are, beside their content.
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    // Memory, queues and keys that processes share by a number or a name.
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // Other processes.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_setpriority,
    SYS_ioprio_set,
    // Namespaces, mounts and files by their number.
    SYS_unshare,
    SYS_setns,
    SYS_chroot,
    SYS_pivot_root,
    SYS_mount,
    SYS_umount2,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_open_by_handle_at,
    // The machine: most of these take root.
    SYS_acct,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_settimeofday,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_quotactl,
    SYS_syslog,
    SYS_vhangup,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
];

/// Older calls that only some processors have.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    nix::libc::SYS_chmod,
    nix::libc::SYS_chown,
    nix::libc::SYS_lchown,
    nix::libc::SYS_utime,
    nix::libc::SYS_utimes,
    nix::libc::SYS_futimesat,
    nix::libc::SYS_iopl,
    nix::libc::SYS_ioperm,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// Newer calls, by the number that they have on every processor: `mount_setattr`, `quotactl_fd`, `fchmodat2`,
/// `setxattrat`, `removexattrat`, `open_tree_attr` and `file_setattr`.
const NEWER: &[c_long] = &[442, 443, 452, 463, 466, 467, 469];

/// Calls by which a process names another one, and the place of its number, which is 0 for the process itself.
const OF_OTHERS: &[(c_long, u8)] = &[
    (SYS_prlimit64, 0),
    (SYS_sched_setaffinity, 0),
    (SYS_sched_setattr, 0),
    (SYS_sched_setparam, 0),
    (SYS_sched_setscheduler, 0),
];

/// The `ioctl` requests that a command may make: terminal queries, the number of readable bytes, non-blocking mode and
/// close-on-exec. Others can change a file's attributes even if it is only open for reading.
const REQUESTS: &[u64] = &[
    nix::libc::TCGETS,
    nix::libc::TIOCGWINSZ,
    nix::libc::TIOCGPGRP,
    nix::libc::FIONREAD,
    nix::libc::FIONBIO,
    nix::libc::FIOCLEX,
    nix::libc::FIONCLEX,
];

/// Calls from this number on are newer than this list: they are not there for the process.
const UNKNOWN: std::ops::Range<c_long> = 470..640;

/// Marks the calls of the x32 interface of the same processor, which has its own numbers.
const X32: c_long = 0x4000_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The first descriptor behind the standard streams, and those by which bash gets its start text and says where it ends.
const FIRST_OTHER: i32 = 3;
const OF_BASH: [i32; 2] = [4, 5];

/// Forbids this process such calls for good, and all that it will start. The program that it becomes gets none of the files
/// and sockets that others have left open.
pub fn forbid() -> Result<(), SandboxError> {
    close_fds::set_fds_cloexec(FIRST_OTHER, &OF_BASH);
    let always = [REFUSED, OLDER, NEWER].concat().into_iter().map(|call| (call, Vec::new()));
    let mut refused: Rules = always.collect();
    for (call, place) in OF_OTHERS {
        let rule = SeccompRule::new(vec![condition(*place, SeccompCmpOp::Ne, 0)?]);
        refused.insert(*call, vec![rule.map_err(|error| refused_by(&error))?]);
    }
    let other = REQUESTS.iter().map(|request| condition(1, SeccompCmpOp::Ne, *request));
    let other =
        SeccompRule::new(other.collect::<Result<_, _>>()?).map_err(|error| refused_by(&error))?;
    refused.insert(SYS_ioctl, vec![other]);
    apply(refused, EPERM)?;
    apply(UNKNOWN.map(|call| (call, Vec::new())).collect(), ENOSYS)
}

/// A condition on one argument of a call.
fn condition(place: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompCondition, SandboxError> {
    SeccompCondition::new(place, SeccompCmpArgLen::Dword, is, value)
        .map_err(|error| refused_by(&error))
}

/// Makes the calls fail with this error.
fn apply(rules: Rules, error: i32) -> Result<(), SandboxError> {
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
