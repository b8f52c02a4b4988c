//! Reads and checks the file of templates.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use toml::Spanned;

use super::collectd;
use super::definitions::{archive, rest, source};

/// The templates of a file, ready for use. A lookup is cheap: it matches one pattern for each rule.
#[derive(Debug, Default)]
pub struct Templates(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    pattern: GlobMatcher,
    shape: Shape,
}

/// What follows the name and -b in a CREATE.
#[derive(Debug)]
enum Shape {
    Given(Vec<u8>),
    /// for each type of collectd
    Types(HashMap<Vec<u8>, Vec<u8>>),
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    create: Vec<Spanned<Written>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    #[serde(rename = "match")]
    pattern: Spanned<String>,
    step: Spanned<u32>,
    ds: Option<Words>,
    rra: Option<Words>,
    types_db: Option<Spanned<String>>,
    heartbeat: Option<Spanned<u32>>,
}

type Words = Spanned<Vec<Spanned<String>>>;

/// A mistake: its place in the text, and what is wrong.
type Mistake = (Range<usize>, String);

impl Templates {
    /// Reads a file of templates and the types.db files that it names, relative to its own
    /// directory. The error is one line that names the file and the line in it.
    pub fn load(path: &Path) -> Result<Templates, String> {
        let text = read(path)?;
        let placed = |(at, problem): Mistake| {
            format!(
                "{}:{}: {problem}",
                path.display(),
                line_number(&text, at.start)
            )
        };
        let document: Document = toml::from_str(&text).map_err(|error| {
            let message = error
                .message()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            let example = match message.as_str() {
                "missing field `create`" => "; write [[create]] above what it has",
                "missing field `match`" => "; add a line such as match = \"**\"",
                "missing field `step`" => "; add a line such as step = 60",
                _ => "",
            };
            placed((error.span().unwrap_or(0..0), message + example))
        })?;
        if document.create.is_empty() {
            return Err(format!(
                "{}: there is no [[create]]; write one, as docs/rrd-clients.md shows",
                path.display()
            ));
        }
        let mut rules = Vec::new();
        for written in document.create {
            let (span, written) = (written.span(), written.into_inner());
            rules.push(written.rule(span, path).map_err(|problem| match problem {
                Problem::Here(mistake) => placed(mistake),
                Problem::Elsewhere(line) => line,
            })?);
        }
        Ok(Templates(rules))
    }

    /// Returns what follows the name in the CREATE for a file whose first value has the time
    /// `first_time`, in seconds; `None` when no rule matches. Without a time, the result has no
    /// `-b`.
    ///
    /// The result has -O, so a file that exists stays as it is.
    pub fn rest(&self, name: &[u8], first_time: Option<i64>) -> Option<Vec<u8>> {
        let rest = self.0.iter().find_map(|rule| rule.rest(name))?;
        let mut line = Vec::new();
        if let Some(time) = first_time {
            // the begin must lie before the first update
            line.extend_from_slice(format!(" -b {}", time.saturating_sub(1)).as_bytes());
        }
        line.extend_from_slice(rest);
        Some(line)
    }
}

impl Rule {
    fn rest(&self, name: &[u8]) -> Option<&[u8]> {
        if !self.pattern.is_match(std::ffi::OsStr::from_bytes(name)) {
            return None;
        }
        match &self.shape {
            Shape::Given(rest) => Some(rest),
            Shape::Types(types) => types.get(collectd::type_of(name)?).map(Vec::as_slice),
        }
    }
}

enum Problem {
    Here(Mistake),
    /// A mistake in another file: the whole line that reports it.
    Elsewhere(String),
}

impl From<Mistake> for Problem {
    fn from(mistake: Mistake) -> Problem {
        Problem::Here(mistake)
    }
}

impl Written {
    fn rule(self, span: Range<usize>, path: &Path) -> Result<Rule, Problem> {
        let pattern = self.matcher()?;
        if *self.step.get_ref() == 0 {
            let problem = "step = 0: write the seconds from one value to the next";
            return Err(here(self.step.span(), problem));
        }
        let archives = match &self.rra {
            Some(list) => Some(words(list, archive)?),
            None => None,
        };
        let shape = match (&self.ds, &self.types_db) {
            (Some(_), Some(types)) => {
                let problem = "ds and types-db in one rule: keep one of them";
                return Err(here(types.span(), problem));
            }
            (None, None) => {
                let problem = "the rule has neither ds nor types-db: add one of them";
                return Err(here(span, problem));
            }
            (Some(sources), None) => self.given(span, sources, archives)?,
            (None, Some(types)) => self.of_collectd(path, types, archives)?,
        };
        Ok(Rule { pattern, shape })
    }

    fn matcher(&self) -> Result<GlobMatcher, Problem> {
        let text = self.pattern.get_ref();
        let pattern = GlobBuilder::new(text)
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        pattern
            .map(|pattern| pattern.compile_matcher())
            .map_err(|error| {
                let problem = format!("match = {text:?} is not a pattern: {}", error.kind());
                here(self.pattern.span(), problem)
            })
    }

    /// Returns a rule whose definitions are all in the file itself.
    fn given(
        &self,
        span: Range<usize>,
        sources: &Words,
        archives: Option<String>,
    ) -> Result<Shape, Problem> {
        let Some(archives) = archives else {
            let problem = "the rule has no rra: say what to keep, for example rra = \
                [\"RRA:AVERAGE:0.5:1:1440\"]";
            return Err(here(span, problem));
        };
        if let Some(heartbeat) = &self.heartbeat {
            let problem = "heartbeat is for types-db; here each DS has its own";
            return Err(here(heartbeat.span(), problem));
        }
        rest(*self.step.get_ref(), &words(sources, source)?, &archives)
            .map(Shape::Given)
            .map_err(|problem| here(span, problem))
    }

    /// Returns a rule for the types of a types.db.
    fn of_collectd(
        &self,
        path: &Path,
        types: &Spanned<String>,
        archives: Option<String>,
    ) -> Result<Shape, Problem> {
        let step = *self.step.get_ref();
        let archives = archives.unwrap_or_else(|| collectd::archives(step.into()));
        let heartbeat = self
            .heartbeat
            .as_ref()
            .map_or(2 * u64::from(step), |given| u64::from(*given.get_ref()));
        let file = path.parent().unwrap_or(Path::new("")).join(types.get_ref());
        let text = read(&file).map_err(|error| here(types.span(), format!("types-db: {error}")))?;
        let sources = collectd::types(&text, heartbeat).map_err(|(line, problem)| {
            Problem::Elsewhere(format!("{}:{line}: {problem}", file.display()))
        })?;
        let each =
            sources
                .into_iter()
                .map(|(name, sources)| match rest(step, &sources, &archives) {
                    Ok(rest) => Ok((name.into_bytes(), rest)),
                    Err(problem) => {
                        let problem = format!("type {name} of {}: {problem}", file.display());
                        Err(here(types.span(), problem))
                    }
                });
        each.collect::<Result<_, _>>().map(Shape::Types)
    }
}

fn here(span: Range<usize>, problem: impl Into<String>) -> Problem {
    Problem::Here((span, problem.into()))
}

/// Joins the list to words of a request, after `check` has accepted each.
fn words(list: &Words, check: fn(&str) -> Result<(), String>) -> Result<String, Mistake> {
    let mut line = String::new();
    for word in list.get_ref() {
        let text = word.get_ref();
        if let Some(bad) = text
            .chars()
            .find(|c| c.is_whitespace() || c.is_control() || *c == '\\')
        {
            return Err((
                word.span(),
                format!(
                    "{text:?} contains {bad:?}: blanks, backslashes and \
                control characters cannot be sent"
                ),
            ));
        }
        check(text).map_err(|problem| (word.span(), format!("{text:?}: {problem}")))?;
        let _ = write!(line, " {text}"); // writing to a String cannot fail
    }
    match list.get_ref().is_empty() {
        true => Err((list.span(), "an empty list: name at least one".to_owned())),
        false => Ok(line),
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn line_number(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
