//! The page around everything: its head, with a policy that allows its own style and script and
//! nothing else, and the places where the parts go.
//!
//! The policy names the style and the script by their SHA-256, so that nothing that came into the
//! page by a mistake would run, and no request leaves it.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::html::{element, opened, Html};

const PAGE: &str = include_str!("template/page.html");
const STYLE: &str = include_str!("template/page.css");
const SCRIPTS: [&str; 3] = [
    include_str!("template/hashes.js"),
    include_str!("template/places.js"),
    include_str!("template/page.js"),
];

/// How every page begins, and nothing else that people have.
const MARK: &str = "<!doctype html>\n<!-- written by stead report -->\n";

/// A page, part by part.
pub struct Page {
    pub title: String,
    /// the first heading and what stands below it
    pub head: Html,
    pub main: Html,
    pub foot: Html,
    /// the styles in pictures, which the policy has to allow
    pub styles: Vec<String>,
}

/// Returns whether bytes begin like a page of this module.
pub fn is_report(bytes: &[u8]) -> bool {
    bytes.starts_with(MARK.as_bytes())
}

impl Page {
    /// Returns the whole page. `data` is what the script reads.
    pub fn html(self, data: Option<&impl Serialize>) -> String {
        let script = SCRIPTS.concat();
        let mut styles = vec![digest(STYLE)];
        styles.extend(self.styles.iter().map(|style| digest(style)));
        styles.sort();
        styles.dedup();
        let policy = format!(
            "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
            styles.join(" "),
            digest(&script)
        );
        let policy = [
            ("http-equiv", "Content-Security-Policy"),
            ("content", &policy),
        ];
        let data = data.map_or(String::new(), |data| json(data));
        let parts = [
            ("<!-- policy -->", opened("meta", &policy).into_string()),
            (
                "<!-- title -->",
                element("title", &[], self.title).into_string(),
            ),
            ("<!-- style -->", format!("<style>{STYLE}</style>")),
            ("<!-- head -->", self.head.into_string()),
            ("<!-- main -->", self.main.into_string()),
            ("<!-- foot -->", self.foot.into_string()),
            (
                "<!-- data -->",
                format!("<script type=\"application/json\" id=\"data\">{data}</script>"),
            ),
            ("<!-- script -->", format!("<script>{script}</script>")),
        ];
        filled(PAGE, &parts)
    }
}

/// Puts each part into its place. A part is not searched for further places: a map may have names
/// that look like one.
fn filled(page: &str, parts: &[(&str, String)]) -> String {
    let mut html = String::from(MARK);
    let mut rest = page.strip_prefix("<!doctype html>\n").unwrap_or(page);
    for (place, part) in parts {
        // the places are in the order of the parts; a test makes sure of it
        if let Some((before, after)) = rest.split_once(place) {
            html += before;
            html += part;
            rest = after;
        }
    }
    html + rest
}

/// The source of the policy that allows what has these bytes.
fn digest(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// Returns JSON that may stand in a script element: it has no `<`, which could end the element.
fn json(data: &impl Serialize) -> String {
    let text = serde_json::to_string(data).unwrap_or_default();
    text.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: [&str; 8] = [
        "<!-- policy -->",
        "<!-- title -->",
        "<!-- style -->",
        "<!-- head -->",
        "<!-- main -->",
        "<!-- foot -->",
        "<!-- data -->",
        "<!-- script -->",
    ];

    #[test]
    fn every_place_is_filled_once_and_in_order() {
        let page = Page {
            title: "<!-- main --></title>".into(),
            head: Html::text("<!-- foot -->"),
            main: Html::text("<!-- script -->"),
            foot: Html::text("foot"),
            styles: Vec::new(),
        };
        let html = page.html(Some(&["</script><!--", "<!-- title -->"]));
        assert!(is_report(html.as_bytes()));
        for place in PLACES {
            assert_eq!(PAGE.matches(place).count(), 1, "{place}");
            assert!(!html.contains(place), "{place} is left");
        }
        assert!(html.contains("\"\\u003c/script>\\u003c!--\""));
        assert_eq!(html.matches("</script>").count(), 2);
    }

    #[test]
    fn the_policy_allows_exactly_the_style_and_the_script_of_the_page() {
        let page = Page {
            title: String::new(),
            head: Html::default(),
            main: Html::default(),
            foot: Html::default(),
            styles: vec![".a{}".into(), ".a{}".into()],
        };
        let html = page.html(None::<&()>);
        for (start, end) in [("<style>", "</style>"), ("<script>", "</script>")] {
            let inside = html
                .split(start)
                .nth(1)
                .and_then(|rest| rest.split(end).next());
            let named = digest(inside.unwrap()).replace('\'', "&#39;");
            assert!(html.contains(&named), "{start}");
        }
        assert_eq!(html.matches("sha256-").count(), 3);
        assert!(html.contains("default-src &#39;none&#39;"));
    }
}
