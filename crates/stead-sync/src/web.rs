//! A hub at a web server, which is only read: a map file, and its history beside it.
//!
//! ```text
//! URL                  the newest epoch, with an ETag or the time of its last change
//! URL.history/7        epoch 7
//! URL.history/log      the log of the history
//! ```
//!
//! These are the files of a [`Directory`](crate::directory::Directory), so any web server that
//! serves that directory will do.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use base64::prelude::{Engine, BASE64_STANDARD};
use stead::store::Entry;
use stead::Map;
use ureq::http::HeaderMap;
use ureq::Agent;

use crate::access::{no_contact, Access, Secret};
use crate::exit::{Failure, Result, DATA, NO_CONTACT, PERMISSION};
use crate::hub::{Head, Hub, Shared, MOST_BYTES};

/// How long a request may be silent.
const SILENCE: Duration = Duration::from_secs(10);

/// A hub at a web server.
pub struct Web {
    agent: Agent,
    url: String,
    access: Access,
    login: RefCell<Option<(String, Secret)>>,
    every: Duration,
    newest: RefCell<Option<Newest>>,
    /// when it was asked last
    asked: Cell<Option<Instant>>,
}

/// The map as it was fetched last.
struct Newest {
    /// the headers that ask whether it has changed
    unchanged: Vec<(&'static str, String)>,
    bytes: Vec<u8>,
    head: Head,
}

/// What a server says about a file.
enum Answer {
    Same,
    Missing,
    File(HeaderMap, Vec<u8>),
}

impl Web {
    /// Returns the hub, without any request. `every` is how often it is asked for changes.
    pub fn new(url: &str, access: &Access, every: Duration) -> Result<Web> {
        Ok(Web {
            agent: access.agent(url.starts_with("https:"))?,
            url: url.to_owned(),
            access: access.clone(),
            login: RefCell::new(access.login()?),
            every,
            newest: RefCell::new(None),
            asked: Cell::new(None),
        })
    }

    fn get(&self, url: &str, unchanged: &[(&'static str, String)]) -> Result<Answer> {
        let asked = self.agent.get(url).config();
        let asked = asked
            .timeout_send_request(Some(SILENCE))
            .timeout_recv_response(Some(SILENCE))
            .timeout_per_read(Some(SILENCE));
        let mut asked = asked.build();
        for (name, value) in unchanged {
            asked = asked.header(*name, value);
        }
        if let Some((user, password)) = &*self.login.borrow() {
            let login = BASE64_STANDARD.encode(format!("{user}:{}", password.reveal()));
            asked = asked.header("Authorization", format!("Basic {login}"));
        }
        let mut answer = asked.call().map_err(|error| no_contact(url, &error))?;
        let status = answer.status().as_u16();
        match status {
            200 => {
                let headers = answer.headers().clone();
                let body = answer.body_mut().with_config().limit(MOST_BYTES);
                let bytes = body.read_to_vec().map_err(|error| no_contact(url, &error))?;
                Ok(Answer::File(headers, bytes))
            }
            304 => Ok(Answer::Same),
            404 | 410 => Ok(Answer::Missing),
            // the password was changed, in the file as well
            401 if self.has_changed_login() => self.get(url, unchanged),
            401 | 403 => Err(Failure::new(
                PERMISSION,
                format_args!("{url}: the server says {status}; give --user and --password-file, or let it serve the file"),
            )),
            300..=399 => Err(Failure::new(
                DATA,
                format_args!("{url}: the server sends the request elsewhere ({status}); give the URL where the map is"),
            )),
            400 => Err(Failure::new(
                NO_CONTACT,
                format_args!("{url}: the server says 400; if it speaks TLS there, write https://"),
            )),
            status => Err(Failure::new(NO_CONTACT, format_args!("{url}: the server says {status}"))),
        }
    }

    /// Takes the password that is in its file by now. Returns whether it is another one.
    fn has_changed_login(&self) -> bool {
        let before = self.login.borrow().clone();
        let now = before.and_then(|login| self.access.changed_login(&login));
        let is_other = now.is_some();
        if is_other {
            self.login.replace(now);
        }
        is_other
    }

    fn log(&self) -> Vec<Entry> {
        match self.get(&format!("{}.history/log", self.url), &[]) {
            Ok(Answer::File(_, bytes)) => bytes
                .split(|byte| *byte == b'\n')
                .filter_map(|line| serde_json::from_slice(line).ok())
                .collect(),
            _ => Vec::new(),
        }
    }
}

impl Hub for Web {
    fn head(&self) -> Result<Option<Head>> {
        let is_fresh = |asked: Instant| asked.elapsed() < self.every;
        if let Some(newest) = &*self.newest.borrow() {
            if self.asked.get().is_some_and(is_fresh) {
                return Ok(Some(newest.head.clone()));
            }
        }
        self.ask()
    }

    fn map(&self, head: &Head, epoch: u64) -> Result<Option<Map>> {
        if epoch == head.epoch {
            let newest = self.newest.borrow();
            let newest = newest
                .as_ref()
                .filter(|newest| newest.head.digest == head.digest);
            return match newest {
                Some(newest) => self.verified(&self.url, newest.bytes.clone()).map(Some),
                None => Ok(None),
            };
        }
        let url = format!("{}.history/{epoch}", self.url);
        match self.get(&url, &[])? {
            Answer::File(_, bytes) => self.verified(&url, bytes).map(Some),
            _ => Ok(None),
        }
    }

    fn wait(&mut self, head: Option<&Head>, most: Duration) -> Result {
        let until = Instant::now() + most;
        loop {
            let again = self.asked.get().map_or(until, |asked| asked + self.every);
            let next = until.min(again);
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            if next < again {
                return Ok(());
            }
            let now = self.ask()?;
            let id = |head: &Head| (head.epoch, head.digest);
            if now.as_ref().map(id) != head.map(id) || Instant::now() >= until {
                return Ok(());
            }
        }
    }

    fn shared(&self) -> Option<&dyn Shared> {
        None
    }
}

impl Web {
    /// Asks the server for the head.
    fn ask(&self) -> Result<Option<Head>> {
        self.asked.set(Some(Instant::now()));
        let unchanged = self
            .newest
            .borrow()
            .as_ref()
            .map(|newest| newest.unchanged.clone());
        let (headers, bytes) = match self.get(&self.url, &unchanged.unwrap_or_default())? {
            Answer::Same => {
                let newest = self.newest.borrow();
                return Ok(newest.as_ref().map(|newest| newest.head.clone()));
            }
            Answer::Missing => {
                self.newest.replace(None);
                return Ok(None);
            }
            Answer::File(headers, bytes) => (headers, bytes),
        };
        let pairs = [
            ("ETag", "If-None-Match"),
            ("Last-Modified", "If-Modified-Since"),
        ];
        let told = pairs.into_iter().find_map(|(has, asks)| {
            let value = headers.get(has)?.to_str().ok()?;
            Some((asks, value.to_owned()))
        });
        let Some(told) = told else {
            return Err(Failure::new(
                DATA,
                format_args!("{}: the server sends neither ETag nor Last-Modified, so each look would fetch the whole map; let it send one", self.url),
            ));
        };
        let map = self.verified(&self.url, bytes)?;
        let head = Head {
            epoch: map.epoch(),
            digest: map.digest(),
            identity: None,
            pushed: None,
            log: self.log(),
            version: 0,
        };
        self.newest.replace(Some(Newest {
            unchanged: vec![told],
            bytes: map.bytes().to_vec(),
            head: head.clone(),
        }));
        Ok(Some(head))
    }

    fn verified(&self, url: &str, bytes: Vec<u8>) -> Result<Map> {
        Map::from_bytes(bytes).map_err(|error| Failure::new(DATA, format_args!("{url}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;

    use stead::{build, Fleet};

    /// Serves a map, and counts the requests for it.
    fn served() -> (String, Arc<AtomicUsize>) {
        let fleet = Fleet::parse("name = 'm'\nnode = [{name = 'a'}]", "fleet").unwrap();
        let map = build(&fleet, None).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/m.map", listener.local_addr().unwrap());
        let count = Arc::new(AtomicUsize::new(0));
        let asked = Arc::clone(&count);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(std::result::Result::ok) {
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
                    request.push(byte[0]);
                }
                let of_map = request.starts_with(b"GET /m.map ");
                let (status, body) = match of_map {
                    true => ("200 OK", map.bytes()),
                    false => ("404 Not Found", &b""[..]),
                };
                asked.fetch_add(usize::from(of_map), Ordering::Relaxed);
                let head = format!(
                    "HTTP/1.1 {status}\r\nETag: \"1\"\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n",
                    body.len()
                );
                stream.write_all(head.as_bytes()).unwrap();
                stream.write_all(body).unwrap();
            }
        });
        (url, count)
    }

    #[test]
    fn a_server_is_asked_as_seldom_as_was_wanted() {
        let (url, count) = served();
        let counted = |every: Duration| {
            let before = count.load(Ordering::Relaxed);
            let mut hub = Web::new(&url, &Access::default(), every).unwrap();
            let head = hub.head().unwrap();
            assert_eq!(head.as_ref().unwrap().epoch, 1);
            for _ in 0..5 {
                hub.wait(head.as_ref(), Duration::from_millis(2)).unwrap();
                assert_eq!(hub.head().unwrap(), head);
            }
            count.load(Ordering::Relaxed) - before
        };
        assert_eq!(counted(Duration::from_secs(3600)), 1);
        // the control: without a pause it is asked each time
        assert!(counted(Duration::ZERO) >= 11);
    }
}
