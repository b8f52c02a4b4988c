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
