//! Reads and writes whole files: to compare their content, and to put content that was made here.

use std::io;

use twox_hash::XxHash3_128;

use super::below::{named, Sum};
use super::copy::{blocking, checked, Files, Kind};
use super::paging::Page;
use super::wire::CHUNK;
use crate::dirs::Place;
use crate::image::Digest;

impl Files {
    /// Finds out whether the files can be reached, and returns which directory they are in.
    pub async fn reach(&self) -> io::Result<Place> {
        self.said(match &self.0 {
            Kind::Directory(tree) => {
                let tree = tree.clone();
                blocking(move || tree.place()).await
            }
            Kind::Agent(remote) => remote.place().await,
        })
    }

    /// Returns at most `most` RRDs that come after a name, in the order of
    /// [`in_order`](super::in_order). The empty name comes before all others.
    pub async fn page(&self, after: &[u8], most: u32) -> io::Result<Page> {
        self.said(match &self.0 {
            Kind::Directory(tree) => {
                let (tree, after) = (tree.clone(), after.to_vec());
                blocking(move || tree.page(&after, most as usize)).await
            }
            Kind::Agent(remote) => remote.page(after, most).await,
        })
    }

    /// Returns a summary of the content of a file, or `None` if it does not exist. A file of more
    /// than [`MOST_BYTES`](super::MOST_BYTES) is an error.
    pub async fn digest(&self, name: &[u8]) -> io::Result<Option<Digest>> {
        let name = checked(name)?;
        self.said(match &self.0 {
            Kind::Directory(tree) => {
                let tree = tree.clone();
                blocking(move || tree.digest(&name)).await
            }
            Kind::Agent(remote) => remote.digest(&name).await,
        })
    }

    /// Returns the content of a file of at most `most` bytes, with its mode bits. A larger one is
    /// an error.
    pub async fn read(&self, name: &[u8], most: usize) -> io::Result<(Vec<u8>, u32)> {
        let (mut source, mode) = self.said(self.open(name).await)?;
        let mut bytes = Vec::new();
        loop {
            let chunk = self.said(source.more(CHUNK).await)?;
            bytes.extend_from_slice(&chunk);
            if bytes.len() > most {
                let text = format!("more than {most} bytes");
                return self.said(Err(named(name, io::Error::other(text))));
            }
            if chunk.len() < CHUNK {
                return Ok((bytes, mode));
            }
        }
    }

    /// Puts this content in the place of a file, with these mode bits. Like a
    /// [copy](Files::copy), the file is either whole and on disk, or the place keeps what it had.
    pub async fn put(&self, name: &[u8], mode: u32, bytes: &[u8]) -> io::Result<()> {
        let mut target = self.said(self.create(name, mode).await)?;
        for chunk in bytes.chunks(CHUNK) {
            self.said(target.write(chunk.to_vec()).await)?;
        }
        let sum: Sum = (bytes.len() as u64, XxHash3_128::oneshot(bytes));
        if self.said(target.verify().await)? != sum {
            let text = "arrived different from what was sent";
            let error = io::Error::new(io::ErrorKind::InvalidData, text);
            return self.said(Err(named(name, error)));
        }
        self.said(target.commit().await)
    }
}
