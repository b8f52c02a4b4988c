//! The agent: does at this machine what a carrier at another one asks for, over its standard input
//! and output. `stead-sync carry run` starts it by ssh.
//!
//! ```text
//! carrier                    agent
//! Hello                      -> version
//! Give                       -> opening, pieces, done        a file that leaves
//! Take, opening, pieces,done -> added                        a file that arrives
//! Keys                       -> pages of items, and at last what was left alone
//! anything else              -> its result
//! ```
//!
//! It ends when its standard input does: then a file that is arriving is thrown away.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::carry::base64_bytes::Bytes;
use crate::carry::kind::{Added, Done, Fault, Item, Version};
use crate::carry::whole_file::Piece;
use crate::carry::wire::{hear, hear_frame, say, say_piece, sent, Ask, Frame, Hello, Sent};

use super::root::{Left, Opening, Root};

/// How many items a page of a listing has.
const PAGE: usize = 256;

/// The version of this program.
pub const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// What became of a file that arrived.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Arrived {
    /// It is in its place.
    There {
        /// Its version there.
        wrote: Bytes,
        /// How many bytes have arrived.
        bytes: u64,
    },
    /// Something was there already.
    Present,
}

/// A page of a listing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Page {
    /// Items.
    Items(Vec<Sent>),
    /// The end: what was left alone.
    End(Left),
}

/// Serves one carrier to the end of its input.
///
/// Errors: those of the line.
pub fn serve(input: impl Read, output: impl Write) -> io::Result<()> {
    let (mut input, mut output) = (BufReader::new(input), BufWriter::new(output));
    let hello: Hello = hear(&mut input)?;
    if hello.program != PROGRAM {
        let why = format!(
            "stead-sync {PROGRAM} is installed there, and here it is {}; install the same",
            hello.program
        );
        return answer(&mut output, Err::<(), _>(Fault::final_one(why)));
    }
    let root = match Root::new(PathBuf::from(&hello.root), &hello.options, &hello.own) {
        Ok(root) => root,
        Err(why) => return answer(&mut output, Err::<(), _>(Fault::final_one(why))),
    };
    root.expect(&hello.node, hello.ground);
    answer(&mut output, Ok(()))?;
    loop {
        let ask: Ask = match hear(&mut input) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            ask => ask?,
        };
        match ask {
            Ask::Ready => answer(&mut output, root.ready(&hello.node))?,
            Ask::Fence { token } => answer(&mut output, root.own.fence(&token))?,
            Ask::Clear { token } => answer(
                &mut output,
                root.own.clear(token.as_deref(), token.is_none()),
            )?,
            Ask::Holding => answer(&mut output, root.holding())?,
            Ask::Sizes { items } => {
                answer(&mut output, root.sizes(items.into_iter().map(Item::from)))?
            }
            Ask::Disk => answer(&mut output, root.disk())?,
            Ask::Keys { after } => list(&root, after, &mut output)?,
            Ask::Version { item } => answer(&mut output, root.version(&item.into()))?,
            Ask::Written { item } => answer(&mut output, root.written(&item.into()))?,
            Ask::Dates { item } => answer(&mut output, root.dates(&item.into()))?,
            Ask::Look { item } => answer(&mut output, root.look(&item.into()))?,
            Ask::Room { item } => answer(&mut output, root.room(&item.into()))?,
            Ask::Tidy { item } => answer(&mut output, root.tidy(&item.into()))?,
            Ask::Give { item, above } => give(&root, &item.into(), above, &mut output)?,
            Ask::Take { item, over, token } => {
                let over = over.map(|over| Version(over.0));
                let added = take(&root, &item.into(), over.as_ref(), &token, &mut input)?;
                answer(&mut output, added)?;
            }
            Ask::Remove {
                item,
                version,
                token,
            } => {
                let gone = root.remove(&item.into(), &Version(version.0), Some(&token));
                answer(&mut output, root.flush().and(gone))?;
            }
        }
    }
}

fn answer<T: Serialize>(output: &mut impl Write, what: Done<T>) -> io::Result<()> {
    say(output, &what)?;
    output.flush()
}

fn list(root: &Root, after: Option<Bytes>, output: &mut impl Write) -> io::Result<()> {
    let (mut page, mut lost) = (Vec::new(), Ok(()));
    let never = AtomicBool::new(false);
    let mut each = |item: Item| {
        page.push(Sent::from(&item));
        if page.len() == PAGE {
            let items = Page::Items(std::mem::take(&mut page));
            lost = answer(output, Ok(items));
        }
        lost.is_ok()
    };
    let after = after.map(|after| after.0);
    let left = root.keys(after.as_deref(), &never, &mut each);
    lost?;
    answer(output, Ok(Page::Items(page)))?;
    answer(output, left.map(Page::End))
}

/// Sends a file: what stands before it, its pieces, and whether all were read.
fn give(root: &Root, item: &Item, above: bool, output: &mut impl Write) -> io::Result<()> {
    let (opening, mut reading) = match root.open(item, above) {
        Ok(Some(open)) => open,
        none => return answer(output, none.map(|_| None::<Opening>)),
    };
    say(output, &Done::Ok(Some(opening)))?;
    let end = loop {
        match reading.piece() {
            Ok(Some(piece)) => say_piece(output, &piece)?,
            Ok(None) => break Ok(()),
            Err(error) => break Err(Fault::final_one(format_args!("cannot read: {error}"))),
        }
    };
    answer(output, end)
}

/// Takes a file that arrives.
fn take(
    root: &Root,
    item: &Item,
    over: Option<&Version>,
    token: &str,
    input: &mut impl Read,
) -> io::Result<Done<Arrived>> {
    let opening: Opening = hear(input)?;
    let mut pieces = Pieces::new(input);
    let added = root.take(item, &opening, &mut || pieces.piece(), over, Some(token));
    pieces.finish()?;
    Ok(root.flush().and(added).map(|added| match added {
        Added::Copied { wrote, bytes, .. } => Arrived::There {
            wrote: sent(&wrote),
            bytes,
        },
        _ => Arrived::Present,
    }))
}

/// The pieces of a file, as they come over a line.
pub struct Pieces<'a, R> {
    input: &'a mut R,
    ended: bool,
    /// why the line is of no use any more
    lost: Option<io::Error>,
}

impl<'a, R: Read> Pieces<'a, R> {
    /// Returns the pieces that come next.
    pub fn new(input: &'a mut R) -> Pieces<'a, R> {
        Pieces {
            input,
            ended: false,
            lost: None,
        }
    }

    /// Returns the next piece; `None` at the end.
    ///
    /// Errors: what the other end could not read; a line that is lost.
    pub fn piece(&mut self) -> Done<Option<Piece>> {
        if self.ended {
            return Ok(None);
        }
        let mut frame = || match hear_frame(self.input)? {
            Frame::Piece(piece) => Ok(Ok(Some(piece))),
            Frame::Said(text) => {
                self.ended = true;
                let end: Done = serde_json::from_slice(&text)?;
                Ok(end.map(|()| None))
            }
        };
        frame().unwrap_or_else(|error: io::Error| {
            self.ended = true;
            let fault = Fault::passing(format_args!("a line was lost: {error}"));
            self.lost = Some(error);
            Err(fault)
        })
    }

    /// Takes what is left, so that the line can be used for something else.
    pub fn finish(mut self) -> io::Result<()> {
        while !self.ended {
            let _ = self.piece();
        }
        self.lost.map_or(Ok(()), Err)
    }
}
