//! Holds back an Esc for a moment: a `[` or `O` right after it is a broken escape sequence, not typing.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// How long an Esc waits for the rest of a sequence.
pub const ESC_TIMEOUT: Duration = Duration::from_millis(10);

/// Holds back an Esc and drops broken sequences.
#[derive(Debug, Default)]
pub struct EscapeFilter {
    state: EscapeState,
}

#[derive(Debug, Default)]
enum EscapeState {
    #[default]
    Idle,
    /// An Esc is held back until then.
    Held(KeyEvent, Duration),
    /// Drops a broken sequence up to its final character, or until then. `long`: it may have parameters.
    Dropping { until: Duration, long: bool },
}

impl EscapeFilter {
    /// Takes a key and returns the keys to handle now.
    pub fn push(&mut self, key: KeyEvent, at: Duration) -> Vec<KeyEvent> {
        let plain = match key.code {
            KeyCode::Char(letter) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => {
                Some(letter)
            }
            _ => None,
        };
        match std::mem::take(&mut self.state) {
            EscapeState::Held(_, until) if at < until && matches!(plain, Some('[' | 'O')) => {
                self.state =
                    EscapeState::Dropping { until: at + ESC_TIMEOUT, long: plain == Some('[') };
                Vec::new()
            }
            EscapeState::Held(escape, _) => {
                let mut keys = vec![escape];
                keys.extend(self.push(key, at));
                keys
            }
            EscapeState::Dropping { until, long } if at < until && plain.is_some() => {
                let parameter = plain.is_some_and(|letter| matches!(letter, '0'..='?'));
                if long && parameter {
                    self.state = EscapeState::Dropping { until: at + ESC_TIMEOUT, long };
                }
                Vec::new()
            }
            _ if key.code == KeyCode::Esc && key.kind == KeyEventKind::Press => {
                self.state = EscapeState::Held(key, at + ESC_TIMEOUT);
                Vec::new()
            }
            _ => vec![key],
        }
    }

    /// When the held Esc counts as a key.
    pub fn deadline(&self) -> Option<Duration> {
        match self.state {
            EscapeState::Held(_, until) => Some(until),
            _ => None,
        }
    }

    /// Returns the held Esc once its time is over.
    pub fn take_expired(&mut self, at: Duration) -> Option<KeyEvent> {
        match self.state {
            EscapeState::Held(key, until) if until <= at => {
                self.state = EscapeState::Idle;
                Some(key)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_lone_esc_counts_after_ten_milliseconds() {
        let mut filter = EscapeFilter::default();
        assert!(filter.push(key(KeyCode::Esc), ms(0)).is_empty());
        assert_eq!(filter.deadline(), Some(ms(10)));
        assert_eq!(filter.take_expired(ms(9)), None);
        assert_eq!(filter.take_expired(ms(10)), Some(key(KeyCode::Esc)));
    }

    #[test]
    fn a_broken_sequence_is_dropped_whole_and_stops_nothing() {
        let mut filter = EscapeFilter::default();
        let mut seen = Vec::new();
        for (at, letter) in
            [KeyCode::Esc, KeyCode::Char('['), KeyCode::Char('1'), KeyCode::Char('A')]
                .into_iter()
                .enumerate()
        {
            seen.extend(filter.push(key(letter), ms(at as u64)));
        }
        assert!(seen.is_empty());
        assert_eq!(filter.push(key(KeyCode::Char('x')), ms(5)), [key(KeyCode::Char('x'))]);
    }

    #[test]
    fn a_bracket_typed_later_is_a_letter() {
        let mut filter = EscapeFilter::default();
        filter.push(key(KeyCode::Esc), ms(0));
        let seen = filter.push(key(KeyCode::Char('[')), ms(40));
        assert_eq!(seen, [key(KeyCode::Esc), key(KeyCode::Char('['))]);
    }
}
