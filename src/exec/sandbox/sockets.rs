//! No sockets: what may only read talks to nobody, neither over the network nor to a service of this machine, which
//! would act in its place.

use std::collections::BTreeMap;

use nix::libc::{EPERM, SYS_io_uring_setup, SYS_socket};
use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use super::SandboxError;

/// The processor, where the filter knows it.
const ARCH: Option<TargetArch> = if cfg!(target_arch = "x86_64") {
    Some(TargetArch::x86_64)
} else if cfg!(target_arch = "aarch64") {
    Some(TargetArch::aarch64)
} else if cfg!(target_arch = "riscv64") {
    Some(TargetArch::riscv64)
} else {
    None
};

/// Marks the calls of the x32 interface of the same processor, which has its own numbers.
const X32: i64 = 0x4000_0000;

/// Forbids this process, for good, and all that it will start, to open sockets. It can use those that it has, and pairs
/// of its own. Elsewhere the other restrictions are all there is.
pub fn forbid() -> Result<(), SandboxError> {
    let Some(arch) = ARCH else { return Ok(()) };
    // A ring could open one without the call.
    let calls = [SYS_socket, SYS_io_uring_setup].map(i64::from);
    let calls = calls.into_iter().flat_map(|call| [call, call | X32]);
    let rules: BTreeMap<_, _> = calls.map(|call| (call, Vec::new())).collect();
    let refuse = SeccompAction::Errno(EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
    let program: Result<BpfProgram, BackendError> = filter.and_then(TryInto::try_into);
    let refused = |error: &dyn std::error::Error| SandboxError::Refused(error.to_string());
    seccompiler::apply_filter(&program.map_err(|error| refused(&error))?)
        .map_err(|error| refused(&error))
}
