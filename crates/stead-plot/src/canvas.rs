//! The canvas: a picture in the making. It collects shapes and texts, and writes them as one SVG
//! element that stands alone or in a page.

use std::fmt::Write;

use crate::colours::{on_series, pattern, series, sheet, FONTS};
use crate::figures::length;
use crate::letters;
use crate::options::Options;

/// The margin around every picture.
pub(crate) const MARGIN: f64 = 24.0;
/// The font size of texts.
pub(crate) const SIZE: f64 = 13.0;
/// The font size of small texts, class `sp-s`.
pub(crate) const SMALL: f64 = 11.0;
/// The font size of the title, class `sp-h`.
const HEADING: f64 = 18.0;

/// Where a text stands about its point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A rectangle.
#[derive(Clone, Copy)]
pub(crate) struct Box {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// A picture in the making.
pub(crate) struct Canvas<'a> {
    options: &'a Options,
    ids: String,
    title: String,
    body: String,
    /// where the next part of the picture begins
    pub y: f64,
    patterned: bool,
}

impl<'a> Canvas<'a> {
    /// Begins a picture with its title and lines that say what it shows. `y` is then below them.
    pub fn new(options: &'a Options, title: String, lines: &[String]) -> Canvas<'a> {
        let mut canvas = Canvas {
            options,
            ids: options.ids(),
            title: options.titled(title),
            body: String::new(),
            y: MARGIN + HEADING,
            patterned: false,
        };
        let room = canvas.width() - 2.0 * MARGIN;
        let title = letters::cut(&canvas.title, HEADING * 1.1, room);
        canvas.text(MARGIN, canvas.y, Anchor::Start, "sp-t sp-h", &title);
        for line in lines {
            for line in wrapped(line, room) {
                canvas.y += 20.0;
                canvas.text(MARGIN, canvas.y, Anchor::Start, "sp-q", &line);
            }
        }
        canvas.y += 22.0;
        canvas
    }

    /// Returns the width of the picture.
    pub fn width(&self) -> f64 {
        self.options.wide()
    }

    /// Writes a line of text. `class` is `sp-t` for ink, `sp-q` for less important text, `sp-b` or
    /// `sp-w` on a colour; `sp-s` makes it small.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y, text) = (length(x), length(y), escaped(text));
        self.line(format_args!(
            "<text x=\"{x}\" y=\"{y}\"{anchor} class=\"{class}\">{text}</text>"
        ));
    }

    /// Writes a text of lines that are no longer than the picture is wide, the first at `y`, and
    /// moves `y` to the last.
    pub fn paragraph(&mut self, x: f64, text: &str) {
        let lines = wrapped(text, self.width() - MARGIN - x);
        for (number, line) in lines.iter().enumerate() {
            self.y += if number > 0 { 19.0 } else { 0.0 };
            self.text(x, self.y, Anchor::Start, "sp-q", line);
        }
    }

    /// Writes a text in the middle of a rectangle, if it fits there.
    pub fn text_in(&mut self, of: Box, class: &str, text: &str) -> bool {
        let size = if class.contains("sp-s") { SMALL } else { SIZE };
        let fits = letters::width(text, size) + 6.0 <= of.width && size + 2.0 <= of.height;
        if fits {
            let (x, y) = (of.x + of.width / 2.0, of.y + of.height / 2.0 + size * 0.36);
            self.text(x, y, Anchor::Middle, class, text);
        }
        fits
    }

    /// Draws a rectangle. `said` is shown while the pointer is over it; empty for nothing.
    pub fn rect(&mut self, of: Box, class: &str, said: &str) {
        let [x, y, width, height] = [of.x, of.y, of.width, of.height].map(length);
        let start = format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" class=\"{class}\""
        );
        self.shape(&start, "rect", said);
    }

    /// Draws a rectangle in the colour and pattern of a group.
    pub fn group_rect(&mut self, of: Box, group: usize, said: &str) {
        self.rect(of, &series(group), said);
        if let Some(fill) = self.overlay(group) {
            let [x, y, width, height] = [of.x, of.y, of.width, of.height].map(length);
            self.line(format_args!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {fill}/>"
            ));
        }
    }

    /// Draws a line.
    pub fn stroke(&mut self, from: (f64, f64), to: (f64, f64), class: &str, width: f64) {
        let [x1, y1] = [from.0, from.1].map(length);
        let [x2, y2] = [to.0, to.1].map(length);
        let width = length(width);
        self.line(format_args!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" class=\"{class}\" \
             stroke-width=\"{width}\"/>"
        ));
    }

    /// Draws a path, with `more` attributes such as `fill-opacity="0.5"`.
    pub fn path(&mut self, d: &str, class: &str, more: &str, said: &str) {
        let space = if more.is_empty() { "" } else { " " };
        self.shape(
            &format!("<path d=\"{d}\" class=\"{class}\"{space}{more}"),
            "path",
            said,
        );
    }

    /// Draws a path in the colour and pattern of a group.
    pub fn group_path(&mut self, d: &str, group: usize, said: &str) {
        self.path(d, &series(group), "", said);
        if let Some(fill) = self.overlay(group) {
            self.line(format_args!("<path d=\"{d}\" {fill}/>"));
        }
    }

    /// Draws a disc.
    pub fn disc(&mut self, x: f64, y: f64, radius: f64, class: &str, said: &str) {
        let [x, y, radius] = [x, y, radius].map(length);
        let start = format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" class=\"{class}\"");
        self.shape(&start, "circle", said);
    }

    /// Writes a text in the middle of a rectangle that has the colour of a group. If the text does
    /// not fit in its usual size, it is written small, and if it does not fit then, left out.
    pub fn name_in(&mut self, of: Box, group: usize, text: &str) -> bool {
        let is_small = letters::width(text, SIZE) + 6.0 > of.width;
        let (size, class) = match is_small {
            true => (SMALL, format!("{} sp-s", on_series(group))),
            false => (SIZE, on_series(group).to_owned()),
        };
        let wide = letters::width(text, size) + 6.0;
        if pattern(group) > 0 && wide <= of.width && size + 2.0 <= of.height {
            // stripes and dots end around the text, which could not be read over them
            let middle = Box {
                x: of.x + (of.width - wide) / 2.0,
                y: of.y + (of.height - size - 4.0) / 2.0,
                width: wide,
                height: size + 4.0,
            };
            self.rect(middle, &series(group), "");
        }
        self.text_in(of, &class, text)
    }

    /// Returns the attribute that fills a shape with the pattern of a group, if it has one.
    fn overlay(&mut self, group: usize) -> Option<String> {
        let number = pattern(group);
        self.patterned |= number > 0;
        let ids = &self.ids;
        (number > 0).then(|| format!("fill=\"url(#{ids}-p{number})\" pointer-events=\"none\""))
    }

    fn shape(&mut self, start: &str, element: &str, said: &str) {
        match said {
            "" => self.line(format_args!("{start}/>")),
            said => {
                let said = escaped(said);
                self.line(format_args!("{start}><title>{said}</title></{element}>"));
            }
        }
    }

    fn line(&mut self, what: std::fmt::Arguments) {
        // writing to a String cannot fail
        let _ = writeln!(self.body, "{what}");
    }

    /// Ends the picture below `y`. `said` says in words what it shows, for those who do not see it.
    pub fn finish(self, said: &str) -> String {
        let (width, height) = (length(self.width()), length((self.y + MARGIN).ceil()));
        let (ids, theme) = (&self.ids, self.options.theme);
        let (title, said, sheet) = (escaped(&self.title), escaped(said), sheet(theme));
        let patterns = match self.patterned {
            true => patterns(ids),
            false => String::new(),
        };
        let class = theme.class();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"stead-plot {class}\" \
             width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-labelledby=\"{ids}-title {ids}-desc\" font-family='{FONTS}' \
             font-size=\"{SIZE}\">\n\
             <title id=\"{ids}-title\">{title}</title>\n\
             <desc id=\"{ids}-desc\">{said}</desc>\n\
             <style>\n{sheet}</style>\n{patterns}\
             <rect width=\"{width}\" height=\"{height}\" class=\"sp-page\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// Returns a rectangle as part of a path.
pub(crate) fn rectangle(x: f64, y: f64, width: f64, height: f64) -> String {
    let [x, y, width, height, back] = [x, y, width, height, -width].map(length);
    format!("M{x} {y}h{width}v{height}h{back}z")
}

/// Returns the patterns that lie over colours that come again.
fn patterns(ids: &str) -> String {
    format!(
        "<defs><pattern id=\"{ids}-p1\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"2\" height=\"6\" fill=\"#000000\" \
         fill-opacity=\"0.55\"/></pattern>\n\
         <pattern id=\"{ids}-p2\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\">\
         <circle cx=\"3.5\" cy=\"3.5\" r=\"1.7\" fill=\"#000000\" fill-opacity=\"0.6\"/>\
         </pattern></defs>\n"
    )
}

/// Breaks a line of words into lines that fit into `room` pixels.
fn wrapped(text: &str, room: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        let longer = match line.is_empty() {
            true => word.to_owned(),
            false => format!("{line} {word}"),
        };
        match line.is_empty() || letters::width(&longer, SIZE) <= room {
            true => *line = longer,
            false => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the text with the characters that XML needs for itself as references, and without those
/// that XML cannot have.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c if (c < ' ' && c != '\t')
                || matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}') =>
            {
                safe.push('\u{fffd}');
            }
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_ids_start_with_the_callers_word() {
        let options = Options {
            id: "one\"<".to_owned(),
            ..Options::default()
        };
        let mut canvas = Canvas::new(&options, "a <b> & \"c\"\u{0}".to_owned(), &[]);
        let all = Box {
            x: 0.0,
            y: 0.0,
            width: 10.0,
            height: 10.0,
        };
        canvas.group_rect(all, 9, "x<y");
        let svg = canvas.finish("said");
        assert!(
            svg.contains("<title id=\"one-title\">a &lt;b&gt; &amp; &quot;c&quot;\u{fffd}</title>")
        );
        assert!(svg.contains("url(#one-p1)") && svg.contains("id=\"one-p1\""));
        assert!(svg.contains("<title>x&lt;y</title>") && !svg.contains("\"<"));
    }

    #[test]
    fn a_name_that_does_not_fit_is_small_or_left_out() {
        let written = |width: f64| {
            let options = Options::default();
            let mut canvas = Canvas::new(&options, String::new(), &[]);
            let of = Box {
                x: 0.0,
                y: 0.0,
                width,
                height: 34.0,
            };
            let is_there = canvas.name_in(of, 3, "p14");
            let svg = canvas.finish("said");
            assert_eq!(svg.contains(">p14</text>"), is_there);
            (is_there, svg.contains("class=\"sp-b sp-s\">p14"))
        };
        let wide = letters::width("p14", SIZE) + 6.0;
        let narrow = letters::width("p14", SMALL) + 6.0;
        assert_eq!(written(wide), (true, false));
        assert_eq!(written(wide - 0.1), (true, true));
        assert_eq!(written(narrow - 0.1), (false, false));
    }

    #[test]
    fn a_long_line_is_wrapped() {
        let lines = wrapped("one two three four five six seven", 80.0);
        assert!(lines.len() > 2 && lines.join(" ") == "one two three four five six seven");
        assert!(lines.iter().all(|line| letters::width(line, SIZE) <= 80.0));
    }
}
