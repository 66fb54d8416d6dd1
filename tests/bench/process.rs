//! What a process used: read from the kernel while it runs, or after it has ended.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

/// The argument with which this program runs a command and prints what it used.
pub const USAGE_FLAG: &str = "--usage-of";

/// What a command used from start to exit.
#[derive(Clone, Copy, Debug)]
pub struct ProcessUsage {
    pub wall_ms: f64,
    pub cpu_ms: f64,
    pub peak_mb: f64,
}

/// Runs the program to its end and returns what it used. A process in between waits for it, so that
/// the peak is that of this one command.
pub fn usage(program: &Path, args: &[&str], env: &[(&str, String)], cwd: &Path) -> ProcessUsage {
    let this = std::env::current_exe().expect("the path of this program");
    let mut command = Command::new(this);
    command.arg(USAGE_FLAG).arg(program).args(args).env_clear();
    command.envs(env.iter().map(|(name, value)| (name, value))).current_dir(cwd);
    let output = command.output().expect("this program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let failed =
        || panic!("{} failed:\n{}", program.display(), String::from_utf8_lossy(&output.stderr));
    let [wall_ms, cpu_ms, peak_mb] = *figures.as_slice() else { failed() };
    ProcessUsage { wall_ms, cpu_ms, peak_mb }
}

/// Runs a command and prints its wall milliseconds, CPU milliseconds and peak megabytes.
pub fn report_usage(command: &[String]) -> ExitCode {
    let Some((program, args)) = command.split_first() else { return ExitCode::from(2) };
    let start = Instant::now();
    let status =
        Command::new(program).args(args).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let wall = start.elapsed();
    if !status.is_ok_and(|status| status.success()) {
        return ExitCode::FAILURE;
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the usage of a child");
    let cpu = [usage.user_time(), usage.system_time()];
    let cpu: i64 = cpu.iter().map(|time| time.tv_sec() * 1_000_000 + time.tv_usec()).sum();
    let peak = usage.max_rss() as f64 / 1024.0;
    println!("{} {} {peak}", wall.as_secs_f64() * 1e3, cpu as f64 / 1e3);
    ExitCode::SUCCESS
}

/// The CPU time that a running process has used, in milliseconds.
pub fn cpu_ms(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // The kernel reports hundredths of a second to programs, on every architecture.
    ticks as f64 * 10.0
}

/// The memory of a running process that is in use, in megabytes.
pub fn memory_mb(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}
