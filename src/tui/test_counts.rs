//! Counts tests in the output of commands: only from lines that a test runner is known to print.

/// Tests, or packages of tests where a runner counts no tests, that a command ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    pub passed: usize,
    pub failed: usize,
    /// Whether packages are counted.
    pub packages: bool,
}

impl TestCounts {
    /// Counts the tests in a command's output, whose end is the summary of its last run. `None` if
    /// no runner is recognized, or no test ran.
    pub fn parse(output: &str) -> Option<Self> {
        let mut cargo = Self::default();
        let mut go = Self::default();
        let mut go_packages = Self { packages: true, ..Self::default() };
        let mut summary = None;
        let mut python = None;
        for line in output.lines() {
            let text = line.trim();
            if line.starts_with("ok  \t") && !line.ends_with("[no tests to run]") {
                go_packages.passed += 1;
            } else if line.starts_with("FAIL\t") {
                go_packages.failed += 1;
            } else if !text.bytes().any(|byte| byte.is_ascii_digit()) {
                // `OK` and `FAILED` behind the number of Python's tests.
                match (text, python) {
                    ("OK", Some(ran)) => summary = Some(Self::new(ran, 0)),
                    _ => continue,
                }
            } else if let Some(counts) = text.strip_prefix("test result: ") {
                cargo +=
                    Self::new(number_before(counts, "passed"), number_before(counts, "failed"));
            } else if line.starts_with("--- PASS: ") {
                go.passed += 1;
            } else if line.starts_with("--- FAIL: ") {
                go.failed += 1;
            } else if let Some(rest) = text.strip_prefix("Ran ") {
                python = rest.split_once(" test").and_then(|(number, _)| number.parse().ok());
            } else if let (Some(ran), true) = (python, text.starts_with("FAILED (")) {
                let failed = counted(text, "failures=") + counted(text, "errors=");
                summary = Some(Self::new(usize::saturating_sub(ran, failed), failed));
            } else {
                let next = Self::of_summary(text).filter(|counts| !counts.is_empty());
                // Mocha: `12 passing (34ms)`, then `1 failing`
                let failing = text.strip_suffix(" failing").and_then(|number| number.parse().ok());
                match (&mut summary, failing) {
                    (Some(before), Some(failed)) => before.failed = failed,
                    _ => summary = next.or(summary),
                }
            }
        }
        // Go prints the packages behind the tests, if it prints these at all.
        let go = if go.is_empty() { go_packages } else { go };
        [Some(cargo), summary, Some(go)].into_iter().flatten().find(|counts| !counts.is_empty())
    }

    fn new(passed: usize, failed: usize) -> Self {
        Self { passed, failed, packages: false }
    }

    fn is_empty(self) -> bool {
        self.passed + self.failed == 0
    }

    /// Reads the one line with which most runners sum up.
    fn of_summary(text: &str) -> Option<Self> {
        let counts = |words: &str, passed: &str, failed: &str| {
            Self::new(number_before(words, passed), number_before(words, failed))
        };
        // pytest: `=== 1 failed, 12 passed in 0.12s ===`
        let bare = text.trim_matches(['=', ' ']);
        if let Some((words, time)) = bare.rsplit_once(" in ")
            && time.split('s').next().is_some_and(|time| time.parse::<f32>().is_ok())
        {
            let counts = counts(words, "passed", "failed");
            return Some(Self { failed: counts.failed + number_before(words, "error"), ..counts });
        }
        // cargo nextest: `Summary [ 0.1s] 13 tests run: 12 passed, 1 failed, 0 skipped`
        if let Some((_, words)) = text.split_once(" tests run: ")
            && text.starts_with("Summary [")
        {
            return Some(counts(words, "passed", "failed"));
        }
        // jest: `Tests: 1 failed, 12 passed, 13 total`; vitest: `Tests  1 failed | 12 passed (13)`
        if let Some(words) = text.strip_prefix("Tests:").or_else(|| text.strip_prefix("Tests  "))
            && (words.ends_with(" total") || words.ends_with(')'))
        {
            return Some(counts(words, "passed", "failed"));
        }
        // PHPUnit: `OK (12 tests, 20 assertions)`, `Tests: 12, Assertions: 20, Failures: 1.`
        if text.starts_with("OK (") && text.ends_with("assertions)") {
            return Some(Self::new(number_before(text, "test"), 0));
        }
        // Maven, PHPUnit: `Tests run: 13, Failures: 1, Errors: 0, Skipped: 0`
        let ran = ["Tests run: ", "Tests: "].map(|label| counted(text, label));
        if ran[0] + ran[1] > 0 && (text.contains("Failures: ") || text.contains("Assertions: ")) {
            let failed = counted(text, "Failures: ") + counted(text, "Errors: ");
            return Some(Self::new((ran[0] + ran[1]).saturating_sub(failed), failed));
        }
        // RSpec: `13 examples, 1 failure`
        if let Some((all, rest)) = text.split_once(" example")
            && rest.trim_start_matches('s').starts_with(", ")
            && rest.contains(" failure")
        {
            let failed = number_before(rest, "failure");
            return Some(Self::new(all.parse::<usize>().ok()?.saturating_sub(failed), failed));
        }
        // CTest: `92% tests passed, 1 tests failed out of 13`
        if text.contains("% tests passed, ") {
            let failed = number_before(text, "tests failed out of ");
            let all = counted(text, "tests failed out of ");
            return Some(Self::new(all.saturating_sub(failed), failed));
        }
        if let Some((passed, _)) = text.split_once(" passing (") {
            return Some(Self::new(passed.parse().ok()?, 0));
        }
        // Plain scripts, as a whole line: `12 passed, 1 failed`
        let (passed, failed) = text.split_once(" passed, ")?;
        let failed = failed.strip_suffix(" failed")?;
        Some(Self::new(passed.parse().ok()?, failed.parse().ok()?))
    }
}

impl std::ops::AddAssign for TestCounts {
    fn add_assign(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
    }
}

/// The number before a word, such as 12 in `12 passed`; 0 if there is none.
fn number_before(text: &str, word: &str) -> usize {
    let before = text.find(word).map(|at| text[..at].trim_end()).unwrap_or_default();
    let digits = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    before.get(digits..).and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// The number behind a label, such as 1 in `Failures: 1`; 0 if there is none.
fn counted(text: &str, label: &str) -> usize {
    let behind = text.find(label).map(|at| &text[at + label.len()..]).unwrap_or_default();
    let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    behind[..end].parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn counts(output: &str, passed: usize, failed: usize) {
        assert_eq!(TestCounts::parse(output), Some(TestCounts::new(passed, failed)), "{output}");
    }

    #[test]
    fn the_summaries_of_known_runners_are_counted() {
        counts(
            "running 2 tests\ntest a ... ok\n\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured\n\n   Doc-tests x\n\ntest result: FAILED. 3 passed; 1 failed; 0 ignored",
            5,
            1,
        );
        counts("     Summary [   0.012s] 13 tests run: 12 passed, 1 failed, 0 skipped", 12, 1);
        counts("===== 1 failed, 12 passed, 2 warnings in 0.12s =====", 12, 1);
        counts("12 passed in 1.50s", 12, 0);
        counts("======= 3 passed in 65.04s (0:01:05) =======", 3, 0);
        counts("= 2 failed, 1 error in 0.1s =", 0, 3);
        counts("Test Suites: 1 failed, 1 total\nTests:       1 failed, 12 passed, 13 total", 12, 1);
        counts(" Test Files  1 passed (1)\n      Tests  2 failed | 12 passed (14)", 12, 2);
        counts("Ran 12 tests in 0.001s\n\nOK", 12, 0);
        counts("Ran 12 tests in 0.001s\n\nFAILED (failures=1, errors=2)", 9, 3);
        counts("OK (12 tests, 20 assertions)", 12, 0);
        counts("Tests: 12, Assertions: 20, Failures: 1.", 11, 1);
        counts("[INFO] Tests run: 13, Failures: 1, Errors: 1, Skipped: 0", 11, 2);
        counts("13 examples, 1 failure", 12, 1);
        counts("92% tests passed, 1 tests failed out of 13", 12, 1);
        counts("  12 passing (34ms)\n  1 failing", 12, 1);
        counts(
            "--- PASS: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\n--- FAIL: TestC (0.0s)\nFAIL\tp\t0.1s",
            1,
            1,
        );
        counts("7 passed, 0 failed", 7, 0);
        let go = TestCounts::parse("ok  \tp/a\t0.1s\nok  \tp/b\t(cached)\nFAIL\tp/c\t0.2s");
        assert_eq!(go, Some(TestCounts { passed: 2, failed: 1, packages: true }));
    }

    #[test]
    fn nothing_is_guessed() {
        for output in [
            "",
            "all 12 tests passed",
            "12 passed",
            "error[E0432]: unresolved import",
            "test result: ok. 0 passed; 0 failed; 0 ignored",
            "read 12 files in 0.3s",
            "I think 12 passed, 1 failed or so",
            "ok",
            "Tests: many",
            "?   \tp/a\t[no test files]",
        ] {
            assert_eq!(TestCounts::parse(output), None, "{output}");
        }
    }
}
