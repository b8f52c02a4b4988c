//! The colours and patterns of all pictures, as one style sheet.
//!
//! What belongs together has a colour of Okabe and Ito's palette, which people with any kind of
//! colour blindness tell apart ("Color Universal Design", 2008). After eight colours the same ones
//! come again with stripes, and then with dots. Amounts have one hue from light to dark, which
//! keeps its order when it is printed in grey.
//!
//! Every rule of the sheet begins with the class of the picture's root element, and every class
//! with `sp-`. So the sheet neither changes the page around a picture nor another picture in it.

use crate::options::Theme;

/// Okabe and Ito's colours, in an order in which neighbours differ most. The black of the palette
/// is a grey, which is seen on light and on dark pages.
const SERIES: [&str; 8] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999",
];

/// Amounts, from little to much: the blues of ColorBrewer.
const RAMP: [&str; 7] = [
    "#deebf7", "#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#084594",
];

/// How many groups can be told apart: each colour plain, with stripes, and with dots.
pub(crate) const STYLES: usize = SERIES.len() * 3;
/// How many steps amounts have.
pub(crate) const STEPS: usize = RAMP.len();

/// The fonts, of which the reader's first is taken. docs/figures.md names the one in PNG files.
pub(crate) const FONTS: &str =
    "\"DejaVu Sans\",Verdana,Helvetica,Arial,\"Liberation Sans\",sans-serif";

/// The colours that differ between a light and a dark page: variable, light, dark.
const GROUND: [(&str, &str, &str); 5] = [
    ("page", "#ffffff", "#0d1117"),
    ("ink", "#1f2328", "#e6edf3"),
    ("quiet", "#59636e", "#9198a1"),
    ("grid", "#d1d9e0", "#3d444d"),
    ("pale", "#e8ecf0", "#21262d"),
];

/// The classes that use them: class, property, variable.
const USES: [(&str, &str, &str); 10] = [
    ("sp-page", "fill", "page"),
    ("sp-t", "fill", "ink"),
    ("sp-q", "fill", "quiet"),
    ("sp-ink", "fill", "ink"),
    ("sp-pale", "fill", "pale"),
    ("sp-before", "fill", "quiet"),
    ("sp-grid", "stroke", "grid"),
    ("sp-axis", "stroke", "quiet"),
    ("sp-line", "stroke", "ink"),
    ("sp-gap", "stroke", "page"),
];

/// Returns the class of a group.
pub(crate) fn series(group: usize) -> String {
    format!("sp-{}", group % SERIES.len())
}

/// Returns the class of an amount from 0 to 1.
pub(crate) fn amount(part: f64) -> String {
    format!("sp-r{}", step(part))
}

fn step(part: f64) -> usize {
    ((part.clamp(0.0, 1.0) * STEPS as f64) as usize).min(STEPS - 1)
}

/// Returns which pattern a group has over its colour: 0 for none, 1 for stripes, 2 for dots.
pub(crate) fn pattern(group: usize) -> usize {
    group / SERIES.len() % 3
}

/// Returns the class of a text on the colour of a group: the ink with the better contrast.
pub(crate) fn on_series(group: usize) -> &'static str {
    match group % SERIES.len() {
        0 => "sp-w", // white on blue: 5.2 to 1; black on each of the others: 5.3 to 1 or more
        _ => "sp-b",
    }
}

/// Returns the class of a text on an amount.
pub(crate) fn on_amount(part: f64) -> &'static str {
    if step(part) >= 5 {
        "sp-w"
    } else {
        "sp-b"
    }
}

/// Returns the style sheet of a picture.
pub(crate) fn sheet(theme: Theme) -> String {
    let root = format!(".{}", theme.class());
    let mut css = String::new();
    let dark = |property: &str| format!("{root}{{{property}}}");
    if theme == Theme::Auto {
        let variables = |pick: fn(&(&str, &str, &str)) -> String| {
            GROUND.iter().map(pick).collect::<Vec<_>>().join(";")
        };
        css += &dark(&variables(|(name, light, _)| {
            format!("--stead-{name}:{light}")
        }));
        css += "\n@media screen and (prefers-color-scheme:dark){";
        css += &dark(&variables(|(name, _, dark)| {
            format!("--stead-{name}:{dark}")
        }));
        css += "}\n";
    }
    for (class, property, variable) in USES {
        let colour = GROUND.iter().find(|(name, ..)| *name == variable);
        let (light, dark) = colour.map_or(("", ""), |(_, light, dark)| (*light, *dark));
        css += &match theme {
            // a reader that knows no variables takes the first of the two
            Theme::Auto => {
                format!(
                    "{root} .{class}{{{property}:{light};{property}:var(--stead-{variable})}}\n"
                )
            }
            Theme::Light => format!("{root} .{class}{{{property}:{light}}}\n"),
            Theme::Dark => format!("{root} .{class}{{{property}:{dark}}}\n"),
        };
    }
    for (i, colour) in SERIES.iter().enumerate() {
        css += &format!("{root} .sp-{i}{{fill:{colour}}}");
        css += &format!("{root} .sp-l{i}{{stroke:{colour}}}\n");
    }
    for (i, colour) in RAMP.iter().enumerate() {
        css += &format!("{root} .sp-r{i}{{fill:{colour}}}");
    }
    css += &format!("\n{root} .sp-b{{fill:#000000}}{root} .sp-w{{fill:#ffffff}}");
    css += &format!("{root} .sp-h{{font-size:18px;font-weight:600}}");
    css += &format!("{root} .sp-s{{font-size:11px}}");
    css += &format!("{root} .sp-none{{fill:none}}\n");
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_differ_in_colour_or_pattern() {
        let styles = (0..STYLES).map(|group| (series(group), pattern(group)));
        let different: std::collections::BTreeSet<_> = styles.collect();
        assert_eq!(different.len(), STYLES);
    }

    #[test]
    fn amounts_grow_from_the_first_step_to_the_last() {
        let classes = [0.0, 0.5, 1.0, 2.0, f64::NAN].map(amount);
        assert_eq!(classes, ["sp-r0", "sp-r3", "sp-r6", "sp-r6", "sp-r0"]);
    }

    /// WCAG 2's contrast of two colours.
    fn contrast(a: &str, b: &str) -> f64 {
        let light = |colour: &str| {
            let part = |at: usize| {
                let byte = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
                let x = f64::from(byte) / 255.0;
                match x <= 0.04045 {
                    true => x / 12.92,
                    false => ((x + 0.055) / 1.055).powf(2.4),
                }
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        let (a, b) = (light(a), light(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_text_has_the_contrast_that_wcag_asks_for() {
        let ink = |class: &str| {
            if class == "sp-w" {
                "#ffffff"
            } else {
                "#000000"
            }
        };
        for (group, colour) in SERIES.iter().enumerate() {
            assert!(contrast(colour, ink(on_series(group))) >= 4.5, "{colour}");
        }
        for (step, colour) in RAMP.iter().enumerate() {
            let part = (step as f64 + 0.5) / STEPS as f64;
            assert!(contrast(colour, ink(on_amount(part))) >= 4.5, "{colour}");
        }
        let ground = |name: &str| *GROUND.iter().find(|(n, ..)| *n == name).unwrap();
        let page = ground("page");
        for name in ["ink", "quiet"] {
            let (_, light, dark) = ground(name);
            assert!(contrast(light, page.1) >= 4.5 && contrast(dark, page.2) >= 4.5);
        }
    }
}
