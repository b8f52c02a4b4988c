//! The map that answers: the one of the start, or with `--follow` the one that its file has now.

use std::path::Path;
use std::sync::Arc;

use stead::{Map, Pair};

use crate::exit::note;

/// What answers: a map, or the pair of the maps of a carry.
pub trait Source: Sized {
    /// Opens a file through the cache of open maps: one `stat` where it is unchanged.
    fn open(path: &Path) -> stead::Result<Self>;

    /// The map of the file.
    fn map(&self) -> &Map;
}

impl Source for Arc<Map> {
    fn open(path: &Path) -> stead::Result<Arc<Map>> {
        Map::open_copy(path)
    }

    fn map(&self) -> &Map {
        self
    }
}

impl Source for Pair {
    fn open(path: &Path) -> stead::Result<Pair> {
        Pair::open_copy(path)
    }

    fn map(&self) -> &Map {
        self.new_map()
    }
}

/// A source that follows its file, or stays as it was opened.
pub struct Following<'a, S> {
    path: &'a Path,
    source: S,
    follows: bool,
    /// why the file is no map now, as it was last said
    said: Option<String>,
}

impl<'a, S: Source> Following<'a, S> {
    /// Takes what was opened at a path.
    pub fn new(path: &'a Path, source: S, follows: bool) -> Following<'a, S> {
        Following {
            path,
            source,
            follows,
            said: None,
        }
    }

    /// What answers now.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Looks whether the file is another map now, which then answers from here on, and says so on
    /// standard error. Where the file is no map, the last one goes on answering, and this is said
    /// once. Returns whether another map answers.
    ///
    /// Cost: one `stat`, two while a carry is open; nothing for a source that does not follow.
    pub fn look(&mut self) -> bool {
        if !self.follows {
            return false;
        }
        let before = self.source.map().epoch();
        let opened = match S::open(self.path) {
            Ok(opened) => opened,
            Err(error) => {
                let why = error.to_string();
                if self.said.as_ref() != Some(&why) {
                    note(format_args!("{why}; epoch {before} goes on answering"));
                    self.said = Some(why);
                }
                return false;
            }
        };
        self.said = None;
        if opened.map().digest() == self.source.map().digest() {
            return false;
        }
        self.source = opened;
        note(format_args!(
            "{}: epoch {} answers from here on, in place of epoch {before}",
            self.path.display(),
            self.source.map().epoch()
        ));
        true
    }
}
