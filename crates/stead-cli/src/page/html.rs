//! HTML that cannot be broken by what a map says: text becomes HTML only by being escaped here.

use std::fmt::Write;

/// A piece of HTML.
#[derive(Clone, Default)]
pub struct Html(String);

impl Html {
    /// Returns text as HTML.
    pub fn text(text: impl AsRef<str>) -> Html {
        let mut html = Html::default();
        escape(&mut html.0, text.as_ref());
        html
    }

    /// Returns a name that somebody chose. It is kept apart from the text around it, so that its
    /// direction of writing, or a character that turns it, changes nothing else.
    pub fn name(name: &str) -> Html {
        element("bdi", &[], Html::text(name))
    }

    /// Returns HTML that a programmer wrote.
    pub fn fixed(html: &'static str) -> Html {
        Html(html.to_owned())
    }

    /// Returns a picture that stead drew, in which every text is escaped already.
    pub fn drawn(svg: String) -> Html {
        Html(svg)
    }

    /// Adds HTML at the end.
    pub fn add(&mut self, more: Html) -> &mut Html {
        self.0.push_str(&more.0);
        self
    }

    /// Returns the HTML as it stands in the page.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl From<&str> for Html {
    fn from(text: &str) -> Html {
        Html::text(text)
    }
}

impl From<String> for Html {
    fn from(text: String) -> Html {
        Html::text(text)
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(parts: I) -> Html {
        let mut whole = Html::default();
        for part in parts {
            whole.0.push_str(&part.0);
        }
        whole
    }
}

/// Returns an element. An attribute without a value is written as its name alone.
pub fn element(
    tag: &'static str,
    attributes: &[(&'static str, &str)],
    inside: impl Into<Html>,
) -> Html {
    let mut html = opened(tag, attributes);
    let _ = write!(html.0, "{}</{tag}>", inside.into().0);
    html
}

/// Returns the start of an element, or an element that has no end.
pub fn opened(tag: &'static str, attributes: &[(&'static str, &str)]) -> Html {
    let mut html = Html(format!("<{tag}"));
    for (name, value) in attributes {
        let _ = write!(html.0, " {name}");
        if !value.is_empty() {
            html.0.push_str("=\"");
            escape(&mut html.0, value);
            html.0.push('"');
        }
    }
    html.0.push('>');
    html
}

/// Returns a section of the page with its heading. `id` is unique in the page.
pub fn section(id: &'static str, title: &str, inside: Html) -> Html {
    let heading = format!("{id}-title");
    let mut html = element("h2", &[("id", &heading)], title);
    html.add(inside);
    element(
        "section",
        &[("id", id), ("aria-labelledby", &heading)],
        html,
    )
}

/// Escapes text for content and for quoted attributes. Characters that a terminal would obey, and
/// that HTML does not allow, are shown as what cannot be shown.
fn escape(into: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            letter if letter.is_control() => into.push('\u{fffd}'),
            letter => into.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_in_content_and_in_attributes() {
        let hostile = "<b a='1' b=\"2\">&\u{1b}\n";
        let safe = "&lt;b a=&#39;1&#39; b=&quot;2&quot;&gt;&amp;\u{fffd}\u{fffd}";
        assert_eq!(Html::text(hostile).into_string(), safe);
        assert_eq!(
            element("i", &[("title", hostile), ("hidden", "")], hostile).into_string(),
            format!("<i title=\"{safe}\" hidden>{safe}</i>")
        );
        assert_eq!(Html::name("a<b").into_string(), "<bdi>a&lt;b</bdi>");
    }
}
