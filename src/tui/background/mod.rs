//! Background commands of agents.

pub mod draw;
pub mod update;

use std::time::Duration;

use crate::protocol::{AgentPath, ShellEnd};

/// How long the row of an ended background agent or command stays if nobody reads its result.
pub const ENDED_ROW_TIME: Duration = Duration::from_secs(10);

/// Number of ended commands kept for the list of agents.
const MAX_ENDED_JOBS: usize = 32;

/// One background command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Such as `bash-1`.
    pub id: String,
    /// The agent that started it.
    pub path: AgentPath,
    pub command: String,
    /// The end of what it has printed, as far as that is known.
    pub output: JobOutput,
    pub since: Duration,
    /// When it ended, and how.
    pub ended: Option<(Duration, ShellEnd)>,
    /// Whether the user has killed it and its end is still pending.
    pub killing: bool,
    /// Whether it has a row among the background agents.
    pub in_strip: bool,
    /// Whether its agent has read its end.
    read: bool,
}

/// The end of what a command has printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobOutput {
    pub text: String,
    /// Number of characters of the whole output.
    pub total: u64,
}

impl Job {
    pub fn alive(&self) -> bool {
        self.ended.is_none()
    }

    /// Time it has run so far, or in total. Unknown for one that was killed: that may have been with the
    /// program of an earlier time.
    pub fn elapsed(&self, now: Duration) -> Option<Duration> {
        let end = match &self.ended {
            Some((_, ShellEnd::Killed)) => return None,
            ended => ended.as_ref().map_or(now, |(at, _)| *at),
        };
        Some(end.saturating_sub(self.since))
    }

    /// Whether it has ended other than well, or by the user's or its agent's will.
    pub fn failed(&self) -> bool {
        self.ended.as_ref().is_some_and(|(_, end)| match end {
            ShellEnd::Code { code } => *code != 0,
            ShellEnd::Signal { .. } | ShellEnd::TimedOut { .. } => true,
            ShellEnd::Killed => false,
        })
    }

    fn expires_at(&self) -> Option<Duration> {
        let (ended, _) = self.ended.as_ref().filter(|_| self.in_strip)?;
        Some(if self.read { *ended } else { *ended + ENDED_ROW_TIME })
    }
}

/// The number in the id of a command.
fn number_of(id: &str) -> u32 {
    let number = id.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
    number.unwrap_or(u32::MAX)
}

/// All background commands of the session, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jobs {
    list: Vec<Job>,
}

impl Jobs {
    pub fn start(&mut self, path: AgentPath, id: String, command: String, at: Duration) {
        self.list.retain(|job| job.id != id);
        while self.list.iter().filter(|job| !job.alive()).count() >= MAX_ENDED_JOBS {
            let Some(oldest) = self.list.iter().position(|job| !job.alive()) else { break };
            self.list.remove(oldest);
        }
        // Of commands that start together, the one with the higher number may say so first.
        let number = number_of(&id);
        let place = self.list.partition_point(|job| number_of(&job.id) < number);
        let job = Job {
            id,
            path,
            command,
            output: JobOutput::default(),
            since: at,
            ended: None,
            killing: false,
            in_strip: true,
            read: false,
        };
        self.list.insert(place, job);
    }

    pub fn end(&mut self, id: &str, end: ShellEnd, at: Duration) {
        if let Some(job) = self.get_mut(id) {
            job.ended.get_or_insert((at, end));
            job.killing = false;
        }
    }

    pub fn get(&self, id: &str) -> Option<&Job> {
        self.list.iter().find(|job| job.id == id)
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut Job> {
        self.list.iter_mut().find(|job| job.id == id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Job> {
        self.list.iter()
    }

    pub fn alive(&self) -> impl Iterator<Item = &Job> {
        self.list.iter().filter(|job| job.alive())
    }

    /// Commands with a row among the background agents.
    pub fn strip(&self) -> impl Iterator<Item = &Job> {
        self.list.iter().filter(|job| job.in_strip)
    }

    /// Marks the end of a command as read by its agent.
    pub fn mark_result_read(&mut self, id: &str) {
        if let Some(job) = self.get_mut(id) {
            job.read = true;
        }
    }

    /// Removes the rows of commands that were killed, which nobody waits for.
    pub fn drop_killed(&mut self) {
        let killed = |job: &&mut Job| matches!(job.ended, Some((_, ShellEnd::Killed)));
        self.list.iter_mut().filter(killed).for_each(|job| job.in_strip = false);
    }

    /// Removes the rows of all commands: they are of an earlier program.
    pub fn leave_strip(&mut self) {
        self.list.iter_mut().for_each(|job| job.in_strip = false);
    }

    /// When the next row of an ended command disappears.
    pub fn next_expiry(&self) -> Option<Duration> {
        self.list.iter().filter_map(Job::expires_at).min()
    }

    /// Removes expired rows. Returns whether there were any.
    pub fn expire(&mut self, now: Duration) -> bool {
        let mut gone = false;
        for job in &mut self.list {
            if job.expires_at().is_some_and(|at| at <= now) {
                job.in_strip = false;
                gone = true;
            }
        }
        gone
    }
}
