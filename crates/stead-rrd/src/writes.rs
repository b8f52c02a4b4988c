//! The writes of one log record, one line after the other, in as few allocations as possible.

use crate::key::{hash_of, Key};
use crate::path::escape;
use crate::verb::Verb;
use crate::words::words;

/// Returns whether a line was marked by [`Writes::mark_unjudged`].
pub fn is_unjudged(line: &[u8]) -> bool {
    line.first().is_some_and(u8::is_ascii_lowercase)
}

/// Lines, one after the other, in as few allocations as possible.
#[derive(Default)]
pub struct Writes {
    text: Vec<u8>,
    lines: Vec<Span>,
    /// whether a line is anything but an UPDATE
    others: bool,
}

#[derive(Clone, Copy)]
struct Span {
    verb: Verb,
    /// the offsets of the name: from, to
    name: (u32, u32),
    line: (u32, u32),
    /// the offset where the words after the name begin
    words: u32,
    /// the hash of the name
    hash: u64,
    /// which known file it is of, or 0
    file: u64,
}

impl Writes {
    /// Adds a write to the file of this name. The words of `rest` and then of `more` follow the
    /// name.
    pub fn push(&mut self, verb: Verb, name: &[u8], rest: &[u8], more: &[u8]) {
        let at = |text: &Vec<u8>| text.len() as u32; // a part of a BATCH is far below 4 GiB
        let start = at(&self.text);
        self.text.extend_from_slice(verb.name().as_bytes());
        self.text.push(b' ');
        let name_start = at(&self.text);
        escape(name, &mut self.text);
        let mut name_end = at(&self.text);
        let words_start = name_end;
        for word in words(rest).chain(words(more)) {
            self.text.push(b' ');
            self.text.extend_from_slice(word);
        }
        self.text.push(b'\n');
        let end = at(&self.text);
        let mut place = (name_start, name_end);
        if (name_end - name_start) as usize != name.len() {
            self.text.extend_from_slice(name); // the unescaped name must be stored, too
            name_end = at(&self.text);
            place = (end, name_end);
        }
        self.others |= verb != Verb::Update;
        self.lines.push(Span {
            verb,
            name: place,
            line: (start, end),
            words: words_start,
            hash: hash_of(name),
            file: 0,
        });
    }

    /// Adds a line of other writes again.
    pub fn push_again(&mut self, from: &Writes, at: usize) {
        self.push(from.verb(at), from.name(at), from.words(at), b"");
    }

    /// Marks an UPDATE that nobody has judged by the shape of its file: in its line, the verb
    /// begins with a small letter. rrdcached takes both.
    pub fn mark_unjudged(&mut self, at: usize) {
        let (from, _) = self.lines[at].line;
        self.text[from as usize].make_ascii_lowercase();
    }

    /// Returns the lines for which `stays` is true.
    pub fn retained(&self, stays: impl Fn(usize) -> bool) -> Writes {
        let mut kept = self.another();
        (0..self.len()).filter(|at| stays(*at)).for_each(|at| {
            kept.push_again(self, at);
            if is_unjudged(self.line(at)) {
                kept.mark_unjudged(kept.len() - 1);
            }
        });
        kept
    }

    /// Returns empty writes with room for as many lines of the same length.
    pub fn another(&self) -> Writes {
        Writes {
            text: Vec::with_capacity(self.text.len()),
            lines: Vec::with_capacity(self.lines.len()),
            others: false,
        }
    }

    /// Returns how many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the size of all lines in bytes.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns whether every line is an UPDATE.
    pub fn are_updates(&self) -> bool {
        !self.others
    }

    /// Returns the verb of a line.
    pub fn verb(&self, at: usize) -> Verb {
        self.lines[at].verb
    }

    /// Returns the name of the file of a line.
    pub fn name(&self, at: usize) -> &[u8] {
        let (from, to) = self.lines[at].name;
        &self.text[from as usize..to as usize]
    }

    /// Records which known file a line is of: a number that no other file ever has.
    pub fn set_file(&mut self, at: usize, file: u64) {
        self.lines[at].file = file;
    }

    /// Returns the key of the file of a line.
    pub fn key(&self, at: usize) -> Key<'_> {
        Key {
            name: self.name(at),
            hash: self.lines[at].hash,
            file: self.lines[at].file,
        }
    }

    /// Returns the words after the name, each with a blank before it.
    pub fn words(&self, at: usize) -> &[u8] {
        let (_, end) = self.lines[at].line;
        &self.text[self.lines[at].words as usize..end as usize - 1]
    }

    /// Returns a line with its end.
    pub fn line(&self, at: usize) -> &[u8] {
        let (from, to) = self.lines[at].line;
        &self.text[from as usize..to as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_names_come_back_as_they_were_put_in() {
        let mut writes = Writes::default();
        writes.push(Verb::Update, b"c/sp a\\ce", b"1:2  3:4", b"");
        writes.push(Verb::Create, b"plain", b"-s 60", b"-O -b 5");
        assert_eq!(writes.line(0), b"UPDATE c/sp\\ a\\\\ce 1:2 3:4\n");
        assert_eq!(writes.name(0), b"c/sp a\\ce");
        assert_eq!(
            (writes.line(1), writes.name(1)),
            (&b"CREATE plain -s 60 -O -b 5\n"[..], &b"plain"[..])
        );
        assert_eq!(
            (writes.words(0), writes.words(1)),
            (&b" 1:2 3:4"[..], &b" -s 60 -O -b 5"[..])
        );
        let mut again = Writes::default();
        again.push_again(&writes, 0);
        assert_eq!(
            (again.line(0), again.name(0)),
            (writes.line(0), writes.name(0))
        );
        assert_eq!(writes.len(), 2);
        let rest = writes.retained(|at| at == 1);
        assert_eq!((rest.len(), rest.line(0)), (1, writes.line(1)));
        let updates = writes.retained(|at| at == 0);
        let all = [&writes, &rest, &updates, &writes.another()];
        assert_eq!(all.map(Writes::are_updates), [false, false, true, true]);
    }

    #[test]
    fn an_update_that_nobody_has_judged_is_marked() {
        let mut writes = Writes::default();
        writes.push(Verb::Update, b"a", b"1:2", b"");
        assert!(!is_unjudged(writes.line(0)));
        writes.mark_unjudged(0);
        assert!(is_unjudged(writes.line(0)));
        assert_eq!(Verb::named(b"uPDATE"), Some(Verb::Update));
    }
}
