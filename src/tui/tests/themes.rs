//! `/theme` and what the terminal says about its background.

use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use crate::protocol::EnvOverlay;
use crate::tui::host::{HostRequest, KeptChoice};
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::testing::TestScreen;
use crate::tui::tests::pictures::picture;
use crate::tui::text::Highlighter;
use crate::tui::theme::{TerminalBackground, Theme};
use crate::tui::themes::ThemeSet;
use crate::tui::view::View;

use super::seen::asked;

/// A screen with all themes, on a terminal with these variables besides those for all colours.
fn themed(variables: &[(&str, &str)]) -> (TestScreen, View) {
    let rich = [("TERM", "xterm-256color"), ("COLORTERM", "truecolor")];
    let env: EnvOverlay = rich.iter().chain(variables).copied().collect();
    let (themes, _) = ThemeSet::new(&[], &env);
    let mut screen = TestScreen::new();
    screen.model.themes.choices = themes.choices();
    screen.model.settings.env = env;
    let view = View::with_themes(themes, &screen.model, Highlighter::off()).unwrap();
    (screen, view)
}

/// The colour of the prompt's sign, which is the accent.
fn accent(screen: &TestScreen, view: &mut View) -> Option<Color> {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| view.draw(&screen.model, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let below = buffer.content.iter().rev().find(|cell| "›❯".contains(cell.symbol()));
    below.map(|cell| cell.fg)
}

fn accent_of(name: &str) -> Option<Color> {
    Theme::named(name).unwrap().accent.fg
}

#[test]
fn the_list_previews_enter_keeps_and_esc_goes_back() {
    let (mut screen, mut view) = themed(&[]);
    assert_eq!(accent(&screen, &mut view), accent_of("dark"));
    screen.write("/theme").enter();
    screen.key(KeyCode::Down).key(KeyCode::Down);
    assert_eq!(accent(&screen, &mut view), accent_of("light"), "a preview");
    screen.esc();
    assert_eq!(accent(&screen, &mut view), accent_of("dark"));
    screen.wait(1000).write("/theme").enter().write("contr");
    assert_eq!(accent(&screen, &mut view), accent_of("contrast-dark"));
    screen.enter();
    assert_eq!(accent(&screen, &mut view), accent_of("contrast-dark"));
    assert_eq!(screen.notice(), "theme contrast");
    let (choice, result) = (KeptChoice::Theme("contrast".to_owned()), Ok(None));
    let kept = ScreenEffect::Ask(HostRequest::Keep { choice: choice.clone(), result });
    assert!(screen.effects.contains(&kept), "{:?}", screen.effects);
    let reply = HostRequest::Keep { choice: choice.clone(), result: Ok(None) };
    screen.send(Msg::Host { reply, at: screen.model.now });
    assert_eq!(screen.notice(), "theme contrast, for later sessions too");
    for (result, line) in [
        (Ok(Some("the reason".to_owned())), " · the reason"),
        (Err("cannot write x".to_owned()), " only: cannot write x"),
    ] {
        let reply = HostRequest::Keep { choice: choice.clone(), result };
        screen.send(Msg::Host { reply, at: screen.model.now });
        let shown = picture(&mut screen, 80, 24);
        assert!(shown.contains(&format!("theme contrast for this session{line}")), "{shown}");
    }
    screen.write("/theme neon").enter();
    assert_eq!(screen.notice(), "there is no theme neon · /theme lists them");
    screen.write("/theme terminal").enter();
    assert_eq!(accent(&screen, &mut view), accent_of("terminal"));
}

#[test]
fn the_terminal_corrects_what_the_environment_says() {
    let (mut screen, mut view) = themed(&[("COLORFGBG", "0;15")]);
    assert_eq!(accent(&screen, &mut view), accent_of("light"));
    screen.send(Msg::TerminalBackground(TerminalBackground::Dark));
    assert_eq!(accent(&screen, &mut view), accent_of("dark"));
    screen.write("/theme light").enter().send(Msg::TerminalBackground(TerminalBackground::Dark));
    assert_eq!(accent(&screen, &mut view), accent_of("light"), "a theme that was chosen stays");
}

#[test]
fn no_color_has_no_theme() {
    let (mut screen, mut view) = themed(&[("NO_COLOR", "1")]);
    assert_eq!(accent(&screen, &mut view), Some(Color::Reset));
    screen
        .write("/theme contrast")
        .enter()
        .send(Msg::TerminalBackground(TerminalBackground::Light));
    assert_eq!(accent(&screen, &mut view), Some(Color::Reset));
}

#[test]
fn a_theme_of_high_contrast_has_its_own_ground_everywhere() {
    for (name, ground) in [("contrast-dark", (0, 0, 0)), ("contrast-light", (255, 255, 255))] {
        let ground = Color::Rgb(ground.0, ground.1, ground.2);
        let screen = asked(|_| {});
        let mut view = View::new(Theme::named(name).unwrap(), Highlighter::off());
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| view.draw(&screen.model, frame)).unwrap();
        let cells = terminal.backend().buffer().content.clone();
        let bare = cells.iter().find(|cell| cell.bg == Color::Reset || cell.fg == Color::Reset);
        assert_eq!(bare, None, "{name}");
        assert!(cells.iter().filter(|cell| cell.bg == ground).count() > 1000, "{name}");
    }
}
