//! The figures: what each measures, and what it should reach.

use std::time::{Duration, Instant};

use super::model::{Answer, ModelServer, Pieces};
use super::record::{LAST_WORDS, SESSION, store};
use super::terminal::{FRAME_END, Terminal};
use super::workspace::{Workspace, program};
use super::{headless, process};

/// Escape as terminals with the kitty protocol send it: complete, so nothing waits for more.
const ESC: &str = "\x1b[27u";
/// Letters that stand nowhere else, so that a frame which changes single cells writes them together.
const MARK: &str = "§¶§¶";
const CTRL_U: &str = "\x15";
const PAGE_UP: &str = "\x1b[5~";

/// One line of the report.
pub struct Figure {
    pub name: &'static str,
    /// What it should reach, in the order and units of its values.
    pub target: &'static str,
    /// Measures once. Each value comes with its unit.
    run: fn() -> Vec<(&'static str, f64)>,
}

/// All figures, in the order of the report.
pub const FIGURES: &[Figure] = &[
    Figure { name: "binary", target: "16", run: binary },
    Figure { name: "launch", target: "6", run: launch },
    Figure { name: "idle", target: "0, 0, 13", run: idle },
    Figure { name: "one answer, headless", target: "6, 4, 12", run: headless::one_answer },
    Figure {
        name: "50 sub-agents of 300 ms, headless",
        target: "360, 20",
        run: headless::fifty_agents,
    },
    Figure { name: "2,000 list lines, headless", target: "none", run: headless::list_lines },
    Figure { name: "500 list lines", target: "linear", run: || list_lines::<500>() },
    Figure { name: "2,000 list lines", target: "200, 16", run: || list_lines::<2_000>() },
    Figure { name: "8,000 list lines", target: "linear", run: || list_lines::<8_000>() },
    Figure { name: "key echo, list streams", target: "4, 12", run: echo_in_list },
    Figure { name: "key echo, 32 sub-agents", target: "6, 16", run: echo_among_agents },
    Figure { name: "stop with 8 sub-agents", target: "10", run: stop },
    Figure { name: "1,000 sub-agents", target: "0.12, 20, 8, 16, 60", run: thousand_agents },
    Figure { name: "session of 100,000 messages", target: "150, 16, 60", run: long_session },
];

impl Figure {
    /// Measures `runs` times.
    pub fn measure(&self, runs: usize) -> Report {
        let mut values: Vec<(&'static str, Vec<f64>)> = Vec::new();
        for _ in 0..runs {
            for (index, (unit, value)) in (self.run)().into_iter().enumerate() {
                match values.get_mut(index) {
                    Some((_, all)) => all.push(value),
                    None => values.push((unit, vec![value])),
                }
            }
        }
        Report { name: self.name, target: self.target, values }
    }
}

/// The values of a figure, from several runs.
pub struct Report {
    name: &'static str,
    target: &'static str,
    values: Vec<(&'static str, Vec<f64>)>,
}

impl Report {
    pub fn print(&self) {
        let values: Vec<String> =
            self.values.iter().map(|(unit, all)| format!("{} {unit}", spread(all))).collect();
        println!("| {} | {} | {} |", self.name, values.join("; "), self.target);
    }
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// The median, and the least and the most in parentheses.
pub fn spread(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    format!("{:.2} ({least:.2} to {:.2})", median(values), most(values))
}

fn binary() -> Vec<(&'static str, f64)> {
    let size = std::fs::metadata(program()).map_or(0, |file| file.len());
    vec![("MB", size as f64 / 1e6)]
}

/// From the start of the process to the end of the first frame.
fn launch() -> Vec<(&'static str, f64)> {
    let workspace = Workspace::new("http://127.0.0.1:9");
    let terminal = Terminal::start(&workspace, &[]);
    let shown = terminal.wait_for(FRAME_END, 0);
    vec![("ms", shown.saturating_duration_since(terminal.start).as_secs_f64() * 1e3)]
}

fn idle() -> Vec<(&'static str, f64)> {
    let workspace = Workspace::new("http://127.0.0.1:9");
    let terminal = Terminal::start(&workspace, &[]);
    terminal.wait_for(FRAME_END, 0);
    terminal.wait_for_silence(Duration::from_secs(1));
    let (cpu, bytes) = (process::cpu_ms(terminal.pid()), terminal.written());
    std::thread::sleep(Duration::from_secs(3));
    let cpu = process::cpu_ms(terminal.pid()) - cpu;
    let bytes = (terminal.written() - bytes) as f64;
    vec![("ms CPU in 3 s", cpu), ("bytes", bytes), ("MB", process::memory_mb(terminal.pid()))]
}

fn list(lines: usize) -> Pieces {
    let line = |n| format!("- item {n} of the list, with a few words and some `code`\n");
    Box::new((1..=lines).map(line).chain([format!("\n{MARK}")]))
}

/// From the prompt to the last line on the screen, streamed as fast as it is read.
fn list_lines<const LINES: usize>() -> Vec<(&'static str, f64)> {
    let server =
        ModelServer::start(|_, _| Answer::Text { pieces: list(LINES), pause: Duration::ZERO });
    let (_workspace, mut terminal) = start_screen(&server);
    terminal.wait_for_silence(Duration::from_millis(300));
    let cpu = process::cpu_ms(terminal.pid());
    terminal.keys("go\r");
    terminal.wait_for(MARK.as_bytes(), 0);
    terminal.wait_for_silence(Duration::from_millis(300));
    let cpu = process::cpu_ms(terminal.pid()) - cpu;
    vec![("ms CPU", cpu), ("MB", process::memory_mb(terminal.pid()))]
}

fn echo_values(echoes: &[f64]) -> Vec<(&'static str, f64)> {
    vec![("ms median", median(echoes)), ("ms most", most(echoes))]
}

/// Keys while a list of 2,000 lines streams for five seconds.
fn echo_in_list() -> Vec<(&'static str, f64)> {
    let server = ModelServer::start(|_, _| Answer::Text {
        pieces: list(2_000),
        pause: Duration::from_micros(2_500),
    });
    let (_workspace, mut terminal) = start_screen(&server);
    terminal.keys("go\r");
    terminal.wait_for(b"item", 0);
    std::thread::sleep(Duration::from_millis(300));
    echo_values(&terminal.echoes(80))
}

/// The screen after its first frame, with the folders that it works in.
fn start_screen(server: &ModelServer) -> (Workspace, Terminal) {
    let workspace = Workspace::new(&server.url());
    let terminal = Terminal::start(&workspace, &[]);
    terminal.wait_for(FRAME_END, 0);
    (workspace, terminal)
}

/// The parent's first answer starts `count` sub-agents; each of them writes 2,000 words, with a pause
/// after each.
fn server_with_agents(count: usize, pause: Duration) -> ModelServer {
    ModelServer::start(move |first, turn| match (first.contains("child"), turn) {
        (true, _) => words(2_000, pause),
        (false, 0) => Answer::Agents((0..count).map(|n| format!("child {n} of many")).collect()),
        (false, _) => words(1, Duration::ZERO),
    })
}

fn words(count: usize, pause: Duration) -> Answer {
    let word = |n| match n {
        n if n % 12 == 0 => format!("word{n}\n"),
        n => format!("word{n} "),
    };
    Answer::Text { pieces: Box::new((1..=count).map(word)), pause }
}

/// Keys while 32 sub-agents write a hundred pieces a second each.
fn echo_among_agents() -> Vec<(&'static str, f64)> {
    let server = server_with_agents(32, Duration::from_millis(10));
    let (_workspace, mut terminal) = start_screen(&server);
    terminal.keys("go\r");
    server.wait_for_open(32);
    terminal.wait_for(b"word1", 0);
    echo_values(&terminal.echoes(80))
}

/// From Esc to the end of the last stream.
fn stop() -> Vec<(&'static str, f64)> {
    let server = server_with_agents(8, Duration::from_millis(10));
    let (_workspace, mut terminal) = start_screen(&server);
    terminal.keys("go\r");
    server.wait_for_open(8);
    terminal.wait_for(b"word1", 0);
    std::thread::sleep(Duration::from_millis(fastrand::u64(100..300)));
    vec![("ms", stop_ms(&mut terminal, &server))]
}

fn stop_ms(terminal: &mut Terminal, server: &ModelServer) -> f64 {
    let start = Instant::now();
    terminal.keys(ESC);
    server.wait_for_closed().saturating_duration_since(start).as_secs_f64() * 1e3
}

/// A thousand sub-agents, each of which writes a word a second.
fn thousand_agents() -> Vec<(&'static str, f64)> {
    const COUNT: usize = 1_000;
    let server = server_with_agents(COUNT, Duration::from_secs(1));
    let (_workspace, mut terminal) = start_screen(&server);
    terminal.wait_for_silence(Duration::from_millis(500));
    let before = process::memory_mb(terminal.pid());
    terminal.keys("go\r");
    server.wait_for_open(COUNT);
    std::thread::sleep(Duration::from_secs(3));
    let each = (process::memory_mb(terminal.pid()) - before) / COUNT as f64;
    let (cpu, from) = (process::cpu_ms(terminal.pid()), Instant::now());
    std::thread::sleep(Duration::from_secs(5));
    let cpu = (process::cpu_ms(terminal.pid()) - cpu) / from.elapsed().as_secs_f64() / 10.0;
    let echoes = terminal.echoes(60);
    terminal.keys(CTRL_U);
    std::thread::sleep(Duration::from_millis(200));
    let stop = stop_ms(&mut terminal, &server);
    let mut values = vec![("MB each", each), ("% CPU", cpu)];
    values.extend(echo_values(&echoes));
    values.push(("ms stop", stop));
    values
}

/// Resumes a stored session of 28 MB: its last screen, and one page up.
fn long_session() -> Vec<(&'static str, f64)> {
    let workspace = Workspace::new("http://127.0.0.1:9");
    store(&workspace, 100_000);
    let mut terminal = Terminal::start(&workspace, &["--resume", SESSION]);
    let shown = terminal.wait_for(LAST_WORDS.as_bytes(), 0);
    let open = shown.saturating_duration_since(terminal.start).as_secs_f64() * 1e3;
    terminal.wait_for_silence(Duration::from_millis(500));
    let mut scrolls = Vec::new();
    for _ in 0..10 {
        let (from, start) = (terminal.written(), Instant::now());
        terminal.keys(PAGE_UP);
        let shown = terminal.wait_for(FRAME_END, from);
        scrolls.push(shown.saturating_duration_since(start).as_secs_f64() * 1e3);
        terminal.wait_for_silence(Duration::from_millis(100));
    }
    let memory = process::memory_mb(terminal.pid());
    vec![("ms to the last screen", open), ("ms for a page", median(&scrolls)), ("MB", memory)]
}
