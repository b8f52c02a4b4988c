//! What a message says about a connection string: which word of it is wrong, and which address it
//! names. A password that is in it is never shown.

#[cfg(feature = "postgres")]
pub use self::postgresql::{postgresql, postgresql_address};

#[cfg(feature = "mysql")]
pub use self::mariadb::{mariadb, mariadb_address};

#[cfg(feature = "postgres")]
mod postgresql {
    use std::error::Error;

    use ::postgres::config::Host;
    use ::postgres::Config;

    use crate::carry::kind::{Done, Fault};

    /// Where PostgreSQL listens if nothing else is said.
    const PORT: u16 = 5432;

    /// Reads a connection string for PostgreSQL. Errors: what is wrong with it.
    pub fn postgresql(connection: &str) -> Done<Config> {
        connection.parse().map_err(|error: ::postgres::Error| {
            let why = error.source().map(ToString::to_string);
            wrong(connection, &why.unwrap_or_default())
        })
    }

    /// Says what is wrong, given what the client says. Its words are:
    /// "unknown option `x`", "invalid value for option `x`".
    fn wrong(connection: &str, why: &str) -> Fault {
        let named = |before: &str| Some(why.strip_prefix(before)?.strip_suffix('`')?.to_owned());
        if let Some(name) = named("invalid value for option `") {
            return Fault::final_one(format_args!(
                "the connection string has a value of {name} that is not accepted; correct it"
            ));
        }
        let Some(word) = named("unknown option `") else {
            return Fault::final_one(
                "the connection string cannot be read; write host=... port=... dbname=..., with \
                 values that have blanks in single quotes, or postgresql://HOST:PORT/DATABASE",
            );
        };
        // behind a password, it may be a part of that
        let before = &connection[..connection.rfind(&word).unwrap_or(connection.len())];
        let word = match before.to_ascii_lowercase().contains("password") {
            true => "a word after the password".to_owned(),
            false => format!("the word {word}"),
        };
        Fault::final_one(format_args!(
            "the connection string has {word}, which is not accepted; leave it out (accepted are \
             host, hostaddr, port, dbname, user, password, options, connect_timeout, \
             target_session_attrs and keepalives)"
        ))
    }

    /// Returns where a connection string leads to: `db1:5432`, or the path of a socket.
    pub fn postgresql_address(config: &Config) -> String {
        let port = |place: usize| match config.get_ports() {
            [] => PORT,
            [port] => *port,
            ports => ports.get(place).copied().unwrap_or(PORT),
        };
        let of_host = |(place, host): (usize, &Host)| match host {
            Host::Tcp(host) => format!("{host}:{}", port(place)),
            Host::Unix(path) => format!("{}/.s.PGSQL.{}", path.display(), port(place)),
        };
        let hosts: Vec<String> = match config.get_hosts() {
            [] => {
                let addresses = config.get_hostaddrs().iter().enumerate();
                let address = addresses.map(|(place, host)| format!("{host}:{}", port(place)));
                address.collect()
            }
            hosts => hosts.iter().enumerate().map(of_host).collect(),
        };
        hosts.join(", ")
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_word_that_is_not_accepted_is_named_and_a_password_is_not() {
            for (text, part) in [
                (
                    "host=db1 client_encoding=LATIN1",
                    "the word client_encoding,",
                ),
                ("postgresql://c:geheim@db1/app?x=1", "the word x,"),
                (
                    "host=db1 password=sehr geheim=1",
                    "a word after the password,",
                ),
                ("host=db1 password=sehr geheim host=x", "cannot be read"),
                ("host=db1 port=geheim", "a value of port"),
                ("db1:5432/app", "cannot be read"),
            ] {
                let fault = postgresql(text).unwrap_err();
                assert!(!fault.passes && fault.line.contains(part), "{fault:?}");
                assert!(!fault.line.contains("geheim"), "{fault:?}");
            }
        }

        #[test]
        fn the_address_is_told_without_a_password() {
            for (text, address) in [
                ("host=db1 user=c password=geheim", "db1:5432"),
                ("host=db1,db2 port=1,2", "db1:1, db2:2"),
                ("host=/run/pg port=7", "/run/pg/.s.PGSQL.7"),
                ("hostaddr=::1 port=7", "::1:7"),
                ("postgresql://c:geheim@db1:7/app", "db1:7"),
                ("dbname=app", ""),
            ] {
                let config = postgresql(text).unwrap();
                assert_eq!(postgresql_address(&config), address, "{text}");
            }
        }
    }
}

#[cfg(feature = "mysql")]
mod mariadb {
    use ::mysql::{Opts, UrlError};

    use crate::carry::kind::{Done, Fault};

    /// Reads a connection string for MariaDB. Errors: what is wrong with it.
    pub fn mariadb(connection: &str) -> Done<Opts> {
        let write = "mysql://HOST:PORT/DATABASE, or mysql://localhost/DATABASE?socket=PATH";
        let opts = Opts::from_url(connection).map_err(|error| {
            let what = match error {
                UrlError::UnknownParameter(name) | UrlError::FeatureRequired(_, name) => {
                    format!("has the word {name}, which is not accepted; leave it out")
                }
                UrlError::InvalidValue(name, _) => {
                    format!("has a value of {name} that is not accepted; correct it")
                }
                _ => format!("cannot be read; write {write}"),
            };
            Fault::final_one(format_args!("the connection string {what}"))
        })?;
        match opts.get_db_name().is_none_or(str::is_empty) {
            true => Err(Fault::final_one(format_args!(
                "the connection string names no database; write {write}"
            ))),
            false => Ok(opts),
        }
    }

    /// Returns where a connection string leads to: `db1:3306`, or the path of a socket.
    pub fn mariadb_address(opts: &Opts) -> String {
        match opts.get_socket() {
            Some(socket) => socket.to_owned(),
            None => format!("{}:{}", opts.get_ip_or_hostname(), opts.get_tcp_port()),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_word_that_is_not_accepted_is_named_and_the_address_is_told() {
            for (text, part) in [
                (
                    "mysql://c:geheim@db1/app?charset=latin1",
                    "the word charset,",
                ),
                (
                    "mysql://c:geheim@db1/app?tcp_connect_timeout_ms=x",
                    "a value of tcp_connect",
                ),
                ("postgresql://c:geheim@db1/app", "cannot be read"),
                ("host=db1 password=geheim", "cannot be read"),
                ("mysql://c:geheim@db1:7", "names no database"),
            ] {
                let fault = mariadb(text).unwrap_err();
                assert!(!fault.passes && fault.line.contains(part), "{fault:?}");
                assert!(!fault.line.contains("geheim"), "{fault:?}");
            }
            for (text, address) in [
                ("mysql://c:geheim@db1/app", "db1:3306"),
                ("mysql://localhost/app?socket=%2Frun%2Fs", "/run/s"),
            ] {
                assert_eq!(mariadb_address(&mariadb(text).unwrap()), address);
            }
        }
    }
}
