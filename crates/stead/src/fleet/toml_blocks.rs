//! The blocks of a TOML text: parts of it that can be parsed one after the other, so that only one
//! of them is in memory as the parser sees it, which takes up to 170 times as much as the text.
//!
//! A block begins at the header of an array of tables, such as `[[node]]`. Long runs of comments
//! and empty lines belong to no block. Limits of what a block may contain keep the parser's memory
//! low, whatever the text is.

use std::borrow::Cow;
use std::ops::Range;

use super::tree::{Mistake, LISTS};

/// A text up to this size is one block, in whatever order its tables are.
const WHOLE: usize = 64 << 10;

/// From this size on, the next header begins another block.
const BLOCK: usize = 16 << 10;

/// From this length on, a run of comments and empty lines is left out.
const GAP: usize = 4096;

/// The most values in an array: of strings, which can be the nodes of a policy; of tables; and of
/// anything else, of which no fleet has arrays.
const MOST_STRINGS: usize = 65_536;
const MOST_TABLES: usize = 10_000;
const MOST_OTHERS: usize = 1_000;

/// The most keys, and the most tables such as `[guard]`, between two headers of lists. A node has
/// two such tables, its labels and its attributes; those of the fleet itself may follow the last
/// node. An inline table may have as many keys.
const MOST_KEYS: usize = 10_000;
const MOST_SINGLE: usize = 16;

/// The most commas, brackets, equals signs and line ends between two headers.
const MOST_MARKS: usize = 256 << 10;

/// The most strings between two headers. No fleet has more: the most that it can write for two
/// marks is `"labels"."zone" = "a",`, and for one mark the same at the end of a line, as a key.
const MOST_QUOTED: usize = MOST_MARKS / 2 * 3 + 2 * MOST_KEYS;

/// What a scan of the text finds out about its blocks.
pub(super) struct Outline<'a> {
    text: &'a str,
    /// where headers of arrays of tables begin, and how many tokens are before each
    headers: Vec<(u32, u32)>,
    gaps: Vec<Range<usize>>,
    /// where the line begins, and the comments and empty lines before it
    line: usize,
    quiet: Option<usize>,
    /// the tokens before `quiet`
    before_quiet: usize,
    /// the name of the list whose header came last
    list: &'a str,
    /// since that header
    keys: usize,
    single: usize,
    marks: usize,
    strings: usize,
    /// the open brackets, and the commas in each
    open: Vec<(u8, usize)>,
    /// the last byte that is not white space; of a string, the first
    last: u8,
    /// how many tokens there are so far, which decides how much memory the parser takes
    tokens: usize,
    /// how many of them are in gaps
    in_gaps: usize,
    /// what the byte before is part of
    before: Token,
}

/// What a byte is part of, as far as that decides where a token ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Blanks,
    Word,
    /// a line end, a mark, a string or a comment, which end where the next token begins
    Other,
}

impl Token {
    fn of(byte: u8) -> Token {
        match byte {
            b' ' | b'\t' | b'\r' => Token::Blanks,
            b'\n' | b',' | b'=' | b'[' | b']' | b'{' | b'}' | b'.' | b'"' | b'\'' => Token::Other,
            _ => Token::Word,
        }
    }
}

/// A part of the text, without its gaps.
pub(super) struct Block<'a> {
    pub text: Cow<'a, str>,
    /// how many tokens it has
    pub tokens: usize,
    /// where the pieces of the text stand in the whole
    pieces: Vec<Range<usize>>,
}

impl<'a> Outline<'a> {
    pub(super) fn new(text: &'a str) -> Outline<'a> {
        Outline {
            text,
            headers: Vec::new(),
            gaps: Vec::new(),
            line: 0,
            quiet: Some(0),
            list: "",
            keys: 0,
            single: 0,
            marks: 0,
            strings: 0,
            open: Vec::new(),
            last: b'\n',
            tokens: 0,
            before_quiet: 0,
            in_gaps: 0,
            before: Token::Other,
        }
    }

    /// How many tokens the blocks have.
    pub(super) fn tokens(&self) -> usize {
        match self.text.len() {
            ..=WHOLE => self.tokens,
            _ => self.tokens - self.in_gaps,
        }
    }

    /// Whether something that begins here, outside of brackets, begins its line.
    pub(super) fn begins_line(&self) -> bool {
        self.quiet.is_some()
    }

    /// Forgets what is behind the line that begins here.
    pub(super) fn cut(&mut self, at: usize) {
        self.text = self.text.get(..at).unwrap_or_default();
    }

    /// Takes a comment, whose bytes [`Outline::take`] does not get.
    pub(super) fn comment(&mut self) {
        self.tokens += 1;
        self.before = Token::Other;
    }

    /// Takes a byte outside of strings and comments, or the first one of a string. `depth` is how
    /// many brackets are open before it.
    pub(super) fn take(&mut self, byte: u8, at: usize, depth: usize) -> Result<(), Mistake> {
        if depth == 0 && byte == b'\n' {
            self.line = at + 1;
            if self.quiet.is_none() {
                (self.quiet, self.before_quiet) = (Some(at + 1), self.tokens + 1);
            }
        } else if depth == 0 && !byte.is_ascii_whitespace() {
            self.begin(at)?;
        }
        let token = Token::of(byte);
        self.tokens += usize::from(token == Token::Other || token != self.before);
        self.before = token;
        let too_much = |problem: String| Err(Mistake::new(at, problem));
        self.marks += usize::from(match byte {
            b'\n' => depth > 0,
            _ => matches!(byte, b',' | b'=' | b'[' | b']' | b'{' | b'}'),
        });
        if self.last == b',' && !byte.is_ascii_whitespace() {
            self.after_comma(byte, at)?;
        }
        match byte {
            b'[' | b'{' => self.open.push((byte, 0)),
            b']' | b'}' => {
                self.open.pop();
            }
            b'=' if depth == 0 => self.keys += 1,
            b'"' | b'\'' => self.strings += 1,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            self.last = byte;
        }
        let (most, what) = if self.keys > MOST_KEYS {
            (MOST_KEYS, "keys")
        } else if self.strings > MOST_QUOTED {
            (MOST_QUOTED, "strings")
        } else if self.marks > MOST_MARKS {
            (MOST_MARKS, "commas, brackets and lines")
        } else {
            return Ok(());
        };
        too_much(format!(
            "more than {most} {what} in one table; is this a fleet?"
        ))
    }

    /// Takes the first byte after a comma. Where it closes the bracket, no value follows.
    fn after_comma(&mut self, byte: u8, at: usize) -> Result<(), Mistake> {
        let Some((bracket, commas)) = self.open.last_mut() else {
            return Ok(()); // the parser reports it
        };
        let (most, what) = match (*bracket, byte) {
            (_, b']' | b'}') => return Ok(()),
            (b'{', _) => (MOST_KEYS, "keys"),
            (_, b'"' | b'\'') => (MOST_STRINGS, "strings"),
            (_, b'{') => (MOST_TABLES, "tables"),
            _ => (MOST_OTHERS, "values"),
        };
        *commas += 1;
        if *commas < most {
            return Ok(());
        }
        let problem = format!(
            "an array or table of more than {most} {what}; write tables instead, such as [[pin]]"
        );
        Err(Mistake::new(at, problem))
    }

    /// Takes the first byte of something outside of brackets.
    fn begin(&mut self, at: usize) -> Result<(), Mistake> {
        let Some(quiet) = self.quiet.take() else {
            return Ok(()); // the line has begun before
        };
        if self.line - quiet >= GAP {
            self.gap(quiet);
        }
        let rest = self.text.get(at..).unwrap_or_default();
        if let Some(list) = header(rest) {
            // a text has at most 64 MiB
            let before = self.tokens - self.in_gaps;
            self.headers.push((self.line as u32, before as u32));
            self.list = list;
            (self.keys, self.single, self.marks, self.strings) = (0, 0, 0, 0);
        } else if let Some(inside) = rest.strip_prefix('[') {
            self.single += 1;
            if self.single > MOST_SINGLE {
                let problem = format!(
                    "more than {MOST_SINGLE} tables such as [guard], one after the other; is this \
                     a fleet?"
                );
                return Err(Mistake::new(at, problem));
            }
            let (name, _) = plain(inside);
            if self.text.len() > WHOLE && name != self.list && LISTS.contains(&name) {
                let problem = format!(
                    "a table of {name} that does not follow its [[{name}]]; in a file of more \
                     than 64 KiB, put it there"
                );
                return Err(Mistake::new(at, problem));
            }
        }
        Ok(())
    }

    /// Notes that what is from here to the line is left out.
    fn gap(&mut self, quiet: usize) {
        self.gaps.push(quiet..self.line);
        self.in_gaps += self.tokens - self.before_quiet;
    }

    /// Takes the end of the text. The run that the text ends with has nothing behind it.
    pub(super) fn end(&mut self) {
        if let Some(quiet) = self.quiet.filter(|quiet| self.line - quiet >= GAP) {
            self.gap(quiet);
        }
    }

    /// Returns the blocks. One block that is the whole text is none.
    pub(super) fn blocks(mut self) -> Vec<Block<'a>> {
        if self.text.len() <= WHOLE {
            return Vec::new();
        }
        let mut starts = vec![(0, 0)];
        for (header, tokens) in self.headers.drain(..) {
            let (header, tokens) = (header as usize, tokens as usize);
            if starts
                .last()
                .is_some_and(|(last, _)| header - last >= BLOCK)
            {
                starts.push((header, tokens));
            }
        }
        if starts.len() == 1 && self.gaps.is_empty() {
            return Vec::new();
        }
        let ends = starts.iter().skip(1).copied();
        let ends = ends.chain([(self.text.len(), self.tokens - self.in_gaps)]);
        let mut gaps = self.gaps.iter().peekable();
        let blocks = starts
            .iter()
            .zip(ends)
            .map(|((start, before), (end, tokens))| {
                let mut pieces = Vec::new();
                let mut from = *start;
                while let Some(gap) = gaps.next_if(|gap| gap.start < end) {
                    pieces.push(from..gap.start.max(from));
                    from = gap.end.min(end);
                }
                pieces.push(from..end);
                pieces.retain(|piece| !piece.is_empty());
                let texts = pieces
                    .iter()
                    .filter_map(|piece| self.text.get(piece.clone()));
                let text = match &pieces[..] {
                    [piece] => Cow::Borrowed(self.text.get(piece.clone()).unwrap_or_default()),
                    _ => Cow::Owned(texts.collect()),
                };
                Block {
                    text,
                    tokens: tokens - before,
                    pieces,
                }
            });
        blocks.collect()
    }
}

/// Returns the name of the list whose header a text begins with, if the name is a plain one.
fn header(text: &str) -> Option<&str> {
    let (name, behind) = plain(text.strip_prefix("[[")?);
    (!name.is_empty() && behind.starts_with("]]")).then_some(name)
}

/// Splits a plain name and the blanks around it from the start of a text.
fn plain(text: &str) -> (&str, &str) {
    let blank = |c: char| c == ' ' || c == '\t';
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = text.trim_start_matches(blank);
    let behind = name.trim_start_matches(is_plain);
    let name = name.get(..name.len() - behind.len()).unwrap_or_default();
    (name, behind.trim_start_matches(blank))
}

impl<'a> Block<'a> {
    /// The whole text as a block.
    pub(super) fn whole(text: &'a str) -> Block<'a> {
        Block {
            text: Cow::Borrowed(text),
            tokens: 0,
            pieces: std::iter::once(0..text.len()).collect(),
        }
    }

    /// Returns where a byte of the block stands in the whole text.
    pub(super) fn at(&self, place: usize) -> usize {
        let mut rest = place;
        let mut end = 0;
        for piece in &self.pieces {
            end = piece.end;
            if rest < piece.len() {
                return piece.start + rest;
            }
            rest -= piece.len();
        }
        end + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the blocks of a text without brackets and strings.
    fn texts(text: &str) -> Vec<String> {
        let mut outline = Outline::new(text);
        for (at, byte) in text.bytes().enumerate() {
            assert!(outline.take(byte, at, 0).is_ok());
        }
        outline.end();
        let blocks = outline.blocks();
        blocks
            .iter()
            .map(|block| block.text.clone().into())
            .collect()
    }

    #[test]
    fn empty_lines_go_to_no_block_wherever_they_are() {
        let gap = "\n".repeat(WHOLE + 1);
        for text in [
            format!("{gap}a = 1\nb = 2\n"),
            format!("a = 1\n{gap}b = 2\n"),
            format!("a = 1\nb = 2\n{gap}"),
        ] {
            assert_eq!(texts(&text), ["a = 1\nb = 2\n"]);
        }
        assert_eq!(texts(&gap), [""]);
        // control: runs that are shorter stay, and the text is one block, which is none
        let short = format!("a = 1\n{}", "\n".repeat(GAP - 1));
        assert!(texts(&short.repeat(WHOLE / GAP + 1)).is_empty());
    }

    #[test]
    fn a_table_of_nothing_but_quotes_is_refused_before_it_is_parsed() {
        for quote in [b'"', b'\''] {
            let mut outline = Outline::new("");
            for at in 0..MOST_QUOTED {
                assert!(outline.take(quote, at, 0).is_ok());
            }
            let Err(mistake) = outline.take(quote, MOST_QUOTED, 0) else {
                panic!("more strings than any table has are taken");
            };
            assert!(mistake.problem.contains("strings"), "{}", mistake.problem);
        }
    }
}
