//! Colours by role. A theme is a small TOML file; views name roles, never colours.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use serde::Deserialize;
use toml::Spanned;

use crate::protocol::EnvOverlay;

mod depth;
mod glyphs;
mod ink;
mod terminal_background;

pub use depth::ColorDepth;
pub use glyphs::{ASCII, Glyph, Glyphs, UNICODE};
pub use ink::on_ground;
pub use terminal_background::TerminalBackground;

/// The built-in theme files.
const BUILT_IN: [(&str, &str); 5] = [
    ("terminal", include_str!("../../assets/themes/terminal.toml")),
    ("dark", include_str!("../../assets/themes/dark.toml")),
    ("light", include_str!("../../assets/themes/light.toml")),
    ("contrast-dark", include_str!("../../assets/themes/contrast-dark.toml")),
    ("contrast-light", include_str!("../../assets/themes/contrast-light.toml")),
];

/// A theme that cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    #[error("unknown theme {name:?}; choose one of {names}")]
    Unknown { name: String, names: String },
    #[error("cannot read theme {name:?}: {reason}")]
    Invalid { name: String, reason: String },
}

/// Declares the roles once: as fields of `Theme`, and by name for the files.
macro_rules! roles {
    ($($(#[$doc:meta])* $field:ident = $name:literal,)*) => {
        /// A style for each role, the agents' colours, and the characters to draw with.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Theme {
            $($(#[$doc])* pub $field: Style,)*
            pub glyphs: &'static Glyphs,
            agents: Vec<Color>,
            /// The agents' colours on a terminal with 16.
            agents16: Vec<Color>,
            depth: ColorDepth,
            id: u64,
        }

        impl Theme {
            fn from_styles(mut style_of: impl FnMut(&'static str) -> Style) -> Self {
                Self {
                    $($field: style_of($name),)*
                    glyphs: &UNICODE,
                    agents: Vec::new(),
                    agents16: Vec::new(),
                    depth: ColorDepth::True,
                    id: 0,
                }
            }

            /// The style of a role by its name in a file.
            fn style_mut(&mut self, role: &str) -> Option<&mut Style> {
                match role {
                    $($name => Some(&mut self.$field),)*
                    _ => None,
                }
            }

            fn styles_mut(&mut self) -> impl Iterator<Item = &mut Style> {
                [$(&mut self.$field,)*].into_iter()
            }
        }

        /// The roles' names in a theme file.
        const ROLES: &[&str] = &[$($name,)*];
    };
}

roles! {
    text = "text",
    /// The ground of the whole screen; without one, it is the terminal's.
    ground = "ground",
    /// Secondary text.
    dim = "dim",
    /// Focus and prompt.
    accent = "accent",
    /// Something needs an answer from the user.
    question = "question",
    good = "good",
    bad = "bad",
    cancelled = "cancelled",
    /// The ground of what the user wrote.
    band = "band",
    /// Signs of a diff.
    added = "added",
    removed = "removed",
    /// Changed lines of a diff, and the changed words in them.
    added_line = "added-line",
    removed_line = "removed-line",
    added_word = "added-word",
    removed_word = "removed-word",
    /// Code without a known language, and code within prose.
    code = "code",
    keyword = "keyword",
    string = "string",
    comment = "comment",
    number = "number",
    function = "function",
    type_ = "type",
    heading = "heading",
    link = "link",
    quote = "quote",
    selection = "selection",
    /// The header of the focused pane.
    focus = "focus",
    /// Something dangerous, such as `bypassPermissions`.
    alarm = "alarm",
}

/// A parsed theme file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThemeFile {
    /// The built-in file that has whatever this one leaves out.
    base: Option<Spanned<String>>,
    /// Role to style: colour names, `#rrggbb`, `on COLOUR`, and modifiers.
    #[serde(default)]
    styles: BTreeMap<String, Spanned<String>>,
    agents: Option<Spanned<Vec<String>>>,
    agents16: Option<Spanned<Vec<String>>>,
}

impl Default for Theme {
    fn default() -> Self {
        Self::named("terminal").unwrap_or_else(|_| Self::no_color())
    }
}

impl Theme {
    /// Loads a built-in theme file.
    pub fn named(name: &str) -> Result<Self, ThemeError> {
        let Some((_, file)) = BUILT_IN.iter().find(|(known, _)| *known == name) else {
            let names = BUILT_IN.map(|(name, _)| name).join(", ");
            return Err(ThemeError::Unknown { name: name.to_owned(), names });
        };
        Self::parse(file).map_err(|reason| ThemeError::Invalid { name: name.to_owned(), reason })
    }

    /// Parses a theme file. What it leaves out is taken from its base, `dark` if it names none.
    ///
    /// # Errors
    /// A line number, a colon, and what is wrong there and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let line_of = |at: usize| text[..at].matches('\n').count() + 1;
        let file: ThemeFile = toml::from_str(text).map_err(|error| {
            let line = line_of(error.span().map_or(0, |span| span.start));
            format!("{line}: {}", error.message().replace('\n', " "))
        })?;
        let whole = file.styles.len() == ROLES.len() && file.agents.is_some();
        let mut theme = match &file.base {
            None if whole && file.agents16.is_some() => Self::from_styles(|_| Style::new()),
            None => Self::named("dark").map_err(|error| error.to_string())?,
            Some(base) => Self::named(base.get_ref()).map_err(|error| {
                let why = error.to_string().replacen("theme", "base", 1);
                format!("{}: {why}", line_of(base.span().start))
            })?,
        };
        for (role, style) in &file.styles {
            let wrong = |why| format!("{}: {why}", line_of(style.span().start));
            let Some(known) = theme.style_mut(role) else {
                let roles = ROLES.join(", ");
                return Err(wrong(format!("unknown role {role:?}; choose from {roles}")));
            };
            *known = parse_style(style.get_ref()).map_err(|why| wrong(format!("{role}: {why}")))?;
        }
        let colors = |name: &str, list: &Spanned<Vec<String>>| {
            parse_colors(list.get_ref())
                .map_err(|why| format!("{}: {name}: {why}", line_of(list.span().start)))
        };
        if let Some(list) = &file.agents {
            theme.agents = colors("agents", list)?;
        }
        if let Some(list) = &file.agents16 {
            theme.agents16 = colors("agents16", list)?;
        }
        theme.styles_mut().for_each(ink::add_ink);
        theme.update_id();
        Ok(theme)
    }

    /// A theme without colours: only modifiers distinguish the roles, and every state has its own sign
    /// and word anyway.
    pub fn no_color() -> Self {
        let mut theme = Self::from_styles(|role| {
            Style::new().add_modifier(match role {
                "dim" | "cancelled" | "comment" | "quote" => Modifier::DIM,
                "accent" | "band" | "question" | "bad" | "code" | "keyword" => Modifier::BOLD,
                "heading" => Modifier::BOLD | Modifier::UNDERLINED,
                "alarm" => Modifier::BOLD | Modifier::REVERSED,
                "link" | "added-word" | "removed-word" => Modifier::UNDERLINED,
                "selection" | "focus" => Modifier::REVERSED,
                _ => Modifier::empty(),
            })
        });
        theme.depth = ColorDepth::None;
        theme.update_id();
        theme
    }

    /// Adapts the theme to the terminal's colours and characters.
    pub fn for_terminal(mut self, env: &EnvOverlay) -> Self {
        let glyphs = Glyphs::for_terminal(env);
        let depth = ColorDepth::from_env(env);
        if depth == ColorDepth::None {
            self = Self::no_color();
        }
        self.styles_mut().for_each(ink::remove_ink);
        self.fit_grounds(depth);
        for style in self.styles_mut() {
            style.fg = style.fg.and_then(|color| depth.nearest(color));
            style.bg = style.bg.and_then(|color| depth.nearest(color));
            ink::add_ink(style);
        }
        self.depth = depth;
        self.glyphs = glyphs;
        self.update_id();
        self
    }

    /// Replaces the grounds, whose faint colours have no near one on a terminal with few: with 256,
    /// by those of the same hue; with 16, by colours of the text.
    fn fit_grounds(&mut self, depth: ColorDepth) {
        if depth >= ColorDepth::True {
            return;
        }
        for (line, word, sign) in [
            (&mut self.added_line, &mut self.added_word, self.added),
            (&mut self.removed_line, &mut self.removed_word, self.removed),
        ] {
            let Some(ground) = line.bg else { continue };
            if depth == ColorDepth::Ansi256 {
                let (faint, strong) = depth::tints(ground);
                (*line, *word) = (line.bg(faint), word.bg(strong));
            } else {
                (*line, *word) = (sign, sign.add_modifier(Modifier::BOLD | Modifier::UNDERLINED));
            }
        }
        if depth <= ColorDepth::Ansi16
            && let Some(ground) = self.ground.bg.and_then(depth::nearest_extreme)
        {
            let mut plain = Style::new().bg(ground);
            ink::add_ink(&mut plain);
            self.ground = Style::new().bg(ground);
            self.text.fg = plain.fg;
        }
        if depth <= ColorDepth::Ansi16 && self.band.bg.is_some() {
            self.band = Style::new().add_modifier(Modifier::BOLD);
        }
    }

    /// The colour depth that the theme is adapted to.
    pub fn depth(&self) -> ColorDepth {
        self.depth
    }

    /// A line in styles from elsewhere, in colours that the terminal has.
    pub fn fitted(&self, mut line: Line<'static>) -> Line<'static> {
        for span in &mut line.spans {
            span.style.fg = span.style.fg.and_then(|color| self.depth.nearest(color));
            span.style.bg = span.style.bg.and_then(|color| self.depth.nearest(color));
        }
        line
    }

    /// A hash of the theme, as a key for caches of drawn text.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The colour of an agent: the one in its definition, else the `index`-th of the list, modulo its
    /// length.
    pub fn agent(&self, color: Option<&str>, index: usize) -> Style {
        let list = match self.depth {
            ColorDepth::None => return Style::new(),
            ColorDepth::Ansi16 => &self.agents16,
            ColorDepth::Ansi256 | ColorDepth::True => &self.agents,
        };
        let named = color.and_then(|name| self.agent_color(name));
        let in_turn = || list.get(index % list.len().max(1)).copied();
        match named.or_else(in_turn).and_then(|color| self.depth.nearest(color)) {
            Some(color) => Style::new().fg(color),
            None => Style::new(),
        }
    }

    /// Parses a definition's colour: a name from the list, an ANSI name or `#rrggbb`.
    fn agent_color(&self, name: &str) -> Option<Color> {
        const NAMES: [&str; 8] =
            ["sky", "orange", "green", "purple", "yellow", "vermilion", "blue", "grey"];
        let name = name.trim().to_ascii_lowercase();
        let at = match name.as_str() {
            "gray" => Some(7),
            "pink" => Some(3),
            "red" if self.depth != ColorDepth::Ansi16 => Some(5),
            "cyan" if self.depth != ColorDepth::Ansi16 => Some(0),
            _ => NAMES.iter().position(|known| *known == name),
        };
        match at {
            Some(at) => self.agents.get(at).copied(),
            None => name.parse().ok().filter(|color| *color != Color::Reset),
        }
    }

    fn update_id(&mut self) {
        let mut hasher = DefaultHasher::new();
        let styles: Vec<Style> = self.styles_mut().map(|style| *style).collect();
        styles.hash(&mut hasher);
        self.agents.hash(&mut hasher);
        self.glyphs.name.hash(&mut hasher);
        self.id = hasher.finish();
    }
}

fn parse_colors(names: &[String]) -> Result<Vec<Color>, String> {
    names.iter().map(|name| parse_color(name)).collect()
}

fn parse_color(name: &str) -> Result<Color, String> {
    name.parse().map_err(|_| format!("unknown colour {name:?}; use an ANSI name, 0-255 or #rrggbb"))
}

/// Parses `cyan bold`, `black on yellow` or `dim`.
fn parse_style(words: &str) -> Result<Style, String> {
    let mut style = Style::new();
    let mut words = words.split_whitespace();
    while let Some(word) = words.next() {
        style = match word {
            "bold" => style.add_modifier(Modifier::BOLD),
            "dim" => style.add_modifier(Modifier::DIM),
            "italic" => style.add_modifier(Modifier::ITALIC),
            "underlined" => style.add_modifier(Modifier::UNDERLINED),
            "reversed" => style.add_modifier(Modifier::REVERSED),
            "on" => style.bg(parse_color(words.next().unwrap_or_default())?),
            color => style.fg(parse_color(color)?),
        };
    }
    Ok(style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::is_agent_color;

    fn env(pairs: &[(&str, &str)]) -> EnvOverlay {
        pairs.iter().copied().collect()
    }

    fn colors(theme: &mut Theme) -> Vec<Color> {
        theme.styles_mut().flat_map(|style| [style.fg, style.bg]).flatten().collect()
    }

    #[test]
    fn a_definition_is_warned_about_exactly_the_colours_that_no_pane_can_have() {
        let theme = Theme::default();
        let names = "sky orange green purple yellow vermilion blue grey gray pink red cyan black magenta white \
                     darkgray lightred lightgreen lightyellow lightblue lightmagenta lightcyan lightblack Bright-Red 7 255 #12aBc9";
        for name in names.split_whitespace() {
            assert!(is_agent_color(name) && theme.agent_color(name).is_some(), "{name}");
        }
        for name in ["purpel", "256", "-1", "#12", "reset", ""] {
            assert!(!is_agent_color(name) && theme.agent_color(name).is_none(), "{name}");
        }
    }

    #[test]
    fn every_built_in_theme_is_valid_and_names_every_role() {
        for (name, file) in BUILT_IN {
            let theme = Theme::named(name).unwrap();
            assert_eq!((theme.agents.len(), theme.agents16.len()), (8, 6), "{name}");
            let file: ThemeFile = toml::from_str(file).unwrap();
            let whole = file.styles.len() == ROLES.len();
            assert!(whole || file.base.is_some(), "{name} misses a role");
        }
    }

    /// The contrast of two colours as WCAG defines it, from 1 to 21.
    fn contrast(a: [u8; 3], b: [u8; 3]) -> f32 {
        let luminance = |color: [u8; 3]| {
            let [red, green, blue] = color.map(|part| {
                let part = f32::from(part) / 255.0;
                if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
            });
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_colour_of_a_designed_theme_can_be_read_on_its_ground() {
        for (name, ground, least) in [
            ("dark", [30, 30, 36], 4.5),
            ("light", [251, 251, 250], 4.5),
            ("contrast-dark", [0, 0, 0], 7.0),
            ("contrast-light", [255, 255, 255], 7.0),
        ] {
            let mut theme = Theme::named(name).unwrap();
            let styles: Vec<Style> = theme.styles_mut().map(|style| *style).collect();
            let plain = styles.iter().filter(|style| style.bg.is_none());
            let own = theme.ground.bg;
            let [red, green, blue] = ground;
            assert!(own.is_none_or(|own| own == Color::Rgb(red, green, blue)), "{name}");
            assert_eq!(own.is_some(), name.starts_with("contrast"), "{name}");
            for color in plain.filter_map(|style| style.fg).chain(theme.agents.clone()) {
                let Color::Rgb(r, g, b) = color else { panic!("{name}: {color}") };
                let contrast = contrast([r, g, b], ground);
                assert!(contrast >= least, "{name}: {color} has {contrast}");
            }
        }
    }

    #[test]
    fn the_default_theme_leaves_the_colours_to_the_terminal() {
        let free = |color: &Color| matches!(color, Color::Rgb(..) | Color::Indexed(_));
        assert!(!colors(&mut Theme::default()).iter().any(free));
    }

    #[test]
    fn no_ground_leaves_its_text_to_the_terminal() {
        let own = "[styles]\nband = \"on blue\"\nselection = \"on #ffffff\"\nfocus = \"on 230\"\n";
        let built_in = BUILT_IN.map(|(name, _)| Theme::named(name).unwrap());
        for theme in built_in.into_iter().chain([Theme::parse(own).unwrap()]) {
            for variables in [
                &[("TERM", "xterm"), ("COLORTERM", "truecolor")][..],
                &[("TERM", "xterm-256color")],
                &[("TERM", "xterm")],
                &[("NO_COLOR", "1")],
            ] {
                let mut theme = theme.clone().for_terminal(&env(variables));
                for style in theme.styles_mut() {
                    assert!(style.bg.is_none() || style.fg.is_some(), "{variables:?}: {style:?}");
                    assert!(style.bg.is_none() || style.bg != style.fg, "{variables:?}: {style:?}");
                }
            }
        }
    }

    #[test]
    fn no_color_has_none_and_keeps_the_signs_apart() {
        let mut theme = Theme::named("dark").unwrap().for_terminal(&env(&[("NO_COLOR", "1")]));
        assert_eq!(colors(&mut theme), []);
        assert_eq!(theme.agent(Some("sky"), 0), Style::new());
        assert_eq!(theme.focus, Style::new().add_modifier(Modifier::REVERSED));
        assert_ne!(theme.dim, theme.text);
        assert_eq!(theme.added_word, Style::new().add_modifier(Modifier::UNDERLINED));
    }

    #[test]
    fn a_poor_terminal_gets_the_nearest_colours() {
        let small = env(&[("TERM", "xterm")]);
        let mut theme = Theme::named("dark").unwrap().for_terminal(&small);
        let rich = |color: &Color| matches!(color, Color::Rgb(..) | Color::Indexed(_));
        assert!(!colors(&mut theme).iter().any(rich));
        assert_eq!(theme.agent(None, 0), Style::new().fg(Color::Cyan));
        assert_eq!(theme.agent(None, 7), Style::new().fg(Color::Yellow));
    }

    #[test]
    fn agents_take_their_own_colour_or_the_next_of_the_list() {
        let full = env(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]);
        let theme = Theme::named("terminal").unwrap().for_terminal(&full);
        assert_eq!(theme.agent(None, 8), theme.agent(None, 0));
        assert_eq!(theme.agent(Some("orange"), 0), theme.agent(None, 1));
        assert_eq!(theme.agent(Some("#010203"), 0), Style::new().fg(Color::Rgb(1, 2, 3)));
        assert_eq!(theme.agent(Some("no colour"), 2), theme.agent(None, 2));
    }

    #[test]
    fn a_change_of_theme_changes_its_id() {
        let (dark, light) = (Theme::named("dark").unwrap(), Theme::named("light").unwrap());
        assert_ne!(dark.id(), light.id());
        assert_ne!(dark.id(), dark.clone().for_terminal(&env(&[("TERM", "linux")])).id());
        assert_eq!(dark.id(), Theme::named("dark").unwrap().id());
    }
}
