//! Opens the hub at a place.

use std::time::Duration;

use crate::access::Access;
use crate::directory::Directory;
use crate::etcd::Etcd;
use crate::exit::{Failure, Result, USAGE};
use crate::hub::{Hub, Shared};
use crate::place::Place;
use crate::web::Web;

/// Opens the hub at a URL, without any request. `every` is how often a web server is asked.
pub fn open(url: &str, access: &Access, every: Duration) -> Result<Box<dyn Hub>> {
    Ok(match Place::parse(url)? {
        Place::Etcd { endpoints, prefix } => Box::new(Etcd::new(&endpoints, &prefix, access)?),
        Place::Directory(map) => Box::new(Directory::new(&map)),
        Place::Web(url) => Box::new(Web::new(&url, access, every)?),
    })
}

/// Returns the hub as one that takes maps and reports.
pub fn shared<'a>(hub: &'a dyn Hub, url: &str) -> Result<&'a dyn Shared> {
    hub.shared().ok_or_else(|| {
        Failure::new(
            USAGE,
            format_args!(
                "{url}: a web server is only read; use etcd:// or file:///, or copy the files \
                 there that the server serves"
            ),
        )
    })
}
