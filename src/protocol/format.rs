//! Formats times, counts and money for the user.

use std::time::Duration;

use super::usage::Cost;

/// Formats a time for the screen: `0:42`, `10:00`, `1:02:03`.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Formats a time limit: `6 s`, `0.4 s`.
pub fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// Formats a number in groups of three digits: `32,000`.
pub fn thousands(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1000), number % 1000),
    }
}

/// Formats a size: `82 kB`. Not rounded up, so that what is over a limit does not look as if it were not.
pub fn byte_size(bytes: u64) -> String {
    let tenths =
        |unit: u64, name: &str| format!("{}.{} {name}", bytes / unit, bytes / (unit / 10) % 10);
    match bytes {
        0..1_000 => count(bytes as usize, "byte"),
        1_000..10_000 => tenths(1_000, "kB"),
        10_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => tenths(1_000_000, "MB"),
        _ => tenths(1_000_000_000, "GB"),
    }
}

/// Formats a count: `1 agent`, `2 agents`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Formats a cost: `$0.07`, and `<$0.01` for what would round to nothing; nothing when no price is
/// known, `$0.07+` when a part has no known price, `~$0.07` when a part is an upper bound.
pub fn money(cost: Cost) -> String {
    let more = match (cost.incomplete, cost.usd > 0.0) {
        (true, false) => return String::new(),
        (true, true) => "+",
        (false, _) => "",
    };
    let rounded = format!("{:.2}", cost.usd);
    if cost.usd > 0.0 && rounded == "0.00" {
        return format!("<$0.01{more}");
    }
    let about = if cost.estimated { "~" } else { "" };
    format!("{about}${rounded}{more}")
}

/// Formats a limit in US dollars, without the sign: `1.00`, or `0.005` if cents are too coarse.
pub fn limit_in_usd(limit: f64) -> String {
    let cents = format!("{limit:.2}");
    let exact = format!("{limit:.6}");
    let exact = exact.trim_end_matches('0');
    if exact.len() > cents.len() { exact.to_owned() } else { cents }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_two_digits_at_least() {
        for (bytes, shown) in [
            (27, "27 bytes"),
            (1_983, "1.9 kB"),
            (82_000, "82 kB"),
            (31_522_806, "31.5 MB"),
            (3 << 30, "3.2 GB"),
        ] {
            assert_eq!(byte_size(bytes), shown);
        }
    }

    #[test]
    fn money_is_never_rounded_to_nothing() {
        let unpriced = |usd| Cost { incomplete: true, ..Cost::known(usd) };
        for (cost, shown) in [
            (Cost::known(0.066), "$0.07"),
            (Cost::known(0.0), "$0.00"),
            (Cost::known(0.000_02), "<$0.01"),
            (Cost::known(0.004_9), "<$0.01"),
            (Cost::known(0.006), "$0.01"),
            (Cost::UNKNOWN, ""),
            (unpriced(0.066), "$0.07+"),
            (unpriced(0.001), "<$0.01+"),
            (Cost::at_most(0.066), "~$0.07"),
            (Cost::at_most(0.001), "<$0.01"),
        ] {
            assert_eq!(money(cost), shown, "{cost:?}");
        }
    }
}
