//! Values that name a built-in part of the program, such as a reporter. An option that would
//! otherwise load a module loads none with one of these, so a rule for the program covers it.

use super::Spelling;

/// An option with built-in values.
struct BuiltInValues {
    /// Programs, separated by blanks.
    programs: &'static str,
    /// The full option and its other names.
    options: &'static str,
    /// The program's built-in values. None writes a file of the caller's choice.
    values: &'static str,
    /// The option takes all words up to the next option, also after `=`.
    takes_many: bool,
}

const fn one(programs: &'static str, options: &'static str, values: &'static str) -> BuiltInValues {
    BuiltInValues { programs, options, values, takes_many: false }
}

const fn many(
    programs: &'static str,
    options: &'static str,
    values: &'static str,
) -> BuiltInValues {
    BuiltInValues { programs, options, values, takes_many: true }
}

const BUILT_IN: &[BuiltInValues] = &[
    one(
        "mocha",
        "-R --reporter",
        "base doc dot json json-stream landing list markdown min nyan progress spec tap xunit",
    ),
    one("jest", "--env --testEnvironment --test-environment", "node jsdom"),
    many("jest", "--reporters", "agent default github-actions summary"),
    many(
        "jest",
        "--coverageReporters --coverage-reporters",
        "clover cobertura html html-spa json json-summary lcov lcovonly none teamcity text text-lcov text-summary",
    ),
    one("vitest", "--environment", "edge-runtime happy-dom jsdom node"),
    one(
        "vitest",
        "--reporter",
        "default dot github-actions hanging-process json junit tap tap-flat tree verbose",
    ),
    one(
        "eslint",
        "-f --format",
        "checkstyle compact html jslint-xml json json-with-metadata junit stylish tap unix visualstudio",
    ),
    one(
        "pylint",
        "-f --output-format",
        "colorized github json json2 msvs no-header parseable text",
    ),
];

/// Whether `word` is such an option with such a value, joined with `=` or in the words that follow.
pub fn is_built_in(name: &str, word: &str, following: &[Spelling<'_>]) -> bool {
    let (option, joined) = match word.split_once('=') {
        // After a letter the sign may be part of the value.
        Some((option, value)) if option.starts_with("--") => (option, Some(value)),
        _ => (word, None),
    };
    let lists = |list: &str, text: &str| list.split_whitespace().any(|known| known == text);
    let mut fitting = BUILT_IN.iter().filter(|it| lists(it.programs, name));
    let Some(found) = fitting.find(|it| lists(it.options, option)) else { return false };
    let is_option = |word: &&Spelling<'_>| word.exact().is_some_and(|it| it.starts_with('-'));
    let next = following.iter().take_while(|word| !is_option(word)).map(Spelling::exact);
    let next: Vec<Option<&str>> = match (found.takes_many, joined) {
        (true, _) => next.collect(),
        (false, Some(_)) => Vec::new(),
        (false, None) => next.take(1).collect(),
    };
    let values: Vec<Option<&str>> = joined.map(Some).into_iter().chain(next).collect();
    let is_known = |value: &Option<&str>| value.is_some_and(|it| lists(found.values, it));
    !values.is_empty() && values.iter().all(is_known)
}
