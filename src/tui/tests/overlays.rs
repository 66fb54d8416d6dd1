//! Lists and pages above the prompt, as text and styles.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Style;

use crate::protocol::{
    AgentPath, ChangeKind, Command, Cost, DiffText, EventKind, FileChange, McpState, McpStatus,
    ModelCause, RunEnd, SessionId, WorkingTreeChanges,
};
use crate::tui::FirstRun;
use crate::tui::host::{
    CommandChoice, HostRequest, InfoPage, LocalServer, McpServers, MemoryChoice, ModelChoice,
    ModelList, SessionChoice, SessionEnd,
};
use crate::tui::msg::{HitTarget, Msg, ScreenEffect};
use crate::tui::overlay::Overlay;
use crate::tui::page::{PageLine, Tone};
use crate::tui::session::ScreenRule;
use crate::tui::slash::COMMANDS;
use crate::tui::testing::{TestScreen, agent_choice, finish, session_choice};
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::themes::ThemeSet;
use crate::tui::view::View;

use super::pictures::picture;

/// The sizes at which each dialog is looked at.
const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

/// The names of styles.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The screen as text, each styled line followed by a line of letters for its styles.
pub(super) fn styled(screen: &mut TestScreen, width: u16, height: u16) -> String {
    let mut view = View::new(Theme::named("dark").unwrap(), Highlighter::off());
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    screen.send(Msg::Resize { width, height });
    terminal.draw(|frame| view.draw(&screen.model, frame)).unwrap();
    screen.send(Msg::Drawn(Box::new(view.metrics().clone())));
    let buffer = terminal.backend().buffer();
    let (mut out, mut styles) = (String::new(), vec![Style::reset()]);
    for y in 0..height {
        let (mut text, mut letters) = (String::new(), String::new());
        for x in 0..width {
            let cell = &buffer[(x, y)];
            text.push_str(cell.symbol());
            let style = cell.style();
            let at = styles.iter().position(|known| *known == style).unwrap_or_else(|| {
                styles.push(style);
                styles.len() - 1
            });
            let blank = at == 0 || cell.symbol() == " " && style.bg == styles[0].bg;
            letters.push(if blank { ' ' } else { LETTERS.chars().nth(at - 1).unwrap() });
        }
        writeln!(out, "{}", text.trim_end()).unwrap();
        if !letters.trim().is_empty() {
            writeln!(out, "{}", letters.trim_end()).unwrap();
        }
    }
    for (style, letter) in styles.iter().skip(1).zip(LETTERS.chars()) {
        let colour = |color: Option<ratatui::style::Color>| color.unwrap_or_default().to_string();
        let (front, back) = (colour(style.fg), colour(style.bg));
        writeln!(out, "{letter} {front} on {back} {:?}", style.add_modifier).unwrap();
    }
    out
}

pub(super) fn snapshots(name: &str, screen: &mut TestScreen) {
    for (width, height) in SIZES {
        let shown = styled(screen, width, height);
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), shown);
    }
}

/// A session in which something was said.
pub(super) fn talked() -> TestScreen {
    let mut screen = TestScreen::new();
    screen.prompt("find out why login is slow");
    screen.says(
        &AgentPath::root(),
        "Login reads the session twice: in the guard and in the handler.",
    );
    screen.turn_done(&AgentPath::root(), 21_000, 0.06).main(finish(RunEnd::Completed, ""));
    screen
}

pub(super) fn reply(screen: &mut TestScreen, reply: HostRequest) {
    let at = screen.at;
    screen.send(Msg::Host { reply, at });
}

fn models() -> Vec<ModelChoice> {
    let model = |name: &str, detail: &str| ModelChoice {
        provider: "anthropic".to_owned(),
        name: name.to_owned(),
        detail: detail.to_owned(),
    };
    vec![
        model("opus-4-8", "Anthropic · 200k window"),
        model("sonnet-5", "Anthropic · 200k window"),
        model("haiku-4-5", "Anthropic · 200k window"),
        model("qwen3-coder", "Ollama · 32k window"),
    ]
}

fn first_run() -> TestScreen {
    let mut screen = TestScreen::new();
    screen.model.session.first_run =
        Some(FirstRun { found: Some(Vec::new()), ..FirstRun::default() });
    screen
}

#[test]
fn the_model_in_use_has_a_row_also_where_its_provider_does_not_list_it() {
    let mut screen = TestScreen::new();
    screen.model.session.provider = Some("gemini".to_owned());
    screen.model.session.model = "gemini-3.8-flash".to_owned();
    screen.write("/model").enter();
    let choice = |provider: &str, name: &str| ModelChoice {
        provider: provider.to_owned(),
        name: name.to_owned(),
        detail: provider.to_owned(),
    };
    let others = [choice("openai", "gpt-6"), choice("gemini", "gemini-2.5-pro")];
    let (at, notes) = (screen.at, Vec::new());
    let reply = HostRequest::Models(ModelList { choices: others.to_vec(), notes });
    screen.send(Msg::Host { reply, at });
    let shown = picture(&mut screen, 100, 24);
    let row = shown.lines().find(|line| line.contains("▸")).unwrap();
    assert!(row.contains("gemini-3.8-flash") && row.contains("in use"), "{shown}");
    assert!(row.contains("not in its list") && shown.contains("gemini-2.5-pro"), "{shown}");
}

#[test]
fn the_list_of_sessions_is_as_high_as_its_longest_preview() {
    let mut screen = TestScreen::new();
    screen.write("/resume").enter();
    let choices = ["one", "two"].map(|title| session_choice(SessionId::generate(), title));
    let ids = choices.clone().map(|choice| choice.id);
    let (at, everywhere, most) = (screen.at, false, None);
    let reply = HostRequest::Sessions { everywhere, most, sessions: choices.to_vec() };
    screen.send(Msg::Host { reply, at });
    let rows = |screen: &mut TestScreen| {
        let shown = picture(screen, 120, 40);
        shown.lines().filter(|line| line.starts_with('│')).count()
    };
    assert_eq!(rows(&mut screen), 2);
    let end = |answer: &str| SessionEnd { cost: None, answer: answer.to_owned() };
    let ends = vec![end("short"), end("one\n\ntwo\n\nthree")];
    let reply = HostRequest::SessionPreviews { ids: ids.to_vec(), previews: ends };
    screen.send(Msg::Host { reply, at });
    assert_eq!(rows(&mut screen), 5);
    screen.key(KeyCode::Down);
    assert_eq!(rows(&mut screen), 5, "it does not jump");
}

#[test]
fn of_two_providers_with_the_same_model_only_one_is_in_use() {
    for (provider, at) in [("openai", 0), ("resp", 1)] {
        let mut screen = talked();
        screen.model.session.model = "gpt-5.5".to_owned();
        screen.model.session.provider = Some(provider.to_owned());
        screen.write("/model").enter();
        let choice = |provider: &str| ModelChoice {
            provider: provider.to_owned(),
            name: "gpt-5.5".to_owned(),
            detail: provider.to_owned(),
        };
        let choices = vec![choice("openai"), choice("resp")];
        reply(&mut screen, HostRequest::Models(ModelList { choices, notes: Vec::new() }));
        let Some(Overlay::Picker(picker)) = &screen.model.overlay else { panic!() };
        let in_use: Vec<_> = picker.all().iter().map(|row| !row.figures.is_empty()).collect();
        assert_eq!(in_use, [at == 0, at == 1]);
        assert_eq!(picker.selected, at);
    }
}

#[test]
fn a_list_of_models_marks_the_one_in_use_and_the_letters_of_the_filter() {
    let mut screen = talked();
    screen.write("/model").enter();
    let notes = vec!["OpenAI: OPENAI_API_KEY is rejected (401): check it".to_owned()];
    reply(&mut screen, HostRequest::Models(ModelList { choices: models(), notes }));
    snapshots("model", &mut screen);
    screen.write("o5");
    snapshots("model_filter", &mut screen);
}

#[test]
fn permissions_list_the_modes_and_the_rules_with_their_files() {
    let mut screen = talked();
    let rule = |list: &str, rule: &str, origin: &str| ScreenRule {
        list: list.to_owned(),
        rule: rule.to_owned(),
        origin: origin.to_owned(),
    };
    screen.model.session.rules = vec![
        rule("deny", "Read(.env)", ".claude/settings.json:4"),
        rule("allow", "Bash(cargo test:*)", ".caliban/config.local.toml:3"),
        rule("allow", "Edit(src/**)", "/home/ann/.config/caliban/config.toml:12"),
    ];
    screen.write("/permissions").enter();
    snapshots("permissions", &mut screen);
    for _ in 0..5 {
        screen.key(KeyCode::Down);
    }
    screen.enter();
    assert_eq!(screen.notice(), "to change it: .claude/settings.json:4");
    assert!(screen.model.overlay.is_some(), "a rule can only be read");
    screen.esc().wait(300).write("/status").enter();
    snapshots("status", &mut screen);
}

#[test]
fn the_sessions_show_age_agents_cost_and_the_last_answer() {
    let mut screen = talked();
    let session = |age: &str, title: &str, agents, usd: Option<f64>, answer: &str| SessionChoice {
        id: SessionId::generate(),
        title: title.to_owned(),
        age: age.to_owned(),
        agents,
        folder: PathBuf::from("/code/shop"),
        elsewhere: false,
        branch: None,
        open: false,
        end: SessionEnd { cost: usd.map(Cost::known), answer: answer.to_owned() },
    };
    let answer = "**Login reads the session twice.** I removed the second read:\n\n\
                  - `src/session.rs:88` keeps the row\n- 214 tests pass\n";
    let sessions = vec![
        session("2 min ago", "Find out why login is slow and fix it.", 3, Some(0.61), answer),
        session("3 h ago", "Add a dark theme", 0, Some(0.02), "Done."),
        session(
            "yesterday",
            "What does the border case in lib/discount.sh do, and who calls it? Answer with file and line.",
            12,
            None,
            "",
        ),
    ];
    reply(
        screen.write("/resume ").enter(),
        HostRequest::Sessions { everywhere: false, most: None, sessions },
    );
    snapshots("resume", &mut screen);
    screen.write("dark");
    snapshots("resume_filter", &mut screen);
    // Short prompts take no figures away, with or without a preview.
    let sessions = vec![session("1 min ago", "go 3", 8, Some(0.61), answer)];
    let mut screen = talked();
    reply(
        screen.write("/resume ").enter(),
        HostRequest::Sessions { everywhere: false, most: None, sessions },
    );
    for (width, height) in [(60, 15), (80, 24), (120, 40), (160, 45)] {
        let output = picture(&mut screen, width, height);
        assert!(output.contains("8 agents  $0.61"), "{output}");
    }
}

#[test]
fn themes_have_a_sample_beside_them_on_a_wide_screen() {
    let mut screen = talked();
    let (themes, _) = ThemeSet::new(&[], &[("COLORTERM", "truecolor")].into_iter().collect());
    screen.model.themes.choices = themes.choices();
    screen.write("/theme").enter();
    snapshots("theme", &mut screen);
}

#[test]
fn pages_are_as_large_as_their_text_and_hang_their_lines() {
    let mut screen = talked();
    screen.write("/doctor").enter();
    let row = |state: &str, tone, about: &str, text: &str| {
        let (state, about) = (format!("{state:<7}"), format!("{about:<10}"));
        PageLine::row([(&*state, tone), (&*about, Tone::Strong)], text)
    };
    let long = "no model yet: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or name a server with --provider";
    let lines = vec![
        row("WRONG", Tone::Bad, "key", long),
        row("ok", Tone::Good, "agents", "explore, general-purpose, plan"),
        row(
            "note",
            Tone::Dim,
            "terminal",
            "Shift+Enter may act as Enter here: Ctrl+J always makes a new line",
        ),
    ];
    reply(&mut screen, HostRequest::Page(InfoPage::Doctor, lines));
    snapshots("doctor", &mut screen);
    screen.esc().wait(300).write("/mcp").enter();
    let running = vec![
        McpStatus {
            name: "docs".to_owned(),
            state: McpState::Connected,
            tools: vec!["search".to_owned(), "read".to_owned()],
            error: None,
            about: "npx -y @modelcontextprotocol/server-filesystem docs".to_owned(),
        },
        McpStatus {
            name: "db".to_owned(),
            state: McpState::Failed,
            tools: Vec::new(),
            error: Some("program not found: /opt/db/server".to_owned()),
            about: "/opt/db/server --read-only".to_owned(),
        },
    ];
    let (opened, servers) = (screen.at, McpServers { running, notes: Vec::new() });
    reply(&mut screen, HostRequest::McpServers { opened, servers });
    snapshots("mcp", &mut screen);
    screen.esc().wait(300).write("?");
    snapshots("help", &mut screen);
}

#[test]
fn changes_are_diffs_below_the_names_of_their_files() {
    let mut screen = talked();
    screen.write("/diff").enter();
    let asked = ScreenEffect::Ask(HostRequest::Changes(Ok(Arc::default())));
    assert!(screen.effects.contains(&asked), "{:?}", screen.effects);
    let file = |path: &str, kind, diff: &str| FileChange {
        path: path.to_owned(),
        kind,
        diff: diff.to_owned(),
        text: DiffText::Plain,
        mode: None,
    };
    let old = "src/cookies.rs".to_owned();
    let files = vec![
        file(
            "src/login.rs",
            ChangeKind::Modified,
            "@@ -3,3 +3,4 @@\n fn login() {\n-    read();\n+    let session = read();\n+    check(&session);\n }\n",
        ),
        file("src/session.rs", ChangeKind::Renamed { from: old }, ""),
        file("logo.png", ChangeKind::Untracked, ""),
        FileChange {
            text: DiffText::OnDisk,
            ..file("run.sh", ChangeKind::Modified, "@@ -1 +1 @@\n-a\n+a\r\n")
        },
        file("a\u{1b}[2Jb", ChangeKind::Untracked, "@@ -0,0 +1,1 @@\n+\u{1b}[31mred\n"),
    ];
    let changes = Arc::new(WorkingTreeChanges { files, is_cut: true });
    reply(&mut screen, HostRequest::Changes(Ok(changes)));
    snapshots("changes", &mut screen);
    screen.esc().wait(300).write("/diff").enter();
    reply(&mut screen, HostRequest::Changes(Ok(Arc::default())));
    let shown = picture(&mut screen, 80, 24);
    assert!(shown.contains("nothing has changed since the last commit"), "{shown}");
    screen.esc().wait(300).write("/diff").enter();
    reply(&mut screen, HostRequest::Changes(Err("there is no git repository".to_owned())));
    let shown = picture(&mut screen, 80, 24);
    assert!(shown.contains("there is no git repository"), "{shown}");
}

#[test]
fn an_effort_is_chosen_from_those_of_the_model() {
    let mut screen = talked();
    let changed = |effort: Option<&str>| EventKind::ModelChanged {
        provider: "anthropic".to_owned(),
        model: "sonnet-5".to_owned(),
        context_window: None,
        effort: effort.map(str::to_owned),
        efforts: Some(["low", "high"].map(str::to_owned).to_vec()),
        cause: ModelCause::Effort,
    };
    screen.main(changed(Some("low")));
    screen.write("/effort").enter().key(KeyCode::Down);
    let shown = picture(&mut screen, 80, 24);
    assert!(
        shown.contains("▸ high") && shown.contains("low") && shown.contains("in use"),
        "{shown}"
    );
    screen.enter();
    let effort = Some("high".to_owned());
    assert_eq!(screen.sent(), [Command::SetEffort { effort }]);
    screen.main(changed(Some("high")));
    assert_eq!(screen.notice(), "effort: high, from the next request on");
    screen.write("/effort default").enter();
    assert_eq!(screen.sent(), [Command::SetEffort { effort: None }]);
    screen.model.session.more_folders = ["/srv/lib", "/srv/www"].map(Into::into).to_vec();
    screen.write("/status").enter();
    let shown = picture(&mut screen, 80, 24);
    assert!(shown.contains("sonnet-5 · effort high"), "{shown}");
    assert!(shown.contains(" also in     /srv/lib ") && shown.contains("  /srv/www "), "{shown}");
}

#[test]
fn a_model_without_effort_levels_is_not_one_whose_levels_are_unknown() {
    let shown = |efforts: Option<Vec<String>>| {
        let mut screen = talked();
        screen.main(EventKind::ModelChanged {
            provider: "anthropic".to_owned(),
            model: "haiku-4-5".to_owned(),
            context_window: None,
            effort: None,
            efforts,
            cause: ModelCause::Model,
        });
        picture(screen.write("/effort").enter(), 80, 24)
    };
    let none = shown(Some(Vec::new()));
    assert!(none.contains("haiku-4-5 takes no effort level") && !none.contains("WORD"), "{none}");
    let unknown = shown(None);
    let words = "the effort levels of haiku-4-5 are not known · /effort WORD sends any";
    assert!(unknown.contains(words), "{unknown}");
}

#[test]
fn a_file_of_instructions_is_chosen_from_a_list_and_edited() {
    let mut screen = talked();
    screen.write("/memory").enter();
    let file = |path: &str, name: &str, about: &str| MemoryChoice {
        path: path.into(),
        name: name.to_owned(),
        about: about.to_owned(),
    };
    let files = vec![
        file("/shop/AGENTS.md", "AGENTS.md", "read before each prompt"),
        file(
            "/c/AGENTS.md",
            "~/.config/caliban/AGENTS.md",
            "new: your instructions for all projects",
        ),
    ];
    reply(&mut screen, HostRequest::Memory(files));
    snapshots("memory", &mut screen);
    screen.key(KeyCode::Down).enter();
    let path = PathBuf::from("/c/AGENTS.md");
    assert!(screen.effects.contains(&ScreenEffect::EditFile(path)), "{:?}", screen.effects);
}

#[test]
fn the_menu_of_commands_finds_by_letters_and_counts_what_it_hides() {
    let mut screen = talked();
    screen.write("/");
    reply(&mut screen, HostRequest::Commands(Vec::new()));
    snapshots("commands", &mut screen);
    screen.write("co");
    snapshots("commands_filter", &mut screen);
    let written = |name: &str| CommandChoice {
        name: name.to_owned(),
        description: "Mends".to_owned(),
        argument_hint: None,
    };
    let names = |typed: &str| -> Vec<String> {
        let found = crate::tui::slash::matching(&[written("gh:model")], typed);
        found.into_iter().map(|item| item.insert).collect()
    };
    assert_eq!(names("model"), ["/model", "/gh:model"]);
    assert_eq!(names("cpt"), ["/compact"]);
}

#[test]
fn the_agents_and_their_definitions_stand_above_the_prompt() {
    let mut screen = talked();
    screen.prompt("map it");
    screen.agent(&AgentPath::root(), "explore-1", "map the routes");
    screen.write("/agents").enter();
    let choices = ["explore", "general-purpose", "plan"].map(agent_choice).to_vec();
    reply(&mut screen, HostRequest::Agents(choices));
    snapshots("agents", &mut screen);
    screen.write("/gp");
    snapshots("agents_filter", &mut screen);
}

#[test]
fn the_history_search_stands_above_the_prompt() {
    let mut screen = talked();
    for text in ["fix login", "read the docs", "fix logout"] {
        screen.model.composer.remember(text.into());
    }
    screen.ctrl('r').write("fix");
    snapshots("history", &mut screen);
}

#[test]
fn without_a_model_arrows_and_enter_choose_a_way() {
    let mut screen = first_run();
    snapshots("first_run", &mut screen);
    let small = styled(&mut screen, 60, 15);
    insta::assert_snapshot!("first_run_60x15", small);
    screen.key(KeyCode::Down).enter();
    snapshots("first_run_key", &mut screen);
    screen.esc().wait(300).key(KeyCode::Down);
    screen.effects.clear();
    screen.write("r");
    let looks = ScreenEffect::Ask(HostRequest::LocalServers(Vec::new()));
    assert_eq!(screen.effects, [looks]);
    assert_eq!(screen.model.composer.text(), "", "`r` acts in the list");
    assert_eq!(screen.model.session.first_run.as_ref().unwrap().found, None);
    screen.key(KeyCode::Down).write("run").key(KeyCode::Down).enter();
    assert_eq!(screen.model.composer.text(), "run", "anywhere else it is text");
    assert!(!screen.model.play_demo, "with a draft, Enter sends");
    screen.model.composer.discard();
    screen.effects.clear();
    screen.enter();
    assert!(screen.model.play_demo && screen.effects.contains(&ScreenEffect::Quit));
}

#[test]
fn models_of_a_local_server_are_picked_from_the_list() {
    let mut screen = first_run();
    let server = LocalServer {
        name: "Ollama".to_owned(),
        models: vec!["qwen3-coder".to_owned()],
        provider: "ollama".to_owned(),
    };
    reply(&mut screen, HostRequest::LocalServers(vec![server]));
    screen.key(KeyCode::Up);
    snapshots("first_run_found", &mut screen);
    screen.effects.clear();
    screen.enter();
    assert!(screen.effects.contains(&ScreenEffect::Ask(HostRequest::Models(ModelList::default()))));
    assert!(screen.model.overlay.is_some());
}

#[test]
fn the_list_of_models_is_no_dead_end_without_one() {
    let mut screen = first_run();
    screen.write("/model").enter();
    reply(&mut screen, HostRequest::Models(ModelList::default()));
    snapshots("model_none", &mut screen);
    screen.enter();
    assert!(screen.model.play_demo);
}

#[test]
fn a_long_list_moves_by_pages_to_its_ends_and_with_the_wheel() {
    let mut screen = TestScreen::new();
    for number in 0..60 {
        screen.model.composer.remember(format!("prompt {number}").as_str().into());
    }
    let selected = |screen: &TestScreen| match &screen.model.overlay {
        Some(Overlay::History(search)) => search.selected,
        Some(Overlay::Agents(list)) => list.selected,
        overlay => panic!("{overlay:?}"),
    };
    // The newest prompt is at the lower end.
    screen.ctrl('r').draw().key(KeyCode::PageUp);
    let page = selected(&screen);
    assert!(page > 5, "{page}");
    screen.key(KeyCode::PageUp).key(KeyCode::PageDown);
    assert_eq!(selected(&screen), page);
    screen.key(KeyCode::Home);
    assert_eq!(selected(&screen), 59);
    screen.key(KeyCode::PageUp);
    assert_eq!(selected(&screen), 59, "no further than the end");
    screen.key(KeyCode::End);
    assert_eq!(selected(&screen), 0);
    wheel(&mut screen, MouseEventKind::ScrollUp);
    assert_eq!(selected(&screen), 3);
    screen.esc().wait(300);

    screen.write("/agents").enter();
    let agents = (0..40).map(|number| agent_choice(&format!("agent-{number:02}"))).collect();
    screen.send(Msg::Host { reply: HostRequest::Agents(agents), at: Duration::from_secs(20) });
    screen.draw().key(KeyCode::End);
    assert_eq!(selected(&screen), 39);
    screen.key(KeyCode::PageUp);
    assert!((20..36).contains(&selected(&screen)), "{}", selected(&screen));
    screen.key(KeyCode::Home);
    wheel(&mut screen, MouseEventKind::ScrollDown);
    assert_eq!(selected(&screen), 3);
}

#[test]
fn the_menus_of_the_prompt_go_by_pages_to_the_ends_and_by_the_wheel() {
    let selected = |screen: &TestScreen| screen.model.composer.menu.as_ref().unwrap().selected;
    let mut screen = TestScreen::new();
    screen.write("/").draw().key(KeyCode::End);
    assert_eq!(selected(&screen), COMMANDS.len() - 1);
    screen.key(KeyCode::PageUp);
    assert_eq!(selected(&screen), COMMANDS.len() - 10);
    screen.key(KeyCode::Home).key(KeyCode::PageDown);
    assert_eq!(selected(&screen), 9);
    wheel(&mut screen, MouseEventKind::ScrollDown);
    assert_eq!(selected(&screen), 12);
}

fn wheel(screen: &mut TestScreen, kind: MouseEventKind) {
    let event = MouseEvent { kind, column: 5, row: 5, modifiers: KeyModifiers::NONE };
    let (hit, at) = (HitTarget::default(), screen.at);
    screen.send(Msg::Mouse { event, hit, at });
}
