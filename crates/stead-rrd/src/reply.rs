//! A reply: `<n> text`, followed by n lines if n is above 0. If n is below 0, the reply is an
//! error.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// The most bytes of a reply. Nothing that is asked has a longer one: a LIST of a million files has
/// about 60 MiB, and a FETCH that would have more is not sent.
const MOST_BYTES: usize = 256 << 20;

/// An answer of a backend or of the router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The number of lines. A negative number means an error.
    pub count: i64,
    /// The text after the number.
    pub text: Vec<u8>,
    /// The lines, each with its end. They may contain binary data (FETCHBIN).
    pub lines: Vec<u8>,
}

impl Reply {
    /// Returns a success without lines.
    pub fn ok(text: impl Into<Vec<u8>>) -> Reply {
        Reply {
            count: 0,
            text: text.into(),
            lines: Vec::new(),
        }
    }

    /// Returns an error.
    pub fn error(text: impl Into<Vec<u8>>) -> Reply {
        Reply {
            count: -1,
            text: text.into(),
            lines: Vec::new(),
        }
    }

    /// Returns a success with lines.
    pub fn list<L: AsRef<[u8]>>(
        text: impl Into<Vec<u8>>,
        list: impl IntoIterator<Item = L>,
    ) -> Reply {
        let mut reply = Reply::ok(text);
        for line in list {
            reply.count += 1;
            reply.lines.extend_from_slice(line.as_ref());
            reply.lines.push(b'\n');
        }
        reply
    }

    /// Returns whether the reply is an error.
    pub fn is_error(&self) -> bool {
        self.count < 0
    }

    /// Returns the lines, without their ends.
    pub fn each(&self) -> impl Iterator<Item = &[u8]> {
        self.lines
            .split(|b| *b == b'\n')
            .take(usize::try_from(self.count).unwrap_or(0))
    }

    /// Returns the bytes of the reply on the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    /// Returns its first line, with its end.
    pub fn head(&self) -> Vec<u8> {
        [self.count.to_string().as_bytes(), b" ", &self.text, b"\n"].concat()
    }

    /// Appends the bytes of the reply on the wire.
    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.head());
        to.extend_from_slice(&self.lines);
    }

    /// Rewrites every path below `from` to one below `to`. Replies with binary data contain no
    /// paths and must not be passed here.
    pub fn rebased(mut self, from: &[u8], to: &[u8]) -> Reply {
        self.text = rebase(&self.text, from, to);
        self.lines = rebase(&self.lines, from, to);
        self
    }

    /// Reads a reply. `binary` means that it answers a FETCHBIN, in which some lines are followed
    /// by data that may contain line ends.
    pub async fn read(from: &mut (impl AsyncBufRead + Unpin), binary: bool) -> io::Result<Reply> {
        let mut reply = Reply::read_head(from).await?;
        for _ in 0..reply.count {
            let start = reply.lines.len();
            line(from, &mut reply.lines).await?;
            if binary {
                if let Some(size) = data_after(&reply.lines[start..]) {
                    // the data and the line end after them
                    let got = from.take(size + 1).read_to_end(&mut reply.lines).await?;
                    if got as u64 != size + 1 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
            }
            if reply.lines.len() > MOST_BYTES {
                return Err(damaged("a reply of more than 256 MiB", &reply.text));
            }
        }
        Ok(reply)
    }

    /// Reads a reply that has no binary data, if it has at most `most` lines; of a longer one,
    /// reads only the first line.
    pub async fn read_at_most(
        from: &mut (impl AsyncBufRead + Unpin),
        most: usize,
    ) -> io::Result<Option<Reply>> {
        let mut reply = Reply::read_head(from).await?;
        if reply.count > i64::try_from(most).unwrap_or(i64::MAX) {
            return Ok(None);
        }
        for _ in 0..reply.count {
            line(from, &mut reply.lines).await?;
        }
        Ok(Some(reply))
    }

    /// Reads the first line of a reply.
    async fn read_head(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Reply> {
        let mut head = Vec::new();
        line(from, &mut head).await?;
        head.pop();
        if head.last() == Some(&b'\r') {
            head.pop();
        }
        let at = head.iter().position(|b| *b == b' ').unwrap_or(head.len());
        let count = std::str::from_utf8(&head[..at])
            .ok()
            .and_then(|n| n.parse::<i64>().ok());
        let Some(count) = count else {
            return Err(damaged("a reply without a number", &head));
        };
        Ok(Reply {
            count,
            text: head.get(at + 1..).unwrap_or_default().to_vec(),
            lines: Vec::new(),
        })
    }
}

/// Appends one line, with its end.
async fn line(from: &mut (impl AsyncBufRead + Unpin), to: &mut Vec<u8>) -> io::Result<()> {
    // if nothing was read, the last byte is the end of the previous line
    if from.take(MOST_BYTES as u64).read_until(b'\n', to).await? > 0 && to.last() == Some(&b'\n') {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Returns how many bytes of data follow `DSName-x: BinaryData ROWS SIZE ENDIAN`.
fn data_after(line: &[u8]) -> Option<u64> {
    let line = std::str::from_utf8(line).ok()?;
    let (_, numbers) = line.strip_prefix("DSName-")?.rsplit_once(": BinaryData ")?;
    let mut numbers = numbers.split(' ').map(|n| n.parse::<u64>().ok());
    let size = numbers.next()??.checked_mul(numbers.next()??)?;
    (size < MOST_BYTES as u64).then_some(size)
}

fn damaged(what: &str, text: &[u8]) -> io::Error {
    let start = String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned();
    io::Error::new(io::ErrorKind::InvalidData, format!("{what}: {start:?}"))
}

/// Replaces every `from/` in the text by `to/`.
pub fn rebase(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    if from.is_empty() || from == to {
        return text.to_vec();
    }
    let mut result = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        // a path begins where a word or a quotation begins
        let starts = at == 0 || matches!(text[at - 1], b' ' | b'\n' | b'\'' | b'"');
        if starts
            && text[at..]
                .strip_prefix(from)
                .is_some_and(|rest| rest.first() == Some(&b'/'))
        {
            result.extend_from_slice(to);
            at += from.len();
        } else {
            result.push(text[at]);
            at += 1;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8], binary: bool) -> io::Result<Reply> {
        Reply::read(&mut &text[..], binary).await
    }

    #[tokio::test]
    async fn a_reply_is_read_as_it_was_written() {
        for reply in [
            Reply::ok("PONG"),
            Reply::error("no"),
            Reply::list("Success", ["a: 1", "", "b"]),
        ] {
            assert_eq!(read(&reply.bytes(), false).await.unwrap(), reply);
        }
        assert_eq!(
            Reply::list("x", ["a", "", "b"]).each().collect::<Vec<_>>(),
            [&b"a"[..], b"", b"b"]
        );
        assert_eq!(read(b"0 PONG\r\n", false).await.unwrap(), Reply::ok("PONG"));
    }

    #[tokio::test]
    async fn a_reply_cut_off_or_without_a_number_is_an_error() {
        let whole = Reply::list("Success", ["one", "two"]).bytes();
        for end in 0..whole.len() {
            assert!(read(&whole[..end], false).await.is_err(), "{end}");
        }
        for text in ["PONG\n", "\n", "x 1\n", "99999999999999999999 a\n"] {
            assert!(read(text.as_bytes(), false).await.is_err(), "{text:?}");
        }
    }

    #[tokio::test]
    async fn binary_data_may_hold_line_ends() {
        let text =
            b"2 Success\nDSName-a: BinaryData 2 4 LITTLE\n\n\n\n\n\n\n\n\n\nEnd: 1\n0 PONG\n";
        let mut from = &text[..];
        let reply = Reply::read(&mut from, true).await.unwrap();
        assert!(reply.lines.ends_with(b"\nEnd: 1\n"));
        assert_eq!(
            Reply::read(&mut from, false).await.unwrap(),
            Reply::ok("PONG")
        );
        assert!(
            read(b"1 Success\nDSName-a: BinaryData 2 4 LITTLE\n1234567", true)
                .await
                .is_err()
        );
    }

    #[test]
    fn a_backends_path_becomes_ours() {
        let cases = [
            ("No such file: /b1/db/c/x.rrd", "No such file: /rrd/c/x.rrd"),
            ("opening '/b1/db/c/x.rrd': no", "opening '/rrd/c/x.rrd': no"),
            (
                "filename 2 /b1/db/b1/db/x\n/b1/dbx /b1/db\n",
                "filename 2 /rrd/b1/db/x\n/b1/dbx /b1/db\n",
            ),
        ];
        for (from, to) in cases {
            assert_eq!(
                String::from_utf8(rebase(from.as_bytes(), b"/b1/db", b"/rrd")).unwrap(),
                to
            );
        }
    }
}
