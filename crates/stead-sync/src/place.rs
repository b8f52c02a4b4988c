//! Where a hub is: a URL, parsed.

use std::path::PathBuf;

use crate::exit::{Failure, Result, USAGE};

/// Where a hub is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// An etcd cluster and the keys of one map in it.
    Etcd {
        /// `http://host:port` or `https://host:port` of each member.
        endpoints: Vec<String>,
        /// What all keys of the map begin with: `/prefix/name/`.
        prefix: String,
    },
    /// A map file in a directory that all hosts share.
    Directory(PathBuf),
    /// The URL of a map file at a web server.
    Web(String),
}

/// What a URL looks like, for messages.
const FORMS: &str = "write etcd://HOST:2379/PREFIX/NAME, etcds:// for TLS, file:///DIRECTORY/MAP, \
     or http(s)://HOST/PATH/MAP";

impl Place {
    /// Parses a URL. Several members of an etcd cluster are separated by commas.
    pub fn parse(url: &str) -> Result<Place> {
        let refuse = |problem: &str| {
            Err(Failure::new(
                USAGE,
                format_args!("{url}: {problem}; {FORMS}"),
            ))
        };
        let Some((scheme, rest)) = url.split_once("://") else {
            return refuse("this is not a URL of a hub");
        };
        let (hosts, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if hosts.contains('@') {
            // not repeated in the message: there may be a password in it
            return Err(Failure::new(
                USAGE,
                "a URL must have no user and no password, which others could see; use --user and \
                 --password-file",
            ));
        }
        if url.chars().any(|c| c.is_control() || c == ' ') {
            return refuse("it has a space or a control character");
        }
        match scheme {
            "etcd" | "etcds" => {
                let name = path.trim_matches('/');
                if name.is_empty() || path.contains("//") {
                    return refuse("the path must name the map, like /stead/members");
                }
                let http = if scheme == "etcd" { "http" } else { "https" };
                let mut endpoints = Vec::new();
                for host in hosts.split(',') {
                    let Some(host) = with_port(host) else {
                        return refuse(&format!("{host:?} is not a host with a port"));
                    };
                    endpoints.push(format!("{http}://{host}"));
                }
                Ok(Place::Etcd {
                    endpoints,
                    prefix: format!("/{name}/"),
                })
            }
            "file" if !hosts.is_empty() => refuse("the path must be absolute: three slashes"),
            "file" if path.len() > 1 && !path.ends_with('/') => {
                Ok(Place::Directory(PathBuf::from(path)))
            }
            "file" => refuse("the path must name a map file"),
            "http" | "https" if hosts.is_empty() || path.len() < 2 || path.ends_with('/') => {
                refuse("it must name a host and a map file")
            }
            "http" | "https" if path.contains(['?', '#']) => {
                refuse("it must have neither ? nor #, since the history is beside the map")
            }
            "http" | "https" => Ok(Place::Web(url.to_owned())),
            _ => refuse("this kind of hub is not known"),
        }
    }
}

/// Returns a host with a port, which is 2379 where none is given.
fn with_port(host: &str) -> Option<String> {
    let behind = host.rfind(']').map_or(0, |at| at + 1);
    let (name, port) = match host[behind..].find(':') {
        Some(at) => (&host[..behind + at], &host[behind + at + 1..]),
        None => (host, "2379"),
    };
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._[]:".contains(c));
    (is_name && port.parse::<u16>().is_ok()).then(|| format!("{name}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn etcd(endpoints: &[&str], prefix: &str) -> Place {
        Place::Etcd {
            endpoints: endpoints.iter().map(|e| (*e).to_owned()).collect(),
            prefix: prefix.to_owned(),
        }
    }

    #[test]
    fn every_kind_of_url_is_read() {
        let read = |url| Place::parse(url).unwrap();
        assert_eq!(
            read("etcd://h1:2379,10.0.0.2,[::1]:23/stead/members"),
            etcd(
                &["http://h1:2379", "http://10.0.0.2:2379", "http://[::1]:23"],
                "/stead/members/"
            )
        );
        assert_eq!(
            read("etcds://[fe80::1]/m/"),
            etcd(&["https://[fe80::1]:2379"], "/m/")
        );
        assert_eq!(
            read("file:///srv/maps/members.map"),
            Place::Directory("/srv/maps/members.map".into())
        );
        assert_eq!(
            read("https://ops/maps/members.map"),
            Place::Web("https://ops/maps/members.map".into())
        );
    }

    #[test]
    fn a_wrong_url_is_refused_with_what_to_write() {
        for url in [
            "members.map",
            "etcd://h",
            "etcd://h:x/m",
            "etcd:///m",
            "etcd://h,/m",
            "etcd://h/a//b",
            "file://srv/m",
            "file:///",
            "file:///srv/",
            "http:///m",
            "http://h/",
            "http://h/m?x",
            "redis://h/m",
            "http://h/a b",
        ] {
            let line = Place::parse(url).unwrap_err().line;
            assert!(
                line.starts_with(url) && line.contains("write etcd://"),
                "{line}"
            );
        }
        let line = Place::parse("etcd://root:secret@h/m").unwrap_err().line;
        assert!(
            !line.contains("secret") && line.contains("--password-file"),
            "{line}"
        );
    }
}
