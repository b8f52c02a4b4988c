//! How to get into a hub: the CA to trust, a client certificate, a user and a password.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{
    parse_pem, Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, TlsProvider,
};
use ureq::Agent;

use crate::command::PASSWORD;
use crate::exit::{Failure, Result, DATA, NO_CONTACT, USAGE};

/// How long connecting to one address may take.
const CONNECT: Duration = Duration::from_secs(3);

/// A text that is never printed.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Returns the text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        Secret(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The options of every verb that say how to get into a hub.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Access {
    /// Trust only this CA for TLS, in PEM [default: the roots of the system]
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    pub ca: Option<PathBuf>,
    /// Show this client certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "Access")]
    pub cert: Option<PathBuf>,
    /// The private key of --cert, in PEM
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "Access")]
    pub key: Option<PathBuf>,
    /// The user at etcd or the web server [default: STEAD_SYNC_USER]
    #[arg(long, value_name = "NAME", help_heading = "Access")]
    pub user: Option<String>,
    /// A file whose first line is the password [default: STEAD_SYNC_PASSWORD]
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    pub password_file: Option<PathBuf>,
}

impl Access {
    /// Returns the user and the password, if there is a user.
    ///
    /// Errors: a user without a password; a file that cannot be read.
    pub fn login(&self) -> Result<Option<(String, Secret)>> {
        let given = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let Some(user) = self.user.clone().or_else(|| given("STEAD_SYNC_USER")) else {
            return match &self.password_file {
                Some(_) => Err(Failure::new(USAGE, "a password needs a user; give --user")),
                None => Ok(None),
            };
        };
        let password = match &self.password_file {
            Some(file) => Some(read(file)?.lines().next().unwrap_or_default().to_owned()),
            None => given(PASSWORD),
        };
        match password.filter(|text| !text.is_empty()) {
            Some(password) => Ok(Some((user, Secret(password)))),
            None => Err(Failure::new(
                USAGE,
                format_args!("the user {user} needs a password; give --password-file, or set STEAD_SYNC_PASSWORD"),
            )),
        }
    }

    /// Returns the user and the password after the server has refused those of before, if the file
    /// of the password has another one by now.
    pub fn changed_login(&self, before: &(String, Secret)) -> Option<(String, Secret)> {
        self.password_file.as_ref()?;
        // a file that is being replaced is read the next time
        let now = self.login().ok().flatten()?;
        (now.1.reveal() != before.1.reveal()).then_some(now)
    }

    /// Returns a client of HTTP. It keeps connections, and follows no redirection, because a
    /// password must not go elsewhere.
    pub fn agent(&self, tls: bool) -> Result<Agent> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("stead-sync/", env!("CARGO_PKG_VERSION")));
        if tls {
            config = config.tls_config(self.tls()?);
        }
        Ok(config.build().into())
    }

    fn tls(&self) -> Result<TlsConfig> {
        let roots: Vec<Certificate<'static>> = match &self.ca {
            Some(file) => certificates(file)?,
            None => {
                let found = rustls_native_certs::load_native_certs().certs;
                let found = found.iter().map(|c| Certificate::from_der(c).to_owned());
                found.collect()
            }
        };
        let client = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                let private = PrivateKey::from_pem(read(key)?.as_bytes()).map_err(|_| {
                    Failure::new(
                        DATA,
                        format_args!("{}: there is no private key in it", key.display()),
                    )
                })?;
                Some(ClientCert::new_with_certs(&certificates(cert)?, private))
            }
            _ => None,
        };
        Ok(TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::new_with_certs(&roots))
            .client_cert(client)
            .build())
    }
}

fn certificates(file: &Path) -> Result<Vec<Certificate<'static>>> {
    let text = read(file)?;
    let found: Vec<_> = parse_pem(text.as_bytes())
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(found)) => Some(found),
            _ => None,
        })
        .collect();
    match found.is_empty() {
        true => Err(Failure::new(
            DATA,
            format_args!("{}: there is no certificate in it", file.display()),
        )),
        false => Ok(found),
    }
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file)
        .map_err(|e| Failure::io(format_args!("cannot read {}", file.display()), &e))
}

/// What a server does that closes a connection before it has read everything.
const RESET: &str = "Connection reset";

/// Returns the failure of a request to a server.
pub fn no_contact(server: &str, error: &ureq::Error) -> Failure {
    let why = match error {
        ureq::Error::Timeout(what) => format!("no answer in time ({what})"),
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            format!("{error}; nothing listens there: start the hub, or correct the address")
        }
        error => error.to_string(),
    };
    // a server answers the wrong protocol with something else, or ends the connection
    let is_any = |ends: &[&str]| ends.iter().any(|end| why.contains(end));
    let hint = match server.starts_with("https:") {
        true if why.contains("UnknownIssuer") => {
            "; no CA that is trusted here has signed its certificate: give the right one with --ca"
        }
        true if is_any(&["InvalidContentType", "unexpected end of file", RESET]) => {
            "; if the server speaks no TLS there, write the URL with http:// or etcd://"
        }
        false if is_any(&["Peer disconnected", RESET]) => {
            "; if the server speaks TLS there, write the URL with https:// or etcds://"
        }
        _ => "",
    };
    Failure::new(NO_CONTACT, format_args!("{server}: {why}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_that_cannot_be_reached_is_told_with_what_to_do() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let line = no_contact("http://h:1", &ureq::Error::Io(refused)).line;
        assert!(
            line.starts_with("http://h:1: ") && line.contains("start the hub"),
            "{line}"
        );
        // How a server ends a connection of the wrong protocol depends on what it has read.
        let reset = || io::Error::from_raw_os_error(104);
        let corrupt = io::Error::other("received corrupt message of type InvalidContentType");
        let gone = io::Error::other("Peer disconnected");
        for (url, error, hint) in [
            ("https://h:1", corrupt, "http:// or etcd://"),
            ("https://h:1", reset(), "http:// or etcd://"),
            ("http://h:1", gone, "https:// or etcds://"),
            ("http://h:1", reset(), "https:// or etcds://"),
        ] {
            let line = no_contact(url, &ureq::Error::Io(error)).line;
            assert!(
                line.contains(&format!("write the URL with {hint}")),
                "{line}"
            );
        }
    }

    #[test]
    fn a_password_is_never_printed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        fs::write(&file, "geheim\nmore").unwrap();
        let access = Access {
            user: Some("anna".into()),
            password_file: Some(file),
            ..Access::default()
        };
        let login = access.login().unwrap().unwrap();
        assert_eq!(login.1.reveal(), "geheim");
        assert!(!format!("{login:?}").contains("geheim"));
        let none = Access {
            user: Some("anna".into()),
            ..Access::default()
        };
        assert_eq!(none.login().unwrap_err().code, USAGE);
    }
}
