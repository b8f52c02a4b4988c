//! The identity of this process: its certificate, its key, and the CA that signs all certificates.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::{
    NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier,
};
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// The identity of this process.
static IDENTITY: RwLock<Option<Arc<Identity>>> = RwLock::new(None);

/// The files of an identity, in PEM.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The certificate of this process, and those between it and the CA's.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The certificate of the CA; there may be several.
    pub ca: PathBuf,
    /// The host names and addresses of which a client's certificate must have one; any, if there
    /// are none.
    pub clients: Vec<String>,
}

/// What this process shows to others, and whom it trusts.
pub struct Identity {
    pub(super) acceptor: TlsAcceptor,
    pub(super) connector: TlsConnector,
    clients: Vec<ServerName<'static>>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

/// Makes this the identity of the process. Connections that exist keep theirs.
pub fn install(identity: Identity) {
    let mut now = IDENTITY.write().unwrap_or_else(PoisonError::into_inner);
    *now = Some(Arc::new(identity));
}

/// Loads the files again. If something is wrong with them, says so and keeps the identity.
pub fn reload(paths: &Paths) {
    match Identity::load(paths) {
        Ok(identity) => {
            install(identity);
            tracing::info!("--tls-cert, --tls-key and --tls-ca are loaded again");
        }
        Err(error) => tracing::warn!("{error}; the certificates from before stay in use"),
    }
}

/// Returns the identity of the process.
pub(super) fn installed() -> io::Result<Arc<Identity>> {
    let now = IDENTITY.read().unwrap_or_else(PoisonError::into_inner);
    now.clone().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "an address with tls: needs --tls-cert, --tls-key and --tls-ca",
        )
    })
}

impl Identity {
    /// Loads an identity. The error names the option and the file, and says what to do.
    pub fn load(paths: &Paths) -> Result<Identity, String> {
        let chain = certificates("--tls-cert", &paths.cert)?;
        let wrong = |error: PemError| wrong("--tls-key", &paths.key, "a private key", error);
        let key = PrivateKeyDer::from_pem_file(&paths.key).map_err(wrong)?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates("--tls-ca", &paths.ca)? {
            roots.add(certificate).map_err(|error| {
                let path = paths.ca.display();
                format!("--tls-ca {path}: not a certificate of a CA: {error}")
            })?;
        }
        let clients = paths.clients.iter().map(|name| {
            ServerName::try_from(name.trim().to_owned())
                .map_err(|_| format!("--tls-clients {name:?}: not a host name or an IP address"))
        });
        let clients = clients.collect::<Result<_, _>>()?;
        Identity::new(chain, key, roots, clients).map_err(|error| {
            let (key, cert) = (paths.key.display(), paths.cert.display());
            match error {
                Error::InconsistentKeys(_) => {
                    format!("--tls-key {key}: not the key of --tls-cert {cert}")
                }
                error => format!("--tls-cert {cert}, --tls-key {key}: {error}"),
            }
        })
    }

    fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        roots: RootCertStore,
        clients: Vec<ServerName<'static>>,
    ) -> Result<Identity, Error> {
        let (provider, roots) = (Arc::new(default_provider()), Arc::new(roots));
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                .build()
                .map_err(|error| Error::General(error.to_string()))?;
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key.clone_key())?;
        // each connection shows its certificate: one that has expired meanwhile is refused
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)?;
        Ok(Identity {
            acceptor: Arc::new(server).into(),
            connector: Arc::new(client).into(),
            clients,
        })
    }

    /// Checks the names of a client, whose certificate the CA has signed.
    pub(super) fn check_client(&self, chain: Option<&[CertificateDer<'_>]>) -> Result<(), Error> {
        if self.clients.is_empty() {
            return Ok(());
        }
        let first = chain.and_then(<[_]>::first);
        let first = ParsedCertificate::try_from(first.ok_or(Error::NoCertificatesPresented)?)?;
        let is_for = |name| verify_server_name(&first, name).is_ok();
        match self.clients.iter().any(is_for) {
            true => Ok(()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }
}

fn certificates(option: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |error| wrong(option, path, "a certificate", error);
    let all = CertificateDer::pem_file_iter(path).map_err(wrong)?;
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(wrong)?;
    match all.is_empty() {
        true => Err(wrong(PemError::NoItemsFound)),
        false => Ok(all),
    }
}

fn wrong(option: &str, path: &Path, what: &str, error: PemError) -> String {
    let path = path.display();
    match error {
        PemError::Io(error) => format!("{option} {path}: {error}"),
        PemError::NoItemsFound => format!("{option} {path}: it does not contain {what} in PEM"),
        error => format!("{option} {path}: not {what} in PEM: {error}"),
    }
}
