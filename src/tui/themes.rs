//! The themes that can be chosen: the built-in ones and the user's files.

use crate::protocol::EnvOverlay;
use crate::tui::theme::{ColorDepth, TerminalBackground, Theme, ThemeError};

/// The themes that look at the terminal's background, with their files for a dark and a light one.
const BY_BACKGROUND: [(&str, &str, &str); 2] =
    [("auto", "dark", "light"), ("contrast", "contrast-dark", "contrast-light")];

/// The theme of the terminal's own 16 colours, and its name in older configuration files.
const TERMINAL: [&str; 2] = ["terminal", "default"];

/// A theme file of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeSource {
    /// The file's name without `.toml`.
    pub name: String,
    /// The file as shown in messages.
    pub path: String,
    /// Its text, or why it cannot be read.
    pub text: Result<String, String>,
}

/// A theme to choose, with a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeChoice {
    pub name: String,
    pub about: String,
}

/// All themes, for one terminal.
pub struct ThemeSet {
    env: EnvOverlay,
    own: Vec<(ThemeChoice, Theme)>,
    /// Names of the user's files with mistakes.
    broken: Vec<String>,
}

impl ThemeSet {
    /// Parses the user's files. Returns the name of each one with mistakes, and a line about it.
    pub fn new(sources: &[ThemeSource], env: &EnvOverlay) -> (Self, Vec<(String, String)>) {
        let mut set = Self { env: env.clone(), own: Vec::new(), broken: Vec::new() };
        let mut problems = Vec::new();
        for source in sources {
            let parsed = source.text.as_ref().map_err(|why| format!(": {why}"));
            let parsed =
                parsed.and_then(|text| Theme::parse(text).map_err(|why| format!(":{why}")));
            match parsed {
                Ok(theme) => {
                    let about = format!("your {}", source.path);
                    set.own.push((ThemeChoice { name: source.name.clone(), about }, theme));
                }
                Err(why) => {
                    let line = format!("{}{why} · not used as a theme", source.path);
                    problems.push((source.name.clone(), line));
                    set.broken.push(source.name.clone());
                }
            }
        }
        (set, problems)
    }

    /// The themes in the order of the list.
    pub fn choices(&self) -> Vec<ThemeChoice> {
        let built_in = [
            ("auto", "dark or light, like the terminal"),
            ("dark", "for a dark background"),
            ("light", "for a light background"),
            ("contrast", "high contrast, dark or light"),
            ("terminal", "the terminal's own 16 colours"),
        ];
        let built_in = built_in.into_iter();
        let built_in = built_in.filter(|(name, _)| self.own(name).is_none());
        let choice = |(name, about): (&str, &str)| ThemeChoice {
            name: name.to_owned(),
            about: about.to_owned(),
        };
        built_in.map(choice).chain(self.own.iter().map(|(choice, _)| choice.clone())).collect()
    }

    /// The theme of this name for this background, adapted to the terminal. An empty name is `auto`.
    pub fn get(&self, name: &str, background: TerminalBackground) -> Result<Theme, ThemeError> {
        let name = if name.is_empty() || self.is_broken(name) { "auto" } else { name };
        let theme = match self.own(name) {
            Some(theme) => theme.clone(),
            None => Theme::named(self.file(name, background)).map_err(|error| match error {
                ThemeError::Unknown { name, .. } => {
                    ThemeError::Unknown { name, names: self.names() }
                }
                error => error,
            })?,
        };
        Ok(theme.for_terminal(&self.env))
    }

    fn own(&self, name: &str) -> Option<&Theme> {
        self.own.iter().find(|(choice, _)| choice.name == name).map(|(_, theme)| theme)
    }

    fn is_broken(&self, name: &str) -> bool {
        self.broken.iter().any(|broken| broken == name)
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.choices().into_iter().map(|choice| choice.name).collect();
        names.join(", ")
    }

    /// The built-in file behind a name. The designed themes need a terminal with all colours, so
    /// elsewhere `auto` leaves them to the terminal.
    fn file<'a>(&self, name: &'a str, background: TerminalBackground) -> &'a str {
        let rich = ColorDepth::from_env(&self.env) == ColorDepth::True;
        if TERMINAL.contains(&name) || (name == "auto" && !rich) {
            return TERMINAL[0];
        }
        match (BY_BACKGROUND.iter().find(|(known, ..)| *known == name), background) {
            (Some((_, dark, _)), TerminalBackground::Dark) => dark,
            (Some((_, _, light)), TerminalBackground::Light) => light,
            (None, _) => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(own: &[(&str, &str)], env: &[(&str, &str)]) -> (ThemeSet, Vec<String>) {
        let source = |(name, text): &(&str, &str)| ThemeSource {
            name: (*name).to_owned(),
            path: format!("~/.caliban/themes/{name}.toml"),
            text: Ok((*text).to_owned()),
        };
        let sources: Vec<_> = own.iter().map(source).collect();
        let (set, problems) = ThemeSet::new(&sources, &env.iter().copied().collect());
        (set, problems.into_iter().map(|(_, line)| line).collect())
    }

    const RICH: &[(&str, &str)] = &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")];

    #[test]
    fn auto_follows_the_background_where_there_are_all_colours() {
        let (rich, _) = set(&[], RICH);
        let dark = Theme::named("dark").unwrap();
        for name in ["", "auto"] {
            assert_eq!(rich.get(name, TerminalBackground::Dark).unwrap().accent, dark.accent);
            let light = rich.get(name, TerminalBackground::Light).unwrap();
            assert_eq!(light.accent, Theme::named("light").unwrap().accent);
        }
        let (poor, _) = set(&[], &[("TERM", "xterm-256color")]);
        let own = poor.get("", TerminalBackground::Light).unwrap();
        assert_eq!(own.accent, Theme::named("terminal").unwrap().accent);
        assert_eq!(poor.get("default", TerminalBackground::Light).unwrap(), own);
    }

    #[test]
    fn a_users_file_takes_what_it_leaves_out_from_its_base() {
        let file = "base = \"light\"\n[styles]\naccent = \"#010203 bold\"\n";
        let (set, problems) = set(&[("mine", file)], RICH);
        assert_eq!(problems, [""; 0]);
        let mine = set.get("mine", TerminalBackground::Dark).unwrap();
        let light = Theme::named("light").unwrap();
        assert_ne!(mine.accent, light.accent);
        assert_eq!(mine.code, light.code);
        assert_eq!(mine.agent(None, 3), light.agent(None, 3));
        assert_eq!(set.choices().last().unwrap().name, "mine");
    }

    #[test]
    fn a_file_with_mistakes_is_told_in_a_line_and_the_default_is_used() {
        for (file, line, why) in [
            ("[styles]\ndim = \"mauve\"\n", 2, "dim: unknown colour \"mauve\"; use an ANSI name"),
            (
                "\n[styles]\ndim = \"dim\"\ndimm = \"dim\"\n",
                4,
                "unknown role \"dimm\"; choose from text",
            ),
            ("base = \"neon\"\n", 1, "unknown base \"neon\"; choose one of"),
            ("colour = 1\n", 1, "unknown field `colour`, expected one of"),
            ("[styles\n", 1, ""),
            ("agents = [\"pale\"]\n", 1, "agents: unknown colour \"pale\""),
            ("[styles]\nfocus = \"on\"\n", 2, "focus: unknown colour \"\""),
        ] {
            let (set, problems) = set(&[("mine", file)], RICH);
            let [problem] = &problems[..] else { panic!("{file}: {problems:?}") };
            let start = format!("~/.caliban/themes/mine.toml:{line}: {why}");
            assert!(problem.starts_with(&start), "{problem}");
            assert!(!problem.contains('\n'), "{problem}");
            let shown = set.get("mine", TerminalBackground::Dark).unwrap();
            assert_eq!(shown, set.get("auto", TerminalBackground::Dark).unwrap());
            assert!(set.choices().iter().all(|choice| choice.name != "mine"));
        }
    }

    #[test]
    fn an_unknown_theme_is_told_the_names() {
        let (set, _) = set(&[("mine", "")], RICH);
        let error = set.get("neon", TerminalBackground::Dark).unwrap_err().to_string();
        let names = "auto, dark, light, contrast, terminal, mine";
        assert_eq!(error, format!("unknown theme \"neon\"; choose one of {names}"));
    }
}
