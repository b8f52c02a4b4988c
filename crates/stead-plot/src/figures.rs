//! Numbers as pictures show them: always with the same digits on every machine.

/// Formats a coordinate or a length: at most two decimal places, without zeros at the end.
pub(crate) fn length(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" | "" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// Formats a part of 1: `33.3 %`, and `6.25 %` below ten. What would read 0.00 and is not, is
/// `< 0.01 %`.
pub fn percent(part: f64) -> String {
    match part * 100.0 {
        small if small > 0.0 && small < 0.005 => "< 0.01 %".to_owned(),
        small if small > 0.0 && small < 9.995 => format!("{small:.2} %"),
        hundredths => format!("{hundredths:.1} %"),
    }
}

/// Formats a whole number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a sum with commas; one that a u64 can't hold, without.
pub fn grouped_large(sum: u128) -> String {
    u64::try_from(sum).map_or_else(|_| sum.to_string(), grouped)
}

/// Formats a large number with three digits: `1.23 k`, `45.6 M`. Below 1,000 it is whole.
pub fn brief(number: u128) -> String {
    const SIGNS: [&str; 5] = ["k", "M", "G", "T", "P"];
    let mut rest = number as f64;
    let mut sign = "";
    for next in SIGNS {
        // what would read 1000 is one of the next sign
        if rest < if sign.is_empty() { 1000.0 } else { 999.5 } {
            break;
        }
        (rest, sign) = (rest / 1000.0, next);
    }
    match (sign, rest) {
        ("", _) => number.to_string(),
        (sign, x) if x >= 99.95 => format!("{x:.0} {sign}"),
        (sign, x) if x >= 9.995 => format!("{x:.1} {sign}"),
        (sign, x) => format!("{x:.2} {sign}"),
    }
}

/// Formats a measured number: whole from 1,000 on, one decimal place from 100, two below.
pub(crate) fn measured(number: f64) -> String {
    match number {
        x if x >= 1000.0 => grouped(x.round() as u64),
        x if x >= 100.0 => format!("{x:.1}"),
        x => format!("{x:.2}"),
    }
}

/// Formats a number and what it counts: `1 node`, `3 nodes`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let many = if number == 1 { "" } else { "s" };
    format!("{} {what}{many}", grouped(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_fixed_digits() {
        let lengths = [0.0, -0.001, 1.5, 2.0, 1.0 / 3.0, 100.0].map(length);
        assert_eq!(lengths, ["0", "0", "1.5", "2", "0.33", "100"]);
        assert_eq!(
            [0.0, 1e-9, 1.0 / 3.0].map(percent),
            ["0.0 %", "< 0.01 %", "33.3 %"]
        );
        assert_eq!([0, 999, 1_234_567].map(grouped), ["0", "999", "1,234,567"]);
        assert_eq!(grouped_large(1 << 64), "18446744073709551616");
        assert_eq!(
            [0, 999, 1000, 9_994, 99_940, 999_499, 999_500, 3 << 40].map(brief),
            ["0", "999", "1.00 k", "9.99 k", "99.9 k", "999 k", "1.00 M", "3.30 T"]
        );
        assert_eq!(
            [0.5, 123.45, 1234.5].map(measured),
            ["0.50", "123.5", "1,235"]
        );
        assert_eq!(
            (count(1, "node"), count(2, "node")),
            ("1 node".into(), "2 nodes".into())
        );
    }
}
